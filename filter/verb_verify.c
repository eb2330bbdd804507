/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <inttypes.h>
#include <stdio.h>

#include "filter/cli/codec_arguments.h"
#include "filter/cli/json_output.h"
#include "filter/cli/options.h"
#include "filter/cli/progress.h"
#include "filter/objects/judgement.h"
#include "filter/cli/report.h"
#include "filter/inspect/subject.h"
#include "filter/cli/text.h"
#include "filter/verify/verify_history.h"

/* What is told of a file that is good: as a line, or in JSON. original is NULL for what is no
 * archive. */
static void tell_good(struct json_output *json, const char *name, uint64_t size,
		      const uint64_t *original)
{
	if (json) {
		json_open(json, NULL, '{');
		json_string(json, "name", name);
		json_bool(json, "good", true);
		json_number(json, "size", size);
		if (original)
			json_number(json, "original_size", *original);
		json_close(json);
		return;
	}
	print_path(stdout, name);
	if (original)
		printf(": good, %" PRIu64 " bytes restore %" PRIu64 "\n", size, *original);
	else
		printf(": good, a plain Git LFS object of %" PRIu64 " bytes\n", size);
}

/* Why it is not good stands on stderr. */
static void tell_bad(struct json_output *json, const char *name)
{
	if (!json)
		return;
	json_open(json, NULL, '{');
	json_string(json, "name", name);
	json_bool(json, "good", false);
	json_close(json);
}

static int check_object(const struct subject *subject, const struct workspace *ws,
			struct json_output *json, const char *name)
{
	const struct pointer *pointer = &subject->pointer;
	struct judgement judgement;
	struct progress progress;

	progress_begin(&progress, "checking", name, pointer->size);
	object_judge(&subject->file, pointer, ws->threads, &progress, &judgement);
	progress_end(&progress);
	if (judgement.verdict != VERDICT_GOOD)
		return judgement_report(&judgement, ws->store, name, pointer);
	tell_good(json, name, pointer->size,
		  judgement.is_archive ? &judgement.original_size : NULL);
	return 0;
}

/* Checks an archive that has no name of an object's. */
static int check_archive(const struct subject *subject, const struct workspace *ws,
			 struct json_output *json, const char *name)
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
	if (result == BREVIS_OK)
		tell_good(json, name, info->archive_size, &info->original_size);
	else
		result = codec_report_archive("verify", name, &err);
	brevis_archive_free(archive);
	return result;
}

static int verify(const struct workspace *ws, struct json_output *json, const char *name)
{
	struct subject subject;
	int result;

	if (subject_open(&subject, ws, name) != 0)
		return -1;
	result = subject.has_pointer ? check_object(&subject, ws, json, name)
				     : check_archive(&subject, ws, json, name);
	subject_close(&subject);
	return result;
}

static int verify_files(const struct workspace *ws, char **names, int count, bool as_json)
{
	struct json_output *json = as_json ? json_begin() : NULL;
	int bad = 0;

	if (as_json && !json)
		return EXIT_FATAL;
	if (json) {
		json_open(json, NULL, '{');
		json_open(json, "files", '[');
	}
	for (int i = 0; i < count; i++) {
		if (verify(ws, json, names[i]) == 0)
			continue;
		tell_bad(json, names[i]);
		bad++;
	}
	if (json) {
		json_close(json);
		json_close(json);
	}
	bad = json_end(json, bad);
	return bad < 0 ? EXIT_FATAL : bad ? EXIT_FOUND : EXIT_DONE;
}

int verb_verify(const struct command *self, int argc, char **argv)
{
	struct progress_choice progress = {.on = false};
	bool json = false;
	bool all = false;
	const struct option_spec options[] = {
		{.letter = 'a',
		 .name = "all",
		 .flag = &all,
		 .help = "prove all that the repository keeps: every ref, reflog, stash and index"},
		{.name = "json", .flag = &json, .help = "write JSON, sizes in bytes"},
		PROGRESS_OPTIONS(progress),
		{0}};
	struct workspace ws;
	int code;

	argc = options_parse(self, argc, argv, options, &code);
	if (argc < 0)
		return code;
	if (all && argc)
		return command_usage(self, 0);
	progress_choose(&progress);
	/* What names no file is in a repository. */
	if ((argc ? workspace_open_if_any(&ws) : workspace_open(&ws)) != 0)
		return EXIT_FATAL;
	code = verify_means_history(&ws, argv, argc) ? verify_history(&ws, argv, argc, all, json)
						     : verify_files(&ws, argv, argc, json);
	workspace_close(&ws);
	return code;
}
