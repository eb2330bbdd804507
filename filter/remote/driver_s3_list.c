/* SPDX-License-Identifier: Apache-2.0 */
/** What is in a bucket: objects, incomplete uploads, and the parts of one. */
#include "filter/remote/driver_s3.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filter/objects/pointer.h"
#include "filter/remote/xml.h"

#define OBJECTS "objects/"

/* An incomplete upload is told of as KEY#UPLOAD-ID: several may be of one key, and '#' is in none.
 */
#define UPLOAD_MARK '#'

/* One list, page by page: what of an entry has come so far, and where the next page begins. */
struct listing {
	const char *doing;
	struct s3 *s3;
	char *key;
	char *upload_id;
	struct s3_part part;
	uint64_t size;
	int64_t modified;

	bool truncated;
	char *next;    /* continuation token, key or part number */
	char *next_id; /* of uploads */

	int (*each)(void *ctx, const struct store_entry *entry);
	int (*each_part)(void *ctx, const struct s3_part *part);
	void *ctx;
	struct fault *fault;
};

static int keep(struct listing *listing, char **into, const char *text)
{
	free(*into);
	*into = strdup(text);
	return *into ? 0 : fault_nomem(listing->fault);
}

static void forget(char **text)
{
	free(*text);
	*text = NULL;
}

/* Seconds since 1970 of "2024-05-01T12:00:00.000Z"; 0 if it is none. */
static int64_t parse_time(const char *text)
{
	struct tm tm = {0};

	return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? (int64_t)timegm(&tm) : 0;
}

static bool is_oid(const char *text)
{
	return strlen(text) == OID_HEX_SIZE && strspn(text, "0123456789abcdef") == OID_HEX_SIZE;
}

/* The object id that a key of the store is of, or NULL: objects/ab/cd/OID. */
static const char *oid_of(const char *key)
{
	const char *oid = strrchr(key, '/');

	if (!oid || !is_oid(oid + 1) || strncmp(key, OBJECTS, strlen(OBJECTS)) != 0)
		return NULL;
	return oid + 1;
}

static int tell_entry(const struct listing *listing, const struct store_entry *entry)
{
	if (listing->each(listing->ctx, entry) == 0)
		return 0;
	return fault_set(listing->fault, FAULT_CANCELLED, NULL, "listing was stopped");
}

static int add_size(void *ctx, const struct s3_part *part)
{
	*(uint64_t *)ctx += part->size;
	return 0;
}

/* An upload is as large as the parts that have arrived. One that has come to its end meanwhile is
 * none any more. */
static int tell_upload(struct listing *listing, const char *key)
{
	struct store_entry entry = {.modified = listing->modified};
	bool gone = false;
	char *name;
	int result;

	if (s3_list_parts(listing->s3, key, listing->upload_id, add_size, &entry.size, &gone,
			  listing->fault) != 0)
		return gone ? 0 : -1;
	if (asprintf(&name, "%s%c%s", key, UPLOAD_MARK, listing->upload_id) < 0)
		return fault_nomem(listing->fault);
	entry.key = name;
	result = tell_entry(listing, &entry);
	free(name);
	return result;
}

/* Tells of what has ended. What others have put there is none of ours. */
static int tell(struct listing *listing)
{
	size_t prefix = strlen(listing->s3->prefix);
	const char *key = NULL;
	int result = 0;

	if (listing->key && strncmp(listing->key, listing->s3->prefix, prefix) == 0)
		key = listing->key + prefix;
	if (key && oid_of(key) && listing->upload_id)
		result = tell_upload(listing, key);
	else if (key && oid_of(key))
		result = tell_entry(listing, &(struct store_entry){oid_of(key), key, listing->size,
								   listing->modified});
	forget(&listing->key);
	forget(&listing->upload_id);
	listing->size = 0;
	listing->modified = 0;
	return result;
}

