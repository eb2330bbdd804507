/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/bytes_encode.h"

#include <string.h>

#include "core/archive/wire.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/library_encode.h"

/* Small pieces are worth a slow search. */
#define SMALL_MAX   (1u << 18)
#define SMALL_LEVEL 15

/*
 * But for the header of a checkpoint: there a higher level takes longer than all the tensors, for a
 * fifth of what is next to nothing.
 */
#define HEADER_LEVEL 9

/* Others take this one first: higher levels are not smaller on everything. */
#define LARGE_LEVEL 3

/* How the looks go: all of it in a hurry, and some windows of it well. */
#define LOOK_LEVEL_ALL    1
#define LOOK_LEVEL_WINDOW 9

/* Bytes that are looked at together. */
#define LOOK_WINDOW (1u << 16)

/* Windows that are compressed well. */
#define LOOK_WINDOWS 8

struct bytes_options bytes_options_of(enum brevis_preset preset)
{
	switch (preset) {
	case BREVIS_PRESET_FAST:
		return (struct bytes_options){.zstd_level = LARGE_LEVEL};
	case BREVIS_PRESET_BEST:
		return (struct bytes_options){.zstd_level = 19, .lzma = true};
	default:
		return (struct bytes_options){.zstd_level = 19};
	}
}

static bool is_header(const uint8_t *raw, size_t size)
{
	return size > 8 && raw[8] == '{' && load_le64(raw) == size - 8;
}

/* True if some bytes are more frequent than others, anywhere: an order-0 coding would gain 1/256.
 */
static bool is_skewed(const uint8_t *raw, size_t size)
{
	size_t at;

	for (at = 0; at + LOOK_WINDOW <= size; at += LOOK_WINDOW)
		if (library_order0(raw + at, LOOK_WINDOW, 1) < LOOK_WINDOW - LOOK_WINDOW / 256)
			return true;
	return library_order0(raw, size, 1) < size - size / 256;
}

/* True if the level makes it smaller at all. */
static int is_smaller(const uint8_t *raw, size_t size, int level, struct span before, bool *smaller,
		      struct brevis_error *err)
{
	struct library_effort effort = {.zstd_level = level, .far = true, .before = before};
	struct buffer frame = BUFFER_INIT;
	int status = library_encode(&frame, LIBRARY_ZSTD, &effort, raw, size, size, smaller, err);

	buffer_release(&frame);
	return status;
}

/*
 * True if there is anything to gain. A piece is given up only if every look says no: at how
 * frequent bytes are in each window, at short repetitions in some windows, at repetitions from
 * anywhere in all of it.
 */
static int shows_something(const uint8_t *raw, size_t size, struct span before, bool *something,
			   struct brevis_error *err)
{
	static const struct span nothing;
	size_t step = (size - LOOK_WINDOW) / (LOOK_WINDOWS - 1);
	unsigned i;
	int status = BREVIS_OK;

	*something = is_skewed(raw, size);
	for (i = 0; i < LOOK_WINDOWS && !*something && !status; i++)
		status = is_smaller(raw + i * step, LOOK_WINDOW, LOOK_LEVEL_WINDOW, nothing,
				    something, err);
	if (!*something && !status)
		status = is_smaller(raw, size, LOOK_LEVEL_ALL, before, something, err);
	return status;
}

/* Puts a library's stream in place of the body if it is smaller. */
static int attempt(struct buffer *out, size_t start, enum library library,
		   const struct library_effort *effort, const void *raw, size_t raw_size,
		   struct brevis_error *err)
{
	size_t begin = out->size;
	/* Nothing is there yet, or a body that the coding's byte and payload must beat. */
	size_t limit = begin > start ? begin - start - 1 : raw_size;
	bool fits;
	int status;

	buffer_u8(out, library == LIBRARY_ZSTD ? BYTES_ZSTD : BYTES_LZMA2);
	status = library_encode(out, library, effort, raw, raw_size, limit, &fits, err);
	if (status || !fits) {
		out->size = begin;
		return status;
	}
	memmove(out->data + start, out->data + begin, out->size - begin);
	out->size -= begin - start;
	return BREVIS_OK;
}

int bytes_encode(const void *raw, size_t raw_size, const struct bytes_options *options,
		 struct buffer *out, struct brevis_error *err)
{
	bool chained = span_left(&options->before) > 0;
	bool small = raw_size <= SMALL_MAX;
	struct library_effort effort = {
		.zstd_level = small && !chained ? SMALL_LEVEL : LARGE_LEVEL,
		.before = options->before,
	};
	bool header = is_header(raw, raw_size) && !options->lzma;
	bool harder = !header && (options->zstd_level > effort.zstd_level || options->lzma);
	size_t start = out->size;
	int status;

	if (header)
		effort.zstd_level = HEADER_LEVEL;
	status = attempt(out, start, LIBRARY_ZSTD, &effort, raw, raw_size, err);

	if (!status && harder && !small && out->size == start)
		status = shows_something(raw, raw_size, options->before, &harder, err);
	if (!status && harder && options->zstd_level > effort.zstd_level) {
		effort.zstd_level = options->zstd_level;
		status = attempt(out, start, LIBRARY_ZSTD, &effort, raw, raw_size, err);
	}
	if (!status && harder && options->lzma)
		status = attempt(out, start, LIBRARY_LZMA2, &effort, raw, raw_size, err);
	if (!status && out->size == start) {
		buffer_u8(out, BYTES_STORED);
		buffer_append(out, raw, raw_size);
	}
	if (!status && out->failed)
		status = error_nomem(err);
	return status;
}
