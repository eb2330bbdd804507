/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/convert/earlier.h"

#include <errno.h>
#include <string.h>

#include "filter/objects/proof.h"
#include "filter/cli/report.h"

static bool is_listed(const struct earlier *earlier, const struct pointer *pointer)
{
	size_t i;

	for (i = 0; i < earlier->count; i++) {
		if (pointer_equal(&earlier->archives[i].pointer, pointer))
			return true;
	}
	return earlier->has_plain && pointer_equal(&earlier->plain, pointer);
}

/* Opens the object of a pointer as an archive. Leaves *plain open instead if it is none. */
static bool open_archive(const struct workspace *ws, struct earlier_archive *one, bool *is_plain)
{
	struct brevis_error err;

	*is_plain = false;
	if (object_file_open(&one->file, ws->store, one->pointer.oid) != 0)
		return false;
	if (one->file.source.size != one->pointer.size) {
		report_trace("object %s has the wrong size; not used", one->pointer.oid);
	} else if (!one->file.is_archive) {
		*is_plain = true;
	} else {
		if (brevis_archive_open(&one->file.source, &one->archive, &err) == BREVIS_OK)
			return true;
		report_trace("object %s: %s; not used", one->pointer.oid, err.message);
	}
	object_file_close(&one->file);
	return false;
}

static void add(struct earlier *earlier, const struct workspace *ws, const struct pointer *pointer,
		bool of_path)
{
	struct earlier_archive *one = &earlier->archives[earlier->count];
	bool is_plain;

	if (earlier->count == EARLIER_ARCHIVES || pointer->size == 0 || is_listed(earlier, pointer))
		return;
	*one = (struct earlier_archive){.pointer = *pointer};
	if (open_archive(ws, one, &is_plain)) {
		earlier->count++;
	} else if (is_plain && of_path && !earlier->has_plain &&
		   object_file_open(&earlier->plain_file, ws->store, pointer->oid) == 0) {
		earlier->has_plain = true;
		earlier->plain = *pointer;
	}
}

void earlier_open(struct earlier *earlier, const struct workspace *ws, const char *path,
		  uint64_t size)
{
	struct pointer of_size[EARLIER_ARCHIVES];
	size_t count;
	size_t i;

	memset(earlier, 0, sizeof(*earlier));
	if (!ws->repository)
		return;
	if (path)
		earlier->of_path_count =
			repository_path_pointers(ws->repository, path, earlier->of_path);
	if (!ws->reuse)
		return;
	for (i = 0; i < earlier->of_path_count; i++)
		add(earlier, ws, &earlier->of_path[i], true);
	count = size ? known_of_size(ws->known, size, of_size, EARLIER_ARCHIVES) : 0;
	for (i = 0; i < count; i++)
		add(earlier, ws, &of_size[i], false);
}

void earlier_forget_archives(struct earlier *earlier)
{
	size_t i;

	for (i = 0; i < earlier->count; i++) {
		brevis_archive_free(earlier->archives[i].archive);
		object_file_close(&earlier->archives[i].file);
	}
	earlier->count = 0;
}

void earlier_close(struct earlier *earlier)
{
	earlier_forget_archives(earlier);
	if (earlier->has_plain)
		object_file_close(&earlier->plain_file);
	memset(earlier, 0, sizeof(*earlier));
}

const struct earlier_archive *earlier_archive(const struct earlier *earlier,
					      const struct brevis_archive *archive)
{
	size_t i;

	for (i = 0; i < earlier->count; i++) {
		if (earlier->archives[i].archive == archive)
			return &earlier->archives[i];
	}
	return NULL;
}

bool earlier_is_of_path(const struct earlier *earlier, const struct pointer *pointer)
{
	size_t i;

	for (i = 0; i < earlier->of_path_count; i++) {
		if (pointer_equal(&earlier->of_path[i], pointer))
			return true;
	}
	return false;
}

bool earlier_has_plain(const struct workspace *ws, const struct pointer *pointer)
{
	struct object_file file;
	struct brevis_error err;
	bool result;

	if (object_file_open(&file, ws->store, pointer->oid) != 0)
		return false;
	result = source_is_object(&file.source, pointer, &err);
	if (!result)
		report_trace("object %s: %s; not used", pointer->oid, err.message);
	object_file_close(&file);
	return result;
}

/* True if the object of pointer restores this content: all of it is decoded. */
static bool is_sound(const struct workspace *ws, const struct pointer *pointer,
		     const struct encoded *encoded)
{
	struct object_file file;
	struct brevis_error err;
	bool result;

	if (object_file_open(&file, ws->store, pointer->oid) != 0)
		return false;
	result = source_restores(&file.source, ws->share.threads, encoded->size, encoded->sha256,
				 &err);
	if (!result)
		report_trace("object %s: %s; not used", pointer->oid, err.message);
	object_file_close(&file);
	return result;
}

bool earlier_find(const struct earlier *earlier, const struct workspace *ws, const char *path,
		  const struct encoded *encoded, struct pointer *out)
{
	if (!ws->known || !known_find(ws->known, encoded->size, encoded->sha256, out))
		return false;
	if (object_store_has(ws->store, out))
		return is_sound(ws, out, encoded);
	/* If the new archive is that very object, it rather takes its place. */
	return !pointer_equal(out, &encoded->archive) && earlier_is_of_path(earlier, out) &&
	       repository_remote_has_pointer(ws->repository, path, out);
}
