/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is remembered here of one upload, so that another process can go on where this one was
 * stopped: <state dir>/uploads/<SHA-256 of store and key>. Each has a token of its own, a random
 * name for what the upload leaves in the store until it is complete; so two clones that upload the
 * same object do not meet. A process holds its journal locked; another of the same clone that
 * uploads the same object at the same time gets one that is kept nowhere, with another token.
 * A cache: without it, or with a damaged one, an upload begins anew. There is no file before
 * journal_begin: what is sent at once needs none.
 */
#ifndef FILTER_REMOTE_JOURNAL_H
#define FILTER_REMOTE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "filter/objects/token.h"

#define JOURNAL_NOTE_SIZE 1024

struct journal;

/** Opens that of an upload, or begins one. state_dir may be NULL. NULL when memory is short. */
struct journal *journal_open(const char *state_dir, const char *store, const char *key);

/** Lets go of it, what it says stays for next time. NULL is allowed. */
void journal_close(struct journal *journal);

/** The upload is complete or given up for good: it is forgotten. Frees it. NULL is allowed. */
void journal_end(struct journal *journal);

/** TOKEN_SIZE hex digits. */
const char *journal_token(const struct journal *journal);

/** The store's own name for the upload (S3's upload id); "" if none was set. */
const char *journal_note(const struct journal *journal);

/** Sets it, and forgets the parts; from here on the token is kept, too. part_size is that of all
 * parts but the last. */
void journal_begin(struct journal *journal, const char *note, uint64_t part_size);

/** 0 if nothing was begun. */
uint64_t journal_part_size(const struct journal *journal);

/** Remembers that part number i (from 0, in any order, by any thread) was sent, with this digest of
 * its bytes. */
void journal_add(struct journal *journal, size_t i, const char *digest);

/** The digest of part i, or NULL if it was not sent. It lasts until that part is added again, or
 * journal_begin: no other thread may do either meanwhile. */
const char *journal_part(const struct journal *journal, size_t i);

#endif
