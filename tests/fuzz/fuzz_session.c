/* SPDX-License-Identifier: Apache-2.0 */
/** git's filter protocol: the input is all that a peer says, which need not be git. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "filter/convert/session.h"
#include "tests/fuzz/fuzz.h"

#define DELAYED_MAX 8

struct filter {
	char *delayed[DELAYED_MAX];
	size_t count;
};

/* Delays what may be delayed and begins with 'd', fails with 'f', and gives back all else. */
static enum session_result convert(void *ctx, const struct session_request *request,
				   struct session *session)
{
	struct filter *filter = ctx;
	const void *data;
	size_t len;
	int more;

	if (request->path[0] == 'f')
		return SESSION_FAILED;
	if (request->path[0] == 'd' && request->can_delay && filter->count < DELAYED_MAX) {
		while ((more = session_read(session, &data, &len)) > 0)
			;
		if (more < 0)
			return SESSION_FAILED;
		filter->delayed[filter->count++] = strdup(request->path);
		return SESSION_DELAYED;
	}
	while ((more = session_read(session, &data, &len)) > 0)
		if (session_write(session, data, len) != 0)
			return SESSION_FAILED;
	return more < 0 ? SESSION_FAILED : SESSION_DONE;
}

static void list_available(void *ctx, struct session *session)
{
	struct filter *filter = ctx;

	while (filter->count) {
		session_name_path(session, filter->delayed[--filter->count]);
		free(filter->delayed[filter->count]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int in = -1;
	static int out = -1;
	struct filter filter = {.count = 0};
	struct session_actions actions = {&filter, convert, convert, list_available};

	if (in < 0) {
		in = memfd_create("session", MFD_CLOEXEC);
		out = open("/dev/null", O_WRONLY | O_CLOEXEC);
		PROPERTY(in >= 0 && out >= 0);
	}
	PROPERTY(ftruncate(in, 0) == 0 && pwrite(in, data, size, 0) == (ssize_t)size);
	PROPERTY(lseek(in, 0, SEEK_SET) == 0);
	session_run(in, out, &actions);
	while (filter.count)
		free(filter.delayed[--filter.count]);
	return 0;
}
