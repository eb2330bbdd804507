/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/verb_store.h"

#include <stdio.h>
#include <string.h>

#include "filter/cli/completion.h"
#include "filter/cli/manual.h"
#include "filter/cli/report.h"

/* argv[0] of each is its second word. */
static const struct command verbs[] = {
	{"store init",
	 "store init URL [--endpoint E] [--region R] [--addressing path|virtual] [--force]",
	 "make a store, and have Git LFS keep this repository's objects in it", verb_store_init},
	{"store ls", "store ls [-l] [--json]", "list the objects of the store", verb_store_ls},
	{"store verify", "store verify [--json] [--all | OID...]",
	 "download objects and prove them: those that HEAD needs", verb_store_verify},
	{"store stats", "store stats [--json]", "say how much the store holds, and what it saves",
	 verb_store_stats},
	{"store gc", "store gc [--dry-run] [--older-than DAYS] [--unreferenced] [--yes]",
	 "remove what broken uploads left", verb_store_gc},
	{NULL, NULL, NULL, NULL}};

/* The usage of every verb: on stdout, with what they are for, or on stderr. */
static int usage(const struct command *self, int asked_for)
{
	FILE *out = asked_for ? stdout : stderr;
	const struct command *verb;

	for (verb = verbs; verb->name; verb++)
		fprintf(out, "%s git brevis %s\n", verb == verbs ? "usage:" : "      ",
			verb->usage);
	if (!asked_for)
		return EXIT_USAGE;
	printf("\n%s\n\n", self->summary);
	for (verb = verbs; verb->name; verb++)
		printf("  %-14s %s\n", verb->name, verb->summary);
	printf("\nURLs, credentials, settings and files are in git-brevis-store(1).\n");
	return EXIT_DONE;
}

static int answer(const struct command *self, enum question question)
{
	if (question == QUESTION_WORDS) {
		completion_print_verbs(verbs);
		return EXIT_DONE;
	}
	if (question == QUESTION_MANUAL)
		manual_open(self->name);
	return usage(self, 1);
}

int verb_store(const struct command *self, int argc, char **argv)
{
	const struct command *verb;

	if (argc < 2)
		return usage(self, 0);
	if (command_question(argv[1]))
		return answer(self, command_question(argv[1]));
	for (verb = verbs; verb->name; verb++)
		if (strcmp(verb->name + sizeof("store"), argv[1]) == 0)
			return verb->run(verb, argc - 1, argv + 1);
	report_error("store: there is no '%s'; it is init, ls, verify, stats or gc", argv[1]);
	return usage(self, 0);
}
