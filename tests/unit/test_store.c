/* SPDX-License-Identifier: Apache-2.0 */
/* Stores: over a directory, and over a driver that fails as it is told to. */
#include "filter/remote/store_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "core/base/buffer.h"
#include "filter/remote/description.h"
#include "tests/unit/sandbox.h"

#define OID "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
#define KEY "objects/ab/cd/" OID

static struct store_settings settings;
static struct location location;
static struct store *store;
static struct fault fault;

static void assert_good(int rc)
{
	if (rc != 0)
		fail_msg("fault %d: %s", fault.kind, fault.cause);
}

static void assert_fault(int rc, enum fault_kind kind, const char *why)
{
	assert_int_equal(rc, -1);
	if (fault.kind != kind || !strstr(fault.cause, why))
		fail_msg("fault %d: %s", fault.kind, fault.cause);
}

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 2654435761U >> 15);
}

static uint8_t *make_bytes(size_t size)
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

static int check_bytes(void *ctx, const void *data, size_t len)
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

static int get(uint64_t offset, uint64_t size, struct sink *sink)
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
	char token[JOURNAL_TOKEN_SIZE + 1];
} faulty;

static bool fails(struct fault *out)
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

static int faulty_open(const struct location *place, const struct store_settings *how, void **state,
		       struct fault *out)
{
	(void)place, (void)how, (void)out;
	*state = NULL;
	return 0;
}

static void faulty_close(void *state)
{
	(void)state;
}

static int faulty_size(void *state, const char *key, uint64_t *size, struct fault *out)
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

