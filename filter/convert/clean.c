/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Clean: from the bytes of a work file to its pointer.
 *
 *   HEAD      the first bytes wait here; a whole input that is a pointer, or nothing, ends here
 *    |
 *    +-> ARCHIVE   the input begins as an archive: it is kept as it is, and proven at its end
 *    |      |        (no archive after all: it goes through ENCODE from where it was kept)
 *    |      v
 *    +-> FOLLOW    the input equals, so far, the plain object that index or HEAD name; its end is
 *    |      |        the end if the hash is that object's name, too
 *    |      v        it differs: what was followed comes from that object
 *    +-> ENCODE    an archive is made of it, or the encoder finds one that is the same; it gets its
 *                    place, unless the content keeps an earlier pointer (earlier.h)
 */
#include "filter/convert/clean_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/git/caller.h"
#include "filter/objects/conflict_text.h"
#include "filter/cli/report.h"

/* The plain object that is followed is read in steps of this size. */
#define FOLLOW_STEP (256 * 1024)

int cleaning_fail(struct cleaning *c)
{
	c->failed = true;
	return -1;
}

int cleaning_fail_nomem(struct cleaning *c)
{
	report_error("cannot clean %s: out of memory", c->label);
	return cleaning_fail(c);
}

int cleaning_answer(struct cleaning *c, const struct pointer *pointer, const char *how)
{
	c->result_len = pointer_format(pointer, c->text);
	c->result = c->text;
	report_trace("clean %s: %s", c->label, how);
	return 0;
}

static int answer_verbatim(struct cleaning *c, const char *how)
{
	c->result = c->head;
	c->result_len = c->head_len;
	report_trace("clean %s: %s", c->label, how);
	return 0;
}

/* ---- begin ---------------------------------------------------------------------------------- */

/* Notes how the work file looks now. It may not be what comes in (git cleans other things too), so
 * this is a hint, and a way to see that it changed meanwhile. */
static void look_at_work_file(struct cleaning *c)
{
	const struct repository *repository = c->ws->repository;
	const char *top = repository ? repository_work_tree(repository) : NULL;

	if (!top || !c->path || asprintf(&c->work_file, "%s/%s", top, c->path) < 0) {
		c->work_file = NULL;
		return;
	}
	if (lstat(c->work_file, &c->before) == 0 && S_ISREG(c->before.st_mode))
		return;
	free(c->work_file);
	c->work_file = NULL;
}

struct cleaning *cleaning_begin(struct workspace *ws, const char *path)
{
	struct cleaning *c = calloc(1, sizeof(*c));

	if (c && path)
		c->path = strdup(path);
	if (!c || (path && !c->path)) {
		free(c);
		report_error("cannot clean %s: out of memory", path ? path : "the input");
		return NULL;
	}
	c->ws = ws;
	c->label = path ? c->path : "the input";
	look_at_work_file(c);
	progress_begin(&c->progress, "reading", c->label,
		       c->work_file ? (uint64_t)c->before.st_size : 0);
	return c;
}

void cleaning_free(struct cleaning *c)
{
	if (!c)
		return;
	progress_end(&c->progress);
	brevis_encoder_free(c->encoder);
	new_object_free(c->object);
	new_object_free(c->raw);
	spool_free(c->raw_spool);
	brevis_sha256_free(c->sha);
	earlier_close(&c->earlier);
	thread_share_return(&c->ws->share);
	free(c->step);
	free(c->work_file);
	free(c->path);
	free(c);
}

uint64_t cleaning_bytes_expected(const struct cleaning *c)
{
	uint64_t on_disk = c->work_file ? (uint64_t)c->before.st_size : 0;

	return on_disk > c->size ? on_disk : c->size;
}

int cleaning_check_unchanged(struct cleaning *c)
{
	const struct stat *before = &c->before;
	struct stat now;

	if (!c->work_file || lstat(c->work_file, &now) != 0 || now.st_ino != before->st_ino ||
	    now.st_dev != before->st_dev)
		return 0;
	if (now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
	    now.st_mtim.tv_nsec == before->st_mtim.tv_nsec)
		return 0;
	report_error("%s changed while it was read; nothing was stored. Add it again when it is "
		     "complete",
		     c->label);
	return cleaning_fail(c);
}

/* ---- an archive comes in -------------------------------------------------------------------- */

static int start_archive(struct cleaning *c)
{
	c->stage = STAGE_ARCHIVE;
	c->sha = brevis_sha256_new();
	if (c->ws->dry_run)
		c->raw_spool = spool_new(c->ws->store);
	if (!c->sha || (c->ws->dry_run && !c->raw_spool))
		return cleaning_fail_nomem(c);
	if (c->ws->dry_run)
		return 0;
	c->raw = new_object_create(c->ws->store, c->label);
	return c->raw ? 0 : cleaning_fail(c);
}

