/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "filter/cli/json_output.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/store/store_listing.h"
#include "filter/store/store_needs.h"
#include "filter/store/store_place.h"
#include "filter/cli/text.h"
#include "filter/verb_store.h"

struct listing_verb {
	struct store_place place;
	struct store_listing listing;
	struct store_needs needs;
	struct json_output *json; /* NULL: text */
	bool details;
};

/* How an object is kept, as a word. */
static const char *content_word(enum store_content content)
{
	static const char *const words[] = {[STORE_PLAIN] = "plain",
					    [STORE_ARCHIVE] = "archive",
					    [STORE_COMPRESSED] = "compressed",
					    [STORE_UNREADABLE] = "unreadable"};

	return words[content];
}

static void put_json(const struct listing_verb *l, const struct store_entry *entry,
		     const struct store_look *look)
{
	const struct store_need *need = store_needs_find(&l->needs, entry->oid);

	json_open(l->json, NULL, '{');
	json_string(l->json, "oid", entry->oid);
	json_number(l->json, "size", entry->size);
	if (look && look->content != STORE_UNREADABLE)
		json_number(l->json, "original_size", look->original_size);
	if (look)
		json_string(l->json, "content", content_word(look->content));
	if (l->details)
		json_string(l->json, "name", need && need->path[0] ? need->path : NULL);
	json_close(l->json);
}

static void print_text(const struct listing_verb *l, const struct store_entry *entry,
		       const struct store_look *look)
{
	const struct store_need *need = store_needs_find(&l->needs, entry->oid);
	char original[SIZE_TEXT] = "?";
	char stored[SIZE_TEXT];
	char saved[SIZE_TEXT] = "?";

	size_text(entry->size, stored);
	if (!look) {
		printf("%s  %10s\n", entry->oid, stored);
		return;
	}
	if (look->content != STORE_UNREADABLE) {
		size_text(look->original_size, original);
		snprintf(saved, sizeof(saved), "-");
	}
	if (look->content == STORE_ARCHIVE || look->content == STORE_COMPRESSED)
		saved_text(look->original_size, entry->size, saved);
	printf("%s  %10s  %10s  %12s  %-10s  ", entry->oid, original, stored, saved,
	       content_word(look->content));
	if (need && need->path[0])
		print_path(stdout, need->path);
	else
		putchar('-');
	putchar('\n');
}

/* Returns -1 after reporting. An object that is gone by now is left out. */
static int list_object(struct listing_verb *l, const struct store_entry *entry)
{
	struct fault fault = {.kind = FAULT_NONE};
	struct store_look look;

	if (l->details && store_look(l->place.store, entry, &look, &fault) < 0)
		return fault.kind == FAULT_ABSENT
			       ? 0
			       : store_place_report(&l->place, entry->oid, &fault);
	if (l->json)
		put_json(l, entry, l->details ? &look : NULL);
	else
		print_text(l, entry, l->details ? &look : NULL);
	return 0;
}

static int list(struct listing_verb *l)
{
	size_t count;
	int rc = 0;

	if (store_listing_read(&l->listing, l->place.store, false) < 0)
		return store_place_report(&l->place, NULL, &l->listing.fault);
	if (l->details && store_needs_read(&l->needs, l->place.ws.repository, NULL) < 0)
		return -1;
	if (l->json) {
		json_open(l->json, NULL, '{');
		json_string(l->json, "store", store_name(l->place.store));
		json_open(l->json, "objects", '[');
	}
	if (l->details && !l->json)
		printf("%-64s  %10s  %10s  %12s  %-10s  %s\n", "object", "original", "stored",
		       "saved", "as", "file");
	count = store_listing_count(&l->listing.objects);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = list_object(l, store_listing_at(&l->listing.objects, i));
	if (l->json) {
		json_close(l->json);
		json_close(l->json);
	}
	return rc;
}

int verb_store_ls(const struct command *self, int argc, char **argv)
{
	struct listing_verb l = {.json = NULL};
	bool json = false;
	const struct option_spec table[] = {
		{.letter = 'l',
		 .name = "long",
		 .flag = &l.details,
		 .help = "say what each restores (a look at each object), and for which file"},
		{.name = "json", .flag = &json, .help = "write JSON, sizes in bytes"},
		{0}};
	int code;
	int rc = -1;

	argc = options_parse(self, argc, argv, table, &code);
	if (argc < 0)
		return code;
	if (argc > 0)
		return command_usage(self, 0);
	if (store_place_open(&l.place, false) < 0)
		goto out;
	l.json = json ? json_begin() : NULL;
	rc = json && !l.json ? -1 : json_end(l.json, list(&l));
out:
	store_needs_release(&l.needs);
	store_listing_release(&l.listing);
	store_place_close(&l.place);
	return rc < 0 ? EXIT_FATAL : EXIT_DONE;
}
