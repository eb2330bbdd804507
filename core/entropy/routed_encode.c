/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/routed_encode.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/entropy/log2.h"

#define TABLES_MAX 32

/* Slots that a route may take of what the format allows a program. */
#define SLOTS_MAX (1u << 17)

/*
 * Short counts of codes, in tables that take turns: so that equal words side by side do not wait
 * for each other, and all tables stay in the nearest cache.
 */
#define TURNS 2

/* Words that are counted at a time: with the tables they stay in the nearest cache. */
#define COUNT_WORDS 2048

/* After so many blocks no short count is full. */
#define BLOCKS_MAX 32

/* Where the counts of codes are: a loop of its own, which compilers vectorise. */
static void find_places(const uint8_t *codes, const uint8_t *classes, size_t n, uint16_t *places)
{
	size_t i;

	for (i = 0; i < n; i++)
		places[i] = (uint16_t)(classes[i] << 8 | codes[i]);
}

static void count_codes(const uint16_t *places, size_t n, size_t size, uint16_t *turns)
{
	uint16_t *second = turns + size;
	size_t i;

	for (i = 0; i + TURNS <= n; i += TURNS) {
		turns[places[i]]++;
		second[places[i + 1]]++;
	}
	for (; i < n; i++)
		turns[places[i]]++;
}

/* Adds the short counts to the others, and begins anew. */
static void add_turns(const struct rans_input *in, uint16_t *turns, size_t size, uint32_t *counts)
{
	unsigned k, t;
	size_t i;

	for (k = 0; k < in->tables; k++) {
		uint32_t *to = counts + ((size_t)k << in->width);

		for (t = 0; t < TURNS; t++)
			for (i = 0; i < (size_t)1 << in->width; i++)
				to[i] += turns[t * size + (k << 8) + i];
	}
	memset(turns, 0, sizeof(*turns) * TURNS * size);
}

/* Of words that are no codes. */
static void count_words(const struct rans_input *in, size_t first, const uint8_t *classes, size_t n,
			uint32_t *counts)
{
	const uint16_t *words = (const uint16_t *)in->words + first;
	size_t i;

	for (i = 0; i < n; i++)
		counts[((size_t)classes[i] << in->width) + words[i]]++;
}

/* Counts every step-th block of words. */
static void count_blocks(const struct rans_input *in, size_t step, uint32_t *counts)
{
	uint16_t turns[TURNS * TABLES_MAX << 8];
	uint8_t classes[COUNT_WORDS];
	uint16_t places[COUNT_WORDS];
	size_t size = (size_t)in->tables << 8, first, n;
	unsigned blocks = 0;

	memset(counts, 0, (sizeof(*counts) << in->width) * in->tables);
	memset(turns, 0, sizeof(*turns) * TURNS * size);
	memset(classes, 0, sizeof(classes));
	for (first = 0; first < in->count; first += step * COUNT_WORDS) {
		n = in->count - first < COUNT_WORDS ? in->count - first : COUNT_WORDS;
		if (in->classify)
			in->classify(in->ctx, first, classes, n);
		if (word_bytes(in->width) == 2) {
			count_words(in, first, classes, n, counts);
			continue;
		}
		find_places((const uint8_t *)in->words + first, classes, n, places);
		count_codes(places, n, size, turns);
		if (++blocks % BLOCKS_MAX == 0)
			add_turns(in, turns, size, counts);
	}
	if (word_bytes(in->width) == 1)
		add_turns(in, turns, size, counts);
}

void routed_count(const struct rans_input *in, uint32_t *counts)
{
	count_blocks(in, 1, counts);
}

/* What is to be said of the counts of one class. */
struct class_summary {
	uint64_t total;
	unsigned distinct;
};

/* A table needs two symbols: a class of only one gets a neighbour that never occurs. */
static struct class_summary summarise(uint32_t *counts, unsigned width)
{
	struct class_summary s = {0};
	unsigned i, some = 0;

	for (i = 0; i < 1u << width; i++) {
		if (!counts[i])
			continue;
		some = i;
		s.total += counts[i];
		s.distinct++;
	}
	if (s.distinct < 2) {
		counts[some ^ 1] = 1;
		s.total++;
		s.distinct++;
	}
	return s;
}

/*
 * The scale: as fine as kernels can, or as what is coded pays for and the format allows; and at
 * least with a slot for each symbol.
 */
