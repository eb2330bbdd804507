/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The external diff driver, diff.brevis.command. git runs it at the top of the work tree with
 *
 *   PATH OLD-FILE OLD-HEX OLD-MODE NEW-FILE NEW-HEX NEW-MODE [NEW-PATH NOTE]
 *
 * or with PATH alone if that is unmerged; a file that is not there is /dev/null. It must not fail:
 * git would end at this path and leave out the others. So what cannot be compared is a part of the
 * text.
 */
#include "filter/cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/diff/diff_report.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"

struct driver_side {
	const char *path;
	const char *file;
	const char *mode;
};

/* True for a regular file, or one of whose mode git says nothing (--no-index). */
static bool is_regular(const struct driver_side *from)
{
	return strncmp(from->mode, "100", 3) == 0 || strcmp(from->mode, ".") == 0;
}

static int open_side(const struct workspace *ws, const struct driver_side *from, char letter,
		     char **label, struct diff_side *side)
{
	if (strcmp(from->file, "/dev/null") == 0 || !is_regular(from))
		return 0;
	if (asprintf(label, "%c/%s", letter, from->path) < 0) {
		*label = NULL;
		return report_error("out of memory");
	}
	side->name = *label;
	side->mode = strcmp(from->mode, ".") == 0 ? NULL : from->mode;
	if (model_view_open_file(ws, from->file, *label, &side->view) != 0)
		side->view = NULL; /* was reported; the text says that there is nothing to see */
	return 0;
}

static int show(const struct workspace *ws, char **argv, int argc)
{
	const struct driver_side sides[2] = {{argv[0], argv[1], argv[3]},
					     {argc > 7 ? argv[7] : argv[0], argv[4], argv[6]}};
	struct diff_file file = {.note = argc > 8 ? argv[8] : NULL};
	char *labels[2] = {NULL, NULL};
	int rc = 0;

	for (int i = 0; i < 2 && rc == 0; i++)
		rc = open_side(ws, &sides[i], "ab"[i], &labels[i], &file.sides[i]);
	if (rc == 0)
		diff_text(&file, true, stdout);
	for (int i = 0; i < 2; i++) {
		model_view_free(file.sides[i].view);
		free(labels[i]);
	}
	return rc;
}

int verb_diff_driver(const struct command *self, int argc, char **argv)
{
	struct workspace ws;
	int rc = 0;

	if (options_answer_alone(self, argc, argv))
		return EXIT_DONE;
	argc--;
	argv++;
	if (argc != 1 && argc != 7 && argc != 9)
		return command_usage(self, 0);
	if (workspace_open_if_any(&ws) != 0)
		return EXIT_FATAL;
	if (argc == 1)
		diff_text(&(struct diff_file){.sides = {{.name = NULL}, {.name = argv[0]}},
					      .unmerged = true},
			  true, stdout);
	else
		rc = show(&ws, argv, argc);
	workspace_close(&ws);
	return rc == 0 ? EXIT_DONE : EXIT_FATAL;
}
