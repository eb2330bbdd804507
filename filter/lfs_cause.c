/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/lfs_cause.h"

#include <stdio.h>
#include <string.h>

#include "filter/pointer.h"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Lines that come with every failure and explain none. */
static bool is_chatter(const char *line)
{
	return !*line || begins(line, "Downloading ") || begins(line, "Errors logged to ") ||
	       begins(line, "Use `git lfs logs");
}

/* git-lfs puts "...: error downloading OID (OID): " before the cause. Returns what follows the last
 * "(OID): ", or NULL. */
static const char *after_oid(const char *line, const char *oid)
{
	const char *found = NULL;

	for (line = strstr(line, oid); line; line = strstr(line, oid)) {
		line += strlen(oid);
		if (begins(line, "): "))
			found = line + 3;
	}
	return found;
}

/* Strips 'error transferring "OID": [0] ', or '[OID] '. */
static const char *strip_transfer(const char *cause, const char *oid)
{
	const char *at;

	if (*cause == '[' && begins(cause + 1, oid) && begins(cause + 1 + strlen(oid), "] "))
		return cause + strlen(oid) + 3;
	if (!begins(cause, "error transferring \""))
		return cause;
	at = strstr(cause, "\": ");
	if (!at)
		return cause;
	at += 3;
	if (*at == '[' && strstr(at, "] "))
		at = strstr(at, "] ") + 2;
	return at;
}

/* git-lfs asks for a batch of objects at once. If that fails, it fails for all of them. Returns
 * what follows, or NULL. */
static const char *after_batch(const char *cause)
{
	static const char *const prefixes[] = {"batch request: ", "batch response: "};
	size_t i;

	for (i = 0; i < 2; i++) {
		if (begins(cause, prefixes[i]))
			return cause + strlen(prefixes[i]);
	}
	return NULL;
}

bool lfs_cause(char *text, const char *oid, char *out, size_t size)
{
	const char *cause = NULL;
	const char *first = NULL;
	const char *batch;
	char *line;

	while (!cause && (line = strsep(&text, "\n"))) {
		cause = after_oid(line, oid);
		if (!first && !is_chatter(line))
			first = line;
	}
	if (!cause)
		cause = first ? first : "git-lfs does not say why";
	cause = strip_transfer(cause, oid);
	batch = after_batch(cause);
	if (batch)
		cause = batch;
	if (begins(cause, "remote missing object") || strstr(cause, "[404] "))
		cause = "the remote does not have it";
	else if (begins(cause, "missing protocol"))
		cause = "there is no remote to download it from";
	snprintf(out, size, "%s", cause);
	return batch != NULL;
}
