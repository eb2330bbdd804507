/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent keeps and tells: begun downloads for a week, a log of bounded size, progress. */
#include "filter/agent/incoming.h"
#include "filter/agent/meter.h"
#include "filter/agent/transfer_log.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/sandbox.h"

static void test_sweep(void **state)
{
	struct timespec old[2] = {{.tv_sec = time(NULL) - 8 * 86400}, {0}};

	(void)state;
	old[1] = old[0];
	incoming_sweep("lfs");
	sh("mkdir -p lfs/brevis/incoming");
	put_text("lfs/brevis/incoming/a.part", "a");
	put_text("lfs/brevis/incoming/b.part", "b");
	put_text("lfs/brevis/incoming/c", "c");
	assert_int_equal(utimensat(AT_FDCWD, "lfs/brevis/incoming/a.part", old, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, "lfs/brevis/incoming/c", old, 0), 0);
	incoming_sweep("lfs");
	assert_int_equal(access("lfs/brevis/incoming/a.part", F_OK), -1);
	assert_file("lfs/brevis/incoming/b.part", "b");
	assert_file("lfs/brevis/incoming/c", "c");
}

static void test_log(void **state)
{
	struct fault fault = {.kind = FAULT_DENIED, .cause = "no\nway", .remedy = "ask"};
	struct stat st;
	char *text;
	int i;

	(void)state;
	transfer_log_add("lfs", "upload", "file:///s: objects/x", &fault);
	text = get_text("lfs/brevis/transfer.log");
	assert_non_null(strstr(text, "] upload file:///s: objects/x: denied: no\\x0away; ask\n"));
	assert_ptr_equal(strchr(text, '\n') + 1, strchr(text, 0));
	free(text);
	/* It does not grow for ever. */
	memset(fault.remedy, 'x', sizeof(fault.remedy) - 1);
	for (i = 0; i < 6000; i++)
		transfer_log_add("lfs", "upload", "file:///s: objects/x", &fault);
	assert_int_equal(stat("lfs/brevis/transfer.log", &st), 0);
	assert_in_range(st.st_size, 1, TRANSFER_LOG_SIZE + 4096);
	assert_int_equal(stat("lfs/brevis/transfer.log.old", &st), 0);
	assert_in_range(st.st_size, 1, TRANSFER_LOG_SIZE + 4096);
	sh("test $(ls lfs/brevis | wc -l) = 2");
}

static void test_meter(void **state)
{
	struct pointer pointer = {.size = 1000};
	struct meter meter;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	memset(pointer.oid, 'a', OID_HEX_SIZE);
	meter_begin(&meter, out, &pointer);
	assert_non_null(strstr(text, "\"bytesSoFar\":1,\"bytesSinceLast\":1}\n"));
	/* At once again it is not told. */
	meter_show(&meter, 500);
	assert_int_equal(meter.told, 1);
	meter.next_ms = 0;
	meter_show(&meter, 500);
	meter.next_ms = 0;
	meter_show(&meter, 400);
	meter.next_ms = 0;
	meter_show(&meter, 5000);
	meter_finish(&meter);
	fclose(out);
	assert_non_null(strstr(text, "\"bytesSoFar\":500,\"bytesSinceLast\":499}\n"));
	assert_null(strstr(text, "400"));
	assert_non_null(strstr(text, "\"bytesSoFar\":1000,\"bytesSinceLast\":500}\n"));
	assert_null(strstr(text, "5000"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_sweep),
		SANDBOX_TEST(test_log),
		cmocka_unit_test(test_meter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
