/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "filter/git/attributes_file.h"
#include "filter/work/checkout.h"
#include "filter/cli/command.h"
#include "filter/objects/conflict_text.h"
#include "filter/git/filter_config.h"
#include "filter/cli/json_output.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/objects/stored.h"
#include "filter/work/work_content.h"
#include "filter/cli/text.h"

/* How a file stands. Each but the first deserves a line. */
enum state {
	STATE_FULL,    /* the work file is what the pointer stands for */
	STATE_CHANGED, /* the user changed it since */
	STATE_DELETED,
	STATE_POINTER,  /* not restored yet, the object is here */
	STATE_MISSING,  /* not restored, the object is not here */
	STATE_LOST,     /* the work file is complete, but its object is not here */
	STATE_RAW,      /* git holds the content itself */
	STATE_MARKERS,  /* a merge has written conflict markers into the pointer */
	STATE_CONFLICT, /* a merge left it to the user */
	STATE_SPARSE,   /* not wanted in this work tree */
	STATES
};

static const char *const state_names[STATES] = {"full", "changed", "deleted", "pointer",  "missing",
						"lost", "raw",     "markers", "conflict", "sparse"};

static const char *const state_titles[STATES] = {
	NULL,
	"Changed in the work tree, not staged (`git add`):",
	"Deleted in the work tree:",
	"Not restored yet (`git brevis checkout` restores them from objects that are here):",
	"Objects that are missing or damaged (`git brevis pull` downloads them):",
	"Complete, but their objects are missing or damaged (`git brevis pull` downloads them; if "
	"no "
	"remote has them, `touch` and `git add` make them anew):",
	"Stored raw (`git add --renormalize -- PATH` and a commit compress them):",
	"Pointers with conflict markers, which stand for no file (" CONFLICT_TEXT_REMEDY "):",
	"In conflict (`git checkout --ours -- PATH`, or --theirs, takes a side; `git add` ends "
	"it):",
	NULL};

struct entry {
	char *path;
	char staged; /* git's letter, or ' ' */
	enum state state;
	struct pointer pointer;
	uint64_t blob_size;
};

struct status {
	struct workspace *ws;
	struct buffer staged;  /* "Mpath NUL" ... */
	struct buffer touched; /* "path NUL" ... */
	size_t staged_at;
	size_t touched_at;
	size_t hidden; /* files whose diff is hidden, and the first of them */
	char *first_hidden;
	struct buffer entries; /* of struct entry */
};

static struct entry *entries(const struct status *s, size_t *count)
{
	*count = s->entries.size / sizeof(struct entry);
	return (struct entry *)(void *)s->entries.data;
}

/* ---- finding out ----------------------------------------------------------------------------- */

/* Finds a path in a list of NUL-terminated ones, each with skip bytes before it. List and questions
 * come in the same order, so that *at only moves forward. */
static const char *find_path(const struct buffer *list, size_t *at, size_t skip, const char *path)
{
	while (*at < list->size) {
		const char *item = (const char *)list->data + *at;
		int order = strcmp(item + skip, path);

		if (order >= 0)
			return order == 0 ? item : NULL;
		*at += strlen(item) + 1;
	}
	return NULL;
}

/* How a complete file stands: a push needs its object too. */
static enum state full_or_lost(const struct status *s, const struct tracked_file *file)
{
	return !file->is_pointer || object_store_has(s->ws->store, &file->pointer) ? STATE_FULL
										   : STATE_LOST;
}

static enum state look_at_file(struct status *s, const struct tracked_file *file)
{
	const char *top = repository_work_tree(s->ws->repository);
	struct stored stored;
	struct work_look look;

	if (!file->is_pointer && !file->blob_missing && file->blob_size > 0)
		return file->has_markers ? STATE_MARKERS : STATE_RAW;
	if (file->skip_worktree)
		return STATE_SPARSE;
	work_file_look(top, file->path, &look);
	if (look.kind == WORK_ABSENT)
		return STATE_DELETED;
	if (file->is_pointer && checkout_is_due(top, file, &look)) {
		stored_look(s->ws->store, &file->pointer, &stored);
		return stored.is_here ? STATE_POINTER : STATE_MISSING;
	}
	if (!find_path(&s->touched, &s->touched_at, 0, file->path))
		return full_or_lost(s, file);
	/* Nothing stays nothing, whatever its times. */
	if (look.kind == WORK_EMPTY && !file->blob_missing && file->pointer.size == 0)
		return full_or_lost(s, file);
	/* What only begins like an archive is kept like any content. */
	if ((look.kind == WORK_CONTENT || look.kind == WORK_ARCHIVE) && file->is_pointer &&
	    work_file_matches(s->ws, &file->pointer, file->path, (uint64_t)look.stat.st_size))
		return full_or_lost(s, file);
	return work_file_is_conflict_text(top, file->path) ? STATE_MARKERS : STATE_CHANGED;
}

