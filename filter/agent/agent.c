/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A session:
 *
 *   START --init--> READY --upload, download--> READY --terminate, end of input--> done
 *      \--init--> REFUSED: what init was answered with is the answer to all that follows
 *
 * Only without a store is init refused. One that cannot be used (there are no credentials) is told
 * of by each object, with its key. A store is asked for its description before the first object. If
 * that fails, all objects fail for the same reason, at once: a host that does not answer is not
 * tried for each of them.
 */
#include "filter/agent/agent.h"

#include <stdlib.h>
#include <string.h>

#include "filter/agent/download.h"
#include "filter/agent/hub.h"
#include "filter/agent/incoming.h"
#include "filter/agent/protocol.h"
#include "filter/agent/transfer_log.h"
#include "filter/agent/upload.h"
#include "filter/cli/report.h"

struct session {
	FILE *out;
	bool multipart;
	bool has_begun; /* init came */
	bool has_settings;
	bool has_location;
	bool was_checked; /* the store was asked for its description */
	struct workspace ws;
	struct store_settings settings;
	struct location location;
	struct meter meter;
	struct transfer transfer;
	struct hub hub;      /* multipart: instead of a store */
	struct landed given; /* the file that git-lfs was told of last; it moves that away */
	struct fault fault;  /* of the whole session, if it has a kind */
};

/* ---- beginning and end ---------------------------------------------------------------------- */

/* Finds the store that this session is about. */
static int open_store(struct session *s, const struct agent_event *event)
{
	const char *base = repository_work_tree(s->ws.repository);
	char *url = store_url(s->ws.repository, event->remote, event->is_upload);
	int result;

	if (!url)
		return fault_set(&s->fault, FAULT_NO_STORE,
				 "`git brevis store init URL` sets one up",
				 "no URL of Git LFS for the remote '%s' begins with " LOCATION_MARK,
				 event->remote ? event->remote : "");
	if (!base)
		base = repository_git_dir(s->ws.repository);
	result = location_parse(url, base, &s->location, &s->fault);
	free(url);
	if (result != 0)
		return -1;
	s->has_location = true;
	return store_open(&s->location, &s->settings, &s->transfer.store, &s->fault);
}

static int begin(struct session *s, const struct agent_event *event)
{
	s->has_begun = true;
	if (workspace_open(&s->ws) != 0)
		return fault_set(&s->fault, FAULT_LOCAL, "run git in a repository",
				 "git-brevis cannot open the repository");
	if (store_settings_read(s->ws.repository, &s->settings, &s->fault) != 0)
		return -1;
	s->has_settings = true;
	s->transfer.ws = &s->ws;
	s->transfer.meter = &s->meter;
	s->transfer.compress =
		repository_config_bool(s->ws.repository, "brevis.store.compress", true);
	if (!event->is_upload)
		incoming_sweep(repository_lfs_dir(s->ws.repository));
	if (s->multipart)
		return hub_open(&s->hub, &s->settings, repository_lfs_dir(s->ws.repository),
				&s->meter, &s->fault);
	return open_store(s, event);
}

static int answer_init(struct session *s, const struct agent_event *event)
{
	/* With a store's name, each object can tell more. */
	if (begin(s, event) == 0 || s->has_location)
		return agent_answer_init(s->out, NULL);
	if (s->ws.repository)
		transfer_log_add(repository_lfs_dir(s->ws.repository), "init",
				 event->remote ? event->remote : "no remote", &s->fault);
	return agent_answer_init(s->out, &s->fault);
}

static void end(struct session *s)
{
	hub_close(&s->hub);
	store_close(s->transfer.store);
	if (s->has_location)
		location_release(&s->location);
	if (s->has_settings)
		store_settings_release(&s->settings);
	workspace_close(&s->ws);
}

/* ---- an object ------------------------------------------------------------------------------ */

static const char *event_name(const struct agent_event *event)
{
	return event->kind == AGENT_UPLOAD ? "upload" : "download";
}

/* Tells git-lfs, and the log, that an object failed. */
static int answer_fault(struct session *s, const struct agent_event *event,
			const struct fault *fault)
{
	const char *oid = event->pointer.oid;
	const char *store = s->has_location ? s->location.text : NULL;
	char *where = NULL;
	int result;

	if (!s->multipart && asprintf(&where, "%s%s%.2s/%.2s/%s", store ? store : "",
				      store ? ": objects/" : "objects/", oid, oid + 2, oid) < 0)
		where = NULL;
	if (s->ws.repository)
		transfer_log_add(repository_lfs_dir(s->ws.repository), event_name(event),
				 where ? where : oid, fault);
	result = agent_answer_error(s->out, oid, where ? where : oid, fault);
	free(where);
	return result;
}

/* Asks, once, whether the store is one. */
static int check_store(struct session *s)
{
	if (!s->fault.kind && !s->was_checked && store_check(s->transfer.store, &s->fault) != 0)
		report_trace("store %s: %s", store_name(s->transfer.store), s->fault.cause);
	s->was_checked = true;
	return s->fault.kind ? -1 : 0;
}

static int transfer_object(struct session *s, const struct agent_event *event,
			   struct landed *landed, struct fault *fault)
{
	if (s->multipart && !s->fault.kind)
		return hub_transfer(&s->hub, event, landed, fault);
	if (check_store(s) != 0) {
		*fault = s->fault;
		return -1;
	}
	if (event->kind == AGENT_UPLOAD)
		return upload_object(&s->transfer, &event->pointer, event->path, fault);
	return download_object(&s->transfer, &event->pointer, landed, fault);
}

static int serve(struct session *s, const struct agent_event *event)
{
	struct fault fault = {.kind = FAULT_NONE};
	int result;

	meter_begin(&s->meter, s->out, &event->pointer);
	if (transfer_object(s, event, &s->given, &fault) != 0) {
		result = answer_fault(s, event, &fault);
	} else {
		meter_finish(&s->meter);
		result = agent_answer_complete(s->out, event->pointer.oid, s->given.path);
	}
	return result;
}

/* ---- the session ---------------------------------------------------------------------------- */

/* Serves an event. Returns 1 to go on, 0 at the end, -1 after reporting a failure. */
static int handle(struct session *s, const struct agent_event *event)
{
	int result;

	switch (event->kind) {
	case AGENT_INIT:
		if (s->has_begun)
			return report_error("git-lfs began a second session with this agent");
		result = answer_init(s, event);
		break;
	case AGENT_UPLOAD:
	case AGENT_DOWNLOAD:
		if (!s->has_begun)
			return report_error("git-lfs named an object before it began a session");
		result = serve(s, event);
		break;
	case AGENT_DAMAGED:
		return report_error("cannot use what git-lfs says: %s", event->cause);
	default:
		return 0;
	}
	if (result != 0)
		return report_error("git-lfs takes no answers any more");
	return 1;
}

int agent_run(FILE *in, FILE *out, bool multipart)
{
	struct session session = {.out = out, .multipart = multipart};
	struct agent_event event;
	int result;

	do {
		agent_event_read(in, &event);
		/* With what it says next git-lfs has taken the file; if it says nothing any more,
		 * it may have ended before. */
		if (event.kind != AGENT_END)
			landed_release(&session.given);
		result = handle(&session, &event);
		agent_event_release(&event);
	} while (result > 0);
	landed_drop(&session.given);
	end(&session);
	return result;
}
