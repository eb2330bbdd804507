/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The file: lines of text, each after a checksum of it, the first of which names the token.
 *
 *   SUM token TOKEN
 *   SUM begin PART_SIZE NOTE
 *   SUM part NUMBER DIGEST      (as often as parts were sent)
 *
 * What follows a line that is cut or damaged is not believed. It is not synced: what a loss of
 * power makes of it shows in the checksums, or as parts that are sent again.
 */
#include "filter/remote/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/digest.h"
#include "filter/objects/cache_file.h"
#include "filter/objects/pointer.h"
#include "filter/stream.h"
#include "filter/objects/token.h"

#define SUM_SIZE    17 /* hex digits and a blank */
#define DIGEST_SIZE 128
#define LINE_SIZE   (SUM_SIZE + JOURNAL_NOTE_SIZE + 64)
#define PARTS_MAX   ((size_t)1 << 20)
#define FILE_MAX    ((off_t)64 << 20)
#define NAME_SIZE   (2 * BREVIS_SHA256_SIZE + 1)

struct journal {
	char *path; /* of the directory; NULL: kept nowhere, or .fd is open */
	int dir;
	int fd; /* locked; -1: none, or not yet */
	char name[NAME_SIZE];
	pthread_mutex_t mutex; /* over what follows */
	char token[TOKEN_SIZE + 1];
	char *note; /* NULL: none */
	uint64_t part_size;
	char **parts; /* digests, NULL where none is known */
	size_t part_count;
	off_t good; /* size of what is well written */
	off_t head; /* of the line with the token */
};

static void make_name(char name[NAME_SIZE], const char *store, const char *key)
{
	struct brevis_sha256 *sha = brevis_sha256_new();
	uint8_t digest[BREVIS_SHA256_SIZE];

	*name = 0;
	if (!sha)
		return;
	brevis_sha256_update(sha, store, strlen(store) + 1);
	brevis_sha256_update(sha, key, strlen(key));
	brevis_sha256_final(sha, digest);
	brevis_sha256_free(sha);
	digest_to_hex(digest, name);
}

/* ---- what is known -------------------------------------------------------------------------- */

static void forget_parts(struct journal *journal)
{
	for (size_t i = 0; i < journal->part_count; i++)
		free(journal->parts[i]);
	free(journal->parts);
	journal->parts = NULL;
	journal->part_count = 0;
}

static void begin(struct journal *journal, const char *note, uint64_t part_size)
{
	forget_parts(journal);
	free(journal->note);
	journal->note = strdup(note);
	journal->part_size = journal->note ? part_size : 0;
}

