/* SPDX-License-Identifier: Apache-2.0 */
#include "core/safetensors/safetensors.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/json_parser.h"
#include "core/safetensors/dtype.h"
#include "core/safetensors/header_reader.h"
#include "core/safetensors/header_text.h"

#include <stdlib.h>
#include <string.h>

/*
 * Bytes pass three stages: header_text checks characters, the JSON library the grammar, and
 * header_reader the meaning.
 */
struct safetensors_parser {
	enum safetensors_state state;
	struct brevis_error broken;

	uint8_t prefix[SAFETENSORS_PREFIX_SIZE];
	size_t prefix_size;
	uint64_t text_size; /* known once the prefix is complete */
	uint64_t text_left;

	struct header_text text;
	struct json_parser json;
	struct header_reader reader;
	struct tensor_list list;
	struct metadata_list metadata;
	bool keep_metadata;
};

int safetensors_parser_new(enum safetensors_keep keep, struct safetensors_parser **out,
			   struct brevis_error *err)
{
	struct safetensors_parser *p = calloc(1, sizeof(*p));

	if (!p)
		return error_nomem(err);
	p->state = SAFETENSORS_MORE;
	p->keep_metadata = keep == SAFETENSORS_KEEP_METADATA;
	p->text.keep_whole = p->keep_metadata;
	tensor_list_init(&p->list, keep != SAFETENSORS_KEEP_EXTENTS);
	header_reader_init(&p->reader, &p->list, p->keep_metadata ? &p->metadata : NULL,
			   &p->text.cut);
	if (json_parser_begin(&p->json, &header_reader_callbacks, &p->reader)) {
		safetensors_parser_free(p);
		return error_nomem(err);
	}
	/* header_text checks UTF-8, and more strictly. */
	yajl_config(p->json.yajl, yajl_dont_validate_strings, 1);
	*out = p;
	return BREVIS_OK;
}

void safetensors_parser_free(struct safetensors_parser *p)
{
	if (!p)
		return;
	json_parser_release(&p->json);
	tensor_list_release(&p->list);
	metadata_list_release(&p->metadata);
	free(p);
}

/* Ends the parse; frees what an opaque file has no use for. */
static void refuse(struct safetensors_parser *p, const char *rule)
{
	error_set(&p->broken, BREVIS_E_FORMAT, "%s", rule);
	p->state = SAFETENSORS_INVALID;
	tensor_list_release(&p->list);
	metadata_list_release(&p->metadata);
}

static void refuse_as_beyond(struct safetensors_parser *p, const char *limit)
{
	refuse(p, limit);
	p->state = SAFETENSORS_BEYOND;
}

/* Takes what is left of the prefix; checks it once it is whole. */
static size_t feed_prefix(struct safetensors_parser *p, const uint8_t *data, size_t len)
{
	size_t take = sizeof(p->prefix) - p->prefix_size;

	if (take > len)
		take = len;
	if (!take)
		return 0;
	memcpy(p->prefix + p->prefix_size, data, take);
	p->prefix_size += take;
	if (p->prefix_size < sizeof(p->prefix))
		return take;
	p->text_size = load_le64(p->prefix);
	p->text_left = p->text_size;
	if (p->text_size > SAFETENSORS_HEADER_MAX)
		refuse(p, "header length is over 100,000,000 bytes");
	else if (p->text_size == 0)
		refuse(p, "header is empty");
	else if (p->keep_metadata && p->text_size > SAFETENSORS_KEPT_MAX)
		refuse_as_beyond(p, "header is longer than that of any model");
	return take;
}

/* Fails only when memory is short; whatever else stops the parse makes the header invalid. */
static int json_stopped(struct safetensors_parser *p, int status, struct brevis_error *err)
{
	if (status == BREVIS_E_NOMEM || header_reader_failed(&p->reader))
		return error_nomem(err);
	if (p->reader.beyond_limits)
		refuse_as_beyond(p, p->reader.broken.message);
	else
		refuse(p, p->reader.broken.status ? p->reader.broken.message
						  : "header is not valid JSON");
	return BREVIS_OK;
}

