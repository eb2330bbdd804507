/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "filter/git/caller.h"
#include "filter/objects/conflict_text.h"
#include "filter/convert/convert.h"
#include "filter/git/hooks_setup.h"
#include "filter/objects/lfs.h"
#include "filter/model/model_text.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/convert/session.h"
#include "filter/convert/spool.h"

/* A path that git was told to ask for again, once its object has been downloaded. */
struct delayed {
	char *path;
	struct pointer pointer;
	bool named;   /* git was told that it can ask */
	bool tried;   /* its object was asked for */
	bool missing; /* ... and did not come; why was reported */
	TAILQ_ENTRY(delayed) link;
};

TAILQ_HEAD(delayed_list, delayed);

struct process_filter {
	struct workspace ws;
	struct delayed_list delayed; /* in the order of git's requests */
	void *by_path;               /* the same, a tree of tsearch() */
	size_t waiting;              /* how many of them were not tried yet */
	bool skip;                   /* pointers stay pointers */
	bool blames;                 /* what is cleaned may be the text of our textconv */
	bool local;                  /* those whose object is not here do */
};

/* ---- what neither conversion touches -------------------------------------------------------- */

/* Takes in the content of a request. Returns 0, or -1 after reporting. */
static int take_in(const char *path, struct spool *spool, struct session *session)
{
	const void *data;
	size_t len;
	int more = 0;

	if (!spool)
		return report_error("%s: out of memory", path);
	while ((more = session_read(session, &data, &len)) > 0) {
		if (spool_write(spool, data, len) != 0)
			return report_error("%s: %s", path, spool_failure(spool));
	}
	return more; /* the session reports if it broke */
}

/* Passes on what stays as it is. It can be of any size. */
static enum session_result pass(const char *path, const struct spool *spool,
				struct session *session)
{
	if (spool_copy(spool, session_write, session) == 0)
		return SESSION_DONE;
	report_error("%s: cannot pass on its content", path);
	return SESSION_FAILED;
}

static enum session_result leave_alone(struct process_filter *filter, const char *path,
				       struct session *session)
{
	struct spool *spool = spool_new(filter->ws.store);
	enum session_result result = SESSION_FAILED;

	report_trace("%s: left alone", path);
	if (take_in(path, spool, session) == 0)
		result = pass(path, spool, session);
	spool_free(spool);
	return result;
}

static bool is_text(const struct spool *spool)
{
	struct brevis_source source = spool_source(spool);
	uint8_t head[64];
	size_t len = source.size < sizeof(head) ? (size_t)source.size : sizeof(head);

	return source.read_at(source.ctx, head, len, 0) == 0 && model_text_is(head, len);
}

/* git blame cleans the work file, or what its textconv has made of it: that is what it wants. */
static enum session_result clean_text(struct process_filter *filter, const char *path,
				      struct session *session)
{
	struct spool *spool = spool_new(filter->ws.store);
	struct cleaning *cleaning = NULL;
	enum session_result result = SESSION_FAILED;
	const void *data;
	size_t len;

	if (take_in(path, spool, session) != 0)
		goto out;
	if (is_text(spool)) {
		result = pass(path, spool, session);
		goto out;
	}
	cleaning = cleaning_begin(&filter->ws, path);
	if (cleaning && spool_copy(spool, cleaning_write, cleaning) == 0 &&
	    cleaning_finish(cleaning, &data, &len) == 0 && session_write(session, data, len) == 0)
		result = SESSION_DONE;
out:
	cleaning_free(cleaning);
	spool_free(spool);
	return result;
}

/* ---- clean ---------------------------------------------------------------------------------- */

static enum session_result clean(void *ctx, const struct session_request *request,
				 struct session *session)
{
	struct process_filter *filter = ctx;
	enum session_result result = SESSION_FAILED;
	struct cleaning *cleaning;
	const void *data;
	size_t len;
	int more = 0;

