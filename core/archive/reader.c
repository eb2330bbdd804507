/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/reader.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/digest.h"
#include "core/base/error.h"

/* Heads of small neighbouring records are read together. */
#define WINDOW_SIZE (64u << 10)

/* Layout, prior, count, and for each piece an entry, which takes at most 4 bytes as a varint. */
#define INDEX_SIZE_MAX (64 + 5 * WIRE_PIECES_MAX)

/* The head's bytes up to the codebook, at most: one name that is too long to be known follows. */
#define HEAD_START_MAX (WIRE_HEAD_FIXED + 1 + 255)

bool brevis_is_archive(const void *data, size_t len)
{
	return len >= BREVIS_MAGIC_SIZE && !memcmp(data, WIRE_MAGIC, BREVIS_MAGIC_SIZE);
}

static int read_at(const struct brevis_source *source, void *buf, size_t len, uint64_t offset,
		   struct brevis_error *err)
{
	if (source->read_at(source->ctx, buf, len, offset))
		return error_set(err, BREVIS_E_IO, "%zu bytes at offset %llu could not be read",
				 len, (unsigned long long)offset);
	return BREVIS_OK;
}

/* Refuses by name what this build does not know; leaves *in behind it. */
static int check_version(struct span *in, struct brevis_error *err)
{
	const uint8_t *magic = span_take(in, BREVIS_MAGIC_SIZE);
	uint8_t version = span_u8(in);
	uint8_t features = span_u8(in);

	if (span_failed(in) || !brevis_is_archive(magic, BREVIS_MAGIC_SIZE))
		return error_set(err, BREVIS_E_FORMAT, "not a brevis archive");
	if (version != BREVIS_FORMAT_VERSION)
		return error_set(err, BREVIS_E_UNSUPPORTED,
				 "archive has format version %u, this git-brevis reads version %u",
				 version, BREVIS_FORMAT_VERSION);
	if (features) {
		uint8_t len = span_u8(in);
		const uint8_t *name = span_take(in, len);

		return error_set(err, BREVIS_E_UNSUPPORTED,
				 "archive needs feature '%.*s', which this git-brevis lacks",
				 name ? (int)len : 1, name ? (const char *)name : "?");
	}
	return BREVIS_OK;
}

/* One more record; grows as entries are really there, never by what is promised. */
static void *grow(void *array, uint64_t count, size_t element)
{
	if (count & (count - 1))
		return array; /* not a power of two: there is room */
	return realloc(array, (size_t)(count ? 2 * count : 1) * element);
}

struct opening {
	struct brevis_archive *archive;
	struct buffer head; /* to the end of the codebook */
	size_t codebook_size;
	uint64_t index_size;
	uint8_t *index;
	struct span entries; /* of the index */
	struct brevis_error *err;
};

/* Reads what the head says of itself, then the rest of it. */
static int read_head(struct opening *o)
{
	const struct brevis_source *source = &o->archive->source;
	size_t begun = source->size < HEAD_START_MAX ? (size_t)source->size : HEAD_START_MAX;
	uint64_t codebook_size;
	struct span in;
	size_t size;
	int status;

	if (source->size < WIRE_HEAD_FIXED)
		return error_set(o->err, BREVIS_E_FORMAT, "not a brevis archive");
	if (!buffer_extend(&o->head, begun))
		return error_nomem(o->err);
	status = read_at(source, o->head.data, begun, 0, o->err);
	in = span_of(o->head.data, begun);
	if (!status)
		status = check_version(&in, o->err);
	if (status)
		return status;
	codebook_size = span_varint(&in);
	if (span_failed(&in) || codebook_size > CODEBOOK_BYTES_MAX)
		return error_set(o->err, BREVIS_E_FORMAT, "codebook size out of range");
	o->codebook_size = (size_t)codebook_size;
	size = (size_t)(in.at - o->head.data) + o->codebook_size;
	if (source->size < size + WIRE_TAIL_SIZE)
		return error_set(o->err, BREVIS_E_FORMAT, "archive is cut short");
	if (size > begun) {
		if (!buffer_extend(&o->head, size - begun))
			return error_nomem(o->err);
		status = read_at(source, o->head.data + begun, size - begun, begun, o->err);
	}
	o->head.size = size;
	return status;
}

