/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "filter/cli/command.h"
#include "filter/git/hooks_setup.h"
#include "filter/cli/json_output.h"
#include "filter/migrate/migrate.h"
#include "filter/cli/options.h"
#include "filter/cli/progress.h"
#include "filter/cli/report.h"
#include "filter/cli/text.h"

/* What the command line said. */
struct request {
	bool import;
	bool dry_run;
	bool no_commit;
	bool json;
	bool nul;
	bool no_guard;
	const char *from;
	const char *to;
	const char *above;
	const char *message;
	struct progress_choice progress;
};

/* ---- words ----------------------------------------------------------------------------------- */

/* Reads "10000", "10k" and "10KiB" (1,024 each), "10kB" (1,000 each), up to tera. */
static bool parse_size(const char *text, uint64_t *out)
{
	static const char letters[] = "kmgt";
	const char *letter;
	uint64_t unit = 1024;
	uint64_t size;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	size = strtoull(text, &end, 10);
	if (!*end || strcasecmp(end, "b") == 0) {
		*out = size;
		return size < UINT64_MAX;
	}
	letter = strchr(letters, *end | 0x20);
	if (!letter || (end[1] && strcasecmp(end + 1, "ib") != 0 && strcasecmp(end + 1, "b") != 0))
		return false;
	if (strcasecmp(end + 1, "b") == 0)
		unit = 1000;
	for (; letter >= letters; letter--)
		if (__builtin_mul_overflow(size, unit, &size))
			return false;
	*out = size;
	return true;
}

static int read_forms(const struct request *r, struct migrate_options *options)
{
	options->to = MIGRATE_BREVIS;
	options->from = MIGRATE_RAW | MIGRATE_LFS;
	if (!r->import) {
		options->from |= MIGRATE_BREVIS;
		options->to = MIGRATE_RAW;
		if (r->to && strcmp(r->to, "lfs") == 0)
			options->to = MIGRATE_LFS;
		else if (r->to && strcmp(r->to, "raw") != 0)
			return report_error("migrate: --to is raw or lfs, not '%s'", r->to);
	} else if (r->from && strcmp(r->from, "raw") == 0) {
		options->from = MIGRATE_RAW;
	} else if (r->from && strcmp(r->from, "lfs") == 0) {
		options->from = MIGRATE_LFS;
	} else if (r->from && strcmp(r->from, "any") != 0) {
		return report_error("migrate: --from is raw, lfs or any, not '%s'", r->from);
	}
	if (r->import ? r->to != NULL : r->from || r->above || r->no_guard)
		return report_error(
			"migrate: --from, --above and --no-guard belong to import, --to "
			"to export");
	if (r->above && !parse_size(r->above, &options->above))
		return report_error("migrate: '%s' is no size like 10000, 10k, 10MB or 1GiB",
				    r->above);
	if (r->message && (r->no_commit || r->dry_run))
		return report_error("migrate: without a commit there is no message (-m)");
	return 0;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void print_text(const struct migrate *m, bool dry_run)
{
	size_t count;
	const struct migrate_file *files = migrate_files(m, &count);
	const char *to = migrate_form_name(m->options->to);

	for (size_t i = 0; i < count; i++) {
		char size[SIZE_TEXT];
		char stored[SIZE_TEXT];

		printf("%s -> %s  ", migrate_form_name(files[i].from), to);
		print_path(stdout, files[i].path);
		printf(" (%s", size_text(files[i].size, size));
		if (!dry_run && files[i].stored != files[i].size)
			printf(" as %s", size_text(files[i].stored, stored));
		printf(")\n");
	}
}

/* "FROM TO<tab>PATH NUL" */
static void print_nul(const struct migrate *m)
{
	size_t count;
	const struct migrate_file *files = migrate_files(m, &count);

	for (size_t i = 0; i < count; i++)
		printf("%s %s\t%s%c", migrate_form_name(files[i].from),
		       migrate_form_name(m->options->to), files[i].path, 0);
}

static int print_json(const struct migrate *m, const char *commit, bool dry_run)
{
	size_t count;
	const struct migrate_file *files = migrate_files(m, &count);
	struct json_output *json = json_begin();

	if (!json)
		return -1;
	json_open(json, NULL, '{');
	json_string(json, "commit", *commit ? commit : NULL);
	json_open(json, "files", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, NULL, '{');
		json_string(json, "name", files[i].path);
		json_string(json, "from", migrate_form_name(files[i].from));
		json_string(json, "to", migrate_form_name(m->options->to));
		json_number(json, "size", files[i].size);
		if (!dry_run)
			json_number(json, "stored", files[i].stored);
		json_close(json);
	}
	json_close(json);
	json_number(json, "left", m->elsewhere);
	json_close(json);
	return json_end(json, 0);
}

static int tell(const struct migrate *m, const struct request *r, const char *commit)
{
	if (r->json)
		return print_json(m, commit, r->dry_run);
	if (r->nul)
		print_nul(m);
	else
		print_text(m, r->dry_run);
	if (*commit)
		report_note("committed as %.12s; earlier commits keep what they hold", commit);
	else if (r->no_commit)
		report_note("staged; `git commit` keeps it");
	return 0;
}

/* ---- doing ----------------------------------------------------------------------------------- */

