/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "filter/work/checkout.h"
#include "filter/cli/command.h"
#include "filter/cli/options.h"
#include "filter/git/push_check.h"
#include "filter/cli/report.h"
#include "filter/stream.h"

/* Reads all of stdin as one string. Returns NULL after reporting. */
static char *read_input(struct buffer *text)
{
	int rc = stream_read(STDIN_FILENO, stream_keep, text);

	buffer_u8(text, 0);
	if (rc == 0 && !buffer_failed(text))
		return (char *)text->data;
	report_error("cannot read what is to be pushed: %s", strerror(rc < 0 ? errno : ENOMEM));
	return NULL;
}

/* pre-push REMOTE URL. A remote without a name is named by its URL. */
static int pre_push(struct workspace *ws, int argc, char **argv)
{
	struct buffer text = BUFFER_INIT;
	char *refs = read_input(&text);
	int missing = refs ? push_check(ws, argc > 0 ? argv[0] : "origin", refs) : -1;
	int code = missing < 0 ? EXIT_FATAL : EXIT_DONE;

	buffer_release(&text);
	if (missing <= 0)
		return code;
	/* Whoever told git-lfs to push what it has need not tell us again. */
	if (repository_config_bool(
		    ws->repository, "brevis.allowIncompletePush",
		    repository_config_bool(ws->repository, "lfs.allowincompletepush", false))) {
		report_warning("pushing in spite of that, as brevis.allowIncompletePush says");
		return code;
	}
	report_error("not pushed: the remote would lack %d good object%s; `git -c "
		     "brevis.allowIncompletePush=true -c lfs.allowincompletepush=true push` pushes "
		     "nevertheless",
		     missing, missing == 1 ? "" : "s");
	return EXIT_FOUND;
}

/* Completes a checkout that left pointers, for those who want that. */
static int complete(struct workspace *ws)
{
	if (!repository_config_bool(ws->repository, "brevis.autocheckout", false))
		return EXIT_DONE;
	/* git has done its work by now: what is left to do is told, and does not make it fail. */
	checkout_files(ws, NULL, 0, CHECKOUT_HOOK);
	return EXIT_DONE;
}

/* post-checkout OLD NEW FLAG: FLAG is 0 when single files were checked out. */
static int post_checkout(struct workspace *ws, int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[2], "0") == 0)
		return EXIT_DONE;
	return complete(ws);
}

static int post_merge(struct workspace *ws, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return complete(ws);
}

int verb_hook(const struct command *self, int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(struct workspace *ws, int argc, char **argv);
	} hooks[] = {{"pre-push", pre_push},
		     {"post-checkout", post_checkout},
		     {"post-merge", post_merge}};
	struct workspace ws;
	int code = EXIT_USAGE;

	if (options_answer_alone(self, argc, argv))
		return EXIT_DONE;
	for (size_t i = 0; argc > 1 && i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		if (strcmp(argv[1], hooks[i].name) != 0)
			continue;
		if (workspace_open(&ws) < 0)
			return hooks[i].run == pre_push ? EXIT_FATAL : EXIT_DONE;
		code = hooks[i].run(&ws, argc - 2, argv + 2);
		workspace_close(&ws);
		return code;
	}
	if (argc > 1)
		report_error("hook: there is no '%s'; it is pre-push, post-checkout or "
			     "post-merge",
			     argv[1]);
	return command_usage(self, 0);
}
