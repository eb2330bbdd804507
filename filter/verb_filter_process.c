/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/convert.h"
#include "filter/hooks_setup.h"
#include "filter/lfs.h"
#include "filter/options.h"
#include "filter/report.h"
#include "filter/session.h"
#include "filter/spool.h"

/* A path that git was told to ask for again, once its object has been downloaded. */
struct delayed {
	char *path;
	struct pointer pointer;
	bool named;   /* git was told that it can ask */
	bool missing; /* its object did not come; why was reported */
	struct delayed *next;
};

struct process_filter {
	struct workspace ws;
	struct delayed *delayed;
	size_t delayed_count;
	bool skip; /* pointers stay pointers */
};

/* ---- clean ---------------------------------------------------------------------------------- */

static enum session_result clean(void *ctx, const struct session_request *request,
				 struct session *session)
{
	struct process_filter *filter = ctx;
	struct cleaning *cleaning = cleaning_begin(&filter->ws, request->path);
	enum session_result result = SESSION_FAILED;
	const void *data;
	size_t len;
	int more = 0;

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

static struct delayed *find_delayed(const struct process_filter *filter, const char *path)
{
	struct delayed *one;

	for (one = filter->delayed; one; one = one->next) {
		if (strcmp(one->path, path) == 0)
			return one;
	}
	return NULL;
}

static enum session_result delay(struct process_filter *filter, const char *path,
				 const struct pointer *pointer)
{
	struct delayed *one = calloc(1, sizeof(*one));
	struct delayed **end = &filter->delayed;

	if (one)
		one->path = strdup(path);
	if (!one || !one->path) {
		free(one);
		report_error("%s: out of memory", path);
		return SESSION_FAILED;
	}
	one->pointer = *pointer;
	while (*end)
		end = &(*end)->next;
	*end = one;
	filter->delayed_count++;
	return SESSION_DELAYED;
}

static enum session_result restore(struct process_filter *filter, const char *path,
				   const struct pointer *pointer, struct session *session)
{
	enum smudge_result result =
		smudge_pointer(&filter->ws, path, pointer, session_write, session);

	if (result == SMUDGE_MISSING)
		report_error("%s: its object %s vanished while it was read", path, pointer->oid);
	return result == SMUDGE_DONE ? SESSION_DONE : SESSION_FAILED;
}

static enum session_result smudge_or_fetch(struct process_filter *filter,
					   const struct session_request *request,
					   const struct pointer *pointer, struct session *session)
{
	struct lfs_want want = {request->path, *pointer};
	enum smudge_result result =
		smudge_pointer(&filter->ws, request->path, pointer, session_write, session);

	if (result != SMUDGE_MISSING)
		return result == SMUDGE_DONE ? SESSION_DONE : SESSION_FAILED;
	if (request->can_delay)
		return delay(filter, request->path, pointer);
	if (lfs_download(&filter->ws, &want, 1) != 0)
		return SESSION_FAILED;
	return restore(filter, request->path, pointer, session);
}

/* Passes on a blob that is no pointer, or that stays one. It can be of any size. */
static enum session_result pass(const char *path, const struct spool *spool,
				struct session *session)
{
	if (spool_copy(spool, session_write, session) == 0)
		return SESSION_DONE;
	report_error("%s: cannot pass on its content", path);
	return SESSION_FAILED;
}

static enum session_result convert_blob(struct process_filter *filter,
					const struct session_request *request,
					const struct spool *spool, struct session *session)
{
	struct brevis_source source = spool_source(spool);
	char text[POINTER_SIZE_LIMIT];
	struct pointer pointer;

	if (source.size >= sizeof(text) ||
	    source.read_at(source.ctx, text, (size_t)source.size, 0) != 0 ||
	    !pointer_parse(text, (size_t)source.size, &pointer)) {
		report_trace("smudge %s: raw", request->path);
		return pass(request->path, spool, session);
	}
	if (filter->skip) {
		report_trace("smudge %s: pointer", request->path);
		return pass(request->path, spool, session);
	}
	return smudge_or_fetch(filter, request, &pointer, session);
}

/* Serves a path that was delayed, and forgets it: the same path can come again as another blob. */
static enum session_result serve_delayed(struct process_filter *filter, struct delayed *delayed,
					 struct session *session)
{
	enum session_result result = SESSION_FAILED;
	struct delayed **link = &filter->delayed;

