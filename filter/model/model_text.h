/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The text that git shows and compares instead of a model (diff.brevis.textconv): the same for a
 * raw file, an archive and a pointer of one content. One line for each tensor, so that a change
 * shows as that of a line.
 */
#ifndef FILTER_MODEL_TEXT_H
#define FILTER_MODEL_TEXT_H

#include "filter/model/model_view.h"

/** Prints it on stdout. The content must be here. Reports and returns -1 if it cannot be read. */
int model_text_print(struct model_view *view);

/** True if data begins as such a text does. */
bool model_text_is(const void *data, size_t len);

#endif
