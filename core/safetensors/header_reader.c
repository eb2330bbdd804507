/* SPDX-License-Identifier: Apache-2.0 */
#include "core/safetensors/header_reader.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/safetensors/dtype.h"

#include <string.h>

enum { FIELD_DTYPE = 1, FIELD_SHAPE = 2, FIELD_OFFSETS = 4, FIELDS_ALL = 7 };

/* The library's callbacks return GO_ON, or STOP to end the parse. */
enum { STOP = 0, GO_ON = 1 };

void header_reader_init(struct header_reader *r, struct tensor_list *list,
			struct metadata_list *metadata, const bool *name_cut)
{
	memset(r, 0, sizeof(*r));
	r->list = list;
	r->metadata = metadata;
	r->name_cut = name_cut;
}

bool header_reader_failed(const struct header_reader *r)
{
	return tensor_list_failed(r->list) || (r->metadata && metadata_list_failed(r->metadata));
}

static int stop(struct header_reader *r, const char *rule)
{
	error_set(&r->broken, BREVIS_E_FORMAT, "%s", rule);
	return STOP;
}

static int stop_tensor(struct header_reader *r, const char *rule)
{
	error_set(&r->broken, BREVIS_E_FORMAT, "tensor \"%s\" %s", r->label, rule);
	return STOP;
}

/* Goes on in another place, unless memory has become short. */
static int go_to(struct header_reader *r, enum header_place place)
{
	r->place = place;
	return header_reader_failed(r) ? STOP : GO_ON;
}

/* An event that has no business in this place. */
static int misplaced(struct header_reader *r)
{
	switch (r->place) {
	case HEADER_METADATA_VALUE:
		return stop(r, "__metadata__ is not an object");
	case HEADER_METADATA:
		return stop(r, "__metadata__ holds a value that is not a string");
	case HEADER_TENSOR_VALUE:
		return stop_tensor(r, "is not an object");
	case HEADER_DTYPE_VALUE:
		return stop_tensor(r, "has a dtype that is not a string");
	case HEADER_SHAPE_VALUE:
	case HEADER_SHAPE:
		return stop_tensor(r, "has a shape that is not an array of whole numbers");
	case HEADER_OFFSETS_VALUE:
	case HEADER_OFFSETS:
		return stop_tensor(r, "has data_offsets that are not two whole numbers");
	default:
		return stop(r, "header is not valid JSON");
	}
}

/* A value without parts, where a field that is not ours may have it. */
static int unknown_scalar(struct header_reader *r)
{
	if (r->place != HEADER_UNKNOWN)
		return misplaced(r);
	return go_to(r, r->unknown_depth ? HEADER_UNKNOWN : HEADER_TENSOR);
}

static int on_null(void *ctx)
{
	struct header_reader *r = ctx;

	if (r->place == HEADER_METADATA_VALUE)
		return go_to(r, HEADER_ROOT);
	return unknown_scalar(r);
}

static int on_boolean(void *ctx, int value)
{
	(void)value;
	return unknown_scalar(ctx);
}

/* Only digits count as a whole number, as for the reference: no sign, fraction or exponent. */
static bool parse_u64(const char *text, size_t len, uint64_t *value)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		if (!checked_mul(v, 10, &v) || !checked_add(v, (uint64_t)(text[i] - '0'), &v))
			return false;
	}
	*value = v;
	return len > 0;
}

static int on_number(void *ctx, const char *text, size_t len)
{
	struct header_reader *r = ctx;
	uint64_t value;

	if (r->place != HEADER_SHAPE && r->place != HEADER_OFFSETS)
		return unknown_scalar(r);
	if (!parse_u64(text, len, &value))
		return misplaced(r);
	if (r->place == HEADER_SHAPE) {
		if (!checked_mul(r->elements, value, &r->elements))
			r->too_large = true;
		if (tensor_list_shapes_are_full(r->list))
			return stop(r, "header holds more dimensions than any model has");
		tensor_list_dimension(r->list, value);
		return go_to(r, HEADER_SHAPE);
	}
	if (r->offsets_seen == 2)
		return misplaced(r);
	r->offsets[r->offsets_seen++] = value;
	return GO_ON;
}

static int on_string(void *ctx, const unsigned char *text, size_t len)
{
	struct header_reader *r = ctx;
	int dtype;

	if (r->place == HEADER_METADATA) {
		if (r->metadata)
			metadata_list_value(r->metadata, text, len);
		return go_to(r, HEADER_METADATA);
	}
	if (r->place != HEADER_DTYPE_VALUE)
		return unknown_scalar(r);
	dtype = dtype_find(text, len);
	if (dtype < 0)
		return stop_tensor(r, "has an unknown dtype");
	r->dtype = (unsigned)dtype;
	return go_to(r, HEADER_TENSOR);
}

/* Keeps the beginning of a name for messages, cut between code points. */
static void set_label(struct header_reader *r, const unsigned char *name, size_t len)
{
	size_t room = sizeof(r->label) - sizeof("...");

	if (len > room) {
		len = room;
		while (len && (name[len] & 0xc0) == 0x80)
			len--;
		memcpy(r->label + len, "...", sizeof("..."));
	} else {
		r->label[len] = '\0';
	}
	if (len)
		memcpy(r->label, name, len);
}

