/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/outgoing.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/report.h"
#include "filter/stream.h"

/* The object is read in steps of this size. */
#define READ_STEP ((size_t)1 << 20)

/* Smaller objects are made ready before anything is sent: a thread would cost more. */
#define THREAD_MIN (UINT64_C(1) << 20)

/* The archive that is being made, in a file without a name. */
struct scratch {
	int fd;
	bool is_local; /* not in the store */
	int failure;   /* errno of writing */
	uint64_t size;
	size_t used;
	uint8_t buffer[STREAM_STEP]; /* writes gather here */
	uint8_t back[STREAM_STEP];   /* what is read back */
};

struct outgoing {
	struct workspace *ws;
	const struct pointer *pointer;
	const struct object_file *file;
	struct feed *feed;
	struct scratch *scratch; /* NULL: it is sent as it is */
	pthread_t thread;
	bool is_threaded;
	atomic_bool stop;
	_Atomic uint64_t taken; /* bytes of the object */
	_Atomic uint64_t made;  /* bytes of the feed */
	enum outgoing_result result;
	struct fault fault;
};

static enum outgoing_result fail_damaged(struct outgoing *o)
{
	fault_set(&o->fault, FAULT_DAMAGED,
		  "see `git brevis fsck`; move that object away, get a good one (of another clone, "
		  "or by adding the file again), and push again",
		  "the object here is damaged: its SHA-256 is not its name");
	return OUTGOING_FAILED;
}

int outgoing_unreadable(const struct object_file *file, struct fault *fault)
{
	if (file->failure == 0 || file->failure == ENODATA)
		return fault_set(fault, FAULT_LOCAL, "push again",
				 "the object here changed while it was read");
	return fault_set(fault, FAULT_LOCAL, "check the disk", "the object here cannot be read: %s",
			 strerror(file->failure));
}

static enum outgoing_result fail_reading(struct outgoing *o)
{
	outgoing_unreadable(o->file, &o->fault);
	return OUTGOING_FAILED;
}

static enum outgoing_result fail_nomem(struct outgoing *o)
{
	fault_nomem(&o->fault);
	return OUTGOING_FAILED;
}

/* ---- as it is ------------------------------------------------------------------------------- */

static bool is_object(const struct outgoing *o, const uint8_t sha256[BREVIS_SHA256_SIZE])
{
	char hex[OID_HEX_SIZE + 1];

	digest_to_hex(sha256, hex);
	return strcmp(hex, o->pointer->oid) == 0;
}

/* Hands the object to write, step by step, and counts what was taken. Returns OUTGOING_GOOD when
 * all of it was. */
static enum outgoing_result read_object(struct outgoing *o, uint8_t *step,
					enum outgoing_result (*take)(struct outgoing *o, void *ctx,
								     const void *data, size_t len),
					void *ctx)
{
	const struct brevis_source *source = &o->file->source;
	enum outgoing_result result = OUTGOING_GOOD;
	uint64_t offset = 0;

	while (offset < source->size && result == OUTGOING_GOOD) {
		uint64_t left = source->size - offset;
		size_t n = left < READ_STEP ? (size_t)left : READ_STEP;

		if (atomic_load(&o->stop))
			return OUTGOING_STOPPED;
		if (source->read_at(source->ctx, step, n, offset) != 0)
			return fail_reading(o);
		result = take(o, ctx, step, n);
		offset += n;
		atomic_store(&o->taken, offset);
	}
	return result;
}

static enum outgoing_result hash_step(struct outgoing *o, void *sha, const void *data, size_t len)
{
	uint64_t made = atomic_load(&o->made) + len;

	brevis_sha256_update(sha, data, len);
	atomic_store(&o->made, made);
	feed_grow(o->feed, made);
	return OUTGOING_GOOD;
}

static enum outgoing_result hash_object(struct outgoing *o, uint8_t *step)
{
	struct brevis_sha256 *sha = brevis_sha256_new();
	uint8_t digest[BREVIS_SHA256_SIZE];
	enum outgoing_result result;

