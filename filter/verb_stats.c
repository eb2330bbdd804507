/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/stats/stats.h"
#include "filter/stats/stats_json.h"
#include "filter/stats/stats_text.h"

struct stats_arguments {
	bool all;
	bool json;
	bool summary;
};

/* Words that name revisions come first, then paths. Returns an exit code. */
static int run(struct stats *s, const struct stats_arguments *arguments, char **words, size_t count)
{
	const char *const *names = (const char *const *)words;
	size_t revisions = 0;
	int rc;

	while (revisions < count && repository_is_history(s->ws->repository, names[revisions]))
		revisions++;
	if (stats_collect(s, names, revisions, arguments->all, names + revisions,
			  count - revisions) < 0)
		return EXIT_FATAL;
	if (revisions < count && !stats_file_count(s)) {
		report_error(
			"'%s' names neither a revision nor a file that Git LFS kept in one; `git "
			"brevis stats --all` shows every file",
			names[revisions]);
		return EXIT_FOUND;
	}
	if (!arguments->json) {
		stats_text(s, arguments->summary);
		return EXIT_DONE;
	}
	rc = stats_json(s, arguments->summary);
	return rc < 0 ? EXIT_FATAL : EXIT_DONE;
}

int verb_stats(const struct command *self, int argc, char **argv)
{
	struct stats_arguments arguments = {.all = false};
	struct workspace ws;
	struct stats s = {.ws = &ws};
	const struct option_spec table[] = {
		{.letter = 'a',
		 .name = "all",
		 .flag = &arguments.all,
		 .help = "walk the history of every ref, not of HEAD alone"},
		{.letter = 's',
		 .name = "summary",
		 .flag = &arguments.summary,
		 .help = "leave out the revisions"},
		{.name = "json", .flag = &arguments.json, .help = "write JSON, sizes in bytes"},
		{0}};
	int code;
	int count = options_parse(self, argc, argv, table, &code);

	if (count < 0)
		return code;
	if (workspace_open(&ws) < 0)
		return EXIT_FATAL;
	code = run(&s, &arguments, argv, (size_t)count);
	stats_release(&s);
	workspace_close(&ws);
	return code;
}
