/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Stores that are directories.
 *
 * What the disk has of an object: the bytes of a large one before it gets its name; those of a
 * small one are on their way by then, in the order that file systems keep, since waiting for each
 * of a thousand takes longer than all else; and all of them, with their names, when the driver is
 * closed, which is before git-lfs says that it is done.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/cache_file.h"
#include "filter/remote/driver.h"
#include "filter/remote/new_file.h"
#include "filter/stream.h"

/* Bytes that are read or written at a time. */
#define STEP ((size_t)1 << 20)

/* An object of this size is waited for. */
#define LARGE ((uint64_t)1 << 20)

/* The system is told to begin writing to the disk after so many bytes. */
#define WRITE_BACK_STEP ((uint64_t)16 << 20)

#define TEMPORARY "tmp"
#define OBJECTS   "objects"

#define OID_SIZE 64

struct directory {
	char *root;
	atomic_bool written; /* something, since it was opened */
};

static int directory_open(const struct location *location, const struct store_settings *settings,
			  void **state, struct fault *fault)
{
	struct directory *directory = calloc(1, sizeof(*directory));

	(void)settings;
	if (directory)
		directory->root = strdup(strcmp(location->path, "/") == 0 ? "" : location->path);
	if (!directory || !directory->root) {
		free(directory);
		return fault_nomem(fault);
	}
	*state = directory;
	return 0;
}

static char *path_of(const struct directory *directory, const char *key)
{
	char *path;

	if (asprintf(&path, "%s/%s", directory->root, key) < 0)
		return NULL;
	return path;
}

/* Has the disk take in whatever was written to the store's file system. */
static void sync_all(const struct directory *directory)
{
	char *path = path_of(directory, "");
	int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		syncfs(fd);
		close(fd);
	}
	free(path);
}

static void directory_close(void *state)
{
	struct directory *directory = state;

	if (!directory)
		return;
	if (directory->written)
		sync_all(directory);
	free(directory->root);
	free(directory);
}

/* ---- paths and faults ----------------------------------------------------------------------- */

static bool is_there(const struct directory *directory)
{
	struct stat st;
	char *path = path_of(directory, "");
	bool there = path && (stat(path, &st) == 0 ? S_ISDIR(st.st_mode)
						   : errno != ENOENT && errno != ENOTDIR);

	free(path);
	return there;
}

static int no_store(const struct directory *directory, struct fault *fault)
{
	return fault_set(fault, FAULT_NO_STORE,
			 "check the path, and that it is mounted; git brevis store init makes a "
			 "store",
			 "there is no directory %s/", directory->root);
}

static int read_fault(const struct directory *directory, const char *key, int error,
		      struct fault *fault)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		if (!is_there(directory))
			return no_store(directory, fault);
		return fault_set(fault, FAULT_ABSENT, NULL, "the store lacks %s", key);
	case ELOOP:
	case EISDIR:
	case EINVAL:
		return fault_set(fault, FAULT_DAMAGED, "put a regular file in its place",
				 "%s/%s is no regular file", directory->root, key);
	case EACCES:
	case EPERM:
		return fault_set(fault, FAULT_DENIED, "let this user read it", "reading %s/%s: %s",
				 directory->root, key, strerror(error));
	default:
		return fault_errno(fault, error, "reading %s/%s", directory->root, key);
	}
}

static int write_fault(const struct directory *directory, const char *key, int error,
		       struct fault *fault)
{
	if ((error == ENOENT || error == ENOTDIR) && !is_there(directory))
		return no_store(directory, fault);
	return fault_errno(fault, error, "writing %s/%s", directory->root, key);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int directory_size(void *state, const char *key, uint64_t *size, struct fault *fault)
{
	const struct directory *directory = state;
	char *path = path_of(directory, key);
	struct stat st;
	int rc;

	if (!path)
		return fault_nomem(fault);
	rc = fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW);
	if (rc != 0)
		rc = read_fault(directory, key, errno, fault);
	else if (!S_ISREG(st.st_mode))
		rc = read_fault(directory, key, EINVAL, fault);
	else
		*size = (uint64_t)st.st_size;
	free(path);
	return rc;
}

