/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the unit tests of stores share: settings, contents whose bytes tell their places, and a
 * driver that fails as it is told to.
 */
#ifndef TESTS_UNIT_STORE_CASES_H
#define TESTS_UNIT_STORE_CASES_H

#include "filter/remote/store_private.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "filter/remote/description.h"
#include "tests/unit/sandbox.h"

#define OID "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
#define KEY "objects/ab/cd/" OID

static struct store_settings settings;
static struct location location;
static struct store *store;
static struct fault fault;

static inline void assert_good(int rc)
{
	if (rc != 0)
		fail_msg("fault %d: %s", fault.kind, fault.cause);
}

static inline void assert_fault(int rc, enum fault_kind kind, const char *why)
{
	assert_int_equal(rc, -1);
	if (fault.kind != kind || !strstr(fault.cause, why))
		fail_msg("fault %d: %s", fault.kind, fault.cause);
}

static inline uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 2654435761U >> 15);
}

static inline uint8_t *make_bytes(size_t size)
{
	uint8_t *bytes = malloc(size + 1);

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_at(i);
	return bytes;
}

/* Takes bytes that must be content from an offset on; refuses those from stop_at on. */
struct sink {
	size_t at;
	size_t stop_at; /* 0: takes all */
	bool wrong;
	pthread_t thread;
};

static inline int check_bytes(void *ctx, const void *data, size_t len)
{
	struct sink *sink = ctx;
	const uint8_t *bytes = data;

	if (sink->stop_at && sink->at + len > sink->stop_at)
		return -1;
	for (size_t i = 0; i < len; i++)
		sink->wrong |= bytes[i] != byte_at(sink->at + i);
	sink->wrong |= !pthread_equal(sink->thread, pthread_self());
	sink->at += len;
	return 0;
}

static inline int get(uint64_t offset, uint64_t size, struct sink *sink)
{
	sink->at = offset;
	sink->wrong = false;
	sink->thread = pthread_self();
	return store_get(store, OID, offset, size, check_bytes, sink, &fault);
}

/* ---- a driver that fails --------------------------------------------------------------------- */

/* Attempts at anything fail while there are failures left. */
static struct {
	uint8_t *bytes; /* of OID */
	size_t size;
	const char *description;
	atomic_int failures;
	enum fault_kind kind;
	unsigned retry_after_ms;
	size_t yields;     /* bytes or entries that a failing attempt comes to */
	uint64_t bad_from; /* reads of what is at or behind this are damaged for good */
	bool too_much;
	bool spared;      /* reads of the beginning do not fail */
	atomic_int calls; /* attempts at what is counted */
	atomic_int at_once, most_at_once;
	bool created;
	struct driver_upload upload; /* the last one */
	char token[TOKEN_SIZE + 1];
} faulty;

static inline bool fails(struct fault *out)
{
	faulty.calls++;
	if (atomic_fetch_sub(&faulty.failures, 1) <= 0) {
		faulty.failures = 0;
		return false;
	}
	fault_set(out, faulty.kind, NULL, "so it was told");
	out->retry_after_ms = faulty.retry_after_ms;
	return true;
}

static inline int faulty_open(const struct location *place, const struct store_settings *how,
			      void **state, struct fault *out)
{
	(void)place, (void)how, (void)out;
	*state = NULL;
	return 0;
}

static inline void faulty_close(void *state)
{
	(void)state;
}

static inline int faulty_size(void *state, const char *key, uint64_t *size, struct fault *out)
{
	(void)state;
	if (strcmp(key, STORE_DESCRIPTION) == 0 && faulty.description) {
		*size = strlen(faulty.description);
		return 0;
	}
	if (fails(out))
		return -1;
	if (strcmp(key, KEY) != 0)
		return fault_set(out, FAULT_ABSENT, NULL, "absent");
	*size = faulty.size;
	return 0;
}

static inline int read_object(uint64_t offset, uint64_t len, brevis_write_fn write, void *ctx,
			      struct fault *out)
{
	bool fail = !(faulty.spared && offset == 0) && fails(out);
	uint64_t end = offset + (fail && faulty.yields < len ? faulty.yields : len);

	if (offset + len > faulty.bad_from)
		return fault_set(out, FAULT_DAMAGED, NULL, "bad from here on");
	assert_true(offset + len <= faulty.size);
	for (size_t n; offset < end; offset += n) {
		n = end - offset < 100000 ? (size_t)(end - offset) : 100000;
		if (write(ctx, faulty.bytes + offset, n) != 0)
			return fault_set(out, FAULT_CANCELLED, NULL, "cancelled");
	}
	if (faulty.too_much && write(ctx, "x", 1) != 0)
		return fault_set(out, FAULT_CANCELLED, NULL, "cancelled");
	return fail ? -1 : 0;
}

