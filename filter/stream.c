/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buffer.h"

#define CHUNK (1024 * 1024)

/* Sources are read in steps of this size. */
#define STEP (256 * 1024)

void stream_enlarge_pipe(int fd)
{
#ifdef F_SETPIPE_SZ
	(void)fcntl(fd, F_SETPIPE_SZ, CHUNK);
#else
	(void)fd;
#endif
}

int stream_read(int fd, brevis_write_fn write, void *ctx)
{
	uint8_t *chunk = malloc(CHUNK);
	int result = 0;

	if (!chunk) {
		errno = ENOMEM;
		return -1;
	}
	stream_enlarge_pipe(fd);
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

int stream_keep(void *buffer, const void *data, size_t len)
{
	buffer_append(buffer, data, len);
	return buffer_failed(buffer) ? -1 : 0;
}

int stream_write(void *ctx, const void *data, size_t len)
{
	const int *fd = ctx;
	const uint8_t *at = data;

	while (len) {
		ssize_t n = write(*fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int stream_read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	uint8_t *at = buf;

	while (len) {
		ssize_t n = pread(fd, at, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ENODATA;
		if (n <= 0)
			return -1;
		at += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t stream_read_start(int fd, void *buf, size_t room)
{
	size_t done = 0;

	while (done < room) {
		ssize_t n = pread(fd, (char *)buf + done, room - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int stream_write_checked(int fd, const void *data, size_t len, uint64_t offset, uint8_t *room)
{
	const uint8_t *at = data;

	while (len) {
		size_t n = len < STREAM_STEP ? len : STREAM_STEP;

		if (stream_write(&fd, at, n) != 0)
			return -1;
		if (stream_read_at(fd, room, n, offset) != 0) {
			errno = errno == ENODATA ? EIO : errno;
			return -1;
		}
		if (memcmp(room, at, n) != 0) {
			errno = EIO;
			return -1;
		}
		at += n;
		offset += n;
		len -= n;
	}
	return 0;
}

int source_copy(const struct brevis_source *source, uint64_t len, brevis_write_fn write, void *ctx)
{
	uint8_t *chunk = malloc(STEP);
	uint64_t offset = 0;
	int result = 0;

	if (!chunk) {
		errno = ENOMEM;
		return -1;
	}
	while (result == 0 && offset < len) {
		size_t n = len - offset < STEP ? (size_t)(len - offset) : STEP;

		if (source->read_at(source->ctx, chunk, n, offset) != 0)
			result = -1;
		else if (write(ctx, chunk, n) != 0)
			result = 1;
		offset += n;
	}
	free(chunk);
	return result;
}

static int add_to_digest(void *sha, const void *data, size_t len)
{
	brevis_sha256_update(sha, data, len);
	return 0;
}

int source_digest(const struct brevis_source *source, uint8_t sha256[BREVIS_SHA256_SIZE])
{
	struct brevis_sha256 *sha = brevis_sha256_new();
	int result;

	if (!sha) {
		errno = ENOMEM;
		return -1;
	}
	result = source_copy(source, source->size, add_to_digest, sha);
	if (result == 0)
		brevis_sha256_final(sha, sha256);
	brevis_sha256_free(sha);
	return result;
}
