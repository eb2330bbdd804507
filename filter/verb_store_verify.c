/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cli/json_output.h"
#include "filter/cli/options.h"
#include "filter/cli/progress.h"
#include "filter/objects/proof.h"
#include "filter/cli/report.h"
#include "filter/convert/spool.h"
#include "filter/store/store_listing.h"
#include "filter/store/store_needs.h"
#include "filter/store/store_place.h"
#include "filter/cli/text.h"
#include "filter/verb_store.h"

/* An object to check. */
struct check {
	const char *oid;
	const char *path; /* "" if none is known */
	uint64_t size;    /* that its pointer gives it, 0 if there is none */
	uint64_t stored;
	bool is_here;
};

struct verification {
	struct store_place place;
	struct store_listing listing;
	struct store_needs needs;
	struct buffer checks; /* of struct check */
	uint64_t total;       /* bytes to come */
	struct progress progress;
	struct json_output *json; /* NULL: text */
	size_t missing;
	size_t damaged;
	size_t unreadable;
	size_t wrong; /* pointers */
};

static struct check *check_at(const struct verification *v, size_t i)
{
	return (struct check *)(void *)v->checks.data + i;
}

static size_t check_count(const struct verification *v)
{
	return v->checks.size / sizeof(struct check);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void put_finding(struct json_output *json, const struct check *check, const char *finding,
			const char *why, const char *remedy)
{
	json_open(json, NULL, '{');
	json_string(json, "oid", check->oid);
	json_string(json, "name", check->path[0] ? check->path : NULL);
	json_string(json, "finding", finding);
	json_string(json, "cause", why[0] ? why : NULL);
	json_string(json, "remedy", remedy);
	json_close(json);
}

/* One line on stdout for each finding: they are what was asked for. */
static void print_finding(const struct check *check, const char *finding, const char *why,
			  const char *remedy)
{
	printf("%s", check->oid);
	if (check->path[0]) {
		putchar(' ');
		print_path(stdout, check->path);
	}
	printf(": %s%s", finding, why[0] ? ": " : "");
	print_path(stdout, why);
	if (remedy[0])
		printf("; ");
	print_path(stdout, remedy);
	putchar('\n');
	fflush(stdout);
}

static void found(const struct verification *v, const struct check *check, const char *finding,
		  const char *why, const char *remedy)
{
	progress_pause();
	if (v->json)
		put_finding(v->json, check, finding, why, remedy);
	else
		print_finding(check, finding, why, remedy);
	progress_resume();
}

static void found_missing(struct verification *v, const struct check *check)
{
	found(v, check, "missing", "",
	      "push it from a clone that has it: git lfs push --object-id REMOTE OID");
	v->missing++;
}

static void found_damage(struct verification *v, const struct check *check, const char *why)
{
	char remedy[200];

	snprintf(remedy, sizeof(remedy),
		 "remove objects/%.2s/%.2s/OID from the store, then push it from a clone that has "
		 "it: git lfs push --object-id REMOTE OID",
		 check->oid, check->oid + 2);
	found(v, check, "damaged", why, remedy);
	v->damaged++;
}

/* ---- one object ------------------------------------------------------------------------------ */

/* An object on its way here: hashed as it comes; only what may be an archive is kept. */
struct arrival {
	struct brevis_sha256 *sha;
	struct spool *spool;
	struct progress *progress;
	uint8_t head[BREVIS_MAGIC_SIZE];
	size_t head_size;
	bool is_archive;
};

static int take(void *ctx, const void *data, size_t len)
{
	struct arrival *a = ctx;
	const uint8_t *bytes = data;
	size_t room = sizeof(a->head) - a->head_size;
	size_t n = len < room ? len : room;

	brevis_sha256_update(a->sha, data, len);
	progress_add(a->progress, len);
	memcpy(a->head + a->head_size, bytes, n);
	a->head_size += n;
	if (n && a->head_size == sizeof(a->head)) {
		a->is_archive = brevis_is_archive(a->head, sizeof(a->head));
		if (a->is_archive && spool_write(a->spool, a->head, sizeof(a->head)) != 0)
			return -1;
	}
	return a->is_archive ? spool_write(a->spool, bytes + n, len - n) : 0;
}

/* True if the archive restores the object of this name. Else says why not. */
static bool restores(const struct verification *v, const struct check *check,
		     const struct spool *spool, char *why, size_t size)
{
	struct brevis_source source = spool_source(spool);
	const struct brevis_archive_info *info;
	struct brevis_archive *archive;
	struct brevis_error err = {.message = ""};
	char oid[OID_HEX_SIZE + 1];
	bool good = false;

	if (brevis_archive_open(&source, &archive, &err) != BREVIS_OK) {
		snprintf(why, size, "%s", err.message);
		return false;
	}
	info = brevis_archive_info(archive);
	digest_to_hex(info->original_sha256, oid);
	if (strcmp(oid, check->oid) != 0)
		snprintf(why, size, "it is an archive of another object (%.12s...)", oid);
	else if (check->size && info->original_size != check->size)
		snprintf(why, size, "it restores %" PRIu64 " bytes instead of %" PRIu64,
			 info->original_size, check->size);
	else
		good = archive_restores(archive, v->place.ws.threads, info->original_size,
					info->original_sha256, &err);
	if (err.message[0])
		snprintf(why, size, "%s", err.message);
	brevis_archive_free(archive);
	return good;
}

/* Judges what has come. */
static void judge(struct verification *v, const struct check *check, struct arrival *a)
{
	uint8_t sha256[BREVIS_SHA256_SIZE];
	char oid[OID_HEX_SIZE + 1];
	char why[300] = "";

	brevis_sha256_final(a->sha, sha256);
	digest_to_hex(sha256, oid);
	if (strcmp(oid, check->oid) == 0) {
		if (check->size && check->size != check->stored) {
			snprintf(why, sizeof(why),
				 "it says %" PRIu64 " bytes, the object has %" PRIu64, check->size,
				 check->stored);
			found(v, check, "wrong pointer", why, "add the file again");
			v->wrong++;
		}
		return;
	}
	if (a->is_archive) {
		if (!restores(v, check, a->spool, why, sizeof(why)))
			found_damage(v, check, why);
		return;
	}
	snprintf(why, sizeof(why), "%" PRIu64 " bytes whose SHA-256 is %.12s...", check->stored,
		 oid);
	found_damage(v, check, why);
}

/* Says what a fault means. Returns -1, after reporting, if it is not one of this object alone. */
static int judge_fault(struct verification *v, const struct check *check, const struct fault *fault)
{
	switch (fault->kind) {
	case FAULT_ABSENT:
		found_missing(v, check);
		return 0;
	case FAULT_DAMAGED:
		found_damage(v, check, fault->cause);
		return 0;
	case FAULT_DENIED:
	case FAULT_LOCAL:
		found(v, check, "cannot be read", fault->cause, fault->remedy);
		v->unreadable++;
		return 0;
	default:
		return store_place_report(&v->place, check->oid, fault);
	}
}

static int check_object(struct verification *v, const struct check *check)
{
	struct fault fault = {.kind = FAULT_NONE};
	struct arrival a = {.progress = &v->progress};
	int rc = -1;

	a.sha = brevis_sha256_new();
	a.spool = spool_new(v->place.ws.store);
	if (!a.sha || !a.spool)
		report_error("out of memory");
	else if (store_get(v->place.store, check->oid, 0, check->stored, take, &a, &fault) == 0)
		rc = 0;
	else if (spool_failure(a.spool))
		report_error("%s: it cannot be kept here while it is checked: %s; make room for "
			     "%" PRIu64 " bytes",
			     check->oid, spool_failure(a.spool), check->stored);
	else
		rc = judge_fault(v, check, &fault);
	if (rc == 0 && fault.kind == FAULT_NONE)
		judge(v, check, &a);
	brevis_sha256_free(a.sha);
	spool_free(a.spool);
	return rc;
}

/* ---- which objects --------------------------------------------------------------------------- */

static int add_check(struct verification *v, const struct check *check)
{
	buffer_append(&v->checks, check, sizeof(*check));
	return buffer_failed(&v->checks) ? report_error("out of memory") : 0;
}

/* Everything in the store. */
static int add_all(struct verification *v)
{
	size_t count;
	int rc = 0;

	if (store_listing_read(&v->listing, v->place.store, false) < 0)
		return store_place_report(&v->place, NULL, &v->listing.fault);
	count = store_listing_count(&v->listing.objects);
	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct store_entry *entry = store_listing_at(&v->listing.objects, i);

		rc = add_check(v, &(struct check){.oid = entry->oid, .path = ""});
	}
	return rc;
}

