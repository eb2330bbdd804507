/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Uploads to S3. What fits into one part goes in one request; more goes as a multipart upload:
 *
 *   initiate -> parts, several at a time -> complete
 *
 * The journal has the upload's id, and of each part its MD5 and the ETag that the server gave it.
 * Another attempt skips the parts whose bytes here have that MD5 and that the server still lists
 * under that ETag; completion names the ETags, so that no other bytes can become part of the
 * object. ETags are mostly MD5s, but not of servers that encrypt: that the bytes arrived as they
 * are, the server checks by Content-MD5.
 */
#include "filter/remote/driver_s3.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/remote/xml.h"

/* Parts in memory, all together. */
#define PARTS_MEMORY ((uint64_t)128 << 20)

/* S3's own limit. Some servers, OpenStack Swift among them, take fewer unless they are told to:
 * that is kept to as long as parts do not get larger than this. */
#define PARTS_MAX     10000
#define PARTS_USUAL   1000
#define LARGEST_USUAL ((uint64_t)64 << 20)
#define PART_UNIT     ((uint64_t)1 << 20)

#define DIGEST_SIZE 192 /* "MD5:ETAG" */

struct multipart {
	struct s3 *s3;
	const struct driver_upload *upload;
	char *id;
	uint64_t part_size;

	pthread_mutex_t mutex; /* over what follows */
	size_t next;           /* part that nobody has taken */
	bool stop;             /* no more parts: the end is there, or a fault */
	bool gone;             /* the server does not know the upload any more */
	char **etags; /* of parts that the server has, by number from 0; NULL: it has not */
	size_t etag_count;
	struct fault *fault;
};

/* A part in memory. */
struct part {
	size_t number; /* from 0 */
	uint8_t *data;
	size_t len;
	uint8_t md5[MD5_SIZE];
};

/* ---- what is known of parts ------------------------------------------------------------------ */

static int set_etag(struct multipart *m, size_t i, const char *etag)
{
	char *copy = strdup(etag);

	if (copy && i >= m->etag_count) {
		size_t count = i + i / 2 + 16;
		char **etags = realloc(m->etags, count * sizeof(*etags));

		if (etags) {
			memset(etags + m->etag_count, 0, (count - m->etag_count) * sizeof(*etags));
			m->etags = etags;
			m->etag_count = count;
		}
	}
	if (!copy || i >= m->etag_count) {
		free(copy);
		return -1;
	}
	free(m->etags[i]);
	m->etags[i] = copy;
	return 0;
}

static void forget_etags(struct multipart *m)
{
	size_t i;

	for (i = 0; i < m->etag_count; i++)
		free(m->etags[i]);
	free(m->etags);
	m->etags = NULL;
	m->etag_count = 0;
}

