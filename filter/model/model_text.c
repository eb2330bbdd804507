/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/model/model_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/digest.h"
#include "filter/model/model_metadata.h"
#include "filter/cli/report.h"
#include "filter/cli/text.h"

/* How the text begins. */
#define SAFETENSORS "safetensors, "
#define OPAQUE      "opaque bytes, "

static int add(void *ctx, const void *data, size_t len)
{
	checksum64_stream_update(ctx, data, len);
	return 0;
}

/* XXH3-64 of size bytes at offset. */
static int checksum_of(struct model_view *view, uint64_t offset, uint64_t size, uint64_t *out)
{
	struct checksum64_stream *stream = checksum64_stream_new();
	int rc;

	if (!stream)
		return report_error("out of memory");
	checksum64_stream_begin(stream);
	rc = model_view_read(view, offset, size, add, stream);
	*out = checksum64_stream_end(stream);
	checksum64_stream_free(stream);
	return rc;
}

static int print_tensor(struct model_view *view, const struct brevis_tensor_info *tensor)
{
	uint64_t sum;

	/* What its archive says, else computed. */
	if (!model_view_checksum(view, tensor, &sum) &&
	    checksum_of(view, tensor->offset, model_view_present(view, tensor), &sum) != 0)
		return -1;
	print_path(stdout, tensor->name);
	printf("  %s [", tensor->dtype);
	for (size_t i = 0; i < tensor->rank; i++)
		printf("%s%" PRIu64, i ? ", " : "", tensor->shape[i]);
	printf("]  xxh3:%016" PRIx64 "\n", sum);
	return 0;
}

static int print_string(const char *text, size_t size)
{
	char *shown = metadata_shown(text, size);

	if (!shown)
		return report_error("out of memory");
	putchar('"');
	print_path(stdout, shown);
	putchar('"');
	free(shown);
	return 0;
}

static int print_metadata(const struct metadata *metadata)
{
	int rc = 0;

	for (size_t i = 0; i < metadata->count && rc == 0; i++) {
		const struct brevis_metadata_info *info = &metadata->entries[i].info;

		fputs("metadata ", stdout);
		rc = print_string(info->key, info->key_size);
		fputs(": ", stdout);
		if (rc == 0)
			rc = print_string(info->value, info->value_size);
		putchar('\n');
	}
	return rc;
}

static int print_header(struct model_view *view)
{
	struct metadata metadata;
	uint64_t sum = 0;
	int rc = metadata_load(&metadata, model_view_header(view));

	if (rc != 0)
		report_error("%s: out of memory", model_view_label(view));
	else
		rc = checksum_of(view, MODEL_PREFIX, model_view_header_size(view) - MODEL_PREFIX,
				 &sum);
	if (rc == 0) {
		printf(SAFETENSORS "%" PRIu64 " bytes, header xxh3:%016" PRIx64 "\n",
		       model_view_size(view), sum);
		rc = print_metadata(&metadata);
	}
	metadata_release(&metadata);
	return rc;
}

static int print_opaque(struct model_view *view)
{
	char hex[OID_HEX_SIZE + 1];

	if (model_view_sha256(view, hex) != 0)
		return -1;
	printf(OPAQUE "%" PRIu64 " bytes, sha256:%s\n", model_view_size(view), hex);
	return 0;
}

int model_text_print(struct model_view *view)
{
	int rc;

	if (model_view_layout(view) == BREVIS_LAYOUT_OPAQUE)
		return print_opaque(view);
	rc = print_header(view);
	for (size_t i = 0; i < model_view_tensors(view) && rc == 0; i++)
		rc = print_tensor(view, model_view_tensor(view, i));
	return rc;
}

bool model_text_is(const void *data, size_t len)
{
	static const char *const beginnings[] = {SAFETENSORS, OPAQUE};

	for (size_t i = 0; i < 2; i++) {
		size_t size = strlen(beginnings[i]);

		if (len >= size && memcmp(data, beginnings[i], size) == 0)
			return true;
	}
	return false;
}
