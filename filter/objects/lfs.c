/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Objects are named to git-lfs by their oid, not by path: oids are unique in a batch and need no
 * quoting. The conversation:
 *
 *   1. each pointer is offered with can-delay=1, so that git-lfs downloads them together;
 *   2. list_available_blobs is asked until each was named once. git-lfs names one when it has come,
 *      and those that did not come at the very end;
 *   3. what is then not in the store is asked for once more, alone: that makes git-lfs say why, or
 *      bring it after all. (An object of the wrong size it only removes the first time.)
 *
 * The bytes themselves are never taken from git-lfs: they lie in the store.
 */
#include "filter/objects/lfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "filter/objects/judgement.h"
#include "filter/objects/lfs_cause.h"
#include "filter/objects/lfs_progress.h"
#include "filter/convert/pkt_line.h"
#include "filter/git/process.h"
#include "filter/cli/report.h"

/* Bytes of a cause that are shown. */
#define CAUSE_SIZE 400

/* Bytes of git-lfs's stderr that are kept, at a time. */
#define CHATTER_LIMIT (1024 * 1024)

struct item {
	const struct lfs_want *want;
	bool named;
	char *cause; /* why it did not come, once that is known */
};

struct download {
	struct workspace *ws;
	struct item *items; /* one for each object, in the order of oids */
	size_t count;
	struct process child;
	struct pkt_reader *reader;
	struct pkt_writer *writer;
	int error_fd;             /* git-lfs's stderr */
	char general[CAUSE_SIZE]; /* the cause, once it is one that concerns all objects */
	bool lost;                /* git-lfs does not answer any more */
	struct lfs_progress progress;
	bool borrows; /* the repository reads objects of another one, and so does git-lfs */
};

/* ---- the list ------------------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a;
	const struct item *y = b;

	return strcmp(x->want->pointer.oid, y->want->pointer.oid);
}

static int find_item(const void *oid, const void *item)
{
	const struct item *x = item;

	return strcmp(oid, x->want->pointer.oid);
}

/* Fills items with what is missing, each object once. */
static void make_list(struct download *d, const struct lfs_want *want, size_t count)
{
	size_t found = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!object_store_has(d->ws->store, &want[i].pointer))
			d->items[found++].want = &want[i];
	}
	qsort(d->items, found, sizeof(*d->items), compare_items);
	for (i = 0; i < found; i++) {
		if (d->count == 0 || compare_items(&d->items[d->count - 1], &d->items[i]) != 0)
			d->items[d->count++] = d->items[i];
	}
}

/* The cause of an item if the store does not take its object, or with oid NULL no temporary file:
 * git-lfs says nothing of that, or but "EOF". Caller frees; NULL if that is not it. */
static char *store_cause(const struct download *d, const char *oid)
{
	char *where;
	char *cause = NULL;
	int refused = object_store_refuses(d->ws->store, oid, &where);

	if (refused && asprintf(&cause, "cannot write %s: %s", where ? where : "the object store",
				strerror(refused)) < 0)
		cause = NULL;
	free(where);
	return cause;
}

/* Returns how many objects the store would take; the others have a cause then. */
static size_t probe_store(struct download *d)
{
	size_t able = 0;
	size_t i;

	for (i = 0; i < d->count; i++) {
		d->items[i].cause = store_cause(d, d->items[i].want->pointer.oid);
		able += !d->items[i].cause;
	}
	return able;
}

/* ---- the child ------------------------------------------------------------------------------ */

