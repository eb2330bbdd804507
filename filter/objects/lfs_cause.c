/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/lfs_cause.h"

#include <stdio.h>
#include <string.h>

#include "filter/objects/pointer.h"

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

static const char *const unsaid = "git-lfs does not say why";
static const char *const no_object = "the remote does not have it";
static const char *const no_remote = "there is no remote to download it from";
/* The agent for file:// URLs ends like this where no repository is; newer ones say so. */
static const char *const no_agent = "the transfer agent of git-lfs ended without a word (EOF)";

bool lfs_cause(char *text, const char *oid, char *out, size_t size)
{
	const char *cause = NULL;
	const char *first = NULL;
	const char *batch;
	size_t length;
	char *line;

	while (!cause && (line = strsep(&text, "\n"))) {
		cause = after_oid(line, oid);
		if (!first && !is_chatter(line))
			first = line;
	}
	if (!cause)
		cause = first ? first : unsaid;
	cause = strip_transfer(cause, oid);
	batch = after_batch(cause);
	if (batch)
		cause = batch;
	if (begins(cause, "remote missing object") || strstr(cause, "[404] "))
		cause = no_object;
	else if (begins(cause, "missing protocol"))
		cause = no_remote;
	else if (strcmp(cause, "EOF") == 0)
		cause = no_agent;
	/* More follows in our line. */
	length = strlen(cause);
	while (length && strchr(". ", cause[length - 1]))
		length--;
	snprintf(out, size, "%.*s", length < size ? (int)length : (int)size - 1, cause);
	return batch != NULL;
}

bool lfs_cause_is_dark(const char *cause)
{
	/* Some git-lfs say instead of "EOF" that an agent could not make its directory. */
	return strcmp(cause, unsaid) == 0 || strcmp(cause, no_agent) == 0 ||
	       strstr(cause, "] error creating handler: mkdir ");
}

const char *lfs_remedy(const char *cause)
{
	static const char *const missing =
		"ask who pushed it to run `git lfs push --all`, then run `git brevis pull`";
	static const char *const room = "make room there and run `git brevis pull`";
	static const char *const writable =
		"make that a directory that can be written, then run `git brevis pull`";
	static const char *const rights =
		"check your access to the remote and git's credentials for it, then run `git "
		"brevis pull`";
	static const char *const gone = "see that the remote's repository is where `git remote -v` "
					"says, then run `git brevis pull`";
	/* The first that fits: what is told of the disk comes before what is told of a peer. */
	static const struct {
		const char *sign, *remedy;
	} remedies[] = {
		{no_object, missing},
		{"object not found", missing},
		{no_remote, "add one with `git remote add`, or correct its address (`git remote "
			    "-v`), then run `git brevis pull`"},
		{no_agent, gone},
		{"creating handler: chdir ", gone},
		{"no space left", room},
		{"disk quota exceeded", room},
		{"file too large", room},
		{"cannot write", writable},
		{"read-only file system", writable},
		{"permission denied", rights},
		{"credentials", rights},
		{"authentication", rights},
		{"authorization", rights},
		{"forbidden", rights},
		{"not a git command", "install git-lfs, then run `git brevis pull`"},
	};
	size_t i;

	for (i = 0; i < sizeof(remedies) / sizeof(*remedies); i++) {
		if (strcasestr(cause, remedies[i].sign))
			return remedies[i].remedy;
	}
	/* The network, a server that stumbles, or what nobody foresaw. */
	return "when the remote can be reached, run `git brevis pull` to try again";
}