static int read_object(uint64_t offset, uint64_t len, brevis_write_fn write, void *ctx,
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

static int faulty_read(void *state, const char *key, uint64_t offset, uint64_t len,
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

static int faulty_put(void *state, const struct driver_upload *upload, struct fault *out)
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

static int faulty_put_bytes(void *state, const char *key, const void *data, size_t len,
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

static int faulty_create(void *state, struct fault *out)
{
	(void)state;
	if (fails(out))
		return -1;
	faulty.created = true;
	return 0;
}

static int faulty_list(void *state, bool temporaries,
		       int (*each)(void *ctx, const struct store_entry *entry), void *ctx,
		       struct fault *out)
{
	bool fail = fails(out);

	(void)state;
	for (size_t i = 0; i < 10; i++) {
		char key[16];
		struct store_entry entry = {.key = key, .size = i, .modified = -(int64_t)i};

		snprintf(key, sizeof(key), "%s/%zu", temporaries ? "tmp" : "objects", i);
		if (!temporaries)
			entry.oid = key + 8;
		if (fail && i == faulty.yields)
			return -1;
		if (each(ctx, &entry) != 0)
			return fault_set(out, FAULT_CANCELLED, NULL, "cancelled");
	}
	return fail ? -1 : 0;
}

static int faulty_remove(void *state, const struct store_entry *entry, struct fault *out)
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

static void fail_times(int times, enum fault_kind kind)
{
	faulty.failures = times;
	faulty.kind = kind;
	faulty.calls = 0;
}

static int enter(void **state)
{
	if (sandbox_enter(state) != 0)
		return -1;
	settings = (struct store_settings){
		.retries = 3, .max_delay_ms = 1, .parallel = 4, .state_dir = strdup("state")};
	fault = (struct fault){0};
	return 0;
}

static int enter_faulty(void **state)
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

static int enter_directory(void **state)
{
	if (enter(state) != 0)
		return -1;
	assert_good(location_parse("store", sandbox_path, &location, &fault));
	assert_good(store_open(&location, &settings, &store, &fault));
	return 0;
}

static int leave(void **state)
{
	store_close(store);
	location_release(&location);
	store_settings_release(&settings);
	return sandbox_leave(state);
}

/* ---- a directory ----------------------------------------------------------------------------- */

static void count(void *ctx, uint64_t bytes)
{
	*(uint64_t *)ctx += bytes;
}

static int put(size_t size, uint64_t *progress)
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

static int see(void *ctx, const struct store_entry *entry)
{
	assert_string_equal(entry->oid, OID);
	assert_string_equal(entry->key, KEY);
	++*(int *)ctx;
	return store_remove(store, entry, &fault);
}

static void test_directory(void **state)
{
	const size_t size = (20 << 20) + 3;
	struct sink sink = {0};
	uint64_t progress = 0;
	uint64_t found = 0;
	uint8_t bytes[100];
	int seen = 0;

	(void)state;
	assert_fault(store_size(store, OID, &found, &fault), FAULT_NO_STORE, "store");
	assert_non_null(strstr(fault.remedy, "git brevis store init"));
	assert_good(store_create(store, &fault));
	assert_file("store/" STORE_DESCRIPTION,
		    "{\"format\":\"git-brevis store\",\"version\":1}\n");
	assert_good(store_create(store, &fault));
	assert_fault(store_size(store, OID, &found, &fault), FAULT_ABSENT, OID);
	assert_good(put(size, &progress));
	assert_int_equal(progress, size);
	assert_good(put(size, NULL));
	assert_good(store_size(store, OID, &found, &fault));
	assert_int_equal(found, size);
	assert_good(get(0, size, &sink));
	assert_int_equal(sink.at, size);
	assert_false(sink.wrong);
	assert_good(get(12345678, size, &sink));
	assert_int_equal(sink.at, size);
	assert_false(sink.wrong);
	assert_good(get(size, size, &sink));
	assert_good(store_read(store, OID, 1000, bytes, sizeof(bytes), &fault));
	assert_int_equal(bytes[99], byte_at(1099));
	assert_fault(store_read(store, OID, size - 1, bytes, 2, &fault), FAULT_DAMAGED, OID);
	/* Nothing of an upload that succeeded is left, here or there. */
	sh("test -z \"$(ls -A store/tmp)\" && test ! -e state");
	assert_good(store_each(store, true, see, &seen, &fault));
	assert_int_equal(seen, 1);
	assert_good(store_each(store, true, see, &seen, &fault));
	assert_int_equal(seen, 1);
}

static void test_no_description(void **state)
{
	uint64_t size;

	(void)state;
	sh("mkdir store");
	assert_fault(store_size(store, OID, &size, &fault), FAULT_NO_STORE, "lacks");
	assert_non_null(strstr(fault.remedy, "git brevis store init file:///"));
	sh("test -z \"$(ls -A store)\"");
}

static void with_description(const char *text)
{
	put_text("store/" STORE_DESCRIPTION, text);
	store_close(store);
	assert_good(store_open(&location, &settings, &store, &fault));
}

static void test_descriptions(void **state)
{
	static const char *const unknown[] = {
		"",
		"{}",
		"hello",
		"[1]",
		"{\"format\":\"git-brevis store\"}",
		"{\"format\":\"git-brevis store\",\"version\":\"1\"}",
		"{\"format\":\"git-brevis store\",\"version\":0}",
		"{\"format\":\"git-brevis store\",\"version\":1.5}",
		"{\"format\":\"another store\",\"version\":1}",
		"{\"version\":1}",
		"{\"format\":7,\"version\":1}",
		"{\"format\":\"git-brevis store\",\"version\":1",
	};
	char *large = malloc(100001);

	(void)state;
	sh("mkdir store");
	with_description("{ \"version\": 1, \"format\": \"git-brevis store\", \"x\": [2] }");
	assert_good(store_check(store, &fault));
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		with_description(unknown[i]);
		assert_fault(store_check(store, &fault), FAULT_UNSUPPORTED,
			     "no store of git-brevis");
		assert_fault(store_create(store, &fault), FAULT_UNSUPPORTED, "git-brevis");
		assert_file("store/" STORE_DESCRIPTION, unknown[i]);
	}
	memset(large, ' ', 100000);
	strcpy(large + 100000 - 50, "{\"format\":\"git-brevis store\",\"version\":1}");
	with_description(large);
	assert_fault(store_check(store, &fault), FAULT_UNSUPPORTED, "no store of git-brevis");
	free(large);
	with_description("{\"format\":\"git-brevis store\",\"version\":2,\"how\":\"else\"}");
	assert_fault(store_check(store, &fault), FAULT_UNSUPPORTED,
		     "made by a newer git-brevis (version 2)");
	assert_non_null(strstr(fault.remedy, "update"));
	assert_fault(put(10, NULL), FAULT_UNSUPPORTED, "newer");
	assert_fault(store_create(store, &fault), FAULT_UNSUPPORTED, "newer");
	sh("test \"$(ls -A store)\" = " STORE_DESCRIPTION);
}

/* ---- attempts -------------------------------------------------------------------------------- */

static void test_retries(void **state)
{
	struct store_entry entry = {.oid = OID, .key = KEY};
	uint64_t size = 0;

	(void)state;
	faulty.size = 77;
	fail_times(3, FAULT_TRANSIENT);
	assert_good(store_size(store, OID, &size, &fault));
	assert_int_equal(size, 77);
	assert_int_equal(faulty.calls, 4);
	fail_times(3, FAULT_TRANSIENT);
	assert_good(store_remove(store, &entry, &fault));
	assert_int_equal(faulty.calls, 4);
	fail_times(100, FAULT_TRANSIENT);
	assert_fault(store_size(store, OID, &size, &fault), FAULT_TRANSIENT,
		     "so it was told (tried 4 times)");
	assert_int_equal(faulty.calls, 4);
	/* What follows is not waited for as long, until something goes well. */
	fail_times(100, FAULT_TRANSIENT);
	assert_fault(store_size(store, OID, &size, &fault), FAULT_TRANSIENT, "so it was told");
	assert_int_equal(faulty.calls, 1);
	fail_times(0, FAULT_TRANSIENT);
	assert_good(store_size(store, OID, &size, &fault));
	fail_times(1, FAULT_TRANSIENT);
	assert_good(store_size(store, OID, &size, &fault));
	assert_int_equal(faulty.calls, 2);
}

static void test_permanent(void **state)
{
	static const enum fault_kind kinds[] = {FAULT_ABSENT,    FAULT_NO_STORE,    FAULT_DENIED,
						FAULT_UNTRUSTED, FAULT_READ_ONLY,   FAULT_NO_SPACE,
						FAULT_DAMAGED,   FAULT_UNSUPPORTED, FAULT_LOCAL,
						FAULT_CANCELLED};
	struct sink sink = {0};
	uint64_t size;

	(void)state;
	faulty.bytes = make_bytes(100);
	faulty.size = 100;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		fail_times(1, kinds[i]);
		assert_fault(store_size(store, OID, &size, &fault), kinds[i], "so it was told");
		assert_int_equal(faulty.calls, 1);
		fail_times(1, kinds[i]);
		assert_fault(get(0, 100, &sink), kinds[i], "so it was told");
		assert_int_equal(faulty.calls, 1);
		fail_times(1, kinds[i]);
		assert_fault(put(10, NULL), kinds[i], "so it was told");
		assert_int_equal(faulty.calls, 1);
	}
}

/* A store that was not reached is not asked again for every object. */
static void test_unreached(void **state)
{
	uint64_t size;

	(void)state;
	faulty.description = NULL;
	fail_times(1000, FAULT_TRANSIENT);
	assert_fault(store_check(store, &fault), FAULT_TRANSIENT, "so it was told");
	assert_int_equal(faulty.calls, 4);
	assert_fault(store_size(store, OID, &size, &fault), FAULT_TRANSIENT, "so it was told");
	assert_fault(put(10, NULL), FAULT_TRANSIENT, "so it was told");
	assert_int_equal(faulty.calls, 4);
}

static void test_create(void **state)
{
	(void)state;
	faulty.description = NULL;
	assert_fault(store_check(store, &fault), FAULT_NO_STORE, "sftp://host/srv");
	fail_times(2, FAULT_TRANSIENT);
	assert_good(store_create(store, &fault));
	assert_true(faulty.created);
	assert_good(store_check(store, &fault));
}

static void test_create_fails(void **state)
{
	(void)state;
	faulty.description = NULL;
	assert_fault(store_check(store, &fault), FAULT_NO_STORE, "sftp://host/srv");
	fail_times(1, FAULT_READ_ONLY);
	assert_fault(store_create(store, &fault), FAULT_READ_ONLY, "so it was told");
	assert_fault(store_check(store, &fault), FAULT_NO_STORE, "sftp://host/srv");
}

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void test_pauses(void **state)
{
	int64_t before = now_ms();
	uint64_t size;

	(void)state;
	fail_times(2, FAULT_TRANSIENT);
	faulty.retry_after_ms = 200;
	assert_good(store_size(store, OID, &size, &fault));
	assert_true(now_ms() - before >= 400);

	/* Pauses double, as far as they may. */
	faulty.retry_after_ms = 0;
	settings.max_delay_ms = 400;
	fail_times(3, FAULT_TRANSIENT);
	before = now_ms();
	assert_good(store_size(store, OID, &size, &fault));
	assert_true(now_ms() - before >= 125 + 200 + 200);
	assert_true(now_ms() - before < 250 + 400 + 400 + 2000);

	/* Who asks for more than is reasonable is not waited for. */
	faulty.retry_after_ms = 24 * 3600 * 1000;
	fail_times(1, FAULT_TRANSIENT);
	before = now_ms();
	assert_fault(store_size(store, OID, &size, &fault), FAULT_TRANSIENT, "so it was told");
	assert_true(now_ms() - before < 2000);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Each attempt comes a little further: as many are made as are needed, and no byte comes twice. */
static void test_read_progress(void **state)
{
	struct sink sink = {0};
	uint8_t bytes[1000];

	(void)state;
	faulty.size = 1000000;
	faulty.bytes = make_bytes(faulty.size);
	faulty.yields = 30000;
	fail_times(20, FAULT_TRANSIENT);
	assert_good(get(0, faulty.size, &sink));
	assert_int_equal(faulty.calls, 21);
	assert_int_equal(sink.at, faulty.size);
	assert_false(sink.wrong);

	faulty.yields = 0;
	fail_times(4, FAULT_TRANSIENT);
	assert_fault(get(0, faulty.size, &sink), FAULT_TRANSIENT, "so it was told");
	assert_int_equal(faulty.calls, 4);
	fail_times(0, FAULT_TRANSIENT);
	assert_good(get(0, faulty.size, &sink));

	faulty.yields = 100;
	fail_times(9, FAULT_TRANSIENT);
	assert_good(store_read(store, OID, 5000, bytes, sizeof(bytes), &fault));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], byte_at(5000 + i));
	/* All had come when it failed: that is enough. */
	faulty.yields = 1000;
	fail_times(1, FAULT_TRANSIENT);
	assert_good(store_read(store, OID, 5000, bytes, sizeof(bytes), &fault));
	assert_int_equal(faulty.calls, 1);
}

