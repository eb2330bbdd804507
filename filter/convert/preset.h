/* SPDX-License-Identifier: Apache-2.0 */
/** The presets of the encoder by their names. */
#ifndef FILTER_PRESET_H
#define FILTER_PRESET_H

#include <stdbool.h>

#include "core/brevis.h"

/** For messages: the names that preset_parse knows. */
#define PRESET_NAMES "fast, default or best"

/** For completion: the same. */
#define PRESET_WORDS "fast default best"

/** Reads a name, in upper or lower case. Returns false, and leaves *out, if it is none. */
bool preset_parse(const char *name, enum brevis_preset *out);

const char *preset_name(enum brevis_preset preset);

#endif
