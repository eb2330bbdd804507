/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The strict safetensors header, parsed as it streams by. Rules: those of the reference
 * implementation (8-byte little-endian header length, at most 100,000,000; a JSON object that
 * starts with '{'; tensors that cover the data exactly, without hole or overlap; dtype x shape
 * equal to the range). What breaks a rule is no error of this module's caller: it is a reason to
 * keep the content opaque.
 */
#ifndef CORE_SAFETENSORS_SAFETENSORS_H
#define CORE_SAFETENSORS_SAFETENSORS_H

#include "core/brevis.h"

#define SAFETENSORS_HEADER_MAX 100000000u

/** Bytes before the JSON text. */
#define SAFETENSORS_PREFIX_SIZE 8

/** The longest header of which everything is kept. Those of the largest models have 2 or 3 MB. */
#define SAFETENSORS_KEPT_MAX (6u << 20)

/** Width in bits of the machine words that a tensor's bytes are read as: 8, 16, 32 or 64. */
struct safetensors_extent {
	uint64_t begin; /* relative to the end of the header */
	uint64_t end;
	unsigned word_bits; /* complex numbers count as two words, sub-byte types as bytes */
	unsigned dtype;     /* number of its type (dtype.h) */
};

struct safetensors_tensor {
	const char *name;
	const char *dtype;
	const uint64_t *shape;
	size_t rank;
	struct safetensors_extent extent;
};

struct safetensors_parser;

/** What a parser keeps, besides about 80 bytes for each tensor and 8 for each dimension. */
enum safetensors_keep {
	SAFETENSORS_KEEP_EXTENTS,
	SAFETENSORS_KEEP_NAMES,   /* names, for safetensors_tensor_at */
	SAFETENSORS_KEEP_METADATA /* these and the metadata, whole; of headers that are not huge */
};

int safetensors_parser_new(enum safetensors_keep keep, struct safetensors_parser **out,
			   struct brevis_error *err);

enum safetensors_state {
	SAFETENSORS_MORE,    /* wants more bytes */
	SAFETENSORS_VALID,   /* the whole header was read, every rule holds */
	SAFETENSORS_INVALID, /* a rule is broken; see safetensors_reason */
	SAFETENSORS_BEYOND   /* it is more than is kept with the metadata; see safetensors_reason */
};

/**
 * Feeds the next bytes of a file, from its first byte on. *used says how many belong to the header
 * (prefix and JSON text); the rest is tensor data. Fails only when memory is short; a broken rule
 * is a state. But for MORE nothing more is used.
 */
int safetensors_parser_feed(struct safetensors_parser *parser, const void *data, size_t len,
			    size_t *used, enum safetensors_state *state, struct brevis_error *err);

/** Bytes that it must see to go on: the rest of the prefix, or then of the text; 0 at the end. */
uint64_t safetensors_wanted(const struct safetensors_parser *parser);

/** The broken rule, as part of a sentence, e.g. "header is not valid JSON". */
const char *safetensors_reason(const struct safetensors_parser *parser);

/** After VALID: bytes of prefix and header text together. */
uint64_t safetensors_header_size(const struct safetensors_parser *parser);

/** After VALID: bytes of data that the header describes. */
uint64_t safetensors_data_size(const struct safetensors_parser *parser);

/** After VALID: the number of tensors. */
size_t safetensors_count(const struct safetensors_parser *parser);

/** After VALID: the extent of tensor i, in the order of the data. They are adjacent. */
struct safetensors_extent safetensors_extent_at(const struct safetensors_parser *parser, size_t i);

/** After VALID: the shape of tensor i, in the order of the data, and its rank. */
const uint64_t *safetensors_shape_at(const struct safetensors_parser *parser, size_t i,
				     size_t *rank);

/**
 * After VALID: names the family of the file, which files share that have the same kinds of
 * tensors: names but for numbers, types, shapes.
 */
const uint8_t *safetensors_family(const struct safetensors_parser *parser);

/** After VALID and with names: tensor i, in the order of the data. Lives with the parser. */
struct safetensors_tensor safetensors_tensor_at(const struct safetensors_parser *parser, size_t i);

/** After VALID: the place of tensor i in the order of the header. */
size_t safetensors_place_of(const struct safetensors_parser *parser, size_t i);

/** After VALID: true if a tensor has fields beyond dtype, shape and data_offsets. */
bool safetensors_has_more(const struct safetensors_parser *parser);

/** After VALID and with the metadata: its number of entries, and entry i, which lives with the
 * parser. */
size_t safetensors_metadata_count(const struct safetensors_parser *parser);
struct brevis_metadata_info safetensors_metadata_at(const struct safetensors_parser *parser,
						    size_t i);

void safetensors_parser_free(struct safetensors_parser *parser);

#endif
