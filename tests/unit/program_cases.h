/* SPDX-License-Identifier: Apache-2.0 */
/** Programs that break one rule of the language each. */
#ifndef TESTS_UNIT_PROGRAM_CASES_H
#define TESTS_UNIT_PROGRAM_CASES_H

#include <stddef.h>
#include <stdint.h>

#define BYTES(literal) (const uint8_t *)(literal), sizeof(literal) - 1

/* Op bytes: the operator, and in the upper four bits its small number. */
#define RAW       "\x01"
#define PACKED    "\x11"
#define RANS      "\x31"
#define CONST     "\x02"
#define CONCAT_2  "\x03"
#define CONCAT_3  "\x13"
#define CONCAT_OF "\xf3" /* a varint follows */
#define REPEAT_2  "\x04"
#define REPEAT_3  "\x14"
#define REPEAT_OF "\xf4"
#define MAP       "\x05"
#define SCAN      "\x06"
#define FIELDS    "\x07"
#define BITS      "\x17"
#define PLANES    "\x27"
#define FLOAT_8   "\x37"
#define FLOAT_5   "\x47"
#define FLOAT_11  "\x57"
#define FLOAT_4   "\x67"
#define ROUTE     "\x08"
#define ESCAPE    "\x09"
#define PACK      "\x0a"
#define FLIP      "\x0b"

/* A packed literal of no bits: any number of words of value 0. */
#define ZEROS PACKED "\x00\x00"

/*
 * What follows the classes of a route of 8-bit words: one, two or three tables alike, in which the
 * word 65 has 255 slots of 256 and the word 66 has one; four words 65 in one lane, all of them in
 * its tail, where the state is 65.
 */
#define TABLE_1  "\x00\x41\x00\x02"
#define TABLES_2 "\x00\x41\x00\x06\x01\x08"
#define TABLES_3 "\x00\x41\x00\x06\x01\x18\x04\x20"
#define PAYLOAD  "\x03\x04\x41\x00"

/* A route of 2 rows of 2 columns, a class for each row; then its parameters. */
#define ROUTE_ROWS ROUTE "\x02\x01\x02\x01\x02" PACKED "\x00\x01\x02"

/* Varints: 4194305 = 2^22 + 1, 2097153 = 2^21 + 1, 2^63, 2^64 - 1. */
#define VARINT_22 "\x81\x80\x80\x02"
#define VARINT_21 "\x81\x80\x80\x01"
#define VARINT_63 "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"
#define VARINT_64 "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"

struct broken {
	const char *what;
	unsigned width;
	size_t count;
	const uint8_t *bytes;
	size_t size;
	const char *message; /* part of it */
};

