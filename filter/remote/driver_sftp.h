/* SPDX-License-Identifier: Apache-2.0 */
/** What driver_sftp*.c share; nobody else includes it. */
#ifndef FILTER_REMOTE_DRIVER_SFTP_H
#define FILTER_REMOTE_DRIVER_SFTP_H

#include <pthread.h>

#include "filter/remote/driver.h"
#include "filter/remote/network_sftp.h"

struct sftp_store {
	struct sftp *sftp;
	pthread_mutex_t mutex;
	uint8_t made[(1 << 16) / 8]; /* a bit for each objects/ab/cd that is there */
};

#define SFTP_PATH_SIZE 256

/** How a temporary gets its name. */
struct sftp_placing {
	char directories[2][SFTP_PATH_SIZE];
	struct sftp_command commands[3]; /* "mkdir" as far as it may be needed, and "rename" */
	size_t count;
};

/** Says how. The strings must live as long. */
void sftp_placing_plan(struct sftp_store *store, const char *temporary, const char *key,
		       struct sftp_placing *out);

/** It is done: the key's directory is there. */
void sftp_placing_done(struct sftp_store *store, const char *key);

/** As driver.put. */
int sftp_put(void *state, const struct driver_upload *upload, struct fault *fault);

/**
 * After a fault of putting the temporary in its place: if there is something under the key, that
 * is fine, the temporary goes and the fault is forgotten. Returns 0 then, else -1.
 */
int sftp_settle(struct sftp_store *store, const char *temporary, const char *key,
		struct fault *fault);

/** The store's directory is missing. Returns -1. */
int sftp_no_store(struct fault *fault);

/** Makes the directories tmp and objects, if the store's own is there. */
int sftp_make_rooms(struct sftp_store *store, struct fault *fault);

#endif
