/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/judgement.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cli/report.h"
#include "filter/objects/proof.h"

static const struct {
	const char *word, *text;
} verdicts[] = {[VERDICT_GOOD] = {"good", "is here by now"},
		[VERDICT_MISSING] = {"missing", "is not here"},
		[VERDICT_DAMAGED] = {"damaged", "is damaged"},
		[VERDICT_MISMATCHED] = {"mismatched", "is not what its pointer says"},
		[VERDICT_UNRESTORABLE] = {"unrestorable", "does not restore"},
		[VERDICT_UNREADABLE] = {"unreadable", "cannot be read"}};

const char *verdict_word(enum verdict verdict)
{
	return verdicts[verdict].word;
}

const char *judgement_text(const struct judgement *judgement, const struct pointer *pointer,
			   char text[JUDGEMENT_TEXT])
{
	char size[40] = "";

	/* What a download takes. */
	if (judgement->verdict == VERDICT_MISSING)
		snprintf(size, sizeof(size), " (%" PRIu64 " bytes)", pointer->size);
	snprintf(text, JUDGEMENT_TEXT, "object %.12s%s %s%s%s", pointer->oid, size,
		 verdicts[judgement->verdict].text, judgement->why[0] ? ": " : "", judgement->why);
	return text;
}

int judgement_report(const struct judgement *judgement, const struct object_store *store,
		     const char *path, const struct pointer *pointer)
{
	bool is_there = judgement->verdict != VERDICT_MISSING;
	char *object = is_there ? object_store_path(store, pointer->oid) : NULL;
	char text[JUDGEMENT_TEXT];

	/* What is there is to be looked at. */
	if (object)
		report_error("%s: its object %s %s: %s; %s", path, object,
			     verdicts[judgement->verdict].text, judgement->why, judgement->remedy);
	else
		report_error("%s: its %s; %s", path, judgement_text(judgement, pointer, text),
			     judgement->remedy);
	free(object);
	return -1;
}

static void judge(struct judgement *out, enum verdict verdict, const char *why, const char *remedy)
{
	out->verdict = verdict;
	snprintf(out->why, sizeof(out->why), "%s", why);
	out->remedy = remedy;
}

static void judge_size(struct judgement *out, enum verdict verdict, uint64_t found, uint64_t wanted,
		       const char *remedy)
{
	char why[80];

	snprintf(why, sizeof(why), "wrong size, %" PRIu64 " bytes instead of %" PRIu64, found,
		 wanted);
	judge(out, verdict, why, remedy);
}

/* The system does not hand out its bytes. What they are, nobody knows. */
static void judge_unreadable(struct judgement *out, int reason)
{
	judge(out, VERDICT_UNREADABLE, strerror(reason),
	      reason == EIO ? "check the disk and try again; if that is of no use, move that file "
			      "away and run `git brevis pull`"
			    : "make that a file that can be read");
}

#define REPLACE "`git brevis fsck` and then `git brevis pull` replace it"

/* Judges by an error that says nothing of the bytes of the object. Returns false if it does. */
static bool judge_obstacle(struct judgement *out, const struct brevis_error *err, int failure)
{
	if (err->status == BREVIS_E_NOMEM)
		judge(out, VERDICT_UNREADABLE, err->message,
		      "try again with fewer threads (brevis.threads)");
	else if (err->status == BREVIS_E_IO && failure == ENODATA)
		judge(out, VERDICT_DAMAGED, "it became shorter while it was read", REPLACE);
	else if (err->status == BREVIS_E_IO && failure)
		judge_unreadable(out, failure);
	else if (err->status == BREVIS_E_IO)
		judge(out, VERDICT_UNREADABLE, err->message, "check the disk and try again");
	else
		return false;
	return true;
}

/* ---- whether it is here ---------------------------------------------------------------------- */

/* Opens an object of whatever size. */
static int find(struct object_file *file, const struct object_store *store,
		const struct pointer *pointer, struct judgement *out)
{
	*out = (struct judgement){.remedy = "try again"};
	if (object_file_open(file, store, pointer->oid) == 0)
		return 0;
	if (errno == ENOENT || errno == ENOTDIR)
		judge(out, VERDICT_MISSING, "",
		      "`git brevis pull` downloads it, or, for another revision, `git lfs fetch "
		      "--all`");
	else
		judge_unreadable(out, errno);
	return -1;
}

int object_open(struct object_file *file, const struct object_store *store,
		const struct pointer *pointer, struct judgement *out)
{
	if (find(file, store, pointer, out) < 0)
		return -1;
	if (file->source.size == pointer->size)
		return 0;
	/* Of one of the wrong size git-lfs knows that it has to come again. */
	judge_size(out, VERDICT_DAMAGED, file->source.size, pointer->size,
		   "`git brevis pull` downloads it again");
	object_file_close(file);
	return -1;
}

