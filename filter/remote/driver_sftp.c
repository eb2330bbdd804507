/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/driver_sftp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/remote/sftp_text.h"
#include "filter/objects/token.h"

#define OBJECTS     "objects/"
#define TEMPORARIES "tmp/"
#define OID_SIZE    64

static int open_store(const struct location *location, const struct store_settings *settings,
		      void **state, struct fault *fault)
{
	struct sftp_store *store = calloc(1, sizeof(*store));

	*state = NULL;
	if (!store)
		return fault_nomem(fault);
	if (sftp_new(location, settings, &store->sftp, fault) != 0) {
		free(store);
		return -1;
	}
	pthread_mutex_init(&store->mutex, NULL);
	*state = store;
	return 0;
}

static void close_store(void *state)
{
	struct sftp_store *store = (struct sftp_store *)state;

	if (!store)
		return;
	sftp_free(store->sftp);
	pthread_mutex_destroy(&store->mutex);
	free(store);
}

static int object_size(void *state, const char *key, uint64_t *size, struct fault *fault)
{
	struct sftp_store *store = (struct sftp_store *)state;

	return sftp_stat(store->sftp, key, size, NULL, fault);
}

static int read_object(void *state, const char *key, uint64_t offset, uint64_t len,
		       brevis_write_fn write, void *ctx, struct fault *fault)
{
	struct sftp_store *store = (struct sftp_store *)state;

	return sftp_read(store->sftp, key, offset, len, write, ctx, fault);
}

/* ---- temporaries get their names ---------------------------------------------------------------
 */

/* The value of hex digits, or -1. */
static int hex_value(const char *digits, size_t count)
{
	int value = 0;

	for (size_t i = 0; i < count; i++) {
		char c = digits[i];

		if (c >= '0' && c <= '9')
			value = value * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (c - 'a' + 10);
		else
			return -1;
	}
	return value;
}

/* The number of an object's directory "objects/ab/cd/", or -1 for other keys. */
static int directory_of(const char *key)
{
	size_t len = strlen(OBJECTS);
	int high;
	int low;

	if (strncmp(key, OBJECTS, len) != 0 || strlen(key) < len + 6 || key[len + 2] != '/' ||
	    key[len + 5] != '/')
		return -1;
	high = hex_value(key + len, 2);
	low = hex_value(key + len + 3, 2);
	return high < 0 || low < 0 ? -1 : high << 8 | low;
}

/* Whether any directory below objects/ab is known to be there: then that is, too. */
static bool has_made_below(const struct sftp_store *store, int high)
{
	static const uint8_t none[256 / 8];

	return memcmp(store->made + (size_t)high * sizeof(none), none, sizeof(none)) != 0;
}

void sftp_placing_plan(struct sftp_store *store, const char *temporary, const char *key,
		       struct sftp_placing *out)
{
	int directory = directory_of(key);
	size_t known = 2;

	out->count = 0;
	if (directory >= 0) {
		pthread_mutex_lock(&store->mutex);
		if (!(store->made[directory / 8] >> (directory % 8) & 1))
			known = has_made_below(store, directory >> 8) ? 1 : 0;
		pthread_mutex_unlock(&store->mutex);
	}
	/* It costs less to make what is there than to find out, and fewer than all are known. */
	for (size_t i = known; i < 2; i++) {
		snprintf(out->directories[i], SFTP_PATH_SIZE, "%.*s",
			 (int)(strlen(OBJECTS) + 2 + 3 * i), key);
		out->commands[out->count++] = (struct sftp_command){
			.verb = "mkdir", .path = out->directories[i], .may_fail = true};
	}
	out->commands[out->count++] =
		(struct sftp_command){.verb = "rename", .path = temporary, .target = key};
}

void sftp_placing_done(struct sftp_store *store, const char *key)
{
	int directory = directory_of(key);

	if (directory < 0)
		return;
	pthread_mutex_lock(&store->mutex);
	store->made[directory / 8] |= (uint8_t)(1 << directory % 8);
	pthread_mutex_unlock(&store->mutex);
}

int sftp_settle(struct sftp_store *store, const char *temporary, const char *key,
		struct fault *fault)
{
	const struct sftp_command remove = {.verb = "rm", .path = temporary, .may_fail = true};
	struct fault ignored = {0};
	uint64_t size;

