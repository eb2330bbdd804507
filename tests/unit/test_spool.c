/* SPDX-License-Identifier: Apache-2.0 */
/* Spools and sources: bytes come back as they went in, from memory and from a file, wherever that
 * can be, and failures on either side are told apart. */
#include "filter/convert/spool.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "filter/stream.h"

struct fixture {
	char dir[64];
	struct object_store *store;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/brevis-unit-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	f->store = object_store_new(f->dir);
	*state = f;
	return f->store ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	unsetenv("TMPDIR");
	object_store_free(f->store);
	snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
	free(f);
	return system(command);
}

/* Bytes that differ from place to place. */
static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 31 + (i >> 8) * 7 + (i >> 16));
}

/* A brevis_write_fn that checks what comes against byte_at. */
static int expect(void *ctx, const void *data, size_t len)
{
	size_t *at = ctx;
	const uint8_t *bytes = data;
	size_t i;

	for (i = 0; i < len; i++)
		assert_int_equal(bytes[i], byte_at((*at)++));
	return 0;
}

/* Fills a spool with size bytes in pieces. Returns the result of the last write. */
static int fill(struct spool *spool, size_t size)
{
	uint8_t piece[7001];
	size_t at = 0;
	int result = 0;

	while (at < size && result == 0) {
		size_t len = size - at < sizeof(piece) ? size - at : sizeof(piece);
		size_t i;

		for (i = 0; i < len; i++)
			piece[i] = byte_at(at + i);
		result = spool_write(spool, piece, len);
		at += len;
	}
	return result;
}

static void check_spool(const struct object_store *store, size_t size)
{
	struct spool *spool = spool_new(store);
	struct brevis_source source;
	uint8_t one;
	size_t at = 0;

	assert_non_null(spool);
	assert_int_equal(fill(spool, size), 0);
	assert_null(spool_failure(spool));
	assert_int_equal(spool_size(spool), size);
	assert_int_equal(spool_copy(spool, expect, &at), 0);
	assert_int_equal(at, size);
	source = spool_source(spool);
	assert_int_equal(source.read_at(source.ctx, &one, 1, size - 1), 0);
	assert_int_equal(one, byte_at(size - 1));
	assert_int_not_equal(source.read_at(source.ctx, &one, 1, size), 0);
	spool_free(spool);
}

static void test_sizes(void **state)
{
	struct fixture *f = *state;

	check_spool(NULL, 1);
	check_spool(NULL, SPOOL_MEMORY);
	check_spool(NULL, SPOOL_MEMORY + 1);
	check_spool(f->store, SPOOL_MEMORY);
	check_spool(f->store, 3 * SPOOL_MEMORY + 5);
}

static void test_no_tmpdir(void **state)
{
	struct fixture *f = *state;
	struct spool *spool;

	setenv("TMPDIR", "/nonexistent", 1);
	check_spool(f->store, 2 * SPOOL_MEMORY);
	check_spool(NULL, SPOOL_MEMORY);
	spool = spool_new(NULL);
	assert_int_not_equal(fill(spool, 2 * SPOOL_MEMORY), 0);
	assert_non_null(strstr(spool_failure(spool), "/nonexistent"));
	assert_int_not_equal(spool_write(spool, "x", 1), 0); /* it sticks */
	spool_free(spool);
}

static void test_no_store(void **state)
{
	struct object_store *nowhere = object_store_new("/dev/null/lfs");

	(void)state;
	check_spool(nowhere, 2 * SPOOL_MEMORY);
	object_store_free(nowhere);
}

static int refuse(void *ctx, const void *data, size_t len)
{
	(void)ctx;
	(void)data;
	(void)len;
	return -1;
}

static int no_read(void *ctx, void *buf, size_t len, uint64_t offset)
{
	(void)ctx;
	(void)buf;
	(void)len;
	(void)offset;
	errno = EIO;
	return -1;
}

static void test_sources(void **state)
{
	static const uint8_t abc[] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea};
	struct brevis_source broken = {.read_at = no_read, .size = 3};
	uint8_t digest[BREVIS_SHA256_SIZE];
	struct spool *spool = spool_new(NULL);
	struct brevis_source source;
	size_t at = 0;

	(void)state;
	assert_int_equal(spool_write(spool, "abc", 3), 0);
	source = spool_source(spool);
	assert_int_equal(source_digest(&source, digest), 0);
	assert_memory_equal(digest, abc, sizeof(abc));
	assert_int_equal(source_copy(&source, 3, refuse, NULL), 1);
	assert_int_equal(source_copy(&source, 0, refuse, NULL), 0);
	assert_int_equal(source_copy(&broken, 3, expect, &at), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(source_digest(&broken, digest), -1);
	spool_free(spool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_tmpdir, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_store, set_up, tear_down),
		cmocka_unit_test(test_sources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
