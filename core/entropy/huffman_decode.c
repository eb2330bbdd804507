/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/huffman.h"

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/levels.h"
#include "core/entropy/words.h"

#include <stdlib.h>
#include <string.h>

/* Reads the levels of all symbols of the range; *kraft counts codes in units of the longest. */
static int read_lengths(struct bit_reader *bits, const struct huffman_table *table,
			uint8_t *lengths, uint32_t *kraft, struct brevis_error *err)
{
	struct level_reader levels;
	unsigned lowest = HUFFMAN_LONGEST;
	unsigned level = 0;
	unsigned i;

	level_reader_init(&levels, bits, table->longest);
	for (i = 0; i < table->range; i++) {
		level = level_read(&levels);
		if (!level && i == 0)
			break;
		if (!level)
			continue;
		*kraft += 1u << (level - 1);
		lowest = level < lowest ? level : lowest;
		if (lengths)
			lengths[table->first + i] = (uint8_t)(table->longest + 1 - level);
	}
	if (levels.failed || level_reader_in_run(&levels))
		return error_set(err, BREVIS_E_FORMAT,
				 "Huffman table: a code length is out of range");
	if (!level)
		return error_set(err, BREVIS_E_FORMAT,
				 "Huffman table: it begins or ends with a symbol without code");
	if (lowest != 1)
		return error_set(err, BREVIS_E_FORMAT,
				 "Huffman table: no code of %u bits as it says", table->longest);
	return BREVIS_OK;
}

int huffman_table_read(struct span *in, unsigned width, struct huffman_table *table,
		       uint8_t *lengths, struct brevis_error *err)
{
	struct bit_reader bits;
	struct span behind;
	unsigned last;
	uint32_t kraft = 0;
	int status;

	table->longest = span_u8(in);
	if (in->failed)
		return error_set(err, BREVIS_E_FORMAT, "Huffman table: cut short");
	if (table->longest < 1 || table->longest > HUFFMAN_LONGEST)
		return error_set(err, BREVIS_E_FORMAT,
				 "Huffman table: longest code of %u bits, must be 1 to %d",
				 table->longest, HUFFMAN_LONGEST);
	bit_reader_init(&bits, *in);
	table->first = (unsigned)bit_read(&bits, width);
	last = table->first + 1 + (unsigned)bit_read(&bits, width);
	if (last >= 1u << width)
		return error_set(err, BREVIS_E_FORMAT,
				 "Huffman table: symbol %u is outside the alphabet of %u bits",
				 last, width);
	table->range = last - table->first + 1;
	status = read_lengths(&bits, table, lengths, &kraft, err);
	if (bits.in.failed)
		return error_set(err, BREVIS_E_FORMAT, "Huffman table: cut short");
	if (status)
		return status;
	if (!bit_reader_end(&bits, &behind))
		return error_set(err, BREVIS_E_FORMAT, "Huffman table: padding bits are set");
	if (kraft != 1u << table->longest)
		return error_set(err, BREVIS_E_FORMAT, "Huffman table: the codes are %s",
				 kraft > 1u << table->longest ? "too many" : "not complete");
	*in = behind;
	return BREVIS_OK;
}

void huffman_first_codes(const uint8_t *lengths, const struct huffman_table *table,
			 uint32_t next[HUFFMAN_LONGEST + 1])
{
	uint32_t counts[HUFFMAN_LONGEST + 1] = {0};
	unsigned i;

	for (i = table->first; i < table->first + table->range; i++)
		counts[lengths[i]]++;
	counts[0] = 0;
	next[0] = 0;
	for (i = 1; i <= HUFFMAN_LONGEST; i++)
		next[i] = (next[i - 1] + counts[i - 1]) << 1;
}

uint32_t huffman_reverse(uint32_t code, unsigned length)
{
	uint32_t reversed = 0;

	for (; length; length--, code >>= 1)
		reversed = reversed << 1 | (code & 1);
	return reversed;
}

