/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/stats/stats.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cli/report.h"

size_t stats_file_count(const struct stats *s)
{
	return s->files.size / sizeof(struct stats_file);
}

size_t stats_revision_count(const struct stats *s)
{
	return s->revisions.size / sizeof(struct stats_revision);
}

static struct stats_file *file_at(struct stats *s, size_t i)
{
	return (struct stats_file *)(void *)s->files.data + i;
}

static struct stats_revision *revision_at(struct stats *s, size_t i)
{
	return (struct stats_revision *)(void *)s->revisions.data + i;
}

/* ---- trees of names -------------------------------------------------------------------------- */

/* A name and the number that belongs to it. */
struct numbered {
	size_t value;
	char name[];
};

static int compare_numbered(const void *a, const void *b)
{
	const struct numbered *x = a;
	const struct numbered *y = b;

	return strcmp(x->name, y->name);
}

/* Finds the number of a name, or gives it one. Returns 1 if the name is new, 0 if not, -1 after
 * reporting. */
static int number_of(void **tree, const char *name, size_t fresh, size_t *value)
{
	size_t size = strlen(name) + 1;
	struct numbered *entry = malloc(sizeof(*entry) + size);
	struct numbered **node;

	if (!entry)
		return report_error("out of memory");
	entry->value = fresh;
	memcpy(entry->name, name, size);
	node = tsearch(entry, tree, compare_numbered);
	if (!node) {
		free(entry);
		return report_error("out of memory");
	}
	*value = (*node)->value;
	if (*node == entry)
		return 1;
	free(entry);
	return 0;
}

/* The same for a name of two parts. */
static int number_of_pair(void **tree, size_t first, const char *second, size_t fresh,
			  size_t *value)
{
	char *name;
	int rc;

	if (asprintf(&name, "%zu %s", first, second) < 0)
		return report_error("out of memory");
	rc = number_of(tree, name, fresh, value);
	free(name);
	return rc;
}

/* ---- adding up ------------------------------------------------------------------------------- */

/* Pointers of strangers may say any size. */
static void add_size(uint64_t *sum, uint64_t size)
{
	if (__builtin_add_overflow(*sum, size, sum))
		*sum = UINT64_MAX;
}

/* original is what counts of a known one's original: 0 if that was counted before. */
static void add_object(struct stats_sum *sum, const struct stats_object *object, uint64_t original)
{
	/* Nothing needs no object. */
	if (object->pointer.size == 0)
		return;
	sum->objects++;
	add_size(&sum->stored, object->pointer.size);
	if (object->stored.is_known) {
		add_size(&sum->original, original);
		return;
	}
	sum->unknown_objects++;
	add_size(&sum->unknown_stored, object->pointer.size);
}

static int add_to_total(struct stats *s, const struct stats_object *object)
{
	size_t unused;
	int is_new = 0;

	if (object->stored.is_known) {
		is_new = number_of(&s->by_original, object->stored.original_oid, 0, &unused);
		if (is_new < 0)
			return -1;
	}
	add_object(&s->total, object, is_new ? object->stored.original_size : 0);
	return 0;
}

/* ---- what the walk finds --------------------------------------------------------------------- */

static int take_object(struct stats *s, const struct pointer *pointer, size_t *index)
{
	struct stats_object object = {.pointer = *pointer};
	size_t fresh = s->objects.size / sizeof(object);
	int is_new = number_of(&s->by_oid, pointer->oid, fresh, index);

	if (is_new <= 0)
		return is_new;
	stored_look(s->ws->store, pointer, &object.stored);
	buffer_append(&s->objects, &object, sizeof(object));
	if (buffer_failed(&s->objects))
		return report_error("out of memory");
	return add_to_total(s, &object);
}

static int take_path(struct stats *s, const char *path, size_t *index)
{
	struct stats_file file = {.current = STATS_NONE};
	int is_new = number_of(&s->by_path, path, stats_file_count(s), index);

	if (is_new <= 0)
		return is_new;
	file.path = strdup(path);
	buffer_append(&s->files, &file, sizeof(file));
	if (file.path && !buffer_failed(&s->files))
		return 0;
	free(file.path);
	return report_error("out of memory");
}

/* The revision that is being told of; each new one comes after all changes of the last. NULL after
 * reporting. */
static struct stats_revision *take_revision(struct stats *s, const struct revision *told)
{
	struct stats_revision fresh = {.first = s->changes.size / sizeof(struct stats_change)};
	size_t count = stats_revision_count(s);

	if (count && strcmp(revision_at(s, count - 1)->commit, told->commit) == 0)
		return revision_at(s, count - 1);
	buffer_append(&s->revisions, &fresh, sizeof(fresh));
	if (!buffer_failed(&s->revisions)) {
		struct stats_revision *revision = revision_at(s, count);

		revision->commit = strdup(told->commit);
		revision->date = strdup(told->date);
		revision->subject = strdup(told->subject);
		if (revision->commit && revision->date && revision->subject)
			return revision;
	}
	report_error("out of memory");
	return NULL;
}

