/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/earlier.h"

#include <errno.h>
#include <string.h>

#include "filter/report.h"

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
	} else if (!object_file_is_archive(&one->file)) {
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

const struct pointer *earlier_pointer(const struct earlier *earlier,
				      const struct brevis_archive *archive)
{
	size_t i;

	for (i = 0; i < earlier->count; i++) {
		if (earlier->archives[i].archive == archive)
			return &earlier->archives[i].pointer;
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

/* True if the object of pointer is here and restores exactly this content, all of it decoded. */
static bool restores(const struct workspace *ws, const struct pointer *pointer, uint64_t size,
		     const uint8_t sha256[BREVIS_SHA256_SIZE])
{
	struct brevis_decode_options options = {.threads = ws->threads};
	struct earlier_archive one = {.pointer = *pointer};
	const struct brevis_archive_info *info;
	struct brevis_error err;
	bool is_plain;
	bool result;

	if (!open_archive(ws, &one, &is_plain))
		return false;
	info = brevis_archive_info(one.archive);
	result = info->original_size == size &&
		 memcmp(info->original_sha256, sha256, BREVIS_SHA256_SIZE) == 0 &&
		 brevis_archive_decode(one.archive, &options, NULL, NULL, &err) == BREVIS_OK;
	brevis_archive_free(one.archive);
	object_file_close(&one.file);
	return result;
}

bool earlier_find(const struct earlier *earlier, const struct workspace *ws, uint64_t size,
		  const uint8_t sha256[BREVIS_SHA256_SIZE], struct pointer *out)
{
	struct pointer plain = {.size = size};
	struct pointer known;

	pointer_set_oid(&plain, sha256);
	if (earlier_is_of_path(earlier, &plain)) {
		*out = plain;
		return true;
	}
	if (!ws->known || !known_find(ws->known, size, sha256, &known))
		return false;
	if (object_store_has(ws->store, &known) ? !restores(ws, &known, size, sha256)
						: !earlier_is_of_path(earlier, &known))
		return false;
	*out = known;
	return true;
}
