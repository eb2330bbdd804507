/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/diff/tensor_compare.h"

#include <math.h>
#include <string.h>

#include "core/base/bytes.h"

/* Equal bytes are passed over in steps of so many: that is as fast as memory. */
#define EQUAL_STEP ((size_t)4096)

struct element_type {
	const char *name;
	size_t width;
	void (*compare)(struct tensor_compare *c, const uint8_t *a, const uint8_t *b, size_t len);
	bool is_integer;
	/* An 8-bit float: bits of its fraction, bias of its exponent, and where its NaN are. */
	struct {
		unsigned fraction;
		int bias;
		enum { NO_CODES, IEEE, ALL_ONES, MINUS_ZERO, SCALE } nan;
	} codes;
};

/* ---- numbers --------------------------------------------------------------------------------- */

static double f64_at(const uint8_t *p)
{
	uint64_t bits = load_le64(p);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static double f32_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

/* 2 to the power of e, for what small floats need. */
static double power(int e)
{
	uint64_t bits = (uint64_t)(e + 1023) << 52;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* A float of 16 or fewer bits, sign apart, whose highest exponent is that of a number. */
static double small_float(unsigned bits, unsigned fraction, int bias)
{
	unsigned exponent = bits >> fraction;
	double low = (double)(bits & ((1u << fraction) - 1)) * power(-(int)fraction);

	return exponent ? (1 + low) * power((int)exponent - bias) : low * power(1 - bias);
}

/* The same, its highest exponent being that of infinity and NaN. */
static double ieee_float(unsigned bits, unsigned exponents, unsigned fraction, int bias)
{
	unsigned magnitude = bits & ((1u << (exponents + fraction)) - 1);
	unsigned infinity = ((1u << exponents) - 1) << fraction;
	double value;

	if (magnitude > infinity)
		return (double)NAN;
	value = magnitude == infinity ? (double)INFINITY : small_float(magnitude, fraction, bias);
	return bits >> (exponents + fraction) ? -value : value;
}

static double f16_at(const uint8_t *p)
{
	return ieee_float(load_le16(p), 5, 10, 15);
}

static double f32_at(const uint8_t *p)
{
	return f32_of(load_le32(p));
}

static double bf16_at(const uint8_t *p)
{
	return f32_of((uint32_t)load_le16(p) << 16);
}

static double code_value(const struct element_type *type, unsigned code)
{
	unsigned fraction = type->codes.fraction;
	double value;

	if (type->codes.nan == SCALE)
		return code == 0xff ? (double)NAN : power((int)code - type->codes.bias);
	if (type->codes.nan == IEEE)
		return ieee_float(code, 7 - fraction, fraction, type->codes.bias);
	if ((type->codes.nan == ALL_ONES && (code & 0x7f) == 0x7f) ||
	    (type->codes.nan == MINUS_ZERO && code == 0x80))
		return (double)NAN;
	value = small_float(code & 0x7f, fraction, type->codes.bias);
	return code & 0x80 ? -value : value;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void note_float(struct tensor_compare *c, double a, double b)
{
	double difference = a > b ? a - b : b - a;

	c->found.changed++;
	if (isfinite(difference)) {
		c->found.finite++;
		c->sum += difference;
		if (difference > c->found.largest)
			c->found.largest = difference;
		return;
	}
	c->found.nan[0] += isnan(a) != 0;
	c->found.nan[1] += isnan(b) != 0;
	c->found.infinite[0] += isinf(a) != 0;
	c->found.infinite[1] += isinf(b) != 0;
}

static void note_integer(struct tensor_compare *c, uint64_t difference)
{
	c->found.changed++;
	c->found.finite++;
	c->sum_low += difference;
	c->sum_high += c->sum_low < difference;
	if (difference > c->found.largest_integer)
		c->found.largest_integer = difference;
}

#define DEFINE_FLOAT(NAME, WIDTH, VALUE)                                                           \
	static void compare_##NAME(struct tensor_compare *c, const uint8_t *a, const uint8_t *b,   \
				   size_t len)                                                     \
	{                                                                                          \
		for (size_t i = 0; i < len; i += WIDTH)                                            \
			if (memcmp(a + i, b + i, WIDTH) != 0)                                      \
				note_float(c, VALUE(a + i), VALUE(b + i));                         \
	}

#define CODE_AT(p) c->values[*(p)]

DEFINE_FLOAT(f64, 8, f64_at)
DEFINE_FLOAT(f32, 4, f32_at)
DEFINE_FLOAT(f16, 2, f16_at)
DEFINE_FLOAT(bf16, 2, bf16_at)
DEFINE_FLOAT(codes, 1, CODE_AT)

/* Of two's complement the difference is right in unsigned numbers, too. */
#define DEFINE_INTEGER(NAME, TYPE, LOAD)                                                           \
	static void compare_##NAME(struct tensor_compare *c, const uint8_t *a, const uint8_t *b,   \
				   size_t len)                                                     \
	{                                                                                          \
		for (size_t i = 0; i < len; i += sizeof(TYPE)) {                                   \
			TYPE x = (TYPE)LOAD(a + i);                                                \
			TYPE y = (TYPE)LOAD(b + i);                                                \
                                                                                                   \
			if (x != y)                                                                \
				note_integer(c, x > y ? (uint64_t)x - (uint64_t)y                  \
						      : (uint64_t)y - (uint64_t)x);                \
		}                                                                                  \
	}

#define BYTE_AT(p) (*(p))

DEFINE_INTEGER(u8, uint8_t, BYTE_AT)
DEFINE_INTEGER(i8, int8_t, BYTE_AT)
DEFINE_INTEGER(u16, uint16_t, load_le16)
DEFINE_INTEGER(i16, int16_t, load_le16)
DEFINE_INTEGER(u32, uint32_t, load_le32)
DEFINE_INTEGER(i32, int32_t, load_le32)
DEFINE_INTEGER(u64, uint64_t, load_le64)
DEFINE_INTEGER(i64, int64_t, load_le64)

static void compare_bool(struct tensor_compare *c, const uint8_t *a, const uint8_t *b, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (a[i] != b[i])
			note_integer(c, !a[i] != !b[i]);
}

static void compare_bytes(struct tensor_compare *c, const uint8_t *a, const uint8_t *b, size_t len)
{
	for (size_t i = 0; i < len; i += c->type->width)
		c->found.changed += memcmp(a + i, b + i, c->type->width) != 0;
}

static const struct element_type types[] = {
	{"F64", 8, compare_f64, false, {0}},
	{"F32", 4, compare_f32, false, {0}},
	{"F16", 2, compare_f16, false, {0}},
	{"BF16", 2, compare_bf16, false, {0}},
	{"F8_E4M3", 1, compare_codes, false, {3, 7, ALL_ONES}},
	{"F8_E5M2", 1, compare_codes, false, {2, 15, IEEE}},
	{"F8_E4M3FNUZ", 1, compare_codes, false, {3, 8, MINUS_ZERO}},
	{"F8_E5M2FNUZ", 1, compare_codes, false, {2, 16, MINUS_ZERO}},
	{"F8_E8M0", 1, compare_codes, false, {0, 127, SCALE}},
	{"U8", 1, compare_u8, true, {0}},
	{"I8", 1, compare_i8, true, {0}},
	{"U16", 2, compare_u16, true, {0}},
	{"I16", 2, compare_i16, true, {0}},
	{"U32", 4, compare_u32, true, {0}},
	{"I32", 4, compare_i32, true, {0}},
	{"U64", 8, compare_u64, true, {0}},
	{"I64", 8, compare_i64, true, {0}},
	{"BOOL", 1, compare_bool, true, {0}},
	{"C64", 8, compare_bytes, false, {0}},
	{NULL, 1, compare_bytes, false, {0}},
};

/* ---- a comparison ---------------------------------------------------------------------------- */

void tensor_compare_begin(struct tensor_compare *compare, const char *dtype)
{
	const struct element_type *type = types;

	while (type->name && strcmp(type->name, dtype) != 0)
		type++;
	memset(compare, 0, sizeof(*compare));
	compare->type = type;
	compare->found.has_values = type->compare != compare_bytes;
	compare->found.is_integer = type->is_integer;
	for (unsigned code = 0; type->codes.nan && code < 256; code++)
		compare->values[code] = code_value(type, code);
}

size_t tensor_compare_width(const struct tensor_compare *compare)
{
	return compare->type->width;
}

void tensor_compare_add(struct tensor_compare *compare, const void *before, const void *after,
			size_t len)
{
	const uint8_t *a = before;
	const uint8_t *b = after;

	compare->found.elements += len / compare->type->width;
	while (len) {
		size_t n = len < EQUAL_STEP ? len : EQUAL_STEP;

		if (memcmp(a, b, n) != 0)
			compare->type->compare(compare, a, b, n);
		a += n;
		b += n;
		len -= n;
	}
}

void tensor_compare_end(const struct tensor_compare *compare, struct tensor_difference *out)
{
	double sum = compare->sum;

	*out = compare->found;
	if (out->is_integer) {
		sum = (double)compare->sum_high * 0x1p64 + (double)compare->sum_low;
		out->largest = (double)out->largest_integer;
	}
	if (out->finite)
		out->mean = sum / (double)out->finite;
}
