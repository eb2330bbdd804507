/* SPDX-License-Identifier: Apache-2.0 */
/** Safetensors headers that break one rule each, and variants that must be accepted. */
#ifndef TESTS_UNIT_SAFETENSORS_CASES_H
#define TESTS_UNIT_SAFETENSORS_CASES_H

#include <stddef.h>
#include <stdint.h>

struct text {
	const char *bytes;
	size_t len;
};

/* A literal that may hold NUL. */
#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

/* A header with one tensor of four bytes, and one whose value is given. */
#define TENSOR     "{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}"
#define ONE(value) TEXT("{\"x\":" value "}")
#define INFO(dtype, shape, offsets)                                                                \
	ONE("{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}")
#define NAMED(name) TEXT("{\"" name "\":" TENSOR "}")
#define WITH(field) ONE("{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]," field "}")
#define META(value) TEXT("{\"__metadata__\":" value ",\"x\":" TENSOR "}")

/* Tensors of 2^61 - 1 bytes: more would be too large, and four of them together are. */
#define LARGEST(name, begin, end)                                                                  \
	"\"" name "\":{\"dtype\":\"U8\",\"shape\":[2305843009213693951],"                          \
	"\"data_offsets\":[" begin "," end "]}"
#define END_1 "2305843009213693951"
#define END_2 "4611686018427387902"
#define END_3 "6917529027641081853"
#define END_4 "9223372036854775804"
#define FOUR_LARGEST                                                                               \
	TEXT("{" LARGEST("a", "0", END_1) "," LARGEST("b", END_1, END_2) "," LARGEST(              \
		"c", END_2, END_3) "," LARGEST("d", END_3, END_4) "}")

