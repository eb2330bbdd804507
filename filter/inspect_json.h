/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILTER_INSPECT_JSON_H
#define FILTER_INSPECT_JSON_H

#include "core/brevis.h"

/**
 * Prints what an archive is made of as one JSON object on stdout: format, layout, original {size,
 * sha256}, archive {size}, records, tensors [{name, dtype, shape, offset, size, stored}] and pieces
 * [{offset, size, stored, record, program}]. Returns a brevis_status.
 */
int inspect_json(struct brevis_archive *archive, const char *name, struct brevis_error *err);

#endif
