/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
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

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* Those that were taken over. */
static sigset_t ours;

/* A signal has come. */
static atomic_bool ending;

/* How often children are looked at, in all, until they have ended, and how long in between; and how
 * often when a second signal has come. */
#define LOOKS      500
#define LAST_LOOKS 125
static const struct timespec moment = {.tv_nsec = 2000000};

static void tell_children(int number)
{
	for (size_t i = 0; i < INTERRUPT_SLOTS; i++) {
		int pid = atomic_load(&slots[i].pid);

		if (pid > 0)
			kill(pid, number);
	}
}

/* One that was reaped has no number any more. */
static bool has_ended(struct slot *slot)
{
	int pid = atomic_load(&slot->pid);

	if (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0)
		return false;
	atomic_compare_exchange_strong(&slot->pid, &pid, 0);
	return true;
}

/* Looks at the children at most so many times, or few more times once a second signal has come.
 * Returns whether one has. */
static bool await_children(int looks, bool hurried)
{
	for (size_t i = 0; i < INTERRUPT_SLOTS; i++) {
		while (looks > 0 && !has_ended(&slots[i])) {
			if (sigtimedwait(&ours, NULL, &moment) > 0)
				hurried = true;
			looks--;
			if (hurried && looks > LAST_LOOKS)
				looks = LAST_LOOKS;
		}
	}
	return hurried;
}

/* A child that still runs might give its file the name that is about to be removed. One that does
 * not end when it is told is left alone, unless a second signal comes: timeout(1) and git send two
 * as a matter of course, so children have the time to remove their locks even then. */
static void end_children(bool hurried)
{
	tell_children(SIGTERM);
	if (!await_children(hurried ? LAST_LOOKS : LOOKS, hurried))
		return;
	tell_children(SIGKILL);
	await_children(LAST_LOOKS, true);
}

/* All signals are blocked in the thread that is here. A second one is found while children are
 * awaited, or brings another thread here, which does all of this as well: whoever comes to the end
 * first has removed the files. */
static void on_signal(int number)
{
	end_children(atomic_exchange(&ending, true));
	for (size_t i = 0; i < INTERRUPT_SLOTS; i++) {
		const char *path = atomic_load(&slots[i].path);

		if (path)
			unlink(path);
	}
	/* This ends the program, with the status that tells the parent why. */
	signal(number, SIG_DFL);
	raise(number);
}

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

	sigemptyset(&ours);
	for (i = 0; i < NUMBERS; i++) {
		struct sigaction action;

		/* nohup and background jobs of shells ignore some: keep it so. */
		if (sigaction(numbers[i], NULL, &action) != 0 || action.sa_handler == SIG_IGN)
			continue;
		sigaddset(&ours, numbers[i]);
		action = (struct sigaction){.sa_handler = on_signal};
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

void interrupt_remove_file(int handle, const char *path)
{
	int saved = errno;

	if (unlink(path) != 0)
		unlink(path);
	interrupt_forget(handle);
	errno = saved;
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
