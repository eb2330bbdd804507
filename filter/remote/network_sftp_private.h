/* SPDX-License-Identifier: Apache-2.0 */
/** What network_sftp*.c share; nobody else includes it. */
#ifndef FILTER_REMOTE_NETWORK_SFTP_PRIVATE_H
#define FILTER_REMOTE_NETWORK_SFTP_PRIVATE_H

#include <pthread.h>

#include "filter/remote/known_hosts.h"
#include "filter/remote/location.h"
#include "filter/remote/network_private.h"
#include "filter/remote/network_sftp.h"

/** The agent and key files, at most. */
#define SFTP_LOGINS 4

/** How to come in: whom the server has to be, and who we are. */
struct sftp_access {
	const struct store_settings *settings;
	char *host; /* in lower case */
	unsigned port;
	char *user;

	struct known_host known;
	int known_fd[KNOWN_HOST_KINDS]; /* files in memory with the lines of a kind, or -1 */

	const char *logins[SFTP_LOGINS]; /* a key file, or "" for the agent */
	size_t login_count;
	char *key_files[SFTP_LOGINS]; /* what logins name */
	size_t key_file_count;
	struct buffer unusable; /* text: key files that cannot be used, and why */

	pthread_mutex_t mutex;
	size_t kind; /* what has worked, or is to be tried first */
	size_t login;
};

/** What a host key was found to be. */
enum sftp_host { SFTP_HOST_UNSEEN, SFTP_HOST_KNOWN, SFTP_HOST_REFUSED };

int sftp_access_init(struct sftp_access *access, const struct location *location,
		     const struct store_settings *settings, struct fault *fault);
void sftp_access_release(struct sftp_access *access);

/**
 * Performs what a handle is set up for, as the first of our keys that the server accepts. details
 * is the handle's CURLOPT_ERRORBUFFER. Returns what the last attempt returned; *host says whether
 * its key was seen.
 */
CURLcode sftp_access_perform(struct sftp_access *access, CURL *handle, const char *details,
			     enum sftp_host *host);

/** Whether there is anything to go by: without, nothing is asked of the network. */
int sftp_access_check(const struct sftp_access *access, struct fault *fault);

/** Describes it if the attempt failed for its keys or the server's: -1; else 0. */
int sftp_access_fault(const struct sftp_access *access, CURLcode code, const char *details,
		      enum sftp_host host, struct fault *fault);

struct sftp {
	struct network *network;
	struct sftp_access access;
	struct buffer base; /* the URL up to the store's path, and that, with a NUL */
	struct buffer root; /* the store's path for commands, with a NUL */
};

/* One request and what its callbacks need. */
struct sftp_request {
	struct sftp *sftp;
	CURL *handle;
	const char *doing; /* what is tried, for messages */
	const char *path;
	struct fault *fault;
	CURLcode code; /* what came of it */
	char details[CURL_ERROR_SIZE];
	struct curl_slist *before;
	struct curl_slist *after;

	/* When bytes moved last; libcurl's own count of slowness would blame the server for the
	 * time that we take. */
	uint64_t moved_at;
	curl_off_t moved;
	bool too_slow;

	const struct sftp_upload *upload;
	brevis_write_fn write;
	void *ctx;
	uint64_t received;
};

/** Takes a handle and sets the URL of a path; a directory's ends with a slash. -1 with the fault.
 */
int sftp_request_begin(struct sftp_request *request);
/** Performs it. -1 with the fault. */
int sftp_request_perform(struct sftp_request *request);
/** Gives back what it took; to be called after each beginning. */
void sftp_request_end(struct sftp_request *request);

/** What to do about a kind of fault, or NULL. */
const char *sftp_remedy(enum fault_kind kind);

void sftp_append_text(struct buffer *out, const char *text);

#endif
