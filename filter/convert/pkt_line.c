/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/convert/pkt_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEADER 4

/* Several packets at a time: fewer calls, and git's writes are taken as they come. */
#define BUFFER_SIZE (1024 * 1024)

struct pkt_reader {
	int fd;
	size_t begin; /* bytes [begin, end) of buffer are unread */
	size_t end;
	uint8_t *buffer;
	char text[PKT_MAX + 1];
};

struct pkt_reader *pkt_reader_new(int fd)
{
	struct pkt_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->fd = fd;
	reader->buffer = malloc(BUFFER_SIZE);
	if (!reader->buffer) {
		free(reader);
		return NULL;
	}
	return reader;
}

void pkt_reader_free(struct pkt_reader *reader)
{
	if (!reader)
		return;
	free(reader->buffer);
	free(reader);
}

/* Makes at least want bytes available. Returns 1, 0 at the end of the stream, -1 on failure. */
static int fill(struct pkt_reader *reader, size_t want)
{
	if (reader->end - reader->begin >= want)
		return 1;
	memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
	reader->end -= reader->begin;
	reader->begin = 0;
	while (reader->end < want) {
		ssize_t n =
			read(reader->fd, reader->buffer + reader->end, BUFFER_SIZE - reader->end);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		reader->end += (size_t)n;
	}
	return 1;
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Reads the length of a packet, header included, or returns -1. */
static long parse_length(const uint8_t *header)
{
	long length = 0;
	int i;

	for (i = 0; i < HEADER; i++) {
		int digit = hex_digit(header[i]);

		if (digit < 0)
			return -1;
		length = length * 16 + digit;
	}
	return length;
}

enum pkt_kind pkt_read(struct pkt_reader *reader, const uint8_t **data, size_t *len)
{
	int filled = fill(reader, HEADER);
	long length;

	*data = NULL;
	*len = 0;
	if (filled == 0 && reader->begin == reader->end)
		return PKT_END;
	if (filled <= 0)
		return PKT_BROKEN;
	length = parse_length(reader->buffer + reader->begin);
	if (length == 0) {
		reader->begin += HEADER;
		return PKT_FLUSH;
	}
	/* 1 to 3 are packets of other protocols of git. */
	if (length < HEADER || length > HEADER + PKT_MAX || fill(reader, (size_t)length) <= 0)
		return PKT_BROKEN;
	*data = reader->buffer + reader->begin + HEADER;
	*len = (size_t)length - HEADER;
	reader->begin += (size_t)length;
	return PKT_DATA;
}

enum pkt_kind pkt_read_text(struct pkt_reader *reader, const char **text)
{
	const uint8_t *data;
	size_t len;
	enum pkt_kind kind = pkt_read(reader, &data, &len);

	*text = NULL;
	if (kind != PKT_DATA)
		return kind;
	if (len && data[len - 1] == '\n')
		len--;
	if (memchr(data, '\0', len))
		return PKT_BROKEN;
	memcpy(reader->text, data, len);
	reader->text[len] = '\0';
	*text = reader->text;
	return PKT_DATA;
}

/* The buffer holds whole packets, and at its end perhaps one of content that is still open: its
 * header is written when it is closed. */
struct pkt_writer {
	int fd;
	int failure;
	size_t used;
	size_t open; /* where the open packet begins, if has_open */
	bool has_open;
	uint8_t *buffer;
};

struct pkt_writer *pkt_writer_new(int fd)
{
	struct pkt_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->fd = fd;
	writer->buffer = malloc(BUFFER_SIZE);
	if (!writer->buffer) {
		free(writer);
		return NULL;
	}
	return writer;
}

void pkt_writer_free(struct pkt_writer *writer)
{
	if (!writer)
		return;
	free(writer->buffer);
	free(writer);
}

static void put_header(uint8_t *at, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	int i;

	for (i = HEADER - 1; i >= 0; i--) {
		at[i] = (uint8_t)digits[length & 15];
		length >>= 4;
	}
}

static void close_packet(struct pkt_writer *writer)
{
	if (writer->has_open)
		put_header(writer->buffer + writer->open, writer->used - writer->open);
	writer->has_open = false;
}

/* Packets that are sent together at most, straight from the memory of who writes them. */
#define DIRECT_MAX 16

/* Writes out what the vector names. */
static int send_vector(struct pkt_writer *writer, struct iovec *at, int count)
{
	while (count && !writer->failure) {
		ssize_t n = writev(writer->fd, at, count);

		if (n < 0 && errno != EINTR)
			writer->failure = errno;
		for (; n >= 0 && count && (size_t)n >= at->iov_len; at++, count--)
			n -= (ssize_t)at->iov_len;
		if (n > 0) {
			at->iov_base = (uint8_t *)at->iov_base + n;
			at->iov_len -= (size_t)n;
		}
	}
	if (writer->failure)
		errno = writer->failure;
	return writer->failure ? -1 : 0;
}

/* Sends what the buffer holds, and behind it as many packets of the largest size as data has, and
 * as go together. Returns how many. */
static size_t send_direct(struct pkt_writer *writer, const uint8_t *data, size_t len)
{
	uint8_t headers[DIRECT_MAX][HEADER];
	struct iovec vector[1 + 2 * DIRECT_MAX];
	size_t packets = len / PKT_MAX < DIRECT_MAX ? len / PKT_MAX : DIRECT_MAX;
	size_t i;
	int count = 0;

	if (writer->used)
		vector[count++] = (struct iovec){writer->buffer, writer->used};
	for (i = 0; i < packets; i++) {
		put_header(headers[i], HEADER + PKT_MAX);
		vector[count++] = (struct iovec){headers[i], HEADER};
		vector[count++] = (struct iovec){(void *)(uintptr_t)(data + i * PKT_MAX), PKT_MAX};
	}
	writer->used = 0;
	send_vector(writer, vector, count);
	return packets;
}

/* Sends what the buffer holds. */
static int send_all(struct pkt_writer *writer)
{
	struct iovec all = {writer->buffer, writer->used};

	writer->used = 0;
	return send_vector(writer, &all, 1);
}

/* Makes sure that a packet of the largest size fits behind what is there. */
static int make_room(struct pkt_writer *writer)
{
	if (BUFFER_SIZE - writer->used >= HEADER + PKT_MAX)
		return 0;
	return send_all(writer);
}

int pkt_write(void *ctx, const void *data, size_t len)
{
	struct pkt_writer *writer = ctx;
	const uint8_t *at = data;

	while (len && !writer->failure) {
		size_t room;

		if (!writer->has_open && len >= PKT_MAX) {
			size_t sent = send_direct(writer, at, len) * PKT_MAX;

			at += sent;
			len -= sent;
			continue;
		}
		if (!writer->has_open) {
			if (make_room(writer) != 0)
				return -1;
			writer->open = writer->used;
			writer->used += HEADER;
			writer->has_open = true;
		}
		room = HEADER + PKT_MAX - (writer->used - writer->open);
		if (room > len)
			room = len;
		memcpy(writer->buffer + writer->used, at, room);
		writer->used += room;
		at += room;
		len -= room;
		if (writer->used - writer->open == HEADER + PKT_MAX)
			close_packet(writer);
	}
	if (writer->failure)
		errno = writer->failure;
	return writer->failure ? -1 : 0;
}

int pkt_write_text(struct pkt_writer *writer, const char *format, ...)
{
	va_list args;
	int len;
	char *at;

	close_packet(writer);
	if (make_room(writer) != 0)
		return -1;
	at = (char *)writer->buffer + writer->used + HEADER;
	va_start(args, format);
	len = vsnprintf(at, PKT_MAX, format, args);
	va_end(args);
	if (len < 0 || len >= PKT_MAX) {
		writer->failure = EMSGSIZE;
		return -1;
	}
	at[len] = '\n';
	put_header(writer->buffer + writer->used, (size_t)len + 1 + HEADER);
	writer->used += (size_t)len + 1 + HEADER;
	return 0;
}

int pkt_write_flush(struct pkt_writer *writer)
{
	close_packet(writer);
	if (make_room(writer) != 0)
		return -1;
	memset(writer->buffer + writer->used, '0', HEADER);
	writer->used += HEADER;
	return send_all(writer);
}
