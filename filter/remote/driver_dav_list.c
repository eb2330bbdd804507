/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a WebDAV store: PROPFIND of one collection after the other, since few servers tell of
 * a whole tree at once. An answer is read to its end before anybody is told of it.
 */
#include "filter/remote/driver_dav_private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/buffer.h"
#include "filter/remote/xml.h"

/* Of the answer for one collection: some 100,000 members. */
#define LISTING_LIMIT ((uint64_t)64 << 20)

#define OID_LENGTH 64

/* One member, in the order in which the answer tells of it. */
struct member {
	char *name;
	bool collection;
	bool sized;
	uint64_t size;
	int64_t modified;
};

struct listing {
	const char *collection; /* key, without a slash at its end */
	struct buffer members;  /* struct member, the last one may be incomplete */
	struct member open;     /* that which the answer is telling of */
	bool failed;            /* memory is short */
};

static void release(struct listing *listing)
{
	struct member *members = (struct member *)(void *)listing->members.data;
	size_t count = listing->members.size / sizeof(*members);

	for (size_t i = 0; i < count; i++)
		free(members[i].name);
	free(listing->open.name);
	buffer_release(&listing->members);
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

/* The member's name, if href is that of one: "ANYTHING/COLLECTION/NAME" with or without a slash at
 * its end. NULL is the collection itself, or something that is not ours: "..", for one. */
static char *member_name(const struct listing *listing, const char *href, bool *failed)
{
	size_t len = strlen(href);
	size_t at;
	char *name;

	while (len && href[len - 1] == '/')
		len--;
	at = len;
	while (at && href[at - 1] != '/')
		at--;
	if (!at || at == len || href[at] == '.' || !ends_with(href, at - 1, listing->collection))
		return NULL;
	for (size_t i = at; i < len; i++)
		if (!islower((unsigned char)href[i]) && !isdigit((unsigned char)href[i]) &&
		    href[i] != '.' && href[i] != '-')
			return NULL;
	name = strndup(href + at, len - at);
	*failed = *failed || !name;
	return name;
}

/* Reads "Mon, 30 Nov 2026 12:00:00 GMT". 0 if it is none. */
static int64_t read_date(const char *text)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);

	return end ? (int64_t)timegm(&tm) : 0;
}

static int take_element(void *ctx, const char *path, const char *text)
{
	static const char response[] = "multistatus/response";
	struct listing *listing = ctx;
	struct member *open = &listing->open;
	char *end;

	if (strncmp(path, response, sizeof(response) - 1) != 0)
		return 0;
	path += sizeof(response) - 1;
	if (strcmp(path, "/href") == 0 && !open->name) {
		open->name = member_name(listing, text, &listing->failed);
	} else if (strcmp(path, "/propstat/prop/resourcetype/collection") == 0) {
		open->collection = true;
	} else if (strcmp(path, "/propstat/prop/getcontentlength") == 0 &&
		   isdigit((unsigned char)*text)) {
		open->size = strtoull(text, &end, 10);
		open->sized = !*end;
	} else if (strcmp(path, "/propstat/prop/getlastmodified") == 0 && *text) {
		open->modified = read_date(text);
	} else if (!*path) {
		if (open->name) {
			buffer_append(&listing->members, open, sizeof(*open));
			if (buffer_failed(&listing->members))
				free(open->name);
		}
		*open = (struct member){0};
	}
	return listing->failed || buffer_failed(&listing->members);
}

static int append(void *ctx, const void *data, size_t len)
{
	struct buffer *answer = ctx;

	buffer_append(answer, data, len);
	return buffer_failed(answer);
}