/* What HEAD's pointers name. */
static int add_needed(struct verification *v)
{
	struct repository *repository = v->place.ws.repository;
	int rc = 0;

	if (!repository_has_head(repository))
		return 0;
	if (store_needs_read(&v->needs, repository, "HEAD") < 0)
		return -1;
	for (size_t i = 0; i < v->needs.count && rc == 0; i++) {
		const struct store_need *need = store_needs_at(&v->needs, i);

		rc = add_check(v, &(struct check){.oid = need->pointer.oid,
						  .path = need->path,
						  .size = need->pointer.size});
	}
	return rc;
}

static bool is_oid(const char *text)
{
	return strlen(text) == OID_HEX_SIZE && strspn(text, "0123456789abcdef") == OID_HEX_SIZE;
}

static int add_named(struct verification *v, char **oids, size_t count)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = add_check(v, &(struct check){.oid = oids[i], .path = ""});
	return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Asks for the size of each, so that progress knows how much there is to do. */
static int look_for_all(struct verification *v)
{
	size_t count = check_count(v);
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		struct fault fault = {.kind = FAULT_NONE};
		struct check *check = check_at(v, i);

		check->is_here =
			store_size(v->place.store, check->oid, &check->stored, &fault) == 0;
		if (check->is_here)
			v->total += check->stored;
		else
			rc = judge_fault(v, check, &fault);
	}
	return rc;
}