	if (path_is_left_alone(request->path))
		return leave_alone(filter, request->path, session);
	if (filter->blames)
		return clean_text(filter, request->path, session);
	cleaning = cleaning_begin(&filter->ws, request->path);
	/* A failure leaves the rest of the content to the session, which drops it. */
	while (cleaning && (more = session_read(session, &data, &len)) > 0) {
		if (cleaning_write(cleaning, data, len) != 0)
			goto out;
	}
	if (!cleaning || more < 0 || cleaning_finish(cleaning, &data, &len) != 0)
		goto out;
	if (session_write(session, data, len) == 0)
		result = SESSION_DONE;
out:
	cleaning_free(cleaning);
	return result;
}

/* ---- smudge --------------------------------------------------------------------------------- */

static int compare_paths(const void *a, const void *b)
{
	const struct delayed *x = a;
	const struct delayed *y = b;

	return strcmp(x->path, y->path);
}

static struct delayed *find_delayed(struct process_filter *filter, const char *path)
{
	struct delayed key = {.path = (char *)(uintptr_t)path};
	struct delayed **found = tfind(&key, &filter->by_path, compare_paths);

	return found ? *found : NULL;
}

static void forget_delayed(struct process_filter *filter, struct delayed *one)
{
	if (!one->tried)
		filter->waiting--;
	tdelete(one, &filter->by_path, compare_paths);
	TAILQ_REMOVE(&filter->delayed, one, link);
	free(one->path);
	free(one);
}

static enum session_result delay(struct process_filter *filter, const char *path,
				 const struct pointer *pointer)
{
	struct delayed *one = find_delayed(filter, path);

	/* Of a path that comes twice the last blob counts. */
	if (one)
		forget_delayed(filter, one);
	one = calloc(1, sizeof(*one));
	if (one)
		one->path = strdup(path);
	if (!one || !one->path || !tsearch(one, &filter->by_path, compare_paths)) {
		if (one)
			free(one->path);
		free(one);
		report_error("%s: out of memory", path);
		return SESSION_FAILED;
	}
	one->pointer = *pointer;
	TAILQ_INSERT_TAIL(&filter->delayed, one, link);
	filter->waiting++;
	return SESSION_DELAYED;
}

static enum session_result restore(struct process_filter *filter, const char *path,
				   const struct pointer *pointer, struct session *session)
{
	enum smudge_result result =
		smudge_pointer(&filter->ws, path, pointer, session_write, session);

	if (result == SMUDGE_MISSING)
		report_error(
			"%s: its object %s vanished while it was read; `git brevis pull` brings it "
			"back",
			path, pointer->oid);
	return result == SMUDGE_DONE ? SESSION_DONE : SESSION_FAILED;
}

static enum session_result smudge_or_fetch(struct process_filter *filter,
					   const struct session_request *request,
					   const struct pointer *pointer, const struct spool *spool,
					   struct session *session)
{
	struct lfs_want want = {request->path, *pointer};
	enum smudge_result result =
		smudge_pointer(&filter->ws, request->path, pointer, session_write, session);

	if (result != SMUDGE_MISSING)
		return result == SMUDGE_DONE ? SESSION_DONE : SESSION_FAILED;
	if (filter->local)
		return pass(request->path, spool, session);
	if (request->can_delay)
		return delay(filter, request->path, pointer);
	if (lfs_download(&filter->ws, &want, 1) != 0)
		return SESSION_FAILED;
	return restore(filter, request->path, pointer, session);
}

static enum session_result convert_blob(struct process_filter *filter,
					const struct session_request *request,
					const struct spool *spool, struct session *session)
{
	struct brevis_source source = spool_source(spool);
	char text[POINTER_SIZE_LIMIT];
	struct pointer pointer;
	size_t len = source.size < sizeof(text) ? (size_t)source.size : 0;

	if (!len || source.read_at(source.ctx, text, len, 0) != 0)
		len = 0;
	if (!pointer_parse(text, len, &pointer)) {
		conflict_text_warn(request->path, text, len);
		report_trace("smudge %s: raw", request->path);
		return pass(request->path, spool, session);
	}
	if (filter->skip) {
		report_trace("smudge %s: pointer", request->path);
		return pass(request->path, spool, session);
	}
	return smudge_or_fetch(filter, request, &pointer, spool, session);
}

/* Serves a path that was delayed, and forgets it: the same path can come again as another blob. */
static enum session_result serve_delayed(struct process_filter *filter, struct delayed *delayed,
					 struct session *session)
{
	enum session_result result = SESSION_FAILED;

