/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILTER_INSPECT_TEXT_H
#define FILTER_INSPECT_TEXT_H

#include "core/brevis.h"

/**
 * Prints on stdout, for people, what an archive is made of: a summary, then a line for each tensor
 * with its program. With nodes, each piece of a tensor of several has its own line, and the nodes
 * of each program follow, indented by their depth, with the bytes that each takes itself. Returns a
 * brevis_status.
 */
int inspect_text(struct brevis_archive *archive, const char *name, bool nodes,
		 struct brevis_error *err);

#endif