static void test_read_wrong_length(void **state)
{
	struct sink sink = {0};

	(void)state;
	faulty.size = 30 << 20;
	faulty.bytes = make_bytes(faulty.size);
	faulty.too_much = true;
	assert_fault(get(0, 1000, &sink), FAULT_DAMAGED, "more bytes");
	assert_int_equal(sink.at, 1000);
	assert_fault(get(0, faulty.size, &sink), FAULT_DAMAGED, "more bytes");
	assert_false(sink.wrong);
}

static void test_ranges(void **state)
{
	static const unsigned parallel[] = {1, 2, 3, 4, 8, 16};
	struct sink sink = {0};

	(void)state;
	faulty.size = 10 * RANGE_SIZE + 12345;
	faulty.bytes = make_bytes(faulty.size);
	faulty.yields = 1000000;
	for (size_t i = 0; i < sizeof(parallel) / sizeof(parallel[0]); i++) {
		settings.parallel = parallel[i];
		faulty.most_at_once = 0;
		fail_times(15, FAULT_TRANSIENT);
		assert_good(get(0, faulty.size, &sink));
		assert_int_equal(sink.at, faulty.size);
		assert_false(sink.wrong);
		assert_true(faulty.most_at_once <= (int)(parallel[i] < 8 ? parallel[i] : 8));
		assert_true(parallel[i] == 1 || faulty.most_at_once > 1);
	}
	settings.parallel = 4;
	assert_good(get(777, 777 + RANGE_SIZE + 1, &sink));
	assert_int_equal(sink.at, 777 + RANGE_SIZE + 1);
	assert_false(sink.wrong);
	/* Small ones take one request. */
	fail_times(0, FAULT_TRANSIENT);
	assert_good(get(777, 777 + RANGE_SIZE, &sink));
	assert_int_equal(faulty.calls, 1);
	assert_false(sink.wrong);
}

