/* SPDX-License-Identifier: Apache-2.0 */
/** Whether to go where an answer sends to. */
#ifndef FILTER_REMOTE_NETWORK_REDIRECT_H
#define FILTER_REMOTE_NETWORK_REDIRECT_H

#include <stdbool.h>

#include "filter/remote/fault.h"

/** An answer may send on so many times. */
#define REDIRECTS_MAX 5

/**
 * Makes *to of a URL and the Location in its answer; the caller frees it. Refused is what is
 * neither http nor https, names a user, or leads from https to http. *elsewhere is set, and
 * otherwise left as it is, if scheme, host or port differ: what is secret is not for that server.
 * doing is what was tried. Returns 0, or -1 with *fault (FAULT_UNSUPPORTED).
 */
int redirect_resolve(const char *from, const char *location, char **to, bool *elsewhere,
		     const char *doing, struct fault *fault);

#endif
