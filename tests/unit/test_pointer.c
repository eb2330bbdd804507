/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers: what git-lfs takes for one, and what it does not. */
#include "filter/objects/pointer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#define AB8         "abababab"
#define OID         AB8 AB8 AB8 AB8 AB8 AB8 AB8 AB8
#define VERSION     "version https://git-lfs.github.com/spec/v1\n"
#define OID_LINE    "oid sha256:" OID "\n"
#define EXT_LINE(N) "ext-" N " sha256:" OID "\n"

struct example {
	const char *what;
	const char *text;
};

static bool is_pointer(const char *text, struct pointer *out)
{
	return pointer_parse(text, strlen(text), out);
}

static void test_accepts(void **state)
{
	static const struct example good[] = {
		{"canonical", VERSION OID_LINE "size 12\n"},
		{"CRLF",
		 "version https://git-lfs.github.com/spec/v1\r\noid sha256:" OID "\r\nsize 12\r\n"},
		{"no final newline", VERSION OID_LINE "size 12"},
		{"space before", "\n \t" VERSION OID_LINE "size 12\n"},
		{"space behind", VERSION OID_LINE "size 12 \n\n\f"},
		{"empty lines", VERSION "\n" OID_LINE "\r\n\nsize 12\n"},
		{"older version", "version http://git-media.io/v/2\n" OID_LINE "size 12\n"},
		{"old name", "version https://hawser.github.com/spec/v1\n" OID_LINE "size 12\n"},
		{"extension", VERSION EXT_LINE("0-foo") OID_LINE "size 12\n"},
		{"extensions", VERSION EXT_LINE("1-b") EXT_LINE("0-a.x") OID_LINE "size 12\n"},
		{"extension after oid", VERSION OID_LINE EXT_LINE("9-_") "size 12\n"},
		{"plus sign", VERSION OID_LINE "size +12\n"},
		{"leading zeros", VERSION OID_LINE "size 0000000000000000000000012\n"},
	};
	struct pointer pointer;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		memset(&pointer, 0, sizeof(pointer));
		if (!is_pointer(good[i].text, &pointer))
			fail_msg("refused: %s", good[i].what);
		assert_string_equal(pointer.oid, OID);
		assert_int_equal(pointer.size, 12);
		assert_true(is_pointer(good[i].text, NULL));
	}
}