	if (!sha)
		return fail_nomem(o);
	result = read_object(o, step, hash_step, sha);
	if (result == OUTGOING_GOOD) {
		brevis_sha256_final(sha, digest);
		if (!is_object(o, digest))
			result = fail_damaged(o);
	}
	brevis_sha256_free(sha);
	return result;
}

/* ---- as an archive -------------------------------------------------------------------------- */

/* Writes bytes, and lets the feed grow by them. */
static int write_archive(struct outgoing *o, const void *data, size_t len)
{
	struct scratch *s = o->scratch;

	/* An archive that is no smaller is of no use: its encoder need not go on. */
	if (s->size + len >= o->pointer->size)
		return -1;
	if (stream_write_checked(s->fd, data, len, s->size, s->back) != 0) {
		s->failure = errno;
		return -1;
	}
	s->size += len;
	atomic_store(&o->made, s->size);
	feed_grow(o->feed, s->size);
	return 0;
}

/* Writes what has gathered. */
static int flush_archive(struct outgoing *o)
{
	size_t used = o->scratch->used;

	o->scratch->used = 0;
	return write_archive(o, o->scratch->buffer, used);
}

/* A brevis_write_fn. */
static int take_archive(void *ctx, const void *data, size_t len)
{
	struct outgoing *o = ctx;
	struct scratch *s = o->scratch;

	if (len > sizeof(s->buffer) - s->used && flush_archive(o) != 0)
		return -1;
	if (len > sizeof(s->buffer))
		return write_archive(o, data, len);
	memcpy(s->buffer + s->used, data, len);
	s->used += len;
	return 0;
}

/* What an encoder that did not go on means. */
static enum outgoing_result fail_encoding(struct outgoing *o, const struct brevis_error *err)
{
	if (o->scratch->failure) {
		fault_errno(&o->fault, o->scratch->failure,
			    "up to %" PRIu64 " bytes for its archive cannot be written to %s%s",
			    o->pointer->size,
			    o->scratch->is_local ? repository_lfs_dir(o->ws->repository)
						 : "the store",
			    o->scratch->is_local ? "/tmp" : "");
		return OUTGOING_FAILED;
	}
	if (err->status == BREVIS_E_IO)
		return OUTGOING_NO_SMALLER;
	if (err->status == BREVIS_E_NOMEM)
		return fail_nomem(o);
	fault_set(&o->fault, FAULT_LOCAL,
		  "report this as a bug; `git -c brevis.store.compress=false push` sends it as it "
		  "is",
		  "no archive can be made of it: %s", err->message);
	return OUTGOING_FAILED;
}

static enum outgoing_result encode_step(struct outgoing *o, void *encoder, const void *data,
					size_t len)
{
	struct brevis_error err;

	if (brevis_encoder_write(encoder, data, len, &err) != BREVIS_OK)
		return fail_encoding(o, &err);
	return OUTGOING_GOOD;
}

/* Ends the archive, and proves it: the encoder has compared each record with what it restores, and
 * what was written was read back. */
static enum outgoing_result finish_archive(struct outgoing *o, struct brevis_encoder *encoder)
{
	struct brevis_encode_summary summary;
	struct object_file written;
	struct brevis_error err;

	if (brevis_encoder_finish(encoder, &summary, &err) != BREVIS_OK)
		return fail_encoding(o, &err);
	if (!is_object(o, summary.original_sha256))
		return fail_damaged(o);
	if (summary.archive_size >= o->pointer->size)
		return OUTGOING_NO_SMALLER;
	err = (struct brevis_error){.status = BREVIS_E_IO};
	if (flush_archive(o) != 0)
		return fail_encoding(o, &err);
	if (object_file_from_fd(&written, o->scratch->fd) != 0) {
		o->scratch->failure = errno;
		return fail_encoding(o, &err);
	}
	if (brevis_encoder_check(encoder, &written.source, &err) != BREVIS_OK) {
		o->scratch->failure = EIO;
		return fail_encoding(o, &err);
	}
	priors_trace(o->ws->priors, "upload", o->pointer->oid, &summary);
	report_trace("upload %s: archive, %" PRIu64 " of %" PRIu64 " bytes", o->pointer->oid,
		     summary.archive_size, summary.original_size);
	return OUTGOING_GOOD;
}

