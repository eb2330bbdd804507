/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "filter/cli/completion.h"
#include "filter/cli/manual.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"

/* The verbs below their headings; those that people do not type if all are wanted. */
static void print_list(FILE *out, bool all)
{
	const struct command *command;

	fprintf(out, "usage: git brevis VERB [ARGUMENT...]\n\n"
		     "Keeps model checkpoints small in git: lossless, as plain Git LFS objects.\n\n"
		     "  first use:  git brevis install; git brevis track '*.safetensors'\n"
		     "  then:       git add, git commit, git push as always\n");
	for (command = commands; command->name; command++) {
		if (command->run)
			fprintf(out, "   %-16s %s\n", command->name, command->summary);
		else if (all || strcmp(command->summary, COMMANDS_PLUMBING) != 0)
			fprintf(out, "\n%s\n", command->summary);
		else
			break;
	}
	fprintf(out,
		"\n`git brevis VERB -h` shows how a verb is used, `git brevis help VERB` its "
		"manual "
		"page%s.\n",
		all ? "" : ",\n`git brevis help -a` all verbs");
}

/* Answers for a verb: it knows its options itself. */
static int print_verb(char *name)
{
	static char asked[] = "--help";
	const struct command *command = command_find(commands, name);
	char *words[] = {name, asked, NULL};

	return command ? command->run(command, 2, words) : command_unknown(commands, name);
}

/** Without a verb on the command line (argc is 0 then) the list goes to stderr. */
int verb_help(const struct command *self, int argc, char **argv)
{
	bool all = false;
	const struct option_spec table[] = {{.letter = 'a',
					     .name = "all",
					     .flag = &all,
					     .help = "list what git and git-lfs run, too"},
					    {0}};
	int code;

	if (argc == 0) {
		print_list(stderr, false);
		return EXIT_USAGE;
	}
	/* Asked by main() for the program itself, as `git-brevis -h`. */
	switch (command_question(argv[0])) {
	case QUESTION_WORDS:
		completion_print_verbs(commands);
		return EXIT_DONE;
	case QUESTION_MANUAL:
		manual_open(NULL);
		print_list(stdout, false);
		return EXIT_DONE;
	case QUESTION_USAGE:
		print_list(stdout, false);
		return EXIT_DONE;
	case QUESTION_NONE:
		break;
	}
	argc = options_parse(self, argc, argv, table, &code);
	if (argc < 0)
		return code;
	if (argc > 1)
		return command_usage(self, 0);
	if (argc == 1)
		return print_verb(argv[0]);
	print_list(stdout, all);
	return EXIT_DONE;
}
