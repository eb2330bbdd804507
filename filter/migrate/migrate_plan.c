/* SPDX-License-Identifier: Apache-2.0 */
/** What moves: the files that the patterns match, in a form that is to be left. */
#include <stdlib.h>
#include <string.h>

#include "filter/git/attributes_file.h"
#include "filter/migrate/migrate.h"
#include "filter/cli/report.h"
#include "filter/objects/stored.h"

/* An attribute that nobody's files have: git tells by it what a pattern matches. */
#define CHOSEN "git-brevis-chosen"

const char *migrate_form_name(enum migrate_form form)
{
	return form == MIGRATE_RAW ? "raw" : form == MIGRATE_LFS ? "lfs" : "brevis";
}

struct migrate_file *migrate_files(const struct migrate *m, size_t *count)
{
	*count = m->files.size / sizeof(struct migrate_file);
	return (struct migrate_file *)(void *)m->files.data;
}

struct proposed_edit *migrate_edits(const struct migrate *m, size_t *count)
{
	*count = m->edits.size / sizeof(struct proposed_edit);
	return (struct proposed_edit *)(void *)m->edits.data;
}

static void release_files(struct migrate *m)
{
	size_t count;
	struct migrate_file *files = migrate_files(m, &count);

	for (size_t i = 0; i < count; i++)
		free(files[i].path);
	buffer_release(&m->files);
	buffer_release(&m->changing);
}

void migrate_release(struct migrate *m)
{
	size_t count;
	struct proposed_edit *edits = migrate_edits(m, &count);

	for (size_t i = 0; i < count; i++)
		proposal_release(&edits[i]);
	buffer_release(&m->edits);
	buffer_release(&m->lacking.names);
	release_files(m);
	free(m->prefix);
}

/* ---- what is chosen -------------------------------------------------------------------------- */

/* A line for each pattern. Reports and returns -1 if one is no good. */
static int write_tests(const struct migrate *m, struct buffer *lines)
{
	for (size_t i = 0; i < m->options->count; i++) {
		char *pattern = attributes_pattern(m->options->patterns[i], false);
		const char *fault = pattern ? attributes_pattern_fault(pattern)
					    : "cannot be read: "
					      "out of memory";

		if (pattern && !fault) {
			buffer_append(lines, pattern, strlen(pattern));
			buffer_append(lines, " " CHOSEN "\n", sizeof(" " CHOSEN "\n") - 1);
		}
		free(pattern);
		if (fault)
			return report_error("'%s' %s; nothing was changed", m->options->patterns[i],
					    fault);
	}
	buffer_u8(lines, 0);
	return buffer_failed(lines) ? report_error("out of memory") : 0;
}

/* Lists all files of the index with "set" for those that are chosen. */
static int choose(const struct migrate *m, struct buffer *paths, struct buffer *values)
{
	struct buffer lines = BUFFER_INIT;
	int rc = 0;

	if (m->options->count) {
		rc = write_tests(m, &lines);
		if (rc == 0)
			rc = proposal_try_lines(m->proposal, m->prefix, (const char *)lines.data,
						CHOSEN, paths, values);
	}
	buffer_release(&lines);
	return rc;
}

static const char *next(const char *text)
{
	return text + strlen(text) + 1;
}

static size_t count_strings(const struct buffer *text)
{
	size_t count = 0;

	for (size_t at = 0; at < text->size; at++)
		count += text->data[at] == 0;
	return count;
}

/* What is known of all files of the index while the plan is made. */
struct scan {
	struct migrate *m;
	struct buffer paths;
	struct buffer filters; /* the value of each one's filter attribute */
	const char **filter;   /* the same, to be indexed */
	bool *wanted;
};

static int scan_all(struct scan *s)
{
	struct buffer chosen_paths = BUFFER_INIT;
	struct buffer chosen = BUFFER_INIT;
	bool has_patterns = s->m->options->count > 0;
	const char *filter;
	const char *value;
	size_t count;
	int rc = proposal_attribute(s->m->proposal, "filter", &s->paths, &s->filters);

	if (rc == 0)
		rc = choose(s->m, &chosen_paths, &chosen);
	count = count_strings(&s->paths);
	s->filter = calloc(count + 1, sizeof(*s->filter));
	s->wanted = calloc(count + 1, sizeof(*s->wanted));
	if (rc == 0 && (!s->filter || !s->wanted || buffer_failed(&s->paths)))
		rc = report_error("out of memory");
	if (rc == 0 && (count_strings(&s->filters) != count ||
			(has_patterns && count_strings(&chosen) != count)))
		rc = report_error("the index changed while it was read; nothing was changed; try "
				  "again");
	filter = (const char *)s->filters.data;
	value = (const char *)chosen.data;
	for (size_t i = 0; i < count && rc == 0; i++, filter = next(filter)) {
		s->filter[i] = filter;
		s->wanted[i] =
			strcmp(has_patterns ? value : filter, has_patterns ? "set" : "brevis") == 0;
		if (has_patterns)
			value = next(value);
	}
	buffer_release(&chosen);
	buffer_release(&chosen_paths);
	return rc;
}

