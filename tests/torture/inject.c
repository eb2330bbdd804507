/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to preload: of the calls that git-brevis makes, those that a kind of fault can hit are
 * counted, and one of them fails. All processes of a command share one count.
 *
 * TORTURE_STATE: a file of 64-bit numbers: how many calls were hit, and for each kind, in the order
 * of the table below, how many calls there were that it could have hit.
 * TORTURE_FAULT: the kind: an errno's name, short, nomem, or a signal's name.
 * TORTURE_AT: the number of the call that is hit, from 1; 0: none, only count.
 *
 * Signals hit every call that is wrapped here, before it is made; the others those that can fail
 * in that way. No open is interrupted: no signal that git-brevis handles lets it go on, so that the
 * kernel has none to return for but where it transfers.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a call does, and so what can go wrong with it. */
enum call {
	CALL_READ = 1,   /* takes bytes: may be short, interrupted, or find the disk broken */
	CALL_WRITE = 2,  /* gives bytes, the same, and no room */
	CALL_OPEN = 4,   /* opens a file, which may take long */
	CALL_CREATE = 8, /* makes a name, or room */
	CALL_SYNC = 16,  /* says that all is on the disk */
	CALL_NAME = 32,  /* removes a name, or looks at one */
	CALL_MEMORY = 64,
	CALL_PIPE = 128, /* makes a descriptor of another kind */
	CALL_WAIT = 256, /* for another process, or for bytes */
	CALL_START = 512 /* a thread or a process */
};

struct fault {
	const char *name;
	unsigned calls; /* that it hits */
	int number;     /* the errno, or the signal */
};

#define CALLS_ALL                                                                                  \
	(CALL_READ | CALL_WRITE | CALL_OPEN | CALL_CREATE | CALL_SYNC | CALL_NAME | CALL_PIPE |    \
	 CALL_WAIT | CALL_START)

static const struct fault faults[] = {
	{"ENOSPC", CALL_WRITE | CALL_CREATE | CALL_SYNC, ENOSPC},
	{"EDQUOT", CALL_WRITE | CALL_CREATE, EDQUOT},
	{"EIO", CALLS_ALL & ~(unsigned)(CALL_PIPE | CALL_WAIT | CALL_START), EIO},
	{"EINTR", CALL_READ | CALL_WRITE | CALL_WAIT, EINTR},
	{"EMFILE", CALL_OPEN | CALL_PIPE, EMFILE},
	{"EROFS", CALL_CREATE, EROFS},
	{"EAGAIN", CALL_START, EAGAIN},
	{"EACCES", CALL_OPEN | CALL_CREATE | CALL_NAME, EACCES},
	{"short", CALL_READ | CALL_WRITE, 0},
	{"nomem", CALL_MEMORY, ENOMEM},
	{"KILL", CALLS_ALL, SIGKILL},
	{"TERM", CALLS_ALL, SIGTERM},
	{"INT", CALLS_ALL, SIGINT},
};

#define FAULTS (sizeof(faults) / sizeof(faults[0]))

struct state {
	uint64_t hits;
	uint64_t calls[FAULTS];
};

static const struct fault *fault;
static struct state *state;
static uint64_t target;

__attribute__((constructor)) static void begin(void)
{
	const char *file = getenv("TORTURE_STATE");
	const char *kind = getenv("TORTURE_FAULT");
	const char *at = getenv("TORTURE_AT");
	void *map;
	int fd;

	if (!file || !kind || !at || strcmp(program_invocation_short_name, "git-brevis") != 0)
		return;
	fd = open(file, O_RDWR | O_CLOEXEC);
	map = fd < 0 ? MAP_FAILED
		     : mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		abort(); /* else a run would look as if nothing could be hit */
	close(fd);
	target = strtoull(at, NULL, 10);
	for (size_t i = 0; i < FAULTS; i++)
		if (strcmp(kind, faults[i].name) == 0)
			fault = &faults[i];
	if (!fault)
		abort();
	state = map; /* from here on calls count */
}

static bool is_signal(void)
{
	return fault->number == SIGKILL || fault->number == SIGTERM || fault->number == SIGINT;
}

static void count(enum call call)
{
	for (size_t i = 0; i < FAULTS; i++)
		if (faults[i].calls & call)
			__atomic_add_fetch(&state->calls[i], 1, __ATOMIC_SEQ_CST);
}

