/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/shared_mode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FOR_GROUP 0660
#define FOR_ALL   0664

static char *shared_dir;
static char *shared_value;

/* The permissions that a value names, and whether there are to be no others. */
static mode_t named_mode(const char *value, bool *exactly)
{
	static const struct {
		const char *name;
		mode_t mode;
	} names[] = {
		{"group", FOR_GROUP}, {"true", FOR_GROUP},    {"yes", FOR_GROUP},
		{"on", FOR_GROUP},    {"1", FOR_GROUP},       {"all", FOR_ALL},
		{"world", FOR_ALL},   {"everybody", FOR_ALL}, {"2", FOR_ALL},
	};
	unsigned long number;
	char *end;

	*exactly = false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(value, names[i].name) == 0)
			return names[i].mode;
	number = strtoul(value, &end, 8);
	/* git itself refuses to work where the owner could not. */
	if (*end || (number & 0600) != 0600)
		return 0;
	*exactly = true;
	return (mode_t)number & 0666;
}

mode_t shared_mode(const char *value, mode_t mode)
{
	bool exactly;
	mode_t named = value ? named_mode(value, &exactly) : 0;

	if (!named)
		return mode;
	if (mode & S_IXUSR)
		named |= (named & 0444) >> 2;
	if (exactly)
		mode &= ~(mode_t)0777;
	mode |= named;
	/* What is made in such a directory belongs to its group. */
	if (S_ISDIR(mode) && (mode & 0060))
		mode |= S_ISGID;
	return mode;
}

void shared_mode_begin(const char *dir, const char *value)
{
	shared_mode_end();
	shared_dir = strdup(dir);
	shared_value = value ? strdup(value) : NULL;
}

void shared_mode_end(void)
{
	free(shared_dir);
	free(shared_value);
	shared_dir = NULL;
	shared_value = NULL;
}

static bool is_shared(const char *path)
{
	size_t len = shared_dir && shared_value ? strlen(shared_dir) : 0;

	return len && strncmp(path, shared_dir, len) == 0 && (!path[len] || path[len] == '/');
}

int shared_mkdir(const char *path)
{
	struct stat st;
	int rc = mkdir(path, 0777);

	/* It is no failure that a file system knows no permissions. */
	if (rc == 0 && is_shared(path) && stat(path, &st) == 0 &&
	    shared_mode(shared_value, st.st_mode) != st.st_mode)
		(void)!chmod(path, shared_mode(shared_value, st.st_mode) & 07777);
	return rc;
}

void shared_file(int fd, const char *path)
{
	struct stat st;

	if (is_shared(path) && fstat(fd, &st) == 0 &&
	    shared_mode(shared_value, st.st_mode) != st.st_mode)
		(void)!fchmod(fd, shared_mode(shared_value, st.st_mode) & 07777);
}
