/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <stdio.h>
#include <string.h>

#include "filter/cli/report.h"

/* Longer words are no typing errors of a verb's name. */
#define WORD_MAX 32

const struct command *command_find(const struct command *table, const char *name)
{
	for (; table->name; table++)
		if (table->run && strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * How many letters have to be put in, left out, replaced, or exchanged with their neighbour to make
 * b of a. Row i of the table is about the first i letters of a; only three of them are needed.
 */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0];
	size_t *last = rows[1];
	size_t *row = rows[2];
	size_t width = strlen(b);

	for (size_t j = 0; j <= width; j++)
		last[j] = j;
	for (size_t i = 1; i <= strlen(a); i++) {
		size_t *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= width; j++) {
			row[j] = least(last[j], row[j - 1]) + 1;
			row[j] = least(row[j], last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[width];
}

const struct command *command_like(const struct command *table, const char *name)
{
	const struct command *best = NULL;
	size_t len = strlen(name);
	/* One mistake in three letters: more is another word. */
	size_t nearest = len / 3 + 1;

	if (!len || len > WORD_MAX)
		return NULL;
	for (; table->name; table++) {
		size_t d;

		if (!table->run)
			continue;
		/* Who typed the beginning of a verb was sure of it that far. */
		if (len > 1 && strncmp(table->name, name, len) == 0)
			return table;
		d = distance(name, table->name);
		if (d >= nearest + (best == NULL))
			continue;
		nearest = d;
		best = table;
	}
	return best;
}

int command_unknown(const struct command *table, const char *name)
{
	const struct command *like = command_like(table, name);

	if (like)
		report_error("there is no verb '%s'; is '%s' meant? `git brevis help` lists them",
			     name, like->name);
	else
		report_error("there is no verb '%s'; `git brevis help` lists them", name);
	return EXIT_USAGE;
}

int command_usage(const struct command *self, int asked_for)
{
	FILE *out = asked_for ? stdout : stderr;

	fprintf(out, "usage: git brevis %s\n", self->usage);
	if (asked_for)
		fprintf(out, "\n%s\n", self->summary);
	return asked_for ? EXIT_DONE : EXIT_USAGE;
}

enum question command_question(const char *word)
{
	static const struct {
		const char *word;
		enum question question;
	} words[] = {{"-h", QUESTION_USAGE},
		     {"--help", QUESTION_MANUAL},
		     {"--complete", QUESTION_WORDS}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i].word) == 0)
			return words[i].question;
	return QUESTION_NONE;
}
