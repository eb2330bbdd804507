/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/download.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hasher.h"
#include "filter/agent/holding.h"
#include "filter/agent/incoming.h"
#include "filter/cli/report.h"
#include "filter/stream.h"

/* Smaller objects are hashed without a thread. */
#define THREAD_MIN (UINT64_C(1) << 20)

struct receiving {
	struct transfer *transfer;
	const struct pointer *pointer;
	uint64_t stored; /* bytes in the store */
	struct incoming in;
	struct hasher *hasher; /* NULL: it comes as an archive, which has its own proof */
	struct fault fault;    /* of writing */
};

static bool comes_as_archive(const struct receiving *r)
{
	return r->stored != r->pointer->size;
}

/* ---- what comes ----------------------------------------------------------------------------- */

static int take(void *ctx, const void *data, size_t len)
{
	struct receiving *r = ctx;
	uint64_t ticket = r->hasher ? hasher_add(r->hasher, data, len) : 0;
	int result = incoming_write(&r->in, data, len, &r->fault);

	hasher_wait(r->hasher, ticket);
	meter_show(r->transfer->meter,
		   (uint64_t)((double)r->in.size / (double)r->stored * (double)r->pointer->size));
	return result;
}

static int hash_again(void *ctx, const void *data, size_t len)
{
	struct hasher *hasher = ctx;

	hasher_wait(hasher, hasher_add(hasher, data, len));
	return 0;
}

/* Hashes what came earlier. */
static int hash_begun(struct receiving *r, struct fault *fault)
{
	struct object_file begun;

	if (r->in.size == 0)
		return 0;
	if (object_file_from_fd(&begun, r->in.fd) == 0 &&
	    source_copy(&begun.source, r->in.size, hash_again, r->hasher) == 0)
		return 0;
	return fault_errno(fault, errno, "%s cannot be read", r->in.path);
}

/* Gets what is missing. */
static int receive(struct receiving *r, struct fault *fault)
{
	if (r->in.size > r->stored && incoming_empty(&r->in, fault) != 0)
		return -1;
	if (incoming_reserve(&r->in, r->stored, fault) != 0)
		return -1;
	if (!comes_as_archive(r)) {
		r->hasher = hasher_new(r->pointer->size >= THREAD_MIN);
		if (!r->hasher)
			return fault_nomem(fault);
		if (hash_begun(r, fault) != 0)
			return -1;
	}
	if (r->in.size == r->stored || store_get(r->transfer->store, r->pointer->oid, r->in.size,
						 r->stored, take, r, fault) == 0)
		return 0;
	if (r->fault.kind)
		*fault = r->fault;
	return -1;
}

/* ---- what came ------------------------------------------------------------------------------ */

/* The object itself came: it is the file that git-lfs is given. */
static int finish_plain(struct receiving *r, struct landed *landed, struct fault *fault)
{
	uint8_t digest[BREVIS_SHA256_SIZE];
	char hex[OID_HEX_SIZE + 1];

	hasher_final(r->hasher, digest);
	digest_to_hex(digest, hex);
	if (strcmp(hex, r->pointer->oid) != 0)
		return fault_set(fault, FAULT_DAMAGED, HOLDING_REMEDY,
				 "what is there is damaged: its SHA-256 is not its name");
	return incoming_land(&r->in, landed, fault);
}

/* The file that an archive is restored to. */
struct restoring {
	struct incoming out;
	struct fault fault;
};

static int put(void *ctx, const void *data, size_t len)
{
	struct restoring *restoring = ctx;

	return incoming_write(&restoring->out, data, len, &restoring->fault);
}

static int decode(struct receiving *r, const struct brevis_archive *archive,
		  struct restoring *restoring, struct fault *fault)
{
	struct workspace *ws = r->transfer->ws;
	struct brevis_decode_options options = {0};
	struct brevis_error err;
	int status;

	thread_share_take(&ws->share, ws->threads);
	options.threads = ws->share.threads;
	status = brevis_archive_decode(archive, &options, put, restoring, &err);
	thread_share_return(&ws->share);
	if (status == BREVIS_OK)
		return 0;
	if (!restoring->fault.kind)
		return holding_fault(&err, fault);
	*fault = restoring->fault;
	return -1;
}

