/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/store.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "filter/remote/description.h"
#include "filter/remote/store_private.h"

#define KEY_SIZE 96

/* Parts of an upload: of this size if they need not be larger, no more than an S3 store takes, and
 * no more in memory at a time than this. */
#define PART_SIZE   ((uint64_t)8 << 20)
#define PART_UNIT   ((uint64_t)1 << 20)
#define PARTS_MAX   10000
#define PARTS_BYTES ((uint64_t)128 << 20)

static const struct driver *const drivers[] = {
	[LOCATION_DIRECTORY] = &driver_directory,
	[LOCATION_SFTP] = &driver_sftp,
	[LOCATION_DAV] = &driver_dav,
	[LOCATION_S3] = &driver_s3,
};

int store_open_driver(const struct driver *driver, const struct location *location,
		      const struct store_settings *settings, struct store **out,
		      struct fault *fault)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return fault_nomem(fault);
	store->location = location;
	store->settings = settings;
	store->driver = driver;
	if (driver->open(location, settings, &store->state, fault) != 0) {
		free(store);
		return -1;
	}
	*out = store;
	return 0;
}

int store_open(const struct location *location, const struct store_settings *settings,
	       struct store **out, struct fault *fault)
{
	return store_open_driver(drivers[location->scheme], location, settings, out, fault);
}

void store_close(struct store *store)
{
	if (!store)
		return;
	store->driver->close(store->state);
	free(store);
}

const char *store_name(const struct store *store)
{
	return store->location->text;
}

static void make_key(char key[KEY_SIZE], const char *oid)
{
	snprintf(key, KEY_SIZE, "objects/%.2s/%.2s/%s", oid, oid + 2, oid);
}

/* ---- attempts ------------------------------------------------------------------------------- */

void store_retry(const struct store *store, struct retry *retry, const atomic_bool *stop)
{
	retry_begin(retry, store->settings, stop);
	if (store->weary)
		retry->limit = 0;
}

/* Takes note of how something ended. Returns rc. */
static int settle(struct store *store, int rc, const struct fault *fault)
{
	if (rc == 0)
		store->weary = false;
	else if (fault->kind == FAULT_TRANSIENT)
		store->weary = true;
	return rc;
}

static int size_of(struct store *store, const char *key, uint64_t *size, struct fault *fault)
{
	struct retry retry;
	int rc;

	store_retry(store, &retry, NULL);
	do
		rc = store->driver->size(store->state, key, size, fault);
	while (rc != 0 && retry_again(&retry, false, fault));
	return settle(store, rc, fault);
}

/* Bytes that are taken as they come. */
struct taking {
	brevis_write_fn write;
	void *ctx;
	uint64_t len;
	uint64_t done;
	bool too_much;
};

static int take(void *ctx, const void *data, size_t len)
{
	struct taking *taking = ctx;

	taking->too_much = len > taking->len - taking->done;
	if (taking->too_much || taking->write(taking->ctx, data, len) != 0)
		return -1;
	taking->done += len;
	return 0;
}

int store_read_range(const struct store *store, const char *key, uint64_t offset, uint64_t len,
		     brevis_write_fn write, void *ctx, const atomic_bool *stop, struct fault *fault)
{
	struct taking taking = {.write = write, .ctx = ctx, .len = len};
	struct retry retry;
	uint64_t before;
	int rc;

	store_retry(store, &retry, stop);
	do {
		before = taking.done;
		if (before == len)
			return 0;
		rc = store->driver->read(store->state, key, offset + before, len - before, take,
					 &taking, fault);
	} while (rc != 0 && retry_again(&retry, taking.done > before, fault));
	if (taking.too_much || (rc == 0 && taking.done < len))
		return fault_set(fault, FAULT_DAMAGED, NULL,
				 "the store sent %s bytes of %s than were asked for",
				 taking.too_much ? "more" : "fewer", key);
	return rc;
}

/* ---- the description ------------------------------------------------------------------------ */

static int append(void *ctx, const void *data, size_t len)
{
	buffer_append(ctx, data, len);
	return buffer_failed(ctx) ? -1 : 0;
}

static int no_store(const struct store *store, struct fault *fault)
{
	char remedy[FAULT_TEXT_SIZE];

	snprintf(remedy, sizeof(remedy),
		 "check the URL, or make a store there: git brevis store "
		 "init %s",
		 store_name(store));
	return fault_set(fault, FAULT_NO_STORE, remedy, "there is no store at %s: it lacks %s",
			 store_name(store), STORE_DESCRIPTION);
}