size_t huffman_decoder_size(const struct literal *literal)
{
	/* The table begins with the length of the longest code. */
	return sizeof(struct huffman_decoder) +
	       ((size_t)1 << literal->table.at[0]) * sizeof(uint32_t);
}

int huffman_decoder_init(struct huffman_decoder *d, const struct literal *literal,
			 struct brevis_error *err)
{
	uint8_t lengths[1 << LITERAL_SYMBOL_BITS] = {0};
	uint32_t next[HUFFMAN_LONGEST + 1];
	struct span in = literal->table;
	struct huffman_table table;
	uint32_t at;
	unsigned i;
	int status = huffman_table_read(&in, literal->width, &table, lengths, err);

	if (status)
		return status;
	huffman_first_codes(lengths, &table, next);
	for (i = table.first; i < table.first + table.range; i++) {
		unsigned length = lengths[i];

		if (!length)
			continue;
		at = huffman_reverse(next[length]++, length);
		for (; at < 1u << table.longest; at += 1u << length)
			d->entries[at] = i << 4 | length;
	}
	d->data = literal->payload.at;
	d->size = span_left(&literal->payload);
	d->longest = table.longest;
	huffman_decoder_rewind(d);
	return BREVIS_OK;
}

void huffman_decoder_rewind(struct huffman_decoder *d)
{
	d->position = 0;
}

/* The next 57 bits or more, with zeros past the end. */
static uint64_t peek_slow(const struct huffman_decoder *d)
{
	uint64_t byte = d->position / 8;
	uint8_t raw[8] = {0};

	if (byte < d->size)
		memcpy(raw, d->data + byte, d->size - byte < 8 ? (size_t)(d->size - byte) : 8);
	return load_le64(raw) >> d->position % 8;
}

ALWAYS_INLINE unsigned take(uint64_t *window, const uint32_t *entries, uint32_t mask,
			    uint64_t *position)
{
	uint32_t entry = entries[*window & mask];

	*window >>= entry & 15;
	*position += entry & 15;
	return entry >> 4;
}

ALWAYS_INLINE void decode(struct huffman_decoder *d, void *words, unsigned size, size_t count)
{
	const uint32_t *entries = d->entries;
	uint32_t mask = (1u << d->longest) - 1;
	uint64_t position = d->position;
	uint64_t window;
	size_t i = 0;

	/* A load yields 57 bits: four codes of up to 14. */
	for (; d->longest <= 14 && i + 4 <= count && position / 8 + 8 <= d->size; i += 4) {
		window = load_le64(d->data + position / 8) >> position % 8;
		word_set(words, size, i, take(&window, entries, mask, &position));
		word_set(words, size, i + 1, take(&window, entries, mask, &position));
		word_set(words, size, i + 2, take(&window, entries, mask, &position));
		word_set(words, size, i + 3, take(&window, entries, mask, &position));
	}
	for (; i < count; i++) {
		d->position = position;
		window = peek_slow(d);
		word_set(words, size, i, take(&window, entries, mask, &position));
	}
	d->position = position;
}

int huffman_decode(struct huffman_decoder *d, void *words, unsigned width, size_t count,
		   struct brevis_error *err)
{
	if (word_bytes(width) == 1)
		decode(d, words, 1, count);
	else
		decode(d, words, 2, count);
	if (d->position / 8 + (d->position % 8 != 0) > d->size)
		return error_set(err, BREVIS_E_FORMAT, "Huffman literal: cut short");
	return BREVIS_OK;
}

int huffman_decoder_finish(const struct huffman_decoder *d, struct brevis_error *err)
{
	if (d->position / 8 + (d->position % 8 != 0) != d->size)
		return error_set(err, BREVIS_E_FORMAT, "Huffman literal: %s",
				 d->position / 8 >= d->size ? "cut short"
							    : "bytes after the last word");
	if (d->position % 8 && d->data[d->position / 8] >> d->position % 8)
		return error_set(err, BREVIS_E_FORMAT, "Huffman literal: padding bits are set");
	return BREVIS_OK;
}
