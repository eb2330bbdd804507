/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <lz4frame.h>
#include <lzma.h>
#include <openssl/evp.h>
#include <zlib.h>
#include <zstd.h>

#include "scripts/bench-codecs.h"

/* zlib counts the bytes of one call in 32 bits. */
#define ZLIB_STEP ((size_t)1 << 30)

static int fail(struct brevis_error *err, const char *what)
{
	err->status = BREVIS_E_IO;
	snprintf(err->message, sizeof(err->message), "%s", what);
	return -1;
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t bench_bound(size_t size)
{
	/* Wider than what each library promises for itself; brevis has a fixed frame as well. */
	return size + size / 16 + ((size_t)1 << 20);
}

/* ---- brevis --------------------------------------------------------------------------------- */

static int take(void *ctx, const void *data, size_t len)
{
	struct bench_output *out = ctx;

	if (len > out->capacity - out->size)
		return -1;
	memcpy(out->data + out->size, data, len);
	out->size += len;
	return 0;
}

int bench_brevis_encode(const struct bench_input *in, struct bench_output *out, unsigned threads,
			bool codec_only, struct brevis_error *err)
{
	const struct brevis_encode_options options = {
		.threads = threads, .codec_only = codec_only, .input_stays = true};
	struct brevis_encode_summary summary;
	struct brevis_encoder *encoder = NULL;
	int r = brevis_encoder_new(&options, take, out, &encoder, err);

	if (r == 0)
		r = brevis_encoder_write(encoder, in->data, in->size, err);
	if (r == 0)
		r = brevis_encoder_finish(encoder, &summary, err);
	brevis_encoder_free(encoder);
	return r;
}

static int read_at(void *ctx, void *buf, size_t len, uint64_t offset)
{
	const struct bench_input *in = ctx;

	if (offset > in->size || len > in->size - offset)
		return -1;
	memcpy(buf, in->data + offset, len);
	return 0;
}

int bench_brevis_decode(const struct bench_input *in, struct bench_output *out, unsigned threads,
			bool codec_only, struct brevis_error *err)
{
	const struct brevis_decode_options options = {
		.threads = threads, .codec_only = codec_only, .memory = out->data};
	struct bench_input input = *in;
	const struct brevis_source source = {read_at, &input, in->size, in->data};
	struct brevis_archive *archive = NULL;
	int r = brevis_archive_open(&source, &archive, err);

	if (r == 0 && brevis_archive_info(archive)->original_size > out->capacity)
		r = fail(err, "the original is larger than it was");
	if (r == 0)
		r = brevis_archive_decode(archive, &options, NULL, NULL, err);
	if (r == 0)
		out->size = brevis_archive_info(archive)->original_size;
	brevis_archive_free(archive);
	return r;
}

static int brevis_encode(const struct bench_input *in, struct bench_output *out,
			 struct brevis_error *err)
{
	return bench_brevis_encode(in, out, 1, false, err);
}

static int brevis_decode(const struct bench_input *in, struct bench_output *out,
			 struct brevis_error *err)
{
	return bench_brevis_decode(in, out, 1, false, err);
}

static int codec_encode(const struct bench_input *in, struct bench_output *out,
			struct brevis_error *err)
{
	return bench_brevis_encode(in, out, 1, true, err);
}

static int codec_decode(const struct bench_input *in, struct bench_output *out,
			struct brevis_error *err)
{
	return bench_brevis_decode(in, out, 1, true, err);
}

/* ---- zstd ----------------------------------------------------------------------------------- */

static int zstd_encode(const struct bench_input *in, struct bench_output *out, int level,
		       struct brevis_error *err)
{
	size_t n = ZSTD_compress(out->data, out->capacity, in->data, in->size, level);

	if (ZSTD_isError(n))
		return fail(err, ZSTD_getErrorName(n));
	out->size = n;
	return 0;
}

static int zstd_encode_3(const struct bench_input *in, struct bench_output *out,
			 struct brevis_error *err)
{
	return zstd_encode(in, out, 3, err);
}

static int zstd_encode_9(const struct bench_input *in, struct bench_output *out,
			 struct brevis_error *err)
{
	return zstd_encode(in, out, 9, err);
}

static int zstd_encode_19(const struct bench_input *in, struct bench_output *out,
			  struct brevis_error *err)
{
	return zstd_encode(in, out, 19, err);
}

static int zstd_decode(const struct bench_input *in, struct bench_output *out,
		       struct brevis_error *err)
{
	size_t n = ZSTD_decompress(out->data, out->capacity, in->data, in->size);

	if (ZSTD_isError(n))
		return fail(err, ZSTD_getErrorName(n));
	out->size = n;
	return 0;
}

/* ---- xz ------------------------------------------------------------------------------------- */

static int xz_encode(const struct bench_input *in, struct bench_output *out,
		     struct brevis_error *err)
{
	if (lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, in->data, in->size, out->data,
				    &out->size, out->capacity) != LZMA_OK)
		return fail(err, "lzma_easy_buffer_encode failed");
	return 0;
}

static int xz_decode(const struct bench_input *in, struct bench_output *out,
		     struct brevis_error *err)
{
	uint64_t memory = UINT64_MAX;
	size_t used = 0;

