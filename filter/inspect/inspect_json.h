/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILTER_INSPECT_JSON_H
#define FILTER_INSPECT_JSON_H

#include "core/brevis.h"
#include "filter/cli/json_output.h"

/**
 * Puts what an archive is made of into a document, as one JSON object:
 *
 *   file, format, layout
 *   original {size, sha256}
 *   archive {size, frame}     frame: bytes that are part of no record
 *   prior                     SHA-256 of the prior that guided the encoder, or null
 *   records
 *   tensors [{name, dtype, shape, offset, size, stored, pieces}]
 *   other                     the pieces of no tensor
 *
 * where pieces are a list of {offset, size, stored, record, notation, program}: record is the
 * number of the record that restores the piece, stored is 0 if an earlier piece has it already,
 * notation is the program as text, and program is its root or null for opaque bytes. A node is {op,
 * detail, width, count, bytes} and, unless it is a leaf, children, a list of nodes; bytes are its
 * own.
 *
 * Returns a brevis_status.
 */
int inspect_json(struct json_output *json, struct brevis_archive *archive, const char *name,
		 struct brevis_error *err);

#endif
