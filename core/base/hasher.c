/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/hasher.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Spans that can wait. The bytes that they hold up are bounded by who owns them. */
#define QUEUE_SIZE 64

/* Fewer bytes than this are copied: waking a thread costs more. */
#define COPY_MAX (64u << 10)

/* Copies gather in two batches, one of which is filled while the other is read. */
#define BATCH_SIZE (256u << 10)

struct part {
	const uint8_t *data;
	size_t len;
};

struct batch {
	uint8_t *data;
	size_t used;
	uint64_t ticket; /* of its span */
};

/*
 * Tickets number the spans from 1. Span number n lies at n % QUEUE_SIZE:
 *
 *     read <= queued <= read + QUEUE_SIZE
 */
struct hasher {
	struct brevis_sha256 *sha;
	pthread_t thread;
	bool threaded;
	bool stopping;
	struct part queue[QUEUE_SIZE];
	uint64_t read;
	uint64_t queued;
	struct batch batches[2];
	unsigned filling;
	pthread_mutex_t lock;
	pthread_cond_t work; /* queued grew, or stopping */
	pthread_cond_t done; /* read grew */
};

static void *hash(void *arg)
{
	struct hasher *h = arg;
	struct part part;

	pthread_mutex_lock(&h->lock);
	for (;;) {
		while (!h->stopping && h->read == h->queued)
			pthread_cond_wait(&h->work, &h->lock);
		if (h->stopping)
			break;
		part = h->queue[(h->read + 1) % QUEUE_SIZE];
		pthread_mutex_unlock(&h->lock);
		brevis_sha256_update(h->sha, part.data, part.len);
		pthread_mutex_lock(&h->lock);
		h->read++;
		pthread_cond_signal(&h->done);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* Signals are for the thread that owns the hasher. */
static void start_thread(struct hasher *h)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	h->threaded = !pthread_create(&h->thread, NULL, hash, h);
	if (h->threaded)
		pthread_setname_np(h->thread, "brevis-hash");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct hasher *hasher_new(bool threaded)
{
	struct hasher *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->work, NULL);
	pthread_cond_init(&h->done, NULL);
	h->sha = brevis_sha256_new();
	if (!h->sha) {
		hasher_free(h);
		return NULL;
	}
	if (threaded) {
		h->batches[0].data = malloc(BATCH_SIZE);
		h->batches[1].data = malloc(BATCH_SIZE);
	}
	if (h->batches[0].data && h->batches[1].data)
		start_thread(h);
	return h;
}

void hasher_free(struct hasher *h)
{
	if (!h)
		return;
	if (h->threaded) {
		pthread_mutex_lock(&h->lock);
		h->stopping = true;
		pthread_cond_signal(&h->work);
		pthread_mutex_unlock(&h->lock);
		pthread_join(h->thread, NULL);
	}
	pthread_cond_destroy(&h->work);
	pthread_cond_destroy(&h->done);
	pthread_mutex_destroy(&h->lock);
	free(h->batches[0].data);
	free(h->batches[1].data);
	brevis_sha256_free(h->sha);
	free(h);
}

void hasher_wait(struct hasher *h, uint64_t ticket)
{
	if (!h || !h->threaded || !ticket)
		return;
	pthread_mutex_lock(&h->lock);
	while (h->read < ticket)
		pthread_cond_wait(&h->done, &h->lock);
	pthread_mutex_unlock(&h->lock);
}

static uint64_t enqueue(struct hasher *h, const void *data, size_t len)
{
	uint64_t ticket;

	pthread_mutex_lock(&h->lock);
	while (h->queued - h->read == QUEUE_SIZE)
		pthread_cond_wait(&h->done, &h->lock);
	ticket = ++h->queued;
	h->queue[ticket % QUEUE_SIZE] = (struct part){data, len};
	pthread_cond_signal(&h->work);
	pthread_mutex_unlock(&h->lock);
	return ticket;
}

/* Hands the batch that is being filled over, and makes the other one ready. */
static void pass_batch(struct hasher *h)
{
	struct batch *batch = &h->batches[h->filling];

	if (!batch->used)
		return;
	batch->ticket = enqueue(h, batch->data, batch->used);
	h->filling ^= 1;
	batch = &h->batches[h->filling];
	hasher_wait(h, batch->ticket);
	batch->used = 0;
}

uint64_t hasher_add(struct hasher *h, const void *data, size_t len)
{
	struct batch *batch = &h->batches[h->filling];

	if (!h->threaded) {
		brevis_sha256_update(h->sha, data, len);
		return 0;
	}
	if (len >= COPY_MAX) {
		pass_batch(h);
		return enqueue(h, data, len);
	}
	if (len > BATCH_SIZE - batch->used) {
		pass_batch(h);
		batch = &h->batches[h->filling];
	}
	if (len)
		memcpy(batch->data + batch->used, data, len);
	batch->used += len;
	return 0;
}

void hasher_final(struct hasher *h, uint8_t digest[BREVIS_SHA256_SIZE])
{
	if (h->threaded) {
		pass_batch(h);
		hasher_wait(h, h->queued);
	}
	brevis_sha256_final(h->sha, digest);
}
