/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/library_encode.h"

#include <lzma.h>
#include <string.h>
#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_c_useRowMatchFinder */
#include <zstd.h>

#include "core/base/error.h"
#include "core/entropy/histogram.h"
#include "core/entropy/log2.h"

/* From this level on the whole of the data is worth being looked through. */
#define ZSTD_THOROUGH 16

/* Level 19 has a window of 8 MiB by itself; the largest allowed has 16 MiB. */
#define ZSTD_WINDOW_LOG_SELF 23
#define ZSTD_WINDOW_LOG_MAX  24

/*
 * What the match finder takes grows with the dictionary, to some 190 MiB for 16 MiB. Half of it is
 * what `xz -6` uses.
 */
#define LZMA_DICTIONARY_MAX (UINT32_C(8) << 20)

/*
 * Matches of so many bytes are taken at once, in data of unknown form. `xz -6` takes those of 64;
 * this makes up for learning anew in every piece.
 */
#define LZMA_NICE_BYTES 96

/* From so many bytes on it pays to predict one from four bits of the one before, not three. */
#define LZMA_MANY (1u << 20)

/*
 * Levels 5 to 12 have two match finders. Left to itself the library chooses by the vector unit that
 * it was built for: frames from 16 to 128 KiB would not be the same on every machine.
 */
static bool fix_match_finder(ZSTD_CCtx *zstd)
{
#if ZSTD_VERSION_NUMBER >= 10501
	return !ZSTD_isError(
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_useRowMatchFinder, ZSTD_ps_enable));
#else
	(void)zstd;
	return true;
#endif
}

static bool set_zstd(ZSTD_CCtx *zstd, const struct library_effort *effort, size_t size)
{
	size_t before = span_left(&effort->before);
	bool far = effort->far || (effort->zstd_level >= ZSTD_THOROUGH &&
				   before + size > (size_t)1 << ZSTD_WINDOW_LOG_SELF);

	if (before && ZSTD_isError(ZSTD_CCtx_refPrefix(zstd, effort->before.at, before)))
		return false;
	if (ZSTD_isError(
		    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, effort->zstd_level)) ||
	    !fix_match_finder(zstd))
		return false;
	if (!far)
		return true;
	/* A level's own tables of matches do not reach as far as the window. */
	return !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, ZSTD_WINDOW_LOG_MAX)) &&
	       !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_enableLongDistanceMatching, 1));
}

/* With less room than the bound the library may compress worse, so the limit comes afterwards. */
static int encode_zstd(struct buffer *out, const struct library_effort *effort, const void *raw,
		       size_t size, size_t limit, bool *fits, struct brevis_error *err)
{
	size_t bound = ZSTD_compressBound(size);
	uint8_t *frame = buffer_reserve(out, bound);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	int status = BREVIS_OK;
	size_t n;

	if (!frame || !zstd || !set_zstd(zstd, effort, size)) {
		status = error_nomem(err);
		goto out;
	}
	n = ZSTD_compress2(zstd, frame, bound, raw, size);
	if (ZSTD_isError(n))
		status = error_nomem(err); /* nothing else can fail */
	*fits = !status && n < limit;
	if (*fits)
		out->size += n;
out:
	ZSTD_freeCCtx(zstd);
	return status;
}

/*
 * Literal bytes are predicted from bits of the byte before and from their place within a word,
 * which tells a sign or an exponent from a fraction. More bits need more bytes to learn from.
 */
static void set_lzma(lzma_options_lzma *options, const struct library_effort *effort, size_t size)
{
	unsigned bytes = effort->word_bytes;
	size_t before = span_left(&effort->before), reach = before + size;

	lzma_lzma_preset(options, effort->lzma_fast ? 1 : 6);
	options->dict_size = reach < LZMA_DICT_SIZE_MIN    ? LZMA_DICT_SIZE_MIN
			     : reach < LZMA_DICTIONARY_MAX ? (uint32_t)reach
							   : LZMA_DICTIONARY_MAX;
	if (before) {
		options->preset_dict = effort->before.at;
		options->preset_dict_size = (uint32_t)before;
	}
	if (!bytes) {
		options->nice_len = LZMA_NICE_BYTES;
		return;
	}
	options->lp = bytes & (bytes - 1) ? 0 : bit_length(bytes) - 1;
	options->pb = options->lp;
	if (!options->lp)
		options->lc = size < LZMA_MANY ? 3 : 4;
	else
		options->lc = options->lp < 3 ? 2 : 1;
}

static int encode_lzma2(struct buffer *out, const struct library_effort *effort, const void *raw,
			size_t size, size_t limit, bool *fits, struct brevis_error *err)
{
	lzma_options_lzma options;
	lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
	size_t room = limit ? limit - 1 : 0;
	uint8_t *stream = buffer_reserve(out, room);
	size_t n = 0;
	lzma_ret ret;

	if (!stream)
		return error_nomem(err);
	set_lzma(&options, effort, size);
	ret = lzma_raw_buffer_encode(filters, NULL, raw, size, stream, &n, room);
	if (ret != LZMA_OK && ret != LZMA_BUF_ERROR)
		return error_nomem(err); /* nothing else can fail */
	*fits = ret == LZMA_OK;
	if (*fits)
		out->size += n;
	return BREVIS_OK;
}

int library_encode(struct buffer *out, enum library library, const struct library_effort *effort,
		   const void *raw, size_t size, size_t limit, bool *fits, struct brevis_error *err)
{
	*fits = false;
	if (library == LIBRARY_ZSTD)
		return encode_zstd(out, effort, raw, size, limit, fits, err);
	return encode_lzma2(out, effort, raw, size, limit, fits, err);
}

void library_sample(const void *raw, size_t size, uint8_t *sample)
{
	size_t step = (size - LIBRARY_SAMPLE_WINDOW) / (LIBRARY_SAMPLE_WINDOWS - 1);
	unsigned i;

	/* Bytes keep their places within words. */
	step -= step % 840;
	for (i = 0; i < LIBRARY_SAMPLE_WINDOWS; i++)
		memcpy(sample + (size_t)i * LIBRARY_SAMPLE_WINDOW, (const uint8_t *)raw + i * step,
		       LIBRARY_SAMPLE_WINDOW);
}

/* In bits, with LOG2_FRACTION fraction bits. */
static uint64_t order0_cost(const uint32_t *histogram)
{
	uint64_t cost = 0;
	uint32_t n = 0;
	unsigned i;

	for (i = 0; i < 256; i++)
		n += histogram[i];
	for (i = 0; i < 256; i++)
		if (histogram[i])
			cost += (uint64_t)histogram[i] * (log2_fixed(n) - log2_fixed(histogram[i]));
	return cost;
}

uint64_t library_order0(const uint8_t *raw, size_t size, unsigned word_bytes)
{
	uint64_t cost = 0;
	unsigned place;
	size_t i;

	for (place = 0; place < word_bytes; place++) {
		uint32_t histogram[256] = {0};

		if (word_bytes == 1)
			histogram_of(histogram, raw, 8, size);
		else
			for (i = place; i < size; i += word_bytes)
				histogram[raw[i]]++;
		cost += order0_cost(histogram);
	}
	return cost >> (LOG2_FRACTION + 3);
}
