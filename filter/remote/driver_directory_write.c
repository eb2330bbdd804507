/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writing to stores that are directories.
 *
 * Whether an upload waits for the disk is what git's settings say of its loose objects (see
 * sync_policy.h), there as here. Where nobody waits, the bytes are at least on their way before the
 * object gets its name: a file system that orders them keeps that order.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/objects/cache_file.h"
#include "filter/remote/driver_directory.h"
#include "filter/remote/new_file.h"
#include "filter/stream.h"
#include "filter/objects/token.h"

/* Bytes that are written at a time. */
#define STEP ((size_t)1 << 20)

/* The system is told to begin writing to the disk after so many bytes. */
#define WRITE_BACK_STEP ((uint64_t)16 << 20)

/* ---- the disk ------------------------------------------------------------------------------- */

/* A hint: whether it got there is what fsync tells. */
static void begin_write_back(int fd, uint64_t from, uint64_t to)
{
	if (to > from)
		(void)sync_file_range(fd, (off_t)from, (off_t)(to - from), SYNC_FILE_RANGE_WRITE);
}

/* Brings a file of this size, the last bytes of which were not begun with, to the disk, as far as
 * the policy has it. Returns -1 with errno. */
static int settle(const struct directory *directory, int fd, uint64_t begun, uint64_t size)
{
	const unsigned wait =
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

	if (directory->sync == SYNC_BEGIN) {
		begin_write_back(fd, begun, size);
		return 0;
	}
	/* Like git, sync where the file system knows no other way to wait. */
	if (directory->sync == SYNC_WRITE_OUT && sync_file_range(fd, 0, 0, wait) == 0)
		return 0;
	return fsync(fd);
}

/* Makes the names in all directories of a path durable, if they are to be, up to the store's own.
 * A system that cannot is left alone. */
static void settle_names(const struct directory *directory, char *path)
{
	char *slash;

	if (directory->sync != SYNC_DURABLE)
		return;
	while ((slash = strrchr(path, '/')) > path + strlen(directory->root)) {
		int fd;

		*slash = 0;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0) {
			fsync(fd);
			close(fd);
		}
	}
}

/* ---- new files ------------------------------------------------------------------------------ */

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
	char *place = directory_path(directory, TEMPORARY);
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
	char *path = directory_path(directory, key);
	bool was_there;
	int rc;

	if (!path) {
		errno = ENOMEM;
		return -1;
	}
	rc = new_file_place(file, path, &was_there);
	if (rc != 0 && errno == ENOENT && make_directories(directory, path) == 0)
		rc = new_file_place(file, path, &was_there);
	if (rc == 0)
		settle_names(directory, path);
	free(path);
	return rc;
}

/* Waits for the next step of a feed, a whole one unless it is the last, and reads it if there is a
 * buf. Returns its size, 0 at the end, or -1 with *fault. */
static ssize_t next_step(struct feed *feed, void *buf, size_t step, uint64_t at,
			 struct fault *fault)
{
	ssize_t got;

	errno = 0;
	got = feed_wait(feed, at, step);
	if (got > 0 && buf)
		got = feed_read(feed, buf, step, at);
	if (got >= 0)
		return got;
	if (errno)
		return fault_set(fault, FAULT_LOCAL, NULL, "reading what is to be sent: %s",
				 strerror(errno));
	return fault_set(fault, FAULT_CANCELLED, NULL, "the upload was stopped");
}

/* Copies what the feed yields until its end, and brings it to the disk. If the file is the feed's
 * own, there is nothing to copy. */
static int copy(const struct directory *directory, const struct driver_upload *upload, int fd,
		struct fault *fault)
{
	uint64_t limit = feed_limit(upload->feed);
	size_t step = limit < STEP ? (size_t)limit + 1 : STEP;
	bool is_own = fd == feed_fd(upload->feed);
	uint8_t *buf = is_own ? NULL : malloc(step);
	uint64_t begun = 0;
	uint64_t at = 0;
	int error = 0;
	ssize_t got;

