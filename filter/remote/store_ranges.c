/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Ranges of one object that travel at once. Threads fetch them into slots, range i into slot i
 * modulo their number; the caller's thread hands them out in order and frees each slot for a later
 * range.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "filter/remote/store_private.h"

#define SLOTS 8 /* 64 MiB */

enum slot_state { SLOT_EMPTY, SLOT_READY, SLOT_FAILED };

struct slot {
	uint8_t *data;
	size_t filled;
	enum slot_state state;
	struct fault fault;
};

struct ranges {
	const struct store *store;
	const char *key;
	uint64_t offset;
	uint64_t len;
	uint64_t count; /* of ranges */
	size_t slot_count;

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64_t next;    /* to be fetched */
	uint64_t handed;  /* ranges that have gone out */
	bool failed;      /* none is begun any more; what is under way is brought to its end */
	atomic_bool stop; /* what is under way is of no use any more */
	struct slot slots[SLOTS];
};

static size_t size_of(const struct ranges *ranges, uint64_t i)
{
	uint64_t left = ranges->len - i * RANGE_SIZE;

	return left < RANGE_SIZE ? (size_t)left : RANGE_SIZE;
}

/* ---- fetching ------------------------------------------------------------------------------- */

/* What a range's bytes go to: no more of them come than were asked for. */
struct filling {
	const struct ranges *ranges;
	struct slot *slot;
};

static int fill(void *ctx, const void *data, size_t len)
{
	struct filling *filling = ctx;
	struct slot *slot = filling->slot;

	if (filling->ranges->stop)
		return -1;
	memcpy(slot->data + slot->filled, data, len);
	slot->filled += len;
	return 0;
}

static enum slot_state fetch(const struct ranges *ranges, uint64_t i, struct slot *slot)
{
	struct filling filling = {ranges, slot};

	slot->filled = 0;
	if (!slot->data)
		slot->data = malloc(RANGE_SIZE);
	if (!slot->data)
		fault_nomem(&slot->fault);
	else if (store_read_range(ranges->store, ranges->key, ranges->offset + i * RANGE_SIZE,
				  size_of(ranges, i), fill, &filling, &ranges->stop,
				  &slot->fault) == 0)
		return SLOT_READY;
	return SLOT_FAILED;
}

static void *fetch_all(void *ctx)
{
	struct ranges *ranges = ctx;

	pthread_mutex_lock(&ranges->mutex);
	for (;;) {
		enum slot_state state;
		struct slot *slot;
		uint64_t i;

		while (!ranges->failed && ranges->next < ranges->count &&
		       ranges->next >= ranges->handed + ranges->slot_count)
			pthread_cond_wait(&ranges->changed, &ranges->mutex);
		if (ranges->failed || ranges->next >= ranges->count)
			break;
		i = ranges->next++;
		slot = &ranges->slots[i % ranges->slot_count];
		pthread_mutex_unlock(&ranges->mutex);
		state = fetch(ranges, i, slot);
		pthread_mutex_lock(&ranges->mutex);
		slot->state = state;
		if (state == SLOT_FAILED)
			ranges->failed = true;
		pthread_cond_broadcast(&ranges->changed);
	}
	pthread_mutex_unlock(&ranges->mutex);
	return NULL;
}

/* ---- handing out ---------------------------------------------------------------------------- */

/* Waits for a range. A range that is never begun lies behind one that has failed. */
static struct slot *wait_for(struct ranges *ranges, uint64_t i)
{
	struct slot *slot = &ranges->slots[i % ranges->slot_count];

	pthread_mutex_lock(&ranges->mutex);
	while (slot->state == SLOT_EMPTY)
		pthread_cond_wait(&ranges->changed, &ranges->mutex);
	pthread_mutex_unlock(&ranges->mutex);
	return slot;
}

static void free_slot(struct ranges *ranges, struct slot *slot)
{
	pthread_mutex_lock(&ranges->mutex);
	slot->state = SLOT_EMPTY;
	ranges->handed++;
	pthread_cond_broadcast(&ranges->changed);
	pthread_mutex_unlock(&ranges->mutex);
}

static int hand_out(struct ranges *ranges, brevis_write_fn write, void *ctx, struct fault *fault)
{
	for (uint64_t i = 0; i < ranges->count; i++) {
		struct slot *slot = wait_for(ranges, i);

		if (slot->state == SLOT_FAILED) {
			*fault = slot->fault;
			return -1;
		}
		if (write(ctx, slot->data, slot->filled) != 0)
			return fault_set(fault, FAULT_CANCELLED, NULL, "reading %s was stopped",
					 ranges->key);
		free_slot(ranges, slot);
	}
	return 0;
}

static void stop(struct ranges *ranges)
{
	pthread_mutex_lock(&ranges->mutex);
	ranges->stop = true;
	ranges->failed = true;
	pthread_cond_broadcast(&ranges->changed);
	pthread_mutex_unlock(&ranges->mutex);
}

int store_read_ranges(const struct store *store, const char *key, uint64_t offset, uint64_t len,
		      brevis_write_fn write, void *ctx, struct fault *fault)
{
	struct ranges ranges = {.store = store,
				.key = key,
				.offset = offset,
				.len = len,
				.count = len / RANGE_SIZE + (len % RANGE_SIZE != 0)};
	pthread_t threads[SLOTS];
	size_t wanted = store->settings->parallel < SLOTS ? store->settings->parallel : SLOTS;
	size_t started = 0;
	int rc;

	if (wanted > ranges.count)
		wanted = (size_t)ranges.count;
	/* As many again wait to be handed out, so that no thread waits for that. */
	ranges.slot_count = 2 * wanted < SLOTS ? 2 * wanted : SLOTS;
	pthread_mutex_init(&ranges.mutex, NULL);
	pthread_cond_init(&ranges.changed, NULL);
	while (started < wanted && pthread_create(&threads[started], NULL, fetch_all, &ranges) == 0)
		started++;
	if (started)
		rc = hand_out(&ranges, write, ctx, fault);
	else
		rc = store_read_range(store, key, offset, len, write, ctx, NULL, fault);
	stop(&ranges);
	while (started)
		pthread_join(threads[--started], NULL);
	for (size_t i = 0; i < ranges.slot_count; i++)
		free(ranges.slots[i].data);
	pthread_cond_destroy(&ranges.changed);
	pthread_mutex_destroy(&ranges.mutex);
	return rc;
}
