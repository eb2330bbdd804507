/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/push_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "filter/objects/conflict_text.h"
#include "filter/objects/judgement.h"
#include "filter/remote/settings.h"
#include "filter/cli/report.h"
#include "filter/cli/text.h"
#include "filter/string_table.h"

/* Raw files that are named one by one; the others are counted. */
#define RAW_NAMED 10

/* What is larger should not be in git itself: model hubs refuse a push that brings it. */
#define LARGE_BLOB ((uint64_t)10 << 20)

/* What is larger, model hubs want in parts. */
#define LARGE_OBJECT UINT64_C(5000000000)

/* A file whose object is not here. */
struct missing {
	char *path;
	struct pointer pointer;
};

struct check {
	struct workspace *ws;
	const char *remote;
	struct buffer missing;      /* of struct missing */
	struct buffer blobs;        /* of struct remote_blob, one for each */
	struct string_table hashed; /* oids of objects that were looked at */
	int damaged;
	int raw;
	int large; /* objects over LARGE_OBJECT */
};

static bool is_nothing(const char *oid)
{
	return oid[strspn(oid, "0")] == 0;
}

static void warn_of_raw(const struct tracked_file *file)
{
	char *word = shell_word(file->path);
	const char *name = word ? word : "PATH";

	if (file->is_large)
		report_warning("%s: %" PRIu64 " bytes are committed as they are, and many hubs "
			       "refuse files over 10 MiB; before the push, `git brevis track "
			       "--filename %s`, `git add --renormalize -- %s` and `git commit "
			       "--amend` keep them out of the repository",
			       file->path, file->blob_size, name, name);
	else
		report_warning("%s: %" PRIu64 " bytes are committed raw, not compressed; `git add "
			       "--renormalize -- %s` and a new commit (before the push: `git "
			       "commit --amend`) keep them out of the repository",
			       file->path, file->blob_size, name);
	free(word);
}

static void check_raw(struct check *c, const struct tracked_file *file)
{
	if (file->blob_missing || file->blob_size == 0)
		return;
	c->raw++;
	if (c->raw > RAW_NAMED)
		return;
	if (file->has_markers)
		report_warning("%s: what is committed is a pointer with conflict markers, which "
			       "stands for no file; " CONFLICT_TEXT_REMEDY,
			       file->path);
	else
		warn_of_raw(file);
}

static int note_missing(struct check *c, const struct tracked_file *file)
{
	struct missing missing = {.path = strdup(file->path), .pointer = file->pointer};
	struct remote_blob blob = {.found = false};

	memcpy(blob.blob, file->blob, sizeof(blob.blob));
	if (!missing.path)
		return report_error("out of memory");
	buffer_append(&c->blobs, &blob, sizeof(blob));
	buffer_append(&c->missing, &missing, sizeof(missing));
	if (!buffer_failed(&c->missing) && !buffer_failed(&c->blobs))
		return 0;
	free(missing.path);
	return report_error("out of memory");
}

/* Reads an object that will be sent: nobody else looks at it before others get it. */
static int check_object(struct check *c, const struct tracked_file *file)
{
	const struct pointer *pointer = &file->pointer;
	size_t *seen = string_table_at(&c->hashed, pointer->oid, strlen(pointer->oid));
	struct progress progress = {.is_shown = false};
	struct judgement judgement;
	struct object_file object;

	if (!seen)
		return report_error("out of memory");
	if ((*seen)++ || pointer->size == 0)
		return 0;
	if (object_open(&object, c->ws->store, pointer, &judgement) == 0) {
		object_judge_name(&object, pointer, &progress, &judgement);
		object_file_close(&object);
	}
	if (judgement.verdict == VERDICT_DAMAGED)
		judgement.remedy = "`git brevis fsck` moves it away, then `git brevis pull` or "
				   "`touch` and `git add` of the file bring a good one";
	if (judgement.verdict != VERDICT_GOOD) {
		judgement_report(&judgement, c->ws->store, file->path, pointer);
		c->damaged++;
	}
	return 0;
}

