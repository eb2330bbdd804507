/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/convert/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filter/convert/pkt_line.h"
#include "filter/cli/report.h"
#include "filter/stream.h"

/* Where the session stands, as drawn in the header. */
enum state {
	STATE_START,
	STATE_HELLO,
	STATE_IDLE,
	STATE_CONTENT,
	STATE_ANSWER,
	STATE_CLOSED, /* git closed its end where it may */
	STATE_BROKEN
};

enum command { COMMAND_NONE, COMMAND_CLEAN, COMMAND_SMUDGE, COMMAND_LIST, COMMAND_UNKNOWN };

struct session {
	struct pkt_reader *reader;
	struct pkt_writer *writer;
	const struct session_actions *actions;
	enum state state;
	bool content_ended; /* the flush behind the content was read */
};

/* Ends the session: what is the cause, in a line. */
static void broken(struct session *session, const char *cause)
{
	if (session->state != STATE_BROKEN)
		report_error("the filter session with git broke: %s", cause);
	session->state = STATE_BROKEN;
}

/* Sends what was written so far, a flush packet at its end. */
static void flush(struct session *session)
{
	if (session->state != STATE_BROKEN && pkt_write_flush(session->writer) != 0)
		broken(session, errno == EPIPE ? "git went away" : strerror(errno));
}

static void send_status(struct session *session, const char *status)
{
	pkt_write_text(session->writer, "status=%s", status);
	flush(session);
}

/* ---- the way into the session --------------------------------------------------------------- */

/* START: reads the client's greeting and answers it. */
static void greet(struct session *session)
{
	bool right_version = false;
	bool first = true;
	const char *text;
	enum pkt_kind kind;

	while ((kind = pkt_read_text(session->reader, &text)) == PKT_DATA) {
		if (first && strcmp(text, "git-filter-client") != 0)
			break;
		first = false;
		if (strcmp(text, "version=2") == 0)
			right_version = true;
	}
	if (kind != PKT_FLUSH || first || !right_version) {
		broken(session, "no greeting of protocol version 2; this program is started by "
				"git, see `git brevis help`");
		return;
	}
	pkt_write_text(session->writer, "git-filter-server");
	pkt_write_text(session->writer, "version=2");
	flush(session);
	if (session->state != STATE_BROKEN)
		session->state = STATE_HELLO;
}

/* HELLO: reads what git offers and takes what we can do of it. */
static void agree(struct session *session)
{
	static const char *const known[] = {"capability=clean", "capability=smudge",
					    "capability=delay"};
	bool offered[3] = {false, false, false};
	const char *text;
	enum pkt_kind kind;
	size_t i;

	while ((kind = pkt_read_text(session->reader, &text)) == PKT_DATA) {
		for (i = 0; i < 3; i++) {
			if (strcmp(text, known[i]) == 0)
				offered[i] = true;
		}
	}
	if (kind != PKT_FLUSH) {
		broken(session, "it ended before capabilities were agreed");
		return;
	}
	for (i = 0; i < 3; i++) {
		if (offered[i])
			pkt_write_text(session->writer, "%s", known[i]);
	}
	flush(session);
	if (session->state != STATE_BROKEN)
		session->state = STATE_IDLE;
}

/* ---- one command ---------------------------------------------------------------------------- */

struct header {
	enum command command;
	char *path;
	bool can_delay;
};

static enum command command_named(const char *name)
{
	if (strcmp(name, "clean") == 0)
		return COMMAND_CLEAN;
	if (strcmp(name, "smudge") == 0)
		return COMMAND_SMUDGE;
	if (strcmp(name, "list_available_blobs") == 0)
		return COMMAND_LIST;
	return COMMAND_UNKNOWN;
}

/* IDLE: reads the lines of a command up to their flush. Keys that we do not know (ref, treeish,
 * blob, and what later versions add) are for others. Returns false when there is none. */
static bool read_header(struct session *session, struct header *header)
{
	const char *text;
	enum pkt_kind kind;

	*header = (struct header){.command = COMMAND_NONE};
	while ((kind = pkt_read_text(session->reader, &text)) == PKT_DATA) {
		if (strncmp(text, "command=", 8) == 0)
			header->command = command_named(text + 8);
		if (strncmp(text, "pathname=", 9) == 0) {
			free(header->path);
			header->path = strdup(text + 9);
		}
		if (strcmp(text, "can-delay=1") == 0)
			header->can_delay = true;
	}
	if (kind == PKT_END && header->command == COMMAND_NONE) {
		session->state = STATE_CLOSED;
		return false;
	}
	if (kind != PKT_FLUSH) {
		broken(session, "it ended within a command");
		return false;
	}
	return true;
}