static int add_entry(struct status *s, const struct entry *entry)
{
	buffer_append(&s->entries, entry, sizeof(*entry));
	if (entry->path && !buffer_failed(&s->entries))
		return 0;
	free(entry->path);
	return report_error("out of memory");
}

static int take_file(void *ctx, const struct tracked_file *file)
{
	struct status *s = ctx;
	const char *staged = find_path(&s->staged, &s->staged_at, 1, file->path);
	struct entry entry = {.staged = ' ',
			      .pointer = file->pointer,
			      .blob_size = file->blob_size,
			      .path = strdup(file->path)};

	entry.state = look_at_file(s, file);
	if (file->diff_hidden && !s->hidden++)
		s->first_hidden = strdup(file->path);
	if (staged)
		entry.staged = *staged;
	return add_entry(s, &entry);
}

/* Files in conflict have no one entry in the index. */
static int take_conflicts(struct status *s, const char *const *paths, size_t count)
{
	struct buffer conflicts = BUFFER_INIT;
	int rc = repository_conflicts(s->ws->repository, paths, count, &conflicts);

	for (size_t at = 0; at < conflicts.size && rc == 0;) {
		const char *path = (const char *)conflicts.data + at;
		struct entry entry = {.path = strdup(path), .staged = 'U', .state = STATE_CONFLICT};

		at += strlen(path) + 1;
		rc = add_entry(s, &entry);
	}
	buffer_release(&conflicts);
	return rc;
}

/* ---- telling --------------------------------------------------------------------------------- */

static char work_letter(enum state state)
{
	switch (state) {
	case STATE_CHANGED:
		return 'M';
	case STATE_DELETED:
		return 'D';
	case STATE_CONFLICT:
		return 'U';
	default:
		return ' ';
	}
}

static bool deserves_line(const struct entry *entry)
{
	return entry->staged != ' ' || (entry->state != STATE_FULL && entry->state != STATE_SPARSE);
}

static void print_staged(const struct status *s)
{
	size_t count;
	const struct entry *e = entries(s, &count);
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		char stored_size[SIZE_TEXT];
		char original_size[SIZE_TEXT];
		char saved[SIZE_TEXT];
		struct stored stored;

		if (e[i].staged == ' ' || e[i].state == STATE_RAW || e[i].state == STATE_MARKERS ||
		    e[i].state == STATE_CONFLICT)
			continue;
		if (!any)
			printf("To be committed:\n");
		any = true;
		printf("    %c ", e[i].staged);
		print_path(stdout, e[i].path);
		stored_look(s->ws->store, &e[i].pointer, &stored);
		if (stored.is_archive && stored.is_known)
			printf(" (%s as %s, %s)", size_text(stored.original_size, original_size),
			       size_text(e[i].pointer.size, stored_size),
			       saved_text(stored.original_size, e[i].pointer.size, saved));
		putchar('\n');
	}
	if (any)
		putchar('\n');
}

static size_t print_group(const struct status *s, enum state state)
{
	size_t count;
	const struct entry *e = entries(s, &count);
	char size[SIZE_TEXT];
	size_t printed = 0;

	for (size_t i = 0; i < count; i++) {
		if (e[i].state != state)
			continue;
		if (!printed++)
			printf("%s\n", state_titles[state]);
		printf("    ");
		print_path(stdout, e[i].path);
		if (state == STATE_RAW)
			printf(" (%s)", size_text(e[i].blob_size, size));
		else if (state == STATE_MISSING || state == STATE_LOST)
			printf(" (%s)", size_text(e[i].pointer.size, size));
		putchar('\n');
	}
	if (printed)
		putchar('\n');
	return printed;
}

static void print_text(const struct status *s)
{
	size_t count;
	size_t attention = 0;

	entries(s, &count);
	print_staged(s);
	for (int state = 0; state < STATES; state++)
		if (state_titles[state])
			attention += print_group(s, (enum state)state);
	if (!count)
		printf("No file here is kept by git-brevis.\n");
	else if (!attention)
		printf("%zu file%s kept by git-brevis%s.\n", count, count == 1 ? "" : "s",
		       s->hidden ? "" : ", all in order");
}

