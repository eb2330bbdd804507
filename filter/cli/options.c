/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cli/completion.h"
#include "filter/cli/manual.h"
#include "filter/cli/report.h"

bool options_end(const struct option_spec *spec)
{
	return !spec->flag && !spec->value;
}

/* Finds the option that text, which begins with '-', names. *inline_value is what follows the name
 * in the same word, or NULL. */
static const struct option_spec *find(const struct option_spec *table, const char *text,
				      const char **inline_value)
{
	const struct option_spec *spec;
	size_t len;

	*inline_value = NULL;
	if (text[1] != '-') {
		for (spec = table; !options_end(spec); spec++) {
			if (!spec->letter || spec->letter != text[1])
				continue;
			*inline_value = text[2] ? text + 2 : NULL;
			return spec;
		}
		return NULL;
	}
	len = strcspn(text + 2, "=");
	for (spec = table; !options_end(spec); spec++) {
		if (!spec->name || strlen(spec->name) != len ||
		    strncmp(spec->name, text + 2, len) != 0)
			continue;
		*inline_value = text[2 + len] ? text + 3 + len : NULL;
		return spec;
	}
	return NULL;
}

static int misuse(const struct command *self, int *exit_code)
{
	*exit_code = command_usage(self, 0);
	return -1;
}

/* One line for each option: "  -l, --long   what it does". */
static void print_table(const struct option_spec *table)
{
	bool any = false;

	for (; !options_end(table); table++) {
		char names[64];
		char letter[5] = "    ";

		if (!table->help)
			continue;
		if (table->letter)
			snprintf(letter, sizeof(letter), "-%c%s", table->letter,
				 table->name ? ", " : "");
		snprintf(names, sizeof(names), "%s%s%s%s", letter, table->name ? "--" : "",
			 table->name ? table->name : "", table->value ? " V" : "");
		printf("%s  %-20s %s\n", any ? "" : "\n", names, table->help);
		any = true;
	}
}

int options_answer(const struct command *self, const struct option_spec *table,
		   enum question question)
{
	if (question == QUESTION_WORDS) {
		completion_print(self, table);
		return EXIT_DONE;
	}
	if (question == QUESTION_MANUAL)
		manual_open(self->name);
	command_usage(self, 1);
	print_table(table);
	return EXIT_DONE;
}

bool options_answer_alone(const struct command *self, int argc, char **argv)
{
	static const struct option_spec none[] = {{0}};
	enum question question = argc == 2 ? command_question(argv[1]) : QUESTION_NONE;

	if (question)
		options_answer(self, none, question);
	return question != QUESTION_NONE;
}

/* Handles the option at argv[i]. Returns how many words it took, or -1. */
static int take(const struct command *self, int argc, char **argv, int i,
		const struct option_spec *table, int *exit_code)
{
	enum question question = command_question(argv[i]);
	const char *value;
	const struct option_spec *spec;

	if (question) {
		*exit_code = options_answer(self, table, question);
		return -1;
	}
	spec = find(table, argv[i], &value);
	if (!spec || (spec->flag && value)) {
		report_error("%s: unknown option '%s'", self->name, argv[i]);
		return misuse(self, exit_code);
	}
	if (spec->flag) {
		*spec->flag = true;
		return 1;
	}
	if (value) {
		*spec->value = value;
		return 1;
	}
	if (i + 1 >= argc) {
		report_error("%s: option '%s' needs a value", self->name, argv[i]);
		return misuse(self, exit_code);
	}
	*spec->value = argv[i + 1];
	return 2;
}

int options_parse(const struct command *self, int argc, char **argv,
		  const struct option_spec *table, int *exit_code)
{
	int kept = 0;
	int i = 1;

	while (i < argc) {
		int taken = 1;

		if (strcmp(argv[i], "--") == 0) {
			for (i++; i < argc; i++)
				argv[kept++] = argv[i];
			break;
		}
		if (argv[i][0] == '-' && argv[i][1])
			taken = take(self, argc, argv, i, table, exit_code);
		else
			argv[kept++] = argv[i];
		if (taken < 0)
			return -1;
		i += taken;
	}
	argv[kept] = NULL;
	return kept;
}

bool option_number(const char *text, unsigned max, unsigned *out)
{
	unsigned long long number;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	number = strtoull(text, &end, 10);
	if (*end || number > max)
		return false;
	*out = (unsigned)number;
	return true;
}
