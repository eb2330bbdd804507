/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The priors of the encoder, kept beside the LFS objects:
 *
 *   <lfs dir>/brevis/priors/<sha256>   a prior; its name is the SHA-256 of its bytes
 *   <lfs dir>/brevis/families/<sha256> the name of a family's latest prior, 64 hex digits and a
 *                                      line feed; its own name is that of the family
 *
 * A cache: what is damaged, or cannot be read or written, costs the time of learning a prior anew,
 * and no file is ever refused for it. It grows by a few KB for each family, which is to say each
 * architecture, that a repository ever held; nothing is ever removed from it but what is damaged.
 */
#ifndef FILTER_PRIORS_H
#define FILTER_PRIORS_H

#include <stdbool.h>

#include "core/brevis.h"

/** Bytes of a prior that is read or kept, at most. */
#define PRIOR_SIZE_LIMIT ((size_t)1 << 20)

struct priors;

/** lfs_dir is copied. Creates nothing. Returns NULL when memory is short (reported). */
struct priors *priors_new(const char *lfs_dir);
void priors_free(struct priors *priors);

/**
 * The store for the options of one encoder; the next call ends its use. With read_only nothing is
 * written or removed. The store belongs to priors; NULL, which is no store, for NULL.
 */
const struct brevis_prior_store *priors_begin(struct priors *priors, bool read_only);

/**
 * Traces which prior an archive was made with, in one line: "<doing> <name>: prior loaded 0123...".
 * priors is that of priors_begin, it may be NULL.
 */
void priors_trace(const struct priors *priors, const char *doing, const char *name,
		  const struct brevis_encode_summary *summary);

#endif
