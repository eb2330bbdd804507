/* SPDX-License-Identifier: Apache-2.0 */
/** Looks at what a push is about to bring: the pre-push hook. */
#ifndef FILTER_PUSH_CHECK_H
#define FILTER_PUSH_CHECK_H

#include <stddef.h>

#include "filter/convert/convert.h"

/**
 * Checks the refs that git tells a pre-push hook on its stdin ("LOCAL-REF LOCAL-OID REMOTE-REF
 * REMOTE-OID" in each line; text is changed). Reports each file whose object is neither here nor
 * known to any remote, or is damaged, which the remote would be too; and warns of each that is
 * committed raw, of large ones even if nobody wanted them tracked, and of objects that some hubs
 * only take from an agent that is not there. Returns how many files were reported as errors, or -1
 * after reporting a failure.
 */
int push_check(struct workspace *ws, const char *remote, char *text);

#endif