/* Opens a file that has all of [offset, offset + len). */
static int open_object(const struct directory *directory, const char *key, uint64_t offset,
		       uint64_t len, struct fault *fault)
{
	char *path = path_of(directory, key);
	struct stat st;
	int error;
	int fd;

	if (!path)
		return fault_nomem(fault);
	/* Not blocking: a pipe must not hold us up. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	error = fd < 0 || fstat(fd, &st) != 0 ? errno : 0;
	free(path);
	if (!error && !S_ISREG(st.st_mode))
		error = EINVAL;
	if (error) {
		read_fault(directory, key, error, fault);
	} else if (offset > (uint64_t)st.st_size || len > (uint64_t)st.st_size - offset) {
		fault_set(fault, FAULT_DAMAGED, NULL, "%s has %lld bytes, fewer than are expected",
			  key, (long long)st.st_size);
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int directory_read(void *state, const char *key, uint64_t offset, uint64_t len,
			  brevis_write_fn write, void *ctx, struct fault *fault)
{
	const struct directory *directory = state;
	size_t step = len < STEP ? (size_t)len : STEP;
	uint8_t *buf = malloc(step ? step : 1);
	int rc = 0;
	int fd;

	if (!buf)
		return fault_nomem(fault);
	fd = open_object(directory, key, offset, len, fault);
	if (fd < 0) {
		free(buf);
		return -1;
	}
	if (len > STEP)
		(void)posix_fadvise(fd, (off_t)offset, (off_t)len, POSIX_FADV_SEQUENTIAL);
	while (rc == 0 && len) {
		size_t n = len < step ? (size_t)len : step;

		if (stream_read_at(fd, buf, n, offset) != 0)
			rc = read_fault(directory, key, errno, fault);
		else if (write(ctx, buf, n) != 0)
			rc = fault_set(fault, FAULT_CANCELLED, NULL, "reading %s was stopped", key);
		offset += n;
		len -= n;
	}
	close(fd);
	free(buf);
	return rc;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Makes the directories of a path that are missing below the store's own. Most often only the last
 * ones are, so it begins there. Returns -1 with errno. */
static int make_directories(const struct directory *directory, char *path)
{
	char *slash = strrchr(path, '/');
	int rc;

	if (slash <= path + strlen(directory->root)) {
		errno = ENOENT;
		return -1;
	}
	*slash = 0;
	rc = mkdir(path, 0777);
	if (rc != 0 && errno == ENOENT && make_directories(directory, path) == 0)
		rc = mkdir(path, 0777);
	if (rc != 0 && errno == EEXIST)
		rc = 0;
	*slash = '/';
	return rc;
}

/* Begins a file that will be placed under a key. */
static int begin(const struct directory *directory, const char *key, const char *token,
		 struct new_file *file)
{
	const char *slash = strrchr(key, '/');
	char *place = path_of(directory, TEMPORARY);
	char *temporary = NULL;
	int rc = -1;

	if (!place || asprintf(&temporary, "%s/%s.%s", place, slash ? slash + 1 : key, token) < 0) {
		temporary = NULL;
		errno = ENOMEM;
		goto out;
	}
	rc = new_file_make(file, place, temporary, 0666);
	if (rc != 0 && errno == ENOENT && make_directories(directory, temporary) == 0)
		rc = new_file_make(file, place, temporary, 0666);
out:
	free(place);
	free(temporary);
	return rc;
}

static int place(const struct directory *directory, const char *key, struct new_file *file)
{
	char *path = path_of(directory, key);
	bool was_there;
	int rc;

	if (!path) {
		errno = ENOMEM;
		return -1;
	}
	rc = new_file_place(file, path, &was_there);
	if (rc != 0 && errno == ENOENT && make_directories(directory, path) == 0)
		rc = new_file_place(file, path, &was_there);
	free(path);
	return rc;
}

/* Reads the next step of a feed, a whole one unless it is the last. Returns its size, 0 at the end,
 * or -1 with *fault. */
static ssize_t next_step(struct feed *feed, void *buf, size_t step, uint64_t at,
			 struct fault *fault)
{
	ssize_t got = -1;

	errno = 0;
	if (feed_wait(feed, at, step) >= 0)
		got = feed_read(feed, buf, step, at);
	if (got >= 0)
		return got;
	if (errno)
		return fault_set(fault, FAULT_LOCAL, NULL, "reading what is to be sent: %s",
				 strerror(errno));
	return fault_set(fault, FAULT_CANCELLED, NULL, "the upload was stopped");
}

static void begin_write_back(int fd, uint64_t from, uint64_t to)
{
	(void)sync_file_range(fd, (off_t)from, (off_t)(to - from), SYNC_FILE_RANGE_WRITE);
}

/* Copies what the feed yields until its end, and has it on the disk, or on its way. */
static int copy(const struct directory *directory, const struct driver_upload *upload, int fd,
		struct fault *fault)
{
	uint64_t limit = feed_limit(upload->feed);
	size_t step = limit < STEP ? (size_t)limit + 1 : STEP;
	uint8_t *buf = malloc(step);
	uint64_t begun = 0;
	uint64_t at = 0;
	int error = 0;
	ssize_t got;

	if (!buf)
		return fault_nomem(fault);
	while ((got = next_step(upload->feed, buf, step, at, fault)) > 0) {
		if (stream_write(&fd, buf, (size_t)got) != 0) {
			error = errno;
			break;
		}
		at += (uint64_t)got;
		upload->sent(upload->ctx, (uint64_t)got);
		if (at - begun >= WRITE_BACK_STEP) {
			begin_write_back(fd, begun, at);
			begun = at;
		}
	}
	free(buf);
	if (got < 0)
		return -1;
	if (!error && at < LARGE)
		begin_write_back(fd, 0, at);
	else if (!error && fdatasync(fd) != 0)
		error = errno;
	if (error)
		return fault_errno(fault, error,
				   "writing %s/%s stopped after %" PRIu64 " of up to %" PRIu64
				   " bytes",
				   directory->root, upload->key, at, limit);
	return 0;
}

static int directory_put(void *state, const struct driver_upload *upload, struct fault *fault)
{
	struct directory *directory = state;
	struct new_file file;
	int rc;

	if (begin(directory, upload->key, journal_token(upload->journal), &file) != 0)
		return write_fault(directory, upload->key, errno, fault);
	/* A file with a name may be left: then the next attempt is to know it by its token. */
	if (file.name)
		journal_begin(upload->journal, "", 0);
	rc = copy(directory, upload, file.fd, fault);
	if (rc == 0 && place(directory, upload->key, &file) != 0)
		rc = write_fault(directory, upload->key, errno, fault);
	new_file_close(&file);
	if (rc == 0)
		directory->written = true;
	return rc;
}

static int directory_put_bytes(void *state, const char *key, const void *data, size_t len,
			       struct fault *fault)
{
	struct directory *directory = state;
	struct new_file file;
	char token[17];
	uint64_t random;
	int rc;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return fault_errno(fault, errno, "taking a random number");
	snprintf(token, sizeof(token), "%016" PRIx64, random);
	if (begin(directory, key, token, &file) != 0)
		return write_fault(directory, key, errno, fault);
	rc = stream_write(&file.fd, data, len);
	if (rc == 0)
		rc = fdatasync(file.fd);
	if (rc == 0)
		rc = place(directory, key, &file);
	if (rc != 0)
		write_fault(directory, key, errno, fault);
	new_file_close(&file);
	if (rc == 0)
		directory->written = true;
	return rc;
}

static int directory_create(void *state, struct fault *fault)
{
	static const char *const keys[] = {OBJECTS, TEMPORARY};
	struct directory *directory = state;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *path = path_of(directory, keys[i]);
		int fd = path ? cache_directory_make(path) : -1;
		int error = errno;

		free(path);
		if (fd < 0)
			return fault_errno(fault, path ? error : ENOMEM,
					   "making the directory %s/%s", directory->root, keys[i]);
		close(fd);
	}
	directory->written = true;
	return 0;
}