/* Counts a call. True if it is to fail; a signal is sent instead, and the call then made. */
static bool is_hit(enum call call)
{
	if (!state)
		return false;
	if (!target)
		count(call);
	if (!target || !(fault->calls & call))
		return false;
	if (__atomic_add_fetch(&state->calls[fault - faults], 1, __ATOMIC_SEQ_CST) != target)
		return false;
	__atomic_add_fetch(&state->hits, 1, __ATOMIC_SEQ_CST);
	if (is_signal()) {
		kill(getpid(), fault->number);
		return false;
	}
	errno = fault->number;
	return true;
}

/* A transfer of len bytes: true if it fails; *len is less if it is to be short. */
static bool transfer_is_hit(enum call call, size_t *len)
{
	if (!is_hit(call))
		return false;
	if (fault->number)
		return true;
	*len = *len > 1 ? *len / 2 : *len;
	return false;
}

/* The function that a wrapper stands before. */
#define NEXT(name)                                                                                 \
	static __typeof__(name) *next;                                                             \
	if (!next)                                                                                 \
	next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define TRANSFER(name, kind, pointer, ...)                                                         \
	ssize_t name(int fd, pointer buf, size_t len)                                              \
	{                                                                                          \
		NEXT(name);                                                                        \
		return transfer_is_hit(kind, &len) ? -1 : next(fd, buf, len);                      \
	}

#define TRANSFER_AT(name, kind, pointer, position)                                                 \
	ssize_t name(int fd, pointer buf, size_t len, position at)                                 \
	{                                                                                          \
		NEXT(name);                                                                        \
		return transfer_is_hit(kind, &len) ? -1 : next(fd, buf, len, at);                  \
	}

TRANSFER(read, CALL_READ, void *)
TRANSFER(write, CALL_WRITE, const void *)
TRANSFER_AT(pread64, CALL_READ, void *, off64_t)
TRANSFER_AT(pwrite64, CALL_WRITE, const void *, off64_t)
TRANSFER_AT(recv, CALL_READ, void *, int)
TRANSFER_AT(send, CALL_WRITE, const void *, int)

/* What read is where the compiler checks the room that there is. */
ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);

ssize_t __read_chk(int fd, void *buf, size_t len, size_t room)
{
	NEXT(__read_chk);
	return transfer_is_hit(CALL_READ, &len) ? -1 : next(fd, buf, len, room);
}

ssize_t sendfile64(int out, int in, off64_t *at, size_t len)
{
	NEXT(sendfile64);
	return transfer_is_hit(CALL_WRITE, &len) ? -1 : next(out, in, at, len);
}

/* Where it is short, all that it writes is a part of the first piece. */
ssize_t writev(int fd, const struct iovec *pieces, int count)
{
	NEXT(writev);
	size_t given = count ? pieces[0].iov_len : 0, len = given;
	struct iovec part;

	if (transfer_is_hit(CALL_WRITE, &len))
		return -1;
	if (len == given)
		return next(fd, pieces, count);
	part = (struct iovec){pieces[0].iov_base, len};
	return next(fd, &part, 1);
}

/* Calls that fail with -1, by kind; the list of parameters, and that of their names. */
#define CALL(kind, name, parameters, names)                                                        \
	int name parameters                                                                        \
	{                                                                                          \
		NEXT(name);                                                                        \
		return is_hit(kind) ? -1 : next names;                                             \
	}

