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

#define BENCH_CODECS 7

extern const struct bench_codec bench_codecs[BENCH_CODECS];

/** Bytes that no codec exceeds when it encodes size bytes. */
size_t bench_bound(size_t size);

#endif