static const struct {
	struct text header;
	const char *reason; /* a part of it */
} broken[] = {
	/* What the text as a whole must be. */
	{TEXT("{"), "ends within"},
	{TEXT("[]"), "start with"},
	{TEXT("\"{}\""), "start with"},
	{TEXT(" {}"), "start with"},
	{TEXT("\n{}"), "start with"},
	{TEXT("\xef\xbb\xbf{}"), "start with"},
	{TEXT("{}{}"), "goes on after"},
	{TEXT("{} x"), "goes on after"},
	{TEXT("{} \"open"), "goes on after"},
	{TEXT("{}\0"), "goes on after"},
	{TEXT("{}\v"), "goes on after"},
	{TEXT("{]"), "not valid JSON"},
	{TEXT("{\"x\":" TENSOR), "ends within"},
	{TEXT("{\"x"), "ends within"},
	{TEXT("{\"x\xc3"), "ends within"},
	{TEXT("{\"x\":" TENSOR ",}"), "not valid JSON"},
	{TEXT("{\"x\" " TENSOR "}"), "not valid JSON"},
	{TEXT("{x:" TENSOR "}"), "not valid JSON"},
	{TEXT("{'x':" TENSOR "}"), "not valid JSON"},
	{TEXT("{/* */}"), "not valid JSON"},
	{TEXT("{// \n}"), "not valid JSON"},
	{TEXT("{\f}"), "not valid JSON"},
	{TEXT("{\xc2\xa0}"), "not valid JSON"},
	{WITH("\"n\":[1,]"), "not valid JSON"},
	{WITH("\"n\":01"), "not valid JSON"},
	{WITH("\"n\":+1"), "not valid JSON"},
	{WITH("\"n\":.5"), "not valid JSON"},
	{WITH("\"n\":5."), "not valid JSON"},
	{WITH("\"n\":1e"), "not valid JSON"},
	{WITH("\"n\":-"), "not valid JSON"},
	{WITH("\"n\":NaN"), "not valid JSON"},
	{WITH("\"n\":True"), "not valid JSON"},
	{WITH("\"n\":nulll"), "not valid JSON"},
	{WITH("\"n\":[}"), "not valid JSON"},
	{WITH("\"n\":{\"a\"}"), "not valid JSON"},
	/* Strings. */
	{NAMED("a\nb"), "not valid JSON"},
	{NAMED("a\0b"), "not valid JSON"},
	{NAMED("\\x41"), "not valid JSON"},
	{NAMED("\\u12g4"), "not valid JSON"},
	{NAMED("\\ud83d"), "not valid JSON"},
	{NAMED("\\ud83dx"), "not valid JSON"},
	{NAMED("\\ud83d\\n"), "not valid JSON"},
	{NAMED("\\ud83d\\ud83d"), "not valid JSON"},
	{NAMED("\\ud83d\\u0041"), "not valid JSON"},
	{NAMED("\\ude00"), "not valid JSON"},
	{META("{\"k\":\"\\udfff\"}"), "not valid JSON"},
	{NAMED("\xff"), "not valid UTF-8"},
	{NAMED("\x80"), "not valid UTF-8"},
	{NAMED("\xc3("), "not valid UTF-8"},
	{NAMED("\xc1\x81"), "not valid UTF-8"},
	{NAMED("\xe0\x81\x81"), "not valid UTF-8"},
	{NAMED("\xed\xa0\x80"), "not valid UTF-8"},
	{NAMED("\xf0\x80\x81\x81"), "not valid UTF-8"},
	{NAMED("\xf4\x90\x80\x80"), "not valid UTF-8"},
	{NAMED("\xf5\x80\x80\x80"), "not valid UTF-8"},
	{META("{\"k\":\"\xe2\x82\"}"), "not valid UTF-8"},
	/* Names. */
	{NAMED("a\\u0000b"), "NUL"},
	{TEXT("{\"x\":" TENSOR ",\"x\":" TENSOR "}"), "alike"},
	{TEXT("{\"x\":" TENSOR ",\"\\u0078\":" TENSOR "}"), "alike"},
	/* Metadata. */
	{META("1"), "__metadata__ is not an object"},
	{META("\"s\""), "__metadata__ is not an object"},
	{META("[]"), "__metadata__ is not an object"},
	{META("false"), "__metadata__ is not an object"},
	{META("{\"k\":1}"), "not a string"},
	{META("{\"k\":null}"), "not a string"},
	{META("{\"k\":true}"), "not a string"},
	{META("{\"k\":{}}"), "not a string"},
	{META("{\"k\":[]}"), "not a string"},
	{META("{},\"__metadata__\":{}"), "twice"},
	{META("null,\"__metadata__\":null"), "twice"},
	/* The fields of a tensor. */
	{ONE("null"), "tensor \"x\" is not an object"},
	{ONE("1"), "is not an object"},
	{ONE("\"s\""), "is not an object"},
	{ONE("[\"U8\",[4],[0,4]]"), "is not an object"},
	{ONE("{}"), "lacks"},
	{ONE("{\"shape\":[4],\"data_offsets\":[0,4]}"), "lacks"},
	{ONE("{\"dtype\":\"U8\",\"data_offsets\":[0,4]}"), "lacks"},
	{ONE("{\"dtype\":\"U8\",\"shape\":[4]}"), "lacks"},
	{WITH("\"dtype\":\"U8\""), "twice"},
	{WITH("\"shape\":[4]"), "twice"},
	{WITH("\"data_offsets\":[0,4]"), "twice"},
	{ONE("{\"dtype\":null,\"shape\":[4],\"data_offsets\":[0,4]}"), "dtype"},
	{ONE("{\"dtype\":{\"U8\":null},\"shape\":[4],\"data_offsets\":[0,4]}"), "dtype"},
	{INFO("Q8_0", "[4]", "[0,4]"), "unknown dtype"},
	{INFO("u8", "[4]", "[0,4]"), "unknown dtype"},
	{INFO("U", "[4]", "[0,4]"), "unknown dtype"},
	{INFO("U8 ", "[4]", "[0,4]"), "unknown dtype"},
	{INFO("", "[4]", "[0,4]"), "unknown dtype"},
	{INFO("U8", "4", "[0,4]"), "shape"},
	{INFO("U8", "null", "[0,4]"), "shape"},
	{INFO("U8", "{}", "[0,4]"), "shape"},
	{INFO("U8", "[[4]]", "[0,4]"), "shape"},
	{INFO("U8", "[\"4\"]", "[0,4]"), "shape"},
	{INFO("U8", "[null]", "[0,4]"), "shape"},
	{INFO("U8", "[4.0]", "[0,4]"), "shape"},
	{INFO("U8", "[4e0]", "[0,4]"), "shape"},
	{INFO("U8", "[-4]", "[0,4]"), "shape"},
	{INFO("U8", "[-0]", "[0,0]"), "shape"},
	{INFO("U8", "[18446744073709551616]", "[0,4]"), "shape"},
	{INFO("U8", "[4]", "4"), "data_offsets"},
	{INFO("U8", "[4]", "[]"), "data_offsets"},
	{INFO("U8", "[4]", "[0]"), "data_offsets"},
	{INFO("U8", "[4]", "[0,4,8]"), "data_offsets"},
	{INFO("U8", "[4]", "[0,[4]]"), "data_offsets"},
	{INFO("U8", "[4]", "[0,4.0]"), "data_offsets"},
	{INFO("U8", "[4]", "[-0,4]"), "data_offsets"},
	{INFO("U8", "[4]", "[0,18446744073709551616]"), "data_offsets"},
	/* Sizes. */
	{INFO("U8", "[4]", "[4,0]"), "ends before"},
	{INFO("U8", "[5]", "[0,4]"), "does not fit"},
	{INFO("U8", "[]", "[0,4]"), "does not fit"},
	{INFO("U8", "[0]", "[0,4]"), "does not fit"},
	{INFO("U16", "[4]", "[0,4]"), "does not fit"},
	{INFO("C64", "[1]", "[0,4]"), "does not fit"},
	{INFO("F4", "[7]", "[0,4]"), "whole bytes"},
	{INFO("F4", "[]", "[0,0]"), "whole bytes"},
	{INFO("F6_E2M3", "[3]", "[0,2]"), "whole bytes"},
	{INFO("F6_E3M2", "[2]", "[0,2]"), "whole bytes"},
	{INFO("U8", "[2,18446744073709551614]", "[0,4]"), "too large"},
	{INFO("U8", "[4294967296,4294967296,0]", "[0,0]"), "too large"},
	{INFO("F32", "[4611686018427387904]", "[0,0]"), "too large"},
	{INFO("U8", "[2305843009213693952]", "[0,4]"), "too large"},
	/* Where tensors lie. */
	{FOUR_LARGEST, "larger than any file"},
	{INFO("U8", "[4]", "[1,5]"), "hole at offset 0"},
	{INFO("U8", "[0]", "[1,1]"), "hole at offset 0"},
	{TEXT("{\"x\":" TENSOR ",\"y\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[5,9]}}"),
	 "hole at offset 4"},
	{TEXT("{\"x\":" TENSOR ",\"y\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[3,7]}}"),
	 "overlaps at offset 3"},
	{TEXT("{\"x\":" TENSOR ",\"y\":" TENSOR "}"), "overlaps at offset 0"},
	{TEXT("{\"x\":" TENSOR ",\"y\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}"),
	 "overlaps at offset 2"},
};

