/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "filter/git/attributes_file.h"
#include "filter/cli/command.h"
#include "filter/git/guard.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/cli/text.h"

static int untrack_one(const struct repository *repository, struct attributes_file *file,
		       const char *prefix, const char *pattern, bool *any)
{
	enum attributes_change change = attributes_file_untrack(file, pattern);
	bool guard_changed = false;

	if (change == ATTRIBUTES_FAILED)
		return -1;
	if (change == ATTRIBUTES_SAME) {
		/* What lfs.fetchexclude says of it is then somebody's own. */
		report_warning("'%s' is not tracked in this directory's .gitattributes; `git "
			       "brevis track` lists what is, and where",
			       pattern);
		return 0;
	}
	if (attributes_file_save(file) < 0 ||
	    guard_set(repository, prefix, pattern, false, &guard_changed) < 0)
		return -1;
	printf("No longer tracking '");
	print_path(stdout, pattern);
	printf("'\n");
	*any = true;
	return 0;
}

int verb_untrack(const struct command *self, int argc, char **argv)
{
	bool literal = false;
	const struct option_spec table[] = {{.name = "filename",
					     .flag = &literal,
					     .help = "take * ? [ ] as parts of a file's name"},
					    {0}};
	struct repository *repository = NULL;
	struct attributes_file *file = NULL;
	char *prefix = NULL;
	bool any = false;
	int code;
	int count = options_parse(self, argc, argv, table, &code);

	if (count < 0)
		return code;
	if (count == 0)
		return command_usage(self, 0);
	for (int i = 0; i < count; i++) {
		if (*argv[i])
			continue;
		report_error("untrack: a pattern is empty; `git brevis track` lists the patterns");
		return EXIT_USAGE;
	}
	code = EXIT_FATAL;
	if (repository_open(&repository) < 0)
		return code;
	prefix = repository_prefix(repository);
	file = prefix ? attributes_file_load(".gitattributes") : NULL;
	if (!file)
		goto out;
	for (int i = 0; i < count; i++) {
		char *pattern = attributes_pattern(argv[i], literal);
		int rc = pattern ? untrack_one(repository, file, prefix, pattern, &any)
				 : report_error("out of memory");

		free(pattern);
		if (rc < 0)
			goto out;
	}
	if (any)
		report_note(
			"files that are committed stay archives until `git add --renormalize .` "
			"stores them raw");
	code = EXIT_DONE;
out:
	attributes_file_free(file);
	free(prefix);
	repository_free(repository);
	return code;
}