CALL(CALL_SYNC, fsync, (int fd), (fd))
CALL(CALL_SYNC, fdatasync, (int fd), (fd))
CALL(CALL_CREATE, ftruncate64, (int fd, off64_t size), (fd, size))
CALL(CALL_CREATE, mkdir, (const char *path, mode_t mode), (path, mode))
CALL(CALL_CREATE, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
CALL(CALL_CREATE, rename, (const char *from, const char *to), (from, to))
CALL(CALL_CREATE, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
CALL(CALL_CREATE, link, (const char *from, const char *to), (from, to))
CALL(CALL_CREATE, linkat, (int a, const char *from, int b, const char *to, int flags),
     (a, from, b, to, flags))
CALL(CALL_CREATE, renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
     (a, from, b, to, flags))
CALL(CALL_CREATE, fchmod, (int fd, mode_t mode), (fd, mode))
CALL(CALL_CREATE, chmod, (const char *path, mode_t mode), (path, mode))
CALL(CALL_CREATE, futimens, (int fd, const struct timespec times[2]), (fd, times))
CALL(CALL_CREATE, utimensat, (int dir, const char *path, const struct timespec times[2], int flags),
     (dir, path, times, flags))
CALL(CALL_OPEN | CALL_CREATE, mkostemp64, (char *path, int flags), (path, flags))
CALL(CALL_OPEN | CALL_CREATE, mkstemp64, (char *path), (path))
CALL(CALL_SYNC, sync_file_range, (int fd, off64_t at, off64_t len, unsigned flags),
     (fd, at, len, flags))
CALL(CALL_NAME, unlink, (const char *path), (path))
CALL(CALL_NAME, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
CALL(CALL_NAME, stat64, (const char *path, struct stat64 *st), (path, st))
CALL(CALL_NAME, lstat64, (const char *path, struct stat64 *st), (path, st))
CALL(CALL_NAME, fstat64, (int fd, struct stat64 *st), (fd, st))
CALL(CALL_NAME, fstatat64, (int dir, const char *path, struct stat64 *st, int flags),
     (dir, path, st, flags))
CALL(CALL_NAME, access, (const char *path, int mode), (path, mode))
CALL(CALL_NAME, faccessat, (int dir, const char *path, int mode, int flags),
     (dir, path, mode, flags))
CALL(CALL_NAME, statvfs64, (const char *path, struct statvfs64 *st), (path, st))
CALL(CALL_WAIT, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
CALL(CALL_WAIT, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
CALL(CALL_WAIT, waitid, (idtype_t kind, id_t id, siginfo_t *info, int options),
     (kind, id, info, options))
CALL(CALL_START, fork, (void), ())
CALL(CALL_PIPE, pipe, (int ends[2]), (ends))
CALL(CALL_PIPE, pipe2, (int ends[2], int flags), (ends, flags))
CALL(CALL_PIPE, dup, (int fd), (fd))
CALL(CALL_PIPE, socket, (int domain, int type, int protocol), (domain, type, protocol))

/* A close that fails has closed all the same. */
int close(int fd)
{
	NEXT(close);
	int number = is_hit(CALL_SYNC) ? errno : 0;
	int rc = next(fd);

	if (!number)
		return rc;
	errno = number;
	return -1;
}

/* fallocate fails with -1, posix_fallocate with the number itself. */
CALL(CALL_CREATE, fallocate64, (int fd, int mode, off64_t at, off64_t len), (fd, mode, at, len))

int posix_fallocate64(int fd, off64_t at, off64_t len)
{
	NEXT(posix_fallocate64);
	return is_hit(CALL_CREATE) ? errno : next(fd, at, len);
}

/* These say what is wrong themselves. */
int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	NEXT(posix_spawnp);
	return is_hit(CALL_START) ? errno : next(pid, file, actions, attributes, argv, envp);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		   void *argument)
{
	NEXT(pthread_create);
	return is_hit(CALL_START) ? errno : next(thread, attributes, start, argument);
}

/* And these give a pointer. */
DIR *opendir(const char *path)
{
	NEXT(opendir);
	return is_hit(CALL_OPEN) ? NULL : next(path);
}

FILE *fopen64(const char *path, const char *mode)
{
	NEXT(fopen64);
	return is_hit(*mode == 'r' ? CALL_OPEN : CALL_OPEN | CALL_CREATE) ? NULL : next(path, mode);
}

/* The mode of a file that is to be made is the one parameter that may be missing. */
#define OPEN_MODE                                                                                  \
	mode_t mode = 0;                                                                           \
	va_list more;                                                                              \
	if (flags & (O_CREAT | O_TMPFILE)) {                                                       \
		va_start(more, flags);                                                             \
		mode = va_arg(more, mode_t);                                                       \
		va_end(more);                                                                      \
	}

static enum call open_kind(int flags)
{
	return flags & O_CREAT ? CALL_OPEN | CALL_CREATE : CALL_OPEN;
}

int open64(const char *path, int flags, ...)
{
	NEXT(open64);
	OPEN_MODE
	return is_hit(open_kind(flags)) ? -1 : next(path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
	NEXT(openat64);
	OPEN_MODE
	return is_hit(open_kind(flags)) ? -1 : next(dir, path, flags, mode);
}

/* What is compiled without large files calls these. */
int open(const char *path, int flags, ...)
{
	NEXT(open);
	OPEN_MODE
	return is_hit(open_kind(flags)) ? -1 : next(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	NEXT(openat);
	OPEN_MODE
	return is_hit(open_kind(flags)) ? -1 : next(dir, path, flags, mode);
}

/* dlsym itself allocates: what glibc calls these by spares asking for them. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
	return is_hit(CALL_MEMORY) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return is_hit(CALL_MEMORY) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return is_hit(CALL_MEMORY) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return is_hit(CALL_MEMORY) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	if (is_hit(CALL_MEMORY))
		return ENOMEM;
	*out = __libc_memalign(alignment, size);
	return *out ? 0 : ENOMEM;
}
