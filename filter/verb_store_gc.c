/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/store/store_listing.h"
#include "filter/store/store_needs.h"
#include "filter/store/store_place.h"
#include "filter/cli/text.h"
#include "filter/verb_store.h"

/* An upload that was broken off goes on where it stopped; after so many days nobody comes back. */
#define DEFAULT_DAYS 7
#define DAYS_MAX     36500
#define DAY_SECONDS  86400

struct collection {
	struct store_place place;
	struct store_listing listing;
	struct store_needs needs;
	bool dry_run;
	bool unreferenced;
	bool yes;
	unsigned days;
	int64_t now;
	size_t removed;
	uint64_t bytes;
};

/* True if it is of the age that may go. What does not tell its age is taken for young. */
static bool is_old(const struct collection *c, const struct store_entry *entry)
{
	int64_t age = entry->modified ? c->now - entry->modified : 0;

	return c->days == 0 || age >= (int64_t)c->days * DAY_SECONDS;
}

/* Returns -1 after reporting. */
static int drop(struct collection *c, const struct store_entry *entry)
{
	struct fault fault = {.kind = FAULT_NONE};
	char size[SIZE_TEXT];

	if (!c->dry_run && store_remove(c->place.store, entry, &fault) < 0)
		return store_place_report(&c->place, entry->key, &fault);
	printf(c->dry_run ? "would remove " : "removed ");
	print_path(stdout, entry->key);
	printf(" (%s", size_text(entry->size, size));
	if (entry->modified)
		printf(", of %" PRId64 " days ago", (c->now - entry->modified) / DAY_SECONDS);
	printf(")\n");
	c->removed++;
	c->bytes += entry->size;
	return 0;
}

static int drop_incomplete(struct collection *c)
{
	const struct buffer *list = &c->listing.incomplete;
	size_t count = store_listing_count(list);
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++)
		if (is_old(c, store_listing_at(list, i)))
			rc = drop(c, store_listing_at(list, i));
	return rc;
}

/* ---- objects --------------------------------------------------------------------------------- */

/* What this repository names is asked for after the store was listed: what is committed meanwhile
 * is seen. */
static int drop_unreferenced(struct collection *c)
{
	const struct buffer *list = &c->listing.objects;
	size_t count = store_listing_count(list);
	int rc = 0;

	if (store_needs_read(&c->needs, c->place.ws.repository, NULL) < 0)
		return -1;
	if (c->needs.missing)
		return report_error("%zu objects of git are not in this clone, or damaged; what "
				    "they name is not known, so no object is removed: use a whole "
				    "clone",
				    c->needs.missing);
	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct store_entry *entry = store_listing_at(list, i);

		if (is_old(c, entry) && !store_needs_find(&c->needs, entry->oid))
			rc = drop(c, entry);
	}
	return rc;
}

/* Objects that are removed are gone: that has to be meant. Returns -1 after reporting. */
static int check_unreferenced(const struct collection *c)
{
	if (repository_is_shallow(c->place.ws.repository))
		return report_error("this clone is shallow: what earlier revisions name is not "
				    "known, so no object is removed; `git fetch --unshallow` "
				    "completes it");
	if (c->dry_run || c->yes)
		return 0;
	return report_error("--unreferenced removes every object that this clone does not name: no "
			    "other repository may use the store, and what other clones have pushed "
			    "must be fetched first; --dry-run lists them, --yes removes them");
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int collect(struct collection *c)
{
	char size[SIZE_TEXT];
	int rc;

	if (store_place_open(&c->place, true) < 0)
		return -1;
	if (c->unreferenced && check_unreferenced(c) < 0)
		return -1;
	if (store_listing_read(&c->listing, c->place.store, true) < 0)
		return store_place_report(&c->place, NULL, &c->listing.fault);
	c->now = (int64_t)time(NULL);
	rc = drop_incomplete(c);
	if (rc == 0 && c->unreferenced)
		rc = drop_unreferenced(c);
	printf("%zu %s, %s\n", c->removed, c->dry_run ? "to remove" : "removed",
	       size_text(c->bytes, size));
	return rc;
}

int verb_store_gc(const struct command *self, int argc, char **argv)
{
	struct collection c = {.days = DEFAULT_DAYS};
	const char *days = NULL;
	const struct option_spec table[] = {
		{.letter = 'n',
		 .name = "dry-run",
		 .flag = &c.dry_run,
		 .help = "say what would be removed, and leave it"},
		{.name = "older-than",
		 .value = &days,
		 .help = "days that what is removed has to be old (7; 0: any)"},
		{.name = "unreferenced",
		 .flag = &c.unreferenced,
		 .help = "remove objects too that this clone names nowhere: no other "
			 "repository may use the store"},
		{.name = "yes", .flag = &c.yes, .help = "with --unreferenced: do it"},
		{0}};
	int code;
	int rc;

	argc = options_parse(self, argc, argv, table, &code);
	if (argc < 0)
		return code;
	if (argc > 0)
		return command_usage(self, 0);
	if (days && !option_number(days, DAYS_MAX, &c.days)) {
		report_error("store gc: --older-than is a number of days, not '%s'", days);
		return EXIT_USAGE;
	}
	rc = collect(&c);
	store_needs_release(&c.needs);
	store_listing_release(&c.listing);
	store_place_close(&c.place);
	return rc < 0 ? EXIT_FATAL : EXIT_DONE;
}