static const struct {
	struct text header;
	size_t count;
	uint64_t size;
} accepted[] = {
	{TEXT("{}"), 0, 0},
	{TEXT("{ }  \t\r\n  "), 0, 0},
	{META("null"), 1, 4},
	{META("{}"), 1, 4},
	{META("{\"a\":\"b\",\"a\":\"c\",\"\\u0000\":\"\\u0000\"}"), 1, 4},
	{TEXT("{\"__metadata__\":{\"format\":\"pt\"}}"), 0, 0},
	{TEXT("{\"\\u005f_metadata__\":{\"k\":\"v\"}}"), 0, 0},
	{TEXT("{ \"x\" :\t{ \"shape\" : [ 2 , 2 ] , \"data_offsets\" : [ 0 , 4 ] ,\r\n"
	      "\"dtype\" : \"U8\" } } "),
	 1, 4},
	{NAMED(""), 1, 4},
	{NAMED("../../etc/passwd"), 1, 4},
	{NAMED("\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20AC\\uD83D\\ude00"), 1, 4},
	{NAMED("\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80"),
	 1, 4},
	{WITH("\"n\":null"), 1, 4},
	{WITH("\"n\":-1.5e-7,\"m\":\"s\",\"o\":true"), 1, 4},
	{WITH("\"n\":{\"dtype\":[1,{\"shape\":[]}],\"e\":{}},\"n\":[[],[[]]]"), 1, 4},
	{WITH("\"Dtype\":1,\"dtyp\":2,\"dtypes\":3"), 1, 4},
	{INFO("U8", "[]", "[0,1]"), 1, 1},
	{INFO("U8", "[0]", "[0,0]"), 1, 0},
	{INFO("U8", "[2,0]", "[0,0]"), 1, 0},
	{INFO("U8", "[0,18446744073709551615,18446744073709551615]", "[0,0]"), 1, 0},
	{INFO("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4]", "[0,4]"), 1, 4},
	{INFO("U8", "[2305843009213693951]", "[0,2305843009213693951]"), 1, 2305843009213693951u},
	{INFO("F4", "[8]", "[0,4]"), 1, 4},
	{INFO("F4", "[2]", "[0,1]"), 1, 1},
	{INFO("F6_E2M3", "[4]", "[0,3]"), 1, 3},
	{INFO("F6_E3M2", "[2,2]", "[0,3]"), 1, 3},
	{TEXT("{\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]},\"a\":" TENSOR "}"),
	 2, 8},
	{TEXT("{\"x\":" TENSOR ",\"y\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[4,4]},"
	      "\"z\":{\"dtype\":\"F16\",\"shape\":[3,0],\"data_offsets\":[0,0]}}"),
	 3, 4},
};

#endif
