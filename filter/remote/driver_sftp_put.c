/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An upload over sftp: into tmp/OID.TOKEN, which is renamed when it is whole.
 *
 * A connection that we lost may not be lost to the server: what it has of our requests it may carry
 * out later, even that to make the file, or to empty it. So whatever begins from the beginning does
 * it under a name that no request before it has; only a file that goes on keeps its name.
 *
 * It goes on after an interruption where that file ends. A file that was begun here is written at
 * offsets; so if a connection that we lost writes on for a while, it writes what is right. One that
 * goes on appends, as libcurl and OpenSSH have it. Therefore it only begins when the file is seen
 * to grow no more, and before that gets its name it is seen once more to be no longer than it has
 * to be.
 */
#include "filter/remote/driver_sftp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/digest.h"
#include "filter/remote/sftp_text.h"
#include "filter/objects/token.h"

#define CHUNK ((size_t)1 << 20)

/* Between two looks at a file that may still be growing. */
#define SETTLE_MS 300

/* The feed on its way. */
struct passage {
	struct sftp_store *store;
	const struct driver_upload *upload;
	struct fault *fault;
	char temporary[SFTP_PATH_SIZE];
	char token[17];             /* at the end of that; "": there is none yet */
	char stale[SFTP_PATH_SIZE]; /* one that was given up, or "" */
	uint64_t part_wanted;       /* for an upload that begins */
	uint64_t part_size;
	uint64_t base;    /* where this attempt began */
	uint64_t at;      /* what was read of the feed, and went into .sum */
	uint64_t counted; /* what was told to have arrived */
	bool pending;     /* a block was given to its end, but not acknowledged: */
	size_t block;
	char digest[17];
	struct checksum64_stream *sum; /* of the block that .at is in */
	uint8_t *chunk;
};

/* Names the temporary. */
static void set_token(struct passage *passage, const char *token)
{
	const char *key = passage->upload->key;
	const char *slash = strrchr(key, '/');

	snprintf(passage->token, sizeof(passage->token), "%s", token);
	snprintf(passage->temporary, sizeof(passage->temporary), "tmp/%s.%s",
		 slash ? slash + 1 : key, passage->token);
}

/* Names one that nobody has named before. */
static int set_new_token(struct passage *passage)
{
	char token[sizeof(passage->token)];

	if (token_make(token) != 0)
		return fault_set(passage->fault, FAULT_LOCAL, NULL, "no random number for a name");
	set_token(passage, token);
	return 0;
}

static int feed_fault(struct fault *fault)
{
	if (errno)
		return fault_errno(fault, errno, "reading what is to be sent");
	return fault_set(fault, FAULT_CANCELLED, NULL, "there is nothing to send any more");
}

/* Reads on, no further than to the end of the block. As feed_read. */
static ssize_t read_on(struct passage *passage, void *buf, size_t len)
{
	uint64_t left = passage->part_size - passage->at % passage->part_size;
	ssize_t got;

	if (len > left)
		len = (size_t)left;
	if (passage->at % passage->part_size == 0)
		checksum64_stream_begin(passage->sum);
	got = feed_read(passage->upload->feed, buf, len, passage->at);
	if (got > 0) {
		checksum64_stream_update(passage->sum, buf, (size_t)got);
		passage->at += (uint64_t)got;
	}
	return got;
}

/* Whether a block has just ended; which, and its checksum. */
static bool block_ended(const struct passage *passage, size_t *block, char digest[17])
{
	if (passage->at == 0 || passage->at % passage->part_size != 0)
		return false;
	*block = (size_t)(passage->at / passage->part_size - 1);
	snprintf(digest, 17, "%016" PRIx64, checksum64_stream_end(passage->sum));
	return true;
}

/* Tells of what is there, once. */
static void count(struct passage *passage, uint64_t there)
{
	if (there <= passage->counted)
		return;
	passage->upload->sent(passage->upload->ctx, there - passage->counted);
	passage->counted = there;
}

/* Blocks are remembered when they are acknowledged to their end. Another does not end before that,
 * for they are larger than what may be on its way. */
static void acknowledged(void *ctx, uint64_t bytes)
{
	struct passage *passage = (struct passage *)ctx;
	uint64_t there = passage->base + bytes;

	count(passage, there);
	if (!passage->pending || there / passage->part_size <= passage->block)
		return;
	journal_add(passage->upload->journal, passage->block, passage->digest);
	passage->pending = false;
}

static ssize_t next_bytes(void *ctx, void *buf, size_t len, struct fault *fault)
{
	struct passage *passage = (struct passage *)ctx;
	ssize_t got = read_on(passage, buf, len);

	if (got > 0)
		passage->pending |= block_ended(passage, &passage->block, passage->digest);
	return got < 0 ? feed_fault(fault) : got;
}

/* ---- going on ----------------------------------------------------------------------------------
 */

static size_t known_blocks(const struct journal *journal)
{
	size_t known = 0;

	while (journal_part(journal, known))
		known++;
	return known;
}

/* What the server has is compared with what is here. */
struct comparison {
	struct passage *passage;
	uint64_t at;
	bool differs;
	int error; /* of reading here */
};