	if (!delayed->missing)
		result = restore(filter, delayed->path, &delayed->pointer, session);
	while (*link != delayed)
		link = &(*link)->next;
	*link = delayed->next;
	filter->delayed_count--;
	free(delayed->path);
	free(delayed);
	return result;
}

static enum session_result smudge_request(void *ctx, const struct session_request *request,
					  struct session *session)
{
	struct process_filter *filter = ctx;
	struct delayed *delayed = find_delayed(filter, request->path);
	struct spool *spool = spool_new();
	enum session_result result = SESSION_FAILED;
	const void *data;
	size_t len;
	int more = 0;

	while (spool && (more = session_read(session, &data, &len)) > 0) {
		if (spool_write(spool, data, len) != 0)
			break;
	}
	if (!spool || (more > 0 && spool_failure(spool)))
		report_error("%s: %s", request->path,
			     spool ? spool_failure(spool) : "out of memory");
	else if (more < 0)
		result = SESSION_FAILED;
	else if (delayed && delayed->named && spool_size(spool) == 0)
		result = serve_delayed(filter, delayed, session);
	else
		result = convert_blob(filter, request, spool, session);
	spool_free(spool);
	return result;
}

/* ---- delayed paths -------------------------------------------------------------------------- */

/* Downloads what all paths that were not named yet are waiting for, in one go. */
static void fetch_delayed(struct process_filter *filter)
{
	struct lfs_want *want = calloc(filter->delayed_count, sizeof(*want));
	struct delayed *one;
	size_t count = 0;

	for (one = filter->delayed; want && one; one = one->next) {
		if (!one->named)
			want[count++] = (struct lfs_want){one->path, one->pointer};
	}
	if (want)
		lfs_download(&filter->ws, want, count);
	else
		report_error("cannot download objects: out of memory");
	for (one = filter->delayed; one; one = one->next) {
		if (!one->named)
			one->missing = !object_store_has(filter->ws.store, &one->pointer);
	}
	free(want);
}

/* The first call after paths were delayed downloads and names them all; the next names none, by
 * which git knows that it has everything. */
static void list_available(void *ctx, struct session *session)
{
	struct process_filter *filter = ctx;
	struct delayed *one;
	bool waiting = false;

	for (one = filter->delayed; one; one = one->next)
		waiting = waiting || !one->named;
	if (waiting)
		fetch_delayed(filter);
	for (one = filter->delayed; one; one = one->next) {
		if (one->named)
			continue;
		session_name_path(session, one->path);
		one->named = true;
	}
}

static void forget_delayed(struct process_filter *filter)
{
	while (filter->delayed) {
		struct delayed *one = filter->delayed;

		filter->delayed = one->next;
		free(one->path);
		free(one);
	}
}

int verb_filter_process(const struct command *self, int argc, char **argv)
{
	static const struct option_spec none[] = {{0}};
	struct process_filter filter = {.delayed = NULL};
	const struct session_actions actions = {&filter, clean, smudge_request, list_available};
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
	filter.skip = smudge_is_skipped(&filter.ws);
	if (repository_work_tree(filter.ws.repository))
		hooks_ensure(filter.ws.repository);
	result = session_run(STDIN_FILENO, STDOUT_FILENO, &actions);
	if (filter.ws.stored)
		hooks_warn(filter.ws.repository);
	forget_delayed(&filter);
	workspace_close(&filter.ws);
	return result == 0 ? EXIT_DONE : EXIT_FATAL;
}
