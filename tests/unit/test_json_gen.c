/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "filter/cli/json_gen.h"

#define DEEP 100

static void put(yajl_gen gen, const char *text)
{
	assert_int_equal(yajl_gen_string(gen, (const unsigned char *)text, strlen(text)),
			 yajl_gen_status_ok);
}

/* Whatever is written, yajl takes no more than when it began. */
static void test_room(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct json_gen json;
	size_t used;

	(void)state;
	json_gen_begin(&json, &text);
	used = json.used;
	assert_in_range(used, 1, JSON_GEN_ROOM * 3 / 4);
	for (int i = 0; i < DEEP; i++) {
		assert_int_equal(yajl_gen_map_open(json.gen), yajl_gen_status_ok);
		put(json.gen, "a \"key\"\n");
	}
	yajl_gen_null(json.gen);
	for (int i = 0; i < DEEP; i++)
		assert_int_equal(yajl_gen_map_close(json.gen), yajl_gen_status_ok);
	assert_int_equal(json.used, used);
	json_gen_end(&json);
	assert_int_equal(text.size, DEEP * strlen("{\"a \\\"key\\\"\\n\":}") + strlen("null"));
	assert_memory_equal(text.data, "{\"a \\\"key\\\"\\n\":{", 16);
	buffer_release(&text);
}

/* It is the buffer that knows whether memory was short, and what was there stays. */
static void test_buffer(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct json_gen json;

	(void)state;
	buffer_u8(&text, '>');
	json_gen_begin(&json, &text);
	yajl_gen_array_open(json.gen);
	yajl_gen_bool(json.gen, 1);
	yajl_gen_array_close(json.gen);
	json_gen_end(&json);
	assert_int_equal(text.size, 7);
	assert_memory_equal(text.data, ">[true]", 7);
	buffer_release(&text);

	json_gen_begin(&json, &text);
	text.failed = true;
	yajl_gen_array_open(json.gen);
	yajl_gen_array_close(json.gen);
	json_gen_end(&json);
	assert_true(buffer_failed(&text));
	assert_int_equal(text.size, 0);
	buffer_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