/* What lies before a fault comes all the same: it need not be fetched again. */
static void test_ranges_fail(void **state)
{
	struct sink sink = {0};

	(void)state;
	faulty.size = 20 * RANGE_SIZE;
	faulty.bytes = make_bytes(faulty.size);
	for (size_t i = 0; i < 20; i += 3) {
		faulty.bad_from = i * RANGE_SIZE + 5;
		assert_fault(get(0, faulty.size, &sink), FAULT_DAMAGED, "bad from here on");
		assert_int_equal(sink.at, i * RANGE_SIZE);
		assert_false(sink.wrong);
	}
	faulty.bad_from = UINT64_MAX;
	sink.stop_at = 3 * RANGE_SIZE;
	fail_times(0, FAULT_TRANSIENT);
	assert_fault(get(0, faulty.size, &sink), FAULT_CANCELLED, "stopped");
	assert_int_equal(sink.at, 3 * RANGE_SIZE);
	assert_true(faulty.calls < 20);
	sink.stop_at = 0;
}

/* Pauses do not hold up the end. */
static void test_ranges_cancelled(void **state)
{
	struct sink sink = {.stop_at = 1};
	int64_t before = now_ms();

	(void)state;
	faulty.size = 20 * RANGE_SIZE;
	faulty.bytes = make_bytes(faulty.size);
	settings.parallel = 4;
	settings.retries = 50;
	faulty.retry_after_ms = 60000;
	faulty.spared = true;
	fail_times(1000, FAULT_TRANSIENT);
	assert_fault(get(0, faulty.size, &sink), FAULT_CANCELLED, "stopped");
	assert_true(now_ms() - before < 10000);
}

