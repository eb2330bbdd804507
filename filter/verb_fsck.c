/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/buffer.h"
#include "filter/command.h"
#include "filter/convert.h"
#include "filter/options.h"
#include "filter/report.h"
#include "filter/text.h"

#define READ_BLOCK 262144

struct fsck {
	struct workspace *ws;
	bool objects;
	bool pointers;
	bool dry_run;
	struct buffer seen; /* of struct pointer: objects that were checked */
	size_t damage;
};

/* One line on stdout for each finding: they are what was asked for. */
static void found(struct fsck *f, const char *path, const char *what)
{
	print_path(stdout, path);
	printf(": %s\n", what);
	f->damage++;
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool was_seen(struct fsck *f, const struct pointer *pointer)
{
	const struct pointer *seen = (const struct pointer *)(void *)f->seen.data;
	size_t count = f->seen.size / sizeof(*seen);

	for (size_t i = count; i > 0; i--)
		if (pointer_equal(&seen[i - 1], pointer))
			return true;
	buffer_append(&f->seen, pointer, sizeof(*pointer));
	return false;
}

/* Hashes an object. Returns -1 with errno set. */
static int hash_object(const struct object_file *file, char hex[OID_HEX_SIZE + 1])
{
	struct brevis_sha256 *sha = brevis_sha256_new();
	uint8_t *block = malloc(READ_BLOCK);
	uint8_t sha256[BREVIS_SHA256_SIZE];
	int reason = sha && block ? 0 : ENOMEM;

	for (uint64_t at = 0; at < file->source.size && !reason;) {
		uint64_t left = file->source.size - at;
		size_t len = left < READ_BLOCK ? (size_t)left : READ_BLOCK;

		if (file->source.read_at(file->source.ctx, block, len, at) != 0)
			reason = errno ? errno : EIO;
		else
			brevis_sha256_update(sha, block, len);
		at += len;
	}
	if (!reason) {
		brevis_sha256_final(sha, sha256);
		digest_to_hex(sha256, hex);
	}
	free(block);
	brevis_sha256_free(sha);
	errno = reason;
	return reason ? -1 : 0;
}

/* Decodes an archive without keeping what comes out. */
static bool decodes(const struct workspace *ws, const struct object_file *file,
		    struct brevis_error *err)
{
	struct brevis_decode_options options = {.threads = ws->threads};
	struct brevis_archive *archive;
	int rc = brevis_archive_open(&file->source, &archive, err);

	if (rc != BREVIS_OK)
		return false;
	rc = brevis_archive_decode(archive, &options, NULL, NULL, err);
	brevis_archive_free(archive);
	return rc == BREVIS_OK;
}

/* Moves an object that is not what its name says out of the way, where git-lfs moves them too. Then
 * it can be downloaded again. */
static void set_aside(struct fsck *f, const struct pointer *pointer)
{
	char *from = object_store_path(f->ws->store, pointer->oid);
	char *to = NULL;

	if (f->dry_run)
		goto out;
	if (asprintf(&to, "%s/bad", repository_lfs_dir(f->ws->repository)) < 0) {
		to = NULL;
		goto out;
	}
	if (mkdir(to, 0777) != 0 && errno != EEXIST) {
		report_error("%s: cannot make the directory: %s", to, strerror(errno));
		goto out;
	}
	free(to);
	if (asprintf(&to, "%s/bad/%s", repository_lfs_dir(f->ws->repository), pointer->oid) < 0)
		to = NULL;
	if (!from || !to)
		report_error("out of memory");
	else if (rename(from, to) != 0)
		report_error("%s: cannot move it to %s: %s", from, to, strerror(errno));
	else
		report_note("moved the damaged object to %s; `git brevis pull` downloads it again",
			    to);
out:
	free(from);
	free(to);
}

/* Writes what is wrong with the object into text; "" if nothing is. Returns true if its bytes are
 * not those that its name stands for. */
static bool find_fault(const struct fsck *f, const struct pointer *pointer,
		       const struct object_file *file, char *text, size_t len)
{
	char hex[OID_HEX_SIZE + 1];
	struct brevis_error err = {.message = ""};

	text[0] = 0;
	if (file->source.size != pointer->size) {
		snprintf(text, len,
			 "object %.12s is damaged: it has %" PRIu64 " bytes instead of %" PRIu64,
			 pointer->oid, file->source.size, pointer->size);
		return true;
	}
	if (hash_object(file, hex) < 0) {
		snprintf(text, len, "object %.12s cannot be read: %s", pointer->oid,
			 strerror(errno));
		return false;
	}
	if (strcmp(hex, pointer->oid) != 0) {
		snprintf(text, len, "object %.12s is damaged: its SHA-256 is %.12s...",
			 pointer->oid, hex);
		return true;
	}
	if (object_file_is_archive(file) && !decodes(f->ws, file, &err))
		snprintf(text, len, "object %.12s does not restore: %s", pointer->oid, err.message);
	return false;
}

static void check_object(struct fsck *f, const char *path, const struct pointer *pointer)
{
	struct object_file file;
	char text[400];
	bool damaged;

	if (pointer->size == 0 || was_seen(f, pointer))
		return;
	if (object_file_open(&file, f->ws->store, pointer->oid) < 0) {
		snprintf(text, sizeof(text), "object %.12s is %s", pointer->oid,
			 errno == ENOENT ? "not here" : strerror(errno));
		found(f, path, text);
		return;
	}
	damaged = find_fault(f, pointer, &file, text, sizeof(text));
	object_file_close(&file);
	if (text[0])
		found(f, path, text);
	if (damaged)
		set_aside(f, pointer);
}

/* ---- pointers -------------------------------------------------------------------------------- */

static int check_file(void *ctx, const struct tracked_file *file)
{
	struct fsck *f = ctx;

	if (file->blob_missing)
		return 0;
	if (f->pointers && !file->is_pointer && file->blob_size > 0)
		found(f, file->path, "is committed raw, not as a pointer");
	if (f->pointers && file->is_pointer && !file->is_canonical)
		found(f, file->path, "its pointer is not in the canonical form");
	if (f->objects && file->is_pointer)
		check_object(f, file->path, &file->pointer);
	return buffer_failed(&f->seen) ? report_error("out of memory") : 0;
}

static int check_range(struct fsck *f, const char *range)
{
	const char *dots = strstr(range, "..");
	const char *tip = dots + 2 + (dots[2] == '.');
	const char *args[] = {range, NULL};

	if (range[0] == '-')
		return report_error("'%s' is no range of revisions", range);
	return repository_each_new_blob(f->ws->repository, *tip ? tip : "HEAD", args, check_file,
					f);
}

/* Checks what the words name: ranges, revisions, and at the end paths. */
static int check_named(struct fsck *f, char **words, size_t count)
{
	struct repository *repository = f->ws->repository;
	size_t i;

	for (i = 0; i < count; i++) {
		int rc;

		if (strstr(words[i], "..") && words[i][0] != '.' && words[i][0] != '/')
			rc = check_range(f, words[i]);
		else if (repository_is_revision(repository, words[i]))
			rc = repository_each_tracked(repository, words[i], NULL, 0, check_file, f);
		else
			break;
		if (rc < 0)
			return rc;
	}
	if (i == count)
		return 0;
	return repository_each_tracked(repository, NULL, (const char *const *)words + i, count - i,
				       check_file, f);
}

/* Checks the index and HEAD. What both hold is told once. */
static int check_here(struct fsck *f)
{
	struct repository *repository = f->ws->repository;
	bool has_index = repository_work_tree(repository) != NULL;
	int rc = 0;

	if (has_index)
		rc = repository_each_tracked(repository, NULL, NULL, 0, check_file, f);
	if (rc == 0 && repository_has_head(repository)) {
		/* The index told of pointers already, unless there is none. */
		bool pointers = f->pointers;

		f->pointers = pointers && !has_index;
		rc = repository_each_tracked(repository, "HEAD", NULL, 0, check_file, f);
		f->pointers = pointers;
	}
	return rc;
}

int verb_fsck(const struct command *self, int argc, char **argv)
{
	struct fsck f = {.dry_run = false};
	struct workspace ws;
	const struct option_spec table[] = {{.name = "objects", .flag = &f.objects},
					    {.name = "pointers", .flag = &f.pointers},
					    {.letter = 'd', .name = "dry-run", .flag = &f.dry_run},
					    {0}};
	int code;
	int count = options_parse(self, argc, argv, table, &code);
	int rc;

	if (count < 0)
		return code;
	if (!f.objects && !f.pointers)
		f.objects = f.pointers = true;
	if (workspace_open(&ws) < 0)
		return EXIT_FATAL;
	f.ws = &ws;
	rc = count ? check_named(&f, argv, (size_t)count) : check_here(&f);
	if (rc < 0)
		code = EXIT_FATAL;
	else
		code = f.damage ? EXIT_FOUND : EXIT_DONE;
	if (code == EXIT_DONE)
		printf("git-brevis fsck: all in order\n");
	buffer_release(&f.seen);
	workspace_close(&ws);
	return code;
}