/* "XY STATE<tab>PATH": git's two letters, a word of state_names, the path; NUL instead of line feed
 * with -z. */
static void print_porcelain(const struct status *s, bool nul)
{
	size_t count;
	const struct entry *e = entries(s, &count);

	for (size_t i = 0; i < count; i++)
		if (deserves_line(&e[i]))
			printf("%c%c %s\t%s%c", e[i].staged, work_letter(e[i].state),
			       state_names[e[i].state], e[i].path, nul ? 0 : '\n');
}

static int print_json(const struct status *s)
{
	size_t count;
	const struct entry *e = entries(s, &count);
	struct json_output *json = json_begin();

	if (!json)
		return -1;
	json_open(json, NULL, '{');
	json_open(json, "files", '[');
	for (size_t i = 0; i < count; i++) {
		char letters[3] = {e[i].staged, work_letter(e[i].state), 0};

		json_open(json, NULL, '{');
		json_string(json, "name", e[i].path);
		json_string(json, "status", letters);
		json_string(json, "state", state_names[e[i].state]);
		if (e[i].state != STATE_RAW && e[i].pointer.oid[0]) {
			json_string(json, "oid", e[i].pointer.oid);
			json_number(json, "size", e[i].pointer.size);
		}
		json_close(json);
	}
	json_close(json);
	json_close(json);
	return json_end(json, 0);
}

/* An earlier version set less, and a clone elsewhere may have nothing of it. One line is enough. */
static void warn_of_settings(const struct repository *repository)
{
	for (size_t i = 0; i < FILTER_SETTINGS; i++) {
		const char *key = filter_settings[i].key;
		/* Of agents `git brevis env` tells: only some repositories need them. */
		bool is_agent = strncmp(key, "lfs.", 4) == 0;
		char *value = is_agent ? NULL : repository_config(repository, key);
		bool is_missing = !is_agent && !value;

		free(value);
		if (!is_missing)
			continue;
		report_warning("%s is not set: git does not know all that these files need; run "
			       "`git brevis install`",
			       key);
		return;
	}
}

/* Returns an exit code, or -1 after reporting. */
static int run(struct status *s, char **paths, int count, bool porcelain, bool json, bool nul)
{
	struct repository *repository = s->ws->repository;

	if (!repository_work_tree(repository))
		return report_error("there is no work tree here to tell the status of; `git brevis "
				    "ls-files` lists what HEAD has");
	if (repository_lacks_index(repository)) {
		report_error("the checkout of this clone was not completed; `git brevis pull` and "
			     "then `git restore :/` complete it");
		return EXIT_FOUND;
	}
	if (repository_staged(repository, &s->staged) < 0 ||
	    repository_touched(repository, &s->touched) < 0 ||
	    repository_each_tracked(repository, NULL, (const char *const *)paths, (size_t)count,
				    take_file, s) < 0 ||
	    take_conflicts(s, (const char *const *)paths, (size_t)count) < 0)
		return -1;
	if (json)
		return print_json(s);
	if (porcelain)
		print_porcelain(s, nul);
	else
		print_text(s);
	attributes_warn_of_hidden(s->first_hidden, s->hidden);
	if (s->entries.size)
		warn_of_settings(repository);
	return 0;
}

int verb_status(const struct command *self, int argc, char **argv)
{
	struct status s = {.ws = NULL};
	struct workspace ws;
	bool porcelain = false;
	bool json = false;
	bool nul = false;
	const struct option_spec table[] = {
		{.letter = 'p',
		 .name = "porcelain",
		 .flag = &porcelain,
		 .help = "lines for scripts: git's two letters, a word, the path"},
		{.letter = 'j', .name = "json", .flag = &json, .help = "write JSON"},
		{.letter = 'z', .flag = &nul, .help = "like --porcelain, each line ends with NUL"},
		{0}};
	struct entry *e;
	size_t count;
	int code;
	int paths = options_parse(self, argc, argv, table, &code);

	if (paths < 0)
		return code;
	if (workspace_open(&ws) < 0)
		return EXIT_FATAL;
	s.ws = &ws;
	code = run(&s, argv, paths, porcelain || nul, json, nul);
	if (code < 0)
		code = EXIT_FATAL;
	e = entries(&s, &count);
	for (size_t i = 0; i < count; i++)
		free(e[i].path);
	free(s.first_hidden);
	buffer_release(&s.entries);
	buffer_release(&s.touched);
	buffer_release(&s.staged);
	workspace_close(&ws);
	return code;
}
