/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buffer.h"
#include "core/base/escape.h"
#include "core/brevis.h"
#include "filter/cli/json_gen.h"
#include "filter/remote/json_tree.h"

/* Bytes of a line, at most. An upload to a hub may name 10,000 parts, each by a signed URL. */
#define LINE_LIMIT ((size_t)32 << 20)

/* ---- reading -------------------------------------------------------------------------------- */

static void damaged(struct agent_event *event, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The first cause stays. */
static void damaged(struct agent_event *event, const char *format, ...)
{
	char cause[sizeof(event->cause)];
	va_list args;

	if (event->kind == AGENT_DAMAGED)
		return;
	va_start(args, format);
	vsnprintf(cause, sizeof(cause), format, args);
	va_end(args);
	event->kind = AGENT_DAMAGED;
	escape_text(event->cause, sizeof(event->cause), cause);
}

/* Reads a line into *line, without its end, with a NUL behind it. Returns false at the end of the
 * input; a line that is too long, or holds a NUL, is read and makes the event a damaged one. */
static bool read_line(FILE *in, struct buffer *line, struct agent_event *event)
{
	bool is_long = false;
	bool has_nul = false;
	int c;

	flockfile(in);
	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		has_nul |= c == 0;
		is_long |= line->size == LINE_LIMIT;
		if (!is_long)
			buffer_u8(line, (uint8_t)c);
	}
	funlockfile(in);
	if (c == EOF && ferror(in))
		damaged(event, "reading it failed: %s", strerror(errno));
	if (c == EOF && line->size == 0)
		return event->kind == AGENT_DAMAGED;
	buffer_u8(line, 0);
	if (is_long)
		damaged(event, "a line is longer than %zu bytes", LINE_LIMIT);
	else if (has_nul)
		damaged(event, "a line holds a NUL");
	else if (buffer_failed(line))
		damaged(event, "out of memory");
	return true;
}

/* A copy of a string that need not be there. */
static char *text_member(struct agent_event *event, const struct json_value *object,
			 const char *name)
{
	const struct json_value *value = json_tree_member(object, name);
	char *copy;

	if (!value)
		return NULL;
	if (!json_tree_is(value, JSON_STRING)) {
		damaged(event, "\"%s\" is no string", name);
		return NULL;
	}
	copy = strdup(value->text);
	if (!copy)
		damaged(event, "out of memory");
	return copy;
}

static uint64_t number_member(struct agent_event *event, const struct json_value *object,
			      const char *name)
{
	const struct json_value *value = json_tree_member(object, name);
	uint64_t number = 0;

	if (value && !json_tree_whole_number(value, &number))
		damaged(event, "\"%s\" is no size", name);
	return number;
}

static void read_init(struct agent_event *event, const struct json_value *root)
{
	const char *operation = json_tree_string(json_tree_member(root, "operation"));
	uint64_t transfers = number_member(event, root, "concurrenttransfers");

	event->is_upload = operation && strcmp(operation, "upload") == 0;
	if (!event->is_upload && (!operation || strcmp(operation, "download") != 0))
		damaged(event, "\"operation\" is neither upload nor download");
	event->remote = text_member(event, root, "remote");
	event->concurrent = json_tree_is(json_tree_member(root, "concurrent"), JSON_TRUE);
	event->concurrent_transfers = transfers > UINT16_MAX ? UINT16_MAX : (unsigned)transfers;
}

static bool is_oid(const char *text)
{
	return text && strlen(text) == OID_HEX_SIZE &&
	       strspn(text, "0123456789abcdef") == OID_HEX_SIZE;
}

static void read_header(struct agent_event *event, const struct json_value *value)
{
	struct agent_header *header = &event->headers[event->header_count];

	if (!value->text)
		return;
	event->header_count++;
	header->name = strdup(value->name);
	header->value = strdup(value->text);
	if (!header->name || !header->value)
		damaged(event, "out of memory");
}

static void read_headers(struct agent_event *event, const struct json_value *headers)
{
	const struct json_value *first = json_tree_first(headers);
	const struct json_value *value;
	size_t count = 0;

	for (value = first; value; value = json_tree_next(value))
		count++;
	event->headers = calloc(count + 1, sizeof(*event->headers));
	if (!event->headers)
		damaged(event, "out of memory");
	for (value = first; value && event->headers; value = json_tree_next(value))
		read_header(event, value);
}

static void read_action(struct agent_event *event, const struct json_value *action)
{
	const struct json_value *headers = json_tree_member(action, "header");

	if (!action)
		return;
	event->href = text_member(event, action, "href");
	if (json_tree_is(headers, JSON_OBJECT))
		read_headers(event, headers);
}

static void read_transfer(struct agent_event *event, const struct json_value *root)
{
	const char *oid = json_tree_string(json_tree_member(root, "oid"));

	if (is_oid(oid))
		memcpy(event->pointer.oid, oid, OID_HEX_SIZE + 1);
	else
		damaged(event, "\"oid\" is no SHA-256");
	event->pointer.size = number_member(event, root, "size");
	event->path = text_member(event, root, "path");
	if (event->kind == AGENT_UPLOAD && !event->path)
		damaged(event, "an upload lacks its path");
	read_action(event, json_tree_member(root, "action"));
}

