/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/hub.h"

#include "filter/agent/incoming.h"

int hub_open(struct hub *hub, const struct store_settings *settings, const char *lfs_dir,
	     struct meter *meter, struct fault *fault)
{
	*hub = (struct hub){.settings = settings, .lfs_dir = lfs_dir, .meter = meter};
	hub->network = network_new(settings);
	return hub->network ? 0 : fault_nomem(fault);
}

void hub_close(struct hub *hub)
{
	network_free(hub->network);
	*hub = (struct hub){0};
}

static void progress(void *ctx, uint64_t bytes)
{
	struct hub *hub = ctx;

	hub->done += bytes;
	meter_show(hub->meter, hub->done);
}

static int download(struct hub *hub, const struct agent_event *event, struct landed *landed,
		    struct fault *fault)
{
	struct incoming in;
	int rc;

	if (incoming_resume(&in, hub->lfs_dir, event->pointer.oid, fault) < 0)
		return -1;
	rc = incoming_reserve(&in, event->pointer.size, fault);
	if (rc == 0)
		rc = multipart_download(hub->network, hub->settings, event, in.path, progress, hub,
					fault);
	if (rc == 0)
		rc = incoming_land(&in, landed, fault);
	incoming_close(&in, rc < 0 && fault->kind == FAULT_DAMAGED);
	return rc;
}

int hub_transfer(struct hub *hub, const struct agent_event *event, struct landed *landed,
		 struct fault *fault)
{
	hub->done = 0;
	if (event->kind == AGENT_UPLOAD)
		return multipart_upload(hub->network, hub->settings, event, progress, hub, fault);
	return download(hub, event, landed, fault);
}
