/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/library_decode.h"

#include <lzma.h>
#include <stdatomic.h>
#include <zstd.h>

#include "core/base/bytes.h"
#include "core/base/error.h"

/* The first four bytes of a frame (RFC 8878, section 3.1.1). */
#define ZSTD_MAGIC UINT32_C(0xFD2FB528)

/* What a frame's descriptor says: it has a single segment, so that its window is all it yields. */
#define SINGLE_SEGMENT 0x20

/* True if the frame needs no window beyond the limit (RFC 8878, section 3.1.1.1). */
static bool is_window_small(const uint8_t *frame, size_t size)
{
	unsigned exponent, mantissa;

	if (size < 6)
		return true;
	if (frame[4] & SINGLE_SEGMENT) {
		unsigned long long content = ZSTD_getFrameContentSize(frame, size);

		return content >= ZSTD_CONTENTSIZE_ERROR || content <= LIBRARY_WINDOW_MAX;
	}
	exponent = 10u + (frame[5] >> 3);
	mantissa = frame[5] & 7;
	return (UINT64_C(1) << exponent) + (UINT64_C(1) << exponent >> 3) * mantissa <=
	       LIBRARY_WINDOW_MAX;
}

/*
 * Contexts that nobody uses, for whoever wants one next. To make one asks the processor what it can
 * do, which takes a virtual machine as long as thousands of short frames do: a program of 62 of
 * them, repeated for each piece, would cost minutes for some KB of archive.
 */
#define SPARES 8
static _Atomic(ZSTD_DCtx *) spares[SPARES];

static ZSTD_DCtx *take_context(void)
{
	ZSTD_DCtx *zstd = NULL;
	unsigned i;

	for (i = 0; i < SPARES && !zstd; i++)
		zstd = atomic_exchange(&spares[i], NULL);
	return zstd ? zstd : ZSTD_createDCtx();
}

static void return_context(ZSTD_DCtx *zstd)
{
	unsigned i;

	/* Neither a prefix nor a frame that was broken off is of any concern to the next one. */
	ZSTD_DCtx_reset(zstd, ZSTD_reset_session_and_parameters);
	for (i = 0; i < SPARES && zstd; i++)
		zstd = atomic_exchange(&spares[i], zstd);
	ZSTD_freeDCtx(zstd);
}

/* Decodes one frame. As a prefix `before` is content, whatever dictionary it may look like. */
static size_t decompress(struct span frame, struct span before, void *raw, size_t raw_size,
			 bool *nomem)
{
	ZSTD_DCtx *zstd = take_context();
	size_t n = 0;

	*nomem = !zstd;
	if (!zstd)
		return 0;
	if (span_left(&before))
		*nomem = ZSTD_isError(ZSTD_DCtx_refPrefix(zstd, before.at, span_left(&before)));
	if (!*nomem)
		n = ZSTD_decompressDCtx(zstd, raw, raw_size, frame.at, span_left(&frame));
	return_context(zstd);
	return n;
}

static int decode_zstd(struct span frame, struct span before, void *raw, size_t raw_size,
		       struct brevis_error *err)
{
	size_t size = span_left(&frame);
	bool nomem = false;
	size_t n;

	/* Libraries may know older formats by other magic numbers. */
	if (size < 4 || load_le32(frame.at) != ZSTD_MAGIC)
		return error_set(err, BREVIS_E_FORMAT, "not a zstd frame");
	if (!is_window_small(frame.at, size))
		return error_set(err, BREVIS_E_FORMAT, "zstd window is over 16 MiB");
	n = ZSTD_findFrameCompressedSize(frame.at, size);
	if (ZSTD_getDictID_fromFrame(frame.at, size))
		return error_set(err, BREVIS_E_FORMAT, "zstd frame needs a dictionary");
	if (!ZSTD_isError(n) && n != size)
		return error_set(err, BREVIS_E_FORMAT,
				 "more than one zstd frame, or bytes after it");
	if (!ZSTD_isError(n))
		n = decompress(frame, before, raw, raw_size, &nomem);
	if (nomem)
		return error_nomem(err);
	if (ZSTD_isError(n))
		return error_set(err, BREVIS_E_FORMAT, "zstd: %s", ZSTD_getErrorName(n));
	if (n != raw_size)
		return error_set(err, BREVIS_E_FORMAT, "zstd frame has the wrong size");
	return BREVIS_OK;
}

static int decode_lzma2(struct span stream, struct span before, void *raw, size_t raw_size,
			struct brevis_error *err)
{
	size_t size = span_left(&stream);
	/* No match reaches back further than what there is. */
	size_t reach = span_left(&before) + raw_size;
	lzma_options_lzma options = {
		.dict_size = reach < LZMA_DICT_SIZE_MIN   ? LZMA_DICT_SIZE_MIN
			     : reach < LIBRARY_WINDOW_MAX ? (uint32_t)reach
							  : LIBRARY_WINDOW_MAX,
		.preset_dict = span_left(&before) ? before.at : NULL,
		.preset_dict_size = (uint32_t)span_left(&before),
	};
	lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
	size_t in = 0, out = 0;
	lzma_ret ret =
		lzma_raw_buffer_decode(filters, NULL, stream.at, &in, size, raw, &out, raw_size);

	if (ret == LZMA_MEM_ERROR)
		return error_nomem(err);
	if (ret == LZMA_BUF_ERROR || (ret == LZMA_OK && out != raw_size))
		return error_set(err, BREVIS_E_FORMAT, "LZMA2 stream has the wrong size");
	if (ret != LZMA_OK)
		return error_set(err, BREVIS_E_FORMAT, "LZMA2 stream is damaged or cut short");
	if (in != size)
		return error_set(err, BREVIS_E_FORMAT, "bytes after the LZMA2 stream");
	return BREVIS_OK;
}

int library_decode(enum library library, struct span stream, struct span before, void *raw,
		   size_t raw_size, struct brevis_error *err)
{
	if (library == LIBRARY_ZSTD)
		return decode_zstd(stream, before, raw, raw_size, err);
	return decode_lzma2(stream, before, raw, raw_size, err);
}