/* What tells one change from all others. Caller frees. */
static char *name_change(const char *oid, const struct revision *revision, const char *path)
{
	char *name;

	if (asprintf(&name, "%s %s %s", oid, revision->commit, path) >= 0)
		return name;
	report_error("out of memory");
	return NULL;
}

/* Notes the change that brings an object first. */
static int note_first(void *ctx, const struct revision *revision, const struct tracked_file *file)
{
	struct stats *s = ctx;
	size_t unused;
	char *name;
	int is_new;

	if (!revision)
		return 0;
	is_new = number_of(&s->first_seen, file->pointer.oid, 0, &unused);
	if (is_new <= 0)
		return is_new;
	name = name_change(file->pointer.oid, revision, file->path);
	is_new = name ? number_of(&s->first_seen, name, 0, &unused) : -1;
	free(name);
	return is_new < 0 ? -1 : 0;
}

/* Returns 1 if a change is the first that brings its object, 0 if not, -1 after reporting. */
static int is_first(struct stats *s, const struct revision *revision,
		    const struct tracked_file *file)
{
	char *name = name_change(file->pointer.oid, revision, file->path);
	struct numbered *entry = name ? malloc(sizeof(*entry) + strlen(name) + 1) : NULL;
	int result = -1;

	if (entry) {
		strcpy(entry->name, name);
		result = tfind(entry, &s->first_seen, compare_numbered) != NULL;
	}
	free(entry);
	free(name);
	return result;
}

static int take_change(void *ctx, const struct revision *told, const struct tracked_file *file)
{
	struct stats *s = ctx;
	struct stats_change change = {.is_new = false};
	struct stats_revision *revision;
	const struct stats_object *object;
	size_t unused;
	int first;
	int is_new;

	if (take_path(s, file->path, &change.file) < 0)
		return -1;
	if (!told) {
		file_at(s, change.file)->lacking++;
		s->lacking++;
		return 0;
	}
	first = is_first(s, told, file);
	revision = take_revision(s, told);
	if (first < 0 || !revision || take_object(s, &file->pointer, &change.object) < 0 ||
	    number_of_pair(&s->by_version, change.file, file->blob, change.object, &unused) < 0)
		return -1;
	change.is_new = first > 0;
	object = stats_object(s, change.object);
	if (change.is_new)
		add_object(&revision->added, object, object->stored.original_size);
	is_new = number_of_pair(&s->by_file_object, change.file, file->pointer.oid, 0, &unused);
	if (is_new < 0)
		return -1;
	if (is_new)
		add_object(&file_at(s, change.file)->sum, object, object->stored.original_size);
	file_at(s, change.file)->revisions++;
	revision->count++;
	buffer_append(&s->changes, &change, sizeof(change));
	return buffer_failed(&s->changes) ? report_error("out of memory") : 0;
}

/* A file of the tip. Its blob is a pointer if some revision brought it as one. */
static int take_current(void *ctx, const char *path, const char *blob)
{
	struct stats *s = ctx;
	size_t size = strlen(path) + BLOB_HEX_SIZE + 32;
	struct numbered *key = malloc(sizeof(*key) + size);
	struct numbered **found;
	struct stats_file *file;

	if (!key)
		return report_error("out of memory");
	snprintf(key->name, size, "%s", path);
	found = tfind(key, &s->by_path, compare_numbered);
	if (found) {
		file = file_at(s, (*found)->value);
		file->is_present = true;
		snprintf(key->name, size, "%zu %s", (*found)->value, blob);
		found = tfind(key, &s->by_version, compare_numbered);
		if (found)
			file->current = (*found)->value;
	}
	free(key);
	return 0;
}

/* ---- what is walked -------------------------------------------------------------------------- */

/* The revisions of a walk, as `git log` takes them; both lists end with NULL. */
struct range {
	struct buffer names;  /* of the commits that the user's words mean */
	const char **asked;   /* what is told of */
	const char **commits; /* the same, and all that came before */
	bool leaves_out;      /* there is something before */
};

/* Fills the two lists; words are what the user said, or "HEAD". */
static int fill_range(struct stats *s, struct range *range, const char *const *words, size_t count,
		      bool add_words, bool all)
{
	size_t commits = 0;
	size_t asked = 0;

	for (size_t i = 0; i < range->names.size; i++)
		commits += range->names.data[i] == 0;
	range->asked = calloc(count + 2, sizeof(*range->asked));
	range->commits = calloc(commits + 2, sizeof(*range->commits));
	if (!range->asked || !range->commits)
		return report_error("out of memory");
	commits = 0;
	if (all)
		range->commits[commits++] = range->asked[asked++] = "--all";
	for (size_t i = 0; add_words && i < count; i++)
		range->asked[asked++] = words[i];
	for (size_t at = 0; at < range->names.size;) {
		const char *name = (const char *)range->names.data + at;

		at += strlen(name) + 1;
		if (*name != '^' && !s->tip) {
			s->tip = strdup(name);
			if (!s->tip)
				return report_error("out of memory");
		}
		range->leaves_out |= *name == '^';
		range->commits[commits++] = name + (*name == '^');
	}
	return 0;
}

