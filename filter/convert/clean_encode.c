/* SPDX-License-Identifier: Apache-2.0 */
/** Clean, last stage: an archive is made of the input, proven and placed. */
#include "filter/convert/clean_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "filter/objects/proof.h"
#include "filter/cli/report.h"
#include "filter/stream.h"

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
	progress_stored(&c->progress, len);
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
	struct brevis_encode_options options = {
		.threads = c->ws->share.threads,
		.preset = c->ws->preset,
		.priors = priors_begin(c->ws->priors, c->ws->dry_run),
		.known = c->known,
		.write_checks = true,
	};
	struct brevis_error err;

	for (; options.known_count < c->earlier.count; options.known_count++)
		c->known[options.known_count] = c->earlier.archives[options.known_count].archive;
	c->stage = STAGE_ENCODE;
	if (brevis_encoder_new(&options, take_archive, c, &c->encoder, &err) != BREVIS_OK)
		return fail_encode(c, &err);
	return 0;
}

/* Ends the encoder's work. */
static int finish_encoder(struct cleaning *c, struct brevis_encode_summary *summary)
{
	struct brevis_error err;

	if (brevis_encoder_finish(c->encoder, summary, &err) != BREVIS_OK)
		return fail_encode(c, &err);
	if (!summary->same_as && !summary->unproven)
		priors_trace(c->ws->priors, "clean", c->label, summary);
	return 0;
}

static int encode_chunk(void *cleaning, const void *data, size_t len)
{
	return cleaning_encode(cleaning, data, len);
}

int cleaning_encode_source(struct cleaning *c, const struct brevis_source *source, uint64_t len)
{
	switch (source_copy(source, len, encode_chunk, c)) {
	case 0:
		return 0;
	case 1:
		return -1; /* cleaning_encode reported */
	default:
		report_error("cannot clean %s: an earlier object cannot be read back: %m; try `git "
			     "-c brevis.reuse=false add`",
			     c->label);
		return cleaning_fail(c);
	}
}

/* Opens the archive that was written, as readers do. Its bytes are what the encoder has proven:
 * new_object_write has read them back. */
static bool is_proven(struct cleaning *c, struct brevis_error *err)
{
	struct object_file file;

	snprintf(err->message, sizeof(err->message), "it cannot be read back");
	return object_file_from_fd(&file, new_object_fd(c->object)) == 0 &&
	       brevis_encoder_check(c->encoder, &file.source, err) == BREVIS_OK;
}

static void remember(const struct cleaning *c, const struct brevis_encode_summary *summary,
		     const struct pointer *pointer)
{
	if (!c->ws->dry_run)
		known_add(c->ws->known, summary->original_size, summary->original_sha256, pointer);
}