static void set_part(struct journal *journal, size_t i, const char *digest)
{
	char *copy = NULL;

	if (i >= PARTS_MAX)
		return;
	if (i >= journal->part_count) {
		size_t count = i + i / 2 + 16;
		char **parts = realloc(journal->parts, count * sizeof(*parts));

		if (!parts)
			return;
		memset(parts + journal->part_count, 0,
		       (count - journal->part_count) * sizeof(*parts));
		journal->parts = parts;
		journal->part_count = count;
	}
	copy = strdup(digest);
	if (!copy)
		return;
	free(journal->parts[i]);
	journal->parts[i] = copy;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Takes in one line, without its checksum. Returns false if it says nothing that fits. */
static bool take(struct journal *journal, const char *line)
{
	char *rest = NULL;
	uint64_t number;

	if (!journal->head) {
		if (strncmp(line, "token ", 6) != 0 || strlen(line + 6) != TOKEN_SIZE ||
		    strspn(line + 6, "0123456789abcdef") != TOKEN_SIZE)
			return false;
		memcpy(journal->token, line + 6, TOKEN_SIZE + 1);
		return true;
	}
	if (strncmp(line, "begin ", 6) == 0) {
		number = strtoull(line + 6, &rest, 10);
		if (rest == line + 6 || *rest != ' ')
			return false;
		begin(journal, rest + 1, number);
		return true;
	}
	if (strncmp(line, "part ", 5) != 0)
		return false;
	number = strtoull(line + 5, &rest, 10);
	if (rest == line + 5 || *rest != ' ' || number >= PARTS_MAX || !rest[1] ||
	    strlen(rest + 1) > DIGEST_SIZE)
		return false;
	set_part(journal, (size_t)number, rest + 1);
	return true;
}

/* Takes in the lines of a file, as far as they are good. text ends with NUL. */
static void parse(struct journal *journal, char *text)
{
	char *at = text;
	char *end;

	for (; (end = strchr(at, '\n')); at = end + 1) {
		char sum[SUM_SIZE];

		*end = 0;
		if (end - at < SUM_SIZE)
			break;
		snprintf(sum, sizeof(sum), "%016" PRIx64,
			 checksum64(at + SUM_SIZE, (size_t)(end - at) - SUM_SIZE));
		if (memcmp(sum, at, SUM_SIZE - 1) != 0 || !take(journal, at + SUM_SIZE))
			break;
		journal->good = end + 1 - text;
		if (!journal->head)
			journal->head = journal->good;
	}
}

/* Reads the file. Anything that is wrong with it is as if it were empty. */
static void load(struct journal *journal)
{
	struct stat st;
	char *text;

	if (fstat(journal->fd, &st) != 0 || st.st_size > FILE_MAX)
		return;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return;
	text[st.st_size] = 0;
	if (stream_read_at(journal->fd, text, (size_t)st.st_size, 0) == 0)
		parse(journal, text);
	free(text);
}

/* Lets go of the file. What it says stays, or is lost with it. */
static void drop_file(struct journal *journal, bool keep)
{
	if (journal->fd >= 0 && !keep)
		unlinkat(journal->dir, journal->name, 0);
	if (journal->fd >= 0)
		close(journal->fd);
	if (journal->dir >= 0)
		close(journal->dir);
	journal->fd = -1;
	journal->dir = -1;
}

/* Cuts the file to what is good of it. */
static void cut(struct journal *journal, off_t good)
{
	journal->good = good;
	if (journal->fd >= 0 && ftruncate(journal->fd, good) != 0)
		drop_file(journal, false);
}

static void append(struct journal *journal, const char *text)
{
	char line[LINE_SIZE + 1];
	int len;

	if (journal->fd < 0)
		return;
	len = snprintf(line, sizeof(line), "%016" PRIx64 " %s\n", checksum64(text, strlen(text)),
		       text);
	if (pwrite(journal->fd, line, (size_t)len, journal->good) == len)
		journal->good += len;
	else
		cut(journal, journal->good);
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Opens the file and locks it. Returns -1 with errno if another process has it (EWOULDBLOCK), or
 * there is none. flags may be O_CREAT. */
static int open_locked(const struct journal *journal, int flags)
{
	/* A file that was removed between our opening and our locking it is not the one. */
	for (int attempt = 0; attempt < 10; attempt++) {
		struct stat ours, named;
		int fd = openat(journal->dir, journal->name,
				O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0666);

		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &ours) != 0 ||
		    !S_ISREG(ours.st_mode)) {
			close(fd);
			break;
		}
		if (fstatat(journal->dir, journal->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    named.st_dev == ours.st_dev && named.st_ino == ours.st_ino)
			return fd;
		close(fd);
	}
	errno = EWOULDBLOCK;
	return -1;
}

/* Opens the file that is there, or makes one. Without one there may be one later; where another
 * process has it, or there can be none, nothing is kept. */
static void open_file(struct journal *journal, bool make)
{
	bool later = !make;

	journal->dir = cache_directory_open(journal->path);
	if (journal->dir < 0 && make)
		journal->dir = cache_directory_make(journal->path);
	if (journal->dir >= 0)
		journal->fd = open_locked(journal, make ? O_CREAT : 0);
	if (journal->fd < 0) {
		later = later && errno == ENOENT;
		drop_file(journal, true);
	}
	if (journal->fd >= 0 || !later) {
		free(journal->path);
		journal->path = NULL;
	}
}

static void write_token(struct journal *journal)
{
	char line[TOKEN_SIZE + 8];

	cut(journal, 0);
	snprintf(line, sizeof(line), "token %s", journal->token);
	append(journal, line);
	journal->head = journal->good;
}

struct journal *journal_open(const char *state_dir, const char *store, const char *key)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	char token[TOKEN_SIZE + 1];

	if (!journal)
		return NULL;
	journal->dir = -1;
	journal->fd = -1;
	pthread_mutex_init(&journal->mutex, NULL);
	make_name(journal->name, store, key);
	if (state_dir && asprintf(&journal->path, "%s/uploads", state_dir) < 0)
		journal->path = NULL;
	if (!*journal->name || token_make(token) != 0) {
		journal_close(journal);
		return NULL;
	}
	if (journal->path)
		open_file(journal, false);
	if (journal->fd >= 0)
		load(journal);
	if (journal->head) {
		cut(journal, journal->good);
	} else {
		memcpy(journal->token, token, sizeof(token));
		write_token(journal);
	}
	return journal;
}

