/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line: its words, and when it is shown, with a clock that the tests turn. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "filter/cli/progress.h"
#include "filter/cli/progress_text.h"
#include "filter/cli/report.h"

/* ---- words ----------------------------------------------------------------------------------- */

static void expect_short(const char *text, size_t columns, const char *expected)
{
	char out[256];

	progress_text_shorten(out, sizeof(out), text, columns);
	assert_string_equal(out, expected);
	assert_true(progress_text_columns(out) <= columns);
}

static void test_shorten(void **state)
{
	char out[12];

	(void)state;
	expect_short("model.safetensors", 17, "model.safetensors");
	expect_short("model.safetensors", 16, "model...etensors");
	expect_short("model-00003-of-00017.safetensors", 20, "model-...safetensors");
	expect_short("model", 3, "mod");
	expect_short("model", 0, "");
	expect_short("", 10, "");
	/* Characters stay whole; wide ones take two columns. */
	expect_short("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f.bin", 7, "\xc3\xa4...bin");
	assert_int_equal(progress_text_columns("\xe6\xa8\xa1\xe5\x9e\x8b.bin"), 8);
	expect_short("\xe6\xa8\xa1\xe5\x9e\x8b\xe6\xa8\xa1\xe5\x9e\x8b", 7, "...\xe5\x9e\x8b");
	/* No more bytes than there are. */
	progress_text_shorten(out, sizeof(out), "model.safetensors", 100);
	assert_string_equal(out, "mod...nsors");
}

static void test_duration(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal(progress_text_duration(0, out, sizeof(out)), "0 s");
	assert_string_equal(progress_text_duration(59, out, sizeof(out)), "59 s");
	assert_string_equal(progress_text_duration(60, out, sizeof(out)), "1 min 00 s");
	assert_string_equal(progress_text_duration(302, out, sizeof(out)), "5 min 02 s");
	assert_string_equal(progress_text_duration(3599, out, sizeof(out)), "59 min 59 s");
	assert_string_equal(progress_text_duration(3600, out, sizeof(out)), "1 h 00 min");
	assert_string_equal(progress_text_duration(11220, out, sizeof(out)), "3 h 07 min");
}

static void expect_line(const struct progress_facts *facts, size_t columns, const char *expected)
{
	char out[PROGRESS_TEXT_SIZE];

	progress_text(out, facts, columns);
	assert_string_equal(out, expected);
	assert_true(progress_text_columns(out) <= columns);
}

static void test_line(void **state)
{
	struct progress_facts facts = {.what = "compressing",
				       .name = "weights/model-00001-of-00002.safetensors",
				       .done = 1200000000,
				       .total = 4300000000,
				       .rate = 500000000,
				       .original = 1000,
				       .stored = 660,
				       .is_estimate = true};

	(void)state;
	expect_line(&facts, 200,
		    "compressing weights/model-00001-of-00002.safetensors: 1.2 of 4.3 GB, "
		    "500.0 MB/s, 34 % saved, 7 s left");
	/* The name gives way first, then the share, the rate, and the time. */
	expect_line(&facts, 90,
		    "compressing weights/mo...0002.safetensors: 1.2 of 4.3 GB, 500.0 MB/s, "
		    "34 % saved, 7 s left");
	expect_line(&facts, 76,
		    "compressing weig...etensors: 1.2 of 4.3 GB, 500.0 MB/s, 34 % saved, 7 s left");
	expect_line(&facts, 74,
		    "compressing weights/...02.safetensors: 1.2 of 4.3 GB, 500.0 MB/s, 7 s left");
	expect_line(&facts, 60, "compressing weights/....safetensors: 1.2 of 4.3 GB, 7 s left");
	expect_line(&facts, 50, "compressing weights/....safetensors: 1.2 of 4.3 GB");
	expect_line(&facts, 31, "compressing ...s: 1.2 of 4.3 GB");
	expect_line(&facts, 10, "co....3 GB");
	expect_line(&facts, 1, "c");
}

