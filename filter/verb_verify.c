/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/command.h"

#include <inttypes.h>
#include <stdio.h>

#include "filter/codec_arguments.h"
#include "filter/options.h"
#include "filter/progress.h"
#include "filter/proof.h"
#include "filter/report.h"
#include "filter/subject.h"
#include "filter/text.h"

/* Checks the object's bytes against its name. */
static int check_name(const struct subject *subject, const char *name)
{
	struct progress progress;
	struct progress_source counted = {&progress, &subject->file.source};
	struct brevis_source source = progress_source(&counted);
	struct brevis_error err;
	bool is_good;

	progress_begin(&progress, "hashing", name, source.size);
	is_good = source_is_object(&source, &subject->pointer, &err);
	progress_end(&progress);
	if (is_good)
		return 0;
	if (err.status == BREVIS_E_IO)
		return report_error("%s: its object %.12s cannot be read: %s; make that a file "
				    "that can be read",
				    name, subject->pointer.oid, err.message);
	return report_error("%s: its object %.12s is damaged: %s; see `git brevis fsck`", name,
			    subject->pointer.oid, err.message);
}

static int check_archive(const struct subject *subject, const struct workspace *ws,
			 const char *name)
{
	struct brevis_decode_options options = {.threads = ws->threads};
	const struct brevis_archive_info *info;
	struct brevis_archive *archive = NULL;
	struct progress progress;
	struct brevis_error err;
	int result;

	if (brevis_archive_open(&subject->file.source, &archive, &err) != BREVIS_OK)
		return codec_report_archive("verify", name, &err);
	info = brevis_archive_info(archive);
	progress_begin(&progress, "checking", name, info->original_size);
	progress_share(&progress, info->original_size, info->archive_size);
	result = brevis_archive_decode(archive, &options, progress_write, &progress, &err);
	progress_end(&progress);
	if (result == BREVIS_OK) {
		print_path(stdout, name);
		printf(": good, %" PRIu64 " bytes restore %" PRIu64 "\n", info->archive_size,
		       info->original_size);
	} else {
		result = codec_report_archive("verify", name, &err);
	}
	brevis_archive_free(archive);
	return result;
}

static int verify(const struct workspace *ws, const char *name)
{
	struct subject subject;
	int result = -1;

	if (subject_open(&subject, ws, name) != 0)
		return -1;
	if (subject.has_pointer && check_name(&subject, name) != 0)
		goto out;
	if (object_file_is_archive(&subject.file)) {
		result = check_archive(&subject, ws, name);
		goto out;
	}
	print_path(stdout, name);
	printf(": good, a plain Git LFS object of %" PRIu64 " bytes\n", subject.file.source.size);
	result = 0;
out:
	subject_close(&subject);
	return result;
}

int verb_verify(const struct command *self, int argc, char **argv)
{
	struct progress_choice progress = {.on = false};
	const struct option_spec options[] = {PROGRESS_OPTIONS(progress), {0}};
	struct workspace ws;
	int bad = 0;
	int code;
	int i;

	argc = options_parse(self, argc, argv, options, &code);
	if (argc < 0)
		return code;
	if (argc == 0)
		return command_usage(self, 0);
	progress_choose(&progress);
	if (workspace_open_if_any(&ws) != 0)
		return EXIT_FATAL;
	for (i = 0; i < argc; i++) {
		if (verify(&ws, argv[i]) != 0)
			bad++;
	}
	workspace_close(&ws);
	return bad ? EXIT_FOUND : EXIT_DONE;
}