static int take_raw(struct cleaning *c, const void *data, size_t len)
{
	brevis_sha256_update(c->sha, data, len);
	if (c->raw_spool && spool_write(c->raw_spool, data, len) != 0) {
		report_error("cannot clean %s: %s", c->label, spool_failure(c->raw_spool));
		return cleaning_fail(c);
	}
	if (c->raw && new_object_write(c->raw, data, len) != 0) {
		new_object_report(c->raw, cleaning_bytes_expected(c));
		return cleaning_fail(c);
	}
	return 0;
}

/* Gives the archive that came in its place in the store, and its own pointer as the answer. info is
 * NULL if it was not verified. */
static int keep_archive(struct cleaning *c, const struct pointer *pointer,
			const struct brevis_archive_info *info)
{
	if (cleaning_check_unchanged(c) != 0)
		return -1;
	if (c->raw && new_object_place(c->raw, pointer) != 0)
		return cleaning_fail(c);
	c->ws->stored |= c->raw != NULL;
	if (c->raw && info)
		known_add(c->ws->known, info->original_size, info->original_sha256, pointer);
	return cleaning_answer(c, pointer, "archive");
}

static int finish_archive(struct cleaning *c)
{
	struct brevis_decode_options options = {.threads = c->ws->share.threads};
	uint8_t digest[BREVIS_SHA256_SIZE];
	struct brevis_archive *archive = NULL;
	struct pointer pointer = {.size = c->size};
	struct brevis_source source;
	struct object_file file;
	struct brevis_error err;
	int result = -1;

	brevis_sha256_final(c->sha, digest);
	pointer_set_oid(&pointer, digest);
	/* The very bytes that index or HEAD stand for, whatever they are. */
	if (earlier_is_of_path(&c->earlier, &pointer))
		return keep_archive(c, &pointer, NULL);
	if (c->raw_spool) {
		source = spool_source(c->raw_spool);
	} else {
		if (new_object_flush(c->raw) != 0) {
			new_object_report(c->raw, cleaning_bytes_expected(c));
			return cleaning_fail(c);
		}
		if (object_file_from_fd(&file, new_object_fd(c->raw)) != 0) {
			report_error("cannot clean %s: its copy cannot be read back: %m", c->label);
			return cleaning_fail(c);
		}
		source = file.source;
	}
	if (brevis_archive_open(&source, &archive, &err) == BREVIS_OK &&
	    brevis_archive_decode(archive, &options, NULL, NULL, &err) == BREVIS_OK) {
		result = keep_archive(c, &pointer, brevis_archive_info(archive));
		goto out;
	}
	snprintf(c->why_opaque, sizeof(c->why_opaque), "%s", err.message);
	if (cleaning_start_encode(c) == 0 && cleaning_encode_source(c, &source, source.size) == 0)
		result = cleaning_finish_encode(c);
out:
	brevis_archive_free(archive);
	return result;
}

/* ---- follow --------------------------------------------------------------------------------- */

/* True if the plain object goes on with these bytes. */
static bool follows(struct cleaning *c, const uint8_t *data, size_t len)
{
	const struct brevis_source *plain = &c->earlier.plain_file.source;

	while (len) {
		size_t n = len < FOLLOW_STEP ? len : FOLLOW_STEP;

		if (plain->size - c->followed < n ||
		    plain->read_at(plain->ctx, c->step, n, c->followed) != 0 ||
		    memcmp(c->step, data, n) != 0)
			return false;
		c->followed += n;
		data += n;
		len -= n;
	}
	return true;
}

/* The input goes its own way: the encoder gets what was common, and from now on the input. */
static int leave_plain(struct cleaning *c, uint64_t common)
{
	if (cleaning_start_encode(c) != 0)
		return -1;
	return cleaning_encode_source(c, &c->earlier.plain_file.source, common);
}

static int follow(struct cleaning *c, const void *data, size_t len)
{
	uint64_t common = c->followed;

	if (follows(c, data, len)) {
		brevis_sha256_update(c->sha, data, len);
		return 0;
	}
	if (leave_plain(c, common) != 0)
		return -1;
	return cleaning_encode(c, data, len);
}

/* All of the plain object came in. It is only what its name says if its hash is. */
static int finish_follow(struct cleaning *c)
{
	struct pointer pointer = {.size = c->followed};
	uint8_t digest[BREVIS_SHA256_SIZE];

	brevis_sha256_final(c->sha, digest);
	pointer_set_oid(&pointer, digest);
	if (pointer_equal(&pointer, &c->earlier.plain))
		return cleaning_answer(c, &pointer, "known");
	if (leave_plain(c, c->followed) != 0)
		return -1;
	return cleaning_finish_encode(c);
}