static void test_what_is_unknown(void **state)
{
	struct progress_facts facts = {.what = "reading", .name = "x", .done = 5};

	(void)state;
	expect_line(&facts, 80, "reading x: 5 B");
	facts.rate = 1234567;
	expect_line(&facts, 80, "reading x: 5 B, 1.2 MB/s");
	facts.total = 4; /* the file has grown */
	expect_line(&facts, 80, "reading x: 5 B, 1.2 MB/s");
	facts.total = 5;
	expect_line(&facts, 80, "reading x: 5 of 5 B, 1.2 MB/s");
	facts.original = 1000;
	facts.stored = 1010;
	facts.number = 2;
	facts.count = 3;
	expect_line(&facts, 80, "reading x (2 of 3): 5 of 5 B, 1.2 MB/s, 1.0 % more");
	facts.is_estimate = true;
	facts.name = "";
	facts.count = 1;
	expect_line(&facts, 80, "reading: 5 of 5 B, 1.2 MB/s, 1 % more");
	facts.done = facts.total = UINT64_MAX;
	facts.rate = UINT64_MAX;
	facts.original = UINT64_MAX;
	facts.stored = 0;
	expect_line(&facts, 100, "reading: 18446.7 of 18446.7 PB, 18446.7 PB/s, 100 % saved");
}

/* ---- when it is shown ------------------------------------------------------------------------ */

static uint64_t clock_ms;

static uint64_t test_clock(void)
{
	return clock_ms;
}

/* stderr while a test runs, and where it can be read. */
static int saved_stderr = -1;
static int reading = -1;

