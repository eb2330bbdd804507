/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Who has taken a slot fills path or pid. The handler reads them with lock-free loads only. */
struct slot {
	_Atomic(const char *) path;
	atomic_int pid;
	atomic_bool taken;
};

static struct slot slots[INTERRUPT_SLOTS];

/* How often children are looked at, in all, until they have ended, and how long in between. */
#define LOOKS 500
static const struct timespec moment = {.tv_nsec = 2000000};

/* A child that still runs might give its file the name that is about to be removed. */
static void end_children(void)
{
	int left = LOOKS;
	size_t i;

	for (i = 0; i < INTERRUPT_SLOTS; i++) {
		int pid = atomic_load(&slots[i].pid);

		if (pid > 0)
			kill(pid, SIGTERM);
	}
	for (i = 0; i < INTERRUPT_SLOTS; i++) {
		int pid = atomic_load(&slots[i].pid);

		while (pid > 0 && left > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
			nanosleep(&moment, NULL);
			left--;
		}
	}
}

static void on_signal(int number)
{
	size_t i;

	end_children();
	for (i = 0; i < INTERRUPT_SLOTS; i++) {
		const char *path = atomic_load(&slots[i].path);

		if (path)
			unlink(path);
	}
	/* The handler was installed with SA_RESETHAND: this ends the program, with the status that
	 * tells the parent why. */
	raise(number);
}

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

void interrupt_hold(sigset_t *before)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < NUMBERS; i++)
		sigaddset(&set, numbers[i]);
	pthread_sigmask(SIG_BLOCK, &set, before);
}

void interrupt_resume(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

void interrupt_leave(const sigset_t *before)
{
	size_t i;

	for (i = 0; i < NUMBERS; i++) {
		struct sigaction action;

		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == on_signal)
			signal(numbers[i], SIG_DFL);
	}
	interrupt_resume(before);
}

void interrupt_install(void)
{
	size_t i;

	for (i = 0; i < NUMBERS; i++) {
		struct sigaction action;

		/* nohup and background jobs of shells ignore some: keep it so. */
		if (sigaction(numbers[i], NULL, &action) != 0 || action.sa_handler == SIG_IGN)
			continue;
		action = (struct sigaction){.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
		sigfillset(&action.sa_mask);
		sigaction(numbers[i], &action, NULL);
	}
}

static int take(void)
{
	int i;

	for (i = 0; i < INTERRUPT_SLOTS; i++) {
		if (!atomic_exchange(&slots[i].taken, 1))
			return i;
	}
	return -1;
}

int interrupt_guard_file(const char *path)
{
	int handle = take();

	if (handle >= 0)
		atomic_store(&slots[handle].path, path);
	return handle;
}

int interrupt_guard_child(pid_t pid)
{
	int handle = take();

	if (handle >= 0)
		atomic_store(&slots[handle].pid, (int)pid);
	return handle;
}

void interrupt_forget(int handle)
{
	if (handle < 0)
		return;
	atomic_store(&slots[handle].path, NULL);
	atomic_store(&slots[handle].pid, 0);
	atomic_store(&slots[handle].taken, 0);
}

int interrupt_wait_child(int handle, pid_t pid)
{
	siginfo_t info;
	int status = 0;
	int rc;

	/* Not reaped yet, it keeps its number: the handler cannot hit another process. */
	do {
		rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	} while (rc < 0 && errno == EINTR);
	interrupt_forget(handle);
	if (rc < 0)
		return -1;
	do {
		rc = waitpid(pid, &status, 0);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
