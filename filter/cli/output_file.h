/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The file that compress and decompress make: written under a temporary name beside its own,
 * synced, and renamed when it is complete; or standard output.
 */
#ifndef FILTER_OUTPUT_FILE_H
#define FILTER_OUTPUT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/brevis.h"

struct output_file;

/**
 * Opens the output. path "-" is standard output; a device or named pipe is written as it is. An
 * existing file is an error unless force is set. mode is that of the new file; the umask applies.
 * Reports and returns NULL on failure.
 */
struct output_file *output_file_open(const char *path, bool force, mode_t mode);

/** A brevis_write_fn. The first error sticks and is reported by output_file_flush. */
int output_file_write(void *output, const void *data, size_t len);

/** Hands everything to the system. Reports and returns -1 if any write failed. */
int output_file_flush(struct output_file *output);

/** True once a write failed. */
bool output_file_failed(const struct output_file *output);

/** The descriptor for reading back what was flushed, or -1 if that is not possible. */
int output_file_fd(const struct output_file *output);

/** Flushes, syncs and gives the file its name. Reports and returns -1 on failure. */
int output_file_commit(struct output_file *output);

/** Frees it and removes what was not committed. NULL is allowed. */
void output_file_free(struct output_file *output);

#endif
