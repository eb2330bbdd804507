/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/command.h"

#include <stdio.h>
#include <string.h>

#include "filter/options.h"
#include "filter/report.h"

static void print_all(FILE *out)
{
	const struct command *command;

	fprintf(out, "usage: git brevis VERB [ARGUMENT...]\n\n"
		     "Keeps model checkpoints small in git: lossless, as plain Git LFS objects.\n\n"
		     "  first use:  git brevis install; git brevis track '*.safetensors'\n"
		     "  then:       git add, git commit, git push as always\n\n");
	for (command = commands; command->name; command++)
		fprintf(out, "  %-16s %s\n", command->name, command->summary);
	fprintf(out,
		"\n`git brevis help VERB` or `git brevis VERB -h` shows how a verb is used.\n");
}

/** Without a verb on the command line (argc is 0 then) the list goes to stderr. */
int verb_help(const struct command *self, int argc, char **argv)
{
	static const struct option_spec none[] = {{0}};
	static char asked[] = "-h";
	const struct command *command;
	int code;

	if (argc == 0) {
		print_all(stderr);
		return EXIT_USAGE;
	}
	argc = options_parse(self, argc, argv, none, &code);
	if (argc < 0)
		return code;
	if (argc > 1)
		return command_usage(self, 0);
	if (argc == 0) {
		print_all(stdout);
		return EXIT_DONE;
	}
	for (command = commands; command->name; command++) {
		char *words[] = {argv[0], asked, NULL};

		/* The verb itself knows its options. */
		if (strcmp(command->name, argv[0]) == 0)
			return command->run(command, 2, words);
	}
	report_error("there is no verb '%s'; `git brevis help` lists them", argv[0]);
	return EXIT_USAGE;
}
