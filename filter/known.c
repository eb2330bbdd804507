/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/known.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/report.h"

/* Entries of one size that are looked at: contents of equal size are the revisions of one file, of
 * which only the latest few are worth following. */
#define SCAN_LIMIT 4096

struct known {
	char *dir; /* <lfs dir>/brevis/known */
};

struct known *known_new(const char *lfs_dir)
{
	struct known *known = calloc(1, sizeof(*known));

	if (known && asprintf(&known->dir, "%s/brevis/known", lfs_dir) < 0)
		known->dir = NULL;
	if (!known || !known->dir) {
		known_free(known);
		report_error("out of memory");
		return NULL;
	}
	return known;
}

void known_free(struct known *known)
{
	if (!known)
		return;
	free(known->dir);
	free(known);
}

/* Reads the pointer in an entry. Whatever is no small regular file that holds one is no entry. */
static bool read_entry(int dir_fd, const char *name, struct pointer *out, struct timespec *when)
{
	char text[POINTER_SIZE_LIMIT];
	struct stat st;
	ssize_t len = -1;
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < POINTER_SIZE_LIMIT)
		len = read(fd, text, sizeof(text));
	close(fd);
	if (when)
		*when = st.st_mtim;
	return len > 0 && pointer_parse(text, (size_t)len, out);
}

static int open_directory(const struct known *known, uint64_t size)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/%" PRIu64, known->dir, size) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	return fd;
}

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* The entry of this content, and when it was written. */
static bool find(const struct known *known, uint64_t size, const uint8_t sha256[BREVIS_SHA256_SIZE],
		 struct pointer *out, struct timespec *when)
{
	char name[OID_HEX_SIZE + 1];
	int dir_fd = open_directory(known, size);
	bool found;

	if (dir_fd < 0)
		return false;
	digest_to_hex(sha256, name);
	found = read_entry(dir_fd, name, out, when);
	close(dir_fd);
	return found;
}

bool known_find(const struct known *known, uint64_t size, const uint8_t sha256[BREVIS_SHA256_SIZE],
		struct pointer *out)
{
	return find(known, size, sha256, out, NULL);
}

bool known_vouches(const struct known *known, uint64_t size,
		   const uint8_t sha256[BREVIS_SHA256_SIZE], const struct pointer *pointer,
		   const struct timespec *changed)
{
	struct pointer found;
	struct timespec when;

	return find(known, size, sha256, &found, &when) && pointer_equal(&found, pointer) &&
	       !is_newer(changed, &when);
}

struct dated {
	struct pointer pointer;
	struct timespec when;
};

/* Sorts one into the list of the newest max, of which *count are filled. */
static void insert(struct dated *list, size_t *count, size_t max, const struct dated *one)
{
	size_t at = *count;

	while (at > 0 && is_newer(&one->when, &list[at - 1].when))
		at--;
	if (at == max)
		return;
	if (*count < max)
		(*count)++;
	memmove(list + at + 1, list + at, (*count - at - 1) * sizeof(*list));
	list[at] = *one;
}

size_t known_of_size(const struct known *known, uint64_t size, struct pointer *out, size_t max)
{
	int dir_fd = open_directory(known, size);
	struct dated *list = calloc(max ? max : 1, sizeof(*list));
	DIR *dir = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;
	struct dirent *entry;
	unsigned scanned = 0;
	size_t count = 0;
	size_t i;

	if (!dir && dir_fd >= 0)
		close(dir_fd);
	while (dir && list && scanned++ < SCAN_LIMIT && (entry = readdir(dir))) {
		struct dated one;

		if (strlen(entry->d_name) == OID_HEX_SIZE &&
		    read_entry(dir_fd, entry->d_name, &one.pointer, &one.when))
			insert(list, &count, max, &one);
	}
	for (i = 0; i < count; i++)
		out[i] = list[i].pointer;
	if (dir)
		closedir(dir);
	free(list);
	return count;
}

/* Makes <lfs dir>/brevis/known/<size> and what is missing above it, and opens it. */
static int make_directory(const struct known *known, uint64_t size)
{
	char *path;
	char *slash;
	int fd = -1;

	if (asprintf(&path, "%s/%" PRIu64, known->dir, size) < 0)
		return -1;
	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			goto out;
		*slash = '/';
	}
	if (mkdir(path, 0777) != 0 && errno != EEXIST)
		goto out;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
out:
	free(path);
	return fd;
}

/* Writes a new entry under a temporary name and moves it into place. */
static int write_entry(int dir_fd, const char *name, const struct pointer *pointer)
{
	char text[POINTER_TEXT_SIZE];
	char temporary[32];
	uint64_t random;
	size_t len = pointer_format(pointer, text);
	int fd;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -1;
	snprintf(temporary, sizeof(temporary), "new-%016" PRIx64, random);
	fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -1;
	if (write(fd, text, len) != (ssize_t)len) {
		close(fd);
		unlinkat(dir_fd, temporary, 0);
		return -1;
	}
	if (close(fd) != 0 || renameat(dir_fd, temporary, dir_fd, name) != 0) {
		unlinkat(dir_fd, temporary, 0);
		return -1;
	}
	return 0;
}

void known_add(const struct known *known, uint64_t size, const uint8_t sha256[BREVIS_SHA256_SIZE],
	       const struct pointer *pointer)
{
	char name[OID_HEX_SIZE + 1];
	struct pointer there;
	int dir_fd = make_directory(known, size);

	digest_to_hex(sha256, name);
	if (dir_fd < 0) {
		report_trace("cannot remember content %s: %m", name);
		return;
	}
	/* The same entry again only becomes the newest. */
	if (read_entry(dir_fd, name, &there, NULL) && pointer_equal(&there, pointer))
		utimensat(dir_fd, name, NULL, AT_SYMLINK_NOFOLLOW);
	else if (write_entry(dir_fd, name, pointer) != 0)
		report_trace("cannot remember content %s: %m", name);
	close(dir_fd);
}
