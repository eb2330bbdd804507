/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/stats/stats_json.h"

#include <stdio.h>

#include "filter/cli/json_output.h"
#include "filter/cli/report.h"

/* The members of an object; those of its original only if it is known. */
static void put_object(struct json_output *json, const struct stats_object *object)
{
	json_string(json, "oid", object->pointer.oid);
	json_number(json, "size", object->pointer.size);
	if (object->stored.is_known)
		json_number(json, "original_size", object->stored.original_size);
	json_bool(json, "downloaded", object->stored.is_here);
	json_bool(json, "archive", object->stored.is_archive);
}

static void put_sum(struct json_output *json, const char *key, const struct stats_sum *sum)
{
	json_open(json, key, '{');
	json_number(json, "objects", sum->objects);
	json_number(json, "size", sum->stored);
	json_number(json, "original_size", sum->original);
	json_number(json, "unknown_objects", sum->unknown_objects);
	json_number(json, "unknown_size", sum->unknown_stored);
	json_close(json);
}

static void put_revision(struct json_output *json, const struct stats *s,
			 const struct stats_revision *revision)
{
	json_open(json, NULL, '{');
	json_string(json, "commit", revision->commit);
	json_string(json, "date", revision->date);
	json_string(json, "subject", revision->subject);
	put_sum(json, "added", &revision->added);
	json_open(json, "files", '[');
	for (size_t i = 0; i < revision->count; i++) {
		const struct stats_change *change = stats_change(s, revision->first + i);
		const struct stats_object *object = stats_object(s, change->object);

		json_open(json, NULL, '{');
		json_string(json, "name", stats_file(s, change->file)->path);
		json_number(json, "added", change->is_new ? object->pointer.size : 0);
		put_object(json, object);
		json_close(json);
	}
	json_close(json);
	json_close(json);
}

static void put_file(struct json_output *json, const struct stats *s, const struct stats_file *file)
{
	json_open(json, NULL, '{');
	json_string(json, "name", file->path);
	json_bool(json, "present", file->is_present);
	if (file->current != STATS_NONE)
		put_object(json, stats_object(s, file->current));
	json_number(json, "revisions", file->revisions);
	json_number(json, "revisions_lacking", file->lacking);
	put_sum(json, "history", &file->sum);
	json_close(json);
}

int stats_json(const struct stats *s, bool summary)
{
	struct json_output *json = json_begin();
	size_t count = summary ? 0 : stats_revision_count(s);

	if (!json)
		return -1;
	json_open(json, NULL, '{');
	json_string(json, "commit", s->tip);
	json_bool(json, "shallow", s->is_shallow);
	json_number(json, "revisions_lacking", s->lacking);
	put_sum(json, "total", &s->total);
	json_open(json, "files", '[');
	for (size_t i = 0; i < stats_file_count(s); i++)
		put_file(json, s, stats_file(s, i));
	json_close(json);
	if (!summary)
		json_open(json, "revisions", '[');
	for (size_t i = 0; i < count; i++)
		put_revision(json, s, stats_revision(s, i));
	if (!summary)
		json_close(json);
	json_close(json);
	return json_end(json, 0);
}
