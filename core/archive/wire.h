/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The archive's bytes, in the order in which they stand. Normative: docs/FORMAT.md.
 *
 *     head     magic[8]  version:u8  feature_count:u8  (length:u8 name[length])*
 *              codebook_size:varint  codebook
 *     record*  kind:u8  raw_size:varint  checksum:u64  body
 *     index    layout:u8  prior_size:u8  prior  piece_count:varint  entry:varint*
 *     tail     index_size:u64  original_size:u64  original_sha256[32]  checksum:u64  end_mark[8]
 *
 * Integers are little-endian, varints LEB128 (core/base/buffer.h). A record knows nothing of where
 * it stands: it means the same in every archive of the same codebook. Only a chained one needs the
 * bytes that the piece before it restores. An index entry is even for a piece with a record of its
 * own (entry / 2: its size in bytes), odd for one that repeats an earlier record (entry / 2: its
 * number), which is no chained one. The tail's checksum covers head, index and tail before
 * it.
 */
#ifndef CORE_ARCHIVE_WIRE_H
#define CORE_ARCHIVE_WIRE_H

#include <stdint.h>

#include "core/brevis.h"

#define WIRE_MAGIC                                                                                 \
	"\x89"                                                                                     \
	"BREVIS\n"
#define WIRE_END_MARK "\nBREVIS\x89"

/** The head of an archive that needs no feature beyond its version and has no codebook. */
#define WIRE_HEAD_SIZE 11

/** Of it what must be known before anything else: all up to the number of features. */
#define WIRE_HEAD_FIXED 10

#define WIRE_TAIL_SIZE 64

/** Bytes of the tail that its checksum covers: all before the checksum. */
#define WIRE_TAIL_COVERED 48

/** A record restores at most this many bytes. */
#define RECORD_RAW_MAX (UINT32_C(16) << 20)

/** So many of a tensor; larger ones take several records, one after another. */
#define TENSOR_RAW_MAX (UINT32_C(8) << 20)

/** More pieces than this are refused by writer and reader: it bounds the reader's tables. */
#define WIRE_PIECES_MAX (UINT64_C(1) << 22)

/** Bytes that a record's head takes at most: kind, raw size, checksum. */
#define RECORD_HEAD_MAX (1 + 4 + 8)

/** A record is at most this much larger than what it restores: head and coding byte. */
#define RECORD_OVERHEAD_MAX 32

/** Kinds of records: 8, 16, 32 or 64 hold a program of words that wide, 0 and 1 hold bytes. */
#define RECORD_BYTES   0
#define RECORD_CHAINED 1

/** A chained record may refer to so many of the bytes before its piece, the last of that piece. */
#define CHAIN_REACH (UINT32_C(8) << 20)

/** Codings of the body of a record of bytes; a chained one is never stored. */
#define BYTES_STORED 0
#define BYTES_ZSTD   1
#define BYTES_LZMA2  2

#endif
