/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/interrupt.h"

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* What the parent ignores a child would inherit: give it a fresh start. But a limit of file sizes
 * stays an error to it: git would die of the signal with its locks in place. */
static void default_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	sigemptyset(&action.sa_mask);
	sigaction(SIGPIPE, &action, NULL);
}

/* The child's half: never returns. Tells the parent through report_fd why it could not start. */
static void become(const char *const *argv, const struct process_options *options, int in, int out,
		   int report_fd)
{
	const char *const *word;
	int reason;

	default_signals();
	for (word = options->unset; word && *word; word++)
		unsetenv(*word);
	for (word = options->set; word && *word; word++)
		putenv((char *)(uintptr_t)*word);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
	    (options->error_fd < 0 || dup2(options->error_fd, STDERR_FILENO) >= 0) &&
	    (!options->dir || chdir(options->dir) == 0))
		execvp(argv[0], (char *const *)(uintptr_t)argv);
	reason = errno;
	while (write(report_fd, &reason, sizeof(reason)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* Waits until the child has become another program (0), or has said why not. */
static int read_report(int fd)
{
	int reason = 0;
	ssize_t n;

	do {
		n = read(fd, &reason, sizeof(reason));
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(reason) ? reason : 0;
}

int process_start(struct process *process, const char *const *argv,
		  const struct process_options *options)
{
	static const struct process_options none = {.error_fd = -1};
	int in[2] = {-1, -1};
	int out[2] = {-1, -1};
	int report[2] = {-1, -1};
	sigset_t held;
	int reason;

	*process = (struct process){.pid = -1, .in = -1, .out = -1, .guard = -1};
	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
	    pipe2(report, O_CLOEXEC) != 0)
		goto fail;
	/* No signal comes between the child and its guard. */
	interrupt_hold(&held);
	process->pid = fork();
	if (process->pid > 0)
		process->guard = interrupt_guard_child(process->pid);
	if (process->pid == 0) {
		interrupt_leave(&held);
		become(argv, options ? options : &none, in[0], out[1], report[1]);
	}
	interrupt_resume(&held);
	if (process->pid < 0)
		goto fail;
	close_fd(&report[1]);
	reason = read_report(report[0]);
	if (reason) {
		interrupt_wait_child(process->guard, process->pid);
		errno = reason;
		goto fail;
	}
	close_fd(&report[0]);
	close_fd(&in[0]);
	close_fd(&out[1]);
	process->in = in[1];
	process->out = out[0];
	return 0;
fail:
	reason = errno;
	close_fd(&in[0]);
	close_fd(&in[1]);
	close_fd(&out[0]);
	close_fd(&out[1]);
	close_fd(&report[0]);
	close_fd(&report[1]);
	*process = (struct process){.pid = -1, .in = -1, .out = -1, .guard = -1};
	errno = reason;
	return -1;
}

int process_finish(struct process *process)
{
	int code;

	close_fd(&process->in);
	close_fd(&process->out);
	if (process->pid <= 0)
		return -1;
	code = interrupt_wait_child(process->guard, process->pid);
	*process = (struct process){.pid = -1, .in = -1, .out = -1, .guard = -1};
	return code;
}

void process_become(const char *const *argv)
{
	default_signals();
	execvp(argv[0], (char *const *)(uintptr_t)argv);
}
