/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/known.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/objects/cache_file.h"
#include "filter/cli/report.h"

/* Entries of one size that are looked at: contents of equal size are the revisions of one file, of
 * which only the latest few are worth following. */
#define SCAN_LIMIT 4096

/* When this system was started, by the clock of files. */
static int64_t seconds_of_boot(void)
{
	struct timespec now, running;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &running);
	return (int64_t)now.tv_sec - running.tv_sec;
}

int64_t (*known_boot)(void) = seconds_of_boot;
uid_t (*known_user)(void) = geteuid;

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
static bool read_entry(int dir_fd, const char *name, struct pointer *out, struct stat *st)
{
	char text[POINTER_SIZE_LIMIT - 1];
	ssize_t len = cache_file_read(dir_fd, name, text, sizeof(text), st);

	return len > 0 && pointer_parse(text, (size_t)len, out);
}

/* True if we wrote it, and nobody else can have: others that share the objects may say what they
 * like. */
static bool is_ours(const struct stat *st)
{
	return st->st_uid == known_user() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Opens <lfs dir>/brevis/known/<size>, which is made if make is set. */
static int open_directory(const struct known *known, uint64_t size, bool make)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/%" PRIu64, known->dir, size) < 0)
		return -1;
	fd = make ? cache_directory_make(path) : cache_directory_open(path);
	free(path);
	return fd;
}

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

bool known_find(const struct known *known, uint64_t size, const uint8_t sha256[BREVIS_SHA256_SIZE],
		struct pointer *out)
{
	char name[OID_HEX_SIZE + 1];
	int dir_fd = open_directory(known, size, false);
	bool found;

	if (dir_fd < 0)
		return false;
	digest_to_hex(sha256, name);
	found = read_entry(dir_fd, name, out, NULL);
	close(dir_fd);
	return found;
}

/* Bytes of the name of an entry that another user's took the place of. */
#define KEPT_NAME (OID_HEX_SIZE + 24)

static void kept_name(char kept[KEPT_NAME], const char *name, uid_t user)
{
	snprintf(kept, KEPT_NAME, "%s-%ju", name, (uintmax_t)user);
}

/* True if an entry is of this user, and was written since its object changed, and the system was
 * started. */
static bool entry_vouches(int dir_fd, const char *name, const struct pointer *pointer,
			  const struct timespec *changed)
{
	struct pointer found;
	struct stat st;

	return read_entry(dir_fd, name, &found, &st) && is_ours(&st) &&
	       pointer_equal(&found, pointer) && !is_newer(changed, &st.st_mtim) &&
	       st.st_mtim.tv_sec >= known_boot();
}

bool known_vouches(const struct known *known, uint64_t size,
		   const uint8_t sha256[BREVIS_SHA256_SIZE], const struct pointer *pointer,
		   const struct timespec *changed)
{
	char name[OID_HEX_SIZE + 1];
	char kept[KEPT_NAME];
	int dir_fd = open_directory(known, size, false);
	bool vouches;

	if (dir_fd < 0)
		return false;
	digest_to_hex(sha256, name);
	kept_name(kept, name, known_user());
	vouches = entry_vouches(dir_fd, name, pointer, changed) ||
		  entry_vouches(dir_fd, kept, pointer, changed);
	close(dir_fd);
	return vouches;
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
	int dir_fd = open_directory(known, size, false);
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
		struct stat st;

		if (strlen(entry->d_name) != OID_HEX_SIZE ||
		    !read_entry(dir_fd, entry->d_name, &one.pointer, &st))
			continue;
		one.when = st.st_mtim;
		insert(list, &count, max, &one);
	}
	for (i = 0; i < count; i++)
		out[i] = list[i].pointer;
	if (dir)
		closedir(dir);
	free(list);
	return count;
}

void known_add(const struct known *known, uint64_t size, const uint8_t sha256[BREVIS_SHA256_SIZE],
	       const struct pointer *pointer)
{
	char text[POINTER_TEXT_SIZE];
	char name[OID_HEX_SIZE + 1];
	char kept[KEPT_NAME];
	struct pointer there;
	struct stat st;
	bool is_known;
	int dir_fd = open_directory(known, size, true);

	digest_to_hex(sha256, name);
	if (dir_fd < 0) {
		report_trace("cannot remember content %s: %m", name);
		return;
	}
	is_known = read_entry(dir_fd, name, &there, &st) && pointer_equal(&there, pointer);
	/* Who wrote the same keeps it, out of our way: else users who take turns at one repository
	 * would prove again, each time, what they have proven. */
	if (is_known && st.st_uid != known_user()) {
		kept_name(kept, name, st.st_uid);
		renameat(dir_fd, name, dir_fd, kept);
	}
	/* The same entry again only becomes the newest. */
	if (is_known && is_ours(&st))
		utimensat(dir_fd, name, NULL, AT_SYMLINK_NOFOLLOW);
	else if (cache_file_write(dir_fd, name, text, pointer_format(pointer, text)) != 0)
		report_trace("cannot remember content %s: %m", name);
	close(dir_fd);
}
