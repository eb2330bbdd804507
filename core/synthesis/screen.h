/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A screen for what no sketch of single words shows: words that repeat, alone or in strings, and
 * words that follow from their neighbours. It looks at some thousand words, whatever their number.
 */
#ifndef CORE_SYNTHESIS_SCREEN_H
#define CORE_SYNTHESIS_SCREEN_H

#include <stdbool.h>

#include "core/synthesis/expand.h"

/**
 * True if it finds nothing of that kind in words of 8, 16 or 32 bits, at least 256 of them: they
 * are no copies of their beginning; no strings of 16 bytes come again, near the middle, and no long
 * runs anywhere, more than a few; words are no more often equal than their upper bits allow; and
 * neighbours are no more alike than others. Words of 8 bits are not
 * compared in pairs.
 */
bool screen_finds_nothing(const struct words *in);

#endif