/* A file in memory that cannot grow beyond its limit: what git-lfs writes then is lost, to both. */
static int open_chatter(void)
{
	int fd = memfd_create("git-lfs", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, CHATTER_LIMIT) != 0 ||
			fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int start_child(struct download *d)
{
	/* What keeps stock git-lfs from fetching these files is not meant for us. */
	static const char *const argv[] = {"git",
					   "-c",
					   "lfs.fetchinclude=",
					   "-c",
					   "lfs.fetchexclude=",
					   "lfs",
					   "filter-process",
					   NULL};
	static const char *const unset[] = {"GIT_LFS_SKIP_SMUDGE", "GIT_BREVIS_SKIP_SMUDGE", NULL};
	/* Else the first object that fails would end git-lfs. */
	static const char *const set[] = {"GIT_LFS_SKIP_DOWNLOAD_ERRORS=1", NULL};
	struct process_options options = {.unset = unset, .set = set};

	d->error_fd = open_chatter();
	options.error_fd = d->error_fd;
	if (d->error_fd < 0 || process_start(&d->child, argv, &options) != 0)
		return report_error("cannot run git: %s; see that git is in PATH", strerror(errno));
	d->reader = pkt_reader_new(d->child.out);
	d->writer = pkt_writer_new(d->child.in);
	return d->reader && d->writer ? 0 : report_error("out of memory");
}

/* Reads text packets up to a flush. Returns whether expected was among them; *d->lost is set when
 * the stream ends. */
static bool read_list(struct download *d, const char *expected)
{
	enum pkt_kind kind = PKT_END;
	bool found = false;
	const char *text;

	while (!d->lost && (kind = pkt_read_text(d->reader, &text)) == PKT_DATA) {
		if (strcmp(text, expected) == 0)
			found = true;
	}
	if (kind != PKT_FLUSH)
		d->lost = true;
	return found;
}

static void send_flush(struct download *d)
{
	if (!d->lost && pkt_write_flush(d->writer) != 0)
		d->lost = true;
}

static int shake_hands(struct download *d)
{
	pkt_write_text(d->writer, "git-filter-client");
	pkt_write_text(d->writer, "version=2");
	send_flush(d);
	if (!read_list(d, "version=2"))
		return -1;
	pkt_write_text(d->writer, "capability=clean"); /* never used, but git-lfs insists */
	pkt_write_text(d->writer, "capability=smudge");
	pkt_write_text(d->writer, "capability=delay");
	send_flush(d);
	return read_list(d, "capability=delay") && !d->lost ? 0 : -1;
}

/* Drops the content of an answer, and the status behind it. */
static void drop_content(struct download *d)
{
	enum pkt_kind kind = PKT_END;
	const uint8_t *data;
	size_t len;

	while (!d->lost && (kind = pkt_read(d->reader, &data, &len)) == PKT_DATA)
		;
	if (kind != PKT_FLUSH)
		d->lost = true;
	read_list(d, "");
}

/* Asks for one object: to be brought with the others, or alone and at once. True: it will come. */
static bool ask(struct download *d, const struct item *item, bool delay)
{
	char text[POINTER_TEXT_SIZE];
	enum pkt_kind kind = PKT_END;
	bool content = false;
	bool delayed = false;
	const char *line;

	pkt_write_text(d->writer, "command=smudge");
	pkt_write_text(d->writer, "pathname=%s", item->want->pointer.oid);
	if (delay)
		pkt_write_text(d->writer, "can-delay=1");
	send_flush(d);
	pkt_write(d->writer, text, pointer_format(&item->want->pointer, text));
	send_flush(d);
	while (!d->lost && (kind = pkt_read_text(d->reader, &line)) == PKT_DATA) {
		if (strcmp(line, "status=success") == 0)
			content = true;
		if (strcmp(line, "status=delayed") == 0)
			delayed = true;
	}
	if (kind != PKT_FLUSH)
		d->lost = true;
	else if (content)
		drop_content(d);
	return delayed && !d->lost;
}

/* ---- progress and causes -------------------------------------------------------------------- */

static void begin_progress(struct download *d)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < d->count; i++)
		if (!d->items[i].cause)
			bytes += d->items[i].want->pointer.size;
	lfs_progress_begin(&d->progress, repository_lfs_dir(d->ws->repository),
			   d->count == 1 ? d->items[0].want->path : "objects", d->count, bytes);
}

static bool is_pending(void *ctx, const char *oid)
{
	const struct download *d = ctx;
	const struct item *item = bsearch(oid, d->items, d->count, sizeof(*d->items), find_item);

	return item && !item->named;
}

/* Reads the names of a list_available_blobs answer. Returns how many items are named so far, or 0
 * when the list was empty: then no more will come. */
static size_t read_names(struct download *d, size_t named)
{
	enum pkt_kind kind = PKT_END;
	bool any = false;
	const char *line;

	while (!d->lost && (kind = pkt_read_text(d->reader, &line)) == PKT_DATA) {
		struct item *item;

		if (strncmp(line, "pathname=", 9) != 0)
			continue;
		any = true;
		item = bsearch(line + 9, d->items, d->count, sizeof(*d->items), find_item);
		if (!item || item->named)
			continue;
		item->named = true;
		named++;
		lfs_progress_arrived(&d->progress, item->want->pointer.size);
	}
	if (kind != PKT_FLUSH)
		d->lost = true;
	read_list(d, "status=success");
	return any ? named : 0;
}

/* Offers all objects and waits until each has been named: then git-lfs has done what it can. */
static void fetch_all(struct download *d)
{
	size_t expected = 0;
	size_t named = 0;
	size_t i;

	for (i = 0; i < d->count && !d->lost; i++) {
		if (!d->items[i].cause)
			expected += ask(d, &d->items[i], true);
	}
	begin_progress(d);
	/* Never once more than needed: git-lfs does not survive being asked after its last list. */
	while (!d->lost && named < expected) {
		size_t before = named;

		pkt_write_text(d->writer, "command=list_available_blobs");
		send_flush(d);
		lfs_progress_wait(&d->progress, d->child.out, is_pending, d);
		named = read_names(d, named);
		if (named <= before)
			break;
	}
	lfs_progress_end(&d->progress);
}

/* Reads what git-lfs wrote on stderr, NUL-terminated. It and we share the position in the file. */
static void read_chatter(const struct download *d, struct buffer *text)
{
	off_t end = lseek(d->error_fd, 0, SEEK_CUR);
	uint8_t chunk[4096];
	off_t offset = 0;

	while (offset < end) {
		size_t len = end - offset < (off_t)sizeof(chunk) ? (size_t)(end - offset)
								 : sizeof(chunk);
		ssize_t n = pread(d->error_fd, chunk, len, offset);

		if (n <= 0)
			break;
		buffer_append(text, chunk, (size_t)n);
		offset += n;
	}
	buffer_u8(text, '\0');
}