static int feed_text(struct safetensors_parser *p, const uint8_t *data, size_t len,
		     struct brevis_error *err)
{
	while (len && p->state == SAFETENSORS_MORE) {
		struct header_part part;
		const char *broken = header_text_scan(&p->text, data, len, &part);
		int status;

		if (broken) {
			refuse(p, broken);
			break;
		}
		status = json_parser_feed(&p->json, data + part.skip, part.pass);
		if (status)
			return json_stopped(p, status, err);
		data += part.skip + part.pass;
		len -= part.skip + part.pass;
	}
	return BREVIS_OK;
}

/* The whole text is there: what only its end can show. */
static int finish(struct safetensors_parser *p, struct brevis_error *err)
{
	int status;

	if (!header_text_complete(&p->text)) {
		refuse(p, "header ends within its JSON object");
		return BREVIS_OK;
	}
	status = json_parser_end(&p->json);
	if (status)
		return json_stopped(p, status, err);
	if (tensor_list_finish(&p->list, &p->broken))
		p->state = SAFETENSORS_VALID;
	else if (p->broken.status == BREVIS_E_NOMEM)
		return error_nomem(err);
	else
		refuse(p, p->broken.message);
	return BREVIS_OK;
}

int safetensors_parser_feed(struct safetensors_parser *p, const void *data, size_t len,
			    size_t *used, enum safetensors_state *state, struct brevis_error *err)
{
	size_t taken = 0, take;
	int status = BREVIS_OK;

	if (p->state == SAFETENSORS_MORE)
		taken = feed_prefix(p, data, len);
	if (p->state == SAFETENSORS_MORE && p->prefix_size == sizeof(p->prefix)) {
		take = len - taken;
		if (take > p->text_left)
			take = (size_t)p->text_left;
		if (take)
			status = feed_text(p, (const uint8_t *)data + taken, take, err);
		taken += take;
		p->text_left -= take;
		if (!status && p->state == SAFETENSORS_MORE && !p->text_left)
			status = finish(p, err);
	}
	if (status)
		return status;
	*used = taken;
	*state = p->state;
	return BREVIS_OK;
}

uint64_t safetensors_wanted(const struct safetensors_parser *p)
{
	if (p->state != SAFETENSORS_MORE)
		return 0;
	return p->prefix_size < sizeof(p->prefix) ? sizeof(p->prefix) - p->prefix_size
						  : p->text_left;
}

const char *safetensors_reason(const struct safetensors_parser *p)
{
	return p->broken.message;
}

uint64_t safetensors_header_size(const struct safetensors_parser *p)
{
	return SAFETENSORS_PREFIX_SIZE + p->text_size;
}

uint64_t safetensors_data_size(const struct safetensors_parser *p)
{
	size_t count = tensor_list_count(&p->list);

	return count ? tensor_list_entry(&p->list, count - 1)->end : 0;
}

size_t safetensors_count(const struct safetensors_parser *p)
{
	return tensor_list_count(&p->list);
}

struct safetensors_extent safetensors_extent_at(const struct safetensors_parser *p, size_t i)
{
	const struct tensor_entry *entry = tensor_list_entry(&p->list, i);

	return (struct safetensors_extent){entry->begin, entry->end,
					   dtype_at(entry->dtype)->word_bits, entry->dtype};
}

const uint64_t *safetensors_shape_at(const struct safetensors_parser *p, size_t i, size_t *rank)
{
	return tensor_list_shape(&p->list, i, rank);
}

const uint8_t *safetensors_family(const struct safetensors_parser *p)
{
	return p->list.family;
}

struct safetensors_tensor safetensors_tensor_at(const struct safetensors_parser *p, size_t i)
{
	return tensor_list_tensor(&p->list, i);
}

size_t safetensors_place_of(const struct safetensors_parser *p, size_t i)
{
	return tensor_list_entry(&p->list, i)->order;
}

bool safetensors_has_more(const struct safetensors_parser *p)
{
	return p->reader.has_more;
}

size_t safetensors_metadata_count(const struct safetensors_parser *p)
{
	return metadata_list_count(&p->metadata);
}

struct brevis_metadata_info safetensors_metadata_at(const struct safetensors_parser *p, size_t i)
{
	return metadata_list_at(&p->metadata, i);
}