/* ---- what becomes of each -------------------------------------------------------------------- */

/* Finds out how git keeps a file now. Of an object that is not here the attribute tells. */
static void classify(const struct migrate *m, const char *filter, struct migrate_file *file)
{
	struct stored stored;

	stored_look(m->ws->store, &file->pointer, &stored);
	if (stored.is_here)
		file->from = stored.is_archive ? MIGRATE_BREVIS : MIGRATE_LFS;
	else
		file->from = filter && strcmp(filter, "brevis") == 0 ? MIGRATE_BREVIS : MIGRATE_LFS;
	file->size = stored.is_known ? stored.original_size : file->pointer.size;
}

/* True if the attribute says already what it has to say in the end. */
static bool is_at_target(const struct migrate *m, const char *filter)
{
	switch (m->options->to) {
	case MIGRATE_BREVIS:
		return strcmp(filter, "brevis") == 0;
	case MIGRATE_LFS:
		return strcmp(filter, "lfs") == 0;
	default:
		return strcmp(filter, "brevis") != 0 && strcmp(filter, "lfs") != 0;
	}
}

/* An archive comes out of every pointer of git-brevis, so whether one of them is plain matters only
 * where it is to become one. */
static bool keeps_blob(const struct migrate *m, const struct migrate_file *file)
{
	return file->from == m->options->to;
}

static bool moves(const struct migrate *m, const struct tracked_file *tracked, const char *filter,
		  const struct migrate_file *file)
{
	/* Only what git-brevis keeps can be exported. */
	if (m->options->to != MIGRATE_BREVIS && strcmp(filter, "brevis") != 0)
		return false;
	if (path_is_left_alone(tracked->path) || file->size < m->options->above)
		return false;
	/* An archive that another filter has is one already. */
	return (m->options->from & file->from) != 0 || file->from == m->options->to;
}

static int note_changing(struct migrate *m, const char *path)
{
	buffer_append(&m->changing, path, strlen(path) + 1);
	return buffer_failed(&m->changing) ? report_error("out of memory") : 0;
}

static int take_file(void *ctx, size_t i, const struct tracked_file *tracked)
{
	struct scan *s = ctx;
	struct migrate *m = s->m;
	struct migrate_file file = {.executable = tracked->executable,
				    .skip_worktree = tracked->skip_worktree,
				    .from = MIGRATE_RAW,
				    .size = tracked->blob_size};

	m->matched++;
	if (tracked->blob_missing)
		return repository_note_lacking(&m->lacking, tracked) ? -1 : 0;
	/* Nothing is nothing in every form. */
	if (!tracked->is_pointer && tracked->blob_size == 0)
		return note_changing(m, tracked->path);
	if (tracked->is_pointer) {
		file.pointer = tracked->pointer;
		classify(m, s->filter[i], &file);
	}
	memcpy(file.blob, tracked->blob, sizeof(file.blob));
	file.is_kept = keeps_blob(m, &file);
	file.needs_line = !is_at_target(m, s->filter[i]);
	if (file.is_kept && !file.needs_line)
		return note_changing(m, tracked->path);
	if (!moves(m, tracked, s->filter[i], &file)) {
		m->left++;
		return 0;
	}
	file.path = strdup(tracked->path);
	buffer_append(&m->files, &file, sizeof(file));
	if (!file.path || buffer_failed(&m->files))
		return report_error("out of memory");
	return note_changing(m, tracked->path);
}

static int scan_once(struct migrate *m, struct scan *s)
{
	int rc = scan_all(s);

	release_files(m);
	m->matched = m->left = 0;
	if (rc == 0)
		rc = proposal_each(m->proposal, s->wanted, take_file, s);
	return rc;
}

