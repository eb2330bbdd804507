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

#define DIGIT_BITS 8

/* Sorts by the digit whose lowest bit is `shift`; equal ones keep their order. */
static void sort_digit(const uint64_t *from, uint64_t *to, unsigned n, unsigned shift)
{
	uint16_t starts[1 << DIGIT_BITS] = {0};
	uint16_t sum = 0;
	unsigned i;

	for (i = 0; i < n; i++)
		starts[from[i] >> shift & low_bits(DIGIT_BITS)]++;
	for (i = 0; i < 1u << DIGIT_BITS; i++) {
		uint16_t count = starts[i];

		starts[i] = sum;
		sum = (uint16_t)(sum + count);
	}
	for (i = 0; i < n; i++)
		to[starts[from[i] >> shift & low_bits(DIGIT_BITS)]++] = from[i];
}

/*
 * Fills keys with count << LITERAL_SYMBOL_BITS | symbol of those that occur, in rising order.
 * Returns how many there are.
 */
static unsigned sort_symbols(uint64_t *keys, const uint32_t *histogram, unsigned symbols)
{
	uint64_t other[1 << LITERAL_SYMBOL_BITS];
	uint64_t all = 0;
	unsigned n = 0, shift, i;

	for (i = 0; i < symbols; i++) {
		if (!histogram[i])
			continue;
		keys[n++] = (uint64_t)histogram[i] << LITERAL_SYMBOL_BITS | i;
		all |= histogram[i];
	}
	for (shift = 0; all >> shift; shift += 2 * DIGIT_BITS) {
		sort_digit(keys, other, n, LITERAL_SYMBOL_BITS + shift);
		sort_digit(other, keys, n, LITERAL_SYMBOL_BITS + shift + DIGIT_BITS);
	}
	return n;
}

/*
 * Optimal code lengths by Huffman's way: the two lightest nodes become one, leaves first among
 * equals. Nodes are made in the order of their weight, so there is nothing to sort. False, with no
 * lengths, if one is longer than the limit. weights, parents: 2n. *bits: of all codes.
 */
static bool unlimited_lengths(const uint64_t *keys, unsigned n, unsigned limit, uint64_t *weights,
			      uint16_t *parents, uint8_t *lengths, uint64_t *bits)
{
	uint8_t depths[2 << LITERAL_SYMBOL_BITS];
	unsigned leaf = 0, node = n, made, i;

	for (i = 0; i < n; i++)
		weights[i] = keys[i] >> LITERAL_SYMBOL_BITS;
	*bits = 0;
	for (made = n; made < 2 * n - 1; made++, *bits += weights[made - 1]) {
		weights[made] = 0;
		for (i = 0; i < 2; i++) {
			bool is_leaf = leaf < n && (node == made || weights[leaf] <= weights[node]);
			unsigned lightest = is_leaf ? leaf++ : node++;

			weights[made] += weights[lightest];
			parents[lightest] = (uint16_t)made;
		}
	}
	depths[2 * n - 2] = 0;
	for (i = 2 * n - 2; i-- > 0;)
		depths[i] = (uint8_t)(depths[parents[i]] + 1);
	/* The lightest leaf is as deep as any. */
	if (depths[0] > limit)
		return false;
	for (i = 0; i < n; i++)
		lengths[keys[i] & low_bits(LITERAL_SYMBOL_BITS)] = depths[i];
	return true;
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

static uint64_t payload_bytes(const struct huffman_plan *plan)
{
	return (plan->payload_bits + 7) / 8;
}

uint64_t huffman_plan_size(const struct huffman_plan *plan)
{
	return plan->table_bits / 8 + varint_size(payload_bytes(plan)) + payload_bytes(plan);
}

int huffman_plan_try(struct huffman_plan *plan, const uint32_t *histogram, unsigned width,
		     uint64_t most, bool *fits, struct brevis_error *err)
{
	uint64_t keys[1 << LITERAL_SYMBOL_BITS], payload_bits;
	unsigned n = sort_symbols(keys, histogram, 1u << width);
	unsigned limit = length_limit(n);
	uint64_t *scratch = malloc(4 * (size_t)n * sizeof(*scratch));
	uint8_t *flags = NULL;
	int status = BREVIS_OK;

	*fits = false;
	*plan = (struct huffman_plan){.lengths = calloc((size_t)1 << width, 1)};
	if (!scratch || !plan->lengths) {
		status = error_nomem(err);
		goto out;
	}
	if (!unlimited_lengths(keys, n, limit, scratch, (uint16_t *)(scratch + 2 * (size_t)n),
			       plan->lengths, &payload_bits)) {
		/* Shorter codes take more bits still. */
		if (payload_bits / 8 > most)
			goto out;
		flags = malloc((size_t)limit * 2 * n);
		if (!flags) {
			status = error_nomem(err);
			goto out;
		}
		limited_lengths(keys, n, limit, scratch, flags, plan->lengths);
	}
	complete_plan(plan, histogram, width);
	*fits = huffman_plan_size(plan) <= most;
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

/* Bits on their way out, fewer than 8 of them between words. */
struct outlet {
	uint8_t *to;
	uint64_t pending;
	unsigned filled;
};

/* Up to 56 bits. Writes up to 7 bytes past them. */
ALWAYS_INLINE void put_bits(struct outlet *o, uint64_t bits, unsigned n)
{
	o->pending |= bits << o->filled;
	o->filled += n;
	store_le64(o->to, o->pending);
	o->to += o->filled / 8;
	o->pending >>= o->filled & ~7u;
	o->filled &= 7;
}

/* codes[symbol] is reversed code << 4 | length. Writes up to 7 bytes past the payload. */
ALWAYS_INLINE void encode(uint8_t *to, const uint32_t *codes, const void *words, unsigned size,
			  size_t count)
{
	struct outlet o = {to, 0, 0};
	size_t i;

	/* Three codes, which add up to 45 bits, wait for those before them only once. */
	for (i = 0; i + 3 <= count; i += 3) {
		uint32_t a = codes[word_get(words, size, i)];
		uint32_t b = codes[word_get(words, size, i + 1)];
		uint32_t c = codes[word_get(words, size, i + 2)];
		unsigned second = a & 15, third = second + (b & 15);
		uint64_t bits = a >> 4 | (uint64_t)(b >> 4) << second;

		put_bits(&o, bits | (uint64_t)(c >> 4) << third, third + (c & 15));
	}
	for (; i < count; i++)
		put_bits(&o, codes[word_get(words, size, i)] >> 4,
			 codes[word_get(words, size, i)] & 15);
	store_le64(o.to, o.pending);
}

void huffman_encode(struct buffer *out, const struct huffman_plan *plan, const void *words,
		    unsigned width, size_t count)
{
	uint32_t codes[1 << LITERAL_SYMBOL_BITS];
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
