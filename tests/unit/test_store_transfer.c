/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to stores and comes from them, over a driver that fails: each byte once, in order. */
#include "filter/remote/store_private.h"

#include <inttypes.h>

#include "tests/unit/store_cases.h"

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
	int64_t before;

	(void)state;
	faulty.size = 20 * RANGE_SIZE;
	faulty.bytes = make_bytes(faulty.size);
	settings.parallel = 4;
	settings.retries = 50;
	faulty.retry_after_ms = 60000;
	faulty.spared = true;
	fail_times(1000, FAULT_TRANSIENT);
	before = now_ms();
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
	assert_true(!entry->oid || strcmp(entry->oid, strrchr(entry->key, '/') + 1) == 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