static int read_range(struct stats *s, struct range *range, const char *const *words, size_t count,
		      bool all)
{
	static const char *const head[] = {"HEAD", NULL};
	const struct repository *repository = s->ws->repository;
	const char **terminated;
	int rc;

	if (!count) {
		count = repository_has_head(repository);
		if (count && repository_resolve(repository, head, &range->names) < 0)
			return -1;
		return fill_range(s, range, head, count, !all, all);
	}
	terminated = calloc(count + 1, sizeof(*terminated));
	if (!terminated)
		return report_error("out of memory");
	memcpy(terminated, words, count * sizeof(*words));
	rc = repository_resolve(repository, terminated, &range->names);
	if (rc == 0)
		rc = fill_range(s, range, terminated, count, true, all);
	free(terminated);
	return rc;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* One walk does where it begins with the first commits and sees every file. */
static int take_first_change(void *ctx, const struct revision *told,
			     const struct tracked_file *file)
{
	int rc = note_first(ctx, told, file);

	return rc < 0 ? rc : take_change(ctx, told, file);
}

static int walk(struct stats *s, const struct range *range, const char *const *pathspecs,
		size_t count)
{
	struct repository *repository = s->ws->repository;
	bool once = !count && !range->leaves_out;
	int rc = 0;

	/* An empty repository has nothing to walk. */
	if (!range->asked[0])
		return 0;
	if (!once)
		rc = repository_each_change(repository, range->commits, NULL, NULL, 0, note_first,
					    s);
	if (rc == 0)
		rc = repository_each_change(repository, range->asked, s->tip, pathspecs, count,
					    once ? take_first_change : take_change, s);
	if (rc == 0 && s->tip)
		rc = repository_each_blob(repository, s->tip, take_current, s);
	return rc;
}

/* A file and where it stood. */
struct place {
	struct stats_file file;
	size_t index;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;

	return strcmp(x->file.path, y->file.path);
}

/* Puts the files into the order of their paths; changes keep naming theirs. */
static int sort_files(struct stats *s)
{
	struct stats_change *changes = (struct stats_change *)(void *)s->changes.data;
	size_t change_count = s->changes.size / sizeof(*changes);
	size_t count = stats_file_count(s);
	struct place *places = calloc(count + 1, sizeof(*places));
	size_t *now = calloc(count + 1, sizeof(*now));
	int rc = -1;

	if (!places || !now) {
		report_error("out of memory");
		goto out;
	}
	for (size_t i = 0; i < count; i++)
		places[i] = (struct place){*stats_file(s, i), i};
	qsort(places, count, sizeof(*places), compare_places);
	for (size_t i = 0; i < count; i++) {
		*file_at(s, i) = places[i].file;
		now[places[i].index] = i;
	}
	for (size_t i = 0; i < change_count; i++)
		changes[i].file = now[changes[i].file];
	rc = 0;
out:
	free(places);
	free(now);
	return rc;
}

int stats_collect(struct stats *s, const char *const *revisions, size_t revision_count, bool all,
		  const char *const *pathspecs, size_t count)
{
	struct range range = {.asked = NULL};
	int rc = read_range(s, &range, revisions, revision_count, all);

	s->is_shallow = repository_is_shallow(s->ws->repository);
	if (rc == 0)
		rc = walk(s, &range, pathspecs, count);
	if (rc == 0)
		rc = sort_files(s);
	buffer_release(&range.names);
	free(range.commits);
	free(range.asked);
	return rc;
}

void stats_release(struct stats *s)
{
	size_t revisions = stats_revision_count(s);
	size_t files = stats_file_count(s);

	for (size_t i = 0; i < files; i++)
		free(file_at(s, i)->path);
	for (size_t i = 0; i < revisions; i++) {
		free(revision_at(s, i)->commit);
		free(revision_at(s, i)->date);
		free(revision_at(s, i)->subject);
	}
	tdestroy(s->by_oid, free);
	tdestroy(s->by_path, free);
	tdestroy(s->by_version, free);
	tdestroy(s->by_file_object, free);
	tdestroy(s->by_original, free);
	tdestroy(s->first_seen, free);
	buffer_release(&s->objects);
	buffer_release(&s->files);
	buffer_release(&s->changes);
	buffer_release(&s->revisions);
	free(s->tip);
}
