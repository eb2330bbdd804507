/* SPDX-License-Identifier: Apache-2.0 */
/** Archives that are built by hand, byte by byte after docs/FORMAT.md. */
#ifndef TESTS_UNIT_ARCHIVE_DRAFT_H
#define TESTS_UNIT_ARCHIVE_DRAFT_H

#include "tests/unit/support.h"

#include "core/archive/wire.h"
#include "core/base/digest.h"
#include "tests/unit/sha256_of.h"

#define DRAFT_PIECES_MAX 8

/** An archive in the making. */
struct draft {
	enum brevis_layout layout;
	const uint8_t *codebook; /* or NULL */
	size_t codebook_size;
	bool has_prior; /* named by the bytes 1 to 32 */
	struct buffer original;
	struct buffer records[DRAFT_PIECES_MAX];
	unsigned record_count;
	int pieces[DRAFT_PIECES_MAX]; /* record that it repeats, or -1: the next record */
	unsigned piece_count;
};

static inline void draft_release(struct draft *d)
{
	unsigned i;

	buffer_release(&d->original);
	for (i = 0; i < d->record_count; i++)
		buffer_release(&d->records[i]);
}

/** Adds a piece with its record. */
static inline void draft_piece(struct draft *d, uint8_t kind, const void *raw, size_t raw_size,
			       const void *body, size_t body_size)
{
	struct buffer *record = &d->records[d->record_count++];

	d->pieces[d->piece_count++] = -1;
	buffer_append(&d->original, raw, raw_size);
	buffer_u8(record, kind);
	buffer_varint(record, raw_size);
	buffer_le64(record, checksum64(raw, raw_size));
	buffer_append(record, body, body_size);
}

/** Adds a piece of stored bytes. */
static inline void draft_stored(struct draft *d, const void *raw, size_t raw_size)
{
	struct buffer body = BUFFER_INIT;

	buffer_u8(&body, BYTES_STORED);
	buffer_append(&body, raw, raw_size);
	draft_piece(d, RECORD_BYTES, raw, raw_size, body.data, body.size);
	buffer_release(&body);
}

static inline void draft_repeat(struct draft *d, int record, const void *raw, size_t raw_size)
{
	d->pieces[d->piece_count++] = record;
	buffer_append(&d->original, raw, raw_size);
}

/** Parts that an edit can change: before lengths and checksums are computed, but for SEALED. */
enum draft_part {
	NOWHERE,
	HEAD,
	RECORD_0,
	RECORD_1,
	RECORD_2,
	INDEX,
	TAIL,  /* its first 48 bytes */
	SEALED /* the finished archive; negative offsets count from its end */
};

/** At an offset, some bytes go and others come in their place. */
struct edit {
	enum draft_part part;
	int offset;
	size_t remove;
	const char *insert;
	size_t insert_size;
};

static inline void apply(const struct edit *edit, enum draft_part part, struct buffer *b)
{
	struct buffer result = BUFFER_INIT;
	size_t offset;

	if (!edit || edit->part != part)
		return;
	offset = edit->offset < 0 ? b->size - (size_t)-edit->offset : (size_t)edit->offset;
	assert_true(offset + edit->remove <= b->size);
	buffer_append(&result, b->data, offset);
	buffer_append(&result, edit->insert, edit->insert_size);
	buffer_append(&result, b->data + offset + edit->remove, b->size - offset - edit->remove);
	buffer_release(b);
	*b = result;
}

static inline void put_index(const struct draft *d, struct buffer *index)
{
	unsigned i, record = 0;

	buffer_u8(index, (uint8_t)d->layout);
	buffer_u8(index, d->has_prior ? BREVIS_SHA256_SIZE : 0);
	for (i = 1; d->has_prior && i <= BREVIS_SHA256_SIZE; i++)
		buffer_u8(index, (uint8_t)i);
	buffer_varint(index, d->piece_count);
	for (i = 0; i < d->piece_count; i++) {
		if (d->pieces[i] < 0)
			buffer_varint(index, 2 * (uint64_t)d->records[record++].size);
		else
			buffer_varint(index, 2 * (uint64_t)d->pieces[i] + 1);
	}
}

static inline void put_tail(const struct draft *d, size_t index_size, struct buffer *tail)
{
	uint8_t digest[BREVIS_SHA256_SIZE];

	sha256_of(d->original.data, d->original.size, digest);
	buffer_le64(tail, index_size);
	buffer_le64(tail, d->original.size);
	buffer_append(tail, digest, sizeof(digest));
}

/** Puts the archive together, with one edit (or NULL), and consumes the draft's records. */
static inline void draft_seal(struct draft *d, const struct edit *edit, struct buffer *out)
{
	struct buffer head = BUFFER_INIT, index = BUFFER_INIT, tail = BUFFER_INIT;
	unsigned i;

	buffer_append(&head, WIRE_MAGIC "\x01\x00", WIRE_HEAD_FIXED);
	buffer_varint(&head, d->codebook_size);
	buffer_append(&head, d->codebook, d->codebook_size);
	apply(edit, HEAD, &head);
	buffer_append(out, head.data, head.size);
	for (i = 0; i < d->record_count; i++) {
		apply(edit, (enum draft_part)(RECORD_0 + i), &d->records[i]);
		buffer_append(out, d->records[i].data, d->records[i].size);
	}
	put_index(d, &index);
	apply(edit, INDEX, &index);
	put_tail(d, index.size, &tail);
	apply(edit, TAIL, &tail);
	buffer_append(&index, tail.data, tail.size);
	buffer_le64(&index,
		    checksum64_chain(checksum64(head.data, head.size), index.data, index.size));
	buffer_append(&index, WIRE_END_MARK, 8);
	buffer_append(out, index.data, index.size);
	apply(edit, SEALED, out);
	assert_false(buffer_failed(out));
	buffer_release(&head);
	buffer_release(&index);
	buffer_release(&tail);
}

/** Builds an archive, with one edit or NULL; appends what it restores to *original, if not NULL. */
static inline void draft_build(void (*how)(struct draft *), const struct edit *edit,
			       struct buffer *archive, struct buffer *original)
{
	struct draft d = {0};

	how(&d);
	draft_seal(&d, edit, archive);
	if (original)
		buffer_append(original, d.original.data, d.original.size);
	draft_release(&d);
}

#endif
