/* SPDX-License-Identifier: Apache-2.0 */
/** Downloads: from a store to a file that git-lfs takes. */
#ifndef FILTER_AGENT_DOWNLOAD_H
#define FILTER_AGENT_DOWNLOAD_H

#include "filter/agent/incoming.h"
#include "filter/agent/transfer.h"

/**
 * Downloads an object, going on where an earlier attempt has stopped, restores it if it is stored
 * as an archive, and proves that it is what its oid names. *landed is then to be released. Returns
 * 0, or -1 with *fault; then nothing was handed out, and what came so far is kept for next time, if
 * it may be of use.
 */
int download_object(struct transfer *transfer, const struct pointer *pointer, struct landed *landed,
		    struct fault *fault);

#endif
