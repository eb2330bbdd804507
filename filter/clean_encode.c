/* SPDX-License-Identifier: Apache-2.0 */
/** Clean, last stage: an archive is made of the input, proven and placed. */
#include "filter/clean_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Compares the archive that was written with what went in, by decoding all of it. */
static bool is_proven(struct cleaning *c, const struct brevis_encode_summary *summary,
		      struct brevis_error *err)
{
	struct brevis_decode_options options = {.threads = c->ws->threads};
	struct brevis_archive *archive = NULL;
	const struct brevis_archive_info *info;
	struct object_file file;
	bool proven = false;

	snprintf(err->message, sizeof(err->message), "it cannot be read back");
	if (object_file_from_fd(&file, new_object_fd(c->object)) != 0 ||
	    brevis_archive_open(&file.source, &archive, err) != BREVIS_OK ||
	    brevis_archive_decode(archive, &options, NULL, NULL, err) != BREVIS_OK)
		goto out;
	info = brevis_archive_info(archive);
	proven = file.source.size == summary->archive_size &&
		 info->original_size == summary->original_size &&
		 memcmp(info->original_sha256, summary->original_sha256, BREVIS_SHA256_SIZE) == 0;
	if (!proven)
		snprintf(err->message, sizeof(err->message), "it restores something else");
out:
	brevis_archive_free(archive);
	return proven;
}

/* Proves and places the new archive. */
static int store(struct cleaning *c, const struct brevis_encode_summary *summary,
		 const struct pointer *pointer)
{
	struct brevis_error err = {.message = ""};

	if (cleaning_check_unchanged(c) != 0)
		return -1;
	if (new_object_flush(c->object) != 0) {
		new_object_report(c->object, cleaning_bytes_expected(c));
		return cleaning_fail(c);
	}
	if (!is_proven(c, summary, &err)) {
		report_error("cannot clean %s: its archive does not restore it (%s). Nothing was "
			     "stored and the file is safe in the work tree; try `git -c "
			     "brevis.reuse=false add`, and report this as a bug",
			     c->label, err.message);
		return cleaning_fail(c);
	}
	if (new_object_place(c->object, pointer) != 0)
		return cleaning_fail(c);
	return 0;
}

static void remember(const struct cleaning *c, const struct brevis_encode_summary *summary,
		     const struct pointer *pointer)
{
	if (!c->ws->dry_run)
		known_add(c->ws->known, summary->original_size, summary->original_sha256, pointer);
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

int cleaning_finish_encode(struct cleaning *c)
{
	struct brevis_encode_summary summary;
	struct pointer pointer;
	struct brevis_error err;
	char how[80];

	if (brevis_encoder_finish(c->encoder, &summary, &err) != BREVIS_OK)
		return fail_encode(c, &err);
	if (summary.same_as) {
		pointer = *earlier_pointer(&c->earlier, summary.same_as);
		remember(c, &summary, &pointer);
		return cleaning_answer(c, &pointer, "known");
	}
	if (earlier_find(&c->earlier, c->ws, summary.original_size, summary.original_sha256,
			 &pointer))
		return cleaning_answer(c, &pointer, "known");
	pointer.size = summary.archive_size;
	pointer_set_oid(&pointer, summary.archive_sha256);
	if (!c->ws->dry_run && store(c, &summary, &pointer) != 0)
		return -1;
	remember(c, &summary, &pointer);
	note_opaque(c, &summary);
	if (summary.records_reused)
		report_trace("clean %s: reused %" PRIu64 " of %" PRIu64 " records", c->label,
			     summary.records_reused, summary.records);
	snprintf(how, sizeof(how), "compressed %" PRIu64 " -> %" PRIu64 " bytes",
		 summary.original_size, summary.archive_size);
	return cleaning_answer(c, &pointer, how);
}
