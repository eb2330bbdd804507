/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/caller.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of longer command lines the beginning will do. */
#define WORDS_SIZE 65536

/* ---- words ----------------------------------------------------------------------------------- */

/* The word behind this one, or NULL. A word that is cut off is none. */
static const char *next(const char *word, const char *end)
{
	word += strlen(word) + 1;
	return word < end && memchr(word, '\0', (size_t)(end - word)) ? word : NULL;
}

static const char *first(const char *words, size_t size)
{
	return size && memchr(words, '\0', size) ? words : NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_one_of(const char *word, const char *const *list)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list != NULL;
}

/* Finds git's command behind git's own options; *word is then the command. NULL: none. */
static const char *git_command(const char **word, const char *end)
{
	static const char *const with_value[] = {"-C",           "-c",          "--git-dir",
						 "--work-tree",  "--namespace", "--super-prefix",
						 "--config-env", "--exec-path", NULL};
	const char *name = base_name(*word);

	if (strncmp(name, "git-", 4) == 0)
		return name + 4;
	if (strcmp(name, "git") != 0)
		return NULL;
	for (*word = next(*word, end); *word && **word == '-'; *word = next(*word, end)) {
		/* "--exec-path" alone is a question, after which nothing is run. */
		if (is_one_of(*word, with_value))
			*word = next(*word, end);
		if (!*word)
			break;
	}
	return *word;
}

static bool has_word(const char *word, const char *end, const char *wanted)
{
	while (word && strcmp(word, wanted) != 0)
		word = next(word, end);
	return word != NULL;
}

bool caller_wants_pointers(enum caller caller)
{
	return caller == CALLER_SHOWS || caller == CALLER_BLAMES;
}

/* What a command of git does; word is that behind it, or NULL. */
static enum caller caller_of_command(const char *command, const char *word, const char *end)
{
	static const char *const shows[] = {"diff",   "diff-files",   "diff-index",  "diff-tree",
					    "log",    "show",         "whatchanged", "grep",
					    "reflog", "format-patch", NULL};
	static const char *const blames[] = {"blame", "annotate", NULL};
	static const char *const stash_shows[] = {"show", "list", NULL};

	if (strcmp(command, "difftool") == 0)
		return CALLER_COMPARES;
	if (is_one_of(command, blames))
		return CALLER_BLAMES;
	if (is_one_of(command, shows) ||
	    (strcmp(command, "stash") == 0 && word && is_one_of(word, stash_shows)) ||
	    (strcmp(command, "cat-file") == 0 && has_word(word, end, "--textconv")))
		return CALLER_SHOWS;
	return CALLER_ANY;
}

enum caller caller_of(const char *words, size_t size, bool in_difftool)
{
	const char *end = words + size;
	const char *word = first(words, size);
	const char *command = word ? git_command(&word, end) : NULL;
	enum caller caller = CALLER_ANY;

	if (command)
		caller = caller_of_command(command, next(word, end), end);
	return caller == CALLER_SHOWS && in_difftool ? CALLER_COMPARES : caller;
}

bool caller_words_seek_pointers(const char *words, size_t size)
{
	static const char pattern[] = "oid sha256:";
	const char *end = words + size;
	const char *word = first(words, size);

	for (; word; word = next(word, end)) {
		const char *behind = next(word, end);

		if (strncmp(word, "-G", 2) == 0 &&
		    (strcmp(word + 2, pattern) == 0 ||
		     (!word[2] && behind && strcmp(behind, pattern) == 0)))
			return true;
	}
	return false;
}

/* The value of a strategy's option at this word, or NULL: it is none. *word moves behind it. */
static const char *strategy_option(const char **word, const char *end)
{
	static const char name[] = "--strategy-option";
	const char *at = *word;

	*word = next(at, end);
	if (strncmp(at, "-X", 2) == 0 && at[2])
		return at + 2;
	if (strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == '=')
		return at + strlen(name) + 1;
	if (strcmp(at, "-X") != 0 && strcmp(at, name) != 0)
		return NULL;
	at = *word;
	*word = at ? next(at, end) : NULL;
	return at;
}

enum caller_favor caller_words_favor(const char *words, size_t size)
{
	static const char *const merges[] = {"merge",  "rebase",     "cherry-pick",
					     "revert", "merge-tree", NULL};
	const char *end = words + size;
	const char *word = first(words, size);
	const char *command = word ? git_command(&word, end) : NULL;
	enum caller_favor favor = FAVOR_NONE;

	if (!command || !is_one_of(command, merges))
		return FAVOR_NONE;
	word = next(word, end);
	while (word && strcmp(word, "--") != 0) {
		const char *value = strategy_option(&word, end);

		/* The last one counts. */
		if (value && strcmp(value, "ours") == 0)
			favor = FAVOR_OURS;
		else if (value && strcmp(value, "theirs") == 0)
			favor = FAVOR_THEIRS;
	}
	return favor;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Reads /proc/PID/NAME. Returns how much of it was read, 0 if that is not possible. */
static size_t read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	size_t len = 0;
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%jd/%s", (intmax_t)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && len < size && n > 0) {
		n = read(fd, text + len, size - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	return len;
}

/* The parent of a process, 0 if that is not known: "PID (NAME) STATE PARENT ...". */
static pid_t parent_of(pid_t pid)
{
	char text[512];
	size_t len = read_proc(pid, "stat", text, sizeof(text) - 1);
	const char *behind;

	text[len] = '\0';
	behind = strrchr(text, ')');
	return behind && strlen(behind) > 4 ? (pid_t)strtol(behind + 4, NULL, 10) : 0;
}

/* True for `sh -c ...`: git starts by a shell what is more than one word, and not every shell
 * makes way for its last command. */
static bool is_shell(const char *words, size_t size)
{
	static const char *const shells[] = {"sh", "dash", "bash", "ash", "busybox", "ksh", NULL};
	const char *word = first(words, size);

	if (!word || !is_one_of(base_name(word), shells))
		return false;
	return has_word(word, words + size, "-c");
}

/* Reads the command line of the process that has started us. */
static size_t read_caller(char *words, size_t size)
{
	pid_t pid = getppid();
	size_t len = read_proc(pid, "cmdline", words, size);

	if (is_shell(words, len)) {
		pid = parent_of(pid);
		len = pid > 0 ? read_proc(pid, "cmdline", words, size) : 0;
	}
	return len;
}

enum caller caller_look(void)
{
	const char *tool = getenv("GIT_EXTERNAL_DIFF");
	char *words = malloc(WORDS_SIZE);
	enum caller caller = CALLER_ANY;

	if (words)
		caller = caller_of(words, read_caller(words, WORDS_SIZE),
				   tool && strstr(tool, "difftool"));
	free(words);
	return caller;
}

enum caller_favor caller_favors(void)
{
	char *words = malloc(WORDS_SIZE);
	enum caller_favor favor =
		words ? caller_words_favor(words, read_caller(words, WORDS_SIZE)) : FAVOR_NONE;

	free(words);
	return favor;
}

bool caller_seeks_pointers(void)
{
	char *words = malloc(WORDS_SIZE);
	bool seeks = words && caller_words_seek_pointers(words, read_caller(words, WORDS_SIZE));

	free(words);
	return seeks;
}
