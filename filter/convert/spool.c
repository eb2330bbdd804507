/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/convert/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "filter/cli/interrupt.h"
#include "filter/stream.h"

struct spool {
	const struct object_store *store; /* may be NULL */
	struct buffer memory;
	int fd; /* -1 while all is in memory */
	uint64_t size;
	int failure;
	char cause[160];
};

struct spool *spool_new(const struct object_store *store)
{
	struct spool *spool = calloc(1, sizeof(*spool));

	if (!spool)
		return NULL;
	spool->store = store;
	spool->fd = -1;
	return spool;
}

void spool_free(struct spool *spool)
{
	if (!spool)
		return;
	buffer_release(&spool->memory);
	if (spool->fd >= 0)
		close(spool->fd);
	free(spool);
}

static const char *temporary_directory(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/tmp";
}

/* Opens a file that has no name, where TMPDIR says. */
static int open_in_tmpdir(void)
{
	int fd = open(temporary_directory(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *path;

	/* Not every file system has files that never had a name. */
	if (fd >= 0 || asprintf(&path, "%s/brevis-XXXXXX", temporary_directory()) < 0)
		return fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		interrupt_remove_file(-1, path);
	free(path);
	return fd;
}

static int fail(struct spool *spool, int reason)
{
	spool->failure = reason;
	if (spool->fd >= 0)
		snprintf(spool->cause, sizeof(spool->cause), "cannot write a temporary file: %s",
			 strerror(reason));
	else
		snprintf(spool->cause, sizeof(spool->cause),
			 "cannot create a temporary file in %s: %s", temporary_directory(),
			 strerror(reason));
	return -1;
}

static int write_all(struct spool *spool, const void *data, size_t len)
{
	return stream_write(&spool->fd, data, len) == 0 ? 0 : fail(spool, errno);
}

/* Moves what is in memory to a file. */
static int open_file(struct spool *spool)
{
	if (spool->store)
		spool->fd = object_store_scratch(spool->store);
	if (spool->fd < 0)
		spool->fd = open_in_tmpdir();
	if (spool->fd < 0)
		return fail(spool, errno);
	return write_all(spool, spool->memory.data, spool->memory.size);
}

int spool_write(void *ctx, const void *data, size_t len)
{
	struct spool *spool = ctx;

	if (spool->failure)
		return -1;
	spool->size += len;
	if (spool->fd < 0 && len <= SPOOL_MEMORY - spool->memory.size) {
		buffer_append(&spool->memory, data, len);
		return buffer_failed(&spool->memory) ? fail(spool, ENOMEM) : 0;
	}
	if (spool->fd < 0 && open_file(spool) != 0)
		return -1;
	return write_all(spool, data, len);
}

uint64_t spool_size(const struct spool *spool)
{
	return spool->size;
}

const char *spool_failure(const struct spool *spool)
{
	return spool->failure ? spool->cause : NULL;
}

static int read_at(void *ctx, void *buf, size_t len, uint64_t offset)
{
	const struct spool *spool = ctx;

	if (offset > spool->size || len > spool->size - offset)
		return -1;
	if (spool->fd < 0) {
		if (len)
			memcpy(buf, spool->memory.data + offset, len);
		return 0;
	}
	return stream_read_at(spool->fd, buf, len, offset);
}

struct brevis_source spool_source(const struct spool *spool)
{
	return (struct brevis_source){
		.read_at = read_at, .ctx = (void *)(uintptr_t)spool, .size = spool->size};
}

int spool_copy(const struct spool *spool, brevis_write_fn write, void *ctx)
{
	struct brevis_source source = spool_source(spool);

	return source_copy(&source, source.size, write, ctx);
}