int session_read(struct session *session, const void **data, size_t *len)
{
	const uint8_t *bytes;

	if (session->state == STATE_BROKEN)
		return -1;
	if (session->content_ended)
		return 0;
	switch (pkt_read(session->reader, &bytes, len)) {
	case PKT_DATA:
		*data = bytes;
		return 1;
	case PKT_FLUSH:
		session->content_ended = true;
		return 0;
	default:
		broken(session, "it ended within a file's content");
		return -1;
	}
}

/* Takes in what the action left unread. */
static void drain(struct session *session)
{
	const void *data;
	size_t len;

	while (session_read(session, &data, &len) > 0)
		;
}

/* CONTENT to ANSWER: from here on content goes out. */
static void begin_answer(struct session *session)
{
	drain(session);
	if (session->state != STATE_CONTENT)
		return;
	session->state = STATE_ANSWER;
	send_status(session, "success");
}

int session_write(void *ctx, const void *data, size_t len)
{
	struct session *session = ctx;

	if (len == 0)
		return session->state == STATE_BROKEN ? -1 : 0;
	if (session->state == STATE_CONTENT)
		begin_answer(session);
	if (session->state != STATE_ANSWER)
		return -1;
	if (pkt_write(session->writer, data, len) == 0)
		return 0;
	broken(session, errno == EPIPE ? "git went away" : strerror(errno));
	return -1;
}

/* Closes the answer: what the action said decides what git does with the bytes. */
static void end_answer(struct session *session, enum session_result result)
{
	bool started = session->state == STATE_ANSWER;

	if (!started)
		drain(session);
	if (session->state == STATE_BROKEN)
		return;
	if (!started && result != SESSION_DONE) {
		send_status(session, result == SESSION_DELAYED ? "delayed" : "error");
		goto idle;
	}
	if (!started)
		begin_answer(session);
	flush(session); /* the content's end */
	if (session->state == STATE_BROKEN)
		return;
	if (result == SESSION_DONE)
		flush(session); /* an empty list: the status stays */
	else
		send_status(session, "error");
idle:
	if (session->state != STATE_BROKEN)
		session->state = STATE_IDLE;
}

static void convert(struct session *session, const struct header *header)
{
	const struct session_actions *actions = session->actions;
	struct session_request request = {header->path, header->can_delay};
	enum session_result result;

	session->state = STATE_CONTENT;
	session->content_ended = false;
	if (header->command == COMMAND_CLEAN)
		result = actions->clean(actions->ctx, &request, session);
	else
		result = actions->smudge(actions->ctx, &request, session);
	end_answer(session, result);
}

void session_name_path(struct session *session, const char *path)
{
	pkt_write_text(session->writer, "pathname=%s", path);
}

static void run_command(struct session *session)
{
	struct header header;

	if (read_header(session, &header)) {
		switch (header.command) {
		case COMMAND_LIST:
			session->actions->list_available(session->actions->ctx, session);
			flush(session);
			send_status(session, "success");
			break;
		case COMMAND_CLEAN:
		case COMMAND_SMUDGE:
			if (header.path)
				convert(session, &header);
			else
				broken(session, "a command came without a path");
			break;
		default:
			broken(session, "git sent a command that this version does not know");
		}
	}
	free(header.path);
}

int session_run(int in, int out, const struct session_actions *actions)
{
	struct session session = {.actions = actions, .state = STATE_START};

	session.reader = pkt_reader_new(in);
	session.writer = pkt_writer_new(out);
	if (!session.reader || !session.writer)
		broken(&session, "out of memory");
	stream_enlarge_pipe(in);
	stream_enlarge_pipe(out);
	while (session.state != STATE_CLOSED && session.state != STATE_BROKEN) {
		if (session.state == STATE_START)
			greet(&session);
		else if (session.state == STATE_HELLO)
			agree(&session);
		else
			run_command(&session);
	}
	pkt_reader_free(session.reader);
	pkt_writer_free(session.writer);
	return session.state == STATE_CLOSED ? 0 : -1;
}