static int compare(void *ctx, const void *data, size_t len)
{
	struct comparison *comparison = (struct comparison *)ctx;
	struct passage *passage = comparison->passage;
	const uint8_t *there = (const uint8_t *)data;

	while (len) {
		size_t want = len < CHUNK ? len : CHUNK;
		ssize_t got =
			feed_read(passage->upload->feed, passage->chunk, want, comparison->at);

		if (got < 0)
			comparison->error = errno ? errno : -1;
		else if (got == 0 || memcmp(passage->chunk, there, (size_t)got) != 0)
			comparison->differs = true;
		if (comparison->error || comparison->differs)
			return -1;
		there += got;
		len -= (size_t)got;
		comparison->at += (uint64_t)got;
	}
	return 0;
}

/* 1: the server's bytes are ours; 0: they are not; -1 with the fault. */
static int same_there(struct passage *passage, const struct sftp_resume *plan)
{
	struct comparison comparison = {passage, plan->compare, false, 0};

	if (sftp_read(passage->store->sftp, passage->temporary, plan->compare,
		      plan->offset - plan->compare, compare, &comparison, passage->fault) == 0)
		return 1;
	if (comparison.error) {
		errno = comparison.error > 0 ? comparison.error : 0;
		return feed_fault(passage->fault);
	}
	return comparison.differs || passage->fault->kind == FAULT_DAMAGED ? 0 : -1;
}

/* Reads the feed up to an offset. 1: its blocks are those of the journal; 0: they are not; -1. */
static int same_here(struct passage *passage, uint64_t offset)
{
	struct journal *journal = passage->upload->journal;
	char digest[17];
	size_t block;

	while (passage->at < offset) {
		uint64_t left = offset - passage->at;
		ssize_t got = read_on(passage, passage->chunk, left < CHUNK ? (size_t)left : CHUNK);
		const char *known;

		if (got < 0)
			return feed_fault(passage->fault);
		if (got == 0)
			return 0;
		if (!block_ended(passage, &block, digest))
			continue;
		known = journal_part(journal, block);
		if (!known)
			journal_add(journal, block, digest);
		else if (strcmp(known, digest) != 0)
			return 0;
	}
	return 1;
}

/* Time for a connection that we lost to show that it still writes. */
static void wait_to_settle(void)
{
	const struct timespec pause = {0, SETTLE_MS * 1000000L};

	nanosleep(&pause, NULL);
}

/* The temporary must have stopped growing. 0, or -1 with a fault for another attempt. */
static int settled(struct passage *passage, uint64_t expected)
{
	uint64_t size = 0;

	wait_to_settle();
	if (sftp_stat(passage->store->sftp, passage->temporary, &size, NULL, passage->fault) != 0)
		return -1;
	if (size == expected)
		return 0;
	return fault_set(passage->fault, FAULT_TRANSIENT, NULL,
			 "%s: an earlier connection still writes to it", passage->temporary);
}

/* The temporary is gone. Returns 1 if that is because it got its name, though the server's answer
 * to that did not arrive; else 0, or -1 with the fault. */
static int is_placed(struct passage *passage)
{
	const struct driver_upload *upload = passage->upload;
	uint64_t size = 0;

	if (sftp_stat(passage->store->sftp, upload->key, &size, NULL, passage->fault) != 0)
		return passage->fault->kind == FAULT_ABSENT ? 0 : -1;
	errno = 0;
	if (feed_size(upload->feed, &size) != 0)
		return feed_fault(passage->fault);
	count(passage, size);
	return 1;
}

/* Finds where to go on, and brings the feed there. 0 is from the beginning. Returns 0; 1 if the
 * object is there; -1 with the fault. */
