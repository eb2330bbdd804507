/* SPDX-License-Identifier: Apache-2.0 */
/** The store of the repository around us: what the verbs of `git brevis store` begin with. */
#ifndef FILTER_STORE_PLACE_H
#define FILTER_STORE_PLACE_H

#include "filter/convert/convert.h"
#include "filter/remote/store.h"

struct store_place {
	struct workspace ws;
	struct store_settings settings;
	struct location location;
	struct store *store; /* NULL until store_place_use */
};

/** Opens the repository and reads the settings. Reports and returns -1 on failure; close it in any
 * case. */
int store_place_begin(struct store_place *place);

/** Reads a URL; a relative path counts from base. Reports and returns -1 on failure. */
int store_place_locate(struct store_place *place, const char *url, const char *base);

/** Opens the store that was located, by the settings. Nothing is asked of it yet. Reports and
 * returns -1 on failure. */
int store_place_use(struct store_place *place);

/** All that for the store that git-lfs uses, and makes sure that it is one. upload: the one that
 * pushes go to, should there be two. */
int store_place_open(struct store_place *place, bool upload);
void store_place_close(struct store_place *place);

/** Reports a fault of the store, or of one of its keys (may be NULL), in one line. Returns -1. */
int store_place_report(const struct store_place *place, const char *key, const struct fault *fault);

#endif
