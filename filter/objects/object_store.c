/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/object_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/cli/interrupt.h"
#include "filter/cli/report.h"
#include "filter/git/shared_mode.h"
#include "filter/stream.h"
#include "filter/objects/token.h"

struct object_store {
	char *dir; /* Git LFS's own, which holds objects and tmp */
	enum sync_policy sync;
};

struct object_store *object_store_new(const char *lfs_dir)
{
	struct object_store *store = calloc(1, sizeof(*store));

	if (store)
		store->dir = strdup(lfs_dir);
	if (!store || !store->dir) {
		object_store_free(store);
		report_error("out of memory");
		return NULL;
	}
	return store;
}

void object_store_sync(struct object_store *store, enum sync_policy policy)
{
	store->sync = policy;
}

void object_store_free(struct object_store *store)
{
	if (!store)
		return;
	free(store->dir);
	free(store);
}

char *object_store_path(const struct object_store *store, const char *oid)
{
	char *path;

	if (asprintf(&path, "%s/objects/%.2s/%.2s/%s", store->dir, oid, oid + 2, oid) < 0)
		return NULL;
	return path;
}

/* True if path is a regular file of this size. */
static bool is_file_of_size(const char *path, uint64_t size)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
}

bool object_store_has(const struct object_store *store, const struct pointer *pointer)
{
	char *path;
	bool has;

	if (pointer->size == 0)
		return true;
	path = object_store_path(store, pointer->oid);
	has = path && is_file_of_size(path, pointer->size);
	free(path);
	return has;
}

/* Looks at the lowest directory above a path that exists; path is cut down to it. Returns 0 if
 * names can be made there, or the errno that stands against it. */
static int directory_refuses(char *path)
{
	char *slash;
	struct stat st;

	while ((slash = strrchr(path, '/')) && slash != path) {
		*slash = '\0';
		if (stat(path, &st) == 0) {
			if (!S_ISDIR(st.st_mode))
				return ENOTDIR;
			return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) ? errno : 0;
		}
		if (errno != ENOENT && errno != ENOTDIR)
			return errno;
	}
	return 0;
}

int object_store_refuses(const struct object_store *store, const char *oid, char **where)
{
	char *path = NULL;
	int refused;

	if (oid)
		path = object_store_path(store, oid);
	else if (asprintf(&path, "%s/tmp/object", store->dir) < 0)
		path = NULL;
	refused = path ? directory_refuses(path) : ENOMEM;
	*where = refused ? path : NULL;
	if (!refused)
		free(path);
	return refused;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int read_at(void *ctx, void *buf, size_t len, uint64_t offset)
{
	struct object_file *file = ctx;

	if (stream_read_at(file->fd, buf, len, offset) == 0)
		return 0;
	file->failure = errno;
	return -1;
}

int object_file_from_fd(struct object_file *file, int fd)
{
	uint8_t head[BREVIS_MAGIC_SIZE] = {0};
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		return -1;
	}
	/* Where this fails, nobody knows what the file is: an archive must not pass for content. */
	if (st.st_size >= (off_t)sizeof(head) && stream_read_at(fd, head, sizeof(head), 0) != 0)
		return -1;
	file->fd = fd;
	file->failure = 0;
	file->is_archive = brevis_is_archive(head, sizeof(head));
	file->source = (struct brevis_source){
		.read_at = read_at, .ctx = file, .size = (uint64_t)st.st_size};
	return 0;
}