/* Asks for the members of a collection; one that is not there has none. */
static int read_collection(struct dav *dav, struct listing *listing, struct fault *fault)
{
	static const char question[] =
		"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
		"<propfind xmlns=\"DAV:\"><prop><resourcetype/><getcontentlength/>"
		"<getlastmodified/></prop></propfind>\n";
	static const char *const headers[] = {
		"Depth: 1", "Content-Type: application/xml; charset=\"utf-8\"", NULL};
	struct buffer answer = BUFFER_INIT;
	struct http_request request = {.method = "PROPFIND",
				       .headers = headers,
				       .data = question,
				       .data_len = sizeof(question) - 1,
				       .sink = append,
				       .sink_limit = LISTING_LIMIT,
				       .ctx = &answer};
	struct http_response response = {0};
	char *key;
	int result;

	if (asprintf(&key, "%s/", listing->collection) < 0)
		return fault_nomem(fault);
	result = dav_ask(dav, key, &request, &response, fault);
	if (result == 0 && response.status == 207) {
		result = xml_read(answer.data, answer.size, take_element, listing, key, fault);
		if (listing->failed || buffer_failed(&listing->members))
			result = fault_nomem(fault);
	} else if (result == 0 && response.status >= 200 && response.status < 300) {
		result = fault_set(fault, FAULT_UNSUPPORTED, "use a server that speaks WebDAV",
				   "%s: the server does not list it", key);
	} else if (result == 0 && response.status != 404 && response.status != 410) {
		result = http_status_fault(&response, key, fault);
	}
	free(key);
	http_response_release(&response);
	buffer_release(&answer);
	return result;
}

struct walk {
	struct dav *dav;
	bool temporaries;
	int (*each)(void *ctx, const struct store_entry *entry);
	void *ctx;
	struct fault *fault;
};

static bool is_hex(const char *text, size_t len)
{
	return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

/* Whether it is an object, in the place where it belongs: below objects/ab/cd. */
static bool is_object(const char *collection, const struct member *member)
{
	const char *place = collection + strlen(collection) - 5;

	return !member->collection && member->sized && is_hex(member->name, OID_LENGTH) &&
	       memcmp(member->name, place, 2) == 0 && memcmp(member->name + 2, place + 3, 2) == 0;
}

static int tell(const struct walk *walk, const char *key, const struct member *member)
{
	struct store_entry entry = {.oid = walk->temporaries ? NULL : member->name,
				    .key = key,
				    .size = member->size,
				    .modified = member->modified};

	if (walk->each(walk->ctx, &entry) == 0)
		return 0;
	return fault_set(walk->fault, FAULT_CANCELLED, NULL, "%s: whoever asked has stopped", key);
}

static int walk_collection(const struct walk *walk, const char *collection, unsigned levels);

/* levels: collections that are still to come, above the objects. */
static int walk_member(const struct walk *walk, const char *collection, const struct member *member,
		       unsigned levels)
{
	bool further = levels && member->collection && is_hex(member->name, 2);
	bool wanted =
		walk->temporaries ? !member->collection : !levels && is_object(collection, member);
	char *key;
	int result;

	if (!wanted && !further)
		return 0;
	if (asprintf(&key, "%s/%s", collection, member->name) < 0)
		return fault_nomem(walk->fault);
	result = further ? walk_collection(walk, key, levels - 1) : tell(walk, key, member);
	free(key);
	return result;
}

static int walk_collection(const struct walk *walk, const char *collection, unsigned levels)
{
	struct listing listing = {.collection = collection};
	int result = read_collection(walk->dav, &listing, walk->fault);
	const struct member *members = (const struct member *)(void *)listing.members.data;
	size_t count = listing.members.size / sizeof(*members);

	for (size_t i = 0; result == 0 && i < count; i++)
		result = walk_member(walk, collection, &members[i], levels);
	release(&listing);
	return result;
}

int dav_list(void *state, bool temporaries, int (*each)(void *ctx, const struct store_entry *entry),
	     void *ctx, struct fault *fault)
{
	struct walk walk = {
		.dav = state, .temporaries = temporaries, .each = each, .ctx = ctx, .fault = fault};

	return walk_collection(&walk, temporaries ? "tmp" : "objects", temporaries ? 0 : 2);
}