/* ---- uploads --------------------------------------------------------------------------------- */

static void test_put_progress(void **state)
{
	uint64_t progress = 0;

	(void)state;
	/* Attempts that come to the same point come no further. */
	faulty.yields = 5000;
	fail_times(3, FAULT_TRANSIENT);
	assert_good(put(10000, &progress));
	assert_int_equal(faulty.calls, 4);
	assert_int_equal(progress, 10000);
	progress = 0;
	fail_times(100, FAULT_TRANSIENT);
	assert_fault(put(10000, &progress), FAULT_TRANSIENT, "so it was told (tried");
	assert_int_equal(faulty.calls, 4);
	assert_int_equal(progress, 5000);
}

static void test_put_of_failed_feed(void **state)
{
	struct feed *feed = feed_new(-1, 100);

	(void)state;
	feed_fail(feed);
	assert_fault(store_put(store, OID, feed, NULL, NULL, &fault), FAULT_CANCELLED, "feed");
	assert_int_equal(faulty.calls, 1);
	feed_free(feed);
}

static void assert_parts(uint64_t limit, uint64_t size, unsigned parallel)
{
	struct feed *feed = feed_new(-1, limit);

	feed_finish(feed);
	faulty.calls = 0;
	assert_good(store_put(store, OID, feed, NULL, NULL, &fault));
	assert_int_equal(faulty.upload.part_size, size);
	assert_int_equal(faulty.upload.parallel, parallel);
	assert_true(limit / size + (limit % size != 0) <= 10000);
	feed_free(feed);
}

