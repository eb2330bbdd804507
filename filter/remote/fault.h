/* SPDX-License-Identifier: Apache-2.0 */
/** Why something with a store failed. Nothing in this room prints: whoever asked reports. */
#ifndef FILTER_REMOTE_FAULT_H
#define FILTER_REMOTE_FAULT_H

#include <stddef.h>

enum fault_kind {
	FAULT_NONE = 0,
	FAULT_TRANSIENT,   /* another attempt may succeed: connection, time-out, busy server */
	FAULT_ABSENT,      /* the store lacks the key */
	FAULT_NO_STORE,    /* no store there: a missing directory, bucket, or description */
	FAULT_DENIED,      /* credentials are missing or wrong */
	FAULT_UNTRUSTED,   /* an unknown or changed host key, a certificate that does not hold */
	FAULT_READ_ONLY,   /* nothing can be written there */
	FAULT_NO_SPACE,    /* no room, here or there */
	FAULT_DAMAGED,     /* content that is not what its name says */
	FAULT_UNSUPPORTED, /* a newer store, an unknown scheme, a server that lacks a method */
	FAULT_LOCAL,       /* this machine: memory, files, configuration */
	FAULT_CANCELLED    /* whoever gives or takes the bytes stopped, and knows why */
};

#define FAULT_TEXT_SIZE 512

/** Zeroed memory is no fault. The strings are single lines without a final period. */
struct fault {
	enum fault_kind kind;
	unsigned retry_after_ms; /* FAULT_TRANSIENT: what the server asks for; 0: nothing */
	char cause[FAULT_TEXT_SIZE];
	char remedy[FAULT_TEXT_SIZE]; /* what to do; "" if there is nothing to say */
};

/** Describes a fault. The cause is a printf format, the remedy a plain string or NULL. Control
 * characters come out escaped. */
void fault_fill(struct fault *fault, enum fault_kind kind, const char *remedy, const char *cause,
		...) __attribute__((format(printf, 4, 5)));

/** The same of an errno: "CAUSE: No space left on device", its kind and remedy by its number. */
void fault_fill_errno(struct fault *fault, int error, const char *cause, ...)
	__attribute__((format(printf, 3, 4)));

/** fault_fill and fault_fill_errno, and -1, so that a failing function ends with them. Macros, so
 * that compilers and analyzers see that. */
#define fault_set(fault, kind, ...)    (fault_fill(fault, kind, __VA_ARGS__), fault_raised())
#define fault_errno(fault, error, ...) (fault_fill_errno(fault, error, __VA_ARGS__), fault_raised())

static inline int fault_raised(void)
{
	return -1;
}

/** Memory is short. Returns -1. */
static inline int fault_nomem(struct fault *fault)
{
	return fault_set(fault, FAULT_LOCAL, NULL, "out of memory");
}

#endif