/* True if the archive was proven here and its object was not touched since. */
static bool is_vouched_for(const struct cleaning *c, const struct brevis_encode_summary *summary,
			   const struct earlier_archive *same)
{
	struct stat st;

	return c->ws->known && fstat(same->file.fd, &st) == 0 &&
	       known_vouches(c->ws->known, summary->original_size, summary->original_sha256,
			     &same->pointer, &st.st_ctim);
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
	progress_share(&c->progress, summary->original_size, summary->archive_size);
	progress_step(&c->progress, "checking");
	if (!c->ws->dry_run) {
		if (cleaning_check_unchanged(c) != 0)
			return -1;
		if (new_object_flush(c->object) != 0) {
			new_object_report(c->object, cleaning_bytes_expected(c));
			return cleaning_fail(c);
		}
		if (!is_proven(c, &err))
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

	if (c->earlier.count == 0 || encode_work_file(c, why) != 0)
		return c->failed ? -1 : fail_proof(c, why);
	if (finish_encoder(c, &summary) != 0)
		return -1;
	if (memcmp(summary.original_sha256, first->original_sha256, BREVIS_SHA256_SIZE) != 0)
		return fail_proof(c, why);
	return finish_archive(c, &summary);
}

/* The encoder found an archive that is the same. Its own word is not enough, that may be damaged or
 * forged: it is decoded, unless that was done before. */
static int finish_same(struct cleaning *c, const struct brevis_encode_summary *summary)
{
	const struct earlier_archive *same = earlier_archive(&c->earlier, summary->same_as);
	struct pointer pointer = same->pointer;
	struct brevis_error err;

	if (!is_vouched_for(c, summary, same)) {
		if (!archive_restores(same->archive, c->ws->share.threads, summary->original_size,
				      summary->original_sha256, &err))
			return recover(c, summary, err.message);
		remember(c, summary, &pointer);
	}
	return cleaning_answer(c, &pointer, "known");
}

/* A copy of the work file on its way into the store. */
struct copy {
	struct brevis_sha256 *sha;
	struct new_object *object;
};

static int copy_chunk(void *ctx, const void *data, size_t len)
{
	struct copy *copy = ctx;

	brevis_sha256_update(copy->sha, data, len);
	return new_object_write(copy->object, data, len);
}

/* Places a copy of the work file as the plain object, if it is that. Returns 1, 0 if the file is
 * something else by now, or -1 after reporting. */
static int copy_plain(struct cleaning *c, const struct brevis_source *source,
		      const struct pointer *pointer)
{
	struct copy copy = {brevis_sha256_new(), new_object_create(c->ws->store, c->label)};
	struct pointer found = {.size = source->size};
	uint8_t digest[BREVIS_SHA256_SIZE];
	int result = -1;

	if (!copy.sha || !copy.object) {
		cleaning_fail(c);
		goto out;
	}
	switch (source_copy(source, source->size, copy_chunk, &copy)) {
	case 0:
		break;
	case 1:
		new_object_report(copy.object, source->size);
		cleaning_fail(c);
		goto out;
	default:
		result = 0;
		goto out;
	}
	brevis_sha256_final(copy.sha, digest);
	pointer_set_oid(&found, digest);
	result = pointer_equal(&found, pointer);
	if (result && new_object_place(copy.object, pointer) != 0)
		result = cleaning_fail(c);
	c->ws->stored |= result == 1;
out:
	brevis_sha256_free(copy.sha);
	new_object_free(copy.object);
	return result;
}

/* Stores a plain object again. Returns as copy_plain does. */
static int restore_plain(struct cleaning *c, const struct pointer *pointer)
{
	int fd = c->work_file ? open(c->work_file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	struct object_file file;
	int result = 0;

	if (c->ws->dry_run)
		result = fd >= 0;
	else if (fd >= 0 && object_file_from_fd(&file, fd) == 0 &&
		 file.source.size == pointer->size)
		result = copy_plain(c, &file.source, pointer);
	if (fd >= 0)
		close(fd);
	return result;
}

/* Content that index or HEAD hold as a plain object stays that; what is lost or damaged of it comes
 * back from the work file. Returns 1 if that is the answer, 0 if not, or -1 after reporting. */
static int keep_plain(struct cleaning *c, const struct brevis_encode_summary *summary)
{
	struct pointer pointer = {.size = summary->original_size};
	bool is_here;
	int restored;

	pointer_set_oid(&pointer, summary->original_sha256);
	if (c->ws->no_plain || !earlier_is_of_path(&c->earlier, &pointer))
		return 0;
	is_here = earlier_has_plain(c->ws, &pointer);
	restored = is_here ? 1 : restore_plain(c, &pointer);
	if (restored > 0)
		cleaning_answer(c, &pointer, is_here ? "known" : "plain object stored again");
	return restored;
}

int cleaning_finish_encode(struct cleaning *c)
{
	struct brevis_encode_summary summary;
	struct encoded encoded;
	struct pointer pointer;
	int kept;

	if (finish_encoder(c, &summary) != 0)
		return -1;
	kept = keep_plain(c, &summary);
	if (kept)
		return kept > 0 ? 0 : -1;
	if (summary.same_as)
		return finish_same(c, &summary);
	if (summary.unproven)
		return recover(c, &summary, summary.why_unproven);
	encoded = (struct encoded){
		summary.original_size, summary.original_sha256, {.size = summary.archive_size}};
	pointer_set_oid(&encoded.archive, summary.archive_sha256);
	if (earlier_find(&c->earlier, c->ws, c->path, &encoded, &pointer))
		return cleaning_answer(c, &pointer, "known");
	return finish_archive(c, &summary);
}
