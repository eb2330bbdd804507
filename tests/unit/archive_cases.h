/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Small archives built by hand, byte by byte after docs/FORMAT.md: good ones, and copies of them in
 * which one thing is wrong. tests/corpus holds the same archives as files, for every other reader;
 * BREVIS_WRITE_CORPUS=tests/corpus makes test_archive write them.
 */
#ifndef TESTS_UNIT_ARCHIVE_CASES_H
#define TESTS_UNIT_ARCHIVE_CASES_H

#include "tests/unit/support.h"

#include "core/archive/wire.h"
#include "core/base/digest.h"

/* ---- building -------------------------------------------------------------------------------- */

#define DRAFT_PIECES_MAX 8

/** An archive in the making. */
struct draft {
	enum brevis_layout layout;
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
enum part {
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
	enum part part;
	int offset;
	size_t remove;
	const char *insert;
	size_t insert_size;
};

static inline void apply(const struct edit *edit, enum part part, struct buffer *b)
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
	struct brevis_sha256 *sha = brevis_sha256_new();
	uint8_t digest[BREVIS_SHA256_SIZE];

	assert_non_null(sha);
	brevis_sha256_update(sha, d->original.data, d->original.size);
	brevis_sha256_final(sha, digest);
	brevis_sha256_free(sha);
	buffer_le64(tail, index_size);
	buffer_le64(tail, d->original.size);
	buffer_append(tail, digest, sizeof(digest));
}

