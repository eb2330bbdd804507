/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text that git shows and compares instead of a model, diff.brevis.textconv: the same for a raw
 * file, an archive and a pointer of one content. One line for each tensor, so that a change shows
 * as that of a line.
 */
#include "filter/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/digest.h"
#include "filter/caller.h"
#include "filter/model_header.h"
#include "filter/options.h"
#include "filter/report.h"
#include "filter/text.h"

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
		printf("safetensors, %" PRIu64 " bytes, header xxh3:%016" PRIx64 "\n",
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
	printf("opaque bytes, %" PRIu64 " bytes, sha256:%s\n", model_view_size(view), hex);
	return 0;
}

static int print_content(struct model_view *view)
{
	int rc;

	if (model_view_layout(view) == BREVIS_LAYOUT_OPAQUE)
		return print_opaque(view);
	rc = print_header(view);
	for (size_t i = 0; i < model_view_tensors(view) && rc == 0; i++)
		rc = print_tensor(view, model_view_tensor(view, i));
	return rc;
}

/* All that there is to say without the object, and what whoever looks for pointers must see:
 * `git lfs prune` deletes the objects whose pointers it does not find among what was not pushed. */
static void print_pointer(const struct model_view *view)
{
	char text[POINTER_TEXT_SIZE];

	pointer_format(model_view_pointer(view), text);
	fputs(text, stdout);
}

int verb_textconv(const struct command *self, int argc, char **argv)
{
	static const struct option_spec none[] = {{0}};
	struct model_view *view;
	struct workspace ws;
	int code;
	int rc;

	argc = options_parse(self, argc, argv, none, &code);
	if (argc < 0)
		return code;
	if (argc != 1)
		return command_usage(self, 0);
	if (workspace_open_if_any(&ws) != 0)
		return EXIT_FATAL;
	rc = model_view_open_file(&ws, argv[0], NULL, &view);
	if (rc == 0) {
		bool is_text = !model_view_is_here(view) ||
			       (model_view_pointer(view) && caller_seeks_pointers());

		if (is_text)
			print_pointer(view);
		else
			rc = print_content(view);
		model_view_free(view);
	}
	workspace_close(&ws);
	return rc == 0 ? EXIT_DONE : EXIT_FATAL;
}
