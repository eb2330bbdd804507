/* SPDX-License-Identifier: Apache-2.0 */
/**
 * git-lfs's protocol for custom transfer agents (its docs/custom-transfers.md): JSON objects, one a
 * line, requests on stdin and answers on stdout, strictly one after the other.
 *
 *   init -> {}  (or {"error"}, which ends it all)
 *   upload, download -> progress... complete
 *   terminate
 */
#ifndef FILTER_AGENT_PROTOCOL_H
#define FILTER_AGENT_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "filter/objects/pointer.h"
#include "filter/remote/fault.h"

enum agent_event_kind {
	AGENT_INIT,
	AGENT_UPLOAD,
	AGENT_DOWNLOAD,
	AGENT_TERMINATE,
	AGENT_END,    /* of the input, between events */
	AGENT_DAMAGED /* a line that is no event; .cause says why */
};

struct agent_header {
	char *name;
	char *value; /* numbers as text */
};

/** Strings belong to the event. Members that an event lacks are NULL, 0 or false. */
struct agent_event {
	enum agent_event_kind kind;
	bool is_upload; /* INIT: the operation */
	char *remote;   /* INIT: a name or a URL */
	bool concurrent;
	unsigned concurrent_transfers;
	struct pointer pointer; /* UPLOAD, DOWNLOAD: oid (64 hex digits, checked) and size */
	char *path;             /* UPLOAD: of the object's file */
	char *href;             /* of the action, if it has one */
	struct agent_header *headers;
	size_t header_count;
	char cause[160];
};

/** Reads the next line. Unknown members and unknown events' members are passed over. */
void agent_event_read(FILE *in, struct agent_event *out);
void agent_event_release(struct agent_event *event);

/** Value of one of the action's headers, by its name in any case; NULL if it is not there. */
const char *agent_event_header(const struct agent_event *event, const char *name);

/* Answers: each is one line, flushed. They return -1 if it cannot be written: git-lfs is gone. */
int agent_answer_init(FILE *out, const struct fault *fault); /* NULL: ready */
int agent_answer_progress(FILE *out, const char *oid, uint64_t so_far, uint64_t since_last);
int agent_answer_complete(FILE *out, const char *oid, const char *path); /* path: downloads */
/** complete with an error: where ("STORE: OID"), cause and remedy in one line of text, and a code
 * by its kind. */
int agent_answer_error(FILE *out, const char *oid, const char *where, const struct fault *fault);

#endif
