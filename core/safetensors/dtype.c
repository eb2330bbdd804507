/* SPDX-License-Identifier: Apache-2.0 */
#include "core/safetensors/dtype.h"

#include <string.h>

/* A complex number is two floats. Packed types have no words of their own: they are read as bytes.
 */
static const struct dtype dtypes[] = {
	{"BF16", 16, 16, true},   {"F32", 32, 32, true},       {"F16", 16, 16, true},
	{"F64", 64, 64, true},    {"F8_E4M3", 8, 8, true},     {"F8_E5M2", 8, 8, true},
	{"F8_E8M0", 8, 8, false}, {"F8_E4M3FNUZ", 8, 8, true}, {"F8_E5M2FNUZ", 8, 8, true},
	{"F6_E2M3", 6, 8, false}, {"F6_E3M2", 6, 8, false},    {"F4", 4, 8, false},
	{"BOOL", 8, 8, false},    {"U8", 8, 8, false},         {"I8", 8, 8, false},
	{"U16", 16, 16, false},   {"I16", 16, 16, false},      {"U32", 32, 32, false},
	{"I32", 32, 32, false},   {"U64", 64, 64, false},      {"I64", 64, 64, false},
	{"C64", 64, 32, true},
};

int dtype_find(const void *name, size_t len)
{
	unsigned i;

	for (i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
		if (strlen(dtypes[i].name) == len && memcmp(dtypes[i].name, name, len) == 0)
			return (int)i;
	}
	return -1;
}

const struct dtype *dtype_at(unsigned i)
{
	return &dtypes[i];
}
