/* SPDX-License-Identifier: Apache-2.0 */
/** The lines of .gitattributes, and of .lfsconfig, that a migration changes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/git/attributes_file.h"
#include "filter/git/guard.h"
#include "filter/git/scratch_file.h"
#include "filter/migrate/migrate.h"
#include "filter/cli/report.h"
#include "filter/stream.h"

#define GUARD_FILE ".lfsconfig"

static const char *words_of(enum migrate_form form)
{
	return form == MIGRATE_BREVIS ? ATTRIBUTES_OURS
	       : form == MIGRATE_LFS  ? ATTRIBUTES_LFS
				      : ATTRIBUTES_RAW;
}

static int add_edit(struct migrate *m, const struct proposed_edit *edit)
{
	buffer_append(&m->edits, edit, sizeof(*edit));
	return buffer_failed(&m->edits) ? report_error("out of memory") : 0;
}

/* ---- the guard ------------------------------------------------------------------------------- */

/* What is to be done to .lfsconfig: on a copy, for `git config` only knows files. */
struct guard_copy {
	struct proposed_edit edit;
	struct scratch_file file;
	struct buffer patterns; /* to be added or removed, "PATTERN NUL" each */
	bool changed;
	bool add;
};

static int write_copy(const struct guard_copy *g)
{
	int fd = open(g->file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -1 : stream_write(&fd, g->edit.text.data, g->edit.text.size);

	if (fd >= 0 && close(fd) != 0)
		rc = -1;
	return rc < 0 ? report_error("%s: cannot write it: %s; make room there", g->file.path,
				     strerror(errno))
		      : 0;
}

static int read_copy(struct guard_copy *g)
{
	int fd = open(g->file.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int rc;

	buffer_clear(&g->edit.text);
	/* It is removed when nothing is left in it. */
	if (fd < 0 && errno == ENOENT)
		return 0;
	rc = fd < 0 ? -1 : stream_read(fd, stream_keep, &g->edit.text);
	if (rc < 0)
		rc = report_error("%s: cannot read it: %s; check the disk", g->file.path,
				  strerror(errno));
	else if (rc > 0)
		rc = report_error("out of memory");
	if (fd >= 0)
		close(fd);
	return rc;
}

static int guard_begin(struct migrate *m, struct guard_copy *g)
{
	int rc;

	g->edit.path = strdup(GUARD_FILE);
	if (!g->edit.path)
		return report_error("out of memory");
	if (scratch_file_name(m->ws->repository, &g->file) < 0)
		return -1;
	rc = proposal_load(m->proposal, &g->edit);
	return rc == 0 && !g->edit.is_new ? write_copy(g) : rc;
}

/* Notes what a line of prefix/.gitattributes matches. */
static int guard_line(const struct migrate *m, struct guard_copy *g, const char *prefix,
		      const char *pattern)
{
	char *guarded;

	if (m->options->no_guard)
		return 0;
	guarded = guard_pattern(prefix, pattern);
	if (guarded)
		buffer_append(&g->patterns, guarded, strlen(guarded) + 1);
	free(guarded);
	return guarded && !buffer_failed(&g->patterns) ? 0 : report_error("out of memory");
}

static int guard_finish(struct migrate *m, struct guard_copy *g)
{
	int rc = guard_change(g->file.path, &g->patterns, g->add, &g->changed);

	if (rc == 0 && g->changed)
		rc = read_copy(g);
	if (rc == 0 && m->options->to == MIGRATE_LFS && guard_is_there(g->file.path))
		report_warning("lfs.fetchexclude in " GUARD_FILE
			       " still keeps git-lfs from fetching "
			       "some files; if they are among those that moved, take their pattern "
			       "out of it");
	if (rc == 0 && g->changed)
		rc = proposal_edit(m->proposal, &g->edit);
	if (rc == 0 && g->changed) {
		rc = add_edit(m, &g->edit);
		g->edit = (struct proposed_edit){.path = NULL};
	}
	return rc;
}

static void guard_end(struct guard_copy *g)
{
	scratch_file_remove(&g->file);
	buffer_release(&g->patterns);
	proposal_release(&g->edit);
}

/* ---- .gitattributes -------------------------------------------------------------------------- */

/* One such file that is being changed. */
struct lines {
	struct migrate *m;
	struct guard_copy *guard;
	char *prefix; /* of its directory */
	struct proposed_edit edit;
	struct attributes_file *file;
	bool failed;
};

static int lines_begin(struct lines *l, const char *path)
{
	const char *slash = strrchr(path, '/');

	l->edit.path = strdup(path);
	l->prefix = strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
	if (!l->edit.path || !l->prefix)
		return report_error("out of memory");
	if (proposal_load(l->m->proposal, &l->edit) < 0)
		return -1;
	l->file = attributes_file_parse(path, l->edit.text.data, l->edit.text.size);
	return l->file ? 0 : -1;
}

static int set_line(struct lines *l, const char *pattern)
{
	if (attributes_file_set(l->file, pattern, words_of(l->m->options->to)) == ATTRIBUTES_FAILED)
		return -1;
	return guard_line(l->m, l->guard, l->prefix, pattern);
}

static int lines_finish(struct lines *l)
{
	struct buffer text = BUFFER_INIT;
	int rc = 0;

	attributes_file_text(l->file, &text);
	if (text.size == l->edit.text.size &&
	    (!text.size || memcmp(text.data, l->edit.text.data, text.size) == 0)) {
		buffer_release(&text);
		return 0;
	}
	buffer_release(&l->edit.text);
	l->edit.text = text;
	rc = proposal_edit(l->m->proposal, &l->edit);
	if (rc == 0) {
		rc = add_edit(l->m, &l->edit);
		l->edit = (struct proposed_edit){.path = NULL};
	}
	return rc;
}

static void lines_end(struct lines *l)
{
	attributes_file_free(l->file);
	proposal_release(&l->edit);
	free(l->prefix);
}

/* A line for each file that moves: a pattern would touch others, too, or small ones to come. */
static int set_file_lines(struct lines *l)
{
	size_t count;
	const struct migrate_file *files = migrate_files(l->m, &count);
	size_t skip = strlen(l->prefix);

	for (size_t i = 0; i < count; i++) {
		char *name;
		char *pattern;
		int rc;

		if (!files[i].needs_line)
			continue;
		if (asprintf(&name, "/%s", files[i].path + skip) < 0)
			return report_error("out of memory");
		pattern = attributes_pattern(name, true);
		rc = pattern ? set_line(l, pattern) : report_error("out of memory");
		free(pattern);
		free(name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int set_pattern_lines(struct lines *l)
{
	const struct migrate_options *options = l->m->options;
	int rc = 0;

	for (size_t i = 0; i < options->count && rc == 0; i++) {
		char *pattern = attributes_pattern(options->patterns[i], false);

		rc = pattern ? set_line(l, pattern) : report_error("out of memory");
		free(pattern);
	}
	return rc;
}

/* The lines go into this directory's file. */
static int change_here(struct migrate *m, struct guard_copy *guard)
{
	struct lines l = {.m = m, .guard = guard};
	char *path;
	int rc;

	if (asprintf(&path, "%s.gitattributes", m->prefix) < 0)
		return report_error("out of memory");
	rc = lines_begin(&l, path);
	if (rc == 0)
		rc = m->left || m->options->above ? set_file_lines(&l) : set_pattern_lines(&l);
	if (rc == 0)
		rc = lines_finish(&l);
	lines_end(&l);
	free(path);
	return rc;
}

static void set_if_tracked(void *ctx, const char *pattern, bool tracked)
{
	struct lines *l = ctx;

	if (tracked && !l->failed)
		l->failed = set_line(l, pattern) < 0;
}

/* Every line that hands files to git-brevis becomes another. A list of the file's lines as it was
 * is gone through, while the file itself changes. */
static int change_one(struct migrate *m, struct guard_copy *guard, const char *path)
{
	struct lines l = {.m = m, .guard = guard};
	struct attributes_file *was = NULL;
	int rc = lines_begin(&l, path);

	if (rc == 0) {
		was = attributes_file_parse(path, l.edit.text.data, l.edit.text.size);
		rc = was ? 0 : -1;
	}
	if (rc == 0)
		attributes_file_each(was, set_if_tracked, &l);
	if (rc == 0)
		rc = l.failed ? -1 : lines_finish(&l);
	attributes_file_free(was);
	lines_end(&l);
	return rc;
}

static bool is_attributes_file(const char *path)
{
	static const char name[] = ".gitattributes";
	size_t len = strlen(path);

	return len >= sizeof(name) - 1 && strcmp(path + len - (sizeof(name) - 1), name) == 0 &&
	       (len == sizeof(name) - 1 || path[len - sizeof(name)] == '/');
}

static int change_everywhere(struct migrate *m, struct guard_copy *guard)
{
	struct buffer paths = BUFFER_INIT;
	struct buffer filters = BUFFER_INIT;
	int rc = proposal_attribute(m->proposal, "filter", &paths, &filters);

	for (size_t at = 0; rc == 0 && at < paths.size;) {
		const char *path = (const char *)paths.data + at;

		at += strlen(path) + 1;
		if (is_attributes_file(path))
			rc = change_one(m, guard, path);
	}
	buffer_release(&filters);
	buffer_release(&paths);
	return rc;
}

int migrate_lines(struct migrate *m)
{
	struct guard_copy guard = {.add = m->options->to == MIGRATE_BREVIS};
	bool guarded = !m->options->no_guard;
	int rc = guarded ? guard_begin(m, &guard) : 0;

	if (rc == 0)
		rc = m->options->count ? change_here(m, &guard) : change_everywhere(m, &guard);
	if (rc == 0 && guarded)
		rc = guard_finish(m, &guard);
	guard_end(&guard);
	return rc < 0 ? rc : proposal_apply(m->proposal);
}
