/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/codec_arguments.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "filter/options.h"
#include "filter/report.h"

int codec_arguments_parse(const struct command *self, int argc, char **argv,
			  struct codec_arguments *out, int *exit_code)
{
	const char *threads = NULL;
	const struct option_spec options[] = {{'o', "output", NULL, &out->out},
					      {'t', "threads", NULL, &threads},
					      {'f', "force", &out->force, NULL},
					      {0}};

	*out = (struct codec_arguments){.file = NULL};
	argc = options_parse(self, argc, argv, options, exit_code);
	if (argc < 0)
		return -1;
	if (argc != 1) {
		*exit_code = command_usage(self, 0);
		return -1;
	}
	if (threads && !option_number(threads, OPTION_THREADS_MAX, &out->threads)) {
		*exit_code = EXIT_USAGE;
		return report_error(
			"the number of threads is from 0 (one for each processor) to %d",
			OPTION_THREADS_MAX);
	}
	out->file = argv[0];
	if (!out->out && strcmp(out->file, "-") == 0)
		out->out = "-";
	return 0;
}

int codec_input_open(struct codec_input *input, const char *file)
{
	bool is_stdin = strcmp(file, "-") == 0;

	input->name = is_stdin ? "standard input" : file;
	input->fd = is_stdin ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
	if (input->fd < 0 || fstat(input->fd, &input->st) != 0)
		return report_error("cannot read %s: %s", input->name, strerror(errno));
	if (S_ISDIR(input->st.st_mode))
		return report_error("%s is a directory; name a file", input->name);
	return 0;
}

void codec_input_close(struct codec_input *input)
{
	if (input->fd > STDERR_FILENO)
		close(input->fd);
}