/* ---- listing and removing ------------------------------------------------------------------- */

/* What is being listed. */
struct listing {
	const struct directory *directory;
	int (*each)(void *ctx, const struct store_entry *entry);
	void *ctx;
	struct fault *fault;
};

static bool is_hex(const char *text, size_t len)
{
	return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

/* Tells of a file, unless it has gone meanwhile, or is none. */
static int tell(const struct listing *listing, int dir_fd, const char *key, bool object)
{
	const char *name = strrchr(key, '/') + 1;
	struct store_entry entry = {.oid = object ? name : NULL, .key = key};
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno == ENOENT)
			return 0;
		return read_fault(listing->directory, key, errno, listing->fault);
	}
	if (!S_ISREG(st.st_mode))
		return 0;
	entry.size = (uint64_t)st.st_size;
	entry.modified = st.st_mtime;
	if (listing->each(listing->ctx, &entry) != 0)
		return fault_set(listing->fault, FAULT_CANCELLED, NULL, "listing was stopped");
	return 0;
}

static int list_in(const struct listing *listing, const char *key, unsigned depth);

/* How deep a directory is below the store: objects/ab/cd holds objects, tmp what is incomplete. */
#define FILES       2
#define TEMPORARIES 3

/* True if a file of objects/ab/cd (key) has an object's name, and is where it belongs. */
static bool is_object(const char *key, const char *name)
{
	const char *at = key + strlen(OBJECTS "/");

	return is_hex(name, OID_SIZE) && strncmp(name, at, 2) == 0 &&
	       strncmp(name + 2, at + 3, 2) == 0;
}