static void redirect(int fd)
{
	fflush(stderr);
	saved_stderr = dup(STDERR_FILENO);
	assert_true(saved_stderr >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	close(fd);
}

static void into_file(void)
{
	char path[] = "/tmp/brevis-progress-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	reading = open(path, O_RDONLY);
	unlink(path);
	redirect(fd);
}

static void into_terminal(unsigned short columns)
{
	struct winsize size = {.ws_row = 24, .ws_col = columns};
	int fd;

	reading = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	assert_true(reading >= 0 && grantpt(reading) == 0 && unlockpt(reading) == 0);
	fd = open(ptsname(reading), O_RDWR | O_NOCTTY);
	assert_true(fd >= 0 && ioctl(fd, TIOCSWINSZ, &size) == 0);
	redirect(fd);
}

/* What came since the last call. */
static const char *shown(void)
{
	static char text[4096];
	ssize_t n = read(reading, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static int setup(void **state)
{
	static const struct progress_choice none;

	(void)state;
	unsetenv("GIT_BREVIS_PROGRESS");
	unsetenv("GIT_LFS_FORCE_PROGRESS");
	unsetenv("GIT_PROGRESS_DELAY");
	setenv("TERM", "xterm", 1);
	progress_choose(&none);
	progress_force(false);
	clock_ms = 5000;
	progress_clock = test_clock;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (saved_stderr >= 0) {
		dup2(saved_stderr, STDERR_FILENO);
		close(saved_stderr);
		close(reading);
	}
	saved_stderr = -1;
	return 0;
}

static void later(struct progress *p, uint64_t ms, uint64_t bytes)
{
	clock_ms += ms;
	progress_add(p, bytes);
}

static void test_no_terminal(void **state)
{
	struct progress p;

	(void)state;
	into_file();
	assert_false(progress_is_wanted());
	progress_begin(&p, "reading", "x", 0);
	later(&p, 10000, 1);
	progress_step(&p, "checking");
	progress_end(&p);
	assert_string_equal(shown(), "");
}

/* One line a second, and one for what came after the last of them. */
static void test_forced(void **state)
{
	struct progress p;

	(void)state;
	setenv("GIT_BREVIS_PROGRESS", "1", 1);
	into_file();
	assert_true(progress_is_wanted());
	progress_begin(&p, "reading", "a\tb", 40000000);
	later(&p, 999, 5000000);
	assert_string_equal(shown(), "");
	later(&p, 1, 5000000);
	assert_string_equal(shown(), "reading a\\x09b: 10.0 of 40.0 MB, 10.0 MB/s, 3 s left\n");
	later(&p, 999, 5000000);
	assert_string_equal(shown(), "");
	later(&p, 1, 5000000);
	assert_string_equal(shown(), "reading a\\x09b: 20.0 of 40.0 MB, 10.0 MB/s, 2 s left\n");
	progress_file(&p, "c", 2, 2);
	later(&p, 500, 10000000);
	assert_string_equal(shown(), "");
	progress_end(&p);
	assert_string_equal(shown(), "reading c (2 of 2): 30.0 of 40.0 MB, 12.0 MB/s, 1 s left\n");
	progress_end(&p);
	assert_string_equal(shown(), "");
}

static void test_who_decides(void **state)
{
	static const struct progress_choice on = {.on = true};
	static const struct progress_choice off = {.off = true};
	static const struct progress_choice both = {true, true};

	(void)state;
	into_file();
	progress_force(true);
	assert_true(progress_is_wanted());
	setenv("GIT_BREVIS_PROGRESS", "no", 1);
	progress_force(true);
	assert_false(progress_is_wanted());
	progress_choose(&on);
	assert_true(progress_is_wanted());
	setenv("GIT_BREVIS_PROGRESS", "1", 1);
	progress_choose(&off);
	assert_false(progress_is_wanted());
	progress_choose(&both);
	assert_false(progress_is_wanted());
	progress_force(false);
	unsetenv("GIT_BREVIS_PROGRESS");
	setenv("GIT_LFS_FORCE_PROGRESS", "true", 1);
	progress_choose(&(struct progress_choice){.on = false});
	assert_true(progress_is_wanted());
}

static void test_terminal(void **state)
{
	struct progress p;

	(void)state;
	into_terminal(56);
	progress_begin(&p, "reading", "model.safetensors", 40000000);
	later(&p, 999, 10000000);
	assert_string_equal(shown(), "");
	later(&p, 1, 0);
	assert_string_equal(shown(),
			    "\r\033[Kreading model.safetensors: 10.0 of 40.0 MB, 3 s left");
	/* At most five lines a second. */
	later(&p, 199, 1);
	assert_string_equal(shown(), "");
	later(&p, 1, 1);
	assert_non_null(strstr(shown(), "\r\033[Kreading "));
	/* It makes room for what is reported, and comes back. */
	report_note("something");
	assert_string_equal(shown(), "\r\033[Kgit-brevis: note: something\r\n");
	report_note("more");
	assert_string_equal(shown(), "git-brevis: note: more\r\n");
	later(&p, 200, 1);
	assert_non_null(strstr(shown(), "\r\033[Kreading "));
	progress_end(&p);
	assert_string_equal(shown(), "\r\033[K");
	progress_end(&p);
	assert_string_equal(shown(), "");
}

/* The width is that of the moment. */
static void test_resized(void **state)
{
	struct winsize size = {.ws_row = 24, .ws_col = 30};
	struct progress p;

	(void)state;
	into_terminal(200);
	progress_begin(&p, "reading", "a-long-name-of-a-model.safetensors", 0);
	later(&p, 1000, 1000000);
	assert_string_equal(shown(),
			    "\r\033[Kreading a-long-name-of-a-model.safetensors: 1.0 MB, 1.0 MB/s");
	assert_int_equal(ioctl(reading, TIOCSWINSZ, &size), 0);
	later(&p, 1000, 1000000);
	assert_string_equal(shown(), "\r\033[Kreading a-lo...ensors: 2.0 MB");
	progress_end(&p);
	assert_string_equal(shown(), "\r\033[K");
}

static void test_dumb_terminal(void **state)
{
	(void)state;
	into_terminal(80);
	setenv("TERM", "dumb", 1);
	assert_false(progress_is_wanted());
}

/* Work within work is not shown, and what comes after it is. */
static void test_one_line(void **state)
{
	struct progress outer;
	struct progress inner;

	(void)state;
	setenv("GIT_BREVIS_PROGRESS", "1", 1);
	setenv("GIT_PROGRESS_DELAY", "0", 1);
	into_file();
	progress_begin(&outer, "restoring", "all", 0);
	progress_begin(&inner, "reading", "one", 0);
	later(&inner, 5000, 1);
	progress_step(&inner, "checking");
	progress_end(&inner);
	assert_string_equal(shown(), "");
	later(&outer, 1000, 6000000);
	assert_string_equal(shown(), "restoring all: 6.0 MB, 1.0 MB/s\n");
	progress_end(&outer);
	progress_begin(&inner, "reading", "two", 0);
	later(&inner, 2000, 1000000);
	assert_string_equal(shown(), "reading two: 1.0 MB, 500.0 KB/s\n");
	progress_end(&inner);
	assert_string_equal(shown(), "");
}

/* The encoder holds back 50 MB of what it is given: the estimate waits until that matters little,
 * and does not see it. */
static void test_share(void **state)
{
	const uint64_t held = 50000000;
	struct progress p;

	(void)state;
	setenv("GIT_BREVIS_PROGRESS", "1", 1);
	into_file();
	progress_begin(&p, "compressing", "x", 0);
	later(&p, 1000, held);
	assert_null(strstr(shown(), "saved"));
	for (int i = 1; i <= 30; i++) {
		progress_stored(&p, 6600000);
		later(&p, 1000, 10000000);
		if (i == 20)
			assert_null(strstr(shown(), "saved"));
	}
	assert_non_null(strstr(shown(), ", 34 % saved\n"));
	progress_share(&p, 1000000, 655000);
	progress_step(&p, "checking");
	assert_string_equal(shown(), "checking x: 350.0 MB, 10.0 MB/s, 34.5 % saved\n");
	progress_end(&p);
}

/* The rate is that of the last moments, not of all the time. */
static void test_rate(void **state)
{
	struct progress p;

	(void)state;
	setenv("GIT_BREVIS_PROGRESS", "1", 1);
	into_file();
	progress_begin(&p, "reading", "x", 0);
	for (int i = 0; i < 2 * PROGRESS_SAMPLES; i++)
		later(&p, 1000, 1000000);
	shown();
	for (int i = 0; i < PROGRESS_SAMPLES - 1; i++)
		later(&p, 1000, 3000000);
	shown();
	later(&p, 1000, 3000000);
	assert_non_null(strstr(shown(), ", 3.0 MB/s\n"));
	progress_end(&p);
}

static int read_at(void *ctx, void *buf, size_t len, uint64_t offset)
{
	memset(buf, *(const char *)ctx, len);
	return offset < 100 ? 0 : -1;
}

static void test_counting(void **state)
{
	char fill = 'x';
	struct brevis_source inner = {read_at, &fill, 100, NULL};
	struct progress p;
	struct progress_source counted = {&p, &inner};
	struct brevis_source source = progress_source(&counted);
	char bytes[10];

	(void)state;
	setenv("GIT_BREVIS_PROGRESS", "1", 1);
	into_file();
	progress_begin(&p, "hashing", "x", source.size);
	assert_int_equal(source.size, 100);
	assert_int_equal(source.read_at(source.ctx, bytes, sizeof(bytes), 90), 0);
	assert_memory_equal(bytes, "xxxxxxxxxx", 10);
	assert_int_equal(source.read_at(source.ctx, bytes, sizeof(bytes), 100), -1);
	assert_int_equal(progress_write(&p, bytes, 7), 0);
	clock_ms += 1000;
	progress_add(&p, 0);
	assert_string_equal(shown(), "hashing x: 17 of 100 B, 17 B/s, 5 s left\n");
	progress_end(&p);
}

/* What has not begun takes everything. */
static void test_not_begun(void **state)
{
	struct progress p = {.is_shown = false};

	(void)state;
	setenv("GIT_BREVIS_PROGRESS", "1", 1);
	setenv("GIT_PROGRESS_DELAY", "0", 1);
	into_file();
	later(&p, 10000, 1);
	progress_stored(&p, 1);
	progress_share(&p, 1, 1);
	progress_file(&p, "x", 1, 1);
	progress_number(&p, 1);
	progress_step(&p, "checking");
	progress_end(&p);
	assert_string_equal(shown(), "");
}

#define SHOWN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shorten),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_what_is_unknown),
		SHOWN(test_no_terminal),
		SHOWN(test_forced),
		SHOWN(test_who_decides),
		SHOWN(test_terminal),
		SHOWN(test_resized),
		SHOWN(test_dumb_terminal),
		SHOWN(test_one_line),
		SHOWN(test_share),
		SHOWN(test_rate),
		SHOWN(test_counting),
		SHOWN(test_not_begun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
