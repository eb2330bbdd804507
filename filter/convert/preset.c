/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/convert/preset.h"

#include <stddef.h>
#include <strings.h>

static const char *const names[] = {
	[BREVIS_PRESET_DEFAULT] = "default",
	[BREVIS_PRESET_FAST] = "fast",
	[BREVIS_PRESET_BEST] = "best",
};

bool preset_parse(const char *name, enum brevis_preset *out)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcasecmp(name, names[i]) == 0) {
			*out = (enum brevis_preset)i;
			return true;
		}
	}
	return false;
}

const char *preset_name(enum brevis_preset preset)
{
	return names[preset];
}
