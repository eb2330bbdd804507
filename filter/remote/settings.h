/* SPDX-License-Identifier: Apache-2.0 */
/** How stores are talked to, as git's configuration and the environment say. */
#ifndef FILTER_REMOTE_SETTINGS_H
#define FILTER_REMOTE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "filter/remote/fault.h"
#include "filter/objects/sync_policy.h"

struct repository;

/** Parts of one object that travel at the same time, at most. */
#define SETTINGS_PARALLEL_MAX 16

/** Strings belong to the settings; NULL means unset. */
struct store_settings {
	unsigned retries;        /* attempts after the first one: lfs.transfer.maxretries, 8 */
	unsigned max_delay_ms;   /* between them: lfs.transfer.maxretrydelay (in s), 10 s */
	unsigned parallel;       /* lfs.concurrenttransfers, at most 16; 4 */
	unsigned dial_timeout_s; /* lfs.dialtimeout, 30 */
	unsigned idle_timeout_s; /* without a byte: lfs.activitytimeout, 30; 0 waits for ever */
	uint64_t part_size;      /* brevis.store.partSize, in bytes: of the parts that an object is
				    sent in, at least 64 KiB; 0: chosen by its size */
	enum sync_policy sync;   /* whether a store that is a directory waits for its disk:
				    brevis.fsync   and git's own */
	char *state_dir;         /* <lfs dir>/brevis, or NULL: nothing can be resumed */

	char *known_hosts; /* brevis.sftp.knownHosts; ~/.ssh/known_hosts */
	char *ssh_key;     /* brevis.sftp.key; NULL: ~/.ssh/id_ed25519, id_ecdsa, id_rsa */
	char *ca_info;     /* GIT_SSL_CAINFO, http.sslCAInfo; NULL: the system's */
	bool tls_verify;   /* GIT_SSL_NO_VERIFY, http.sslVerify */
	char *proxy;       /* http.proxy; NULL: libcurl's environment variables */

	/* Of S3 stores, what goes before their URLs (s3_place.h): */
	char *s3_endpoint;   /* AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, brevis.s3.endpoint */
	char *s3_region;     /* AWS_REGION, AWS_DEFAULT_REGION, brevis.s3.region */
	char *s3_addressing; /* brevis.s3.addressing */
};

/** Reads them; nothing of .lfsconfig, which is others'. Returns 0, or -1 with *fault (and nothing
 * to free). */
int store_settings_read(const struct repository *repository, struct store_settings *out,
			struct fault *fault);
void store_settings_release(struct store_settings *settings);

/**
 * The URL of the store that git-lfs uses for an operation on a remote (may be NULL), as git-lfs
 * itself finds it: lfs.pushurl for uploads, lfs.url, remote.R.lfspushurl, remote.R.lfsurl; in git's
 * configuration before .lfsconfig (that of the work tree, of the index, of HEAD). Only if it begins
 * with "brevis::"; it is given without that. Caller frees; NULL if there is none.
 */
char *store_url(const struct repository *repository, const char *remote, bool upload);

#endif