static int take_object(void *ctx, const char *path, const char *text)
{
	struct listing *listing = ctx;

	if (strcmp(path, "ListBucketResult/Contents") == 0)
		return tell(listing);
	if (strcmp(path, "ListBucketResult/Contents/Key") == 0)
		return keep(listing, &listing->key, text);
	if (strcmp(path, "ListBucketResult/NextContinuationToken") == 0)
		return keep(listing, &listing->next, text);
	if (strcmp(path, "ListBucketResult/Contents/Size") == 0)
		listing->size = strtoull(text, NULL, 10);
	else if (strcmp(path, "ListBucketResult/Contents/LastModified") == 0)
		listing->modified = parse_time(text);
	else if (strcmp(path, "ListBucketResult/IsTruncated") == 0)
		listing->truncated = strcmp(text, "true") == 0;
	return 0;
}

static int take_upload(void *ctx, const char *path, const char *text)
{
	struct listing *listing = ctx;

	if (strcmp(path, "ListMultipartUploadsResult/Upload") == 0)
		return tell(listing);
	if (strcmp(path, "ListMultipartUploadsResult/Upload/Key") == 0)
		return keep(listing, &listing->key, text);
	if (strcmp(path, "ListMultipartUploadsResult/Upload/UploadId") == 0)
		return keep(listing, &listing->upload_id, text);
	if (strcmp(path, "ListMultipartUploadsResult/NextKeyMarker") == 0)
		return keep(listing, &listing->next, text);
	if (strcmp(path, "ListMultipartUploadsResult/NextUploadIdMarker") == 0)
		return keep(listing, &listing->next_id, text);
	if (strcmp(path, "ListMultipartUploadsResult/Upload/Initiated") == 0)
		listing->modified = parse_time(text);
	else if (strcmp(path, "ListMultipartUploadsResult/IsTruncated") == 0)
		listing->truncated = strcmp(text, "true") == 0;
	return 0;
}

static void take_etag(struct s3_part *part, const char *text)
{
	size_t len = strlen(text);

	if (len >= 2 && *text == '"' && text[len - 1] == '"') {
		text++;
		len -= 2;
	}
	snprintf(part->etag, sizeof(part->etag), "%.*s", (int)len, text);
}

static int tell_part(struct listing *listing)
{
	struct s3_part part = listing->part;

	listing->part = (struct s3_part){0};
	if (!part.number || listing->each_part(listing->ctx, &part) == 0)
		return 0;
	return fault_set(listing->fault, FAULT_CANCELLED, NULL, "listing was stopped");
}

static int take_part(void *ctx, const char *path, const char *text)
{
	struct listing *listing = ctx;

	if (strcmp(path, "ListPartsResult/Part") == 0)
		return tell_part(listing);
	if (strcmp(path, "ListPartsResult/NextPartNumberMarker") == 0)
		return keep(listing, &listing->next, text);
	if (strcmp(path, "ListPartsResult/Part/PartNumber") == 0)
		listing->part.number = (unsigned)strtoul(text, NULL, 10);
	else if (strcmp(path, "ListPartsResult/Part/Size") == 0)
		listing->part.size = strtoull(text, NULL, 10);
	else if (strcmp(path, "ListPartsResult/Part/ETag") == 0)
		take_etag(&listing->part, text);
	else if (strcmp(path, "ListPartsResult/IsTruncated") == 0)
		listing->truncated = strcmp(text, "true") == 0;
	return 0;
}

/* Reads one page. */
static int read_page(struct s3 *s3, const struct s3_call *call, struct listing *listing,
		     xml_element_fn element, struct s3_answer *answer)
{
	forget(&listing->next);
	forget(&listing->next_id);
	listing->truncated = false;
	if (s3_perform(s3, call, answer, listing->fault) != 0)
		return -1;
	return xml_read(answer->http.body.data, answer->http.body.size, element, listing,
			listing->doing, listing->fault);
}

/* Whether another page follows. A list that goes on nowhere, or for ever, is none to believe: what
 * it lacks would pass for removed. */
static int has_more(const struct listing *listing, char *const marks[2], bool *more)
{
	const char *next = listing->next;
	bool same = next && marks[0] && strcmp(next, marks[0]) == 0 &&
		    strcmp(listing->next_id ? listing->next_id : "", marks[1] ? marks[1] : "") == 0;

	*more = listing->truncated && next && !same;
	/* Parts that it lacks are merely sent again. */
	if (*more || !listing->truncated || listing->each_part)
		return 0;
	return fault_set(listing->fault, FAULT_UNSUPPORTED, "use a server that offers this",
			 "%s: the server does not say where its list goes on", listing->doing);
}

