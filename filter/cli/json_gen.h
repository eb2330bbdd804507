/* SPDX-License-Identifier: Apache-2.0 */
/**
 * yajl's generator of JSON, writing to a buffer. yajl does not look whether it was given memory,
 * and crashes where it was not: here it is given none but what is part of the generator.
 */
#ifndef FILTER_JSON_GEN_H
#define FILTER_JSON_GEN_H

#include <stddef.h>
#include <yajl/yajl_gen.h>

#include "core/base/buffer.h"

/** More than yajl's generator takes; the test of this room says by how much. */
#define JSON_GEN_ROOM 2048

struct json_gen {
	yajl_gen gen; /* for yajl's functions */
	yajl_alloc_funcs memory;
	size_t used;
	_Alignas(max_align_t) unsigned char room[JSON_GEN_ROOM];
};

/** Begins to append JSON to a buffer, which must outlive it and tells when memory was short. The
 * generator must not be moved. */
void json_gen_begin(struct json_gen *json, struct buffer *out);

/** The buffer stays. */
void json_gen_end(struct json_gen *json);

#endif
