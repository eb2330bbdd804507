/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes tensors and metadata of the JSON library's events: knows what a safetensors header's object
 * looks like, and the rules that concern one tensor.
 */
#ifndef CORE_SAFETENSORS_HEADER_READER_H
#define CORE_SAFETENSORS_HEADER_READER_H

#include "core/base/json_parser.h"
#include "core/safetensors/metadata_list.h"
#include "core/safetensors/tensor_list.h"

/** What the next event may be. */
enum header_place {
	HEADER_OUTSIDE,
	HEADER_ROOT,           /* a tensor's name, __metadata__, or the end */
	HEADER_METADATA_VALUE, /* an object, or null */
	HEADER_METADATA,       /* string after string, or the end */
	HEADER_TENSOR_VALUE,   /* an object */
	HEADER_TENSOR,         /* a field's name, or the end */
	HEADER_DTYPE_VALUE,    /* a string */
	HEADER_SHAPE_VALUE,    /* an array */
	HEADER_SHAPE,          /* a number, or the end */
	HEADER_OFFSETS_VALUE,  /* an array */
	HEADER_OFFSETS,        /* a number, or the end */
	HEADER_UNKNOWN         /* anything: a field that is not ours */
};

struct header_reader {
	struct tensor_list *list;
	struct metadata_list *metadata; /* NULL: nobody asks for it */
	const bool *name_cut;           /* says that the string at hand is a long one */
	struct brevis_error broken;     /* the rule that ended the parse, if any */
	bool beyond_limits;             /* ... which is none of the format, but ours */
	bool has_more;                  /* a tensor has a field that is not ours */

	enum header_place place;
	unsigned unknown_depth;
	bool metadata_seen;

	/* The tensor at hand. */
	char label[44]; /* its name, shortened */
	unsigned fields_seen;
	unsigned dtype;
	uint64_t elements;
	bool too_large; /* elements overflowed */
	uint64_t offsets[2];
	unsigned offsets_seen;
};

extern const yajl_callbacks header_reader_callbacks;

/** Readies a reader, to be passed to json_parser_begin with header_reader_callbacks. */
void header_reader_init(struct header_reader *reader, struct tensor_list *list,
			struct metadata_list *metadata, const bool *name_cut);

/** True if memory was short for what it keeps. */
bool header_reader_failed(const struct header_reader *reader);

#endif