	if (!delayed->missing)
		result = restore(filter, delayed->path, &delayed->pointer, session);
	forget_delayed(filter, delayed);
	return result;
}

static enum session_result smudge_request(void *ctx, const struct session_request *request,
					  struct session *session)
{
	struct process_filter *filter = ctx;
	enum session_result result = SESSION_FAILED;
	struct delayed *delayed;
	struct spool *spool;

	if (path_is_left_alone(request->path))
		return leave_alone(filter, request->path, session);
	spool = spool_new(filter->ws.store);
	if (take_in(request->path, spool, session) != 0)
		goto out;
	delayed = find_delayed(filter, request->path);
	if (delayed && delayed->named && spool_size(spool) == 0)
		result = serve_delayed(filter, delayed, session);
	else
		result = convert_blob(filter, request, spool, session);
out:
	spool_free(spool);
	return result;
}

/* ---- delayed paths -------------------------------------------------------------------------- */

/* Downloads what all paths that were not tried yet are waiting for, in one go. */
static void fetch_delayed(struct process_filter *filter)
{
	struct lfs_want *want = calloc(filter->waiting, sizeof(*want));
	struct delayed *one;
	size_t count = 0;

	TAILQ_FOREACH(one, &filter->delayed, link)
	{
		if (want && !one->tried)
			want[count++] = (struct lfs_want){one->path, one->pointer};
	}
	if (want)
		lfs_download(&filter->ws, want, count);
	else
		report_error("cannot download objects: out of memory");
	free(want);
	TAILQ_FOREACH(one, &filter->delayed, link)
	{
		if (!one->tried)
			one->missing = !object_store_has(filter->ws.store, &one->pointer);
		one->tried = true;
	}
	filter->waiting = 0;
}

/* Names the paths that are ready, or those whose object did not come. Returns how many. */
static size_t name_paths(struct process_filter *filter, struct session *session, bool missing)
{
	struct delayed *one;
	size_t count = 0;

	TAILQ_FOREACH(one, &filter->delayed, link)
	{
		if (one->named || one->missing != missing)
			continue;
		one->named = true;
		session_name_path(session, one->path);
		count++;
	}
	return count;
}

/* The first call after paths were delayed downloads what they all wait for, and names those whose
 * objects are here. What did not come is named by a call of its own: git asks for the paths one by
 * one and ends at the first that fails, so all others have to be written by then. A call that names
 * none tells git that it has everything. */
static void list_available(void *ctx, struct session *session)
{
	struct process_filter *filter = ctx;

	if (filter->waiting)
		fetch_delayed(filter);
	if (name_paths(filter, session, false) == 0)
		name_paths(filter, session, true);
}

int verb_filter_process(const struct command *self, int argc, char **argv)
{
	static const struct option_spec none[] = {{0}};
	struct process_filter filter = {.by_path = NULL};
	const struct session_actions actions = {&filter, clean, smudge_request, list_available};
	enum caller caller = caller_look();
	int result;
	int code;

	argc = options_parse(self, argc, argv, none, &code);
	if (argc < 0)
		return code;
	if (argc > 0)
		return command_usage(self, 0);
	if (isatty(STDIN_FILENO)) {
		report_error("filter-process speaks git's filter protocol and is started by git; "
			     "see `git brevis help` for what to run by hand");
		return EXIT_USAGE;
	}
	if (workspace_open(&filter.ws) != 0)
		return EXIT_FATAL;
	TAILQ_INIT(&filter.delayed);
	filter.skip = caller_wants_pointers(caller) || smudge_is_skipped(&filter.ws);
	filter.blames = caller == CALLER_BLAMES;
	filter.local = caller == CALLER_COMPARES;
	if (repository_work_tree(filter.ws.repository))
		hooks_ensure(filter.ws.repository);
	result = session_run(STDIN_FILENO, STDOUT_FILENO, &actions);
	if (filter.ws.stored)
		hooks_warn(filter.ws.repository);
	while (!TAILQ_EMPTY(&filter.delayed))
		forget_delayed(&filter, TAILQ_FIRST(&filter.delayed));
	workspace_close(&filter.ws);
	return result == 0 ? EXIT_DONE : EXIT_FATAL;
}