	switch (fault->kind) {
	case FAULT_ABSENT:
	case FAULT_READ_ONLY:
	case FAULT_NO_SPACE:
	case FAULT_UNSUPPORTED:
		break;
	default:
		return -1;
	}
	if (sftp_stat(store->sftp, key, &size, NULL, &ignored) != 0)
		return -1;
	/* Whether it goes or not: the object is there. */
	sftp_run(store->sftp, &remove, 1, &ignored);
	memset(fault, 0, sizeof(*fault));
	return 0;
}

int sftp_no_store(struct fault *fault)
{
	return fault_set(fault, FAULT_NO_STORE, "make one with: git brevis store init URL",
			 "the store's directory is not there");
}

int sftp_make_rooms(struct sftp_store *store, struct fault *fault)
{
	static const struct sftp_command commands[] = {
		{.verb = "mkdir", .path = "tmp", .may_fail = true},
		{.verb = "mkdir", .path = "objects", .may_fail = true},
	};

	/* Somebody may have removed what was there. */
	pthread_mutex_lock(&store->mutex);
	memset(store->made, 0, sizeof(store->made));
	pthread_mutex_unlock(&store->mutex);
	return sftp_run(store->sftp, commands, 2, fault);
}

/* ---- small things ------------------------------------------------------------------------------
 */

struct bytes {
	const char *at;
	size_t left;
};

static ssize_t next_bytes(void *ctx, void *buf, size_t len, struct fault *fault)
{
	struct bytes *bytes = (struct bytes *)ctx;
	size_t n = len < bytes->left ? len : bytes->left;

	(void)fault;
	memcpy(buf, bytes->at, n);
	bytes->at += n;
	bytes->left -= n;
	return (ssize_t)n;
}

static int put_bytes(void *state, const char *key, const void *data, size_t len,
		     struct fault *fault)
{
	struct sftp_store *store = (struct sftp_store *)state;
	struct bytes bytes = {data, len};
	struct sftp_placing placing;
	char temporary[SFTP_PATH_SIZE];
	char token[TOKEN_SIZE + 1];
	struct sftp_upload upload = {
		.path = temporary, .next = next_bytes, .ctx = &bytes, .after = placing.commands};

	if (token_make(token) != 0)
		return fault_set(fault, FAULT_LOCAL, NULL, "no random number for a name");
	snprintf(temporary, sizeof(temporary), TEMPORARIES "%s.%s",
		 strrchr(key, '/') ? strrchr(key, '/') + 1 : key, token);
	sftp_placing_plan(store, temporary, key, &placing);
	upload.after_count = placing.count;
	if (sftp_upload(store->sftp, &upload, fault) == 0 ||
	    sftp_settle(store, temporary, key, fault) == 0)
		return 0;
	return fault->kind == FAULT_ABSENT ? sftp_no_store(fault) : -1;
}

/* Says why a directory is not there: as the server does when it is to be made once more. */
static int missing_fault(struct sftp_store *store, struct fault *fault)
{
	static const struct sftp_command room = {.verb = "mkdir", .path = "tmp"};
	static const struct sftp_command root = {.verb = "mkdir", .path = ""};

	if (sftp_run(store->sftp, &room, 1, fault) == 0)
		return 0;
	if (fault->kind != FAULT_ABSENT)
		return -1;
	if (sftp_run(store->sftp, &root, 1, fault) == 0 || fault->kind == FAULT_ABSENT)
		fault_set(fault, FAULT_NO_STORE,
			  "make that directory on the server, or choose one below a directory of "
			  "yours (sftp://HOST/~/PATH)",
			  "the store's directory cannot be made: those above it are missing");
	return -1;
}

static int create(void *state, struct fault *fault)
{
	struct sftp_store *store = (struct sftp_store *)state;
	struct buffer names = BUFFER_INIT;
	int result = sftp_make_root(store->sftp, fault);

	if (result == 0)
		result = sftp_make_rooms(store, fault);
	/* What was there cannot be told from what could not be made. */
	if (result == 0)
		result = sftp_list(store->sftp, TEMPORARIES, false, &names, fault);
	if (result != 0 && fault->kind == FAULT_ABSENT)
		result = missing_fault(store, fault);
	if (result != 0 && fault->kind == FAULT_READ_ONLY)
		sftp_diagnose(store->sftp, fault);
	buffer_release(&names);
	return result;
}

/* ---- listing and removing ----------------------------------------------------------------------
 */

/* Whoever list tells. */
struct audience {
	struct sftp_store *store;
	int (*each)(void *ctx, const struct store_entry *entry);
	void *ctx;
	struct fault *fault;
};

static int tell(const struct audience *audience, const struct store_entry *entry)
{
	if (audience->each(audience->ctx, entry) == 0)
		return 0;
	return fault_set(audience->fault, FAULT_CANCELLED, NULL, "listing: stopped");
}

