/* SPDX-License-Identifier: Apache-2.0 */
/** Reading a file whole: what the measuring programs do with their arguments. */
#ifndef SCRIPTS_LOAD_FILE_H
#define SCRIPTS_LOAD_FILE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/**
 * Reads all of path into memory that the caller frees, also after a failure. Returns nonzero, with
 * errno set, if that is not possible.
 */
static int load_file(const char *path, uint8_t **data, size_t *size)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	int r = -1;

	if (!f || fstat(fileno(f), &st) != 0)
		goto out;
	*size = (size_t)st.st_size;
	*data = malloc(*size + 1);
	if (*data && fread(*data, 1, *size, f) == *size)
		r = 0;
	else if (!errno)
		errno = EIO;
out:
	if (f)
		fclose(f);
	return r;
}

#endif
