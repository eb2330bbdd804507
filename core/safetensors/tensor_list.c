/* SPDX-License-Identifier: Apache-2.0 */
#include "core/safetensors/tensor_list.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/safetensors/dtype.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct tensor_detail {
	size_t name;  /* offset in names */
	size_t shape; /* offset in shapes, in bytes */
	size_t rank;
};

void tensor_list_init(struct tensor_list *list, bool keep_names)
{
	memset(list, 0, sizeof(*list));
	list->keep_names = keep_names;
}

void tensor_list_release(struct tensor_list *list)
{
	buffer_release(&list->entries);
	buffer_release(&list->hashes);
	buffer_release(&list->kinds);
	buffer_release(&list->details);
	buffer_release(&list->names);
	buffer_release(&list->shapes);
}

/* A hash of the name in which every run of digits counts as one. */
static void begin_kind(struct tensor_list *list, const char *name, size_t len)
{
	size_t begin = 0, end;

	list->kind[0] = list->kind[1] = 0;
	while (begin < len) {
		XXH128_hash_t part;

		for (end = begin; end < len && (name[end] < '0' || name[end] > '9'); end++)
			;
		part = XXH3_128bits_withSeed(name + begin, end - begin, list->kind[0]);
		list->kind[0] = part.low64;
		list->kind[1] = part.high64;
		for (begin = end; begin < len && name[begin] >= '0' && name[begin] <= '9'; begin++)
			;
	}
}

/* Mixes a number into the kind, in bytes that do not depend on the machine: kinds name priors. */
static void mix_kind(struct tensor_list *list, uint64_t number)
{
	uint8_t bytes[24];
	XXH128_hash_t hash;

	store_le64(bytes, list->kind[0]);
	store_le64(bytes + 8, list->kind[1]);
	store_le64(bytes + 16, number);
	hash = XXH3_128bits(bytes, sizeof(bytes));
	list->kind[0] = hash.low64;
	list->kind[1] = hash.high64;
}

void tensor_list_name(struct tensor_list *list, const void *name, size_t len)
{
	XXH128_hash_t hash = XXH3_128bits(name, len);
	struct tensor_detail detail = {list->names.size, list->shapes.size, 0};

	buffer_append(&list->hashes, &hash, sizeof(hash));
	buffer_append(&list->details, &detail, sizeof(detail));
	begin_kind(list, name, len);
	if (!list->keep_names)
		return;
	buffer_append(&list->names, name, len);
	buffer_u8(&list->names, 0);
}

static struct tensor_detail *last_detail(struct tensor_list *list)
{
	return (struct tensor_detail *)(void *)(list->details.data + list->details.size) - 1;
}

void tensor_list_dimension(struct tensor_list *list, uint64_t dimension)
{
	if (tensor_list_failed(list))
		return;
	buffer_append(&list->shapes, &dimension, sizeof(dimension));
	last_detail(list)->rank++;
	mix_kind(list, dimension);
}

/* NULL for a scalar: where there are no others, there is nothing to point into. */
static const uint64_t *dimensions(const struct tensor_list *list,
				  const struct tensor_detail *detail)
{
	if (!detail->rank)
		return NULL;
	return (const uint64_t *)(const void *)(list->shapes.data + detail->shape);
}

void tensor_list_add(struct tensor_list *list, unsigned dtype, uint64_t begin, uint64_t end)
{
	struct tensor_entry entry = {begin, end, (uint32_t)tensor_list_count(list), dtype};
	XXH128_hash_t kind;

	if (tensor_list_failed(list))
		return;
	mix_kind(list, dtype);
	kind.low64 = list->kind[0];
	kind.high64 = list->kind[1];
	buffer_append(&list->kinds, &kind, sizeof(kind));
	buffer_append(&list->entries, &entry, sizeof(entry));
}

bool tensor_list_failed(const struct tensor_list *list)
{
	return buffer_failed(&list->entries) || buffer_failed(&list->hashes) ||
	       buffer_failed(&list->kinds) || buffer_failed(&list->details) ||
	       buffer_failed(&list->names) || buffer_failed(&list->shapes);
}

size_t tensor_list_count(const struct tensor_list *list)
{
	return list->entries.size / sizeof(struct tensor_entry);
}

bool tensor_list_is_full(const struct tensor_list *list)
{
	return list->details.size >= TENSORS_MAX * sizeof(struct tensor_detail);
}

bool tensor_list_shapes_are_full(const struct tensor_list *list)
{
	return list->shapes.size >= DIMENSIONS_MAX * sizeof(uint64_t);
}

