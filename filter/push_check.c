/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/push_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/report.h"

/* Raw files that are named one by one; the others are counted. */
#define RAW_NAMED 10

struct check {
	struct workspace *ws;
	const char *remote;
	int missing;
	int raw;
};

static bool is_nothing(const char *oid)
{
	return oid[strspn(oid, "0")] == 0;
}

static void check_raw(struct check *c, const struct tracked_file *file)
{
	if (file->blob_missing || file->blob_size == 0)
		return;
	c->raw++;
	if (c->raw <= RAW_NAMED)
		report_warning("%s: %" PRIu64 " bytes are committed raw, not compressed; `git add "
			       "--renormalize -- '%s'` and a new commit (before the push: `git "
			       "commit --amend`) keep them out of the repository",
			       file->path, file->blob_size, file->path);
}

static int check_blob(void *ctx, const struct tracked_file *file)
{
	struct check *c = ctx;

	if (!file->is_pointer) {
		check_raw(c, file);
		return 0;
	}
	if (file->pointer.size == 0 || object_store_has(c->ws->store, &file->pointer))
		return 0;
	/* A commit that goes back to an earlier revision needs no object that was pushed with it.
	 */
	if (repository_remote_has_blob(c->ws->repository, c->remote, file->blob))
		return 0;
	c->missing++;
	report_error("%s: its object %.12s is not here, so '%s' would not get it; bring it with "
		     "`git brevis pull` or `git lfs fetch --all`, or add the file anew",
		     file->path, file->pointer.oid, c->remote);
	return 0;
}

/* Checks what one ref brings. */
static int check_ref(struct check *c, const char *local, const char *old)
{
	char *not_old = NULL;
	char *remotes = NULL;
	int rc = -1;

	/* A ref that is deleted brings nothing. */
	if (is_nothing(local))
		return 0;
	if (asprintf(&not_old, "^%s", is_nothing(old) ? local : old) < 0)
		not_old = NULL;
	if (asprintf(&remotes, "--remotes=%s", c->remote) < 0)
		remotes = NULL;
	if (not_old && remotes) {
		const char *with_old[] = {local, not_old, "--not", remotes, NULL};
		const char *without[] = {local, "--not", remotes, NULL};

		rc = repository_each_new_blob(c->ws->repository, local,
					      is_nothing(old) ? without : with_old, check_blob, c);
	} else {
		report_error("out of memory");
	}
	free(not_old);
	free(remotes);
	return rc;
}

int push_check(struct workspace *ws, const char *remote, char *text)
{
	struct check c = {.ws = ws, .remote = remote};
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *words;
		const char *local_ref = strtok_r(line, " ", &words);
		const char *local = strtok_r(NULL, " ", &words);
		const char *remote_ref = strtok_r(NULL, " ", &words);
		const char *old = strtok_r(NULL, " ", &words);

		if (!local_ref || !local || !remote_ref || !old)
			continue;
		if (check_ref(&c, local, old) < 0)
			return -1;
	}
	if (c.raw > RAW_NAMED)
		report_warning("%d more files are committed raw", c.raw - RAW_NAMED);
	return c.missing;
}