static void test_parts(void **state)
{
	const uint64_t mib = 1 << 20;

	(void)state;
	settings.parallel = 16;
	assert_parts(0, 8 * mib, 16);
	assert_parts(80000 * mib, 8 * mib, 16);
	assert_parts(80000 * mib + 1, 9 * mib, 14);
	assert_parts(UINT64_C(1) << 40, 105 * mib, 1);
	assert_parts(UINT64_C(5) << 40, 525 * mib, 1);
	settings.parallel = 3;
	assert_parts(1, 8 * mib, 3);
	/* The settings say how large, as far as there are not too many then. */
	settings.part_size = mib / 4;
	assert_parts(100 * mib, mib / 4, 3);
	assert_parts(10000 * mib, mib, 3);
	settings.part_size = 100 * mib;
	assert_parts(1, 100 * mib, 1);
}

/* ---- listing --------------------------------------------------------------------------------- */

static int note(void *ctx, const struct store_entry *entry)
{
	char *text = ctx;
	size_t len = strlen(text);

	assert_int_equal(entry->modified, -(int64_t)entry->size);
	assert_true(!entry->oid || strcmp(entry->oid, entry->key + 8) == 0);
	snprintf(text + len, 1000 - len, "%s%" PRIu64 " ", entry->oid ? "" : "t", entry->size);
	return strcmp(entry->key, "tmp/3") == 0;
}

static void test_list(void **state)
{
	char text[1000] = "";

	(void)state;
	faulty.yields = 4;
	fail_times(2, FAULT_TRANSIENT);
	assert_good(store_each(store, false, note, text, &fault));
	assert_string_equal(text, "0 1 2 3 4 5 6 7 8 9 ");
	*text = 0;
	fail_times(100, FAULT_TRANSIENT);
	assert_fault(store_each(store, false, note, text, &fault), FAULT_TRANSIENT, "told");
	assert_string_equal(text, "");
	fail_times(0, FAULT_TRANSIENT);
	assert_fault(store_each(store, true, note, text, &fault), FAULT_CANCELLED, "stopped");
	assert_string_equal(text, "0 1 2 3 4 5 6 7 8 9 t0 t1 t2 t3 ");
}

#define DIRECTORY_TEST(function) cmocka_unit_test_setup_teardown(function, enter_directory, leave)
#define FAULTY_TEST(function)    cmocka_unit_test_setup_teardown(function, enter_faulty, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIRECTORY_TEST(test_directory),
		DIRECTORY_TEST(test_no_description),
		DIRECTORY_TEST(test_descriptions),
		FAULTY_TEST(test_retries),
		FAULTY_TEST(test_permanent),
		FAULTY_TEST(test_unreached),
		FAULTY_TEST(test_create),
		FAULTY_TEST(test_create_fails),
		FAULTY_TEST(test_pauses),
		FAULTY_TEST(test_read_progress),
		FAULTY_TEST(test_read_wrong_length),
		FAULTY_TEST(test_ranges),
		FAULTY_TEST(test_ranges_fail),
		FAULTY_TEST(test_ranges_cancelled),
		FAULTY_TEST(test_put_progress),
		FAULTY_TEST(test_put_of_failed_feed),
		FAULTY_TEST(test_parts),
		FAULTY_TEST(test_list),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	free(faulty.bytes);
	return rc;
}