	if (lzma_stream_buffer_decode(&memory, 0, NULL, in->data, &used, in->size, out->data,
				      &out->size, out->capacity) != LZMA_OK)
		return fail(err, "lzma_stream_buffer_decode failed");
	return 0;
}

/* ---- lz4 ------------------------------------------------------------------------------------ */

/* Frames, since a bare block of lz4 ends at 2 GB. */
static int lz4_encode(const struct bench_input *in, struct bench_output *out,
		      struct brevis_error *err)
{
	const LZ4F_preferences_t preferences = {.frameInfo.blockSizeID = LZ4F_max4MB};
	size_t n = LZ4F_compressFrame(out->data, out->capacity, in->data, in->size, &preferences);

	if (LZ4F_isError(n))
		return fail(err, LZ4F_getErrorName(n));
	out->size = n;
	return 0;
}

static int lz4_decode(const struct bench_input *in, struct bench_output *out,
		      struct brevis_error *err)
{
	LZ4F_dctx *context = NULL;
	size_t used = 0;
	size_t hint = LZ4F_createDecompressionContext(&context, LZ4F_VERSION);

	/* A hint of 0 says that the frame is complete. */
	for (bool more = !LZ4F_isError(hint); more;) {
		size_t room = out->capacity - out->size;
		size_t left = in->size - used;

		hint = LZ4F_decompress(context, out->data + out->size, &room, in->data + used,
				       &left, NULL);
		more = !LZ4F_isError(hint) && hint != 0 && (room != 0 || left != 0);
		out->size += room;
		used += left;
	}
	LZ4F_freeDecompressionContext(context);
	if (LZ4F_isError(hint))
		return fail(err, LZ4F_getErrorName(hint));
	return hint == 0 ? 0 : fail(err, "the frame is not complete");
}

/* ---- gzip ----------------------------------------------------------------------------------- */

/* Runs deflate or inflate over all of in. */
static int zlib_run(z_stream *z, int (*step)(z_stream *, int), const struct bench_input *in,
		    struct bench_output *out)
{
	size_t used = 0;
	int r = Z_OK;

	while (r == Z_OK) {
		size_t give = min_size(ZLIB_STEP, in->size - used);
		size_t room = min_size(ZLIB_STEP, out->capacity - out->size);

		z->next_in = (Bytef *)(uintptr_t)(in->data + used);
		z->avail_in = (uInt)give;
		z->next_out = out->data + out->size;
		z->avail_out = (uInt)room;
		r = step(z, used + give == in->size ? Z_FINISH : Z_NO_FLUSH);
		used += give - z->avail_in;
		out->size += room - z->avail_out;
		/* Under Z_FINISH this only says that one call was not enough. */
		if (r == Z_BUF_ERROR && (give > z->avail_in || room > z->avail_out))
			r = Z_OK;
	}
	return r == Z_STREAM_END ? 0 : -1;
}

static int gzip_encode(const struct bench_input *in, struct bench_output *out,
		       struct brevis_error *err)
{
	z_stream z = {0};
	int r;

	if (deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return fail(err, "deflateInit2 failed");
	r = zlib_run(&z, deflate, in, out);
	deflateEnd(&z);
	return r == 0 ? 0 : fail(err, "deflate failed");
}

static int gzip_decode(const struct bench_input *in, struct bench_output *out,
		       struct brevis_error *err)
{
	z_stream z = {0};
	int r;

	if (inflateInit2(&z, MAX_WBITS + 16) != Z_OK)
		return fail(err, "inflateInit2 failed");
	r = zlib_run(&z, inflate, in, out);
	inflateEnd(&z);
	return r == 0 ? 0 : fail(err, "inflate failed");
}

/* ---- limits --------------------------------------------------------------------------------- */

static int limit_memcpy(const struct bench_input *in, struct bench_output *out,
			struct brevis_error *err)
{
	(void)err;
	memcpy(out->data, in->data, in->size);
	out->size = in->size;
	return 0;
}

static int limit_sha256(const struct bench_input *in, struct bench_output *out,
			struct brevis_error *err)
{
	unsigned len = 0;

	if (!EVP_Digest(in->data, in->size, out->data, &len, EVP_sha256(), NULL))
		return fail(err, "EVP_Digest failed");
	out->size = len;
	return 0;
}

const struct bench_codec bench_codecs[BENCH_ALL_CODECS] = {
	[BENCH_BREVIS] = {"brevis", brevis_encode, brevis_decode},
	[BENCH_BREVIS_CODEC] = {"brevis, codec alone", codec_encode, codec_decode},
	[BENCH_ZSTD_3] = {"zstd -3", zstd_encode_3, zstd_decode},
	[BENCH_ZSTD_9] = {"zstd -9", zstd_encode_9, zstd_decode},
	[BENCH_LZ4] = {"lz4", lz4_encode, lz4_decode},
	[BENCH_PLANES] = {"byte planes, zstd -3", bench_planes_encode, bench_planes_decode},
	[BENCH_GZIP] = {"gzip -6", gzip_encode, gzip_decode},
	[BENCH_MEMCPY] = {"memcpy", limit_memcpy, NULL},
	[BENCH_SHA256] = {"SHA-256", limit_sha256, NULL},
	[BENCH_ZSTD_19] = {"zstd -19", zstd_encode_19, zstd_decode},
	[BENCH_XZ] = {"xz -6", xz_encode, xz_decode},
};