static int check_blob(void *ctx, const struct tracked_file *file)
{
	struct check *c = ctx;

	if (!file->is_pointer) {
		check_raw(c, file);
		return 0;
	}
	if (file->pointer.size > LARGE_OBJECT)
		c->large++;
	if (object_store_has(c->ws->store, &file->pointer))
		return check_object(c, file);
	return note_missing(c, file);
}

/* Reports what is missed. What some remote was sent once, or gave us, is left to git-lfs, which
 * asks the remote: a commit may go back to an earlier revision, a history may be pushed to a second
 * remote by who has only its latest objects. Returns how many files are left, or -1. */
static int report_missing(struct check *c)
{
	const struct missing *missing = (const struct missing *)(void *)c->missing.data;
	struct remote_blob *blobs = (struct remote_blob *)(void *)c->blobs.data;
	size_t count = c->missing.size / sizeof(*missing);
	int left = 0;

	if (count && repository_find_on_remotes(c->ws->repository, blobs, count) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (blobs[i].found)
			continue;
		left++;
		report_error(
			"%s: its object %.12s is not here, so '%s' would not get it; bring it "
			"with `git brevis pull` or `git lfs fetch --all`, or add the file anew",
			missing[i].path, missing[i].pointer.oid, c->remote);
	}
	return left;
}

static void release(struct check *c)
{
	struct missing *missing = (struct missing *)(void *)c->missing.data;

	for (size_t i = 0; i < c->missing.size / sizeof(*missing); i++)
		free(missing[i].path);
	string_table_clear(&c->hashed);
	buffer_release(&c->missing);
	buffer_release(&c->blobs);
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
		/* The old revision need not be here. */
		const char *with_old[] = {
			"--ignore-missing", local, not_old, "--not", remotes, NULL};
		const char *without[] = {local, "--not", remotes, NULL};

		rc = repository_each_new_or_large_blob(c->ws->repository, local,
						       is_nothing(old) ? without : with_old,
						       LARGE_BLOB, check_blob, c);
	} else {
		report_error("out of memory");
	}
	free(not_old);
	free(remotes);
	return rc;
}

/* Whether objects may travel to a hub by an agent that is not there. */
static bool lacks_agent(const struct check *c)
{
	char *agent = repository_config(c->ws->repository, "lfs.customtransfer.multipart.path");
	char *store = store_url(c->ws->repository, c->remote, true);
	char *key = NULL;
	char *url = NULL;
	const char *place;
	bool is_far;

	if (asprintf(&key, "remote.%s.url", c->remote) < 0)
		key = NULL;
	if (key)
		url = repository_config(c->ws->repository, key);
	place = url ? url : c->remote;
	is_far = strchr(place, ':') && strncmp(place, "file:", 5) != 0;
	is_far = is_far && !agent && !store;
	free(url);
	free(key);
	free(store);
	free(agent);
	return is_far;
}

int push_check(struct workspace *ws, const char *remote, char *text)
{
	struct check c = {.ws = ws, .remote = remote};
	char *rest;
	int left = 0;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *words;
		const char *local_ref = strtok_r(line, " ", &words);
		const char *local = strtok_r(NULL, " ", &words);
		const char *remote_ref = strtok_r(NULL, " ", &words);
		const char *old = strtok_r(NULL, " ", &words);

		if (!local_ref || !local || !remote_ref || !old)
			continue;
		left = check_ref(&c, local, old);
		if (left < 0)
			break;
	}
	if (left == 0)
		left = report_missing(&c);
	if (left >= 0)
		left += c.damaged;
	if (c.raw > RAW_NAMED)
		report_warning(
			"%d more files are committed raw; `git brevis fsck --pointers` lists them",
			c.raw - RAW_NAMED);
	if (c.large && lacks_agent(&c))
		report_note("%d object%s over 5 GB: hubs that want %s in parts need `git brevis "
			    "install --multipart` first",
			    c.large, c.large == 1 ? "" : "s", c.large == 1 ? "it" : "them");
	release(&c);
	return left;
}
