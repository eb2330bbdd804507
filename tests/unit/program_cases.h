/* SPDX-License-Identifier: Apache-2.0 */
/** Programs that break one rule of the language each. */
#ifndef TESTS_UNIT_PROGRAM_CASES_H
#define TESTS_UNIT_PROGRAM_CASES_H

#include <stddef.h>
#include <stdint.h>

#define BYTES(literal) (const uint8_t *)(literal), sizeof(literal) - 1

/* Parts of programs: operators, codings, forms. */
#define LIT    "\x01"
#define CONST  "\x02"
#define CONCAT "\x03"
#define MERGE  "\x07"
#define RAW    "\x00"
#define PACKED "\x01"
#define FIELDS "\x00"
#define BITS   "\x01"
#define PLANES "\x02"

/* A packed literal of no bits: any number of words of value 0, in five bytes with LIT. */
#define ZEROS LIT PACKED "\x00\x00"

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
	{"operator 0", 16, 4, BYTES("\x00"), "unknown operator 0"},
	{"repeat", 16, 4, BYTES("\x04\x02" ZEROS), "unknown operator 4"},
	{"map", 16, 4, BYTES("\x05" ZEROS), "unknown operator 5"},
	{"scan", 16, 4, BYTES("\x06" ZEROS), "unknown operator 6"},
	{"operator 255", 16, 4, BYTES("\xff"), "unknown operator 255"},
	{"bytes after the program", 16, 4, BYTES(ZEROS "\x00"), "bytes after its end"},

	/* T-Lit */
	{"lit without coding", 16, 4, BYTES(LIT), "literal: cut short"},
	{"lit of unknown coding", 16, 4, BYTES(LIT "\x04"), "unknown coding 4"},
	{"raw lit, short", 16, 4, BYTES(LIT RAW "1234567"), "payload of 8 bytes where 7 are left"},
	{"raw lit, long", 16, 4, BYTES(LIT RAW "123456789"), "bytes after its end"},
	{"raw lit of 12 bits", 12, 4, BYTES(LIT RAW "12345678"), "raw literal: words of 12 bits"},
	{"packed lit wider than its type", 4, 2, BYTES(LIT PACKED "\x00\x05\xff\x03"),
	 "beyond words of 4 bits"},
	{"packed lit, base too wide", 4, 2, BYTES(LIT PACKED "\x10\x01\x03"),
	 "beyond words of 4 bits"},
	{"packed lit, padding set", 4, 2, BYTES(LIT PACKED "\x00\x01\x04"), "padding bits"},
	{"packed lit, short", 4, 3, BYTES(LIT PACKED "\x00\x04\x11"),
	 "payload of 2 bytes where 1 are left"},
	{"huffman lit of 13 bits", 13, 4, BYTES(LIT "\x02\x00\x00\x00\x00"),
	 "cannot be entropy-coded"},
	{"rans lit of 13 bits", 13, 4, BYTES(LIT "\x03\x00\x00\x00\x00"),
	 "cannot be entropy-coded"},

	/* T-Const */
	{"const of no words", 16, 0, BYTES(CONST "\x00\x00"), "const of no words"},
	{"const, short", 16, 4, BYTES(CONST "\x00"), "cut short"},
	{"const of 12 bits, too wide", 12, 4, BYTES(CONST "\xff\x1f"), "const value is wider"},
	{"const of 1 bit, too wide", 1, 4, BYTES(CONST "\x02"), "const value is wider"},

	/* T-Concat */
	{"concat without arity", 8, 4, BYTES(CONCAT), "cut short"},
	{"concat of none", 8, 4, BYTES(CONCAT "\x00"), "concat arity out of range"},
	{"concat of one", 8, 4, BYTES(CONCAT "\x01" CONST "\x07"), "concat arity out of range"},
	{"concat of 64", 8, 99, BYTES(CONCAT "\x40"), "concat arity out of range"},
	{"concat without lengths", 8, 4, BYTES(CONCAT "\x02"), "cut short"},
	{"concat, length in too many bytes", 8, 4,
	 BYTES(CONCAT "\x02\x81\x00" CONST "\x07" CONST "\x08"), "cut short"},
	{"concat with an empty child", 8, 4, BYTES(CONCAT "\x02\x00" ZEROS CONST "\x08"),
	 "do not sum"},
	{"concat with an empty last child", 8, 4, BYTES(CONCAT "\x02\x04" CONST "\x07" ZEROS),
	 "do not sum"},
	{"concat longer than its type", 8, 4,
	 BYTES(CONCAT "\x03\x03\x02" CONST "\x07" CONST "\x08" CONST "\x09"), "do not sum"},
	{"concat, length of 64 bits", 8, 4,
	 BYTES(CONCAT "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" CONST "\x07" CONST "\x08"),
	 "do not sum"},
	{"concat of no words", 8, 0, BYTES(CONCAT "\x02\x01" CONST "\x07" CONST "\x08"),
	 "do not sum"},
	{"concat without its last child", 8, 4, BYTES(CONCAT "\x02\x01" CONST "\x07"), "cut short"},
	{"concat, child of another length", 8, 4,
	 BYTES(CONCAT "\x02\x01" LIT RAW "12" LIT RAW "34"), "unknown operator"},

	/* T-Merge */
	{"merge of no words", 16, 0, BYTES(MERGE PLANES ZEROS ZEROS), "merge of no words"},
	{"merge without form", 16, 4, BYTES(MERGE), "cut short"},
	{"merge of form 3", 16, 4, BYTES(MERGE "\x03\x02\x08\x08"), "unknown form of merge"},
	{"merge without arity", 16, 4, BYTES(MERGE FIELDS), "cut short"},
	{"merge of none", 16, 4, BYTES(MERGE FIELDS "\x00"), "merge arity out of range"},
	{"merge of one", 16, 4, BYTES(MERGE FIELDS "\x01\x10" ZEROS), "merge arity out of range"},
	{"merge of 65", 64, 4, BYTES(MERGE FIELDS "\x41"), "merge arity out of range"},
	{"merge without widths", 16, 4, BYTES(MERGE FIELDS "\x02\x01"), "cut short"},
	{"merge with an empty field", 16, 4, BYTES(MERGE FIELDS "\x02\x10\x00" ZEROS ZEROS),
	 "field of no bits"},
	{"merge of too few bits", 16, 4, BYTES(MERGE FIELDS "\x02\x07\x08" ZEROS ZEROS),
	 "do not sum"},
	{"merge of too many bits", 16, 4, BYTES(MERGE FIELDS "\x02\x09\x08" ZEROS ZEROS),
	 "do not sum"},
	{"merge whose bits wrap", 16, 4, BYTES(MERGE FIELDS "\x03\xff\xff\x12" ZEROS ZEROS ZEROS),
	 "do not sum"},
	{"merge without its last child", 16, 4, BYTES(MERGE PLANES ZEROS), "cut short"},
	{"merge, child of another width", 16, 4,
	 BYTES(MERGE FIELDS "\x02\x04\x0c" CONST "\x10" ZEROS), "const value is wider"},
	/* The canonical form of each cut. */
	{"bit planes as fields", 3, 4, BYTES(MERGE FIELDS "\x03\x01\x01\x01" ZEROS ZEROS ZEROS),
	 "planes in the form of fields"},
	{"byte planes as fields", 16, 4, BYTES(MERGE FIELDS "\x02\x08\x08" ZEROS ZEROS),
	 "planes in the form of fields"},
	{"bit planes of one bit", 1, 4, BYTES(MERGE BITS ZEROS), "merge arity out of range"},
	{"byte planes of one byte", 8, 4, BYTES(MERGE PLANES ZEROS), "merge arity out of range"},
	{"byte planes of 12 bits", 12, 4, BYTES(MERGE PLANES ZEROS), "merge arity out of range"},
	{"byte planes of 20 bits", 20, 4, BYTES(MERGE PLANES ZEROS ZEROS),
	 "merge arity out of range"},
	{"bit planes of 64 bits", 64, 4, BYTES(MERGE BITS), "cut short"},
};

#endif