static int check_description(struct store *store, struct fault *fault)
{
	struct buffer text = BUFFER_INIT;
	uint64_t size;
	int rc;

	if (size_of(store, STORE_DESCRIPTION, &size, fault) != 0)
		return fault->kind == FAULT_ABSENT ? no_store(store, fault) : -1;
	/* What is too long is read as far as it shows that it is none. */
	if (size > DESCRIPTION_SIZE_MAX)
		return description_check("", 0, store_name(store), fault);
	rc = store_read_range(store, STORE_DESCRIPTION, 0, size, append, &text, NULL, fault);
	if (settle(store, rc, fault) == 0)
		rc = description_check(text.data ? (char *)text.data : "", text.size,
				       store_name(store), fault);
	buffer_release(&text);
	return rc;
}

int store_check(struct store *store, struct fault *fault)
{
	if (store->checked)
		return 0;
	/* A store that was not reached is not tried again for each object. */
	if (store->check.kind == FAULT_NONE)
		store->checked = check_description(store, &store->check) == 0;
	if (store->checked)
		return 0;
	*fault = store->check;
	return -1;
}

int store_create(struct store *store, struct fault *fault)
{
	struct retry retry;
	int rc;

	if (store_check(store, fault) == 0)
		return 0;
	if (fault->kind != FAULT_NO_STORE)
		return -1;
	store_retry(store, &retry, NULL);
	do {
		rc = store->driver->create(store->state, fault);
		if (rc == 0)
			rc = store->driver->put_bytes(store->state, STORE_DESCRIPTION,
						      description_text, strlen(description_text),
						      fault);
	} while (rc != 0 && retry_again(&retry, false, fault));
	if (rc != 0)
		return -1;
	/* Another may have been quicker, and newer. */
	store->check = (struct fault){0};
	return store_check(store, fault);
}

/* ---- objects -------------------------------------------------------------------------------- */

int store_size(struct store *store, const char *oid, uint64_t *size, struct fault *fault)
{
	char key[KEY_SIZE];

	make_key(key, oid);
	if (store_check(store, fault) != 0)
		return -1;
	return size_of(store, key, size, fault);
}

static int copy_to(void *ctx, const void *data, size_t len)
{
	uint8_t **at = ctx;

	memcpy(*at, data, len);
	*at += len;
	return 0;
}

int store_read(struct store *store, const char *oid, uint64_t offset, void *buf, size_t len,
	       struct fault *fault)
{
	uint8_t *at = buf;
	char key[KEY_SIZE];
	int rc;

	make_key(key, oid);
	if (store_check(store, fault) != 0)
		return -1;
	rc = store_read_range(store, key, offset, len, copy_to, &at, NULL, fault);
	return settle(store, rc, fault);
}

int store_get(struct store *store, const char *oid, uint64_t offset, uint64_t size,
	      brevis_write_fn write, void *ctx, struct fault *fault)
{
	uint64_t len = offset < size ? size - offset : 0;
	char key[KEY_SIZE];
	int rc;

	make_key(key, oid);
	if (store_check(store, fault) != 0)
		return -1;
	/* A disk is quickest from one end to the other. */
	if (len <= RANGE_SIZE || store->settings->parallel < 2 ||
	    store->location->scheme == LOCATION_DIRECTORY)
		rc = store_read_range(store, key, offset, len, write, ctx, NULL, fault);
	else
		rc = store_read_ranges(store, key, offset, len, write, ctx, fault);
	return settle(store, rc, fault);
}

/* How far an upload has come. A later attempt may begin before where an earlier one has ended: that
 * is told to nobody, and is no success. */
struct sending {
	pthread_mutex_t mutex;
	uint64_t attempt; /* bytes of this one */
	uint64_t most;    /* of any */
	store_progress_fn progress;
	void *ctx;
};

static void sent(void *ctx, uint64_t bytes)
{
	struct sending *sending = ctx;

	pthread_mutex_lock(&sending->mutex);
	sending->attempt += bytes;
	if (sending->attempt > sending->most) {
		if (sending->progress)
			sending->progress(sending->ctx, sending->attempt - sending->most);
		sending->most = sending->attempt;
	}
	pthread_mutex_unlock(&sending->mutex);
}

/* The size of parts: as the settings say, or small, so that little is sent again; but so large that
 * there are not too many. */
static uint64_t part_size_of(const struct store *store, uint64_t limit)
{
	uint64_t least = limit / PARTS_MAX + (limit % PARTS_MAX != 0);
	uint64_t wanted = store->settings->part_size ? store->settings->part_size : PART_SIZE;

	if (least <= wanted)
		return wanted;
	return (least + PART_UNIT - 1) / PART_UNIT * PART_UNIT;
}

static unsigned parallel_of(const struct store *store, uint64_t part_size)
{
	uint64_t fit = PARTS_BYTES / part_size;

	if (fit < 1)
		fit = 1;
	return fit < store->settings->parallel ? (unsigned)fit : store->settings->parallel;
}

