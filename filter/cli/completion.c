/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/completion.h"

#include <stdio.h>
#include <string.h>

#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A usage's punctuation: "[REVISION | A..B]... [PATH...]". */
#define BETWEEN " \n[]|"

static void print_option(const struct option_spec *spec)
{
	const char *values = !spec->value ? "" : spec->values ? spec->values : "VALUE";

	if (spec->letter)
		printf("-%c\t%s\t%s\n", spec->letter, values, spec->help);
	if (spec->name)
		printf("--%s\t%s\t%s\n", spec->name, values, spec->help);
}

/* The length of a word that names a kind of argument, without the dots behind it. 0 if it is none:
 * one capital alone is a part of something ("A..B"), or a value. */
static size_t kind_length(const char *word, size_t len)
{
	size_t capitals = strspn(word, CAPITALS);

	if (capitals < 2 || capitals > len || strspn(word + capitals, ".") != len - capitals)
		return 0;
	return capitals;
}

/* True if a word of this length was a word of the usage before. */
static bool was_before(const char *usage, const char *word, size_t len)
{
	for (const char *at = usage; at < word; at += strspn(at, BETWEEN)) {
		size_t other = strcspn(at, BETWEEN);

		if (kind_length(at, other) == len && memcmp(at, word, len) == 0)
			return true;
		at += other;
	}
	return false;
}

/* Prints the words in capitals that are no values of options: those stand behind one, without a bar
 * between them. */
static void print_kinds(const char *usage)
{
	const char *whole = usage;
	bool is_value = false;

	while (*usage) {
		size_t gap = strspn(usage, BETWEEN);
		size_t len = strcspn(usage + gap, BETWEEN);
		size_t kind = kind_length(usage + gap, len);

		if (memchr(usage, '|', gap) || memchr(usage, ']', gap))
			is_value = false;
		if (kind && !is_value && !was_before(whole, usage + gap, kind))
			printf("%.*s\t\t\n", (int)kind, usage + gap);
		is_value = usage[gap] == '-';
		usage += gap + len;
	}
}

/* Prints as ACTION the words, if there are any, of which one comes first: "migrate import [...]".
 */
static void print_actions(const char *name, const char *usage)
{
	size_t len = strlen(name);
	const char *before = "ACTION\t";
	const char *at = usage;

	while ((at = strstr(at, name)) != NULL) {
		size_t action = 0;

		at += len;
		if (*at == ' ')
			action = strspn(++at, "abcdefghijklmnopqrstuvwxyz");
		if (action) {
			printf("%s%.*s", before, (int)action, at);
			before = " ";
		}
	}
	if (*before == ' ')
		printf("\t\n");
}

void completion_print(const struct command *self, const struct option_spec *table)
{
	print_actions(self->name, self->usage);
	for (; !options_end(table); table++)
		if (table->help)
			print_option(table);
	print_kinds(self->usage);
}

void completion_print_verbs(const struct command *table)
{
	for (; table->name; table++) {
		const char *space = strrchr(table->name, ' ');

		if (table->run)
			printf("%s\t\t%s\n", space ? space + 1 : table->name, table->summary);
	}
}
