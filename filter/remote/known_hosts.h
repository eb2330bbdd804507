/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What OpenSSH's known_hosts files say about one host. libcurl reads such files too, but takes the
 * kind of key that it asks the server for from the first entry whose name is hashed, whoever that
 * is of; and where it knows no kind, the server may show one that was never recorded. So it is
 * given no more than the lines of its host, of one kind at a time, with the name spelled out.
 */
#ifndef FILTER_REMOTE_KNOWN_HOSTS_H
#define FILTER_REMOTE_KNOWN_HOSTS_H

#include <stdbool.h>

#include "core/base/buffer.h"

/** Kinds of keys, the best first. */
#define KNOWN_HOST_KINDS 5

struct known_host {
	const char *name; /* in lower case; an IPv6 address without brackets */
	unsigned port;
	/** Lines "NAME KIND KEY\n" of each kind; empty if no key of that kind is known. */
	struct buffer lines[KNOWN_HOST_KINDS];
	/** They are of the name and port; else only of the name, on whatever port. */
	bool of_port;
	struct buffer revoked; /* KEY\n of @revoked lines */
};

/** "ssh-ed25519" and so on. */
const char *known_host_kind(size_t kind);

/** Zeroes it and sets the name, which must live as long. */
void known_host_init(struct known_host *known, const char *name, unsigned port);
void known_host_release(struct known_host *known);

/** Adds what a file's text says. What cannot be understood is passed over, as are lines of
 * certificate authorities. -1 when memory is short. */
int known_host_add(struct known_host *known, const char *text, size_t len);

/** After the last file: keys that any of them calls revoked are not known any more. */
void known_host_seal(struct known_host *known);

/** Whether any key is known. */
bool known_host_found(const struct known_host *known);

#endif
