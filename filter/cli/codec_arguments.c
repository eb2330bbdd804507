/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/codec_arguments.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/options.h"
#include "filter/convert/preset.h"
#include "filter/cli/progress.h"
#include "filter/cli/report.h"

/* The values that were given, as numbers. Reports and returns -1 if one is out of place. */
static int read_values(struct codec_arguments *out, const char *threads, const char *preset)
{
	if (threads && !option_number(threads, OPTION_THREADS_MAX, &out->threads))
		return report_error(
			"the number of threads is from 0 (one for each processor) to %d",
			OPTION_THREADS_MAX);
	if (preset && !preset_parse(preset, &out->preset))
		return report_error("there is no preset '%s'; it is " PRESET_NAMES, preset);
	out->has_preset = preset != NULL;
	return 0;
}

int codec_arguments_parse(const struct command *self, int argc, char **argv, bool encodes,
			  struct codec_arguments *out, int *exit_code)
{
	const char *threads = NULL;
	const char *preset = NULL;
	struct progress_choice progress = {.on = false};
	const struct option_spec preset_option = {.name = "preset",
						  .value = &preset,
						  .help = "search as V says: " PRESET_NAMES,
						  .values = PRESET_WORDS};
	const struct option_spec options[] = {{.letter = 'o',
					       .name = "output",
					       .value = &out->out,
					       .help = "write to the file V, - is stdout",
					       .values = "FILE"},
					      {.letter = 't',
					       .name = "threads",
					       .value = &threads,
					       .help = "work with V threads"},
					      {.letter = 'f',
					       .name = "force",
					       .flag = &out->force,
					       .help = "replace a file that is there"},
					      PROGRESS_OPTIONS(progress),
					      encodes ? preset_option : (struct option_spec){0},
					      {0}};

	*out = (struct codec_arguments){.file = NULL};
	argc = options_parse(self, argc, argv, options, exit_code);
	if (argc < 0)
		return -1;
	if (argc != 1) {
		*exit_code = command_usage(self, 0);
		return -1;
	}
	if (!*argv[0] || (out->out && !*out->out)) {
		*exit_code = EXIT_USAGE;
		return report_error("an empty name is no file; name one, or - for standard %s",
				    *argv[0] ? "output" : "input");
	}
	if (read_values(out, threads, preset) != 0) {
		*exit_code = EXIT_USAGE;
		return -1;
	}
	progress_choose(&progress);
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
		return report_error("cannot read %s: %s; %s", input->name, strerror(errno),
				    errno == EACCES ? "make it readable" : "check its name");
	if (S_ISDIR(input->st.st_mode))
		return report_error("%s is a directory; name a file", input->name);
	return 0;
}

void codec_input_close(struct codec_input *input)
{
	if (input->fd > STDERR_FILENO)
		close(input->fd);
}

int codec_report_archive(const char *doing, const char *name, const struct brevis_error *err)
{
	switch (err->status) {
	case BREVIS_E_UNSUPPORTED:
	case BREVIS_E_LIMIT:
		return report_error("cannot %s %s: %s; a newer git-brevis may do it", doing, name,
				    err->message);
	case BREVIS_E_NOMEM:
		return report_error("cannot %s %s: out of memory", doing, name);
	case BREVIS_E_IO:
		return report_error("cannot %s %s: %s; check the disk and try again", doing, name,
				    err->message);
	default:
		return report_error("%s is damaged: %s; get a good copy of it", name, err->message);
	}
}