	if (!buf && !is_own)
		return fault_nomem(fault);
	while ((got = next_step(upload->feed, buf, step, at, fault)) > 0) {
		if (!is_own && stream_write(&fd, buf, (size_t)got) != 0) {
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
	if (!error && settle(directory, fd, begun, at) != 0)
		error = errno;
	if (error)
		return fault_errno(fault, error,
				   "writing %s/%s stopped after %" PRIu64 " of up to %" PRIu64
				   " bytes",
				   directory->root, upload->key, at, limit);
	return 0;
}

int directory_scratch(void *state)
{
	const struct directory *directory = state;
	char *place = directory_path(directory, TEMPORARY);
	int fd = -1;

	if (place)
		fd = open(place, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	free(place);
	return fd;
}

/* True if the feed's file has no name, and can be given one in the store. */
static bool can_be_named(const struct directory *directory, const struct feed *feed)
{
	int flags = fcntl(feed_fd(feed), F_GETFL);
	char *place = directory_path(directory, TEMPORARY);
	struct stat there, here;
	bool can;

	/* Those that had a name once cannot. */
	can = place && flags >= 0 && (flags & O_TMPFILE) == O_TMPFILE && stat(place, &there) == 0 &&
	      fstat(feed_fd(feed), &here) == 0 && here.st_nlink == 0 && here.st_dev == there.st_dev;
	free(place);
	return can;
}

/* Gives the feed's own file the object's name. Returns 1 if it has to be copied after all. */
static int put_own(const struct directory *directory, const struct driver_upload *upload,
		   struct fault *fault)
{
	struct new_file own = {.fd = feed_fd(upload->feed), .guard = -1};
	struct stat st;
	uint64_t size;

	if (copy(directory, upload, own.fd, fault) != 0)
		return -1;
	/* The end was granted: what is in the file behind it is not part of the object. */
	if (feed_size(upload->feed, &size) != 0 || fstat(own.fd, &st) != 0 ||
	    (uint64_t)st.st_size != size)
		return 1;
	return place(directory, upload->key, &own) == 0 ? 0 : 1;
}

static int put_copy(const struct directory *directory, const struct driver_upload *upload,
		    struct fault *fault)
{
	struct new_file file;
	int rc;

	if (begin(directory, upload->key, journal_token(upload->journal), &file) != 0)
		return directory_write_fault(directory, upload->key, errno, fault);
	/* A file with a name may be left: then the next attempt is to know it by its token. */
	if (file.name)
		journal_begin(upload->journal, "", 0);
	rc = copy(directory, upload, file.fd, fault);
	if (rc == 0 && place(directory, upload->key, &file) != 0)
		rc = directory_write_fault(directory, upload->key, errno, fault);
	new_file_close(&file);
	return rc;
}

static void count_none(void *ctx, uint64_t bytes)
{
	(void)ctx;
	(void)bytes;
}

int directory_put(void *state, const struct driver_upload *upload, struct fault *fault)
{
	const struct directory *directory = state;
	struct driver_upload copying = *upload;
	int rc;

	if (can_be_named(directory, upload->feed)) {
		rc = put_own(directory, upload, fault);
		if (rc <= 0)
			return rc;
		copying.sent = count_none; /* all has been counted */
	}
	return put_copy(directory, &copying, fault);
}

int directory_put_bytes(void *state, const char *key, const void *data, size_t len,
			struct fault *fault)
{
	const struct directory *directory = state;
	struct new_file file;
	char token[TOKEN_SIZE + 1];
	int rc;

	if (token_make(token) != 0)
		return fault_errno(fault, errno, "taking a random number");
	if (begin(directory, key, token, &file) != 0)
		return directory_write_fault(directory, key, errno, fault);
	rc = stream_write(&file.fd, data, len);
	if (rc == 0)
		rc = fsync(file.fd);
	if (rc == 0)
		rc = place(directory, key, &file);
	if (rc != 0)
		directory_write_fault(directory, key, errno, fault);
	new_file_close(&file);
	return rc;
}

int directory_create(void *state, struct fault *fault)
{
	static const char *const keys[] = {OBJECTS, TEMPORARY};
	const struct directory *directory = state;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *path = directory_path(directory, keys[i]);
		int fd = path ? cache_directory_make(path) : -1;
		int error = errno;

		free(path);
		if (fd < 0)
			return fault_errno(fault, path ? error : ENOMEM,
					   "making the directory %s/%s", directory->root, keys[i]);
		close(fd);
	}
	return 0;
}