static int find_offset(struct passage *passage, uint64_t *offset)
{
	const struct driver_upload *upload = passage->upload;
	struct sftp_resume plan;
	uint64_t size = 0;
	int same;

	*offset = 0;
	if (sftp_stat(passage->store->sftp, passage->temporary, &size, NULL, passage->fault) != 0)
		return passage->fault->kind == FAULT_ABSENT ? is_placed(passage) : -1;
	plan = sftp_resume_plan(size, passage->part_size, known_blocks(upload->journal));
	if (plan.offset == 0)
		return 0;
	same = same_there(passage, &plan);
	if (same > 0)
		same = same_here(passage, plan.offset);
	if (same > 0)
		same = settled(passage, plan.offset) == 0 ? 1 : -1;
	if (same < 0)
		return -1;
	if (same > 0) {
		*offset = plan.offset;
		passage->base = plan.offset;
		count(passage, plan.offset);
	} else {
		passage->at = 0;
	}
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

/* Looks at what has arrived: it must be all, and no more. */
static int check_size(const struct passage *passage)
{
	const struct sftp_command remove = {
		.verb = "rm", .path = passage->temporary, .may_fail = true};
	struct fault ignored = {0};
	uint64_t size = 0;

	if (passage->base)
		wait_to_settle();
	if (sftp_stat(passage->store->sftp, passage->temporary, &size, NULL, passage->fault) != 0)
		return -1;
	if (size == passage->at)
		return 0;
	sftp_run(passage->store->sftp, &remove, 1, &ignored);
	journal_begin(passage->upload->journal, "", passage->part_size);
	return fault_set(passage->fault, FAULT_TRANSIENT, NULL,
			 "%s has %" PRIu64 " bytes after %" PRIu64 " were written",
			 passage->temporary, size, passage->at);
}

/* Sends what is left, and gives it its name. What fits in one block is not looked at again: the
 * server has acknowledged each byte, at its offset. */
static int send_and_place(struct passage *passage, uint64_t offset)
{
	struct sftp_store *store = passage->store;
	const struct sftp_command remove = {.verb = "rm", .path = passage->stale, .may_fail = true};
	bool small = feed_limit(passage->upload->feed) <= passage->part_size && offset == 0;
	struct sftp_placing placing;
	struct sftp_upload upload = {.path = passage->temporary,
				     .offset = offset,
				     .next = next_bytes,
				     .acknowledged = acknowledged,
				     .ctx = passage};

	sftp_placing_plan(store, passage->temporary, passage->upload->key, &placing);
	upload.before = &remove;
	upload.before_count = *passage->stale ? 1 : 0;
	upload.after = placing.commands;
	upload.after_count = small ? placing.count : 0;
	if (sftp_upload(store->sftp, &upload, passage->fault) != 0)
		return -1;
	acknowledged(passage, passage->at - passage->base);
	if (!small && (check_size(passage) != 0 ||
		       sftp_run(store->sftp, placing.commands, placing.count, passage->fault) != 0))
		return -1;
	sftp_placing_done(store, passage->upload->key);
	return 0;
}

/* Begins from the beginning. */
static int begin(struct passage *passage)
{
	const struct driver_upload *upload = passage->upload;

	*passage->stale = 0;
	if (*passage->token)
		memcpy(passage->stale, passage->temporary, sizeof(passage->stale));
	if (set_new_token(passage) != 0)
		return -1;
	passage->part_size = passage->part_wanted;
	/* Without blocks there is nothing to go on with. */
	if (*passage->stale || feed_limit(upload->feed) > passage->part_size)
		journal_begin(upload->journal, passage->token, passage->part_size);
	return 0;
}

/* One attempt, from where the journal and the server say. */
static int pass(struct passage *passage)
{
	struct journal *journal = passage->upload->journal;
	uint64_t offset = 0;
	int found = 0;

	passage->at = 0;
	passage->base = 0;
	passage->pending = false;
	passage->part_size = journal_part_size(journal);
	*passage->stale = 0;
	set_token(passage, journal_note(journal));
	if (*passage->token)
		found = find_offset(passage, &offset);
	if (found < 0)
		return -1;
	memset(passage->fault, 0, sizeof(*passage->fault));
	if (found > 0)
		return 0;
	if (offset == 0 && begin(passage) != 0)
		return -1;
	return send_and_place(passage, offset);
}

/* A second attempt if directories were missing. */
static int pass_twice(struct passage *passage)
{
	struct fault *fault = passage->fault;

	if (pass(passage) == 0)
		return 0;
	if (fault->kind != FAULT_ABSENT)
		return -1;
	if (sftp_make_rooms(passage->store, fault) != 0)
		return -1;
	if (pass(passage) == 0)
		return 0;
	return fault->kind == FAULT_ABSENT ? sftp_no_store(fault) : -1;
}

/* An attempt has failed: what it has left in the store is removed, or remembered. */
static void leave(struct passage *passage)
{
	const struct sftp_command remove = {
		.verb = "rm", .path = passage->temporary, .may_fail = true};
	struct journal *journal = passage->upload->journal;
	struct fault ignored = {0};

	if (!*passage->token || *journal_note(journal))
		return;
	/* Of what nobody can go on with nothing is to be left on a full disk. */
	if (passage->fault->kind == FAULT_NO_SPACE)
		sftp_run(passage->store->sftp, &remove, 1, &ignored);
	else if (passage->fault->kind == FAULT_TRANSIENT)
		journal_begin(journal, passage->token, passage->part_size);
}

int sftp_put(void *state, const struct driver_upload *upload, struct fault *fault)
{
	struct sftp_store *store = (struct sftp_store *)state;
	struct passage passage = {.store = store, .upload = upload, .fault = fault};
	int result = -1;

	passage.part_wanted =
		upload->part_size > SFTP_ON_ITS_WAY ? upload->part_size : SFTP_ON_ITS_WAY;
	passage.sum = checksum64_stream_new();
	passage.chunk = malloc(CHUNK);
	if (!passage.sum || !passage.chunk) {
		fault_nomem(fault);
		goto out;
	}
	result = pass_twice(&passage);
	if (result != 0)
		result = sftp_settle(store, passage.temporary, upload->key, fault);
	if (result != 0 && fault->kind == FAULT_READ_ONLY)
		sftp_diagnose(store->sftp, fault);
	if (result != 0)
		leave(&passage);
out:
	checksum64_stream_free(passage.sum);
	free(passage.chunk);
	return result;
}
