/* SPDX-License-Identifier: Apache-2.0 */
/** Uploads: from an object's file to a store. */
#ifndef FILTER_AGENT_UPLOAD_H
#define FILTER_AGENT_UPLOAD_H

#include "filter/agent/transfer.h"

/**
 * Uploads the object in the file path: as an archive if it is a safetensors file and becomes
 * smaller by that, else as it is. One that is in the store already is looked at, and not sent
 * again. Returns 0 if the store has it now, or -1 with *fault.
 */
int upload_object(struct transfer *transfer, const struct pointer *pointer, const char *path,
		  struct fault *fault);

#endif
