/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include "filter/cli/codec_arguments.h"
#include "filter/cli/json_output.h"
#include "filter/inspect/inspect_json.h"
#include "filter/inspect/inspect_text.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/inspect/subject.h"

static int show(struct brevis_archive *archive, const char *name, bool as_json, bool nodes)
{
	struct json_output *json = as_json ? json_begin() : NULL;
	struct brevis_error err;
	int status;

	if (as_json && !json)
		return -1;
	status = json ? inspect_json(json, archive, name, &err)
		      : inspect_text(archive, name, nodes, &err);
	return json_end(json,
			status == BREVIS_OK ? 0 : codec_report_archive("inspect", name, &err));
}

static int inspect(const struct workspace *ws, const char *name, bool json, bool nodes)
{
	struct brevis_archive *archive = NULL;
	struct subject subject;
	struct brevis_error err;
	int result;

	if (subject_open(&subject, ws, name) != 0)
		return -1;
	if (!subject.file.is_archive)
		result = report_error("%s is a plain Git LFS object, no archive of git-brevis; "
				      "there is nothing to inspect",
				      name);
	else if (brevis_archive_open(&subject.file.source, &archive, &err) != BREVIS_OK)
		result = codec_report_archive("inspect", name, &err);
	else
		result = show(archive, name, json, nodes);
	brevis_archive_free(archive);
	subject_close(&subject);
	return result;
}

int verb_inspect(const struct command *self, int argc, char **argv)
{
	bool json = false;
	bool nodes = false;
	const struct option_spec options[] = {
		{.name = "nodes",
		 .flag = &nodes,
		 .help = "list the nodes of each program, with their bytes"},
		{.name = "json", .flag = &json, .help = "write JSON, nodes included"},
		{0}};
	struct workspace ws;
	int result;
	int code;

	argc = options_parse(self, argc, argv, options, &code);
	if (argc < 0)
		return code;
	if (argc != 1 || (json && nodes))
		return command_usage(self, 0);
	if (workspace_open_if_any(&ws) != 0)
		return EXIT_FATAL;
	result = inspect(&ws, argv[0], json, nodes);
	workspace_close(&ws);
	return result == 0 ? EXIT_DONE : EXIT_FATAL;
}
