/* SPDX-License-Identifier: Apache-2.0 */
/** Headers of safetensors files and of archives' originals: the one way to read them. */
#ifndef CORE_HEADER_H
#define CORE_HEADER_H

#include "core/archive/reader.h"

/** Reads the header of what the archive restores, as brevis_archive_header does, and keeps of it
 * what is asked for. */
int header_of_archive(const struct brevis_archive *archive, enum safetensors_keep keep,
		      struct brevis_header **out, struct brevis_error *err);

#endif
