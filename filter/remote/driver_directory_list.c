/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/remote/driver_directory.h"

#define OID_SIZE   64
#define TOKEN_SIZE 16

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
		return directory_read_fault(listing->directory, key, errno, listing->fault);
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

/* True if a file of tmp has the name of an upload: of an object or the description, a token. */
static bool is_temporary(const char *name)
{
	const char *token = strrchr(name, '.');
	size_t len = token ? (size_t)(token - name) : 0;

	if (!token || !is_hex(token + 1, TOKEN_SIZE))
		return false;
	return (len == OID_SIZE && strspn(name, "0123456789abcdef") == len) ||
	       (len == strlen(STORE_DESCRIPTION) && strncmp(name, STORE_DESCRIPTION, len) == 0);
}

/* Opens a directory to be read; as directory_open_above. */
static DIR *open_below(const struct directory *directory, const char *key)
{
	char *inside;
	int fd = -1;
	int place;
	DIR *dir;

	if (asprintf(&inside, "%s/.", key) < 0) {
		errno = ENOMEM;
		return NULL;
	}
	place = directory_open_above(directory, inside);
	free(inside);
	if (place < 0)
		return NULL;
	fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	close(place);
	return dir;
}

/* What does not belong there is passed over. */
static int list_one(const struct listing *listing, int dir_fd, const char *key, const char *name,
		    unsigned depth)
{
	char *path;
	int rc = 0;

	if (name[0] == '.' || (depth < FILES && !is_hex(name, 2)) ||
	    (depth == FILES && !is_object(key, name)) ||
	    (depth == TEMPORARIES && !is_temporary(name)))
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
	const struct directory *directory = listing->directory;
	DIR *dir = open_below(directory, key);
	int error = errno;
	struct dirent *entry;
	int rc = 0;

	if (!dir && error == ENOTDIR && !strchr(key, '/') && directory_is_there(directory))
		return fault_set(listing->fault, FAULT_DAMAGED, "put a directory in its place",
				 "%s/%s is no directory", directory->root, key);
	/* It may have gone meanwhile, or be something that is none of ours. */
	if (!dir && (error == ENOENT || error == ENOTDIR) && directory_is_there(directory))
		return 0;
	if (!dir)
		return directory_read_fault(listing->directory, key, error, listing->fault);
	while (rc == 0) {
		errno = 0;
		entry = readdir(dir);
		if (!entry)
			break;
		rc = list_one(listing, dirfd(dir), key, entry->d_name, depth);
	}
	if (rc == 0 && errno)
		rc = directory_read_fault(listing->directory, key, errno, listing->fault);
	closedir(dir);
	return rc;
}

int directory_list(void *state, bool temporaries,
		   int (*each)(void *ctx, const struct store_entry *entry), void *ctx,
		   struct fault *fault)
{
	const struct listing listing = {state, each, ctx, fault};

	return temporaries ? list_in(&listing, TEMPORARY, TEMPORARIES)
			   : list_in(&listing, OBJECTS, 0);
}
