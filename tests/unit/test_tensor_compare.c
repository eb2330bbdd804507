/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of tensors that differ: exact numbers for each type of elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "filter/diff/tensor_compare.h"

/* Both in one array of elements, as they lie in a file. */
static struct tensor_difference compare(const char *dtype, const void *before, const void *after,
					size_t len)
{
	struct tensor_difference found;
	struct tensor_compare c;

	tensor_compare_begin(&c, dtype);
	assert_int_equal(len % tensor_compare_width(&c), 0);
	tensor_compare_add(&c, before, after, len);
	tensor_compare_end(&c, &found);
	assert_int_equal(found.elements, len / tensor_compare_width(&c));
	return found;
}

static void assert_numbers(struct tensor_difference found, uint64_t changed, uint64_t finite,
			   double largest, double mean)
{
	assert_true(found.has_values);
	assert_int_equal(found.changed, changed);
	assert_int_equal(found.finite, finite);
	if (found.largest != largest || found.mean != mean)
		fail_msg("%.17g, %.17g instead of %.17g, %.17g", found.largest, found.mean, largest,
			 mean);
}

static void assert_odd(struct tensor_difference found, uint64_t nan_before, uint64_t nan_after,
		       uint64_t infinite_before, uint64_t infinite_after)
{
	assert_int_equal(found.nan[0], nan_before);
	assert_int_equal(found.nan[1], nan_after);
	assert_int_equal(found.infinite[0], infinite_before);
	assert_int_equal(found.infinite[1], infinite_after);
}

static void test_equal(void **state)
{
	static const char *const names[] = {"F64", "F32", "F8_E5M2", "I64", "BOOL", "C64", "F4"};
	uint8_t bytes[16384];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct tensor_difference found = compare(names[i], bytes, bytes, sizeof(bytes));

		assert_int_equal(found.changed, 0);
		assert_int_equal(found.finite, 0);
		assert_true(found.largest == 0 && found.mean == 0);
	}
	assert_int_equal(compare("F32", NULL, NULL, 0).changed, 0);
}

/* The same four changes in each float: 1 to 1.5, -2 to 2, 0 to -0, and 4 stays. */
static void test_floats(void **state)
{
	static const double f64[2][4] = {{1, -2, 0, 4}, {1.5, 2, -0.0, 4}};
	static const float f32[2][4] = {{1, -2, 0, 4}, {1.5, 2, -0.0f, 4}};
	static const uint16_t f16[2][4] = {{0x3c00, 0xc000, 0, 0x4400},
					   {0x3e00, 0x4000, 0x8000, 0x4400}};
	static const uint16_t bf16[2][4] = {{0x3f80, 0xc000, 0, 0x4080},
					    {0x3fc0, 0x4000, 0x8000, 0x4080}};
	static const uint8_t e4m3[2][4] = {{0x38, 0xc0, 0, 0x48}, {0x3c, 0x40, 0x80, 0x48}};
	static const uint8_t e5m2[2][4] = {{0x3c, 0xc0, 0, 0x44}, {0x3e, 0x40, 0x80, 0x44}};
	const double mean = 4.5 / 3;

	(void)state;
	assert_numbers(compare("F64", f64[0], f64[1], sizeof(f64[0])), 3, 3, 4, mean);
	assert_numbers(compare("F32", f32[0], f32[1], sizeof(f32[0])), 3, 3, 4, mean);
	assert_numbers(compare("F16", f16[0], f16[1], sizeof(f16[0])), 3, 3, 4, mean);
	assert_numbers(compare("BF16", bf16[0], bf16[1], sizeof(bf16[0])), 3, 3, 4, mean);
	assert_numbers(compare("F8_E4M3", e4m3[0], e4m3[1], 4), 3, 3, 4, mean);
	assert_numbers(compare("F8_E5M2", e5m2[0], e5m2[1], 4), 3, 3, 4, mean);
}