/* Restores the object. The archive that came is of no use then. */
static int restore(struct receiving *r, const struct brevis_archive *archive, struct landed *landed,
		   struct fault *fault)
{
	struct restoring restoring = {.fault = {.kind = FAULT_NONE}};
	int result = -1;

	if (holding_check_archive(brevis_archive_info(archive), r->pointer, fault) != 0)
		return -1;
	if (incoming_create(&restoring.out, repository_lfs_dir(r->transfer->ws->repository),
			    fault) != 0)
		return -1;
	if (incoming_reserve(&restoring.out, r->pointer->size, fault) == 0 &&
	    decode(r, archive, &restoring, fault) == 0)
		result = incoming_land(&restoring.out, landed, fault);
	incoming_close(&restoring.out, true);
	return result;
}

static int finish_archive(struct receiving *r, struct landed *landed, struct fault *fault)
{
	struct brevis_archive *archive = NULL;
	struct object_file file;
	struct brevis_error err;
	int result;

	if (object_file_from_fd(&file, r->in.fd) != 0)
		return fault_errno(fault, errno, "%s cannot be read", r->in.path);
	if (!file.is_archive)
		return fault_set(fault, FAULT_DAMAGED, HOLDING_REMEDY,
				 "what is there has %" PRIu64 " bytes instead of %" PRIu64
				 ", and is no archive",
				 r->stored, r->pointer->size);
	if (brevis_archive_open(&file.source, &archive, &err) != BREVIS_OK)
		return holding_fault(&err, fault);
	result = restore(r, archive, landed, fault);
	brevis_archive_free(archive);
	if (file.failure && file.failure != ENODATA)
		return fault_errno(fault, file.failure, "%s cannot be read", r->in.path);
	return result;
}

/* Gets the object once. *was_resumed tells if a part of it was here already. */
static int get(struct receiving *r, bool *was_resumed, struct landed *landed, struct fault *fault)
{
	const char *lfs_dir = repository_lfs_dir(r->transfer->ws->repository);
	int result;

	if (incoming_resume(&r->in, lfs_dir, r->pointer->oid, fault) != 0)
		return -1;
	*was_resumed = r->in.size > 0;
	result = receive(r, fault);
	if (result == 0 && comes_as_archive(r))
		result = finish_archive(r, landed, fault);
	else if (result == 0)
		result = finish_plain(r, landed, fault);
	/* What was damaged, and an archive that was restored, are of no use any more. */
	incoming_close(&r->in, result == 0 || fault->kind == FAULT_DAMAGED);
	hasher_free(r->hasher);
	r->hasher = NULL;
	return result;
}

static int absent(const struct pointer *pointer, struct fault *fault)
{
	char remedy[FAULT_TEXT_SIZE];

	snprintf(remedy, sizeof(remedy),
		 "push it from a clone that has it: git lfs push --object-id origin %s",
		 pointer->oid);
	return fault_set(fault, FAULT_ABSENT, remedy, "the store lacks it");
}

int download_object(struct transfer *transfer, const struct pointer *pointer, struct landed *landed,
		    struct fault *fault)
{
	struct receiving r = {.transfer = transfer, .pointer = pointer};
	bool was_resumed = false;
	int result;

	if (store_size(transfer->store, pointer->oid, &r.stored, fault) != 0)
		return fault->kind == FAULT_ABSENT ? absent(pointer, fault) : -1;
	result = get(&r, &was_resumed, landed, fault);
	/* The part that was here may be at fault. */
	if (result != 0 && was_resumed && fault->kind == FAULT_DAMAGED) {
		report_trace("download %s: what came earlier is damaged; all of it anew",
			     pointer->oid);
		result = get(&r, &was_resumed, landed, fault);
	}
	if (result == 0)
		report_trace("download %s: %" PRIu64 " bytes for %" PRIu64, pointer->oid, r.stored,
			     pointer->size);
	return result;
}
