/* SPDX-License-Identifier: Apache-2.0 */
/** Pointers: what is taken for one can be written canonically, and reads back as the same. */
#include <string.h>

#include "filter/objects/pointer.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[POINTER_TEXT_SIZE];
	struct pointer found, again;
	size_t length;

	if (!pointer_parse(data, size, &found))
		return 0;
	PROPERTY(size < POINTER_SIZE_LIMIT);
	PROPERTY(strspn(found.oid, "0123456789abcdef") == OID_HEX_SIZE);
	length = pointer_format(&found, text);
	PROPERTY(length < sizeof(text) && text[length] == 0);
	PROPERTY(pointer_parse(text, length, &again) && pointer_equal(&found, &again));
	return 0;
}
