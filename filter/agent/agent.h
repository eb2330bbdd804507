/* SPDX-License-Identifier: Apache-2.0 */
/** The agent: one session with git-lfs, which asks for one object after the other. */
#ifndef FILTER_AGENT_AGENT_H
#define FILTER_AGENT_AGENT_H

#include <stdbool.h>
#include <stdio.h>

/**
 * Serves a session until git-lfs ends it. Objects travel between the repository around us and the
 * store that git-lfs is set up with; with multipart, to and from the hub that its events name.
 * Each failure is told to git-lfs and to the log, none ends the session. Returns 0; -1 if what came
 * was no protocol, or git-lfs does not listen any more (reported).
 */
int agent_run(FILE *in, FILE *out, bool multipart);

#endif
