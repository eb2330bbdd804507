/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/writer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

/* What was written is read back in steps that stay in cache. */
#define READ_BACK_STEP ((size_t)512 << 10)

static int emit(struct archive_writer *w, const void *data, size_t size, struct brevis_error *err)
{
	if (w->write(w->ctx, data, size))
		return error_set(err, BREVIS_E_IO, "the archive could not be written");
	if (w->hasher)
		w->ticket = hasher_add(w->hasher, data, size);
	if (w->keyer)
		content_keyer_update(w->keyer, data, size);
	w->size += size;
	return BREVIS_OK;
}

int archive_writer_begin(struct archive_writer *w, brevis_write_fn write, void *ctx,
			 struct archive_hash hash, struct span codebook, struct brevis_error *err)
{
	struct buffer head = BUFFER_INIT;
	int status;

	*w = (struct archive_writer){.write = write, .ctx = ctx};
	if (hash.wanted)
		w->hasher = hasher_new(hash.threaded);
	if (hash.keyed)
		w->keyer = content_keyer_new();
	buffer_append(&head, WIRE_MAGIC, BREVIS_MAGIC_SIZE);
	buffer_u8(&head, BREVIS_FORMAT_VERSION);
	buffer_u8(&head, 0); /* features */
	buffer_varint(&head, span_left(&codebook));
	buffer_append(&head, codebook.at, span_left(&codebook));
	if ((hash.wanted && !w->hasher) || (hash.keyed && !w->keyer) || buffer_failed(&head)) {
		status = error_nomem(err);
	} else {
		w->head_checksum = checksum64(head.data, head.size);
		status = emit(w, head.data, head.size, err);
		hasher_wait(w->hasher, w->ticket);
	}
	buffer_release(&head);
	return status;
}

static int add_entry(struct archive_writer *w, uint64_t entry, struct brevis_error *err)
{
	if (w->pieces == WIRE_PIECES_MAX)
		return error_set(err, BREVIS_E_LIMIT, "more than %llu tensors and parts of them",
				 (unsigned long long)WIRE_PIECES_MAX);
	w->pieces++;
	buffer_varint(&w->entries, entry);
	return buffer_failed(&w->entries) ? error_nomem(err) : BREVIS_OK;
}

int archive_writer_record(struct archive_writer *w, const void *record, size_t size,
			  struct brevis_error *err)
{
	int status = add_entry(w, (uint64_t)size << 1, err);

	w->records++;
	return status ? status : emit(w, record, size, err);
}

int archive_writer_repeat(struct archive_writer *w, uint64_t record, struct brevis_error *err)
{
	return add_entry(w, record << 1 | 1, err);
}

/* Index and tail, in the order of wire.h. */
static void build_end(const struct archive_writer *w, const struct archive_original *original,
		      struct buffer *end)
{
	static const uint8_t none[BREVIS_SHA256_SIZE];

	buffer_u8(end, (uint8_t)original->layout);
	/* Without a prior as many bytes: so the sizes of all presets can be compared. */
	buffer_u8(end, BREVIS_SHA256_SIZE);
	buffer_append(end, original->has_prior ? original->prior_sha256 : none, BREVIS_SHA256_SIZE);
	buffer_varint(end, w->pieces);
	buffer_append(end, w->entries.data, w->entries.size);
	buffer_le64(end, end->size);
	buffer_le64(end, original->size);
	buffer_append(end, original->sha256, BREVIS_SHA256_SIZE);
	if (buffer_failed(end))
		return;
	buffer_le64(end, checksum64_chain(w->head_checksum, end->data, end->size));
	buffer_append(end, WIRE_END_MARK, 8);
}

int archive_writer_finish(struct archive_writer *w, const struct archive_original *original,
			  uint8_t sha256[BREVIS_SHA256_SIZE], struct brevis_error *err)
{
	struct buffer end = BUFFER_INIT;
	int status;

	build_end(w, original, &end);
	status = buffer_failed(&end) ? error_nomem(err) : emit(w, end.data, end.size, err);
	if (!status && w->hasher)
		hasher_final(w->hasher, sha256);
	if (!status && w->keyer)
		w->key = content_keyer_end(w->keyer);
	buffer_release(&end);
	return status;
}

static int check_key(struct archive_writer *w, const struct brevis_source *source,
		     struct brevis_error *err)
{
	uint8_t *step = malloc(READ_BACK_STEP);
	uint64_t offset = 0;
	int status = step ? BREVIS_OK : error_nomem(err);

	while (!status && offset < w->size) {
		uint64_t left = w->size - offset;
		size_t n = left < READ_BACK_STEP ? (size_t)left : READ_BACK_STEP;

		if (source->read_at(source->ctx, step, n, offset))
			status = error_set(err, BREVIS_E_IO, "it cannot be read back");
		else
			content_keyer_update(w->keyer, step, n);
		offset += n;
	}
	if (!content_key_equal(content_keyer_end(w->keyer), w->key) && !status)
		status = error_set(err, BREVIS_E_CHECKSUM, "it is not what was written");
	free(step);
	return status;
}

int archive_writer_check(struct archive_writer *w, const struct brevis_source *source,
			 struct brevis_error *err)
{
	if (source->size != w->size)
		return error_set(err, BREVIS_E_CHECKSUM, "it has another size than was written");
	return w->keyer ? check_key(w, source, err) : BREVIS_OK;
}

void archive_writer_release(struct archive_writer *w)
{
	hasher_free(w->hasher);
	content_keyer_free(w->keyer);
	buffer_release(&w->entries);
	*w = (struct archive_writer){0};
}
