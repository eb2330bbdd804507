/* SPDX-License-Identifier: Apache-2.0 */
/** The codecs that bench compares, all from memory to memory in one thread. */
#ifndef SCRIPTS_BENCH_CODECS_H
#define SCRIPTS_BENCH_CODECS_H

#include <stddef.h>
#include <stdint.h>

#include "core/brevis.h"

struct bench_input {
	const uint8_t *data;
	size_t size;
};

/** Memory to write to. Belongs to the caller; a codec sets size and stays within capacity. */
struct bench_output {
	uint8_t *data;
	size_t size;
	size_t capacity;
};

/**
 * Encodes or decodes all of in. Makes and frees whatever state it needs, so that this is timed for
 * every codec alike. Returns 0, or nonzero with the reason in *err.
 */
typedef int (*bench_fn)(const struct bench_input *in, struct bench_output *out,
			struct brevis_error *err);

struct bench_codec {
	const char *name;
	bench_fn encode;
	bench_fn decode; /* NULL for a limit: work of which nothing is to be restored */
};

enum bench_codec_number {
	BENCH_BREVIS,
	BENCH_BREVIS_CODEC, /* without digests and proof */
	BENCH_ZSTD_3,
	BENCH_ZSTD_9,
	BENCH_LZ4,
	BENCH_PLANES,
	BENCH_GZIP,
	BENCH_MEMCPY,
	BENCH_SHA256,
	BENCH_CODECS,
	/* Those that take minutes for a large file are only used when asked for. */
	BENCH_ZSTD_19 = BENCH_CODECS,
	BENCH_XZ,
	BENCH_ALL_CODECS
};

extern const struct bench_codec bench_codecs[BENCH_ALL_CODECS];

/** Bytes that no codec exceeds when it encodes size bytes. */
size_t bench_bound(size_t size);

/**
 * As the codec "brevis" does, with a number of workers; with codec_only without the digests and
 * without the proof that each record decodes.
 */
int bench_brevis_encode(const struct bench_input *in, struct bench_output *out, unsigned threads,
			bool codec_only, struct brevis_error *err);
int bench_brevis_decode(const struct bench_input *in, struct bench_output *out, unsigned threads,
			bool codec_only, struct brevis_error *err);

/** Each byte of a word in a plane of its own, as ZipNN does it; each plane with zstd -3. */
int bench_planes_encode(const struct bench_input *in, struct bench_output *out,
			struct brevis_error *err);
int bench_planes_decode(const struct bench_input *in, struct bench_output *out,
			struct brevis_error *err);

#endif
