/* SPDX-License-Identifier: Apache-2.0 */
/** Listings that sftp servers send, and where an upload goes on. Nothing here needs a server. */
#ifndef FILTER_REMOTE_SFTP_TEXT_H
#define FILTER_REMOTE_SFTP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Takes the next line out of a text, without its end. Returns false after the last. */
bool sftp_next_line(const char **text, const char *end, const char **line, size_t *len);

struct sftp_entry {
	const char *name; /* within the line */
	size_t name_len;
	uint64_t size;
};

/**
 * Reads a line that describes a regular file as "ls -l" does: "-rw-r--r-- 1 user group SIZE Nov 30
 * 12:13 NAME", where user and group may have blanks, NAME has none. Returns false for anything
 * else.
 */
bool sftp_entry_parse(const char *line, size_t len, struct sftp_entry *out);

/** More than what was given to be sent, but is not acknowledged: 2 MiB that libcurl takes, and what
 * is left of those before. Blocks of an upload are not smaller. */
#define SFTP_ON_ITS_WAY ((uint64_t)4 << 20)

/** How an upload goes on. */
struct sftp_resume {
	uint64_t offset;  /* 0: from the beginning */
	uint64_t compare; /* if offset is not 0: what the server has from here to there is to be
			     read again and compared */
};

/**
 * OpenSSH appends wherever the file ends, so that is where an upload goes on, or it begins anew.
 * known: blocks of part_size that the server had acknowledged; the last of them, and what came
 * after, is compared. A file that is shorter than them lost some; one that is longer than what can
 * have been under way is not ours.
 */
struct sftp_resume sftp_resume_plan(uint64_t remote_size, uint64_t part_size, size_t known);

#endif