static int check_all(struct verification *v)
{
	size_t count = check_count(v);
	int rc = look_for_all(v);

	if (rc < 0)
		return rc;
	progress_begin(&v->progress, "verifying", "", v->total);
	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct check *check = check_at(v, i);

		progress_file(&v->progress, check->path[0] ? check->path : check->oid, i + 1,
			      count);
		if (check->is_here)
			rc = check_object(v, check);
	}
	progress_end(&v->progress);
	return rc;
}

static void print_part(size_t count, const char *word)
{
	if (count)
		printf(", %zu %s", count, word);
}

/* The last line: a check that looked at nothing has to show that. */
static void print_result(const struct verification *v, size_t bad)
{
	size_t count = check_count(v);

	printf("git-brevis store verify: %zu object%s checked", count, count == 1 ? "" : "s");
	print_part(v->missing, "missing");
	print_part(v->damaged, "damaged");
	print_part(v->unreadable, "unreadable");
	print_part(v->wrong, "with a wrong pointer");
	if (bad)
		print_part(count - bad, "good");
	if (v->needs.missing)
		printf("; what %zu files need is not known: their pointers are not in this partial "
		       "clone",
		       v->needs.missing);
	printf(bad || v->needs.missing ? "\n" : ", all good\n");
}

static void put_result(const struct verification *v)
{
	json_close(v->json);
	json_number(v->json, "checked", check_count(v));
	json_number(v->json, "missing", v->missing);
	json_number(v->json, "damaged", v->damaged);
	json_number(v->json, "unreadable", v->unreadable);
	json_number(v->json, "wrong_pointers", v->wrong);
	json_number(v->json, "unknown_needs", v->needs.missing);
	json_close(v->json);
}

static int tell_result(const struct verification *v)
{
	size_t bad = v->missing + v->damaged + v->unreadable + v->wrong;

	if (v->json)
		put_result(v);
	else
		print_result(v, bad);
	return bad || v->needs.missing ? EXIT_FOUND : EXIT_DONE;
}

/* Returns an exit code. */
static int verify(struct verification *v, char **oids, size_t count, bool all)
{
	int rc = store_place_open(&v->place, false);

	if (rc < 0)
		return EXIT_FATAL;
	if (v->json) {
		json_open(v->json, NULL, '{');
		json_string(v->json, "store", store_name(v->place.store));
		json_open(v->json, "findings", '[');
	}
	rc = all ? add_all(v) : count ? add_named(v, oids, count) : add_needed(v);
	if (rc == 0)
		rc = check_all(v);
	if (rc == 0)
		return tell_result(v);
	if (v->json) {
		json_close(v->json);
		json_close(v->json);
	}
	return EXIT_FATAL;
}

int verb_store_verify(const struct command *self, int argc, char **argv)
{
	struct verification v = {.missing = 0};
	struct progress_choice progress = {.on = false};
	bool all = false;
	bool json = false;
	const struct option_spec table[] = {
		{.letter = 'a',
		 .name = "all",
		 .flag = &all,
		 .help = "check every object of the store, not only what HEAD needs"},
		{.name = "json", .flag = &json, .help = "write JSON"},
		PROGRESS_OPTIONS(progress),
		{0}};
	int code;

	argc = options_parse(self, argc, argv, table, &code);
	if (argc < 0)
		return code;
	if (all && argc)
		return command_usage(self, 0);
	for (int i = 0; i < argc; i++) {
		if (is_oid(argv[i]))
			continue;
		report_error("store verify: '%s' is no object's name: 64 hex digits, as `git "
			     "brevis store ls` shows them",
			     argv[i]);
		return EXIT_USAGE;
	}
	progress_choose(&progress);
	v.json = json ? json_begin() : NULL;
	if (json && !v.json)
		return EXIT_FATAL;
	code = verify(&v, argv, (size_t)argc, all);
	if (json_end(v.json, 0) < 0)
		code = EXIT_FATAL;
	buffer_release(&v.checks);
	store_needs_release(&v.needs);
	store_listing_release(&v.listing);
	store_place_close(&v.place);
	return code;
}
