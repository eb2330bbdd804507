/* SPDX-License-Identifier: Apache-2.0 */
/* Stores over a directory, what describes them, and how often what fails is tried again. */
#include "filter/remote/store_private.h"

#include "tests/unit/store_cases.h"

static int enter_directory(void **state)
{
	if (enter(state) != 0)
		return -1;
	assert_good(location_parse("store", sandbox_path, &location, &fault));
	assert_good(store_open(&location, &settings, &store, &fault));
	return 0;
}

/* ---- a directory ----------------------------------------------------------------------------- */

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

#define DIRECTORY_TEST(function) cmocka_unit_test_setup_teardown(function, enter_directory, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIRECTORY_TEST(test_directory),    DIRECTORY_TEST(test_no_description),
		DIRECTORY_TEST(test_descriptions), FAULTY_TEST(test_retries),
		FAULTY_TEST(test_permanent),       FAULTY_TEST(test_unreached),
		FAULTY_TEST(test_create),          FAULTY_TEST(test_create_fails),
		FAULTY_TEST(test_pauses),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	free(faulty.bytes);
	return rc;
}
