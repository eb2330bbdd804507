/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/model/model_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/digest.h"
#include "filter/model/model_header.h"
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

/* XXH3-64 of the tensor's bytes: what its archive says, else computed. */
static int checksum(struct model_view *view, const struct brevis_tensor_info *tensor, uint64_t *out)
{
	struct checksum64_stream *stream;
	int rc;

	if (model_view_checksum(view, tensor, out))
		return 0;
	stream = checksum64_stream_new();
	if (!stream)
		return report_error("out of memory");
	checksum64_stream_begin(stream);
	rc = model_view_read(view, tensor->offset, model_view_present(view, tensor), add, stream);
	*out = checksum64_stream_end(stream);
	checksum64_stream_free(stream);
	return rc;
}

static int print_tensor(struct model_view *view, const struct brevis_tensor_info *tensor)
{
	uint64_t sum;

	if (checksum(view, tensor, &sum) != 0)
		return -1;
	print_path(stdout, tensor->name);
	printf("  %s [", tensor->dtype);
	for (size_t i = 0; i < tensor->rank; i++)
		printf("%s%" PRIu64, i ? ", " : "", tensor->shape[i]);
	printf("]  xxh3:%016" PRIx64 "\n", sum);
	return 0;
}

static int print_header(struct model_view *view)
{
	struct model_header header;
	int rc = model_header_load(&header, view);

	if (rc == 0)
		printf(SAFETENSORS "%" PRIu64 " bytes, header xxh3:%016" PRIx64 "\n",
		       model_view_size(view), checksum64(header.text.data, header.text.size));
	for (size_t i = 0; i < header.metadata_count && rc == 0; i++) {
		fputs("metadata \"", stdout);
		print_path(stdout, header.metadata[i].key);
		fputs("\": \"", stdout);
		print_path(stdout, header.metadata[i].value);
		puts("\"");
	}
	model_header_release(&header);
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
