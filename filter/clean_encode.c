/* SPDX-License-Identifier: Apache-2.0 */
/** Clean, last stage: an archive is made of the input, proven and placed. */
#include "filter/clean_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/report.h"

/* What was read before comes back in steps of this size. */
#define STEP (256 * 1024)

/* Takes the archive's bytes. Nothing is created before there is a first one: content that is known
 * needs no place to write to. */
static int take_archive(void *ctx, const void *data, size_t len)
{
	struct cleaning *c = ctx;

	if (c->ws->dry_run)
		return 0;
	if (!c->object) {
		c->object = new_object_create(c->ws->store, c->label);
		if (!c->object)
			return cleaning_fail(c);
	}
	return new_object_write(c->object, data, len);
}

static int fail_encode(struct cleaning *c, const struct brevis_error *err)
{
	if (c->failed)
		return -1; /* take_archive reported */
	if (c->object && new_object_failure(c->object))
		new_object_report(c->object, cleaning_bytes_expected(c));
	else
		report_error("cannot clean %s: %s", c->label, err->message);
	return cleaning_fail(c);
}

int cleaning_encode(struct cleaning *c, const void *data, size_t len)
{
	struct brevis_error err;

	if (brevis_encoder_write(c->encoder, data, len, &err) != BREVIS_OK)
		return fail_encode(c, &err);
	return 0;
}

int cleaning_start_encode(struct cleaning *c)
{
	struct brevis_encode_options options = {.threads = c->ws->threads, .known = c->known};
	struct brevis_error err;

	for (; options.known_count < c->earlier.count; options.known_count++)
		c->known[options.known_count] = c->earlier.archives[options.known_count].archive;
	c->stage = STAGE_ENCODE;
	if (brevis_encoder_new(&options, take_archive, c, &c->encoder, &err) != BREVIS_OK)
		return fail_encode(c, &err);
	return 0;
}

int cleaning_encode_source(struct cleaning *c, const struct brevis_source *source, uint64_t len)
{
	uint8_t *chunk = malloc(STEP);
	uint64_t offset = 0;
	int result = chunk ? 0 : cleaning_fail_nomem(c);

	while (result == 0 && offset < len) {
		size_t n = len - offset < STEP ? (size_t)(len - offset) : STEP;

		if (source->read_at(source->ctx, chunk, n, offset) != 0) {
			report_error("cannot clean %s: an earlier object cannot be read back: %m; "
				     "try `git -c brevis.reuse=false add`",
				     c->label);
			result = cleaning_fail(c);
			break;
		}
		result = cleaning_encode(c, chunk, n);
		offset += n;
	}
	free(chunk);
	return result;
}

/* Decodes all of an archive and compares what it promises with what went in. */
static bool restores(const struct cleaning *c, const struct brevis_archive *archive,
		     const struct brevis_encode_summary *summary, struct brevis_error *err)
{
	struct brevis_decode_options options = {.threads = c->ws->threads};
	const struct brevis_archive_info *info = brevis_archive_info(archive);

	if (brevis_archive_decode(archive, &options, NULL, NULL, err) != BREVIS_OK)
		return false;
	snprintf(err->message, sizeof(err->message), "it restores something else");
	return info->original_size == summary->original_size &&
	       memcmp(info->original_sha256, summary->original_sha256, BREVIS_SHA256_SIZE) == 0;
}

/* Reads back the archive that was written. */
static bool is_proven(struct cleaning *c, const struct brevis_encode_summary *summary,
		      struct brevis_error *err)
{
	struct brevis_archive *archive = NULL;
	struct object_file file;
	bool proven = false;

	snprintf(err->message, sizeof(err->message), "it cannot be read back");
	if (object_file_from_fd(&file, new_object_fd(c->object)) == 0 &&
	    file.source.size == summary->archive_size &&
	    brevis_archive_open(&file.source, &archive, err) == BREVIS_OK)
		proven = restores(c, archive, summary, err);
	brevis_archive_free(archive);
	return proven;
}

static void remember(const struct cleaning *c, const struct brevis_encode_summary *summary,
		     const struct pointer *pointer)
{
	if (!c->ws->dry_run)
		known_add(c->ws->known, summary->original_size, summary->original_sha256, pointer);
}

/*
 * True if the archive that the encoder found to be the same really is. Its own word is not enough,
 * it may be damaged or forged; that it was proven here before is.
 */
static bool same_is_proven(const struct cleaning *c, const struct brevis_encode_summary *summary,
			   const struct pointer *pointer, struct brevis_error *err)
{
	struct pointer known;

	if (c->ws->known &&
	    known_find(c->ws->known, summary->original_size, summary->original_sha256, &known) &&
	    pointer_equal(&known, pointer))
		return true;
	return restores(c, summary->same_as, summary, err);
}

