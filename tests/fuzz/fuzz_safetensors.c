/* SPDX-License-Identifier: Apache-2.0 */
/** The safetensors header: at once or byte by byte, whatever is kept of it, all must agree. */
#include <string.h>

#include "core/safetensors/safetensors.h"
#include "tests/fuzz/fuzz.h"

struct outcome {
	enum safetensors_state state;
	size_t used;
	size_t count;
	uint64_t data_size;
	char reason[160];
};

static void note(const struct safetensors_parser *parser, struct outcome *out)
{
	size_t i;

	if (out->state == SAFETENSORS_INVALID) {
		snprintf(out->reason, sizeof(out->reason), "%s", safetensors_reason(parser));
		PROPERTY(out->reason[0]);
	}
	if (out->state != SAFETENSORS_VALID)
		return;
	out->count = safetensors_count(parser);
	for (i = 0; i < out->count; i++) {
		struct safetensors_extent extent = safetensors_extent_at(parser, i);

		PROPERTY(extent.begin == out->data_size && extent.end >= extent.begin);
		out->data_size = extent.end;
	}
	PROPERTY(out->data_size == safetensors_data_size(parser));
	PROPERTY(out->used == safetensors_header_size(parser));
}

static void parse(const uint8_t *data, size_t size, size_t step, enum safetensors_keep keep,
		  struct outcome *out)
{
	struct safetensors_parser *parser;
	size_t at = 0;

	memset(out, 0, sizeof(*out));
	PROPERTY(safetensors_parser_new(keep, &parser, NULL) == BREVIS_OK);
	while (at < size && out->state == SAFETENSORS_MORE) {
		size_t part = size - at < step ? size - at : step;
		size_t used = 0;

		PROPERTY(safetensors_parser_feed(parser, data + at, part, &used, &out->state,
						 NULL) == BREVIS_OK);
		PROPERTY(used <= part);
		out->used += used;
		at += part;
	}
	note(parser, out);
	safetensors_parser_free(parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum safetensors_keep keeps[] = {SAFETENSORS_KEEP_NAMES,
						      SAFETENSORS_KEEP_METADATA};
	struct outcome bytewise, whole;
	size_t i;

	parse(data, size, 1, SAFETENSORS_KEEP_EXTENTS, &bytewise);
	for (i = 0; i < 2; i++) {
		parse(data, size, size, keeps[i], &whole);
		if (whole.state == SAFETENSORS_BEYOND && keeps[i] == SAFETENSORS_KEEP_METADATA)
			continue;
		PROPERTY(whole.state == bytewise.state);
		if (whole.state != SAFETENSORS_VALID)
			continue;
		PROPERTY(whole.used == bytewise.used && whole.count == bytewise.count);
		PROPERTY(whole.data_size == bytewise.data_size);
	}
	return 0;
}