/* Tells of the objects in objects/ab/cd/. */
static int tell_objects(const struct audience *audience, const char *directory)
{
	struct buffer text = BUFFER_INIT;
	int result = sftp_list(audience->store->sftp, directory, true, &text, audience->fault);
	const char *at = (const char *)text.data;
	const char *end = at + text.size;
	const char *line;
	size_t len;

	while (result == 0 && sftp_next_line(&at, end, &line, &len)) {
		struct sftp_entry found;
		char key[SFTP_PATH_SIZE];
		struct store_entry entry = {.key = key};

		if (!sftp_entry_parse(line, len, &found) || found.name_len != OID_SIZE ||
		    hex_value(found.name, 2) < 0)
			continue;
		snprintf(key, sizeof(key), "%.32s%.64s", directory, found.name);
		entry.oid = key + strlen(directory);
		entry.size = found.size;
		if (strspn(entry.oid, "0123456789abcdef") == OID_SIZE)
			result = tell(audience, &entry);
	}
	buffer_release(&text);
	return result;
}

/* Goes down one of two levels of directories that are named by two hex digits. */
static int walk(const struct audience *audience, const char *directory, int level)
{
	struct buffer text = BUFFER_INIT;
	int result = sftp_list(audience->store->sftp, directory, false, &text, audience->fault);
	const char *at = (const char *)text.data;
	const char *end = at + text.size;
	const char *line;
	size_t len;

	while (result == 0 && sftp_next_line(&at, end, &line, &len)) {
		char below[SFTP_PATH_SIZE];

		if (len != 2 || hex_value(line, 2) < 0)
			continue;
		snprintf(below, sizeof(below), "%.32s%.2s/", directory, line);
		result = level == 0 ? walk(audience, below, 1) : tell_objects(audience, below);
	}
	buffer_release(&text);
	return result;
}

static int tell_temporary(const struct audience *audience, const char *name, size_t len)
{
	char key[SFTP_PATH_SIZE];
	struct store_entry entry = {.key = key};
	int result;

	snprintf(key, sizeof(key), TEMPORARIES "%.*s", (int)len, name);
	result = sftp_stat(audience->store->sftp, key, &entry.size, &entry.modified,
			   audience->fault);
	/* It may have got its name by now. */
	if (result != 0)
		return audience->fault->kind == FAULT_ABSENT ? 0 : -1;
	return tell(audience, &entry);
}

/* Whether a name is of those that uploads have. */
static bool is_temporary(const char *name, size_t len)
{
	if (len == 0 || len > SFTP_PATH_SIZE / 2 || name[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789.-", name[i]))
			return false;
	}
	return true;
}

static int walk_temporaries(const struct audience *audience)
{
	struct buffer text = BUFFER_INIT;
	int result = sftp_list(audience->store->sftp, TEMPORARIES, false, &text, audience->fault);
	const char *at = (const char *)text.data;
	const char *end = at + text.size;
	const char *line;
	size_t len;

	while (result == 0 && sftp_next_line(&at, end, &line, &len)) {
		if (is_temporary(line, len))
			result = tell_temporary(audience, line, len);
	}
	buffer_release(&text);
	return result;
}

static int list(void *state, bool temporaries,
		int (*each)(void *ctx, const struct store_entry *entry), void *ctx,
		struct fault *fault)
{
	struct audience audience = {(struct sftp_store *)state, each, ctx, fault};
	int result = temporaries ? walk_temporaries(&audience) : walk(&audience, OBJECTS, 0);

	/* A store without such a directory has none of them. */
	if (result != 0 && fault->kind == FAULT_ABSENT) {
		memset(fault, 0, sizeof(*fault));
		result = 0;
	}
	return result;
}

static int remove_key(void *state, const struct store_entry *entry, struct fault *fault)
{
	struct sftp_store *store = (struct sftp_store *)state;
	const struct sftp_command command = {.verb = "rm", .path = entry->key};

	if (sftp_run(store->sftp, &command, 1, fault) == 0)
		return 0;
	if (fault->kind != FAULT_ABSENT)
		return -1;
	memset(fault, 0, sizeof(*fault));
	return 0;
}

const struct driver driver_sftp = {
	.name = "sftp",
	.open = open_store,
	.close = close_store,
	.size = object_size,
	.read = read_object,
	.put = sftp_put,
	.put_bytes = put_bytes,
	.create = create,
	.list = list,
	.remove = remove_key,
};
