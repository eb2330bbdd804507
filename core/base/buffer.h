/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A growing byte buffer to write into, and a bounded span to read from.
 *
 * Errors stick: after a failed append the buffer takes nothing more and buffer_failed() says so; a
 * span that was read past its end yields zeros and span_failed() says so. Callers check once.
 */
#ifndef CORE_BASE_BUFFER_H
#define CORE_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *data;
	size_t size;
	size_t capacity;
	bool failed;
};

#define BUFFER_INIT                                                                                \
	{                                                                                          \
		0                                                                                  \
	}

/** Makes room for len more bytes. Returns where to write them, or NULL when memory is short. */
uint8_t *buffer_reserve(struct buffer *b, size_t len);

/** Appends len bytes, uninitialised, and returns them, or NULL when memory is short. */
uint8_t *buffer_extend(struct buffer *b, size_t len);

void buffer_append(struct buffer *b, const void *data, size_t len);
void buffer_u8(struct buffer *b, uint8_t v);
void buffer_le64(struct buffer *b, uint64_t v);

/** Appends v in LEB128: seven bits a byte, lowest first, the high bit on all but the last. */
void buffer_varint(struct buffer *b, uint64_t v);

/** Bytes that buffer_varint takes for v. */
size_t varint_size(uint64_t v);

static inline bool buffer_failed(const struct buffer *b)
{
	return b->failed;
}

/** Forgets the content and any failure, keeps the memory. */
void buffer_clear(struct buffer *b);
void buffer_release(struct buffer *b);

/** Bytes [at, end) of memory that belongs to someone else. */
struct span {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

/** data may be NULL if len is 0. */
static inline struct span span_of(const void *data, size_t len)
{
	const uint8_t *at = data;

	return (struct span){at, len ? at + len : at, false};
}

static inline size_t span_left(const struct span *s)
{
	return (size_t)(s->end - s->at);
}

static inline bool span_failed(const struct span *s)
{
	return s->failed;
}

uint8_t span_u8(struct span *s);
uint16_t span_le16(struct span *s);
uint64_t span_le64(struct span *s);

/** Reads a LEB128 number. One that is longer than it must be, or over 64 bits, fails the span. */
uint64_t span_varint(struct span *s);

/** Takes the next len bytes, or fails the span and returns NULL. */
const uint8_t *span_take(struct span *s, uint64_t len);

#endif
