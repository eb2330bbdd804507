/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Small archives built by hand, byte by byte after docs/FORMAT.md: good ones, and copies of them in
 * which one thing is wrong. tests/corpus holds the same archives as files, for every other reader;
 * BREVIS_WRITE_CORPUS=tests/corpus makes test_archive write them.
 */
#ifndef TESTS_UNIT_ARCHIVE_CASES_H
#define TESTS_UNIT_ARCHIVE_CASES_H

#include "tests/unit/archive_draft.h"

/* ---- good archives --------------------------------------------------------------------------- */

/* BF16 tensor "a" and its program: byte planes, the upper constant, the lower packed in 3 bits. */
static const uint8_t tensor_a[16] = {0, 0x3f, 1, 0x3f, 2, 0x3f, 3, 0x3f,
				     4, 0x3f, 5, 0x3f, 6, 0x3f, 7, 0x3f};
static const uint8_t program_a[] = {0x27, 2, 0x3f, 0x11, 0, 3, 0x88, 0xc6, 0xfa};

static const uint8_t program_b[] = {0x01, 'w', 'x', 'y', 'z'};

/* Tensor "b" by the program that is given. */
static inline void draft_tensors_by(struct draft *d, const uint8_t *program, size_t size)
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
	draft_piece(d, 8, "wxyz", 4, program, size);
	draft_repeat(d, 1, tensor_a, 16);
	buffer_release(&file);
}

static inline void draft_tensors(struct draft *d)
{
	draft_tensors_by(d, program_b, sizeof(program_b));
}

/*
 * The same with a codebook: 64 of 256 slots for each of 'w' to 'z', and half of them for each of
 * the two highest words of 9 bits. Tensor "b" is a literal with table 0, without a tail.
 */
static inline void draft_codebook(struct draft *d)
{
	static const uint8_t codebook[] = {2, 8, 0,    0x77, 0x02, 0x10, 0x1b,
					   9, 0, 0xfe, 0x01, 0x20, 0x0a};
	static const uint8_t program[] = {0x41, 0, 0, 4, 0x80, 0x00, 0x39, 0x00};

	d->codebook = codebook;
	d->codebook_size = sizeof(codebook);
	draft_tensors_by(d, program, sizeof(program));
}