static int begin_tensor(struct header_reader *r, const unsigned char *name, size_t len)
{
	if (*r->name_cut)
		return stop(r, "header holds a tensor name that is too long");
	if (len && memchr(name, 0, len))
		return stop(r, "header holds a tensor name with a NUL character");
	if (tensor_list_is_full(r->list))
		return stop(r, "header names more tensors than any model has");
	set_label(r, name, len);
	r->fields_seen = 0;
	r->elements = 1;
	r->too_large = false;
	r->offsets_seen = 0;
	tensor_list_name(r->list, name, len);
	return go_to(r, HEADER_TENSOR_VALUE);
}

static int begin_entry(struct header_reader *r, const unsigned char *key, size_t len)
{
	if (!r->metadata)
		return GO_ON;
	if (metadata_list_is_full(r->metadata)) {
		r->beyond_limits = true;
		return stop(r, "__metadata__ has more entries than any model has");
	}
	metadata_list_key(r->metadata, key, len);
	return go_to(r, HEADER_METADATA);
}

static int begin_metadata(struct header_reader *r)
{
	if (r->metadata_seen)
		return stop(r, "header holds __metadata__ twice");
	r->metadata_seen = true;
	return go_to(r, HEADER_METADATA_VALUE);
}

static bool text_is(const unsigned char *text, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(text, word, len) == 0;
}

static int begin_field(struct header_reader *r, const unsigned char *name, size_t len)
{
	static const struct {
		const char *name;
		unsigned field;
		enum header_place place;
	} fields[] = {
		{"dtype", FIELD_DTYPE, HEADER_DTYPE_VALUE},
		{"shape", FIELD_SHAPE, HEADER_SHAPE_VALUE},
		{"data_offsets", FIELD_OFFSETS, HEADER_OFFSETS_VALUE},
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!text_is(name, len, fields[i].name))
			continue;
		if (r->fields_seen & fields[i].field)
			return stop_tensor(r, "has a field twice");
		r->fields_seen |= fields[i].field;
		return go_to(r, fields[i].place);
	}
	r->has_more = true;
	r->unknown_depth = 0;
	return go_to(r, HEADER_UNKNOWN);
}

static int on_key(void *ctx, const unsigned char *text, size_t len)
{
	struct header_reader *r = ctx;

	switch (r->place) {
	case HEADER_ROOT:
		return text_is(text, len, "__metadata__") ? begin_metadata(r)
							  : begin_tensor(r, text, len);
	case HEADER_METADATA:
		return begin_entry(r, text, len);
	case HEADER_TENSOR:
		return begin_field(r, text, len);
	default:
		return GO_ON;
	}
}

/* Checks what concerns this tensor alone; where it lies among the others is seen at the end. */
static int end_tensor(struct header_reader *r)
{
	unsigned bits = dtype_at(r->dtype)->bits;
	uint64_t size;

	if (r->fields_seen != FIELDS_ALL)
		return stop_tensor(r, "lacks dtype, shape or data_offsets");
	if (r->too_large || !checked_mul(r->elements, bits, &size))
		return stop_tensor(r, "has a shape that is too large");
	if (size % 8)
		return stop_tensor(r, "does not fill whole bytes");
	if (r->offsets[1] < r->offsets[0])
		return stop_tensor(r, "ends before it begins");
	if (r->offsets[1] - r->offsets[0] != size / 8)
		return stop_tensor(r, "has a shape that does not fit its data_offsets");
	tensor_list_add(r->list, r->dtype, r->offsets[0], r->offsets[1]);
	return go_to(r, HEADER_ROOT);
}

static int open_unknown(struct header_reader *r)
{
	if (r->place != HEADER_UNKNOWN)
		return misplaced(r);
	r->unknown_depth++;
	return GO_ON;
}

static int close_unknown(struct header_reader *r)
{
	r->unknown_depth--;
	return unknown_scalar(r);
}

static int on_start_map(void *ctx)
{
	struct header_reader *r = ctx;

	switch (r->place) {
	case HEADER_OUTSIDE:
		return go_to(r, HEADER_ROOT);
	case HEADER_METADATA_VALUE:
		return go_to(r, HEADER_METADATA);
	case HEADER_TENSOR_VALUE:
		return go_to(r, HEADER_TENSOR);
	default:
		return open_unknown(r);
	}
}

static int on_end_map(void *ctx)
{
	struct header_reader *r = ctx;

	switch (r->place) {
	case HEADER_ROOT:
		return go_to(r, HEADER_OUTSIDE);
	case HEADER_METADATA:
		return go_to(r, HEADER_ROOT);
	case HEADER_TENSOR:
		return end_tensor(r);
	default:
		return close_unknown(r);
	}
}

static int on_start_array(void *ctx)
{
	struct header_reader *r = ctx;

	switch (r->place) {
	case HEADER_SHAPE_VALUE:
		return go_to(r, HEADER_SHAPE);
	case HEADER_OFFSETS_VALUE:
		return go_to(r, HEADER_OFFSETS);
	default:
		return open_unknown(r);
	}
}

static int on_end_array(void *ctx)
{
	struct header_reader *r = ctx;

	switch (r->place) {
	case HEADER_SHAPE:
		return go_to(r, HEADER_TENSOR);
	case HEADER_OFFSETS:
		return r->offsets_seen == 2 ? go_to(r, HEADER_TENSOR) : misplaced(r);
	default:
		return close_unknown(r);
	}
}

const yajl_callbacks header_reader_callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_start_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end_map,
	.yajl_start_array = on_start_array,
	.yajl_end_array = on_end_array,
};