static unsigned choose_scale(const struct rans_input *in, uint64_t largest, unsigned distinct)
{
	unsigned most = in->width <= RANS_CODE_BITS ? KERNEL_SCALE_MAX : FREQUENCY_BITS_MAX;
	unsigned least = bit_length(distinct - 1);
	unsigned scale_bits = bit_length(largest);

	scale_bits = scale_bits < most ? scale_bits : most;
	/* All tables of a program share its limit of slots. */
	while (scale_bits > FREQUENCY_BITS_MIN && (in->tables << scale_bits) > SLOTS_MAX)
		scale_bits--;
	least = least > FREQUENCY_BITS_MIN ? least : FREQUENCY_BITS_MIN;
	return scale_bits > least ? scale_bits : least;
}

/* The tables of all classes, of one scale and precision. */
struct table_set {
	unsigned count;
	struct frequency_plan plans[TABLES_MAX];
};

static void table_set_release(struct table_set *set)
{
	unsigned i;

	for (i = 0; i < set->count; i++)
		frequency_plan_release(&set->plans[i]);
}

/* Release it in any case. */
static int table_set_init(struct table_set *set, const struct rans_input *in, uint32_t *counts,
			  struct brevis_error *err)
{
	struct class_summary of[TABLES_MAX] = {0};
	uint64_t largest = 0;
	unsigned distinct = 0, all = 0, precision, scale_bits, i;
	int status = BREVIS_OK;

	set->count = 0;
	for (i = 0; i < in->tables; i++) {
		of[i] = summarise(counts + ((size_t)i << in->width), in->width);
		largest = of[i].total > largest ? of[i].total : largest;
		distinct = of[i].distinct > distinct ? of[i].distinct : distinct;
		all += of[i].distinct;
	}
	precision = frequency_precision(in->count, all);
	scale_bits = choose_scale(in, largest, distinct);
	for (; set->count < in->tables && !status; set->count++) {
		i = set->count;
		status = frequency_plan_scaled(&set->plans[i], counts + ((size_t)i << in->width),
					       in->width, of[i].total, scale_bits, precision, err);
	}
	return status;
}

int routed_encode(struct buffer *out, const struct rans_input *in, uint32_t *counts,
		  struct brevis_error *err)
{
	struct table_set set;
	bool fits;
	int status = table_set_init(&set, in, counts, err);

	if (!status)
		status = rans_encode(out, set.plans, rans_lanes(in->count), in, UINT64_MAX, &fits,
				     err);
	table_set_release(&set);
	return status;
}

/* ---- codes that may be escaped --------------------------------------------------------------- */

#define ESCAPE 255

/* Fewer codes feel what an escape in each table takes. */
#define CODES_MIN 16384

/* Words of each class of which every second block is counted, or every fourth. */
#define COUNT_HALF_FROM    ((size_t)1 << 14)
#define COUNT_QUARTER_FROM ((size_t)1 << 16)

/*
 * A code that is one of more than so many words of its class, in slots, is not worth the slot that
 * it takes at least: to escape it costs some 5 bits more than to code it, its place in the table is
 * as much, and all others are that much longer.
 */
#define RARE_SLOTS 4

/* Leaves out rare codes, which will be escaped, as will those that were not counted. */
static void drop_rare(uint32_t *counts)
{
	uint64_t total = 0;
	unsigned i;

	for (i = 0; i < 256; i++)
		total += counts[i];
	for (i = 0; i < ESCAPE; i++) {
		if (counts[i] * ((uint64_t)RARE_SLOTS << KERNEL_SCALE_MAX) >= total)
			continue;
		counts[ESCAPE] += counts[i];
		counts[i] = 0;
	}
	counts[ESCAPE] += !counts[ESCAPE];
}

bool codes_suffice(size_t count)
{
	return count >= CODES_MIN;
}

/* Counts codes, of many some. NULL: out of memory. */
static uint32_t *count_some(const struct rans_input *in)
{
	size_t each = in->count / in->tables;
	size_t step = each < COUNT_HALF_FROM ? 1 : each < COUNT_QUARTER_FROM ? 2 : 4;
	uint32_t *counts = malloc(sizeof(*counts) * in->tables << RANS_CODE_BITS);

	if (counts)
		count_blocks(in, step, counts);
	return counts;
}

int codes_encode(struct buffer *out, const struct rans_input *in, uint32_t *counts,
		 struct rans_units *units, struct brevis_error *err)
{
	uint32_t *own = counts ? NULL : count_some(in);
	struct table_set set;
	unsigned i;
	int status;

	*units = (struct rans_units){0};
	counts = counts ? counts : own;
	if (!counts)
		return error_nomem(err);
	for (i = 0; i < in->tables; i++)
		drop_rare(counts + ((size_t)i << RANS_CODE_BITS));
	status = table_set_init(&set, in, counts, err);
	if (!status)
		status = rans_tables_encode(out, set.plans, rans_lanes(in->count), in, units, err);
	table_set_release(&set);
	free(own);
	return status;
}