static inline int faulty_read(void *state, const char *key, uint64_t offset, uint64_t len,
			      brevis_write_fn write, void *ctx, struct fault *out)
{
	int now;
	int rc;

	(void)state;
	if (strcmp(key, STORE_DESCRIPTION) == 0)
		return write(ctx, faulty.description + offset, len);
	assert_string_equal(key, KEY);
	now = ++faulty.at_once;
	if (now > faulty.most_at_once)
		faulty.most_at_once = now;
	usleep(1000);
	rc = read_object(offset, len, write, ctx, out);
	faulty.at_once--;
	return rc;
}

static inline int faulty_put(void *state, const struct driver_upload *upload, struct fault *out)
{
	uint64_t size;

	(void)state;
	assert_string_equal(upload->key, KEY);
	if (faulty.calls)
		assert_string_equal(faulty.token, journal_token(upload->journal));
	strcpy(faulty.token, journal_token(upload->journal));
	faulty.upload = *upload;
	if (fails(out)) {
		upload->sent(upload->ctx, faulty.yields);
		return -1;
	}
	if (feed_size(upload->feed, &size) != 0)
		return fault_set(out, FAULT_CANCELLED, NULL, "the feed failed");
	upload->sent(upload->ctx, size);
	return 0;
}

static inline int faulty_put_bytes(void *state, const char *key, const void *data, size_t len,
				   struct fault *out)
{
	(void)state, (void)data, (void)len;
	if (fails(out))
		return -1;
	assert_string_equal(key, STORE_DESCRIPTION);
	if (!faulty.description)
		faulty.description = description_text;
	return 0;
}

static inline int faulty_create(void *state, struct fault *out)
{
	(void)state;
	if (fails(out))
		return -1;
	faulty.created = true;
	return 0;
}

static inline int faulty_list(void *state, bool temporaries,
			      int (*each)(void *ctx, const struct store_entry *entry), void *ctx,
			      struct fault *out)
{
	bool fail = fails(out);

	(void)state;
	for (size_t i = 0; i < 11; i++) {
		char key[96];
		struct store_entry entry = {.key = key, .size = i, .modified = -(int64_t)i};

		/* The last object is not where it belongs. */
		if (temporaries)
			snprintf(key, sizeof(key), "tmp/%zu", i);
		else
			snprintf(key, sizeof(key), "objects/00/%s/%064zu", i < 10 ? "00" : "01", i);
		if (!temporaries)
			entry.oid = strrchr(key, '/') + 1;
		if (fail && i == faulty.yields)
			return -1;
		if (each(ctx, &entry) != 0)
			return fault_set(out, FAULT_CANCELLED, NULL, "cancelled");
	}
	return fail ? -1 : 0;
}

static inline int faulty_remove(void *state, const struct store_entry *entry, struct fault *out)
{
	(void)state;
	assert_string_equal(entry->key, KEY);
	return fails(out) ? -1 : 0;
}

static const struct driver faulty_driver = {
	.name = "faulty",
	.open = faulty_open,
	.close = faulty_close,
	.size = faulty_size,
	.read = faulty_read,
	.put = faulty_put,
	.put_bytes = faulty_put_bytes,
	.create = faulty_create,
	.list = faulty_list,
	.remove = faulty_remove,
};

static inline void fail_times(int times, enum fault_kind kind)
{
	faulty.failures = times;
	faulty.kind = kind;
	faulty.calls = 0;
}

static inline int enter(void **state)
{
	if (sandbox_enter(state) != 0)
		return -1;
	settings = (struct store_settings){
		.retries = 3, .max_delay_ms = 1, .parallel = 4, .state_dir = strdup("state")};
	fault = (struct fault){0};
	return 0;
}

static inline int enter_faulty(void **state)
{
	if (enter(state) != 0)
		return -1;
	free(faulty.bytes);
	memset(&faulty, 0, sizeof(faulty));
	faulty.description = description_text;
	faulty.bad_from = UINT64_MAX;
	faulty.kind = FAULT_TRANSIENT;
	assert_good(location_parse("sftp://host/srv", NULL, &location, &fault));
	assert_good(store_open_driver(&faulty_driver, &location, &settings, &store, &fault));
	return 0;
}

static inline int leave(void **state)
{
	store_close(store);
	location_release(&location);
	store_settings_release(&settings);
	return sandbox_leave(state);
}

static inline int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static inline void count(void *ctx, uint64_t bytes)
{
	*(uint64_t *)ctx += bytes;
}

static inline int put(size_t size, uint64_t *progress)
{
	uint8_t *bytes = make_bytes(size);
	int fd = memfd_create("content", MFD_CLOEXEC);
	struct feed *feed = feed_new(fd, size);
	int rc;

	assert_int_equal(write(fd, bytes, size), size);
	feed_grow(feed, size);
	feed_finish(feed);
	rc = store_put(store, OID, feed, progress ? count : NULL, progress, &fault);
	feed_free(feed);
	close(fd);
	free(bytes);
	return rc;
}

#define FAULTY_TEST(function) cmocka_unit_test_setup_teardown(function, enter_faulty, leave)

#endif
