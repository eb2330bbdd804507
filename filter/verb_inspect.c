/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/codec_arguments.h"
#include "filter/inspect_json.h"
#include "filter/options.h"
#include "filter/report.h"
#include "filter/subject.h"
#include "filter/text.h"

/* part of whole in tenths of a percent, for people. */
static void print_share(uint64_t part, uint64_t whole)
{
	uint64_t tenths = per_mille(part, whole);

	if (!whole) {
		printf("      -");
		return;
	}
	printf("%4" PRIu64 ".%" PRIu64 "%%", tenths / 10, tenths % 10);
}

static void print_summary(const char *name, const struct brevis_archive_info *info)
{
	char hex[OID_HEX_SIZE + 1];
	static const char *const layouts[] = {"opaque bytes", "safetensors",
					      "safetensors header, irregular data"};

	digest_to_hex(info->original_sha256, hex);
	print_path(stdout, name);
	printf("\n  format    %u, %s\n", info->format_version, layouts[info->layout]);
	printf("  original  %" PRIu64 " bytes, SHA-256 %s\n", info->original_size, hex);
	printf("  archive   %" PRIu64 " bytes,", info->archive_size);
	print_share(info->archive_size, info->original_size);
	printf(" of the original\n  content   %" PRIu64 " pieces in %" PRIu64 " records\n",
	       info->pieces, info->records);
}

static void print_shape(const struct brevis_tensor_info *tensor)
{
	size_t i;

	putchar('[');
	for (i = 0; i < tensor->rank; i++)
		printf("%s%" PRIu64, i ? ", " : "", tensor->shape[i]);
	putchar(']');
}

/* Prints the programs of the pieces of a tensor: the first, and how many others differ from it. */
static int print_programs(const struct brevis_archive *archive,
			  const struct brevis_tensor_info *tensor, uint64_t *piece,
			  struct brevis_error *err)
{
	struct brevis_piece_info info;
	char *first = NULL;
	uint64_t others = 0;
	uint64_t i;
	int status;

	for (i = *piece; i < brevis_archive_info(archive)->pieces; i++) {
		char *text;

		status = brevis_archive_piece(archive, i, &info, err);
		if (status != BREVIS_OK)
			goto out;
		if (info.offset + info.size <= tensor->offset || !info.size)
			continue;
		if (info.offset >= tensor->offset + tensor->size)
			break;
		status = brevis_archive_program(archive, i, &text, err);
		if (status != BREVIS_OK)
			goto out;
		if (first && strcmp(first, text) != 0)
			others++;
		if (first)
			free(text);
		else
			first = text;
		*piece = i;
	}
	print_path(stdout, first ? first : "-");
	if (others)
		printf("  (and %" PRIu64 " more)", others);
	status = BREVIS_OK;
out:
	free(first);
	return status;
}

static int print_tensors(struct brevis_archive *archive, struct brevis_error *err)
{
	uint64_t count, i;
	uint64_t piece = 0;
	int status = brevis_archive_load_tensors(archive, &count, err);

	if (status != BREVIS_OK || !count)
		return status;
	printf("  tensors   %" PRIu64 ": bytes, stored bytes, share, type, shape, name, program\n",
	       count);
	for (i = 0; i < count; i++) {
		struct brevis_tensor_info tensor;

		status = brevis_archive_tensor(archive, i, &tensor, err);
		if (status != BREVIS_OK)
			return status;
		printf("%12" PRIu64 " %12" PRIu64 " ", tensor.size, tensor.stored_size);
		print_share(tensor.stored_size, tensor.size);
		printf("  %-8s ", tensor.dtype);
		print_shape(&tensor);
		putchar(' ');
		print_path(stdout, tensor.name);
		printf("  ");
		status = print_programs(archive, &tensor, &piece, err);
		putchar('\n');
		if (status != BREVIS_OK)
			return status;
	}
	return BREVIS_OK;
}

static int inspect(const struct workspace *ws, const char *name, bool json)
{
	struct brevis_archive *archive = NULL;
	struct subject subject;
	struct brevis_error err;
	int status;

	if (subject_open(&subject, ws, name) != 0)
		return -1;
	if (!object_file_is_archive(&subject.file)) {
		report_error("%s is a plain Git LFS object, no archive of git-brevis", name);
		subject_close(&subject);
		return -1;
	}
	status = brevis_archive_open(&subject.file.source, &archive, &err);
	if (status == BREVIS_OK && json) {
		status = inspect_json(archive, name, &err);
	} else if (status == BREVIS_OK) {
		print_summary(name, brevis_archive_info(archive));
		status = print_tensors(archive, &err);
	}
	if (status != BREVIS_OK)
		codec_report_archive("inspect", name, &err);
	brevis_archive_free(archive);
	subject_close(&subject);
	return status == BREVIS_OK ? 0 : -1;
}

int verb_inspect(const struct command *self, int argc, char **argv)
{
	bool json = false;
	const struct option_spec options[] = {{0, "json", &json, NULL, "write JSON"}, {0}};
	struct workspace ws;
	int result;
	int code;

	argc = options_parse(self, argc, argv, options, &code);
	if (argc < 0)
		return code;
	if (argc != 1)
		return command_usage(self, 0);
	if (workspace_open_if_any(&ws) != 0)
		return EXIT_FATAL;
	result = inspect(&ws, argv[0], json);
	workspace_close(&ws);
	return result == 0 ? EXIT_DONE : EXIT_FATAL;
}
