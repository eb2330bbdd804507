/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/buffer.h"
#include "core/base/bytes.h"

#include <stdlib.h>
#include <string.h>

uint8_t *buffer_reserve(struct buffer *b, size_t len)
{
	size_t capacity = b->capacity ? b->capacity : 64;
	uint8_t *data;

	if (b->failed || len > SIZE_MAX / 2 - b->size) {
		b->failed = true;
		return NULL;
	}
	if (b->size + len <= b->capacity && b->data)
		return b->data + b->size;
	while (capacity < b->size + len)
		capacity += capacity / 2 + 1;
	data = realloc(b->data, capacity);
	if (!data) {
		b->failed = true;
		return NULL;
	}
	b->data = data;
	b->capacity = capacity;
	return data + b->size;
}

uint8_t *buffer_extend(struct buffer *b, size_t len)
{
	uint8_t *at = buffer_reserve(b, len);

	if (at)
		b->size += len;
	return at;
}

void buffer_append(struct buffer *b, const void *data, size_t len)
{
	uint8_t *at = buffer_extend(b, len);

	if (at && len)
		memcpy(at, data, len);
}

void buffer_u8(struct buffer *b, uint8_t v)
{
	buffer_append(b, &v, 1);
}

void buffer_le64(struct buffer *b, uint64_t v)
{
	uint8_t raw[8];

	store_le64(raw, v);
	buffer_append(b, raw, sizeof(raw));
}

void buffer_varint(struct buffer *b, uint64_t v)
{
	uint8_t raw[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		raw[n++] = (uint8_t)(v | 0x80);
	raw[n++] = (uint8_t)v;
	buffer_append(b, raw, n);
}

size_t varint_size(uint64_t v)
{
	size_t n = 1;

	for (; v >= 0x80; v >>= 7)
		n++;
	return n;
}

void buffer_clear(struct buffer *b)
{
	b->size = 0;
	b->failed = false;
}

void buffer_release(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer)BUFFER_INIT;
}

const uint8_t *span_take(struct span *s, uint64_t len)
{
	const uint8_t *at = s->at;

	if (s->failed || len > span_left(s)) {
		s->failed = true;
		return NULL;
	}
	s->at += len;
	return at;
}

uint8_t span_u8(struct span *s)
{
	const uint8_t *p = span_take(s, 1);

	return p ? *p : 0;
}

uint16_t span_le16(struct span *s)
{
	const uint8_t *p = span_take(s, 2);

	return p ? load_le16(p) : 0;
}

uint64_t span_le64(struct span *s)
{
	const uint8_t *p = span_take(s, 8);

	return p ? load_le64(p) : 0;
}

uint64_t span_varint(struct span *s)
{
	uint64_t v = 0;
	unsigned shift;

	for (shift = 0; shift < 64; shift += 7) {
		uint8_t byte = span_u8(s);

		if (s->failed || (shift == 63 && byte > 1) || (shift && !byte))
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	s->failed = true;
	return 0;
}