/** Puts the archive together, with one edit (or NULL), and consumes the draft's records. */
static inline void draft_seal(struct draft *d, const struct edit *edit, struct buffer *out)
{
	struct buffer head = BUFFER_INIT, index = BUFFER_INIT, tail = BUFFER_INIT;
	unsigned i;

	buffer_append(&head, WIRE_MAGIC "\x01\x00", WIRE_HEAD_SIZE);
	apply(edit, HEAD, &head);
	buffer_append(out, head.data, head.size);
	for (i = 0; i < d->record_count; i++) {
		apply(edit, (enum part)(RECORD_0 + i), &d->records[i]);
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

/* ---- good archives --------------------------------------------------------------------------- */

/* BF16 tensor "a" and its program: byte planes, the upper constant, the lower packed in 3 bits. */
static const uint8_t tensor_a[16] = {0, 0x3f, 1, 0x3f, 2, 0x3f, 3, 0x3f,
				     4, 0x3f, 5, 0x3f, 6, 0x3f, 7, 0x3f};
static const uint8_t program_a[] = {7, 2, 2, 0x3f, 1, 1, 0, 3, 0x88, 0xc6, 0xfa};

static const uint8_t program_b[] = {1, 0, 'w', 'x', 'y', 'z'};

static inline void draft_tensors(struct draft *d)
{
	const struct tensor_spec tensors[] = {
		{"a", "BF16", 8, 16, tensor_a},
		{"b", "U8", 4, 4, "wxyz"},
		{"none", "F32", 0, 0, ""},
		{"c", "BF16", 8, 16, tensor_a},
	};
	struct buffer file = BUFFER_INIT;

	d->layout = BREVIS_LAYOUT_SAFETENSORS;
	put_safetensors(&file, tensors, 4);
	draft_stored(d, file.data, file.size - 36);
	draft_piece(d, 16, tensor_a, 16, program_a, sizeof(program_a));
	draft_piece(d, 8, "wxyz", 4, program_b, sizeof(program_b));
	draft_repeat(d, 1, tensor_a, 16);
	buffer_release(&file);
}

/* 200 times the same byte, as a Zstandard frame of one block of run-length type. */
static inline void draft_zstd(struct draft *d)
{
	static const uint8_t body[] = {BYTES_ZSTD, 0x28, 0xb5, 0x2f, 0xfd, 0x20,
				       200,        0x43, 0x06, 0x00, 'x'};
	char raw[200];

	memset(raw, 'x', sizeof(raw));
	draft_piece(d, RECORD_BYTES, raw, sizeof(raw), body, sizeof(body));
}

static inline void draft_empty(struct draft *d)
{
	(void)d;
}

static inline void draft_opaque(struct draft *d)
{
	draft_stored(d, "no safetensors file", 19);
}

/* The last tensor of the header is cut short: its piece is bytes. */
static inline void draft_short(struct draft *d)
{
	draft_tensors(d);
	d->layout = BREVIS_LAYOUT_IRREGULAR;
	d->piece_count--;
	d->original.size -= 16;
	draft_stored(d, tensor_a, 9);
}

static inline void draft_long(struct draft *d)
{
	draft_tensors(d);
	d->layout = BREVIS_LAYOUT_IRREGULAR;
	draft_stored(d, "tail", 4);
}

/*
 * Every operator, to the full depth of 4, over 32-bit words: six words of a constant, then eight
 * whose sign is packed, whose exponent is a concat of two consts, and whose fraction is a merge of
 * a const, a raw and a packed literal.
 */
static inline void draft_operators(struct draft *d)
{
	static const uint8_t program[] = {
		3, 2,    6,                            /* concat of 6 and 8 words */
		2, 0xef, 0xbe, 0xad, 0xde,             /* const */
		7, 0,    3,    1,    8,    23,         /* merge of sign, exponent, fraction */
		1, 1,    0,    1,    0x5a,             /* lit1, packed */
		3, 2,    3,    2,    0x7f, 2,    0x80, /* concat of 3 and 5 words of 8 bits */
		7, 0,    3,    11,   8,    4,          /* merge of 23 bits */
		2, 0x23, 0x01,                         /* const11 */
		1, 0,    'a',  'b',  'c',  'd',  'e',  'f', 'g', 'h', /* lit8, raw */
		1, 1,    9,    2,    0x1b, 0xe4,                      /* lit4, packed above 9 */
	};
	uint8_t raw[14 * 4];
	unsigned i;

	for (i = 0; i < 6; i++)
		store_le32(raw + 4 * i, 0xdeadbeef);
	for (i = 0; i < 8; i++) {
		uint32_t low = 9 + (i < 4 ? 3 - i : i - 4); /* 0x1b: 3 2 1 0, 0xe4: 0 1 2 3 */

		store_le32(raw + 24 + 4 * i, (uint32_t)(0x5a >> i & 1) << 31 |
						     (i < 3 ? 0x7fu : 0x80u) << 23 | 0x123u << 12 |
						     ('a' + i) << 4 | low);
	}
	draft_piece(d, 32, raw, sizeof(raw), program, sizeof(program));
}

struct good_case {
	const char *name;
	void (*build)(struct draft *d);
};

static const struct good_case good_cases[] = {
	{"good-empty", draft_empty},           {"good-opaque-stored", draft_opaque},
	{"good-opaque-zstd", draft_zstd},      {"good-tensors", draft_tensors},
	{"good-irregular-short", draft_short}, {"good-irregular-long", draft_long},
	{"good-operators", draft_operators},
};

#define GOOD_CASES (sizeof(good_cases) / sizeof(good_cases[0]))

/* ---- bad archives ---------------------------------------------------------------------------- */

/** One thing wrong with a good archive, and what a reader says to it. */
struct bad_case {
	const char *name;
	void (*build)(struct draft *d);
	struct edit edit;
	enum brevis_status status;
	const char *message; /* part of it */
};

#define EDIT(part, offset, remove, insert)                                                         \
	{                                                                                          \
		part, offset, remove, insert, sizeof(insert) - 1                                   \
	}

/* Record 0 of draft_tensors: its body, behind kind, raw size in two bytes, checksum. */
#define BODY_0 11

/* The same of records 1 and 2: their raw size takes one byte. */
#define BODY_1 10

static const struct bad_case bad_cases[] = {
	/* head */
	{"bad-magic", draft_tensors, EDIT(SEALED, 0, 1, "\x88"), BREVIS_E_FORMAT,
	 "not a brevis archive"},
	{"bad-line-ends", draft_tensors, EDIT(SEALED, 7, 1, "\r\n"), BREVIS_E_FORMAT,
	 "not a brevis archive"},
	{"unsupported-version", draft_tensors, EDIT(HEAD, 8, 1, "\x02"), BREVIS_E_UNSUPPORTED,
	 "format version 2"},
	{"unsupported-version-zero", draft_tensors, EDIT(HEAD, 8, 1, "\x00"), BREVIS_E_UNSUPPORTED,
	 "format version 0"},
	{"unsupported-feature", draft_tensors,
	 EDIT(HEAD, 9, 1,
	      "\x01\x05"
	      "delta"),
	 BREVIS_E_UNSUPPORTED, "feature 'delta'"},
	{"unsupported-feature-name", draft_tensors,
	 EDIT(HEAD, 9, 1,
	      "\x02\x03"
	      "a\nb\x01"
	      "c"),
	 BREVIS_E_UNSUPPORTED, "feature 'a\\x0ab'"},
	{"unsupported-feature-cut", draft_empty,
	 EDIT(HEAD, 9, 1,
	      "\x01\xff"
	      "x"),
	 BREVIS_E_UNSUPPORTED, "feature '?'"},
	/* tail */
	{"bad-end-mark", draft_tensors, EDIT(SEALED, -1, 1, "\x88"), BREVIS_E_FORMAT,
	 "end mark is missing"},
	{"bad-last-byte-missing", draft_tensors, EDIT(SEALED, -1, 1, ""), BREVIS_E_FORMAT,
	 "end mark is missing"},
	{"bad-byte-appended", draft_tensors, EDIT(SEALED, -1, 1, "\x89\n"), BREVIS_E_FORMAT,
	 "end mark is missing"},
	{"bad-index-size-huge", draft_tensors, EDIT(TAIL, 0, 8, "\xff\xff\xff\xff\xff\xff\xff\xff"),
	 BREVIS_E_FORMAT, "index size out of range"},
	{"bad-index-size-small", draft_tensors, EDIT(TAIL, 0, 1, "\x06"), BREVIS_E_CHECKSUM,
	 "index checksum does not match"},
	{"bad-index-size-zero", draft_tensors, EDIT(TAIL, 0, 1, "\x00"), BREVIS_E_CHECKSUM,
	 "index checksum does not match"},
	{"bad-index-checksum", draft_tensors, EDIT(SEALED, -16, 1, "\x00"), BREVIS_E_CHECKSUM,
	 "index checksum does not match"},
	{"bad-original-size", draft_tensors, EDIT(TAIL, 10, 1, "\x01"), BREVIS_E_FORMAT,
	 "records do not sum to the original size"},
	{"bad-original-sha256", draft_tensors, EDIT(TAIL, 20, 2, "\x00\x01"), BREVIS_E_CHECKSUM,
	 "SHA-256"},
	/* index */
	{"bad-index-empty", draft_empty, EDIT(INDEX, 0, 2, ""), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-layout", draft_tensors, EDIT(INDEX, 0, 1, "\x03"), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-pieces-more", draft_tensors, EDIT(INDEX, 1, 1, "\x05"), BREVIS_E_FORMAT,
	 "index is cut short"},
	{"bad-pieces-fewer", draft_tensors, EDIT(INDEX, 1, 1, "\x03"), BREVIS_E_FORMAT,
	 "index does not cover the archive"},
	{"bad-pieces-maximum", draft_tensors, EDIT(INDEX, 1, 1, "\x80\x80\x80\x02"),
	 BREVIS_E_FORMAT, "index is cut short"},
	{"bad-pieces-huge", draft_tensors, EDIT(INDEX, 1, 1, "\x81\x80\x80\x02"), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-pieces-64-bits", draft_tensors,
	 EDIT(INDEX, 1, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-pieces-65-bits", draft_tensors,
	 EDIT(INDEX, 1, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03"), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-pieces-varint", draft_tensors, EDIT(INDEX, 1, 1, "\x84\x00"), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-entry-varint", draft_tensors, EDIT(INDEX, 5, 1, "\xa0\x00"), BREVIS_E_FORMAT,
	 "index is cut short"},
	{"bad-entry-zero", draft_tensors, EDIT(INDEX, 5, 1, "\x00"), BREVIS_E_FORMAT,
	 "index promises more than the archive holds"},
	{"bad-entry-short", draft_tensors, EDIT(INDEX, 5, 1, "\x1e"), BREVIS_E_FORMAT,
	 "index does not cover the archive"},
	{"bad-entry-long", draft_tensors, EDIT(INDEX, 5, 1, "\x22"), BREVIS_E_FORMAT,
	 "index promises more than the archive holds"},
	{"bad-entry-huge", draft_tensors,
	 EDIT(INDEX, 5, 1, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"), BREVIS_E_FORMAT,
	 "index promises more than the archive holds"},
	{"bad-repeat-later", draft_tensors, EDIT(INDEX, 6, 1, "\x07"), BREVIS_E_FORMAT,
	 "index repeats a later record"},
	{"bad-repeat-own", draft_tensors, EDIT(INDEX, 4, 1, "\x03"), BREVIS_E_FORMAT,
	 "index repeats a later record"},
	{"bad-repeat-64-bits", draft_tensors,
	 EDIT(INDEX, 6, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), BREVIS_E_FORMAT,
	 "index repeats a later record"},
	{"bad-repeat-other", draft_tensors, EDIT(INDEX, 6, 1, "\x05"), BREVIS_E_FORMAT,
	 "records do not sum to the original size"},
	{"bad-index-trailing", draft_tensors, EDIT(INDEX, 7, 0, "\x03"), BREVIS_E_FORMAT,
	 "index does not cover the archive"},
	/* record heads */
	{"bad-record-kind", draft_tensors, EDIT(RECORD_1, 0, 1, "\x0c"), BREVIS_E_FORMAT,
	 "unknown kind of record 12"},
	{"bad-record-empty", draft_tensors, EDIT(RECORD_1, 1, 1, "\x00"), BREVIS_E_FORMAT,
	 "record size out of range"},
	{"bad-record-half-word", draft_tensors, EDIT(RECORD_1, 1, 1, "\x0f"), BREVIS_E_FORMAT,
	 "record size out of range"},
	{"bad-record-huge", draft_tensors, EDIT(RECORD_2, 1, 1, "\x81\x80\x80\x08"),
	 BREVIS_E_FORMAT, "record size out of range"},
	{"bad-record-varint", draft_tensors, EDIT(RECORD_2, 1, 1, "\x84\x00"), BREVIS_E_FORMAT,
	 "record head is cut short"},
	{"bad-record-cut", draft_tensors, EDIT(RECORD_2, 9, 7, ""), BREVIS_E_FORMAT,
	 "record head is cut short"},
	{"bad-record-raw-size", draft_tensors, EDIT(RECORD_2, 1, 1, "\x05"), BREVIS_E_FORMAT,
	 "records do not sum to the original size"},
	/* records */
	{"bad-record-checksum", draft_tensors, EDIT(RECORD_1, 2, 2, "\x00\x01"), BREVIS_E_CHECKSUM,
	 "record 2 of 3: checksum does not match"},
	{"bad-record-body-missing", draft_tensors, EDIT(RECORD_1, BODY_1, 11, ""), BREVIS_E_FORMAT,
	 "record 2 of 3: program: cut short"},
	{"bad-record-other-width", draft_tensors, EDIT(RECORD_1, 0, 1, "\x20"), BREVIS_E_FORMAT,
	 "record 2 of 3: "},
	{"bad-program-operator", draft_tensors, EDIT(RECORD_1, BODY_1, 1, "\x08"), BREVIS_E_FORMAT,
	 "record 2 of 3: program: unknown operator 8"},
	{"bad-program-words", draft_tensors, EDIT(RECORD_1, BODY_1 + 3, 1, "\x3e"),
	 BREVIS_E_CHECKSUM, "record 2 of 3: checksum does not match"},
	{"bad-program-short", draft_tensors, EDIT(RECORD_2, BODY_1 + 5, 1, ""), BREVIS_E_FORMAT,
	 "record 3 of 3: literal: a payload of 4 bytes where 3 are left"},
	{"bad-program-long", draft_tensors, EDIT(RECORD_2, BODY_1 + 6, 0, "!"), BREVIS_E_FORMAT,
	 "record 3 of 3: program: bytes after its end"},
	{"bad-bytes-coding", draft_tensors, EDIT(RECORD_0, BODY_0, 1, "\x02"), BREVIS_E_FORMAT,
	 "record 1 of 3: unknown coding of bytes 2"},
	{"bad-bytes-short", draft_tensors, EDIT(RECORD_0, BODY_0 + 1, 1, ""), BREVIS_E_FORMAT,
	 "record 1 of 3: stored bytes have the wrong size"},
	{"bad-bytes-long", draft_tensors, EDIT(RECORD_0, BODY_0 + 1, 0, "!"), BREVIS_E_FORMAT,
	 "record 1 of 3: stored bytes have the wrong size"},
	{"bad-bytes-empty", draft_opaque, EDIT(RECORD_0, 10, 20, ""), BREVIS_E_FORMAT,
	 "record 1 of 1: record of bytes is cut short"},
	{"bad-zstd-frame", draft_zstd, EDIT(RECORD_0, BODY_0 + 1, 1, "\x29"), BREVIS_E_FORMAT,
	 "record 1 of 1: not a zstd frame"},
	{"bad-zstd-legacy", draft_zstd, EDIT(RECORD_0, BODY_0 + 1, 1, "\x27"), BREVIS_E_FORMAT,
	 "record 1 of 1: not a zstd frame"},
	{"bad-zstd-window", draft_zstd, EDIT(RECORD_0, BODY_0 + 5, 1, "\x00\x71"), BREVIS_E_FORMAT,
	 "record 1 of 1: zstd window is larger than a record"},
	{"bad-zstd-shorter", draft_zstd, EDIT(RECORD_0, BODY_0 + 6, 2, "\xc7\x3b"), BREVIS_E_FORMAT,
	 "record 1 of 1: zstd frame has the wrong size"},
	{"bad-zstd-longer", draft_zstd, EDIT(RECORD_0, BODY_0 + 6, 2, "\xc9\x4b"), BREVIS_E_FORMAT,
	 "record 1 of 1: zstd: "},
	{"bad-zstd-two-frames", draft_zstd,
	 EDIT(RECORD_0, BODY_0 + 11, 0, "\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"), BREVIS_E_FORMAT,
	 "record 1 of 1: more than one zstd frame"},
};

#define BAD_CASES (sizeof(bad_cases) / sizeof(bad_cases[0]))

#endif
