/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "filter/cli/json_output.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/store/store_listing.h"
#include "filter/store/store_place.h"
#include "filter/cli/text.h"
#include "filter/verb_store.h"

struct sums {
	size_t objects;
	uint64_t stored;
	uint64_t original; /* of those that can be read */
	size_t archives;   /* of either kind */
	size_t unknown;    /* archives that cannot be read */
	uint64_t unknown_stored;
	size_t incomplete;
	uint64_t incomplete_stored;
};

static int add_object(struct sums *sums, const struct store_place *place,
		      const struct store_entry *entry)
{
	struct fault fault = {.kind = FAULT_NONE};
	struct store_look look;

	if (store_look(place->store, entry, &look, &fault) < 0)
		return fault.kind == FAULT_ABSENT ? 0
						  : store_place_report(place, entry->oid, &fault);
	sums->objects++;
	sums->stored += entry->size;
	sums->archives += look.content != STORE_PLAIN;
	if (look.content == STORE_UNREADABLE) {
		sums->unknown++;
		sums->unknown_stored += entry->size;
	} else {
		sums->original += look.original_size;
	}
	return 0;
}

static int add_up(struct sums *sums, const struct store_place *place)
{
	struct store_listing listing;
	size_t count;
	int rc = 0;

	if (store_listing_read(&listing, place->store, true) < 0)
		rc = store_place_report(place, NULL, &listing.fault);
	count = store_listing_count(&listing.objects);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = add_object(sums, place, store_listing_at(&listing.objects, i));
	sums->incomplete = store_listing_count(&listing.incomplete);
	for (size_t i = 0; i < sums->incomplete; i++)
		sums->incomplete_stored += store_listing_at(&listing.incomplete, i)->size;
	store_listing_release(&listing);
	return rc;
}

static void print_text(const struct sums *sums, const struct store_place *place)
{
	char stored[SIZE_TEXT];
	char original[SIZE_TEXT];
	char saved[SIZE_TEXT];

	print_path(stdout, store_name(place->store));
	printf("\n%zu object%s, %s stored", sums->objects, sums->objects == 1 ? "" : "s",
	       size_text(sums->stored, stored));
	if (sums->objects > sums->unknown)
		printf("; they restore %s, so %s", size_text(sums->original, original),
		       saved_text(sums->original, sums->stored - sums->unknown_stored, saved));
	printf("\n");
	if (sums->archives)
		printf("%zu of them %s compressed\n", sums->archives,
		       sums->archives == 1 ? "is" : "are");
	if (sums->unknown)
		printf("%zu archive%s of %s cannot be read; see `git brevis store verify --all`\n",
		       sums->unknown, sums->unknown == 1 ? "" : "s",
		       size_text(sums->unknown_stored, stored));
	if (sums->incomplete)
		printf("%zu incomplete upload%s, %s; `git brevis store gc` removes old ones\n",
		       sums->incomplete, sums->incomplete == 1 ? "" : "s",
		       size_text(sums->incomplete_stored, stored));
}

static int print_json(const struct sums *sums, const struct store_place *place)
{
	struct json_output *json = json_begin();

	if (!json)
		return -1;
	json_open(json, NULL, '{');
	json_string(json, "store", store_name(place->store));
	json_number(json, "objects", sums->objects);
	json_number(json, "size", sums->stored);
	json_number(json, "original_size", sums->original);
	json_number(json, "archives", sums->archives);
	json_number(json, "unknown_objects", sums->unknown);
	json_number(json, "unknown_size", sums->unknown_stored);
	json_number(json, "incomplete_uploads", sums->incomplete);
	json_number(json, "incomplete_size", sums->incomplete_stored);
	json_close(json);
	return json_end(json, 0);
}

int verb_store_stats(const struct command *self, int argc, char **argv)
{
	struct sums sums = {.objects = 0};
	struct store_place place;
	bool json = false;
	const struct option_spec table[] = {
		{.name = "json", .flag = &json, .help = "write JSON, sizes in bytes"}, {0}};
	int code;
	int rc;

	argc = options_parse(self, argc, argv, table, &code);
	if (argc < 0)
		return code;
	if (argc > 0)
		return command_usage(self, 0);
	rc = store_place_open(&place, false);
	if (rc == 0)
		rc = add_up(&sums, &place);
	if (rc == 0 && json)
		rc = print_json(&sums, &place);
	else if (rc == 0)
		print_text(&sums, &place);
	store_place_close(&place);
	return rc < 0 ? EXIT_FATAL : EXIT_DONE;
}