static void dispose(struct journal *journal, bool keep)
{
	if (!journal)
		return;
	drop_file(journal, keep);
	forget_parts(journal);
	free(journal->note);
	free(journal->path);
	pthread_mutex_destroy(&journal->mutex);
	free(journal);
}

void journal_close(struct journal *journal)
{
	dispose(journal, true);
}

void journal_end(struct journal *journal)
{
	dispose(journal, false);
}

/* ---- what it says --------------------------------------------------------------------------- */

const char *journal_token(const struct journal *journal)
{
	return journal->token;
}

const char *journal_note(const struct journal *journal)
{
	return journal->note ? journal->note : "";
}

uint64_t journal_part_size(const struct journal *journal)
{
	return journal->part_size;
}

/* True if text can be part of a line. */
static bool is_plain(const char *text, size_t most)
{
	const char *at;

	for (at = text; *at; at++)
		if ((unsigned char)*at < 0x20)
			return false;
	return (size_t)(at - text) <= most;
}

void journal_begin(struct journal *journal, const char *note, uint64_t part_size)
{
	char line[JOURNAL_NOTE_SIZE + 32];

	pthread_mutex_lock(&journal->mutex);
	begin(journal, note, part_size);
	/* Most uploads are done at once, and need no file. */
	if (journal->path) {
		open_file(journal, true);
		write_token(journal);
	}
	cut(journal, journal->head);
	if (is_plain(note, JOURNAL_NOTE_SIZE - 1)) {
		snprintf(line, sizeof(line), "begin %" PRIu64 " %s", part_size, note);
		append(journal, line);
	}
	pthread_mutex_unlock(&journal->mutex);
}

void journal_add(struct journal *journal, size_t i, const char *digest)
{
	char line[DIGEST_SIZE + 32];

	pthread_mutex_lock(&journal->mutex);
	set_part(journal, i, digest);
	/* Parts without a beginning would be taken for those of another upload. */
	if (journal->good > journal->head && is_plain(digest, DIGEST_SIZE) &&
	    !strchr(digest, ' ')) {
		snprintf(line, sizeof(line), "part %zu %s", i, digest);
		append(journal, line);
	}
	pthread_mutex_unlock(&journal->mutex);
}

const char *journal_part(const struct journal *journal, size_t i)
{
	/* Others may be adding meanwhile. */
	struct journal *self = (struct journal *)(uintptr_t)journal;
	const char *digest = NULL;

	pthread_mutex_lock(&self->mutex);
	if (i < journal->part_count)
		digest = journal->parts[i];
	pthread_mutex_unlock(&self->mutex);
	return digest;
}