void object_look(const struct object_store *store, const struct pointer *pointer,
		 struct judgement *out)
{
	struct object_file file;

	if (object_open(&file, store, pointer, out) == 0)
		object_file_close(&file);
}

/* ---- what it is ------------------------------------------------------------------------------ */

void object_judge_name(const struct object_file *file, const struct pointer *pointer,
		       struct progress *progress, struct judgement *out)
{
	struct progress_source counted = {progress, &file->source};
	struct brevis_source source = progress_source(&counted);
	struct pointer itself = {.size = source.size};
	struct brevis_error err = {.message = ""};

	*out = (struct judgement){.is_archive = file->is_archive, .original_size = source.size};
	memcpy(itself.oid, pointer->oid, sizeof(itself.oid));
	if (!source_is_object(&source, &itself, &err)) {
		if (judge_obstacle(out, &err, file->failure))
			return;
		if (source.size != pointer->size)
			judge_size(out, VERDICT_DAMAGED, source.size, pointer->size, REPLACE);
		else
			judge(out, VERDICT_DAMAGED, err.message, REPLACE);
	} else if (source.size != pointer->size) {
		judge_size(out, VERDICT_MISMATCHED, source.size, pointer->size,
			   "add the original file again");
	}
}

/* Its bytes are those of its name, but they do not restore: what does that mean? */
static void judge_decoding(struct judgement *out, const struct brevis_error *err, int failure)
{
	if (judge_obstacle(out, err, failure))
		return;
	if (err->status == BREVIS_E_UNSUPPORTED || err->status == BREVIS_E_LIMIT)
		judge(out, VERDICT_UNREADABLE, err->message, "a newer git-brevis may do it");
	else
		judge(out, VERDICT_UNRESTORABLE, err->message,
		      "it was stored so: add the original file again");
}

void object_judge_failure(const struct object_file *file, const struct pointer *pointer,
			  const struct brevis_error *err, struct judgement *out)
{
	struct progress uncounted = {.is_shown = false};

	*out = (struct judgement){.is_archive = file->is_archive};
	if (judge_obstacle(out, err, file->failure))
		return;
	out->verdict = VERDICT_DAMAGED;
	if (file->is_archive)
		object_judge_name(file, pointer, &uncounted, out);
	if (out->verdict == VERDICT_GOOD)
		judge_decoding(out, err, 0);
	else if (out->verdict == VERDICT_DAMAGED)
		judge(out, VERDICT_DAMAGED, err->message, REPLACE);
}

/* Bytes of the original, counted as the bytes of the object that they came from. */
struct decoding {
	struct progress *progress;
	uint64_t stored;
	uint64_t original;
	uint64_t done;
	uint64_t counted;
};

static int count_decoded(void *ctx, const void *data, size_t len)
{
	struct decoding *d = ctx;
	uint64_t due;

	(void)data;
	d->done += len;
	due = (uint64_t)((double)d->stored * ((double)d->done / (double)d->original));
	progress_add(d->progress, due - d->counted);
	d->counted = due;
	return 0;
}

static void decode(const struct object_file *file, unsigned threads, struct progress *progress,
		   struct judgement *out)
{
	struct brevis_decode_options options = {.threads = threads};
	struct decoding decoding = {.progress = progress, .stored = file->source.size};
	struct brevis_archive *archive = NULL;
	struct brevis_error err = {.message = ""};
	int rc = brevis_archive_open(&file->source, &archive, &err);

	if (rc == BREVIS_OK) {
		out->original_size = brevis_archive_info(archive)->original_size;
		decoding.original = out->original_size;
		rc = brevis_archive_decode(archive, &options, count_decoded, &decoding, &err);
	}
	if (rc != BREVIS_OK)
		judge_decoding(out, &err, file->failure);
	brevis_archive_free(archive);
}

void object_judge(const struct object_file *file, const struct pointer *pointer, unsigned threads,
		  struct progress *progress, struct judgement *out)
{
	struct progress uncounted = {.is_shown = false};

	object_judge_name(file, pointer, file->is_archive ? &uncounted : progress, out);
	if (out->verdict == VERDICT_GOOD && file->is_archive)
		decode(file, threads, progress, out);
}

void object_judge_stored(const struct object_store *store, const struct pointer *pointer,
			 unsigned threads, struct progress *progress, struct judgement *out)
{
	struct object_file file;

	if (find(&file, store, pointer, out) < 0)
		return;
	object_judge(&file, pointer, threads, progress, out);
	object_file_close(&file);
}
