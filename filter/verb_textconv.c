/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <stdio.h>

#include "filter/git/caller.h"
#include "filter/model/model_text.h"
#include "filter/cli/options.h"

/* All that there is to say without the object, and what whoever looks for pointers must see:
 * `git lfs prune` deletes the objects whose pointers it does not find among what was not pushed. */
static void print_pointer(const struct model_view *view)
{
	char text[POINTER_TEXT_SIZE];

	pointer_format(model_view_pointer(view), text);
	fputs(text, stdout);
}

int verb_textconv(const struct command *self, int argc, char **argv)
{
	struct model_view *view;
	struct workspace ws;
	int rc;

	if (options_answer_alone(self, argc, argv))
		return EXIT_DONE;
	if (argc != 2)
		return command_usage(self, 0);
	if (workspace_open_if_any(&ws) != 0)
		return EXIT_FATAL;
	rc = model_view_open_file(&ws, argv[1], NULL, &view);
	if (rc == 0) {
		bool is_text = !model_view_is_here(view) ||
			       (model_view_pointer(view) && caller_seeks_pointers());

		if (is_text)
			print_pointer(view);
		else
			rc = model_text_print(view);
		model_view_free(view);
	}
	workspace_close(&ws);
	return rc == 0 ? EXIT_DONE : EXIT_FATAL;
}
