/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ZipNN does to weights, as a peer: the bytes of each word go to planes of their own, and
 * every plane is compressed by itself, here with zstd -3. Words of BF16 and F32 are turned by one
 * bit first, so that the exponent is one byte.
 */
#include <stdbool.h>
#include <string.h>

#include <zstd.h>

#include "scripts/bench-codecs.h"

/* Words of a chunk: its planes fit into a processor's cache. */
#define CHUNK_WORDS ((size_t)1 << 17)
#define WIDTH_MAX   4

struct layout {
	size_t head;  /* bytes before the first word */
	size_t width; /* bytes of a word */
	bool turned;
};

static uint32_t load32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void store32(uint8_t *at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* The type of the first tensor stands for all. Anything but safetensors is bytes. */
static struct layout layout_of(const uint8_t *data, size_t size)
{
	static const struct {
		const char *key;
		size_t width;
		bool turned;
	} types[] = {
		{"\"dtype\":\"BF16\"", 2, true},
		{"\"dtype\":\"F32\"", 4, true},
		{"\"dtype\":\"F16\"", 2, false},
	};
	struct layout layout = {0, 1, false};
	const uint8_t *first = NULL;
	size_t head;

	if (size < 8)
		return layout;
	head = 8 + load32(data);
	if (head > size)
		return layout;
	layout.head = head;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const uint8_t *at = memmem(data, head, types[i].key, strlen(types[i].key));

		if (!at || (first && at > first))
			continue;
		first = at;
		layout.width = types[i].width;
		layout.turned = types[i].turned;
	}
	return layout;
}

static uint32_t turn(uint32_t word, size_t width, unsigned by)
{
	unsigned bits = 8 * (unsigned)width;
	uint32_t mask = width == 4 ? UINT32_MAX : 0xffff;

	return (word << by | (word & mask) >> (bits - by)) & mask;
}

static void split2(const uint8_t *from, size_t words, bool turned, uint8_t *planes)
{
	for (size_t i = 0; i < words; i++) {
		uint32_t word = from[2 * i] | (uint32_t)from[2 * i + 1] << 8;

		word = turned ? turn(word, 2, 1) : word;
		planes[i] = (uint8_t)word;
		planes[CHUNK_WORDS + i] = (uint8_t)(word >> 8);
	}
}

static void split4(const uint8_t *from, size_t words, bool turned, uint8_t *planes)
{
	for (size_t i = 0; i < words; i++) {
		uint32_t word = load32(from + 4 * i);

		word = turned ? turn(word, 4, 1) : word;
		for (size_t p = 0; p < 4; p++)
			planes[p * CHUNK_WORDS + i] = (uint8_t)(word >> 8 * p);
	}
}

static void join2(const uint8_t *planes, size_t words, bool turned, uint8_t *to)
{
	for (size_t i = 0; i < words; i++) {
		uint32_t word = planes[i] | (uint32_t)planes[CHUNK_WORDS + i] << 8;

		word = turned ? turn(word, 2, 15) : word;
		to[2 * i] = (uint8_t)word;
		to[2 * i + 1] = (uint8_t)(word >> 8);
	}
}

static void join4(const uint8_t *planes, size_t words, bool turned, uint8_t *to)
{
	for (size_t i = 0; i < words; i++) {
		uint32_t word = 0;

		for (size_t p = 0; p < 4; p++)
			word |= (uint32_t)planes[p * CHUNK_WORDS + i] << 8 * p;
		store32(to + 4 * i, turned ? turn(word, 4, 31) : word);
	}
}

/* Appends a plane: its size, then as it is or compressed, whichever is smaller. */
static void put_plane(ZSTD_CCtx *zstd, const uint8_t *plane, size_t size, struct bench_output *out)
{
	uint8_t *to = out->data + out->size;
	size_t n = ZSTD_compressCCtx(zstd, to + 4, out->capacity - out->size - 4, plane, size, 3);

	if (ZSTD_isError(n) || n >= size) {
		memcpy(to + 4, plane, size);
		n = size;
	}
	store32(to, (uint32_t)n);
	out->size += 4 + n;
}

static bool get_plane(ZSTD_DCtx *zstd, const struct bench_input *in, size_t *at, uint8_t *plane,
		      size_t size)
{
	size_t n = in->size - *at < 4 ? 0 : load32(in->data + *at);
	const uint8_t *from = in->data + *at + 4;

	if (n == 0 || n > in->size - *at - 4)
		return false;
	*at += 4 + n;
	if (n < size)
		return ZSTD_decompressDCtx(zstd, plane, size, from, n) == size;
	memcpy(plane, from, size);
	return n == size;
}

int bench_planes_encode(const struct bench_input *in, struct bench_output *out,
			struct brevis_error *err)
{
	static uint8_t planes[WIDTH_MAX * CHUNK_WORDS];
	const struct layout layout = layout_of(in->data, in->size);
	const size_t words = (in->size - layout.head) / layout.width;
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	(void)err;
	/* The layout, the file's size, and what is no word; then the planes. */
	memcpy(out->data, &layout, sizeof(layout));
	memcpy(out->data + sizeof(layout), &in->size, sizeof(in->size));
	out->size = sizeof(layout) + sizeof(in->size);
	memcpy(out->data + out->size, in->data, layout.head);
	out->size += layout.head;
	for (size_t done = 0, n; done < words; done += n) {
		const uint8_t *from = in->data + layout.head + done * layout.width;

		n = words - done < CHUNK_WORDS ? words - done : CHUNK_WORDS;
		if (layout.width == 4)
			split4(from, n, layout.turned, planes);
		else if (layout.width == 2)
			split2(from, n, layout.turned, planes);
		for (size_t p = 0; p < layout.width; p++)
			put_plane(zstd, layout.width == 1 ? from : planes + p * CHUNK_WORDS, n,
				  out);
	}
	memcpy(out->data + out->size, in->data + layout.head + words * layout.width,
	       in->size - layout.head - words * layout.width);
	out->size += in->size - layout.head - words * layout.width;
	ZSTD_freeCCtx(zstd);
	return 0;
}

int bench_planes_decode(const struct bench_input *in, struct bench_output *out,
			struct brevis_error *err)
{
	static uint8_t planes[WIDTH_MAX * CHUNK_WORDS];
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct layout layout;
	size_t at, words;
	bool good = true;

	memcpy(&layout, in->data, sizeof(layout));
	memcpy(&out->size, in->data + sizeof(layout), sizeof(out->size));
	at = sizeof(layout) + sizeof(out->size);
	memcpy(out->data, in->data + at, layout.head);
	at += layout.head;
	words = (out->size - layout.head) / layout.width;
	for (size_t done = 0, n; good && done < words; done += n) {
		uint8_t *to = out->data + layout.head + done * layout.width;

		n = words - done < CHUNK_WORDS ? words - done : CHUNK_WORDS;
		for (size_t p = 0; good && p < layout.width; p++)
			good = get_plane(zstd, in, &at,
					 layout.width == 1 ? to : planes + p * CHUNK_WORDS, n);
		if (layout.width == 4)
			join4(planes, n, layout.turned, to);
		else if (layout.width == 2)
			join2(planes, n, layout.turned, to);
	}
	memcpy(out->data + layout.head + words * layout.width, in->data + at, in->size - at);
	ZSTD_freeDCtx(zstd);
	if (!good) {
		err->status = BREVIS_E_FORMAT;
		strcpy(err->message, "a plane is damaged");
	}
	return good ? 0 : -1;
}