/* What does not belong there is passed over. */
static int list_one(const struct listing *listing, int dir_fd, const char *key, const char *name,
		    unsigned depth)
{
	char *path;
	int rc = 0;

	if (name[0] == '.' || (depth < FILES && !is_hex(name, 2)) ||
	    (depth == FILES && !is_object(key, name)))
		return 0;
	if (asprintf(&path, "%s/%s", key, name) < 0)
		return fault_nomem(listing->fault);
	if (depth < FILES)
		rc = list_in(listing, path, depth + 1);
	else
		rc = tell(listing, dir_fd, path, depth == FILES);
	free(path);
	return rc;
}

static int list_in(const struct listing *listing, const char *key, unsigned depth)
{
	char *path = path_of(listing->directory, key);
	DIR *dir = path ? opendir(path) : NULL;
	int error = path ? errno : ENOMEM;
	struct dirent *entry;
	int rc = 0;

	free(path);
	/* It may have gone meanwhile, or be something that is none of ours. */
	if (!dir && (error == ENOENT || error == ENOTDIR) && is_there(listing->directory))
		return 0;
	if (!dir)
		return read_fault(listing->directory, key, error, listing->fault);
	while (rc == 0) {
		errno = 0;
		entry = readdir(dir);
		if (!entry)
			break;
		rc = list_one(listing, dirfd(dir), key, entry->d_name, depth);
	}
	if (rc == 0 && errno)
		rc = read_fault(listing->directory, key, errno, listing->fault);
	closedir(dir);
	return rc;
}

static int directory_list(void *state, bool temporaries,
			  int (*each)(void *ctx, const struct store_entry *entry), void *ctx,
			  struct fault *fault)
{
	const struct listing listing = {state, each, ctx, fault};

	return temporaries ? list_in(&listing, TEMPORARY, TEMPORARIES)
			   : list_in(&listing, OBJECTS, 0);
}

static int directory_remove(void *state, const struct store_entry *entry, struct fault *fault)
{
	const struct directory *directory = state;
	char *path = path_of(directory, entry->key);
	int rc;

	if (!path)
		return fault_nomem(fault);
	rc = unlink(path);
	if (rc != 0 && (errno == ENOENT || errno == ENOTDIR) && is_there(directory))
		rc = 0;
	if (rc != 0)
		rc = write_fault(directory, entry->key, errno, fault);
	free(path);
	return rc;
}

const struct driver driver_directory = {
	.name = "directory",
	.open = directory_open,
	.close = directory_close,
	.size = directory_size,
	.read = directory_read,
	.put = directory_put,
	.put_bytes = directory_put_bytes,
	.create = directory_create,
	.list = directory_list,
	.remove = directory_remove,
};