static int read_tail(struct opening *o, uint8_t tail[WIRE_TAIL_SIZE])
{
	const struct brevis_source *source = &o->archive->source;
	int status = read_at(source, tail, WIRE_TAIL_SIZE, source->size - WIRE_TAIL_SIZE, o->err);

	if (!status && memcmp(tail + WIRE_TAIL_SIZE - 8, WIRE_END_MARK, 8) != 0)
		return error_set(o->err, BREVIS_E_FORMAT,
				 "archive is cut short: its end mark is missing");
	return status;
}

/* Reads the index, together with the part of the tail that its checksum covers, and proves it. */
static int read_index(struct opening *o)
{
	struct brevis_archive *archive = o->archive;
	uint64_t room;
	uint8_t tail[WIRE_TAIL_SIZE];
	uint64_t checksum;
	int status = read_tail(o, tail);

	if (status)
		return status;
	room = archive->source.size - o->head.size - WIRE_TAIL_SIZE;
	o->index_size = load_le64(tail);
	if (o->index_size > room || o->index_size > INDEX_SIZE_MAX)
		return error_set(o->err, BREVIS_E_FORMAT, "index size out of range");
	o->index = malloc((size_t)o->index_size + WIRE_TAIL_COVERED);
	if (!o->index)
		return error_nomem(o->err);
	status = read_at(&archive->source, o->index, (size_t)o->index_size + WIRE_TAIL_COVERED,
			 o->head.size + room - o->index_size, o->err);
	if (status)
		return status;
	checksum = checksum64_chain(checksum64(o->head.data, o->head.size), o->index,
				    (size_t)o->index_size + WIRE_TAIL_COVERED);
	if (!checksum64_agrees(checksum, load_le64(tail + WIRE_TAIL_COVERED)))
		return error_set(o->err, BREVIS_E_CHECKSUM, "index checksum does not match");
	archive->info.original_size = load_le64(tail + 8);
	memcpy(archive->info.original_sha256, tail + 16, BREVIS_SHA256_SIZE);
	return BREVIS_OK;
}

/* Whatever the codebook holds, the checksum has proven it by now. */
static int parse_codebook(struct opening *o)
{
	if (!o->codebook_size)
		return BREVIS_OK;
	return codebook_parse(o->head.data + o->head.size - o->codebook_size, o->codebook_size,
			      &o->archive->codebook, o->err);
}

/* Takes one index entry; *end is where the records before it end. Pieces are counted only: until
 * their sizes are known to add up, an index of a few MB must not cost a table of many. */
static int take_entry(struct opening *o, uint64_t entry, uint64_t *end)
{
	struct brevis_archive *archive = o->archive;
	struct brevis_archive_info *info = &archive->info;
	uint64_t records_end = archive->source.size - WIRE_TAIL_SIZE - o->index_size;
	uint64_t size = entry >> 1;
	struct record_entry *records;

	info->pieces++;
	if (entry & 1) {
		if (entry >> 1 >= info->records)
			return error_set(o->err, BREVIS_E_FORMAT, "index repeats a later record");
		return BREVIS_OK;
	}
	records = grow(archive->records, info->records, sizeof(*records));
	if (!records)
		return error_nomem(o->err);
	archive->records = records;
	if (!size || size > RECORD_RAW_MAX + RECORD_OVERHEAD_MAX || size > records_end - *end)
		return error_set(o->err, BREVIS_E_FORMAT,
				 "index promises more than the archive holds");
	records[info->records++] = (struct record_entry){.offset = *end, .size = (uint32_t)size};
	*end += size;
	return BREVIS_OK;
}

/* Takes the index up to its entries, and says how many of these there are. */
static int parse_index_head(struct opening *o, struct span *in, uint64_t *count)
{
	struct brevis_archive_info *info = &o->archive->info;
	uint8_t layout = span_u8(in);
	uint8_t prior_size = span_u8(in);
	const uint8_t *prior;
	unsigned i;

	if (prior_size && prior_size != BREVIS_SHA256_SIZE)
		return error_set(o->err, BREVIS_E_FORMAT, "index names a prior by %u bytes",
				 prior_size);
	prior = span_take(in, prior_size);
	*count = span_varint(in);
	if (span_failed(in) || layout > BREVIS_LAYOUT_IRREGULAR || *count > WIRE_PIECES_MAX)
		return error_set(o->err, BREVIS_E_FORMAT, "index is damaged");
	info->layout = (enum brevis_layout)layout;
	if (prior_size)
		memcpy(info->prior_sha256, prior, prior_size);
	for (i = 0; i < prior_size; i++)
		info->has_prior |= prior[i] != 0;
	return BREVIS_OK;
}

