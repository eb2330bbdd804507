/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/work/checkout.h"
#include "filter/cli/command.h"
#include "filter/git/hooks_setup.h"
#include "filter/cli/options.h"
#include "filter/cli/progress.h"

int verb_checkout(const struct command *self, int argc, char **argv)
{
	struct progress_choice progress = {.on = false};
	const struct option_spec table[] = {PROGRESS_OPTIONS(progress), {0}};
	struct workspace ws;
	int code;
	int count = options_parse(self, argc, argv, table, &code);

	if (count < 0)
		return code;
	progress_choose(&progress);
	if (workspace_open(&ws) < 0)
		return EXIT_FATAL;
	code = checkout_files(&ws, (const char *const *)argv, (size_t)count, CHECKOUT_LOCAL);
	hooks_ensure(ws.repository);
	hooks_warn(ws.repository);
	workspace_close(&ws);
	return code;
}