/* The ends of each range, and the smallest number that is not 0: from 0 to it. */
static void test_float_ranges(void **state)
{
	static const uint8_t zero[8];
	static const struct {
		const char *dtype;
		size_t width;
		uint64_t code;
		double value;
	} cases[] = {
		{"F64", 8, 1, 0x1p-1074},
		{"F64", 8, 0x7fefffffffffffff, 0x1.fffffffffffffp1023},
		{"F32", 4, 1, 0x1p-149},
		{"F32", 4, 0x7f7fffff, 0x1.fffffep127},
		{"F16", 2, 0x0001, 0x1p-24},
		{"F16", 2, 0x03ff, 0x3ffp-24},
		{"F16", 2, 0x0400, 0x1p-14},
		{"F16", 2, 0xfbff, 65504},
		{"BF16", 2, 0x0001, 0x1p-133},
		{"BF16", 2, 0x7f7f, 0x1.fep127},
		{"F8_E4M3", 1, 0x01, 0x1p-9},
		{"F8_E4M3", 1, 0x08, 0x1p-6},
		{"F8_E4M3", 1, 0x7e, 448},
		{"F8_E5M2", 1, 0x01, 0x1p-16},
		{"F8_E5M2", 1, 0x7b, 57344},
		{"F8_E4M3FNUZ", 1, 0x01, 0x1p-10},
		{"F8_E4M3FNUZ", 1, 0x7f, 240},
		{"F8_E5M2FNUZ", 1, 0x01, 0x1p-17},
		{"F8_E5M2FNUZ", 1, 0x7f, 57344},
		{"F8_E8M0", 1, 0x80, 2 - 0x1p-127},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t code[8];

		for (size_t k = 0; k < 8; k++)
			code[k] = (uint8_t)(cases[i].code >> 8 * k);
		assert_numbers(compare(cases[i].dtype, zero, code, cases[i].width), 1, 1,
			       cases[i].value, cases[i].value);
	}
}

/* From and to NaN and the infinities there is no difference; only the last change has one. */
static void test_nan_and_infinity(void **state)
{
	static const uint16_t f16[2][6] = {{0x7e00, 0x7e00, 0x3c00, 0x7c00, 0x3c00, 0x3c00},
					   {0x7e01, 0x3c00, 0xfe00, 0xfc00, 0x7c00, 0x4000}};
	static const uint16_t bf16[2][6] = {{0x7fc0, 0x7fc0, 0x3f80, 0x7f80, 0x3f80, 0x3f80},
					    {0x7fc1, 0x3f80, 0xffc0, 0xff80, 0x7f80, 0x4000}};
	static const uint8_t e5m2[2][6] = {{0x7d, 0x7d, 0x3c, 0x7c, 0x3c, 0x3c},
					   {0x7e, 0x3c, 0xff, 0xfc, 0x7c, 0x40}};
	static const uint8_t e4m3[2][3] = {{0x7f, 0x7f, 0x38}, {0xff, 0x38, 0x40}};
	static const uint8_t fnuz[2][2] = {{0x80, 0x00}, {0x00, 0x80}};
	static const double wide[2][1] = {{-0x1p1023}, {0x1p1023}};
	struct tensor_difference found;

	(void)state;
	found = compare("F16", f16[0], f16[1], sizeof(f16[0]));
	assert_numbers(found, 6, 1, 1, 1);
	assert_odd(found, 2, 2, 1, 2);
	found = compare("BF16", bf16[0], bf16[1], sizeof(bf16[0]));
	assert_numbers(found, 6, 1, 1, 1);
	assert_odd(found, 2, 2, 1, 2);
	found = compare("F8_E5M2", e5m2[0], e5m2[1], sizeof(e5m2[0]));
	assert_numbers(found, 6, 1, 1, 1);
	assert_odd(found, 2, 2, 1, 2);
	/* These know no infinity. */
	found = compare("F8_E4M3", e4m3[0], e4m3[1], sizeof(e4m3[0]));
	assert_numbers(found, 3, 1, 1, 1);
	assert_odd(found, 2, 1, 0, 0);
	found = compare("F8_E4M3FNUZ", fnuz[0], fnuz[1], 2);
	assert_numbers(found, 2, 0, 0, 0);
	assert_odd(found, 1, 1, 0, 0);
	/* Beyond the largest double. */
	found = compare("F64", wide[0], wide[1], sizeof(wide[0]));
	assert_numbers(found, 1, 0, 0, 0);
	assert_odd(found, 0, 0, 0, 0);
}

