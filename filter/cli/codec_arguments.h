/* SPDX-License-Identifier: Apache-2.0 */
/** What `compress` and `decompress` have in common: FILE|- [-o OUT] [-f] [-t THREADS], and
 * for the former --preset NAME. */
#ifndef FILTER_CODEC_ARGUMENTS_H
#define FILTER_CODEC_ARGUMENTS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "core/brevis.h"
#include "filter/cli/command.h"

struct codec_arguments {
	const char *file; /* "-": standard input */
	const char *out;  /* "-": standard output; NULL: not said */
	unsigned threads;
	bool force;
	bool has_preset;
	enum brevis_preset preset;
};

/** encodes: there is a preset to choose. Returns 0, or -1 if the verb has to end at once with
 * *exit_code; the cause is then reported. */
int codec_arguments_parse(const struct command *self, int argc, char **argv, bool encodes,
			  struct codec_arguments *out, int *exit_code);

/** The input that was named. */
struct codec_input {
	const char *name; /* for messages */
	int fd;
	struct stat st;
};

/** Opens it; directories are refused. Returns -1 after reporting. Close it in any case. */
int codec_input_open(struct codec_input *input, const char *file);
void codec_input_close(struct codec_input *input);

/**
 * Reports an archive that cannot be used: for what, why, and what helps. doing is what failed, as
 * in "cannot decompress", name that of the archive. Returns -1.
 */
int codec_report_archive(const char *doing, const char *name, const struct brevis_error *err);

#endif