int object_file_open(struct object_file *file, const struct object_store *store, const char *oid)
{
	char *path = object_store_path(store, oid);
	int saved;
	int fd;

	if (!path) {
		errno = ENOMEM;
		return -1;
	}
	/* Not blocking: nothing but a regular file will be read, a pipe must not hold us up. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	free(path);
	if (fd < 0)
		return -1;
	if (object_file_from_fd(file, fd) == 0)
		return 0;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

void object_file_close(struct object_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Writes gather here first: records come in many small pieces. */
#define WRITE_BUFFER STREAM_STEP

/* The system is told to begin writing to the disk after so many bytes, else it would begin when the
 * object is complete, with all of them. */
#define WRITE_BACK_STEP (UINT64_C(16) << 20)

struct new_object {
	const struct object_store *store;
	const char *what;
	char *path;
	int fd;
	int guard;
	int failure; /* errno of the first error */
	uint64_t written;
	uint64_t passed; /* to the system */
	uint64_t begun;  /* of that, on its way to the disk */
	size_t used;
	uint8_t buffer[WRITE_BUFFER];
	uint8_t back[STREAM_STEP]; /* what is read back */
};

/* Makes the names in the directory of path durable. A system that cannot is left alone. */
static void sync_directory(const char *path)
{
	char *dir = strdup(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	int fd;

	if (slash) {
		*slash = '\0';
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0) {
			fsync(fd);
			close(fd);
		}
	}
	free(dir);
}

/* Makes one directory. Where an object's name has to be durable, its own has to be, too. */
static int make_directory(const struct object_store *store, const char *path)
{
	if (shared_mkdir(path) != 0)
		return errno == EEXIST ? 0 : -1;
	if (store->sync == SYNC_DURABLE)
		sync_directory(path);
	return 0;
}

/* Creates the directories that path needs, up to its last slash. Most often only the last one is
 * missing, so it begins there. */
static int make_directories(const struct object_store *store, char *path)
{
	char *slash = strrchr(path, '/');
	int result;

	if (!slash || slash == path)
		return 0;
	*slash = '\0';
	result = make_directory(store, path);
	if (result != 0 && errno == ENOENT && make_directories(store, path) == 0)
		result = make_directory(store, path);
	*slash = '/';
	return result;
}

/* Creates a file of a new name in <lfs dir>/tmp. The umask decides who may read it, and
 * core.sharedRepository, as for all that git-lfs stores. Returns its descriptor and in *path its
 * name, which the caller frees whatever happens, or -1 with errno set. *guard is to be forgotten
 * before that. */
static int create_temporary(const struct object_store *store, char **path, int *guard)
{
	int attempt;
	int fd;

	*path = NULL;
	*guard = -1;
	for (attempt = 0; attempt < 100; attempt++) {
		char token[TOKEN_SIZE + 1];

		if (token_make(token) != 0)
			return -1;
		interrupt_forget(*guard);
		*guard = -1;
		free(*path);
		if (asprintf(path, "%s/tmp/brevis-%s", store->dir, token) < 0) {
			*path = NULL;
			errno = ENOMEM;
			return -1;
		}
		if (make_directories(store, *path) != 0)
			return -1;
		/* Nobody else has a name like this one: it can be guarded before it is there. */
		*guard = interrupt_guard_file(*path);
		fd = open(*path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0)
			shared_file(fd, *path);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

int object_store_scratch(const struct object_store *store)
{
	char *path;
	int guard;
	int fd = create_temporary(store, &path, &guard);
	int saved = errno;

	if (fd >= 0)
		interrupt_remove_file(guard, path);
	else
		interrupt_forget(guard);
	free(path);
	errno = saved;
	return fd;
}

struct new_object *new_object_create(struct object_store *store, const char *what)
{
	struct new_object *object = calloc(1, sizeof(*object));

	if (!object) {
		report_error("cannot store %s: out of memory", what);
		return NULL;
	}
	object->store = store;
	object->what = what;
	object->guard = -1;
	object->fd = create_temporary(store, &object->path, &object->guard);
	if (object->fd < 0) {
		report_error("cannot store %s: no file can be created in %s/tmp: %s; make that a "
			     "directory that can be written",
			     what, store->dir, strerror(errno));
		new_object_free(object);
		return NULL;
	}
	return object;
}

/* Tells the system to begin writing to the disk. A hint: whether it got there is what fsync tells.
 */
static void begin_write_back(struct new_object *object)
{
	if (object->passed > object->begun)
		(void)sync_file_range(object->fd, (off_t)object->begun,
				      (off_t)(object->passed - object->begun),
				      SYNC_FILE_RANGE_WRITE);
	object->begun = object->passed;
}

static int write_all(struct new_object *object, const uint8_t *data, size_t len)
{
	if (stream_write_checked(object->fd, data, len, object->passed, object->back) != 0) {
		object->failure = errno;
		return -1;
	}
	object->passed += len;
	if (object->passed - object->begun >= WRITE_BACK_STEP)
		begin_write_back(object);
	return 0;
}

static int empty_buffer(struct new_object *object)
{
	size_t used = object->used;

	object->used = 0;
	if (object->failure)
		return -1;
	return write_all(object, object->buffer, used);
}

int new_object_flush(struct new_object *object)
{
	if (empty_buffer(object) != 0)
		return -1;
	/* Who flushes has more to do before the object gets its name: meanwhile the disk can work.
	 */
	if (object->passed >= WRITE_BACK_STEP)
		begin_write_back(object);
	return 0;
}

int new_object_write(void *new_object, const void *data, size_t len)
{
	struct new_object *object = new_object;

	if (object->failure)
		return -1;
	object->written += len;
	if (len >= WRITE_BUFFER - object->used && empty_buffer(object) != 0)
		return -1;
	if (len >= WRITE_BUFFER)
		return write_all(object, data, len);
	memcpy(object->buffer + object->used, data, len);
	object->used += len;
	return 0;
}

int new_object_fd(const struct new_object *object)
{
	return object->fd;
}

int new_object_failure(const struct new_object *object)
{
	return object->failure;
}

int new_object_report(const struct new_object *object, uint64_t needed)
{
	return report_error(
		"cannot store %s: writing %s failed after %" PRIu64
		" bytes: %s; make room there, for up to %" PRIu64 " bytes, and try again",
		object->what, object->path, object->written, strerror(object->failure), needed);
}

/*
 * Brings what was written to the disk, as far as the policy has it. Where nobody waits, the bytes
 * are at least on their way before the name is: a file system that orders them keeps that order,
 * and on any other a loss of power leaves an object that is cut or has gaps, which whoever uses it
 * finds out by its size and its checksums.
 */
static int settle(struct new_object *object)
{
	const unsigned wait =
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
	enum sync_policy policy = object->store->sync;

	if (policy == SYNC_BEGIN) {
		begin_write_back(object);
		return 0;
	}
	/* Like git, sync where the file system knows no other way to wait. */
	if (policy == SYNC_WRITE_OUT && sync_file_range(object->fd, 0, 0, wait) == 0)
		return 0;
	return fsync(object->fd);
}

/* Gives the complete file its name. One that is there already goes, though it should be equal: ours
 * is known to be good, and what is there may have been damaged since. Who reads it keeps it. */
static int move_into_place(struct new_object *object, char *path)
{
	if (make_directories(object->store, path) != 0 || rename(object->path, path) != 0)
		return -1;
	interrupt_forget(object->guard);
	object->guard = -1;
	free(object->path);
	object->path = NULL;
	if (object->store->sync == SYNC_DURABLE)
		sync_directory(path);
	return 0;
}

int new_object_place(struct new_object *object, const struct pointer *pointer)
{
	char *path = object_store_path(object->store, pointer->oid);
	int result = -1;

	if (!path) {
		report_error("cannot store %s: out of memory", object->what);
		return -1;
	}
	if (empty_buffer(object) == 0 && settle(object) != 0)
		object->failure = errno;
	if (object->failure) {
		new_object_report(object, pointer->size);
		goto out;
	}
	if (move_into_place(object, path) != 0) {
		report_error("cannot store %s: its object cannot be moved to %s: %s; make that a "
			     "directory that can be written",
			     object->what, path, strerror(errno));
		goto out;
	}
	report_trace("object %s: %s", pointer->oid, sync_policy_name(object->store->sync));
	result = 0;
out:
	free(path);
	return result;
}

void new_object_free(struct new_object *object)
{
	if (!object)
		return;
	if (object->fd >= 0) {
		close(object->fd);
		if (object->path)
			interrupt_remove_file(object->guard, object->path);
	} else {
		interrupt_forget(object->guard);
	}
	free(object->path);
	free(object);
}
