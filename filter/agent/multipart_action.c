/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/multipart_action.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "filter/remote/json_tree.h"

/* Bytes of what a hub says that are repeated, at most. */
#define MESSAGE_SIZE 160

/* Bytes of an answer in which that is looked for. */
#define MESSAGE_ANSWER_LIMIT ((size_t)16 << 10)

uint64_t action_number(const char *text)
{
	uint64_t number = 0;

	if (!text || !*text || text[strspn(text, "0123456789")])
		return 0;
	for (; *text; text++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
			return 0;
	return number;
}

int action_check_url(const char *url, struct fault *fault)
{
	const char *host = url ? strstr(url, "://") : NULL;

	if (!url)
		return fault_set(fault, FAULT_UNSUPPORTED, NULL, "the hub gives no URL for it");
	if (!host || (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0))
		return fault_set(fault, FAULT_UNSUPPORTED, NULL,
				 "the hub gives a URL that is neither http nor https");
	host += 3;
	if (memchr(host, '@', strcspn(host, "/?#")))
		return fault_set(fault, FAULT_UNSUPPORTED, NULL,
				 "the hub gives a URL with a user in it");
	return 0;
}

char **action_headers(const struct agent_event *event, const char *const *more)
{
	size_t extra = 0;
	size_t count = 0;
	char **lines;

	while (more[extra])
		extra++;
	lines = calloc(event->header_count + extra + 1, sizeof(*lines));
	if (!lines)
		return NULL;
	for (size_t i = 0; i < event->header_count; i++) {
		const struct agent_header *header = &event->headers[i];

		if (action_number(header->name) || strcasecmp(header->name, "chunk_size") == 0 ||
		    strpbrk(header->name, "\r\n") || strpbrk(header->value, "\r\n"))
			continue;
		if (asprintf(&lines[count], "%s: %s", header->name, header->value) < 0)
			goto failed;
		count++;
	}
	for (size_t i = 0; i < extra; i++) {
		lines[count] = strdup(more[i]);
		if (!lines[count++])
			goto failed;
	}
	return lines;
failed:
	lines[count] = NULL;
	action_headers_free(lines);
	return NULL;
}

void action_headers_free(char **headers)
{
	if (!headers)
		return;
	for (char **line = headers; *line; line++)
		free(*line);
	free(headers);
}

/* What the hub says about it: {"message"} or {"error"}. "" if it says nothing that may be shown. */
static void read_message(const struct buffer *body, char message[MESSAGE_SIZE])
{
	static const char *const names[] = {"message", "error"};
	struct json_tree tree;

	*message = 0;
	if (body->size > MESSAGE_ANSWER_LIMIT)
		return;
	json_tree_parse(&tree, body->data, body->size);
	for (size_t i = 0; i < 2 && !*message; i++) {
		const char *text = json_tree_string(json_tree_member(tree.root, names[i]));

		/* URLs in it may be signed ones. */
		if (text && !strstr(text, "://"))
			snprintf(message, MESSAGE_SIZE, ": %s", text);
	}
	json_tree_release(&tree);
}

static int describe_status(struct http_response *response, const char *doing, const char *refused,
			   struct fault *fault)
{
	char message[MESSAGE_SIZE];
	struct fault status = {.kind = FAULT_NONE};

	http_status_fault(response, doing, &status);
	if (status.kind == FAULT_TRANSIENT)
		refused = "the hub is busy or broken: try again later";
	else if (status.kind == FAULT_NO_SPACE)
		refused = "ask who runs the hub for room there";
	read_message(&response->body, message);
	fault_set(fault, status.kind, refused, "%s: the hub answers with status %ld%s", doing,
		  response->status, message);
	fault->retry_after_ms = status.retry_after_ms;
	return -1;
}

int action_perform(struct network *network, const struct http_request *request,
		   struct http_response *response, const char *doing, const char *refused,
		   struct fault *fault)
{
	struct fault lower = {.kind = FAULT_NONE};

	if (http_perform(network, request, response, &lower) < 0) {
		fault_set(fault, lower.kind, lower.remedy, "%s: %s", doing, lower.cause);
		fault->retry_after_ms = lower.retry_after_ms;
		return -1;
	}
	if (response->status >= 200 && response->status <= 299)
		return 0;
	return describe_status(response, doing, refused, fault);
}
