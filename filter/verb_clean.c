/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "filter/git/caller.h"
#include "filter/convert/convert.h"
#include "filter/git/hooks_setup.h"
#include "filter/model/model_text.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/stream.h"

/* Takes stdin in whatever happens, so that git never waits for us to read. */
static int drop(void *ctx, const void *data, size_t len)
{
	(void)ctx;
	(void)data;
	(void)len;
	return 0;
}

/* What is cleaned, as it comes; for git blame that may be the text of our textconv, which is what
 * it wants. */
struct input {
	struct cleaning *cleaning;
	bool blames;
	bool is_text;
	bool begun;
	int out;
};

static int take(void *ctx, const void *data, size_t len)
{
	struct input *input = ctx;

	if (!input->begun && len)
		input->is_text = input->blames && model_text_is(data, len);
	input->begun = input->begun || len;
	return input->is_text ? stream_write(&input->out, data, len)
			      : cleaning_write(input->cleaning, data, len);
}

static int clean_stdin(struct workspace *ws, const char *path)
{
	struct cleaning *cleaning = cleaning_begin(ws, path);
	struct input input = {.cleaning = cleaning,
			      .blames = caller_look() == CALLER_BLAMES,
			      .out = STDOUT_FILENO};
	int out = STDOUT_FILENO;
	const void *text;
	size_t len;
	int result = -1;
	int rc;

	if (!cleaning) {
		stream_read(STDIN_FILENO, drop, NULL);
		return -1;
	}
	rc = stream_read(STDIN_FILENO, take, &input);
	if (rc < 0) {
		report_error("%s: cannot read it: %s", path ? path : "standard input",
			     strerror(errno));
		goto out;
	}
	if (input.is_text) {
		result = rc == 0 ? 0 : report_error("cannot write the text: %s", strerror(errno));
		goto out;
	}
	if (cleaning_finish(cleaning, &text, &len) != 0)
		goto out;
	if (stream_write(&out, text, len) != 0) {
		report_error("cannot write the pointer: %s", strerror(errno));
		goto out;
	}
	result = 0;
out:
	cleaning_free(cleaning);
	return result;
}

/* Passes on a file that is not for us. */
static int pass_stdin(const char *path)
{
	int out = STDOUT_FILENO;

	report_trace("clean %s: left alone", path);
	if (stream_read(STDIN_FILENO, stream_write, &out) == 0)
		return 0;
	return report_error("%s: cannot pass it on: %s", path, strerror(errno));
}

int verb_clean(const struct command *self, int argc, char **argv)
{
	static const struct option_spec none[] = {{0}};
	struct workspace ws;
	int result;
	int code;

	argc = options_parse(self, argc, argv, none, &code);
	if (argc < 0)
		return code;
	if (argc > 1)
		return command_usage(self, 0);
	if (isatty(STDIN_FILENO)) {
		report_error("clean reads a file's content from standard input; git runs it, see "
			     "`git brevis pointer FILE` to see what it makes of a file");
		return EXIT_USAGE;
	}
	if (workspace_open(&ws) != 0) {
		stream_read(STDIN_FILENO, drop, NULL);
		return EXIT_FATAL;
	}
	if (repository_work_tree(ws.repository))
		hooks_ensure(ws.repository);
	result = argc && path_is_left_alone(argv[0]) ? pass_stdin(argv[0])
						     : clean_stdin(&ws, argc ? argv[0] : NULL);
	if (ws.stored)
		hooks_warn(ws.repository);
	workspace_close(&ws);
	return result == 0 ? EXIT_DONE : EXIT_FATAL;
}
