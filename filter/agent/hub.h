/* SPDX-License-Identifier: Apache-2.0 */
/** Objects of a session with a model hub, which each event names: what multipart.h does, between
 * git-lfs's files and its progress. */
#ifndef FILTER_AGENT_HUB_H
#define FILTER_AGENT_HUB_H

#include "filter/agent/incoming.h"
#include "filter/agent/meter.h"
#include "filter/agent/multipart.h"

struct hub {
	const struct store_settings *settings;
	const char *lfs_dir;
	struct meter *meter; /* of the object at hand */
	struct network *network;
	uint64_t done; /* bytes of that object */
};

/** All three must live as long. Returns 0, or -1 with *fault and nothing to close. */
int hub_open(struct hub *hub, const struct store_settings *settings, const char *lfs_dir,
	     struct meter *meter, struct fault *fault);
void hub_close(struct hub *hub);

/** Carries the object of an UPLOAD or DOWNLOAD event. Of a download, *landed is then to be
 * released. Returns 0, or -1 with *fault. */
int hub_transfer(struct hub *hub, const struct agent_event *event, struct landed *landed,
		 struct fault *fault);

#endif
