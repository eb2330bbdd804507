/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK (1024 * 1024)

int stream_read(int fd, brevis_write_fn write, void *ctx)
{
	uint8_t *chunk = malloc(CHUNK);
	int result = 0;

	if (!chunk) {
		errno = ENOMEM;
		return -1;
	}
#ifdef F_SETPIPE_SZ
	/* Large files travel faster through large pipes. */
	(void)fcntl(fd, F_SETPIPE_SZ, CHUNK);
#endif
	for (;;) {
		ssize_t n = read(fd, chunk, CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && result == 0)
			result = -1;
		if (n <= 0)
			break;
		if (result == 0 && write(ctx, chunk, (size_t)n) != 0)
			result = 1;
	}
	free(chunk);
	return result;
}

int stream_write(void *ctx, const void *data, size_t len)
{
	const int *fd = ctx;
	const uint8_t *at = data;

	while (len) {
		ssize_t n = write(*fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}
