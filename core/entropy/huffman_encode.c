/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/huffman_encode.h"

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/levels_encode.h"
#include "core/entropy/words.h"

#include <stdlib.h>
#include <string.h>

/*
 * Longest code that the encoder makes. 12 bits keep the decoder's table in the first cache and cost
 * next to nothing; very large alphabets need more to come near their entropy.
 */
static unsigned length_limit(unsigned symbols)
{
	return symbols <= 1024 ? 12 : HUFFMAN_LONGEST;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Fills keys with count << LITERAL_SYMBOL_BITS | symbol of those that occur, in rising order. */
static unsigned sort_symbols(uint64_t *keys, const uint32_t *histogram, unsigned symbols)
{
	unsigned n = 0;
	unsigned i;

	for (i = 0; i < symbols; i++)
		if (histogram[i])
			keys[n++] = (uint64_t)histogram[i] << LITERAL_SYMBOL_BITS | i;
	qsort(keys, n, sizeof(*keys), compare_keys);
	return n;
}

/*
 * One round of package-merge: the n leaves and the pairs of the `count` items before are merged by
 * weight, leaves first among equals. is_leaf tells which is which. Returns the number of items.
 */
static unsigned merge_round(const uint64_t *keys, unsigned n, const uint64_t *before,
			    unsigned count, uint64_t *after, uint8_t *is_leaf)
{
	unsigned leaf = 0;
	unsigned pair = 0;
	unsigned made = 0;

	while (leaf < n || pair + 1 < count) {
		uint64_t weight = leaf < n ? keys[leaf] >> LITERAL_SYMBOL_BITS : UINT64_MAX;

		if (pair + 1 < count && before[pair] + before[pair + 1] < weight) {
			after[made] = before[pair] + before[pair + 1];
			is_leaf[made++] = 0;
			pair += 2;
		} else {
			after[made] = weight;
			is_leaf[made++] = 1;
			leaf++;
		}
	}
	return made;
}

/*
 * Optimal code lengths of at most `limit` bits by package-merge: of the last round the first
 * 2n - 2 items are taken, and with each pair its two items of the round before. A leaf's length is
 * the number of rounds in which it is taken. scratch: 4n weights; flags: limit * 2n.
 */
static void limited_lengths(const uint64_t *keys, unsigned n, unsigned limit, uint64_t *scratch,
			    uint8_t *flags, uint8_t *lengths)
{
	uint64_t *before = scratch;
	uint64_t *after = scratch + 2 * (size_t)n;
	unsigned count = 0;
	unsigned taken = 2 * n - 2;
	unsigned round;

	for (round = 0; round < limit; round++) {
		uint64_t *swap = before;

		count = merge_round(keys, n, before, count, after, flags + (size_t)round * 2 * n);
		before = after;
		after = swap;
	}
	while (round-- > 0 && taken) {
		const uint8_t *is_leaf = flags + (size_t)round * 2 * n;
		unsigned leaves = 0;
		unsigned i;

		for (i = 0; i < taken; i++)
			leaves += is_leaf[i];
		for (i = 0; i < leaves; i++)
			lengths[keys[i] & low_bits(LITERAL_SYMBOL_BITS)]++;
		taken = 2 * (taken - leaves);
	}
}

static void write_table(struct level_writer *w, const struct huffman_plan *plan, unsigned width)
{
	const struct huffman_table *table = &plan->table;
	unsigned zeros = 0;
	unsigned i;

	level_write_bits(w, table->longest, 8);
	level_write_bits(w, table->first, width);
	level_write_bits(w, table->range - 2, width);
	for (i = table->first; i < table->first + table->range; i++) {
		if (!plan->lengths[i]) {
			zeros++;
			continue;
		}
		if (zeros)
			level_write_zeros(w, zeros);
		zeros = 0;
		level_write(w, table->longest + 1 - plan->lengths[i]);
	}
}

/* Derives everything of the plan from its lengths. */
static void complete_plan(struct huffman_plan *plan, const uint32_t *histogram, unsigned width)
{
	struct level_writer counter;
	unsigned last = 0;
	unsigned i;

	plan->table.first = UINT32_MAX;
	for (i = 0; i < 1u << width; i++) {
		unsigned length = plan->lengths[i];

		if (!length)
			continue;
		plan->payload_bits += (uint64_t)histogram[i] * length;
		plan->table.longest = length > plan->table.longest ? length : plan->table.longest;
		plan->table.first = i < plan->table.first ? i : plan->table.first;
		last = i;
	}
	plan->table.range = last - plan->table.first + 1;
	level_writer_init(&counter, NULL);
	write_table(&counter, plan, width);
	plan->table_bits = (counter.size + 7) / 8 * 8;
}

int huffman_plan_init(struct huffman_plan *plan, const uint32_t *histogram, unsigned width,
		      struct brevis_error *err)
{
	uint64_t keys[1 << LITERAL_SYMBOL_BITS];
	unsigned n = sort_symbols(keys, histogram, 1u << width);
	unsigned limit = length_limit(n);
	uint64_t *scratch = malloc(4 * (size_t)n * sizeof(*scratch));
	uint8_t *flags = malloc((size_t)limit * 2 * n);
	int status = BREVIS_OK;

	*plan = (struct huffman_plan){.lengths = calloc((size_t)1 << width, 1)};
	if (!scratch || !flags || !plan->lengths) {
		status = error_nomem(err);
		goto out;
	}
	limited_lengths(keys, n, limit, scratch, flags, plan->lengths);
	complete_plan(plan, histogram, width);
out:
	free(scratch);
	free(flags);
	return status;
}

void huffman_plan_release(struct huffman_plan *plan)
{
	free(plan->lengths);
	plan->lengths = NULL;
}

static uint64_t payload_bytes(const struct huffman_plan *plan)
{
	return (plan->payload_bits + 7) / 8;
}

uint64_t huffman_plan_size(const struct huffman_plan *plan)
{
	return plan->table_bits / 8 + varint_size(payload_bytes(plan)) + payload_bytes(plan);
}

/* codes[symbol] is reversed code << 4 | length. Writes up to 7 bytes past the payload. */
ALWAYS_INLINE void encode(uint8_t *to, const uint32_t *codes, const void *words, unsigned size,
			  size_t count)
{
	uint64_t pending = 0;
	unsigned filled = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		uint32_t code = codes[word_get(words, size, i)];

		pending |= (uint64_t)(code >> 4) << filled;
		filled += code & 15;
		/* Fewer than 8 bits stay, and three codes add up to 45. */
		if (i % 3 != 2)
			continue;
		store_le64(to, pending);
		to += filled / 8;
		pending >>= filled & ~7u;
		filled &= 7;
	}
	store_le64(to, pending);
}

void huffman_encode(struct buffer *out, const struct huffman_plan *plan, const void *words,
		    unsigned width, size_t count)
{
	uint32_t codes[1 << LITERAL_SYMBOL_BITS] = {0};
	uint32_t next[HUFFMAN_LONGEST + 1];
	const struct huffman_table *table = &plan->table;
	uint64_t size = payload_bytes(plan);
	struct level_writer w;
	struct bit_writer bits;
	uint8_t *to;
	unsigned i;

	bit_writer_init(&bits, out);
	level_writer_init(&w, &bits);
	write_table(&w, plan, width);
	bit_writer_flush(&bits);
	buffer_varint(out, size);
	to = buffer_reserve(out, size + 8);
	if (!to)
		return;
	huffman_first_codes(plan->lengths, table, next);
	for (i = table->first; i < table->first + table->range; i++) {
		unsigned length = plan->lengths[i];

		if (length)
			codes[i] = huffman_reverse(next[length]++, length) << 4 | length;
	}
	if (word_bytes(width) == 1)
		encode(to, codes, words, 1, count);
	else
		encode(to, codes, words, 2, count);
	out->size += size;
}