static int compare_hashes(const void *left, const void *right)
{
	return XXH128_cmp(left, right);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Empty tensors may share an offset: the order of the header decides between them. */
static int compare_entries(const void *left, const void *right)
{
	const struct tensor_entry *a = left, *b = right;
	int order = compare_u64(a->begin, b->begin);

	if (!order)
		order = compare_u64(a->end, b->end);
	return order ? order : compare_u64(a->order, b->order);
}

static void sort_entries(struct tensor_list *list)
{
	struct tensor_entry *entries = (void *)list->entries.data;
	size_t count = tensor_list_count(list), i;

	/* Most writers keep the order of the data. */
	for (i = 1; i < count && compare_entries(&entries[i - 1], &entries[i]) < 0; i++)
		;
	if (i < count)
		qsort(entries, count, sizeof(*entries), compare_entries);
}

static bool names_are_unique(struct tensor_list *list)
{
	XXH128_hash_t *hashes = (void *)list->hashes.data;
	size_t count = list->hashes.size / sizeof(*hashes), i;
	bool unique = true;

	if (count)
		qsort(hashes, count, sizeof(*hashes), compare_hashes);
	for (i = 1; i < count && unique; i++)
		unique = compare_hashes(&hashes[i - 1], &hashes[i]) != 0;
	buffer_release(&list->hashes);
	return unique;
}

/* The family is the set of kinds: how many tensors have one does not matter. */
static bool find_family(struct tensor_list *list)
{
	XXH128_hash_t *kinds = (void *)list->kinds.data;
	size_t count = list->kinds.size / sizeof(*kinds), i;
	struct brevis_sha256 *sha = brevis_sha256_new();

	if (!sha)
		return false;
	if (count)
		qsort(kinds, count, sizeof(*kinds), compare_hashes);
	for (i = 0; i < count; i++) {
		XXH128_canonical_t bytes;

		if (i && compare_hashes(&kinds[i - 1], &kinds[i]) == 0)
			continue;
		XXH128_canonicalFromHash(&bytes, kinds[i]);
		brevis_sha256_update(sha, &bytes, sizeof(bytes));
	}
	brevis_sha256_final(sha, list->family);
	brevis_sha256_free(sha);
	buffer_release(&list->kinds);
	return true;
}

bool tensor_list_finish(struct tensor_list *list, struct brevis_error *broken)
{
	size_t count = tensor_list_count(list), i;
	uint64_t at = 0;

	/* First the names, whose hashes are then no longer needed. */
	if (!names_are_unique(list)) {
		error_set(broken, BREVIS_E_FORMAT, "header names two tensors alike");
		return false;
	}
	if (!find_family(list)) {
		error_nomem(broken);
		return false;
	}
	sort_entries(list);
	for (i = 0; i < count; i++) {
		const struct tensor_entry *entry = tensor_list_entry(list, i);

		if (entry->begin != at) {
			error_set(broken, BREVIS_E_FORMAT, "tensor data %s at offset %" PRIu64,
				  entry->begin > at ? "has a hole" : "overlaps",
				  entry->begin > at ? at : entry->begin);
			return false;
		}
		at = entry->end;
	}
	/* So that offsets in the file cannot overflow. */
	if (at > INT64_MAX - SAFETENSORS_HEADER_MAX - SAFETENSORS_PREFIX_SIZE) {
		error_set(broken, BREVIS_E_FORMAT, "tensor data is larger than any file");
		return false;
	}
	return true;
}

const struct tensor_entry *tensor_list_entry(const struct tensor_list *list, size_t i)
{
	return (const struct tensor_entry *)(const void *)list->entries.data + i;
}

const uint64_t *tensor_list_shape(const struct tensor_list *list, size_t i, size_t *rank)
{
	const struct tensor_entry *entry = tensor_list_entry(list, i);
	const struct tensor_detail *detail =
		(const struct tensor_detail *)(const void *)list->details.data + entry->order;

	*rank = detail->rank;
	return dimensions(list, detail);
}

struct safetensors_tensor tensor_list_tensor(const struct tensor_list *list, size_t i)
{
	const struct tensor_entry *entry = tensor_list_entry(list, i);
	const struct tensor_detail *detail =
		(const struct tensor_detail *)(const void *)list->details.data + entry->order;
	const struct dtype *dtype = dtype_at(entry->dtype);

	return (struct safetensors_tensor){
		.name = (const char *)list->names.data + detail->name,
		.dtype = dtype->name,
		.shape = dimensions(list, detail),
		.rank = detail->rank,
		.extent = {entry->begin, entry->end, dtype->word_bits, entry->dtype},
	};
}
