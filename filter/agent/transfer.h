/* SPDX-License-Identifier: Apache-2.0 */
/** What uploads and downloads of one session have in common. */
#ifndef FILTER_AGENT_TRANSFER_H
#define FILTER_AGENT_TRANSFER_H

#include "filter/agent/meter.h"
#include "filter/convert/convert.h"
#include "filter/remote/store.h"

struct transfer {
	struct workspace *ws;
	struct store *store;
	struct meter *meter; /* of the object at hand */
	bool compress;       /* uploads: brevis.store.compress */
};

#endif