/* What the journal remembers of a part. */
static void describe_part(char text[DIGEST_SIZE], const struct part *part, const char *etag)
{
	size_t i;

	for (i = 0; i < MD5_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", part->md5[i]);
	snprintf(text + 2 * MD5_SIZE, DIGEST_SIZE - 2 * MD5_SIZE, ":%s", etag);
}

/* Whether the server has these bytes as that part. Only the thread that has taken a part looks at
 * its ETag, but others may move the table. */
static bool is_sent(struct multipart *m, const struct part *part)
{
	const char *remembered = journal_part(m->upload->journal, part->number);
	char digest[DIGEST_SIZE];
	const char *etag = NULL;

	pthread_mutex_lock(&m->mutex);
	if (part->number < m->etag_count)
		etag = m->etags[part->number];
	pthread_mutex_unlock(&m->mutex);
	if (!remembered || !etag)
		return false;
	describe_part(digest, part, etag);
	return strcmp(digest, remembered) == 0;
}

/* ---- one part -------------------------------------------------------------------------------- */

/* Reads bytes that are known to be there. */
static int read_all(struct feed *feed, uint8_t *to, size_t len, uint64_t offset,
		    struct fault *fault)
{
	while (len) {
		ssize_t got = feed_read(feed, to, len, offset);

		if (got < 0 && errno)
			return fault_errno(fault, errno, "cannot read what is to be sent");
		if (got <= 0)
			return fault_set(fault, FAULT_CANCELLED, NULL,
					 "what was to be sent has failed");
		to += got;
		len -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

/* Remembers that the server has a part. */
static int note_part(struct multipart *m, const struct part *part, const char *etag,
		     struct fault *fault)
{
	char digest[DIGEST_SIZE];
	int result;

	if (!*etag)
		return fault_set(fault, FAULT_UNSUPPORTED, "use a server that offers this",
				 "PUT of %s: the server names no ETag of a part", m->upload->key);
	describe_part(digest, part, etag);
	journal_add(m->upload->journal, part->number, digest);
	pthread_mutex_lock(&m->mutex);
	result = set_etag(m, part->number, etag);
	pthread_mutex_unlock(&m->mutex);
	return result == 0 ? 0 : fault_nomem(fault);
}

/* Someone has cleaned up. What the journal says is of no use any more, but other threads may still
 * be reading it. */
static void set_gone(struct multipart *m)
{
	pthread_mutex_lock(&m->mutex);
	m->gone = true;
	pthread_mutex_unlock(&m->mutex);
}

static int send_part(struct multipart *m, const struct part *part, struct fault *fault)
{
	const struct driver_upload *upload = m->upload;
	char number[24];
	struct s3_answer answer = {0};
	struct s3_call call = {.method = "PUT",
			       .key = upload->key,
			       .parameters = {{"partNumber", number}, {"uploadId", m->id}},
			       .data = part->data,
			       .data_len = part->len,
			       .md5 = part->md5,
			       .sent = upload->sent,
			       .ctx = upload->ctx};
	int result;

	snprintf(number, sizeof(number), "%zu", part->number + 1);
	result = s3_perform(m->s3, &call, &answer, fault);
	if (result == 0)
		result = note_part(m, part, answer.http.etag, fault);
	else if (s3_answer_is(&answer, "NoSuchUpload"))
		set_gone(m);
	s3_answer_release(&answer);
	return result;
}

static void stop(struct multipart *m)
{
	pthread_mutex_lock(&m->mutex);
	m->stop = true;
	pthread_mutex_unlock(&m->mutex);
}

/* Sends a part, as soon as it is there and unless the server has it. */
static int do_part(struct multipart *m, struct part *part, struct fault *fault)
{
	const struct driver_upload *upload = m->upload;
	uint64_t offset = part->number * m->part_size;
	int64_t len = feed_wait(upload->feed, offset, (size_t)m->part_size);

	if (len < 0)
		return fault_set(fault, FAULT_CANCELLED, NULL, "what was to be sent has failed");
	if ((uint64_t)len < m->part_size)
		stop(m);
	if (len == 0)
		return 0;
	part->len = (size_t)len;
	if (read_all(upload->feed, part->data, part->len, offset, fault) != 0)
		return -1;
	md5_digest(part->data, part->len, part->md5);
	if (!is_sent(m, part))
		return send_part(m, part, fault);
	upload->sent(upload->ctx, part->len);
	return 0;
}

/* ---- several at a time ----------------------------------------------------------------------- */

/* Takes the next part. Returns false if there is none for this thread. */
static bool take_part(struct multipart *m, struct part *part)
{
	bool taken;

	pthread_mutex_lock(&m->mutex);
	taken = !m->stop;
	if (taken)
		part->number = m->next++;
	pthread_mutex_unlock(&m->mutex);
	return taken;
}

/* The first fault is the one that is told. */
static void fail(struct multipart *m, const struct fault *fault)
{
	pthread_mutex_lock(&m->mutex);
	if (m->fault->kind == FAULT_NONE)
		*m->fault = *fault;
	m->stop = true;
	pthread_mutex_unlock(&m->mutex);
}

static void *lane(void *ctx)
{
	struct multipart *m = ctx;
	struct fault fault = {0};
	struct part part = {.data = malloc((size_t)m->part_size)};
	int result = part.data ? 0 : fault_nomem(&fault);

	while (result == 0 && take_part(m, &part))
		result = do_part(m, &part, &fault);
	if (result != 0)
		fail(m, &fault);
	free(part.data);
	return NULL;
}

static uint64_t part_size_of(const struct s3 *s3, const struct driver_upload *upload)
{
	uint64_t size = feed_limit(upload->feed) / PARTS_USUAL + 1;

	if (size > LARGEST_USUAL)
		size = LARGEST_USUAL;
	if (size <= upload->part_size || s3->part_size_given)
		return upload->part_size;
	return (size + PART_UNIT - 1) / PART_UNIT * PART_UNIT;
}

static unsigned lane_count(const struct multipart *m)
{
	uint64_t parts = feed_limit(m->upload->feed) / m->part_size + 1;
	uint64_t lanes = PARTS_MEMORY / m->part_size;

	if (lanes > m->upload->parallel)
		lanes = m->upload->parallel;
	if (lanes > parts)
		lanes = parts;
	if (lanes > SETTINGS_PARALLEL_MAX)
		lanes = SETTINGS_PARALLEL_MAX;
	return lanes ? (unsigned)lanes : 1;
}

/* Sends all parts; this thread is one lane of them. A thread that cannot be had is done without. */
static int send_parts(struct multipart *m)
{
	pthread_t threads[SETTINGS_PARALLEL_MAX];
	unsigned lanes = lane_count(m);
	unsigned running = 0;

	*m->fault = (struct fault){0};
	while (running + 1 < lanes && pthread_create(&threads[running], NULL, lane, m) == 0)
		running++;
	lane(m);
	while (running)
		pthread_join(threads[--running], NULL);
	/* The next attempt begins anew. */
	if (m->gone)
		journal_begin(m->upload->journal, "", 0);
	return m->fault->kind == FAULT_NONE ? 0 : -1;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int take_upload_id(void *ctx, const char *path, const char *text)
{
	struct multipart *m = ctx;

	if (strcmp(path, "InitiateMultipartUploadResult/UploadId") != 0)
		return 0;
	free(m->id);
	m->id = strdup(text);
	return m->id ? 0 : fault_nomem(m->fault);
}

static int initiate(struct multipart *m)
{
	const struct s3_call call = {
		.method = "POST", .key = m->upload->key, .parameters = {{"uploads", ""}}};
	struct s3_answer answer = {0};
	int result = s3_perform(m->s3, &call, &answer, m->fault);

	if (result == 0)
		result = xml_read(answer.http.body.data, answer.http.body.size, take_upload_id, m,
				  "beginning an upload", m->fault);
	if (result == 0 && (!m->id || !*m->id))
		result = fault_set(m->fault, FAULT_UNSUPPORTED,
				   "check that the endpoint is that of an S3 store",
				   "POST of %s: the server names no upload", m->upload->key);
	s3_answer_release(&answer);
	if (result == 0)
		journal_begin(m->upload->journal, m->id, m->part_size);
	return result;
}

static int take_sent_part(void *ctx, const struct s3_part *part)
{
	struct multipart *m = ctx;

	return part->number <= PARTS_MAX ? set_etag(m, part->number - 1, part->etag) : 0;
}

/* Goes on with an earlier upload, or begins one. Returns 1 if the object is there meanwhile: the
 * upload was completed, but its answer was lost. */
static int begin(struct multipart *m)
{
	const struct driver_upload *upload = m->upload;
	const char *note = journal_note(upload->journal);
	struct fault ignored = {0};
	bool gone = false;
	uint64_t size;

	if (!*note)
		return initiate(m);
	/* Parts of another size are of no use. */
	if (journal_part_size(upload->journal) != m->part_size) {
		s3_abort(m->s3, upload->key, note, &ignored);
		return initiate(m);
	}
	m->id = strdup(note);
	if (!m->id)
		return fault_nomem(m->fault);
	if (s3_list_parts(m->s3, upload->key, m->id, take_sent_part, m, &gone, m->fault) == 0)
		return 0;
	if (!gone)
		return -1;
	if (s3_size(m->s3, upload->key, &size, &ignored) == 0)
		return 1;
	forget_etags(m);
	return initiate(m);
}

/* ---- completion ------------------------------------------------------------------------------ */

static void put_escaped(struct buffer *out, const char *text)
{
	for (; *text; text++) {
		const char *as = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : NULL;

		if (as)
			buffer_append(out, as, strlen(as));
		else
			buffer_u8(out, (uint8_t)*text);
	}
}

static void put_text(struct buffer *out, const char *text)
{
	buffer_append(out, text, strlen(text));
}

static void list_etags(const struct multipart *m, uint64_t size, struct buffer *out)
{
	size_t count = (size_t)((size + m->part_size - 1) / m->part_size);
	char number[64];
	size_t i;

	put_text(out, "<CompleteMultipartUpload "
		      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
	for (i = 0; i < count; i++) {
		snprintf(number, sizeof(number), "<Part><PartNumber>%zu</PartNumber><ETag>\"",
			 i + 1);
		put_text(out, number);
		put_escaped(out, m->etags[i]);
		put_text(out, "\"</ETag></Part>");
	}
	put_text(out, "</CompleteMultipartUpload>");
}

static int take_completion(void *ctx, const char *path, const char *text)
{
	bool *confirmed = ctx;

	(void)text;
	*confirmed = *confirmed || strcmp(path, "CompleteMultipartUploadResult") == 0;
	return 0;
}

/* Whether an answer says that the upload is complete. */
static bool is_confirmed(const struct s3_answer *answer)
{
	const struct buffer *body = &answer->http.body;
	struct fault ignored = {0};
	bool confirmed = false;

	return xml_read(body->data, body->size, take_completion, &confirmed, "", &ignored) == 0 &&
	       confirmed;
}

/* A server that takes long answers "200 OK" at once, and says in the body how it went. */
static int complete_once(struct multipart *m, const struct buffer *body, struct s3_answer *answer)
{
	const struct s3_call call = {.method = "POST",
				     .key = m->upload->key,
				     .parameters = {{"uploadId", m->id}},
				     .data = body->data,
				     .data_len = body->size,
				     .exclusive = true};
	int result = s3_perform(m->s3, &call, answer, m->fault);
	char doing[FAULT_TEXT_SIZE / 2];

	if (result != 0 || is_confirmed(answer))
		return result;
	if (!s3_error_read(answer->http.body.data, answer->http.body.size, &answer->error))
		return fault_set(m->fault, FAULT_TRANSIENT, "check the server, then try again",
				 "completion of %s: the server does not say that it is done",
				 m->upload->key);
	snprintf(doing, sizeof(doing), "completion of %s", m->upload->key);
	return s3_error_fault(&answer->error, &answer->http, m->s3->place, doing, m->fault);
}

/* Completes the upload. If that fails, the object may be there nevertheless: the answer was lost,
 * or someone else was faster. Then what is left of the upload is given up. */
static int complete(struct multipart *m, uint64_t size)
{
	struct buffer body = BUFFER_INIT;
	struct s3_answer answer = {0};
	struct fault ignored = {0};
	uint64_t there;
	int result;

	list_etags(m, size, &body);
	result = buffer_failed(&body) ? fault_nomem(m->fault) : complete_once(m, &body, &answer);
	if (result != 0 && s3_answer_is(&answer, "InvalidPart"))
		journal_begin(m->upload->journal, "", 0);
	if (result != 0 && s3_size(m->s3, m->upload->key, &there, &ignored) == 0) {
		s3_abort(m->s3, m->upload->key, m->id, &ignored);
		result = 0;
	}
	s3_answer_release(&answer);
	buffer_release(&body);
	return result;
}

/* ---- uploads --------------------------------------------------------------------------------- */

/* Waits for the content to be proven. */
static int wait_for_end(const struct multipart *m, uint64_t *size)
{
	if (feed_size(m->upload->feed, size) == 0)
		return 0;
	return fault_set(m->fault, FAULT_CANCELLED, NULL, "what was to be sent has failed");
}

static int put_parts(struct multipart *m)
{
	const struct driver_upload *upload = m->upload;
	struct fault ignored = {0};
	uint64_t size, there;
	int result = begin(m);

	if (result != 0)
		return result < 0 ? -1 : wait_for_end(m, &size);
	result = send_parts(m);
	if (result == 0)
		result = wait_for_end(m, &size);
	if (result == 0) {
		/* What is there stays. Where the server knows how, completion makes sure of it. */
		if (s3_size(m->s3, upload->key, &there, &ignored) != 0)
			return complete(m, size);
		s3_abort(m->s3, upload->key, m->id, &ignored);
	} else if (m->fault->kind == FAULT_CANCELLED) {
		/* The content was no good, or is not wanted. */
		s3_abort(m->s3, upload->key, m->id, &ignored);
		journal_begin(upload->journal, "", 0);
	}
	return result;
}

/* All of it is in memory, and granted. */
static int put_small(struct s3 *s3, const struct driver_upload *upload, size_t len,
		     struct fault *fault)
{
	uint8_t *data = malloc(len ? len : 1);
	struct fault ignored = {0};
	int result = data ? 0 : fault_nomem(fault);

	if (result == 0)
		result = read_all(upload->feed, data, len, 0, fault);
	if (result == 0)
		result = s3_put_whole(s3, upload->key, data, len, upload->sent, upload->ctx, fault);
	free(data);
	/* An earlier attempt may have had more to send: an archive that was larger. */
	if (result == 0 && *journal_note(upload->journal))
		s3_abort(s3, upload->key, journal_note(upload->journal), &ignored);
	return result;
}

int s3_put(void *state, const struct driver_upload *upload, struct fault *fault)
{
	struct multipart m = {.s3 = state,
			      .upload = upload,
			      .part_size = part_size_of(state, upload),
			      .fault = fault};
	int64_t len = feed_wait(upload->feed, 0, (size_t)m.part_size + 1);
	int result;

	if (len < 0)
		return fault_set(fault, FAULT_CANCELLED, NULL, "what was to be sent has failed");
	if ((uint64_t)len <= m.part_size)
		return put_small(state, upload, (size_t)len, fault);
	pthread_mutex_init(&m.mutex, NULL);
	result = put_parts(&m);
	pthread_mutex_destroy(&m.mutex);
	forget_etags(&m);
	free(m.id);
	return result;
}