static void scan_release(struct scan *s)
{
	free(s->filter);
	free(s->wanted);
	buffer_release(&s->paths);
	buffer_release(&s->filters);
	*s = (struct scan){.m = s->m};
}

/* ---- what the lines made of it --------------------------------------------------------------- */

/* The index, its files that move and its paths that may change come in one order: how far the
 * latter two have been followed. */
struct follow {
	struct migrate *m;
	size_t file;
	size_t changing;
};

/* Drops what another line, file or macro keeps from changing; its path goes, see close_gaps. */
static void drop(struct follow *f, const char *path)
{
	size_t count;
	struct migrate_file *files = migrate_files(f->m, &count);

	while (f->file < count && strcmp(files[f->file].path, path) < 0)
		f->file++;
	if (f->file == count || strcmp(files[f->file].path, path) != 0)
		return;
	report_warning("%s: left as it is: another line has the last word on its filter; `git "
		       "check-attr -a -- PATH` shows what is in force, and deeper .gitattributes "
		       "files go before higher ones",
		       path);
	free(files[f->file].path);
	files[f->file++].path = NULL;
	f->m->elsewhere++;
}

static void close_gaps(struct migrate *m)
{
	size_t count;
	struct migrate_file *files = migrate_files(m, &count);
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (files[i].path)
			files[kept++] = files[i];
	m->files.size = kept * sizeof(*files);
}

static bool may_change(struct follow *f, const char *path)
{
	const struct buffer *changing = &f->m->changing;
	int order = -1;

	/* Those we leave alone, whatever their lines say. git-lfs does not. */
	if (path_is_left_alone(path) && f->m->options->to == MIGRATE_RAW)
		return true;
	while (f->changing < changing->size && order < 0) {
		const char *item = (const char *)changing->data + f->changing;

		order = strcmp(item, path);
		if (order < 0)
			f->changing += strlen(item) + 1;
	}
	return order == 0;
}

/* A file of the migration's own, that only it has added: git and git-lfs have to read it. */
static int verify_new(const struct migrate *m, const char *path, const char *filter)
{
	if (m->options->to == MIGRATE_RAW || !is_at_target(m, filter))
		return 0;
	return report_error("%s would match, too, which git has to read as it is; nothing was "
			    "changed; choose a pattern that names your files, like '*.safetensors'",
			    path);
}

/* Compares what git says now with what it said before the lines changed. */
static int verify_lines(struct migrate *m, const struct scan *s)
{
	struct buffer paths = BUFFER_INIT;
	struct buffer filters = BUFFER_INIT;
	struct follow follow = {.m = m};
	const char *old = (const char *)s->paths.data;
	const char *end = old + s->paths.size;
	int rc = proposal_attribute(m->proposal, "filter", &paths, &filters);
	const char *filter = (const char *)filters.data;
	size_t i = 0;

	for (size_t at = 0; rc == 0 && at < paths.size; filter = next(filter)) {
		const char *path = (const char *)paths.data + at;

		at += strlen(path) + 1;
		if (old == end || strcmp(path, old) != 0) {
			rc = verify_new(m, path, filter);
			continue;
		}
		if (strcmp(filter, s->filter[i]) != 0 && !may_change(&follow, path))
			rc = report_error("%s: would change too, which was not asked for; name the "
					  "files more exactly; nothing was changed",
					  path);
		else if (s->wanted[i] && !is_at_target(m, filter))
			drop(&follow, path);
		old = next(old);
		i++;
	}
	close_gaps(m);
	buffer_release(&filters);
	buffer_release(&paths);
	return rc;
}

static bool needs_lines(const struct migrate *m)
{
	size_t count;
	const struct migrate_file *files = migrate_files(m, &count);
	bool needed = false;

	for (size_t i = 0; i < count; i++)
		needed = needed || files[i].needs_line;
	return needed;
}

int migrate_plan(struct migrate *m)
{
	struct scan s = {.m = m};
	int rc;

	m->prefix = repository_prefix(m->ws->repository);
	rc = m->prefix ? scan_once(m, &s) : -1;
	if (rc == 0 && repository_fetch_lacking(m->ws->repository, &m->lacking)) {
		scan_release(&s);
		rc = scan_once(m, &s);
	}
	if (rc == 0 && needs_lines(m))
		rc = migrate_lines(m) < 0 ? -1 : verify_lines(m, &s);
	scan_release(&s);
	return rc;
}