int store_scratch(struct store *store)
{
	return store->driver->scratch ? store->driver->scratch(store->state) : -1;
}

int store_put(struct store *store, const char *oid, struct feed *feed, store_progress_fn progress,
	      void *ctx, struct fault *fault)
{
	struct sending sending = {
		.mutex = PTHREAD_MUTEX_INITIALIZER, .progress = progress, .ctx = ctx};
	struct driver_upload upload = {.feed = feed,
				       .part_size = part_size_of(store, feed_limit(feed)),
				       .sent = sent,
				       .ctx = &sending};
	char key[KEY_SIZE];
	struct retry retry;
	uint64_t before;
	int rc;

	make_key(key, oid);
	if (store_check(store, fault) != 0)
		return -1;
	upload.key = key;
	upload.parallel = parallel_of(store, upload.part_size);
	upload.journal = journal_open(store->settings->state_dir, store_name(store), key);
	if (!upload.journal)
		return fault_nomem(fault);
	store_retry(store, &retry, NULL);
	do {
		before = sending.most;
		sending.attempt = 0;
		rc = store->driver->put(store->state, &upload, fault);
	} while (rc != 0 && retry_again(&retry, sending.most > before, fault));
	if (rc == 0)
		journal_end(upload.journal);
	else
		journal_close(upload.journal);
	pthread_mutex_destroy(&sending.mutex);
	return settle(store, rc, fault);
}

/* ---- listing -------------------------------------------------------------------------------- */

/* What was listed, entry after entry: size, time, key with its NUL. It is all there before anyone
 * is told: a list that breaks off is begun anew, and who is told may remove things. */
struct list {
	struct buffer entries;
	size_t most; /* bytes that any attempt came to */
};

static int add_entry(void *ctx, const struct store_entry *entry)
{
	struct buffer *entries = &((struct list *)ctx)->entries;
	char key[KEY_SIZE];

	/* An object that is elsewhere is none: nobody would find it there. */
	if (entry->oid) {
		make_key(key, entry->oid);
		if (strcmp(key, entry->key) != 0)
			return 0;
	}
	buffer_u8(entries, entry->oid != NULL);
	buffer_le64(entries, entry->size);
	buffer_le64(entries, (uint64_t)entry->modified);
	buffer_append(entries, entry->key, strlen(entry->key) + 1);
	return buffer_failed(entries) ? -1 : 0;
}

static int list_all(struct store *store, bool temporaries, struct list *list, struct fault *fault)
{
	struct retry retry;
	size_t before;
	int rc;

	store_retry(store, &retry, NULL);
	list->most = 0;
	do {
		before = list->most;
		buffer_clear(&list->entries);
		rc = store->driver->list(store->state, temporaries, add_entry, list, fault);
		if (buffer_failed(&list->entries))
			return fault_nomem(fault);
		if (list->entries.size > list->most)
			list->most = list->entries.size;
	} while (rc != 0 && retry_again(&retry, list->most > before, fault));
	return settle(store, rc, fault);
}

static int tell(const struct list *list, int (*each)(void *ctx, const struct store_entry *entry),
		void *ctx, struct fault *fault)
{
	struct span span = span_of(list->entries.data, list->entries.size);

	while (span_left(&span)) {
		bool is_object = span_u8(&span);
		struct store_entry entry = {.size = span_le64(&span)};

		entry.modified = (int64_t)span_le64(&span);
		entry.key = (const char *)span.at;
		span_take(&span, strlen(entry.key) + 1);
		if (is_object)
			entry.oid = strrchr(entry.key, '/') + 1;
		if (each(ctx, &entry) != 0)
			return fault_set(fault, FAULT_CANCELLED, NULL, "listing was stopped");
	}
	return 0;
}

int store_each(struct store *store, bool temporaries,
	       int (*each)(void *ctx, const struct store_entry *entry), void *ctx,
	       struct fault *fault)
{
	struct list list = {.entries = BUFFER_INIT};
	int rc;

	if (store_check(store, fault) != 0)
		return -1;
	rc = list_all(store, false, &list, fault);
	if (rc == 0)
		rc = tell(&list, each, ctx, fault);
	if (rc == 0 && temporaries) {
		rc = list_all(store, true, &list, fault);
		if (rc == 0)
			rc = tell(&list, each, ctx, fault);
	}
	buffer_release(&list.entries);
	return rc;
}

int store_remove(struct store *store, const struct store_entry *entry, struct fault *fault)
{
	struct retry retry;
	int rc;

	if (store_check(store, fault) != 0)
		return -1;
	store_retry(store, &retry, NULL);
	do
		rc = store->driver->remove(store->state, entry, fault);
	while (rc != 0 && retry_again(&retry, false, fault));
	return settle(store, rc, fault);
}