static enum outgoing_result encode_object(struct outgoing *o, uint8_t *step)
{
	struct brevis_encode_options options = {
		.preset = o->ws->preset,
		.priors = priors_begin(o->ws->priors, false),
		.write_checks = true,
		.unnamed = true,
	};
	struct brevis_encoder *encoder = NULL;
	enum outgoing_result result;
	struct brevis_error err;

	thread_share_take(&o->ws->share, o->ws->threads);
	options.threads = o->ws->share.threads;
	if (brevis_encoder_new(&options, take_archive, o, &encoder, &err) == BREVIS_OK)
		result = read_object(o, step, encode_step, encoder);
	else
		result = fail_encoding(o, &err);
	if (result == OUTGOING_GOOD)
		result = finish_archive(o, encoder);
	brevis_encoder_free(encoder);
	thread_share_return(&o->ws->share);
	return result;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static void *work(void *ctx)
{
	struct outgoing *o = ctx;
	uint8_t *step = malloc(READ_STEP);

	if (!step)
		o->result = fail_nomem(o);
	else if (o->scratch)
		o->result = encode_object(o, step);
	else
		o->result = hash_object(o, step);
	free(step);
	if (o->result == OUTGOING_GOOD)
		feed_finish(o->feed);
	else
		feed_fail(o->feed);
	return NULL;
}

/* Signals are for the main thread. */
static bool start_thread(struct outgoing *o)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	started = pthread_create(&o->thread, NULL, work, o) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (started)
		pthread_setname_np(o->thread, "brevis-feed");
	return started;
}

static void release(struct outgoing *o)
{
	feed_free(o->feed);
	if (o->scratch && o->scratch->fd >= 0)
		close(o->scratch->fd);
	free(o->scratch);
	free(o);
}

static int open_scratch(struct outgoing *o, struct store *store, struct fault *fault)
{
	o->scratch = calloc(1, sizeof(*o->scratch));
	if (!o->scratch)
		return fault_nomem(fault);
	o->scratch->fd = store_scratch(store);
	if (o->scratch->fd >= 0)
		return 0;
	o->scratch->is_local = true;
	o->scratch->fd = object_store_scratch(o->ws->store);
	if (o->scratch->fd < 0)
		return fault_errno(fault, errno, "no file can be created in %s/tmp",
				   repository_lfs_dir(o->ws->repository));
	return 0;
}

struct outgoing *outgoing_start(struct workspace *ws, struct store *store,
				const struct pointer *pointer, const struct object_file *file,
				bool compress, struct fault *fault)
{
	struct outgoing *o = calloc(1, sizeof(*o));

	if (!o) {
		fault_nomem(fault);
		return NULL;
	}
	o->ws = ws;
	o->pointer = pointer;
	o->file = file;
	if (compress && open_scratch(o, store, fault) != 0)
		goto failed;
	o->feed = feed_new(o->scratch ? o->scratch->fd : file->fd, pointer->size);
	if (!o->feed) {
		fault_nomem(fault);
		goto failed;
	}
	o->is_threaded = pointer->size >= THREAD_MIN && start_thread(o);
	if (!o->is_threaded)
		work(o);
	return o;
failed:
	release(o);
	return NULL;
}

struct feed *outgoing_feed(const struct outgoing *o)
{
	return o->feed;
}

uint64_t outgoing_share(const struct outgoing *o, uint64_t sent)
{
	uint64_t made = atomic_load(&o->made);
	uint64_t taken = atomic_load(&o->taken);

	if (!o->scratch || made == 0)
		return o->scratch ? 0 : sent;
	return (uint64_t)((double)taken * (double)sent / (double)made);
}

enum outgoing_result outgoing_end(struct outgoing *o, struct fault *fault)
{
	enum outgoing_result result;

	atomic_store(&o->stop, true);
	if (o->is_threaded)
		pthread_join(o->thread, NULL);
	result = o->result;
	if (result == OUTGOING_FAILED)
		*fault = o->fault;
	release(o);
	return result;
}