/* Reads all pages. The parameters from first on are those that say where a page begins: a token or
 * key, and an upload id. *gone may be NULL. */
static int read_pages(struct s3 *s3, struct s3_call *call, size_t first, const char *const names[2],
		      struct listing *listing, xml_element_fn element, bool *gone)
{
	char *marks[2] = {0};
	bool more = true;
	int result = 0;

	while (more && result == 0) {
		struct s3_answer answer = {0};

		result = read_page(s3, call, listing, element, &answer);
		if (result != 0 && gone)
			*gone = s3_answer_is(&answer, "NoSuchUpload");
		s3_answer_release(&answer);
		if (result == 0)
			result = has_more(listing, marks, &more);
		free(marks[0]);
		free(marks[1]);
		marks[0] = listing->next;
		marks[1] = listing->next_id;
		listing->next = NULL;
		listing->next_id = NULL;
		call->parameters[first] = (struct s3_parameter){names[0], marks[0]};
		call->parameters[first + 1] =
			(struct s3_parameter){marks[1] ? names[1] : NULL, marks[1]};
	}
	free(marks[0]);
	free(marks[1]);
	forget(&listing->key);
	forget(&listing->upload_id);
	return result;
}

int s3_list(void *state, bool temporaries, int (*each)(void *ctx, const struct store_entry *entry),
	    void *ctx, struct fault *fault)
{
	static const char *const after_object[2] = {"continuation-token", NULL};
	static const char *const after_upload[2] = {"key-marker", "upload-id-marker"};
	struct s3 *s3 = state;
	struct listing listing = {.doing = temporaries ? "listing incomplete uploads"
						       : "listing objects",
				  .s3 = s3,
				  .each = each,
				  .ctx = ctx,
				  .fault = fault};
	struct s3_call call = {.method = "GET"};
	char *prefix;
	int result;

	if (asprintf(&prefix, "%s%s", s3->prefix, OBJECTS) < 0)
		return fault_nomem(fault);
	call.parameters[0] = (struct s3_parameter){"prefix", prefix};
	call.parameters[1] = temporaries ? (struct s3_parameter){"uploads", ""}
					 : (struct s3_parameter){"list-type", "2"};
	result = read_pages(s3, &call, 2, temporaries ? after_upload : after_object, &listing,
			    temporaries ? take_upload : take_object, NULL);
	free(prefix);
	return result;
}

int s3_list_parts(struct s3 *s3, const char *key, const char *upload_id,
		  int (*each)(void *ctx, const struct s3_part *part), void *ctx, bool *gone,
		  struct fault *fault)
{
	static const char *const after_part[2] = {"part-number-marker", NULL};
	struct listing listing = {
		.doing = "listing parts", .s3 = s3, .each_part = each, .ctx = ctx, .fault = fault};
	struct s3_call call = {
		.method = "GET", .key = key, .parameters = {{"uploadId", upload_id}}};

	*gone = false;
	return read_pages(s3, &call, 1, after_part, &listing, take_part, gone);
}

/* ---- removal --------------------------------------------------------------------------------- */

static int delete (struct s3 *s3, const struct s3_call *call, struct fault *fault)
{
	struct s3_answer answer = {0};
	int result = s3_perform(s3, call, &answer, fault);

	if (result != 0 && (fault->kind == FAULT_ABSENT || s3_answer_is(&answer, "NoSuchUpload")))
		result = 0;
	s3_answer_release(&answer);
	return result;
}

int s3_abort(struct s3 *s3, const char *key, const char *upload_id, struct fault *fault)
{
	const struct s3_call call = {
		.method = "DELETE", .key = key, .parameters = {{"uploadId", upload_id}}};

	return delete (s3, &call, fault);
}

int s3_remove(void *state, const struct store_entry *entry, struct fault *fault)
{
	const char *mark = entry->oid ? NULL : strchr(entry->key, UPLOAD_MARK);
	const struct s3_call call = {.method = "DELETE", .key = entry->key};
	char *key;
	int result;

	if (!mark)
		return delete (state, &call, fault);
	key = strndup(entry->key, (size_t)(mark - entry->key));
	if (!key)
		return fault_nomem(fault);
	result = s3_abort(state, key, mark + 1, fault);
	free(key);
	return result;
}