static int parse_index(struct opening *o)
{
	struct brevis_archive *archive = o->archive;
	struct span in = span_of(o->index, (size_t)o->index_size);
	uint64_t end = o->head.size;
	uint64_t i, count = 0;
	int status = parse_index_head(o, &in, &count);

	if (status)
		return status;
	o->entries = in;
	for (i = 0; i < count; i++) {
		uint64_t entry = span_varint(&in);

		status = span_failed(&in) ? error_set(o->err, BREVIS_E_FORMAT, "index is cut short")
					  : take_entry(o, entry, &end);
		if (status)
			return status;
	}
	if (span_left(&in) || end != archive->source.size - WIRE_TAIL_SIZE - o->index_size)
		return error_set(o->err, BREVIS_E_FORMAT, "index does not cover the archive");
	return BREVIS_OK;
}

/* Reads the head of every record, through a window that slides over the archive. */
static int read_record_heads(struct opening *o)
{
	struct brevis_archive *archive = o->archive;
	uint8_t *window = malloc(WINDOW_SIZE);
	uint64_t begin = 0, end = 0, i;
	int status = window ? BREVIS_OK : error_nomem(o->err);

	for (i = 0; i < archive->info.records && !status; i++) {
		struct record_entry *record = &archive->records[i];
		size_t want = record->size < RECORD_HEAD_MAX ? record->size : RECORD_HEAD_MAX;
		struct span in;

		if (record->offset + want > end) {
			uint64_t left = archive->source.size - record->offset;

			begin = record->offset;
			end = begin + (left < WINDOW_SIZE ? left : WINDOW_SIZE);
			/* Of larger records nothing but the head is wanted. */
			if (record->size >= WINDOW_SIZE / 16)
				end = begin + want;
			status = read_at(&archive->source, window, (size_t)(end - begin), begin,
					 o->err);
		}
		in = span_of(window + (record->offset - begin), want);
		if (!status)
			status = record_head_parse(&in, &record->head, o->err);
	}
	free(window);
	return status;
}

/* The record of the next piece; *fresh are those that earlier pieces used. */
static uint64_t next_piece(struct span *entries, uint64_t *fresh)
{
	uint64_t entry = span_varint(entries);

	return entry & 1 ? entry >> 1 : (*fresh)++;
}

/* The pieces must cover the original exactly, and a chained record serves one piece, directly
 * behind bytes. */
static int check_pieces(struct opening *o)
{
	const struct brevis_archive *archive = o->archive;
	struct span entries = o->entries;
	uint64_t fresh = 0, sum = 0, i;
	bool behind_bytes = false;

	for (i = 0; i < archive->info.pieces; i++) {
		uint64_t used = fresh;
		const struct record_head *head =
			&archive->records[next_piece(&entries, &fresh)].head;
		bool is_chained = head->kind == RECORD_CHAINED;

		if (is_chained && used == fresh)
			return error_set(o->err, BREVIS_E_FORMAT, "index repeats a chained record");
		if (is_chained && !behind_bytes)
			return error_set(o->err, BREVIS_E_FORMAT,
					 "chained record is not behind bytes");
		behind_bytes = record_is_bytes(head);
		sum += head->raw_size;
	}
	if (sum != archive->info.original_size)
		return error_set(o->err, BREVIS_E_FORMAT,
				 "records do not sum to the original size");
	return BREVIS_OK;
}

/* Places the pieces in the original. */
static int place_pieces(struct opening *o)
{
	struct brevis_archive *archive = o->archive;
	struct span entries = o->entries;
	uint64_t fresh = 0, offset = 0, i;

	if (!archive->info.pieces)
		return BREVIS_OK;
	archive->pieces = malloc((size_t)archive->info.pieces * sizeof(*archive->pieces));
	if (!archive->pieces)
		return error_nomem(o->err);
	for (i = 0; i < archive->info.pieces; i++) {
		uint64_t used = fresh;
		uint64_t record = next_piece(&entries, &fresh);

		archive->pieces[i] = (struct piece_entry){offset, (uint32_t)record, used == fresh};
		offset += archive->records[record].head.raw_size;
	}
	return BREVIS_OK;
}

/* Begins an archive's opening with all that its two ends say. What was begun is to be ended, even
 * after a failure. */