/* What a commit says that nobody named otherwise. Caller frees. */
static char *default_message(const struct migrate *m)
{
	static const char *const titles[] = {[MIGRATE_RAW] = "as git's own",
					     [MIGRATE_LFS] = "with Git LFS",
					     [MIGRATE_BREVIS] = "as brevis archives"};
	size_t count;
	struct buffer text = BUFFER_INIT;
	char *title;

	migrate_files(m, &count);
	if (asprintf(&title, "Keep %zu file%s %s\n\ngit brevis migrate %s", count,
		     count == 1 ? "" : "s", titles[m->options->to],
		     m->options->to == MIGRATE_BREVIS ? "import" : "export") < 0)
		return NULL;
	buffer_append(&text, title, strlen(title));
	free(title);
	for (size_t i = 0; i < m->options->count; i++) {
		buffer_append(&text, " '", 2);
		buffer_append(&text, m->options->patterns[i], strlen(m->options->patterns[i]));
		buffer_u8(&text, '\'');
	}
	buffer_append(&text, "\n", 2);
	if (!buffer_failed(&text))
		return (char *)text.data;
	buffer_release(&text);
	return NULL;
}

static int take_effect(struct migrate *m, const struct request *r, char commit[BLOB_HEX_SIZE + 1])
{
	size_t count;
	const struct proposed_edit *edits = migrate_edits(m, &count);
	char *message = NULL;
	int rc;

	if (!r->no_commit) {
		message = r->message ? strdup(r->message) : default_message(m);
		if (!message)
			return report_error("out of memory");
	}
	rc = proposal_take_effect(m->proposal, message, edits, count, migrate_recheck, m, commit);
	free(message);
	/* The change is made; what is not refreshed git looks at again. */
	if (rc == 0)
		migrate_refresh(m);
	return rc;
}

/* Returns an exit code, or -1 after reporting. */
static int run(struct migrate *m, const struct request *r)
{
	char commit[BLOB_HEX_SIZE + 1] = "";

	if (proposal_begin(m->ws->repository, &m->proposal) < 0 || migrate_plan(m) < 0)
		return -1;
	if (m->options->count && !m->matched) {
		report_error(
			"no tracked file matches; nothing was changed; `git brevis track` is for "
			"files to come");
		return EXIT_FOUND;
	}
	if (m->files.size == 0) {
		report_note("no file has to move; nothing was changed");
		if (r->json && print_json(m, commit, r->dry_run) < 0)
			return -1;
		return m->elsewhere ? EXIT_FOUND : EXIT_DONE;
	}
	if (!r->dry_run &&
	    (migrate_check(m) < 0 || migrate_move(m) < 0 || take_effect(m, r, commit) < 0))
		return -1;
	if (tell(m, r, commit) < 0)
		return -1;
	return m->elsewhere ? EXIT_FOUND : EXIT_DONE;
}

static int migrate(struct request *r, char **patterns, int count)
{
	static char every[] = "*";
	static char usual[] = "*.safetensors";
	char *fallback[] = {r->above ? every : usual};
	struct migrate_options options = {
		.patterns = patterns, .count = (size_t)count, .no_guard = r->no_guard};
	struct workspace ws;
	struct migrate m = {.ws = &ws, .options = &options};
	int code;

	if (read_forms(r, &options) < 0)
		return EXIT_USAGE;
	if (r->import && count == 0) {
		options.patterns = fallback;
		options.count = 1;
	}
	progress_choose(&r->progress);
	if (workspace_open(&ws) < 0)
		return EXIT_FATAL;
	code = run(&m, r);
	if (code >= 0 && r->import && !r->dry_run) {
		hooks_ensure(ws.repository);
		hooks_warn(ws.repository);
	}
	migrate_release(&m);
	proposal_free(m.proposal);
	workspace_close(&ws);
	return code < 0 ? EXIT_FATAL : code;
}

int verb_migrate(const struct command *self, int argc, char **argv)
{
	struct request r = {.import = false};
	const struct option_spec table[] = {
		{.name = "from",
		 .value = &r.from,
		 .help = "import files that are raw, lfs, or any of both (default)",
		 .values = "raw lfs any"},
		{.name = "above",
		 .value = &r.above,
		 .help = "import files of at least this size (10k, 10MB, 1GiB) only"},
		{.name = "to",
		 .value = &r.to,
		 .help = "export as raw blobs (default) or as stock lfs pointers",
		 .values = "raw lfs"},
		{.letter = 'm',
		 .name = "message",
		 .value = &r.message,
		 .help = "what the commit says; commit hooks are not run"},
		{.name = "no-commit", .flag = &r.no_commit, .help = "stage the change only"},
		{.name = "no-guard",
		 .flag = &r.no_guard,
		 .help = "import: do not write lfs.fetchexclude to .lfsconfig"},
		{.letter = 'd',
		 .name = "dry-run",
		 .flag = &r.dry_run,
		 .help = "list what would move, and change nothing"},
		{.letter = 'j', .name = "json", .flag = &r.json, .help = "write JSON"},
		{.letter = 'z',
		 .flag = &r.nul,
		 .help = "list for scripts, each line ends with NUL"},
		PROGRESS_OPTIONS(r.progress),
		{0}};
	int code;
	int count = options_parse(self, argc, argv, table, &code);

	if (count < 0)
		return code;
	r.import = count && strcmp(argv[0], "import") == 0;
	if (count == 0 || (!r.import && strcmp(argv[0], "export") != 0))
		return command_usage(self, 0);
	return migrate(&r, argv + 1, count - 1);
}