/* Shows that, to who traces, and makes room for more. */
static void trace_chatter(const struct download *d)
{
	struct buffer text = BUFFER_INIT;
	char *rest;
	char *line;

	if (d->error_fd < 0)
		return;
	read_chatter(d, &text);
	rest = buffer_failed(&text) ? NULL : (char *)text.data;
	while ((line = strsep(&rest, "\n")) && (rest || *line))
		report_trace("git-lfs: %s", line);
	buffer_release(&text);
	(void)lseek(d->error_fd, 0, SEEK_SET);
}

/* Takes the cause out of that. True: it concerns all objects. */
static bool read_cause(const struct download *d, const char *oid, char *cause)
{
	struct buffer text = BUFFER_INIT;
	bool general = false;

	read_chatter(d, &text);
	if (buffer_failed(&text))
		snprintf(cause, CAUSE_SIZE, "out of memory");
	else
		general = lfs_cause((char *)text.data, oid, cause, CAUSE_SIZE);
	buffer_release(&text);
	return general;
}

/* Asks git-lfs once more for one object that is missing, for the sake of what it says then. Returns
 * true if the object is here after all (git-lfs took it from a repository that ours borrows from).
 */
static bool find_cause(struct download *d, struct item *item)
{
	const char *oid = item->want->pointer.oid;
	char cause[CAUSE_SIZE];

	if (*d->general && !d->borrows) {
		item->cause = strdup(d->general);
		return false;
	}
	if (!d->lost) {
		trace_chatter(d);
		ask(d, item, false);
		if (object_store_has(d->ws->store, &item->want->pointer))
			return true;
	}
	if (read_cause(d, oid, cause) && !*d->general)
		snprintf(d->general, sizeof(d->general), "%s", cause);
	if (lfs_cause_is_dark(cause))
		item->cause = store_cause(d, NULL);
	if (!item->cause)
		item->cause = strdup(cause);
	return false;
}

static bool has_alternates(const struct repository *repository)
{
	char *path;
	bool has;

	if (asprintf(&path, "%s/objects/info/alternates", repository_common_dir(repository)) < 0)
		return false;
	has = access(path, R_OK) == 0;
	free(path);
	return has;
}

static void report_one(const struct download *d, const struct lfs_want *want, const char *cause)
{
	const struct pointer *pointer = &want->pointer;
	struct judgement judgement;
	char text[JUDGEMENT_TEXT];

	object_look(d->ws->store, pointer, &judgement);
	report_error("%s: its %s%s: %s; %s", want->path, judgement_text(&judgement, pointer, text),
		     judgement.verdict == VERDICT_MISSING ? " and could not be downloaded"
							  : ", and could not be downloaded again",
		     cause, lfs_remedy(cause));
}

/* Looks what came, and reports what did not, in the order it was wanted in. Returns how many. */
static int report_missing(struct download *d, const struct lfs_want *want, size_t count)
{
	int missing = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		const char *oid = want[i].pointer.oid;
		struct item *item;

		if (object_store_has(d->ws->store, &want[i].pointer))
			continue;
		item = bsearch(oid, d->items, d->count, sizeof(*d->items), find_item);
		if (item && !item->cause && find_cause(d, item))
			continue;
		report_one(d, &want[i],
			   !item         ? "it vanished meanwhile"
			   : item->cause ? item->cause
					 : "out of memory");
		missing++;
	}
	return missing;
}

/* git-lfs did not even begin to speak: there is none, or it refuses to work here. */
static int fail_start(struct download *d)
{
	char cause[CAUSE_SIZE];

	process_finish(&d->child);
	read_cause(d, "no object", cause);
	return report_error("%s: its object is not here and git-lfs cannot be run to download it: "
			    "%s; install git-lfs, then run `git brevis pull`",
			    d->items[0].want->path, cause);
}

int lfs_download(struct workspace *ws, const struct lfs_want *want, size_t count)
{
	struct download d = {
		.ws = ws, .child = {.pid = -1, .in = -1, .out = -1, .guard = -1}, .error_fd = -1};
	int result = -1;

	d.items = calloc(count ? count : 1, sizeof(*d.items));
	if (!d.items) {
		report_error("out of memory");
		goto out;
	}
	make_list(&d, want, count);
	result = 0;
	if (d.count == 0)
		goto out;
	report_trace("download %zu objects", d.count);
	if (probe_store(&d) == 0) {
		result = report_missing(&d, want, count);
		goto out;
	}
	result = start_child(&d);
	if (result != 0)
		goto out;
	if (shake_hands(&d) != 0) {
		result = fail_start(&d);
		goto out;
	}
	d.borrows = has_alternates(ws->repository);
	fetch_all(&d);
	result = report_missing(&d, want, count);
out:
	process_finish(&d.child);
	trace_chatter(&d);
	pkt_reader_free(d.reader);
	pkt_writer_free(d.writer);
	if (d.error_fd >= 0)
		close(d.error_fd);
	while (d.count)
		free(d.items[--d.count].cause);
	free(d.items);
	return result;
}