static inline void draft_prior(struct draft *d)
{
	draft_tensors(d);
	d->has_prior = true;
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

/* The same as an LZMA2 stream of one chunk: a literal byte and matches of it. */
static inline void draft_lzma2(struct draft *d)
{
	static const uint8_t body[] = {BYTES_LZMA2, 0xe0, 0,    199, 0, 6, 0x5d, 0,
				       0x3c,        0x6f, 0x66, 0,   0, 0, 0};
	char raw[200];

	memset(raw, 'x', sizeof(raw));
	draft_piece(d, RECORD_BYTES, raw, sizeof(raw), body, sizeof(body));
}

/* An LZMA2 stream of one chunk that holds its bytes as they are. */
static inline void draft_lzma2_plain(struct draft *d)
{
	static const char body[] = "\x02\x01\x00\x04plain";

	draft_piece(d, RECORD_BYTES, "plain", 5, body, sizeof(body));
}

/*
 * 16-bit words: four in a Zstandard frame; then eight whose upper 7 bits are an LZMA2 stream and
 * whose lower 9 are raw, in two bytes each.
 */
static inline void draft_libraries(struct draft *d)
{
	static const uint8_t program[] = {
		0x03, 4,                           /* concat of 4 and 8 words */
		0x51, 17,  0x28, 0xb5, 0x2f, 0xfd, /* lit16, Zstandard: one block, ... */
		0x20, 8,   0x41, 0,    0,          /* ... as it is */
		'z',  's', 't',  'd',  1,    2,    3, 4, 0x07, 2,    7, /* merge of 7 and 9 bits */
		0x61, 12,  1,    0,    7, /* lit7, LZMA2: one chunk as it is */
		'l',  'z', 'm',  'a',  5,    6,    7, 8, 0,    0x01, /* lit9, raw */
		0,    1,   1,    0,    2,    1,    3, 0, 4,    1,    5, 0, 6, 1, 0xff, 1,
	};
	uint8_t raw[24] = {'z', 's', 't', 'd', 1, 2, 3, 4};
	unsigned i;

	for (i = 0; i < 8; i++) {
		unsigned high = (unsigned)"lzma\x05\x06\x07\x08"[i];
		unsigned low = i == 7 ? 0x1ff : i | (i % 2 ? 0 : 0x100);

		store_le16(raw + 8 + 2 * i, (uint16_t)(high << 9 | low));
	}
	draft_piece(d, 16, raw, sizeof(raw), program, sizeof(program));
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
 * Literals, consts, concats and merges four levels deep over 32-bit words: six words of a constant,
 * then eight whose sign is packed, whose exponent is a concat of two consts, and whose fraction is
 * a merge of a const, a raw and a packed literal.
 */
static inline void draft_operators(struct draft *d)
{
	static const uint8_t program[] = {
		0x03, 6,                                  /* concat of 6 and 8 words */
		2,    0xef, 0xfd, 0xb6, 0xf5, 0x0d,       /* const */
		0x37,                                     /* merge of sign, exponent, fraction */
		0x11, 0,    1,    0x5a,                   /* lit1, packed */
		0x03, 3,    2,    0x7f, 2,    0x80, 0x01, /* concat of 3 and 5 words of 8 bits */
		0x07, 3,    11,   8,                      /* merge of 23 bits */
		2,    0xa3, 0x02,                         /* const11 */
		0x01, 'a',  'b',  'c',  'd',  'e',  'f',  'g', 'h', /* lit8, raw */
		0x11, 9,    2,    0x1b, 0xe4,                       /* lit4, packed above 9 */
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

/*
 * Bytes, chained ones that are the same 15 by one match and a literal byte, and chained ones in an
 * LZMA2 chunk that holds them as they are and resets no dictionary.
 */
static inline void draft_chained_behind(struct draft *d, const char *before)
{
	static const uint8_t match[] = {
		BYTES_ZSTD, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 16, /* one segment of 16 bytes */
		0x45,       0,    0,    8,    '!',            /* the last block; literals */
		1,          0x54, 0,    4,    12,   0x12,     /* length 15, offset 15 */
	};
	static const uint8_t plain[] = {BYTES_LZMA2, 2, 0, 4, 'p', 'l', 'a', 'i', 'n', 0};

	draft_stored(d, before, 15);
	draft_piece(d, RECORD_CHAINED, "brevis archive !", 16, match, sizeof(match));
	draft_piece(d, RECORD_CHAINED, "plain", 5, plain, sizeof(plain));
}

static inline void draft_chained(struct draft *d)
{
	draft_chained_behind(d, "brevis archive ");
}

/* The first record was replaced, and with it everything that says what it restores. */
static inline void draft_chained_to_other(struct draft *d)
{
	draft_chained_behind(d, "brevis Archive ");
}

struct good_case {
	const char *name;
	void (*build)(struct draft *d);
};

static const struct good_case good_cases[] = {
	{"good-empty", draft_empty},           {"good-opaque-stored", draft_opaque},
	{"good-opaque-zstd", draft_zstd},      {"good-tensors", draft_tensors},
	{"good-irregular-short", draft_short}, {"good-irregular-long", draft_long},
	{"good-operators", draft_operators},   {"good-opaque-lzma2", draft_lzma2},
	{"good-codebook", draft_codebook},     {"good-prior", draft_prior},
	{"good-libraries", draft_libraries},   {"good-chained", draft_chained},
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
	/* codebook */
	{"bad-codebook-size", draft_codebook, EDIT(HEAD, 10, 1, "\x81\x80\x04"), BREVIS_E_FORMAT,
	 "codebook size out of range"},
	{"bad-codebook-size-varint", draft_codebook, EDIT(HEAD, 10, 1, "\x8d\x00"), BREVIS_E_FORMAT,
	 "codebook size out of range"},
	{"bad-codebook-size-long", draft_codebook, EDIT(HEAD, 10, 1, "\x80\x80\x04"),
	 BREVIS_E_FORMAT, "archive is cut short"},
	{"bad-codebook-size-short", draft_codebook, EDIT(HEAD, 10, 1, "\x0c"), BREVIS_E_CHECKSUM,
	 "index checksum does not match"},
	{"bad-codebook-changed", draft_codebook, EDIT(SEALED, 14, 1, "\x76"), BREVIS_E_CHECKSUM,
	 "index checksum does not match"},
	{"bad-codebook-tables-none", draft_codebook, EDIT(HEAD, 11, 1, "\x00"), BREVIS_E_FORMAT,
	 "codebook: 0 tables, must be 1 to 64"},
	{"bad-codebook-tables-many", draft_codebook, EDIT(HEAD, 11, 1, "\x41"), BREVIS_E_FORMAT,
	 "codebook: 65 tables, must be 1 to 64"},
	{"bad-codebook-tables-more", draft_codebook, EDIT(HEAD, 11, 1, "\x03"), BREVIS_E_FORMAT,
	 "codebook: table 2: rANS table: cut short"},
	{"bad-codebook-tables-fewer", draft_codebook, EDIT(HEAD, 11, 1, "\x01"), BREVIS_E_FORMAT,
	 "codebook: bytes after the last table"},
	{"bad-codebook-width", draft_codebook, EDIT(HEAD, 12, 1, "\x0d"), BREVIS_E_FORMAT,
	 "codebook: table 0: words of 13 bits, must be 1 to 12"},
	{"bad-codebook-width-zero", draft_codebook, EDIT(HEAD, 18, 1, "\x00"), BREVIS_E_FORMAT,
	 "codebook: table 1: words of 0 bits, must be 1 to 12"},
	{"bad-codebook-lanes", draft_codebook, EDIT(HEAD, 13, 1, "\x08"), BREVIS_E_FORMAT,
	 "codebook: table 0: bits 3 and 4 of its parameters are set"},
	{"bad-codebook-scale", draft_codebook, EDIT(HEAD, 13, 1, "\x07"), BREVIS_E_FORMAT,
	 "codebook: table 0: rANS table: scale of 15 bits"},
	{"bad-codebook-symbol", draft_codebook, EDIT(HEAD, 14, 1, "\xfd"), BREVIS_E_FORMAT,
	 "codebook: table 0: rANS table: symbol 256 is outside"},
	{"bad-codebook-sum", draft_codebook, EDIT(HEAD, 17, 1, "\x1d"), BREVIS_E_FORMAT,
	 "codebook: table 0: rANS table: frequencies sum to over 2^8"},
	{"bad-codebook-padding", draft_codebook, EDIT(HEAD, 17, 1, "\x3b"), BREVIS_E_FORMAT,
	 "codebook: table 0: rANS table: padding bits are set"},
	{"bad-codebook-cut", draft_codebook, EDIT(HEAD, 10, 14, "\x06\x01\x08\x00\x77\x02\x10"),
	 BREVIS_E_FORMAT, "codebook: table 0: rANS table: cut short"},
	/* tail */
	{"bad-end-mark", draft_tensors, EDIT(SEALED, -1, 1, "\x88"), BREVIS_E_FORMAT,
	 "end mark is missing"},
	{"bad-last-byte-missing", draft_tensors, EDIT(SEALED, -1, 1, ""), BREVIS_E_FORMAT,
	 "end mark is missing"},
	{"bad-byte-appended", draft_tensors, EDIT(SEALED, -1, 1, "\x89\n"), BREVIS_E_FORMAT,
	 "end mark is missing"},
	{"bad-index-size-huge", draft_tensors, EDIT(TAIL, 0, 8, "\xff\xff\xff\xff\xff\xff\xff\xff"),
	 BREVIS_E_FORMAT, "index size out of range"},
	{"bad-index-size-small", draft_tensors, EDIT(TAIL, 0, 1, "\x07"), BREVIS_E_CHECKSUM,
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
	{"bad-index-empty", draft_empty, EDIT(INDEX, 0, 3, ""), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-prior-size", draft_prior, EDIT(INDEX, 1, 1, "\x1f"), BREVIS_E_FORMAT,
	 "index names a prior by 31 bytes"},
	{"bad-prior-cut", draft_empty, EDIT(INDEX, 1, 1, "\x20"), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-layout", draft_tensors, EDIT(INDEX, 0, 1, "\x03"), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-pieces-more", draft_tensors, EDIT(INDEX, 2, 1, "\x05"), BREVIS_E_FORMAT,
	 "index is cut short"},
	{"bad-pieces-fewer", draft_tensors, EDIT(INDEX, 2, 1, "\x03"), BREVIS_E_FORMAT,
	 "index does not cover the archive"},
	{"bad-pieces-maximum", draft_tensors, EDIT(INDEX, 2, 1, "\x80\x80\x80\x02"),
	 BREVIS_E_FORMAT, "index is cut short"},
	{"bad-pieces-huge", draft_tensors, EDIT(INDEX, 2, 1, "\x81\x80\x80\x02"), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-pieces-64-bits", draft_tensors,
	 EDIT(INDEX, 2, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-pieces-65-bits", draft_tensors,
	 EDIT(INDEX, 2, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03"), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-pieces-varint", draft_tensors, EDIT(INDEX, 2, 1, "\x84\x00"), BREVIS_E_FORMAT,
	 "index is damaged"},
	{"bad-entry-varint", draft_tensors, EDIT(INDEX, 6, 1, "\x9e\x00"), BREVIS_E_FORMAT,
	 "index is cut short"},
	{"bad-entry-zero", draft_tensors, EDIT(INDEX, 6, 1, "\x00"), BREVIS_E_FORMAT,
	 "index promises more than the archive holds"},
	{"bad-entry-short", draft_tensors, EDIT(INDEX, 6, 1, "\x1c"), BREVIS_E_FORMAT,
	 "index does not cover the archive"},
	{"bad-entry-long", draft_tensors, EDIT(INDEX, 6, 1, "\x20"), BREVIS_E_FORMAT,
	 "index promises more than the archive holds"},
	{"bad-entry-huge", draft_tensors,
	 EDIT(INDEX, 6, 1, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"), BREVIS_E_FORMAT,
	 "index promises more than the archive holds"},
	{"bad-repeat-later", draft_tensors, EDIT(INDEX, 7, 1, "\x07"), BREVIS_E_FORMAT,
	 "index repeats a later record"},
	{"bad-repeat-own", draft_tensors, EDIT(INDEX, 5, 1, "\x03"), BREVIS_E_FORMAT,
	 "index repeats a later record"},
	{"bad-repeat-64-bits", draft_tensors,
	 EDIT(INDEX, 7, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), BREVIS_E_FORMAT,
	 "index repeats a later record"},
	{"bad-repeat-other", draft_tensors, EDIT(INDEX, 7, 1, "\x05"), BREVIS_E_FORMAT,
	 "records do not sum to the original size"},
	{"bad-index-trailing", draft_tensors, EDIT(INDEX, 8, 0, "\x03"), BREVIS_E_FORMAT,
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
	{"bad-record-cut", draft_tensors, EDIT(RECORD_2, 9, 6, ""), BREVIS_E_FORMAT,
	 "record head is cut short"},
	{"bad-record-raw-size", draft_tensors, EDIT(RECORD_2, 1, 1, "\x05"), BREVIS_E_FORMAT,
	 "records do not sum to the original size"},
	/* records */
	{"bad-record-checksum", draft_tensors, EDIT(RECORD_1, 2, 2, "\x00\x01"), BREVIS_E_CHECKSUM,
	 "record 2 of 3: checksum does not match"},
	{"bad-record-body-missing", draft_tensors, EDIT(RECORD_1, BODY_1, 9, ""), BREVIS_E_FORMAT,
	 "record 2 of 3: program: cut short"},
	{"bad-record-other-width", draft_tensors, EDIT(RECORD_1, 0, 1, "\x20"), BREVIS_E_FORMAT,
	 "record 2 of 3: "},
	{"bad-program-operator", draft_tensors, EDIT(RECORD_1, BODY_1, 1, "\x0c"), BREVIS_E_FORMAT,
	 "record 2 of 3: program: unknown operator 12"},
	{"bad-program-words", draft_tensors, EDIT(RECORD_1, BODY_1 + 2, 1, "\x3e"),
	 BREVIS_E_CHECKSUM, "record 2 of 3: checksum does not match"},
	{"bad-program-short", draft_tensors, EDIT(RECORD_2, BODY_1 + 4, 1, ""), BREVIS_E_FORMAT,
	 "record 3 of 3: literal: a payload of 4 bytes where 3 are left"},
	{"bad-program-long", draft_tensors, EDIT(RECORD_2, BODY_1 + 5, 0, "!"), BREVIS_E_FORMAT,
	 "record 3 of 3: program: bytes after its end"},
	{"bad-bytes-coding", draft_tensors, EDIT(RECORD_0, BODY_0, 1, "\x03"), BREVIS_E_FORMAT,
	 "record 1 of 3: unknown coding of bytes 3"},
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
	 "record 1 of 1: zstd window is over 16 MiB"},
	{"bad-zstd-shorter", draft_zstd, EDIT(RECORD_0, BODY_0 + 6, 2, "\xc7\x3b"), BREVIS_E_FORMAT,
	 "record 1 of 1: zstd frame has the wrong size"},
	{"bad-zstd-longer", draft_zstd, EDIT(RECORD_0, BODY_0 + 6, 2, "\xc9\x4b"), BREVIS_E_FORMAT,
	 "record 1 of 1: zstd: "},
	{"bad-zstd-two-frames", draft_zstd,
	 EDIT(RECORD_0, BODY_0 + 11, 0, "\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"), BREVIS_E_FORMAT,
	 "record 1 of 1: more than one zstd frame"},
	{"bad-lzma2-control", draft_lzma2_plain, EDIT(RECORD_0, 11, 1, "\x03"), BREVIS_E_FORMAT,
	 "record 1 of 1: LZMA2 stream is damaged or cut short"},
	{"bad-lzma2-reset", draft_lzma2_plain, EDIT(RECORD_0, 11, 1, "\x02"), BREVIS_E_FORMAT,
	 "record 1 of 1: LZMA2 stream is damaged or cut short"},
	{"bad-lzma2-match", draft_lzma2, EDIT(RECORD_0, 17, 1, "\xff"), BREVIS_E_FORMAT,
	 "record 1 of 1: LZMA2 stream is damaged or cut short"},
	{"bad-lzma2-cut", draft_lzma2_plain, EDIT(RECORD_0, 19, 1, ""), BREVIS_E_FORMAT,
	 "record 1 of 1: LZMA2 stream is damaged or cut short"},
	{"bad-lzma2-empty", draft_lzma2_plain, EDIT(RECORD_0, 11, 8, ""), BREVIS_E_FORMAT,
	 "record 1 of 1: LZMA2 stream has the wrong size"},
	{"bad-lzma2-shorter", draft_lzma2_plain, EDIT(RECORD_0, 13, 2, "\x03"), BREVIS_E_FORMAT,
	 "record 1 of 1: LZMA2 stream has the wrong size"},
	{"bad-lzma2-longer", draft_lzma2_plain, EDIT(RECORD_0, 13, 1, "\x05!"), BREVIS_E_FORMAT,
	 "record 1 of 1: LZMA2 stream has the wrong size"},
	{"bad-lzma2-trailing", draft_lzma2_plain, EDIT(RECORD_0, 20, 0, "\x00"), BREVIS_E_FORMAT,
	 "record 1 of 1: bytes after the LZMA2 stream"},
	/* chained records */
	{"bad-chained-first", draft_chained, EDIT(RECORD_0, 0, 1, "\x01"), BREVIS_E_FORMAT,
	 "chained record is not behind bytes"},
	{"bad-chained-words", draft_tensors, EDIT(RECORD_2, 0, 1, "\x01"), BREVIS_E_FORMAT,
	 "chained record is not behind bytes"},
	{"bad-chained-repeated", draft_chained, EDIT(INDEX, 2, 4, "\x04\x34\x38\x28\x03"),
	 BREVIS_E_FORMAT, "index repeats a chained record"},
	{"bad-chained-empty", draft_chained, EDIT(RECORD_2, BODY_1, 10, ""), BREVIS_E_FORMAT,
	 "record 3 of 3: record of bytes is cut short"},
	{"bad-chained-stored", draft_chained, EDIT(RECORD_2, BODY_1, 5, "\x00plain"),
	 BREVIS_E_FORMAT, "record 3 of 3: unknown coding of chained bytes 0"},
	{"bad-chained-coding", draft_chained, EDIT(RECORD_2, BODY_1, 1, "\x03"), BREVIS_E_FORMAT,
	 "record 3 of 3: unknown coding of chained bytes 3"},
	{"bad-chained-far", draft_chained, EDIT(RECORD_1, BODY_1 + 17, 1, "\x13"), BREVIS_E_FORMAT,
	 "record 2 of 3: zstd: "},
	{"bad-chained-loose", draft_chained, EDIT(RECORD_1, 0, 1, "\x00"), BREVIS_E_FORMAT,
	 "record 2 of 3: zstd: "},
	{"bad-chained-lzma2-loose", draft_chained, EDIT(RECORD_2, 0, 1, "\x00"), BREVIS_E_FORMAT,
	 "record 3 of 3: LZMA2 stream is damaged or cut short"},
	{"bad-chained-window", draft_chained, EDIT(RECORD_1, BODY_1 + 5, 2, "\x00\x71"),
	 BREVIS_E_FORMAT, "record 2 of 3: zstd window is over 16 MiB"},
	{"bad-chained-dictionary", draft_chained, EDIT(RECORD_1, BODY_1 + 5, 1, "\x21\x01"),
	 BREVIS_E_FORMAT, "record 2 of 3: zstd frame needs a dictionary"},
	{"bad-chained-two-frames", draft_chained,
	 EDIT(RECORD_1, BODY_1 + 18, 0, "\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"), BREVIS_E_FORMAT,
	 "record 2 of 3: more than one zstd frame"},
	{"bad-chained-to-other", draft_chained_to_other, EDIT(NOWHERE, 0, 0, ""), BREVIS_E_CHECKSUM,
	 "record 2 of 3: checksum does not match"},
	/* literals */
	{"bad-literal-coding", draft_tensors, EDIT(RECORD_2, BODY_1, 1, "\x71"), BREVIS_E_FORMAT,
	 "record 3 of 3: literal: unknown coding 7"},
	{"bad-shared-no-codebook", draft_codebook, EDIT(HEAD, 10, 14, "\x00"), BREVIS_E_FORMAT,
	 "record 3 of 3: shared literal: table 0 of a codebook of 0 tables"},
	{"bad-shared-table", draft_codebook, EDIT(RECORD_2, BODY_1 + 1, 1, "\x02"), BREVIS_E_FORMAT,
	 "record 3 of 3: shared literal: table 2 of a codebook of 2 tables"},
	{"bad-shared-width", draft_codebook, EDIT(RECORD_2, BODY_1 + 1, 1, "\x01"), BREVIS_E_FORMAT,
	 "record 3 of 3: shared literal: words of 8 bits, table 1 is for 9"},
	{"bad-shared-lanes", draft_codebook, EDIT(RECORD_2, BODY_1 + 2, 1, "\x04"), BREVIS_E_FORMAT,
	 "record 3 of 3: shared literal: lanes are not 0 to 3"},
	{"bad-shared-states", draft_codebook, EDIT(RECORD_2, BODY_1 + 4, 1, "\xf0"),
	 BREVIS_E_FORMAT, "record 3 of 3: rANS literal: a payload of 4 bytes for 1 lanes"},
	{"bad-shared-states-padding", draft_codebook, EDIT(RECORD_2, BODY_1 + 7, 1, "\x80"),
	 BREVIS_E_FORMAT, "record 3 of 3: rANS literal: a payload of 4 bytes for 1 lanes"},
	{"bad-shared-half-unit", draft_codebook,
	 EDIT(RECORD_2, BODY_1 + 3, 5, "\x05\x80\x00\x39\x00\x00"), BREVIS_E_FORMAT,
	 "record 3 of 3: rANS literal: a payload of 5 bytes for 1 lanes"},
	{"bad-shared-unit-missing", draft_codebook,
	 EDIT(RECORD_2, BODY_1 + 3, 5, "\x03\x00\x00\x39"), BREVIS_E_FORMAT,
	 "record 3 of 3: rANS literal: cut short"},
	{"bad-shared-unit-left", draft_codebook,
	 EDIT(RECORD_2, BODY_1 + 3, 5, "\x06\x80\x00\x39\x00\x00\x00"), BREVIS_E_FORMAT,
	 "record 3 of 3: rANS literal: bytes after the last word"},
	{"bad-shared-end", draft_codebook, EDIT(RECORD_2, BODY_1 + 5, 1, "\x01"), BREVIS_E_FORMAT,
	 "record 3 of 3: rANS literal: lane 0 does not end as it must"},
	{"bad-literal-zstd", draft_libraries, EDIT(RECORD_0, BODY_1 + 4, 1, "\x29"),
	 BREVIS_E_FORMAT, "record 1 of 1: literal: not a zstd frame"},
	{"bad-literal-lzma2", draft_libraries, EDIT(RECORD_0, BODY_1 + 37, 1, "\x01"),
	 BREVIS_E_FORMAT, "record 1 of 1: literal: LZMA2 stream is damaged or cut short"},
	{"bad-literal-word", draft_libraries, EDIT(RECORD_0, BODY_1 + 36, 1, "\x80"),
	 BREVIS_E_FORMAT, "record 1 of 1: literal: a word has over 7 bits"},
	{"bad-literal-raw-word", draft_libraries, EDIT(RECORD_0, BODY_1 + 54, 1, "\x02"),
	 BREVIS_E_FORMAT, "record 1 of 1: literal: a word has over 9 bits"},
};

#define BAD_CASES (sizeof(bad_cases) / sizeof(bad_cases[0]))

#endif
