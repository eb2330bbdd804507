/* SPDX-License-Identifier: Apache-2.0 */
/**
 * sftp over libcurl (and its libssh2): one server, as one user. Paths are relative to the store's
 * directory there.
 *
 * Functions make one attempt and return 0, or -1 with *fault: FAULT_ABSENT if the path, or the
 * directory that it is to be in, is not there; FAULT_READ_ONLY if the server does not let it be
 * written; FAULT_TRANSIENT, FAULT_UNTRUSTED, FAULT_DENIED as they are described. Any number of
 * threads may call them at once; each has a connection of its own, which is kept.
 */
#ifndef FILTER_REMOTE_NETWORK_SFTP_H
#define FILTER_REMOTE_NETWORK_SFTP_H

#include <sys/types.h>

#include "filter/remote/location.h"
#include "filter/remote/network.h"

struct sftp;

/** Reads keys and known hosts, asks nothing of the network. What is given must live as long. */
int sftp_new(const struct location *location, const struct store_settings *settings,
	     struct sftp **out, struct fault *fault);
void sftp_free(struct sftp *sftp);

/** Size of a file; when it was changed, in seconds since 1970, if modified is not NULL. */
int sftp_stat(struct sftp *sftp, const char *path, uint64_t *size, int64_t *modified,
	      struct fault *fault);

/** As driver.read. */
int sftp_read(struct sftp *sftp, const char *path, uint64_t offset, uint64_t len,
	      brevis_write_fn write, void *ctx, struct fault *fault);

/** Appends what is in a directory, a line each: names alone, or as "ls -l" shows them. */
int sftp_list(struct sftp *sftp, const char *path, bool long_entries, struct buffer *out,
	      struct fault *fault);

struct sftp_command {
	const char *verb; /* "mkdir", "rename", "rm" */
	const char *path;
	const char *target; /* of "rename", which overwrites nothing; else NULL */
	bool may_fail;      /* whatever the server says to it */
};

/** Runs commands one after the other, up to the first that fails. */
int sftp_run(struct sftp *sftp, const struct sftp_command *commands, size_t count,
	     struct fault *fault);

struct sftp_upload {
	const char *path;
	/** 0: the file is made, or emptied. Else that must be its size, for OpenSSH appends to the
	 * end, wherever that is. */
	uint64_t offset;
	/** Gives the next bytes, at most len: how many; 0 at the end; -1 to stop, with *fault. May
	 * wait as long as it likes. */
	ssize_t (*next)(void *ctx, void *buf, size_t len, struct fault *fault);
	/** Told how many of them the server has acknowledged by now, all in all. May be NULL. */
	void (*acknowledged)(void *ctx, uint64_t bytes);
	void *ctx;
	const struct sftp_command *before; /* run before it, before_count of them, */
	size_t before_count;
	const struct sftp_command *after; /* and after a complete one */
	size_t after_count;
};

int sftp_upload(struct sftp *sftp, const struct sftp_upload *upload, struct fault *fault);

/** Makes the store's directory and those above it, as far as they are missing and may be made. */
int sftp_make_root(struct sftp *sftp, struct fault *fault);

/** After a command failed: says so in *fault if the server's disk is full or read-only. Servers
 * themselves only say "Failure". Uploads do it by themselves. */
void sftp_diagnose(struct sftp *sftp, struct fault *fault);

#endif
