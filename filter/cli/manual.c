/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/manual.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "filter/git/process.h"

/* True if man knows the page; what it says about that is for nobody. */
static bool has_page(const char *page)
{
	const char *const argv[] = {"man", "-w", page, NULL};
	struct process_options options = {.error_fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
	struct process process;
	bool found = false;
	char path[512];

	if (options.error_fd >= 0 && process_start(&process, argv, &options) == 0) {
		/* It would fail if nobody read what it finds. */
		while (read(process.out, path, sizeof(path)) > 0)
			;
		found = process_finish(&process) == 0;
	}
	if (options.error_fd >= 0)
		close(options.error_fd);
	return found;
}

void manual_open(const char *verb)
{
	char page[64];
	const char *const argv[] = {"man", page, NULL};

	if (!isatty(STDOUT_FILENO))
		return;
	snprintf(page, sizeof(page), "git-brevis%s%.*s", verb ? "-" : "",
		 verb ? (int)strcspn(verb, " ") : 0, verb ? verb : "");
	if (has_page(page))
		process_become(argv);
}
