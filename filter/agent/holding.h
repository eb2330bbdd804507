/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a store holds under an object's key: the object's bytes, which are as many as the object
 * has, or an archive of it, which has fewer. The size alone says which of both it has to be.
 */
#ifndef FILTER_AGENT_HOLDING_H
#define FILTER_AGENT_HOLDING_H

#include "filter/objects/object_store.h"
#include "filter/remote/store.h"

/**
 * Tells whether what the store holds in so many bytes can be the object, by its beginning (which is
 * compared with the object's own, here) or by both ends of the archive. Returns 0, or -1 with
 * *fault: FAULT_DAMAGED if it is not, whichever of both is wrong.
 */
int holding_check(struct store *store, const struct pointer *pointer, uint64_t stored,
		  const struct object_file *file, struct fault *fault);

/** Whether what an archive says of itself fits: FAULT_DAMAGED if not. */
int holding_check_archive(const struct brevis_archive_info *info, const struct pointer *pointer,
			  struct fault *fault);

/** A fault of what the store holds, after an archive's. */
int holding_fault(const struct brevis_error *err, struct fault *fault);

/** What helps against it. */
#define HOLDING_REMEDY                                                                             \
	"`git brevis store verify` tells more; remove that object there, and push it again from "  \
	"where it is"

#endif
