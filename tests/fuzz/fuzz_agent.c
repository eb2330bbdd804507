/* SPDX-License-Identifier: Apache-2.0 */
/** The JSON that git-lfs, or whoever started us, sends to the transfer agent. */
#include <string.h>

#include "filter/agent/protocol.h"
#include "tests/fuzz/fuzz.h"

static void look_at(const struct agent_event *event)
{
	size_t i;

	for (i = 0; i < event->header_count; i++) {
		PROPERTY(event->headers[i].name && event->headers[i].value);
		PROPERTY(agent_event_header(event, event->headers[i].name));
	}
	if (event->kind == AGENT_DAMAGED)
		PROPERTY(event->cause[0]);
	if (event->kind == AGENT_UPLOAD || event->kind == AGENT_DOWNLOAD)
		PROPERTY(strspn(event->pointer.oid, "0123456789abcdef") == OID_HEX_SIZE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *in = size ? fmemopen((void *)data, size, "r") : NULL;
	struct agent_event event;
	size_t lines = 0;
	bool ended;

	if (!in)
		return 0;
	do {
		agent_event_read(in, &event);
		look_at(&event);
		ended = event.kind == AGENT_END;
		agent_event_release(&event);
		PROPERTY(++lines <= size + 1);
	} while (!ended);
	fclose(in);
	return 0;
}
