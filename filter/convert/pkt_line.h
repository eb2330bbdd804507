/* SPDX-License-Identifier: Apache-2.0 */
/**
 * git's pkt-lines over two descriptors: four hex digits of length, then the payload; "0000" is a
 * flush packet, which ends a list or a content.
 */
#ifndef FILTER_PKT_LINE_H
#define FILTER_PKT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Payload bytes of the largest packet that git sends and takes. */
#define PKT_MAX 65516

enum pkt_kind {
	PKT_DATA = 0,
	PKT_FLUSH = 1,
	PKT_END = 2,    /* the peer closed the stream between two packets */
	PKT_BROKEN = -1 /* a failed read, the stream's end within a packet, or no pkt-line at all */
};

struct pkt_reader;

/** Reads from fd, which stays the caller's, with a buffer. NULL when memory is short. */
struct pkt_reader *pkt_reader_new(int fd);
void pkt_reader_free(struct pkt_reader *reader);

/** Reads the next packet. Its payload lives until the next call. */
enum pkt_kind pkt_read(struct pkt_reader *reader, const uint8_t **data, size_t *len);

/**
 * Reads a packet of text: like pkt_read, as a string without its final newline. Text that holds a
 * NUL is PKT_BROKEN.
 */
enum pkt_kind pkt_read_text(struct pkt_reader *reader, const char **text);

struct pkt_writer;

/** Writes to fd, which stays the caller's, with a buffer. NULL when memory is short. */
struct pkt_writer *pkt_writer_new(int fd);
void pkt_writer_free(struct pkt_writer *writer);

/** Adds content; it is cut into packets of the largest size. A brevis_write_fn. */
int pkt_write(void *writer, const void *data, size_t len);

/** Adds one packet of text, with a newline at its end. */
int pkt_write_text(struct pkt_writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Adds a flush packet and sends all there is. Returns 0, or -1 if this or any earlier write failed;
 * the first failure sticks.
 */
int pkt_write_flush(struct pkt_writer *writer);

#endif
