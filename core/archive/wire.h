/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The archive's bytes, in the order in which they stand. Normative: docs/FORMAT.md.
 *
 *     head     magic[8]  version:u8  feature_count:u8  (length:u8 name[length])*
 *     record*  kind:u8  raw_size:varint  checksum:u64  body
 *     index    layout:u8  piece_count:varint  entry:varint*
 *     tail     index_size:u64  original_size:u64  original_sha256[32]  checksum:u64  end_mark[8]
 *
 * Integers are little-endian, varints LEB128 (core/base/buffer.h). A record knows nothing of where
 * it stands: equal content has equal records, in every archive. An index entry is even for a piece
 * with a record of its own (entry / 2: its size in bytes), odd for one that repeats an earlier
 * record (entry / 2: its number). The tail's checksum covers head, index and tail before it.
 */
#ifndef CORE_ARCHIVE_WIRE_H
#define CORE_ARCHIVE_WIRE_H

#include <stdint.h>

#include "core/brevis.h"

#define WIRE_MAGIC                                                                                 \
	"\x89"                                                                                     \
	"BREVIS\n"
#define WIRE_END_MARK "\nBREVIS\x89"

/* The head of an archive that needs no feature beyond its version. */
#define WIRE_HEAD_SIZE 10

#define WIRE_TAIL_SIZE 64

/** Bytes of the tail that its checksum covers: all before the checksum. */
#define WIRE_TAIL_COVERED 48

/** A record restores at most this many bytes; larger tensors take several, one after another. */
#define RECORD_RAW_MAX (UINT32_C(16) << 20)

/** More pieces than this are refused by writer and reader: it bounds the reader's tables. */
#define WIRE_PIECES_MAX (UINT64_C(1) << 22)

/** Bytes that a record's head takes at most: kind, raw size, checksum. */
#define RECORD_HEAD_MAX (1 + 4 + 8)

/** A record is at most this much larger than what it restores: head and coding byte. */
#define RECORD_OVERHEAD_MAX 32

/** Kinds of records: 8, 16, 32 or 64 hold a program of words that wide, 0 holds bytes. */
#define RECORD_BYTES 0

/** Codings of the body of a record of bytes. */
#define BYTES_STORED 0
#define BYTES_ZSTD   1

#endif
