/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/git_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "filter/cli/interrupt.h"
#include "filter/git/process.h"
#include "filter/cli/report.h"
#include "filter/stream.h"

extern char **environ;

/* True if entry (NAME=VALUE) sets the variable that change (NAME=VALUE or NAME) is about. */
static bool same_variable(const char *entry, const char *change)
{
	size_t len = strcspn(change, "=");

	return strncmp(entry, change, len) == 0 && entry[len] == '=';
}

static bool is_changed(const char *entry, const char *const *changes)
{
	for (; changes && *changes; changes++)
		if (same_variable(entry, *changes))
			return true;
	return false;
}

/* The environment with the changes applied. Its strings are not copied. */
static char **make_environment(const char *const *changes)
{
	size_t count = 0;
	size_t n = 0;
	char **env;

	while (environ[count])
		count++;
	for (const char *const *c = changes; c && *c; c++)
		count++;
	env = calloc(count + 1, sizeof(*env));
	if (!env)
		return NULL;
	for (char **e = environ; *e; e++)
		if (!is_changed(*e, changes))
			env[n++] = *e;
	for (const char *const *c = changes; c && *c; c++)
		if (strchr(*c, '='))
			env[n++] = (char *)(uintptr_t)*c;
	return env;
}

static char **make_arguments(const char *const *args)
{
	size_t count = 0;
	char **argv;

	while (args[count])
		count++;
	argv = calloc(count + 2, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = (char *)(uintptr_t) "git";
	for (size_t i = 0; i < count; i++)
		argv[i + 1] = (char *)(uintptr_t)args[i];
	return argv;
}

/* Reads all of a descriptor. A buffer that fails goes on reading, so that the child can end.
 * Returns 0, or the errno of a read that failed: what is missing then must not be taken for the
 * end. */
static int drain(int fd, struct buffer *out)
{
	uint8_t block[16384];
	ssize_t got;

	for (;;) {
		got = read(fd, block, sizeof(block));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? errno : 0;
		buffer_append(out, block, (size_t)got);
	}
}

/* A file without a name holding the input: a child that does not read it cannot make us wait. It
 * lies in memory, where the input is anyway, and depends on no directory. Returns -1 with errno. */
static int make_input(const struct git_run *run)
{
	int fd = memfd_create("git-input", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	if (stream_write(&fd, run->input, run->input_len) == 0 && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	close(fd);
	return -1;
}

/* We ignore SIGPIPE (see main.c), and hold others; git wants to die of them as always. Not of
 * SIGXFSZ, which would leave its locks in place: it stays ignored, and git told that a file is too
 * large. */
static int default_signals(posix_spawnattr_t *attributes, const sigset_t *held)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	posix_spawnattr_setsigdefault(attributes, &set);
	posix_spawnattr_setsigmask(attributes, held);
	return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

/* held: the signals that it holds, as we do otherwise. */
static int start(const struct git_run *run, const sigset_t *held, int in, int out, int errors,
		 pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char **argv = make_arguments(run->args);
	char **env = make_environment(run->env);
	int rc = ENOMEM;

	if (!argv || !env)
		goto free_strings;
	rc = posix_spawn_file_actions_init(&actions);
	if (rc)
		goto free_strings;
	rc = posix_spawnattr_init(&attributes);
	if (rc)
		goto destroy_actions;
	rc = default_signals(&attributes, held);
	if (rc)
		goto destroy_attributes;
	if (in >= 0)
		rc = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	else
		rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY,
						      0);
	if (!rc && out >= 0)
		rc = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!rc && errors >= 0)
		rc = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
	if (!rc && run->directory)
		rc = posix_spawn_file_actions_addchdir_np(&actions, run->directory);
	if (!rc)
		rc = posix_spawnp(pid, "git", &actions, &attributes, argv, env);
destroy_attributes:
	posix_spawnattr_destroy(&attributes);
destroy_actions:
	posix_spawn_file_actions_destroy(&actions);
free_strings:
	free(argv);
	free(env);
	return rc;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

int git_run(const struct git_run *run)
{
	int input = -1;
	int errors = -1;
	int out[2] = {-1, -1};
	int result = -1;
	int unread = 0;
	sigset_t held;
	int guard;
	pid_t pid;
	int rc;

	/* Both ends close on exec; dup2 makes the copies that the child keeps. */
	if (run->output && pipe2(out, O_CLOEXEC) < 0)
		goto failed;
	if (run->input) {
		input = make_input(run);
		if (input < 0)
			goto failed;
	}
	if (run->errors) {
		errors = memfd_create("git-errors", MFD_CLOEXEC);
		if (errors < 0)
			goto failed;
	}
	/* No signal comes between the child and its guard. */
	interrupt_hold(&held);
	rc = start(run, &held, input >= 0 || run->input_fd <= 0 ? input : run->input_fd, out[1],
		   errors, &pid);
	guard = rc ? -1 : interrupt_guard_child(pid);
	interrupt_resume(&held);
	if (rc) {
		errno = rc;
		goto failed;
	}
	if (out[1] >= 0) {
		close(out[1]);
		out[1] = -1;
		unread = drain(out[0], run->output);
		/* A child that goes on writing is not waited for without a reader. */
		close(out[0]);
		out[0] = -1;
	}
	result = interrupt_wait_child(guard, pid);
	if (result < 0)
		report_error("cannot wait for git: %s", strerror(errno));
	else if (unread)
		result = report_error("cannot read what git %s wrote: %s; try again", run->args[0],
				      strerror(unread));
	if (errors >= 0 && lseek(errors, 0, SEEK_SET) == 0)
		drain(errors, run->errors);
	if (result == 0 && run->output && buffer_failed(run->output))
		result = report_error("out of memory reading what git %s wrote", run->args[0]);
	goto out;
failed:
	result = report_error("cannot run git %s: %s; %s", run->args[0], strerror(errno),
			      errno == ENOENT ? "see that git is in PATH" : "try again");
out:
	close_if_open(out[0]);
	close_if_open(out[1]);
	close_if_open(input);
	close_if_open(errors);
	return result;
}

int git_ask(struct buffer *output, const char *const *args)
{
	return git_run(&(struct git_run){.args = args, .output = output});
}

const char *git_errors_line(struct buffer *errors)
{
	char *text;
	char *to;
	char *from;

	buffer_u8(errors, 0);
	if (buffer_failed(errors))
		return "out of memory";
	text = (char *)errors->data;
	if (strncmp(text, "fatal: ", 7) == 0 || strncmp(text, "error: ", 7) == 0)
		text += 7;
	to = text;
	for (from = text; *from; from++) {
		if (!strchr(" \t\r\n", *from))
			*to++ = *from;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	}
	while (to > text && to[-1] == ' ')
		to--;
	*to = 0;
	return *text ? text : "no reason given";
}

int git_read_blob(const char *blob, const char *label, brevis_write_fn write, void *ctx)
{
	const char *const argv[] = {"git", GIT_LARGE_BLOBS, "cat-file", "blob", blob, NULL};
	struct process git;
	int reason;
	int rc;

	if (process_start(&git, argv, NULL) != 0)
		return report_error("cannot run git: %s; see that it is in PATH", strerror(errno));
	rc = stream_read(git.out, write, ctx);
	reason = errno;
	/* What git says itself when it fails it has said on stderr. */
	if (process_finish(&git) != 0 || rc < 0)
		return report_error("%s: git cannot read its blob %.12s; `git fsck` says more",
				    label, blob);
	errno = reason;
	return rc;
}
