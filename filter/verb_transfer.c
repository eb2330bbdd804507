/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "filter/agent/agent.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"

/*
 * Moves a standard stream to a descriptor that no child inherits, and puts another in its place. A
 * stray byte on git-lfs's pipes, or one that a child takes out of them, would end its push.
 */
static FILE *move_away(int standard, int other, const char *mode)
{
	int fd = fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	FILE *stream;

	if (fd < 0 || other < 0 || dup2(other, standard) < 0) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	stream = fdopen(fd, mode);
	if (!stream)
		close(fd);
	return stream;
}

static int run(bool multipart)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	FILE *in = move_away(STDIN_FILENO, nothing, "r");
	FILE *out = in ? move_away(STDOUT_FILENO, STDERR_FILENO, "w") : NULL;
	int result;

	if (nothing >= 0)
		close(nothing);
	if (out)
		result = agent_run(in, out, multipart);
	else
		result = report_error("cannot take over standard input and output: %s",
				      strerror(errno));
	if (in)
		fclose(in);
	if (out)
		fclose(out);
	return result;
}

int verb_transfer(const struct command *self, int argc, char **argv)
{
	bool multipart = false;
	const struct option_spec options[] = {
		{.name = "multipart",
		 .flag = &multipart,
		 .help = "carry objects to hubs that answer with a URL for each part"},
		{0}};
	int code;

	argc = options_parse(self, argc, argv, options, &code);
	if (argc < 0)
		return code;
	if (argc > 0)
		return command_usage(self, 0);
	if (isatty(STDIN_FILENO)) {
		report_error("transfer speaks git-lfs's protocol for transfers and is started by "
			     "git-lfs; see `git brevis help` for what to run by hand");
		return EXIT_USAGE;
	}
	return run(multipart) == 0 ? EXIT_DONE : EXIT_FATAL;
}