static int begin_opening(struct opening *o, const struct brevis_source *source)
{
	int status;

	o->archive = calloc(1, sizeof(*o->archive));
	if (!o->archive)
		return error_nomem(o->err);
	o->archive->source = *source;
	o->archive->info.format_version = BREVIS_FORMAT_VERSION;
	o->archive->info.archive_size = source->size;
	status = read_head(o);
	if (!status)
		status = read_index(o);
	if (!status)
		status = parse_codebook(o);
	if (!status)
		status = parse_index(o);
	return status;
}

static void end_opening(struct opening *o)
{
	free(o->index);
	buffer_release(&o->head);
}

int brevis_archive_open(const struct brevis_source *source, struct brevis_archive **out,
			struct brevis_error *err)
{
	struct opening o = {.err = err};
	int status = begin_opening(&o, source);

	if (!status)
		status = read_record_heads(&o);
	if (!status)
		status = check_pieces(&o);
	if (!status)
		status = place_pieces(&o);
	end_opening(&o);
	if (status)
		brevis_archive_free(o.archive);
	else
		*out = o.archive;
	return status;
}

int brevis_archive_peek(const struct brevis_source *source, struct brevis_archive_info *out,
			struct brevis_error *err)
{
	struct opening o = {.err = err};
	int status = begin_opening(&o, source);

	if (!status)
		*out = o.archive->info;
	end_opening(&o);
	brevis_archive_free(o.archive);
	return status;
}

void brevis_archive_free(struct brevis_archive *archive)
{
	if (!archive)
		return;
	brevis_header_free(archive->header);
	codebook_free(archive->codebook);
	free(archive->records);
	free(archive->pieces);
	free(archive);
}

const struct brevis_archive_info *brevis_archive_info(const struct brevis_archive *archive)
{
	return &archive->info;
}

int archive_read_record(const struct brevis_archive *archive, uint64_t record, void *buf,
			struct brevis_error *err)
{
	const struct record_entry *entry = &archive->records[record];

	return read_at(&archive->source, buf, entry->size, entry->offset, err);
}

bool archive_is_chained(const struct brevis_archive *archive, uint64_t i)
{
	return i < archive->info.pieces &&
	       archive->records[archive->pieces[i].record].head.kind == RECORD_CHAINED;
}

uint64_t brevis_archive_piece_at(const struct brevis_archive *archive, uint64_t offset)
{
	uint64_t low = 0, high = archive->info.pieces;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (archive->pieces[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int archive_fetch_piece(const struct brevis_archive *archive, uint64_t i, struct piece_buffer *pb,
			struct brevis_error *err)
{
	uint64_t number = archive->pieces[i].record;

	const struct record_entry *entry = &archive->records[number];

	if (archive->source.bytes) {
		pb->record = span_of((const uint8_t *)archive->source.bytes + entry->offset,
				     entry->size);
		return BREVIS_OK;
	}
	buffer_clear(&pb->stored);
	if (!buffer_extend(&pb->stored, entry->size))
		return error_nomem(err);
	pb->record = span_of(pb->stored.data, pb->stored.size);
	return archive_read_record(archive, number, pb->stored.data, err);
}

int archive_restore_piece(const struct brevis_archive *archive, uint64_t i, struct piece_buffer *pb,
			  const struct piece_buffer *before, struct record_decoder *decoder,
			  struct brevis_error *err)
{
	uint64_t number = archive->pieces[i].record;
	const struct record_entry *record = &archive->records[number];
	struct span reach = {0};
	struct brevis_error why;
	int status;

	if (!pb->place && pb->capacity < record->head.raw_size) {
		free(pb->memory);
		pb->memory = malloc(record->head.raw_size);
		pb->capacity = pb->memory ? record->head.raw_size : 0;
	}
	pb->raw = pb->place ? pb->place : pb->memory;
	if (!pb->raw)
		return error_nomem(err);
	if (before)
		reach = record_reach(before->raw, before->raw_size);
	status = record_decoder_run(decoder, pb->record, &record->head, archive->codebook, reach,
				    pb->raw, &why);
	if (status)
		return error_set(err, status, "record %llu of %llu: %s",
				 (unsigned long long)number + 1,
				 (unsigned long long)archive->info.records, why.message);
	pb->raw_size = record->head.raw_size;
	return BREVIS_OK;
}

void piece_buffer_swap(struct piece_buffer *a, struct piece_buffer *b)
{
	struct piece_buffer c = *a;

	*a = *b;
	*b = c;
}

void piece_buffer_release(struct piece_buffer *pb)
{
	buffer_release(&pb->stored);
	free(pb->memory);
	*pb = (struct piece_buffer){0};
}
