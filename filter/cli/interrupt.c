/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

/* A slot is free when both are empty. The handler reads them with nothing but lock-free loads. */
struct slot {
	_Atomic(const char *) path;
	atomic_int pid;
	atomic_bool taken;
};

static struct slot slots[INTERRUPT_SLOTS];

static void on_signal(int number)
{
	size_t i;

	for (i = 0; i < INTERRUPT_SLOTS; i++) {
		const char *path = atomic_load(&slots[i].path);
		int pid = atomic_load(&slots[i].pid);

		if (path)
			unlink(path);
		if (pid > 0)
			kill(pid, SIGTERM);
	}
	/* The handler was installed with SA_RESETHAND: this ends the program, with the status that
	 * tells the parent why. */
	raise(number);
}

void interrupt_install(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
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