static void test_refuses(void **state)
{
	static const struct example bad[] = {
		{"nothing", ""},
		{"white space", " \n\n"},
		{"one word", "version\n"},
		{"no version", OID_LINE "size 12\n"},
		{"unknown version",
		 "version https://git-lfs.github.com/spec/v2\n" OID_LINE "size 12\n"},
		{"version with a space behind",
		 "version https://git-lfs.github.com/spec/v1 \n" OID_LINE "size 12\n"},
		{"other order", VERSION "size 12\n" OID_LINE},
		{"no oid", VERSION "size 12\n"},
		{"no size", VERSION OID_LINE},
		{"another hash", VERSION "oid md5:" OID "\nsize 12\n"},
		{"upper-case hex",
		 VERSION "oid sha256:ABABABAB" AB8 AB8 AB8 AB8 AB8 AB8 AB8 "\nsize 12\n"},
		{"no hex",
		 VERSION "oid sha256:../../../" AB8 AB8 AB8 AB8 AB8 AB8 "abababa\nsize 12\n"},
		{"long oid", VERSION "oid sha256:" OID "ab\nsize 12\n"},
		{"short oid", VERSION "oid sha256:" AB8 "\nsize 12\n"},
		{"oid with a space behind", VERSION "oid sha256:" OID " \nsize 12\n"},
		{"negative size", VERSION OID_LINE "size -1\n"},
		{"size over 2^63 - 1", VERSION OID_LINE "size 9223372036854775808\n"},
		{"size over 2^64", VERSION OID_LINE "size 18446744073709551628\n"},
		{"size with a point", VERSION OID_LINE "size 1.2\n"},
		{"no digits", VERSION OID_LINE "size +\n"},
		{"two spaces", VERSION OID_LINE "size  12\n"},
		{"extra line", VERSION OID_LINE "size 12\nfoo bar\n"},
		{"extension at the end", VERSION OID_LINE "size 12\n" EXT_LINE("0-a")},
		{"extension twice", VERSION EXT_LINE("0-a") EXT_LINE("0-b") OID_LINE "size 12\n"},
		{"extension of two digits", VERSION EXT_LINE("10-a") OID_LINE "size 12\n"},
		{"extension without a name", VERSION EXT_LINE("0-") OID_LINE "size 12\n"},
		{"extension without an oid", VERSION "ext-0-a foo\n" OID_LINE "size 12\n"},
		{"a conflict", "<<<<<<< HEAD\n" VERSION OID_LINE "size 12\n"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (is_pointer(bad[i].text, NULL))
			fail_msg("taken for a pointer: %s", bad[i].what);
	}
}

static void test_size_limit(void **state)
{
	static const char text[] = VERSION OID_LINE "size 12\n";
	char padded[POINTER_SIZE_LIMIT];

	(void)state;
	memset(padded, ' ', sizeof(padded));
	memcpy(padded, text, sizeof(text) - 1);
	assert_true(pointer_parse(padded, POINTER_SIZE_LIMIT - 1, NULL));
	assert_false(pointer_parse(padded, POINTER_SIZE_LIMIT, NULL));
}

static void test_largest_size(void **state)
{
	struct pointer pointer;

	(void)state;
	assert_true(is_pointer(VERSION OID_LINE "size 9223372036854775807\n", &pointer));
	assert_true(pointer.size == INT64_MAX);
	assert_true(is_pointer(VERSION OID_LINE "size 0\n", &pointer));
	assert_true(pointer.size == 0);
}

static void test_nul_is_no_text(void **state)
{
	static const char text[] = VERSION OID_LINE "size 12\0\n";

	(void)state;
	assert_false(pointer_parse(text, sizeof(text) - 1, NULL));
}

static void test_format(void **state)
{
	struct pointer pointer = {.oid = OID, .size = 12};
	struct pointer back;
	char text[POINTER_TEXT_SIZE];
	size_t len;

	(void)state;
	len = pointer_format(&pointer, text);
	assert_int_equal(len, strlen(text));
	assert_string_equal(text, VERSION OID_LINE "size 12\n");
	pointer.size = UINT64_MAX;
	assert_true(pointer_format(&pointer, text) < POINTER_TEXT_SIZE);
	pointer.size = INT64_MAX;
	len = pointer_format(&pointer, text);
	assert_true(pointer_parse(text, len, &back));
	assert_true(pointer_equal(&pointer, &back));
	back.size--;
	assert_false(pointer_equal(&pointer, &back));
	back = pointer;
	back.oid[63] = '0';
	assert_false(pointer_equal(&pointer, &back));
}

static void test_digest(void **state)
{
	uint8_t digest[BREVIS_SHA256_SIZE];
	struct pointer pointer = {.size = 1};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(digest); i++)
		digest[i] = (uint8_t)(i * 9);
	pointer_set_oid(&pointer, digest);
	assert_string_equal(pointer.oid, "0009121b242d363f48515a636c757e87"
					 "9099a2abb4bdc6cfd8e1eaf3fc050e17");
}

/* Whatever is changed in a pointer, parsing it must neither crash nor read past its end (the text
 * lies at the end of an allocation, where the sanitizer watches). */
static void test_mutations(void **state)
{
	static const char text[] = VERSION EXT_LINE("0-a") OID_LINE "size 12\n";
	const char *given = getenv("BREVIS_TEST_SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
	int round;

	(void)state;
	print_message("seed %u\n", seed);
	srandom(seed);
	for (round = 0; round < 20000; round++) {
		size_t len = sizeof(text) - 1 - (size_t)random() % 3 * ((size_t)random() % 100);
		char *copy = malloc(len);
		struct pointer pointer;
		int changes = (int)(random() % 4);

		assert_non_null(copy);
		memcpy(copy, text, len);
		while (changes--)
			copy[(size_t)random() % len] = (char)random();
		if (pointer_parse(copy, len, &pointer))
			assert_int_equal(strspn(pointer.oid, "0123456789abcdef"), OID_HEX_SIZE);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepts),        cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_size_limit),     cmocka_unit_test(test_largest_size),
		cmocka_unit_test(test_nul_is_no_text), cmocka_unit_test(test_format),
		cmocka_unit_test(test_digest),         cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