static const struct broken broken[] = {
	{"nothing", 16, 4, BYTES(""), "cut short"},
	{"width 0", 0, 4, BYTES(ZEROS), "width out of range"},
	{"width 65", 65, 4, BYTES(ZEROS), "width out of range"},
	{"no words", 16, 0, BYTES(ZEROS), "of no words"},
	{"operator 0", 16, 4, BYTES("\x00"), "unknown operator 0"},
	{"operator 12", 16, 4, BYTES("\x0c" ZEROS), "unknown operator 12"},
	{"operator 15", 16, 4, BYTES("\x0f" ZEROS), "unknown operator 15"},
	{"bytes after the program", 16, 4, BYTES(ZEROS "\x00"), "bytes after its end"},

	/* s is 0 for operators that have none */
	{"const with s", 16, 4, BYTES("\x12\x07"), "a number that it does not have"},
	{"map with s", 16, 4, BYTES("\x15\x02" ZEROS), "a number that it does not have"},
	{"scan with s", 16, 4, BYTES("\x16\x00\x00" ZEROS), "a number that it does not have"},
	{"route with s", 8, 4,
	 BYTES("\x18\x02\x01\x02\x01\x02" PACKED "\x00\x01\x02" TABLES_2 PAYLOAD),
	 "a number that it does not have"},
	{"escape with s", 16, 4, BYTES("\x19\x08\x00\x00" ZEROS), "a number that it does not have"},
	{"pack with s", 16, 4, BYTES("\x1a\x02" ZEROS), "a number that it does not have"},
	{"flip with s", 16, 4, BYTES("\x1b\x01\x01" ZEROS ZEROS), "a number that it does not have"},

	/* lit */
	{"lit of unknown coding", 16, 4, BYTES("\x71"), "unknown coding 7"},
	{"lit of coding 15", 16, 4, BYTES("\xf1"), "unknown coding 15"},
	{"raw lit, short", 16, 4, BYTES(RAW "1234567"), "payload of 8 bytes where 7 are left"},
	{"raw lit, long", 16, 4, BYTES(RAW "123456789"), "bytes after its end"},
	{"packed lit wider than its type", 4, 2, BYTES(PACKED "\x00\x05\xff\x03"),
	 "beyond words of 4 bits"},
	{"packed lit, padding set", 4, 2, BYTES(PACKED "\x00\x01\x04"), "padding bits"},
	{"huffman lit of 13 bits", 13, 4, BYTES("\x21\x00\x00\x00\x00"), "cannot be entropy-coded"},
	{"rans lit of 13 bits", 13, 4, BYTES("\x31\x00\x00\x00\x00"), "cannot be entropy-coded"},

	/* const */
	{"const, short", 16, 4, BYTES(CONST), "cut short"},
	{"const in too many bytes", 16, 4, BYTES(CONST "\x81\x00"), "a number is malformed"},
	{"const of 12 bits, too wide", 12, 4, BYTES(CONST "\x80\x20"), "const value is wider"},
	{"const of 1 bit, too wide", 1, 4, BYTES(CONST "\x02"), "const value is wider"},

	/* concat */
	{"concat of 64", 8, 99, BYTES(CONCAT_OF "\x40"), "concat of too many children"},
	{"concat of 2^64 - 1", 8, 99, BYTES(CONCAT_OF VARINT_64), "concat of too many children"},
	{"concat of 16 as of many", 8, 99, BYTES(CONCAT_OF "\x10"), "small count in the form"},
	{"concat without its count", 8, 4, BYTES(CONCAT_OF), "cut short"},
	{"concat without lengths", 8, 4, BYTES(CONCAT_2), "cut short"},
	{"concat, length in too many bytes", 8, 4, BYTES(CONCAT_2 "\x81\x00" ZEROS ZEROS),
	 "a number is malformed"},
	{"concat with an empty child", 8, 4, BYTES(CONCAT_2 "\x00" ZEROS ZEROS),
	 "concat with a child of no words"},
	{"concat with an empty last child", 8, 4, BYTES(CONCAT_2 "\x04" ZEROS ZEROS),
	 "concat lengths do not sum"},
	{"concat longer than its type", 8, 4, BYTES(CONCAT_3 "\x03\x02" ZEROS ZEROS ZEROS),
	 "concat lengths do not sum"},
	{"concat, length of 64 bits", 8, 4, BYTES(CONCAT_2 VARINT_64 ZEROS ZEROS),
	 "concat lengths do not sum"},
	{"concat without its last child", 8, 4, BYTES(CONCAT_2 "\x01" ZEROS), "cut short"},
	{"concat, child of another length", 8, 4, BYTES(CONCAT_2 "\x01" RAW "1" RAW "34"),
	 "payload of 3 bytes where 2 are left"},

	/* repeat */
	{"repeat without its count", 8, 34, BYTES(REPEAT_OF), "cut short"},
	{"repeat of 16 as of many", 8, 32, BYTES(REPEAT_OF "\x10" ZEROS),
	 "small count in the form"},
	{"repeat, count in too many bytes", 8, 34, BYTES(REPEAT_OF "\x91\x00" ZEROS),
	 "a number is malformed"},
	{"repeat that does not divide", 8, 5, BYTES(REPEAT_2 ZEROS),
	 "repeat count does not divide"},
	{"repeat of no words", 8, 16, BYTES(REPEAT_OF "\x11" ZEROS),
	 "repeat count does not divide"},
	{"repeat 2^64 - 1 times", 8, 5, BYTES(REPEAT_OF VARINT_64 ZEROS),
	 "repeat count does not divide"},
	{"repeat, child of another length", 8, 4, BYTES(REPEAT_2 RAW "123"), "bytes after its end"},

	/* map */
	{"map without a function", 8, 4, BYTES(MAP), "cut short"},
	{"map of function 8", 8, 4, BYTES(MAP "\x08" ZEROS), "unknown function of map"},
	{"map, XOR of nothing", 8, 4, BYTES(MAP "\x00\x00" ZEROS), "map argument out of range"},
	{"map, XOR too wide", 7, 4, BYTES(MAP "\x00\x80\x01" ZEROS), "map argument out of range"},
	{"map, XOR without argument", 8, 4, BYTES(MAP "\x00"), "cut short"},
	{"map, addition of nothing", 8, 4, BYTES(MAP "\x01\x00" ZEROS),
	 "map argument out of range"},
	{"map, addition too wide", 12, 4, BYTES(MAP "\x01\x80\x20" ZEROS),
	 "map argument out of range"},
	{"map, addition that is an XOR", 8, 4, BYTES(MAP "\x01\x80\x01" ZEROS), "is to be an XOR"},
	{"map, addition to 1 bit", 1, 4, BYTES(MAP "\x01\x01" ZEROS), "is to be an XOR"},
	{"map, addition that is an XOR of 64 bits", 64, 4, BYTES(MAP "\x01" VARINT_63 ZEROS),
	 "is to be an XOR"},
	{"map, addition without argument", 8, 4, BYTES(MAP "\x01"), "cut short"},
	{"map, zigzag of 1 bit", 1, 4, BYTES(MAP "\x02" ZEROS), "does nothing to 1 bit"},
	{"map, unzigzag of 1 bit", 1, 4, BYTES(MAP "\x03" ZEROS), "does nothing to 1 bit"},
	{"map, Gray of 1 bit", 1, 4, BYTES(MAP "\x04" ZEROS), "does nothing to 1 bit"},
	{"map, un-Gray of 1 bit", 1, 4, BYTES(MAP "\x05" ZEROS), "does nothing to 1 bit"},
	{"map, reversal of 1 bit", 1, 4, BYTES(MAP "\x06" ZEROS), "does nothing to 1 bit"},
	{"map, rotation by 0", 8, 4, BYTES(MAP "\x07\x00" ZEROS), "map rotation out of range"},
	{"map, rotation by all", 8, 4, BYTES(MAP "\x07\x08" ZEROS), "map rotation out of range"},
	{"map, rotation of 1 bit", 1, 4, BYTES(MAP "\x07\x01" ZEROS), "map rotation out of range"},
	{"map, rotation without argument", 8, 4, BYTES(MAP "\x07"), "cut short"},
	{"map without a child", 8, 4, BYTES(MAP "\x04"), "cut short"},

	/* scan */
	{"scan without a function", 8, 4, BYTES(SCAN), "cut short"},
	{"scan of function 2", 8, 4, BYTES(SCAN "\x02\x00" ZEROS), "unknown function of scan"},
	{"scan without its first word", 8, 4, BYTES(SCAN "\x00"), "cut short"},
	{"scan, first word too wide", 7, 4, BYTES(SCAN "\x01\x80\x01" ZEROS),
	 "scan begins with a word wider"},
	{"scan of one word", 8, 1, BYTES(SCAN "\x00\x00" ZEROS), "scan of a single word"},
	{"scan, child of another length", 8, 4, BYTES(SCAN "\x00\x00" RAW "1234"),
	 "bytes after its end"},

	/* merge */
	{"merge of form 7", 16, 4, BYTES("\x77\x02\x08" ZEROS ZEROS), "unknown form of merge"},
	{"merge of form 15", 16, 4, BYTES("\xf7\x02\x08" ZEROS ZEROS), "unknown form of merge"},
	{"merge without arity", 16, 4, BYTES(FIELDS), "cut short"},
	{"merge of none", 16, 4, BYTES(FIELDS "\x00"), "merge of fewer than 2 children"},
	{"merge of one", 16, 4, BYTES(FIELDS "\x01" ZEROS), "merge of fewer than 2 children"},
	{"merge of 64", 64, 4, BYTES(FIELDS "\x40"), "merge of too many children"},
	{"merge without widths", 16, 4, BYTES(FIELDS "\x03\x01"), "cut short"},
	{"merge with an empty field", 16, 4, BYTES(FIELDS "\x02\x00" ZEROS ZEROS),
	 "merge with a field of no bits"},
	{"merge with an empty last field", 16, 4, BYTES(FIELDS "\x02\x10" ZEROS ZEROS),
	 "merge fields do not sum"},
	{"merge of too many bits", 16, 4, BYTES(FIELDS "\x03\x09\x08" ZEROS ZEROS ZEROS),
	 "merge fields do not sum"},
	{"merge whose bits wrap", 16, 4, BYTES(FIELDS "\x03\xff\xff" ZEROS ZEROS ZEROS),
	 "merge fields do not sum"},
	{"merge without its last child", 16, 4, BYTES(PLANES ZEROS), "cut short"},
	{"merge, child of another width", 16, 4, BYTES(FIELDS "\x02\x04" CONST "\x10" ZEROS),
	 "const value is wider"},
	/* The canonical form of each cut. */
	{"bit planes as fields", 3, 4, BYTES(FIELDS "\x03\x01\x01" ZEROS ZEROS ZEROS),
	 "merge with widths that another form has"},
	{"byte planes as fields", 16, 4, BYTES(FIELDS "\x02\x08" ZEROS ZEROS),
	 "merge with widths that another form has"},
	{"BF16 as fields", 16, 4, BYTES(FIELDS "\x03\x01\x08" ZEROS ZEROS ZEROS),
	 "merge with widths that another form has"},
	{"FP16 as fields", 16, 4, BYTES(FIELDS "\x03\x01\x05" ZEROS ZEROS ZEROS),
	 "merge with widths that another form has"},
	{"FP64 as fields", 64, 4, BYTES(FIELDS "\x03\x01\x0b" ZEROS ZEROS ZEROS),
	 "merge with widths that another form has"},
	{"E4M3 as fields", 8, 4, BYTES(FIELDS "\x03\x01\x04" ZEROS ZEROS ZEROS),
	 "merge with widths that another form has"},
	{"bit planes of one bit", 1, 4, BYTES(BITS ZEROS), "merge of planes does not fit"},
	{"bit planes of 64 bits", 64, 4, BYTES(BITS), "merge of too many bit planes"},
	{"byte planes of one byte", 8, 4, BYTES(PLANES ZEROS), "merge of planes does not fit"},
	{"byte planes of 20 bits", 20, 4, BYTES(PLANES ZEROS ZEROS),
	 "merge of planes does not fit"},
	{"exponent of 8 in 9 bits", 9, 4, BYTES(FLOAT_8 ZEROS ZEROS ZEROS),
	 "merge of a float does not fit"},
	{"exponent of 5 in 6 bits", 6, 4, BYTES(FLOAT_5 ZEROS ZEROS ZEROS),
	 "merge of a float does not fit"},
	{"exponent of 11 in 12 bits", 12, 4, BYTES(FLOAT_11 ZEROS ZEROS ZEROS),
	 "merge of a float does not fit"},
	{"exponent of 4 in 5 bits", 5, 4, BYTES(FLOAT_4 ZEROS ZEROS ZEROS),
	 "merge of a float does not fit"},
	{"exponent of 4 in 1 bit", 1, 4, BYTES(FLOAT_4 ZEROS ZEROS ZEROS),
	 "merge of a float does not fit"},

	/* grids */
	{"route without a grid", 8, 4, BYTES(ROUTE "\x02"), "cut short"},
	{"grid of no columns", 8, 4, BYTES(FLIP "\x00\x01" ZEROS ZEROS), "grid with a size of 0"},
	{"grid of no inner words", 8, 4, BYTES(FLIP "\x01\x00" ZEROS ZEROS),
	 "grid with a size of 0"},
	{"grid that does not divide", 8, 4, BYTES(FLIP "\x03\x01" ZEROS ZEROS),
	 "grid does not divide"},
	{"grid larger than the words", 8, 4, BYTES(FLIP "\x04\x02" ZEROS ZEROS),
	 "grid does not divide"},
	{"grid whose size wraps", 8, 4, BYTES(FLIP VARINT_63 "\x02" ZEROS ZEROS),
	 "grid does not divide"},
	{"grid of a route that does not divide", 8, 4,
	 BYTES(ROUTE "\x03\x01\x01\x02\x02" PACKED "\x00\x01\x02" TABLES_2 PAYLOAD),
	 "grid does not divide"},

	/* route: 4 words, 2 rows of 2 columns if not said otherwise */
	{"route without classes", 8, 4, BYTES(ROUTE "\x02\x01\x02\x02"), "cut short"},
	{"route of 0 row classes", 8, 4,
	 BYTES(ROUTE "\x02\x01\x00\x02\x02" PACKED "\x00\x01\x02" TABLES_2 PAYLOAD),
	 "row classes out of range"},
	{"route of 33 row classes", 8, 4,
	 BYTES(ROUTE "\x02\x01\x21\x01\x02" PACKED "\x00\x01\x02" TABLES_2 PAYLOAD),
	 "row classes out of range"},
	{"route of 0 column classes", 8, 4,
	 BYTES(ROUTE "\x02\x01\x02\x00\x02" PACKED "\x00\x01\x02" TABLES_2 PAYLOAD),
	 "column classes out of range"},
	{"route of 33 column classes", 8, 4,
	 BYTES(ROUTE "\x02\x01\x01\x21\x02" PACKED "\x00\x01\x02" TABLES_2 PAYLOAD),
	 "column classes out of range"},
	{"route of 1 class", 8, 4, BYTES(ROUTE "\x02\x01\x01\x01\x01" TABLE_1 PAYLOAD),
	 "number of classes out of range"},
	{"route of 1 class of two of rows", 8, 4,
	 BYTES(ROUTE "\x02\x01\x02\x01\x01" PACKED "\x00\x01\x02" TABLE_1 PAYLOAD),
	 "number of classes out of range"},
	{"route of 33 classes", 8, 4, BYTES(ROUTE "\x02\x01\x08\x08\x21" ZEROS ZEROS ZEROS),
	 "number of classes out of range"},
	{"route of no classes", 8, 4, BYTES(ROUTE "\x02\x01\x01\x01\x02" TABLES_2 PAYLOAD),
	 "route without a map, and not a table"},
	{"route by rows, a table missing", 8, 4,
	 BYTES(ROUTE "\x01\x01\x03\x01\x02" PACKED "\x00\x02\xa4" TABLES_2 PAYLOAD),
	 "route without a map, and not a table"},
	{"route by columns, a table missing", 8, 4,
	 BYTES(ROUTE "\x04\x01\x01\x03\x02" PACKED "\x00\x02\xa4" TABLES_2 PAYLOAD),
	 "route without a map, and not a table"},
	{"route without its literal", 8, 4, BYTES(ROUTE "\x02\x01\x02\x01\x02"), "cut short"},
	{"route, classes in a const", 8, 4,
	 BYTES(ROUTE "\x02\x01\x02\x01\x02" CONST "\x01" TABLES_2 PAYLOAD), "that are no lit node"},
	{"route, classes cut short", 8, 4, BYTES(ROUTE "\x02\x01\x02\x01\x02" PACKED "\x00\x01"),
	 "payload of 1 bytes where 0 are left"},
	{"route, classes damaged", 8, 12,
	 BYTES(ROUTE "\x01\x01\x03\x01\x03" PACKED "\x02\x02\x24\x49\x92" TABLES_3 PAYLOAD),
	 "packed literal"},
	{"route, row class too large", 8, 4,
	 BYTES(ROUTE "\x01\x01\x03\x01\x03" PACKED "\x00\x02\xe4" TABLES_3 PAYLOAD),
	 "row class out of range"},
	{"route, column class too large", 8, 4,
	 BYTES(ROUTE "\x04\x01\x01\x03\x03" PACKED "\x00\x02\xe4" TABLES_3 PAYLOAD),
	 "column class out of range"},
	{"route, class in the map too large", 8, 4,
	 BYTES(ROUTE "\x02\x01\x02\x02\x03" PACKED "\x00\x01\x02" PACKED "\x00\x01\x02" PACKED
		     "\x00\x02\xe4" TABLES_3 PAYLOAD),
	 "class in its map out of range"},
	{"route by rows, a class of no words", 8, 4,
	 BYTES(ROUTE "\x01\x01\x03\x01\x03" PACKED "\x00\x01\x0a" TABLES_3 PAYLOAD),
	 "route with a class of no words"},
	{"route by columns, a class of no words", 8, 4,
	 BYTES(ROUTE "\x04\x01\x01\x02\x02" ZEROS TABLES_2 PAYLOAD),
	 "route with a class of no words"},
	{"route by a map, a class of no words", 8, 4,
	 BYTES(ROUTE "\x02\x01\x02\x02\x02" PACKED "\x00\x01\x02" PACKED
		     "\x00\x01\x02" ZEROS TABLES_2 PAYLOAD),
	 "route with a class of no words"},
	{"route by a map, a class of no columns", 8, 4,
	 BYTES(ROUTE "\x02\x01\x02\x02\x02" PACKED "\x00\x01\x02" ZEROS PACKED
		     "\x00\x01\x0a" TABLES_2 PAYLOAD),
	 "route with a class of no words"},
	{"route of 13 bits", 13, 4, BYTES(ROUTE_ROWS TABLES_2 PAYLOAD), "words of 13 bits"},
	{"route of 64 bits", 64, 4, BYTES(ROUTE_ROWS TABLES_2 PAYLOAD), "words of 64 bits"},
	{"route without parameters", 8, 4, BYTES(ROUTE_ROWS), "cut short"},
	{"route of scale 15", 8, 4, BYTES(ROUTE_ROWS "\x07\x41\x00\x06\x01\x08" PAYLOAD),
	 "scale of 15 bits"},
	{"route of too large a scale", 8, 254,
	 BYTES(ROUTE "\x02\x01\x01\x02\x02" PACKED "\x00\x01\x02"
		     "\x01\x41\x00\x06\x01\x08" PAYLOAD),
	 "frequencies of 9 bits for 254 words"},
	{"route without tables", 8, 4, BYTES(ROUTE_ROWS "\x00"), "cut short"},
	{"route without its last table", 8, 4, BYTES(ROUTE_ROWS TABLE_1), "cut short"},
	{"route, table cut short", 8, 4, BYTES(ROUTE_ROWS "\x00\x41\x00\x06\x01"), "cut short"},
	{"route, padding between tables", 8, 4,
	 BYTES(ROUTE_ROWS "\x00\x41\x00\x02\x41\x00\x02" PAYLOAD), "rANS table: "},
	{"route, padding that is set", 8, 4, BYTES(ROUTE_ROWS "\x00\x41\x00\x06\x01\x88" PAYLOAD),
	 "padding bits"},
	{"route, table beyond its words", 8, 4,
	 BYTES(ROUTE_ROWS "\x00\x41\x00\xfe\x03\x08" PAYLOAD), "outside the alphabet"},
	{"route, rest outside its table", 8, 4,
	 BYTES(ROUTE_ROWS "\x00\x41\x00\x02\x04\x3c" PAYLOAD), "rest is outside"},
	{"route, table that leaves no rest", 8, 4,
	 BYTES(ROUTE_ROWS "\x00\x41\x00\x02\x04\x48\x34" PAYLOAD), "over 2^8"},
	{"route, table that ends in none", 8, 4,
	 BYTES(ROUTE_ROWS "\x00\x41\x00\x02\x04\x14\x01" PAYLOAD), "begins or ends"},
	{"route, level out of range", 8, 4, BYTES(ROUTE_ROWS "\x00\x41\x00\x02\x00\x30" PAYLOAD),
	 "out of range"},
	{"route without the size of its payload", 8, 4, BYTES(ROUTE_ROWS TABLES_2),
	 "damaged payload size"},
	{"route, payload cut short", 8, 4, BYTES(ROUTE_ROWS TABLES_2 "\x03\x04\x41"),
	 "payload of 3 bytes where 2 are left"},
	{"route, payload of no bytes", 8, 4, BYTES(ROUTE_ROWS TABLES_2 "\x00"),
	 "payload of 0 bytes for 1 lanes"},
	{"route, half a unit", 8, 4, BYTES(ROUTE_ROWS TABLES_2 "\x04\x04\x41\x00\x00"),
	 "payload of 4 bytes for 1 lanes"},
	{"route, payload without all lanes", 8, 4,
	 BYTES(ROUTE_ROWS "\x10\x41\x00\x06\x01\x08" PAYLOAD), "payload of 3 bytes for 16 lanes"},
	{"route, state cut short", 8, 4, BYTES(ROUTE_ROWS TABLES_2 "\x02\x04\x41"),
	 "payload of 2 bytes for 1 lanes"},
	{"route, state larger than its payload", 8, 4,
	 BYTES(ROUTE_ROWS TABLES_2 "\x03\xf4\x41\x00"), "payload of 3 bytes for 1 lanes"},
	{"route, padding behind states that is set", 8, 4,
	 BYTES(ROUTE_ROWS TABLES_2 "\x03\x04\x41\x80"), "payload of 3 bytes for 1 lanes"},
	{"route with a child", 8, 4, BYTES(ROUTE_ROWS TABLES_2 PAYLOAD ZEROS),
	 "bytes after its end"},

	/* escape */
	{"escape without parameters", 8, 4, BYTES(ESCAPE "\x04\x00"), "cut short"},
	{"escape, count in too many bytes", 8, 4, BYTES(ESCAPE "\x04\x00\x81\x00" ZEROS ZEROS),
	 "a number is malformed"},
	{"escape with codes of no bits", 8, 4, BYTES(ESCAPE "\x00\x00\x00" ZEROS),
	 "codes of a width out of range"},
	{"escape with wide codes", 8, 4, BYTES(ESCAPE "\x09\x00\x00" ZEROS),
	 "codes of a width out of range"},
	{"escape with codes of full width and a base", 8, 4, BYTES(ESCAPE "\x08\x01\x00" ZEROS),
	 "full width and a base"},
	{"escape beyond its type", 8, 4, BYTES(ESCAPE "\x04\xf1\x01\x00" ZEROS),
	 "codes beyond the words of its type"},
	{"escape beyond its type, wrapping", 64, 4, BYTES(ESCAPE "\x04" VARINT_64 "\x00" ZEROS),
	 "codes beyond the words of its type"},
	{"escape with more escaped words than words", 8, 4,
	 BYTES(ESCAPE "\x04\x00\x05" ZEROS ZEROS), "more escaped words than words"},
	{"escape without its second child", 8, 4, BYTES(ESCAPE "\x04\x00\x01" ZEROS), "cut short"},
	{"escape of none with a second child", 8, 4, BYTES(ESCAPE "\x04\x00\x00" ZEROS ZEROS),
	 "bytes after its end"},
	{"escape, child of another width", 8, 4, BYTES(ESCAPE "\x04\x00\x00" CONST "\x10"),
	 "const value is wider"},
	{"escape, second child of another length", 8, 4,
	 BYTES(ESCAPE "\x04\x00\x02" ZEROS RAW "123"), "bytes after its end"},

	/* pack */
	{"pack without its count", 8, 4, BYTES(PACK), "cut short"},
	{"pack of none", 8, 4, BYTES(PACK "\x00" ZEROS), "pack of fewer than 2 words"},
	{"pack of one", 8, 4, BYTES(PACK "\x01" ZEROS), "pack of fewer than 2 words"},
	{"pack that does not divide", 8, 4, BYTES(PACK "\x03" ZEROS),
	 "pack count does not divide the width"},
	{"pack of more words than bits", 8, 4, BYTES(PACK "\x10" ZEROS),
	 "pack count does not divide the width"},
	{"pack of too many words", 8, SIZE_MAX / 2 + 1, BYTES(PACK "\x02" ZEROS),
	 "yield too many words"},
	{"pack whose parts are too many words", 8, 268435457, BYTES(PACK "\x02" ZEROS),
	 "yield too many words"},
	{"pack, child of another width", 8, 4, BYTES(PACK "\x02" CONST "\x10"),
	 "const value is wider"},
	{"pack, child of another length", 16, 2, BYTES(PACK "\x02" RAW "12345"),
	 "bytes after its end"},

	/* flip */
	{"flip without a grid", 8, 4, BYTES(FLIP "\x02"), "cut short"},
	{"flip without flags", 8, 4, BYTES(FLIP "\x02\x01"), "cut short"},
	{"flip, flags in a const", 8, 4, BYTES(FLIP "\x02\x01" CONST "\x01" ZEROS),
	 "that are no lit node"},
	{"flip, flags of 2 bits", 8, 4, BYTES(FLIP "\x02\x01" PACKED "\x00\x02\x04" ZEROS),
	 "beyond words of 1 bits"},
	{"flip without its child", 8, 4, BYTES(FLIP "\x02\x01" PACKED "\x00\x01\x02"), "cut short"},

	/* Words of side information, 4,194,304 of them. */
	{"too many flags", 8, 4194305, BYTES(FLIP VARINT_22 "\x01" ZEROS ZEROS),
	 "too many classes and flags"},
	{"too many flags together", 8, 2097153,
	 BYTES(FLIP VARINT_21 "\x01" ZEROS FLIP VARINT_21 "\x01" ZEROS ZEROS),
	 "too many classes and flags"},
	{"one flag too many", 8, 4194304,
	 BYTES(FLIP "\x80\x80\x80\x02\x01" ZEROS FLIP "\x01\x01" ZEROS ZEROS),
	 "too many classes and flags"},
	{"too many row classes", 8, 4194305, BYTES(ROUTE "\x01\x01\x02\x01\x02" ZEROS),
	 "too many classes and flags"},
};

#endif