static void assert_integer(const char *dtype, size_t width, uint64_t before, uint64_t after,
			   uint64_t difference)
{
	struct tensor_difference found;
	uint8_t a[8], b[8];

	for (size_t k = 0; k < 8; k++) {
		a[k] = (uint8_t)(before >> 8 * k);
		b[k] = (uint8_t)(after >> 8 * k);
	}
	found = compare(dtype, a, b, width);
	assert_true(found.is_integer);
	assert_int_equal(found.largest_integer, difference);
	assert_numbers(found, 1, 1, (double)difference, (double)difference);
	found = compare(dtype, b, a, width);
	assert_int_equal(found.largest_integer, difference);
}

static void test_integers(void **state)
{
	static const uint32_t before[4] = {10, 20, 30, 40}, after[4] = {10, 23, 30, 39};
	static const uint64_t zero[2], all[2] = {UINT64_MAX, UINT64_MAX};

	(void)state;
	assert_numbers(compare("U32", before, after, sizeof(before)), 2, 2, 3, 2);
	assert_integer("U8", 1, 0, 255, 255);
	assert_integer("I8", 1, 0x80, 0x7f, 255);
	assert_integer("U16", 2, 1, 0xffff, 0xfffe);
	assert_integer("I16", 2, 0xffff, 1, 2);
	assert_integer("U32", 4, 0, UINT32_MAX, UINT32_MAX);
	assert_integer("I32", 4, 0x80000000, 0x7fffffff, UINT32_MAX);
	assert_integer("U64", 8, 0, UINT64_MAX, UINT64_MAX);
	assert_integer("I64", 8, UINT64_C(1) << 63, INT64_MAX, UINT64_MAX);
	assert_integer("I64", 8, UINT64_MAX, 0, 1);
	/* The sum has more than 64 bits. */
	assert_numbers(compare("U64", zero, all, sizeof(all)), 2, 2, 0x1p64, 0x1p64);
}

static void test_bool(void **state)
{
	static const uint8_t before[4] = {0, 1, 1, 1}, after[4] = {1, 0, 1, 2};

	(void)state;
	assert_numbers(compare("BOOL", before, after, 4), 3, 3, 1, 2.0 / 3);
}

/* Of others it is known how many elements, or bytes, have changed. */
static void test_without_values(void **state)
{
	static const uint8_t before[16], after[16] = {0, 0, 1, 1};
	struct tensor_difference found = compare("C64", before, after, 16);

	(void)state;
	assert_false(found.has_values);
	assert_int_equal(found.elements, 2);
	assert_int_equal(found.changed, 1);
	found = compare("F6_E2M3", before, after, 16);
	assert_false(found.has_values);
	assert_int_equal(found.elements, 16);
	assert_int_equal(found.changed, 2);
}

/* In whatever parts it comes, at whatever address, and behind equal parts. */
static void test_parts(void **state)
{
	enum { COUNT = 10000 };
	static uint8_t a[4 * COUNT + 1], b[4 * COUNT + 1];
	struct tensor_difference whole, found;
	struct tensor_compare c;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		float value = (float)i, other = i % 4000 == 3999 ? (float)i + 1 : (float)i;

		memcpy(a + 1 + 4 * i, &value, 4);
		memcpy(b + 1 + 4 * i, &other, 4);
	}
	whole = compare("F32", a + 1, b + 1, 4 * COUNT);
	assert_numbers(whole, 2, 2, 1, 1);
	tensor_compare_begin(&c, "F32");
	for (size_t i = 0; i < COUNT; i += 100)
		tensor_compare_add(&c, a + 1 + 4 * i, b + 1 + 4 * i, 400);
	tensor_compare_end(&c, &found);
	assert_numbers(found, 2, 2, 1, 1);
	assert_int_equal(found.elements, COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal),          cmocka_unit_test(test_floats),
		cmocka_unit_test(test_float_ranges),   cmocka_unit_test(test_nan_and_infinity),
		cmocka_unit_test(test_integers),       cmocka_unit_test(test_bool),
		cmocka_unit_test(test_without_values), cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