static void read_event(struct agent_event *event, const struct json_value *root)
{
	const char *name = json_tree_string(json_tree_member(root, "event"));

	if (!name) {
		damaged(event, "a line names no event");
	} else if (strcmp(name, "init") == 0) {
		event->kind = AGENT_INIT;
		read_init(event, root);
	} else if (strcmp(name, "upload") == 0) {
		event->kind = AGENT_UPLOAD;
		read_transfer(event, root);
	} else if (strcmp(name, "download") == 0) {
		event->kind = AGENT_DOWNLOAD;
		read_transfer(event, root);
	} else if (strcmp(name, "terminate") == 0) {
		event->kind = AGENT_TERMINATE;
	} else {
		damaged(event, "the event '%s' is not known", name);
	}
}

void agent_event_read(FILE *in, struct agent_event *out)
{
	struct buffer line = BUFFER_INIT;
	struct json_tree tree;
	int status;

	memset(out, 0, sizeof(*out));
	out->kind = AGENT_END;
	if (!read_line(in, &line, out) || out->kind == AGENT_DAMAGED)
		goto out;
	status = json_tree_parse(&tree, line.data, line.size - 1);
	if (json_tree_is(tree.root, JSON_OBJECT))
		read_event(out, tree.root);
	else
		damaged(out,
			status == BREVIS_E_NOMEM ? "out of memory" : "a line is no JSON object");
	json_tree_release(&tree);
out:
	buffer_release(&line);
}

void agent_event_release(struct agent_event *event)
{
	size_t i;

	for (i = 0; i < event->header_count; i++) {
		free(event->headers[i].name);
		free(event->headers[i].value);
	}
	free(event->headers);
	free(event->remote);
	free(event->path);
	free(event->href);
	memset(event, 0, sizeof(*event));
	event->kind = AGENT_END;
}

const char *agent_event_header(const struct agent_event *event, const char *name)
{
	size_t i;

	for (i = 0; i < event->header_count; i++) {
		if (strcasecmp(event->headers[i].name, name) == 0)
			return event->headers[i].value;
	}
	return NULL;
}

/* ---- answering ------------------------------------------------------------------------------ */

static void put_text(yajl_gen gen, const char *text)
{
	yajl_gen_string(gen, (const unsigned char *)text, strlen(text));
}

static void put_member(yajl_gen gen, const char *name, const char *value)
{
	put_text(gen, name);
	put_text(gen, value);
}

static void put_number(yajl_gen gen, const char *name, uint64_t value)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRIu64, value);

	put_text(gen, name);
	yajl_gen_number(gen, text, (size_t)len);
}

struct answer {
	struct json_gen json;
	struct buffer text;
};

static yajl_gen begin(struct answer *answer)
{
	answer->text = (struct buffer)BUFFER_INIT;
	json_gen_begin(&answer->json, &answer->text);
	yajl_gen_map_open(answer->json.gen);
	return answer->json.gen;
}

/* Ends it and sends it, in one write. */
static int end(struct answer *answer, FILE *out)
{
	struct buffer *text = &answer->text;
	int result = -1;

	yajl_gen_map_close(answer->json.gen);
	json_gen_end(&answer->json);
	buffer_u8(text, '\n');
	if (!buffer_failed(text) && fwrite(text->data, 1, text->size, out) == text->size &&
	    fflush(out) == 0)
		result = 0;
	buffer_release(text);
	return result;
}

/* "WHERE: CAUSE; REMEDY", or without where. */
static void put_error(yajl_gen gen, const char *where, const struct fault *fault)
{
	char *message = NULL;
	char *safe = NULL;

	if (asprintf(&message, "%s%s%s%s%s", where ? where : "", where ? ": " : "", fault->cause,
		     *fault->remedy ? "; " : "", fault->remedy) < 0)
		message = NULL;
	if (message)
		safe = malloc(strlen(message) * ESCAPE_GROWTH + 1);
	if (safe)
		escape_text(safe, strlen(message) * ESCAPE_GROWTH + 1, message);
	put_text(gen, "error");
	yajl_gen_map_open(gen);
	put_number(gen, "code", (uint64_t)fault->kind);
	put_member(gen, "message", safe ? safe : "out of memory");
	yajl_gen_map_close(gen);
	free(safe);
	free(message);
}

int agent_answer_init(FILE *out, const struct fault *fault)
{
	struct answer answer;
	yajl_gen gen = begin(&answer);

	if (fault)
		put_error(gen, NULL, fault);
	return end(&answer, out);
}

int agent_answer_progress(FILE *out, const char *oid, uint64_t so_far, uint64_t since_last)
{
	struct answer answer;
	yajl_gen gen = begin(&answer);

	put_member(gen, "event", "progress");
	put_member(gen, "oid", oid);
	put_number(gen, "bytesSoFar", so_far);
	put_number(gen, "bytesSinceLast", since_last);
	return end(&answer, out);
}

int agent_answer_complete(FILE *out, const char *oid, const char *path)
{
	struct answer answer;
	yajl_gen gen = begin(&answer);

	put_member(gen, "event", "complete");
	put_member(gen, "oid", oid);
	if (path)
		put_member(gen, "path", path);
	return end(&answer, out);
}

int agent_answer_error(FILE *out, const char *oid, const char *where, const struct fault *fault)
{
	struct answer answer;
	yajl_gen gen = begin(&answer);

	put_member(gen, "event", "complete");
	put_member(gen, "oid", oid);
	put_error(gen, where, fault);
	return end(&answer, out);
}
