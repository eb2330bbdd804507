/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The tensors of a header as they are found, and the rules that concern all of them together.
 * Memory without names: 80 bytes and 8 for each dimension of a tensor while it grows, 32 less
 * afterwards; sorting borrows 24.
 */
#ifndef CORE_SAFETENSORS_TENSOR_LIST_H
#define CORE_SAFETENSORS_TENSOR_LIST_H

#include "core/base/buffer.h"
#include "core/safetensors/safetensors.h"

/**
 * More tensors, or dimensions of all together, than any model has: a header of some KB, once it is
 * compressed, could name millions, and each costs us more than the header.
 */
#define TENSORS_MAX    (1u << 17)
#define DIMENSIONS_MAX (1u << 20)

struct tensor_list {
	struct buffer entries; /* struct tensor_entry */
	struct buffer hashes;  /* of the names, 128 bits each */
	struct buffer kinds;   /* of names without digits, types and shapes, 128 bits each */
	struct buffer details; /* struct tensor_detail, in header order */
	struct buffer shapes;  /* uint64_t */
	uint64_t kind[2];      /* of the tensor that was begun last, as far as it is known */

	bool keep_names;
	struct buffer names; /* each with a final NUL */
	uint8_t family[BREVIS_SHA256_SIZE];
};

/** Where and what the data of a tensor is. */
struct tensor_entry {
	uint64_t begin;
	uint64_t end;
	uint32_t order; /* in the header */
	uint32_t dtype; /* number of its type */
};

void tensor_list_init(struct tensor_list *list, bool keep_names);
void tensor_list_release(struct tensor_list *list);

/** Begins a tensor, whose name must not contain NUL. */
void tensor_list_name(struct tensor_list *list, const void *name, size_t len);

/** Adds a dimension to the shape of the tensor that was begun last. */
void tensor_list_dimension(struct tensor_list *list, uint64_t dimension);

/** Ends the tensor that was begun last. */
void tensor_list_add(struct tensor_list *list, unsigned dtype, uint64_t begin, uint64_t end);

/** True if memory was short at any time. */
bool tensor_list_failed(const struct tensor_list *list);

size_t tensor_list_count(const struct tensor_list *list);

/** True if another tensor would be one too many. */
bool tensor_list_is_full(const struct tensor_list *list);

/** True if another dimension would be one too many. */
bool tensor_list_shapes_are_full(const struct tensor_list *list);

/**
 * Sorts by the order of the data; then checks that names are unique and that tensors follow each
 * other from 0 on. Returns true, or false with the broken rule in *broken.
 */
bool tensor_list_finish(struct tensor_list *list, struct brevis_error *broken);

/** After tensor_list_finish: tensor i in the order of the data. */
const struct tensor_entry *tensor_list_entry(const struct tensor_list *list, size_t i);

/** After tensor_list_finish: the shape of tensor i, and its rank. */
const uint64_t *tensor_list_shape(const struct tensor_list *list, size_t i, size_t *rank);

/** After tensor_list_finish, with keep_names: all that is known of tensor i. */
struct safetensors_tensor tensor_list_tensor(const struct tensor_list *list, size_t i);

#endif