/* ---- the input ------------------------------------------------------------------------------ */

static int take(struct cleaning *c, const void *data, size_t len)
{
	switch (c->stage) {
	case STAGE_ARCHIVE:
		return take_raw(c, data, len);
	case STAGE_FOLLOW:
		return follow(c, data, len);
	default:
		return cleaning_encode(c, data, len);
	}
}

/* Enough is known to choose what becomes of the input. */
static int leave_head(struct cleaning *c)
{
	int started = 0;

	thread_share_take(&c->ws->share, c->ws->threads);
	earlier_open(&c->earlier, c->ws, c->path,
		     c->work_file ? (uint64_t)c->before.st_size : c->size);
	if (brevis_is_archive(c->head, c->head_len)) {
		started = start_archive(c);
	} else if (c->earlier.has_plain && !c->ws->no_plain) {
		c->stage = STAGE_FOLLOW;
		c->step = malloc(FOLLOW_STEP);
		c->sha = brevis_sha256_new();
		started = c->step && c->sha ? 0 : cleaning_fail_nomem(c);
	} else {
		started = cleaning_start_encode(c);
	}
	return started == 0 ? take(c, c->head, c->head_len) : -1;
}

int cleaning_write(void *cleaning, const void *data, size_t len)
{
	struct cleaning *c = cleaning;
	const uint8_t *at = data;

	if (c->failed)
		return -1;
	c->size += len;
	progress_add(&c->progress, len);
	if (c->stage == STAGE_HEAD) {
		size_t room = sizeof(c->head) - c->head_len;
		size_t n = len < room ? len : room;

		memcpy(c->head + c->head_len, at, n);
		c->head_len += n;
		at += n;
		len -= n;
		if (c->head_len < sizeof(c->head))
			return 0;
		if (leave_head(c) != 0)
			return -1;
	}
	return len ? take(c, at, len) : 0;
}

/*
 * A pointer stays as it is. Text that git-lfs would also take for one, though it is not written as
 * pointers are, is content like any other: else its exact bytes would be lost. But where git holds
 * that very text for this path, it is what a checkout has left there.
 */
static bool is_pointer(const struct cleaning *c)
{
	struct pointer pointer;
	char text[POINTER_TEXT_SIZE];

	if (!pointer_parse(c->head, c->head_len, &pointer))
		return false;
	if (pointer_format(&pointer, text) == c->head_len &&
	    memcmp(text, c->head, c->head_len) == 0)
		return true;
	return c->path && c->ws->repository &&
	       repository_path_holds(c->ws->repository, c->path, c->head, c->head_len);
}

/*
 * Conflict markers in a pointer are no content that anybody wants to keep. But where git holds just
 * that already it must not look changed; and who only shows differences stores nothing.
 */
static int finish_conflict(struct cleaning *c)
{
	bool is_held = c->path && c->ws->repository &&
		       repository_path_holds(c->ws->repository, c->path, c->head, c->head_len);

	if (is_held || caller_look() != CALLER_ANY)
		return answer_verbatim(c, "pointer with conflict markers");
	report_error("%s: a merge has written conflict markers into its pointer, and they are not "
		     "stored; " CONFLICT_TEXT_REMEDY,
		     c->label);
	return cleaning_fail(c);
}

/* Nothing stays nothing; but where git holds a pointer of size 0 for this path, a checkout has made
 * nothing of that. */
static int finish_empty(struct cleaning *c)
{
	if (c->path && c->ws->repository)
		c->head_len = repository_path_empty(c->ws->repository, c->path, c->head);
	return answer_verbatim(c, "empty");
}

static int finish(struct cleaning *c)
{
	if (c->failed)
		return -1;
	if (c->size == 0)
		return finish_empty(c);
	if (c->stage == STAGE_HEAD) {
		if (is_pointer(c))
			return answer_verbatim(c, "pointer");
		if (is_conflict_text(c->head, c->head_len))
			return finish_conflict(c);
		if (leave_head(c) != 0)
			return -1;
	}
	switch (c->stage) {
	case STAGE_ARCHIVE:
		return finish_archive(c);
	case STAGE_FOLLOW:
		return finish_follow(c);
	default:
		return cleaning_finish_encode(c);
	}
}

int cleaning_finish(struct cleaning *cleaning, const void **text, size_t *len)
{
	if (finish(cleaning) != 0)
		return -1;
	*text = cleaning->result;
	*len = cleaning->result_len;
	return 0;
}
