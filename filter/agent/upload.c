/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "core/base/bytes.h"
#include "filter/agent/holding.h"
#include "filter/agent/outgoing.h"
#include "filter/cli/report.h"

/* What tells a safetensors file: the length of its header, then that. */
#define HEADER_LENGTH_SIZE 8

struct sending {
	struct transfer *transfer;
	const struct outgoing *outgoing;
	uint64_t sent;
};

static void count(void *ctx, uint64_t bytes)
{
	struct sending *s = ctx;

	s->sent += bytes;
	meter_show(s->transfer->meter, outgoing_share(s->outgoing, s->sent));
}

/* Sends the object in one of both ways. Returns 0, -1 with *fault, or 1 if an archive of it is no
 * smaller. */
static int send_object(struct transfer *transfer, const struct pointer *pointer,
		       const struct object_file *file, bool compress, struct fault *fault)
{
	struct sending sending = {.transfer = transfer};
	struct fault own = {.kind = FAULT_NONE};
	struct outgoing *outgoing;
	int result;

	outgoing = outgoing_start(transfer->ws, transfer->store, pointer, file, compress, fault);
	if (!outgoing)
		return -1;
	sending.outgoing = outgoing;
	result = store_put(transfer->store, pointer->oid, outgoing_feed(outgoing), count, &sending,
			   fault);
	switch (outgoing_end(outgoing, &own)) {
	case OUTGOING_NO_SMALLER:
		return result == 0 ? 0 : 1;
	case OUTGOING_FAILED:
		/* What the store says of it is only that it was cancelled. */
		if (result != 0 && fault->kind == FAULT_CANCELLED)
			*fault = own;
		return result;
	default:
		return result;
	}
}

/* Returns 1 if the object looks like a safetensors file, so that it may become smaller, else 0; -1
 * with *fault if it cannot be read. */
static int is_safetensors(const struct object_file *file, struct fault *fault)
{
	uint8_t head[HEADER_LENGTH_SIZE + 1];

	if (file->source.size < sizeof(head))
		return 0;
	if (file->source.read_at(file->source.ctx, head, sizeof(head), 0) != 0)
		return outgoing_unreadable(file, fault);
	return head[HEADER_LENGTH_SIZE] == '{' &&
	       load_le64(head) <= file->source.size - HEADER_LENGTH_SIZE;
}

static int send_best(struct transfer *transfer, const struct pointer *pointer,
		     const struct object_file *file, struct fault *fault)
{
	int compress = transfer->compress ? is_safetensors(file, fault) : 0;
	int result = compress < 0 ? -1 : send_object(transfer, pointer, file, compress, fault);

	if (result <= 0)
		return result;
	report_trace("upload %s: as it is, an archive is no smaller", pointer->oid);
	return send_object(transfer, pointer, file, false, fault);
}

/* Opens the object's file. */
static int open_object(const char *path, const struct pointer *pointer, struct object_file *file,
		       struct fault *fault)
{
	/* Not blocking: a pipe must not hold us up. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return fault_set(fault, FAULT_LOCAL,
				 "see `git brevis fsck`; get it from another clone",
				 "the object here cannot be opened: %s: %s", path, strerror(errno));
	if (object_file_from_fd(file, fd) != 0) {
		close(fd);
		return fault_set(fault, FAULT_LOCAL, "move it away",
				 "the object here is no file: %s", path);
	}
	if (file->source.size == pointer->size)
		return 0;
	object_file_close(file);
	return fault_set(fault, FAULT_DAMAGED,
			 "see `git brevis fsck`; move it away, get a good one (of another clone, "
			 "or by adding the file again), and push again",
			 "the object here is damaged: it has %" PRIu64 " bytes instead of %" PRIu64,
			 file->source.size, pointer->size);
}

int upload_object(struct transfer *transfer, const struct pointer *pointer, const char *path,
		  struct fault *fault)
{
	struct object_file file;
	uint64_t stored;
	int result;

	if (open_object(path, pointer, &file, fault) != 0)
		return -1;
	result = store_size(transfer->store, pointer->oid, &stored, fault);
	if (result == 0) {
		result = holding_check(transfer->store, pointer, stored, &file, fault);
		report_trace("upload %s: is there already", pointer->oid);
	} else if (fault->kind == FAULT_ABSENT) {
		result = send_best(transfer, pointer, &file, fault);
	}
	object_file_close(&file);
	return result;
}