static void note_opaque(const struct cleaning *c, const struct brevis_encode_summary *summary)
{
	if (*c->why_opaque)
		report_note("%s begins as an archive of git-brevis but is none (%s); it is kept as "
			    "it is",
			    c->label, c->why_opaque);
	else if (*summary->note)
		report_note("%s: %s", c->label, summary->note);
}

static int recover(struct cleaning *c, const struct brevis_encode_summary *first, const char *why);

/* Proves and places the new archive; its pointer is the answer. */
static int finish_archive(struct cleaning *c, const struct brevis_encode_summary *summary)
{
	struct pointer pointer = {.size = summary->archive_size};
	struct brevis_error err = {.message = ""};
	char how[80];

	pointer_set_oid(&pointer, summary->archive_sha256);
	if (!c->ws->dry_run) {
		if (cleaning_check_unchanged(c) != 0)
			return -1;
		if (new_object_flush(c->object) != 0) {
			new_object_report(c->object, cleaning_bytes_expected(c));
			return cleaning_fail(c);
		}
		if (!is_proven(c, summary, &err))
			return recover(c, summary, err.message);
		if (new_object_place(c->object, &pointer) != 0)
			return cleaning_fail(c);
		c->ws->stored = true;
	}
	remember(c, summary, &pointer);
	note_opaque(c, summary);
	if (summary->records_reused)
		report_trace("clean %s: reused %" PRIu64 " of %" PRIu64 " records", c->label,
			     summary->records_reused, summary->records);
	snprintf(how, sizeof(how), "compressed %" PRIu64 " -> %" PRIu64 " bytes",
		 summary->original_size, summary->archive_size);
	return cleaning_answer(c, &pointer, how);
}

/* Makes an archive of the work file, on its own, where what earlier archives say proved wrong. */
static int encode_work_file(struct cleaning *c, const char *why)
{
	int fd = c->work_file ? open(c->work_file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	struct object_file file;
	int result = -1;

	report_trace("clean %s: an earlier archive is damaged (%s); not used", c->label, why);
	brevis_encoder_free(c->encoder);
	c->encoder = NULL;
	new_object_free(c->object);
	c->object = NULL;
	earlier_forget_archives(&c->earlier);
	if (fd >= 0 && object_file_from_fd(&file, fd) == 0 && cleaning_start_encode(c) == 0)
		result = cleaning_encode_source(c, &file.source, file.source.size);
	if (fd >= 0)
		close(fd);
	return result;
}

static int fail_proof(struct cleaning *c, const char *why)
{
	report_error("cannot clean %s: its archive does not restore it (%s). Nothing was stored "
		     "and the file is safe in the work tree; try `git -c brevis.reuse=false add`, "
		     "and report this as a bug",
		     c->label, why);
	return cleaning_fail(c);
}

/*
 * The archive just made, or found, does not restore what came in. If it drew on earlier archives,
 * they are at fault: then it is made anew without them, of the work file, which must still hold the
 * same content.
 */
static int recover(struct cleaning *c, const struct brevis_encode_summary *first, const char *why)
{
	struct brevis_encode_summary summary;
	struct brevis_error err;

	if (c->earlier.count == 0 || encode_work_file(c, why) != 0)
		return c->failed ? -1 : fail_proof(c, why);
	if (brevis_encoder_finish(c->encoder, &summary, &err) != BREVIS_OK)
		return fail_encode(c, &err);
	if (memcmp(summary.original_sha256, first->original_sha256, BREVIS_SHA256_SIZE) != 0)
		return fail_proof(c, why);
	return finish_archive(c, &summary);
}

int cleaning_finish_encode(struct cleaning *c)
{
	struct brevis_encode_summary summary;
	struct pointer pointer;
	struct brevis_error err;

	if (brevis_encoder_finish(c->encoder, &summary, &err) != BREVIS_OK)
		return fail_encode(c, &err);
	if (summary.same_as) {
		pointer = *earlier_pointer(&c->earlier, summary.same_as);
		if (!same_is_proven(c, &summary, &pointer, &err))
			return recover(c, &summary, err.message);
		remember(c, &summary, &pointer);
		return cleaning_answer(c, &pointer, "known");
	}
	if (earlier_find(&c->earlier, c->ws, summary.original_size, summary.original_sha256,
			 &pointer))
		return cleaning_answer(c, &pointer, "known");
	return finish_archive(c, &summary);
}
