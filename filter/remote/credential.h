/* SPDX-License-Identifier: Apache-2.0 */
/**
 * User and password of a server, as `git credential` knows them: from its helpers, or from whoever
 * sits at the terminal, if git may ask there (GIT_TERMINAL_PROMPT). A process asks once, and only
 * when the server wants to know; git is told, once, whether the answer was good.
 *
 * All functions but new and free may be called by several threads at once.
 */
#ifndef FILTER_REMOTE_CREDENTIAL_H
#define FILTER_REMOTE_CREDENTIAL_H

#include <stdbool.h>

#include "filter/remote/fault.h"

struct credential;

/**
 * For a server: protocol is "http" or "https", host may end in ":port". path and user may be NULL.
 * Strings are copied. Returns NULL when memory is short.
 */
struct credential *credential_new(const char *protocol, const char *host, const char *path,
				  const char *user);

/** Wipes what it knows. NULL is allowed. */
void credential_free(struct credential *credential);

/**
 * What to send with a request; false, and nothing is set, while it was not asked for. The strings
 * live as long as the credential.
 */
bool credential_get(struct credential *credential, const char **user, const char **password);

/** The server wants to know: asks git, unless that has been done. Returns 0, or -1 with *fault
 * (FAULT_DENIED) if there is no answer, or none that the server takes. */
int credential_ask(struct credential *credential, struct fault *fault);

/** The server has accepted them. */
void credential_approve(struct credential *credential);

/** The server has refused them: git is to forget them, and they are not sent again unless they were
 * good before. Returns -1 with *fault (FAULT_DENIED). */
int credential_reject(struct credential *credential, struct fault *fault);

#endif
