/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codebook: small tensors have the same few kinds of words at many scales, and a table of their
 * own costs each of them more than one that fits a little less well. Blocks of words of all small
 * tensors are sorted by scale, and neighbours are joined as long as that makes words and tables
 * together smaller.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/codebook.h"
#include "core/entropy/codebook_encode.h"
#include "core/entropy/words.h"
#include "core/program/fields.h"
#include "core/synthesis/calibrate.h"
#include "core/synthesis/cells.h"
#include "core/synthesis/rules_price.h"

/* Tensors in which a table of their own matters. */
#define SMALL_MIN 64
#define SMALL_MAX ((size_t)1 << 16)

/* Floats above so many are coded by kernels, which have tables of their own; and words of them
 * that are looked at, because there is little time for them. */
#define FLOATS_MAX      ((size_t)1 << 14)
#define FLOAT_WORDS_MAX ((size_t)1 << 18)

/* The field of floats that is worth a table, as the usual program cuts it. */
#define FLOAT_BITS 8

/* Fewer small tensors of one kind of words have no tables in common. */
#define TENSORS_MIN 8

/* Small tensors of which it is found out whether the codebook pays. */
#define PRICED_MAX 64

/* One of so many words is beyond the reach of all but few. */
#define GAP_TAIL 512

/* Words that are looked at of each kind, and in each block. */
#define WORDS_MAX ((size_t)1 << 21)
#define BLOCK     256

/* All small tensors of one kind of words, one after another; symbols cut out of them. */
struct group {
	struct words words;
	struct words symbols;
	struct alphabet alphabet;
	struct cells cells;
};

/* Floats whose field is known beforehand. */
static bool is_known(unsigned width, bool is_float)
{
	return is_float && (width == 16 || width == 32);
}

static bool is_of_few(const struct sample_tensor *t)
{
	return t->count >= SMALL_MIN &&
	       t->count < (is_known(t->width, t->kind->is_float) ? FLOATS_MAX : SMALL_MAX + 1);
}

static bool is_small(const struct sample_tensor *t, unsigned width, bool is_float)
{
	return t->width == width && t->kind->is_float == is_float && is_of_few(t);
}

/* Gathers the words. Their count is 0 if there are too few tensors. */
static int gather(struct group *g, const struct sample_tensor *tensors, size_t count,
		  unsigned width, bool is_float, struct brevis_error *err)
{
	size_t most = is_known(width, is_float) ? FLOAT_WORDS_MAX : WORDS_MAX;
	size_t total = 0, found = 0, i;
	uint8_t *to;

	for (i = 0; i < count; i++) {
		if (!is_small(&tensors[i], width, is_float) || total + tensors[i].count > most)
			continue;
		total += tensors[i].count;
		found++;
	}
	if (found < TENSORS_MIN)
		return BREVIS_OK;
	to = words_alloc(width, total, &g->words, err);
	if (!to)
		return BREVIS_E_NOMEM;
	for (i = 0, total = 0; i < count; i++) {
		if (!is_small(&tensors[i], width, is_float) || total + tensors[i].count > most)
			continue;
		memcpy(to + total * (width / 8), tensors[i].words, tensors[i].count * (width / 8));
		total += tensors[i].count;
	}
	fields_to_bytes(to, width, total);
	return BREVIS_OK;
}

/* Cuts out the field that is worth a table. */
static int cut_symbols(struct group *g, bool is_float, bool *found, struct brevis_error *err)
{
	struct stream s = {.words = g->words};
	unsigned width = g->words.width;
	struct partition cut;
	unsigned begin, end;
	int status;

	*found = is_known(width, is_float);
	if (*found)
		return expand_fields(&g->words, width - 1 - FLOAT_BITS, FLOAT_BITS, &g->symbols,
				     err);
	status = stream_price(&s, err);
	free(s.upper);
	if (status)
		return status;
	stream_price_cut(&s, &cut);
	if (!price_symbols(&s, &cut, &begin, &end) || end - begin > LITERAL_SYMBOL_BITS)
		return BREVIS_OK;
	*found = true;
	return expand_fields(&g->words, width - end, end - begin, &g->symbols, err);
}

/* Counts the blocks' words in cells by the mean scale of the block. */
static void count_blocks(struct group *g)
{
	unsigned size = word_bytes(g->symbols.width);
	size_t begin, i, end;
	unsigned top = 1u << g->symbols.width;

	for (begin = 0; begin < g->symbols.count; begin = end) {
		uint64_t sum = 0;
		uint32_t *cell;

		end = begin + BLOCK < g->symbols.count ? begin + BLOCK : g->symbols.count;
		for (i = begin; i < end; i++)
			sum += g->alphabet.scales[word_get(g->symbols.data, size, i)];
		cell = g->cells.counts +
		       sum * CELLS_MAX / ((end - begin) * top) * g->alphabet.count;
		for (i = begin; i < end; i++)
			cell[g->alphabet.of_symbol[word_get(g->symbols.data, size, i)]]++;
	}
}

/* The symbol up to which so many words are, counted from the lowest. */
static unsigned quantile(const uint32_t *histogram, uint64_t words)
{
	uint64_t seen = 0;
	unsigned s = 0;

	while (seen + histogram[s] < words)
		seen += histogram[s++];
	return s;
}

/*
 * Tensors that were not seen have symbols that were not, next to those that were: they get the
 * least share there is, down to twice as far from the middle as all but few words reach.
 */
static void fill_gaps(uint32_t *histogram, unsigned width)
{
	uint64_t total = 0;
	unsigned symbols = 1u << width, low, high, s;

	for (s = 0; s < symbols; s++)
		total += histogram[s];
	low = quantile(histogram, 1 + total / GAP_TAIL);
	high = quantile(histogram, total - total / GAP_TAIL);
	s = low > high - low ? low - (high - low) : 0;
	for (; s < symbols && s <= high + (high - low) / 4 + 1; s++)
		histogram[s] += !histogram[s];
}

static bool has_two(const uint32_t *histogram, unsigned width)
{
	unsigned n = 0, s;

	for (s = 0; s < 1u << width && n < 2; s++)
		n += histogram[s] > 0;
	return n == 2;
}

/* The table of a class; none for a single symbol, which has no need of one. */
static int put_class(struct group *g, const struct joining *joining, unsigned number,
		     struct buffer *out, struct brevis_error *err)
{
	uint32_t *histogram = calloc((size_t)1 << g->symbols.width, sizeof(*histogram));
	unsigned cell, s;
	int status = BREVIS_OK;

	if (!histogram)
		return error_nomem(err);
	for (cell = 0; cell < CELLS_MAX; cell++) {
		const uint32_t *counts = g->cells.counts + (size_t)cell * g->alphabet.count;

		for (s = 0; joining->of_cell[cell] == number && s < g->alphabet.count; s++)
			histogram[g->alphabet.symbols[s]] += 16 * counts[s];
	}
	fill_gaps(histogram, g->symbols.width);
	if (has_two(histogram, g->symbols.width))
		status = codebook_put_table(out, histogram, g->symbols.width, err);
	free(histogram);
	return status;
}

static int learn(struct group *g, bool is_float, struct buffer *tables, unsigned *count,
		 struct brevis_error *err)
{
	struct joining joining;
	unsigned i;
	int status = alphabet_init(&g->alphabet, &g->symbols, NULL,
				   is_float ? SCALE_MAGNITUDE : SCALE_DISTANCE, 0, err);

	if (status)
		return status;
	g->cells = (struct cells){
		.rows = CELLS_MAX, .columns = 1, .symbols = g->alphabet.count, .stride = 1};
	g->cells.counts = calloc((size_t)CELLS_MAX * g->alphabet.count, sizeof(uint32_t));
	if (!g->cells.counts) {
		status = error_nomem(err);
		goto out;
	}
	count_blocks(g);
	status = cells_classify(&g->cells, &g->alphabet, 0, &joining, err);
	for (i = 0; !status && i < joining.classes; i++) {
		size_t before = tables->size;

		status = put_class(g, &joining, i, tables, err);
		*count += tables->size > before;
	}
out:
	free(g->cells.counts);
	alphabet_release(&g->alphabet);
	return status;
}

static int learn_group(const struct sample_tensor *tensors, size_t count, unsigned width,
		       bool is_float, struct buffer *tables, unsigned *tables_count,
		       struct brevis_error *err)
{
	struct group g = {0};
	bool found = false;
	int status = gather(&g, tensors, count, width, is_float, err);

	if (!status && g.words.count)
		status = cut_symbols(&g, is_float, &found, err);
	if (!status && found)
		status = learn(&g, is_float, tables, tables_count, err);
	words_free(&g.words);
	words_free(&g.symbols);
	return status;
}

/* Bits that the field of floats takes that is worth a table. */
static void price_floats(const struct sample_tensor *t, const struct codebook *codebook,
			 uint64_t *bits)
{
	const uint8_t *bytes = t->words;
	unsigned shift = t->width - 1 - FLOAT_BITS;
	uint32_t histogram[1 << FLOAT_BITS] = {0};
	size_t i;

	for (i = 0; i < t->count; i++) {
		uint32_t word =
			t->width == 16 ? load_le16(bytes + 2 * i) : load_le32(bytes + 4 * i);

		histogram[word >> shift & ((1 << FLOAT_BITS) - 1)]++;
	}
	if (codebook)
		*bits = codebook_literal_cost(codebook, histogram, FLOAT_BITS, t->count);
	else
		*bits = literal_cost(histogram, FLOAT_BITS, t->count);
}

/* Bits that the cheapest cut of a tensor takes. */
static int price_with(const struct words *words, const struct codebook *codebook, uint64_t *bits,
		      struct brevis_error *err)
{
	struct stream s = {.words = *words, .codebook = codebook};
	struct partition cut;
	int status = stream_price(&s, err);

	free(s.upper);
	if (!status)
		*bits = stream_price_cut(&s, &cut);
	return status;
}

/* The same with tables of the tensor's own, and with shared ones too. */
static int price_tensor(const struct sample_tensor *t, const struct codebook *codebook,
			uint64_t *own, uint64_t *shared, struct brevis_error *err)
{
	const struct words bytes = {t->words, t->width, t->count};
	struct words words;
	int status = BREVIS_E_NOMEM;
	void *to;

	if (is_known(t->width, t->kind->is_float)) {
		price_floats(t, NULL, own);
		price_floats(t, codebook, shared);
		return BREVIS_OK;
	}
	to = words_copy(&bytes, &words, err);
	if (!to)
		return status;
	fields_to_bytes(to, t->width, t->count);
	status = price_with(&words, NULL, own, err);
	if (!status)
		status = price_with(&words, codebook, shared, err);
	words_free(&words);
	return status;
}

/* True if some of the small tensors say that all together save more than the codebook takes. */
static int pays(const struct sample_tensor *tensors, size_t count, const struct buffer *bytes,
		bool *result, struct brevis_error *err)
{
	struct codebook *codebook;
	uint64_t small = 0, priced = 0, saved = 0, own, shared;
	size_t step, i;
	int status = codebook_parse(bytes->data, bytes->size, &codebook, err);

	if (status)
		return status;
	for (i = 0; i < count; i++)
		small += is_of_few(&tensors[i]);
	step = small / PRICED_MAX + 1;
	for (i = 0, small = 0; i < count && !status; i++) {
		if (!is_of_few(&tensors[i]) || small++ % step)
			continue;
		status = price_tensor(&tensors[i], codebook, &own, &shared, err);
		if (!status && shared < own)
			saved += own - shared;
		priced++;
	}
	codebook_free(codebook);
	/* Estimates are a little off: it is to pay clearly. */
	*result = !status && priced && saved / 8 * small / priced > bytes->size * 3 / 2 + 64;
	return status;
}

int calibrate_codebook(const struct sample_tensor *tensors, size_t count, struct buffer *out,
		       struct brevis_error *err)
{
	static const unsigned widths[] = {8, 16, 32};
	struct buffer tables = BUFFER_INIT, codebook = BUFFER_INIT;
	unsigned n = 0, i;
	bool paid = false;
	int status = BREVIS_OK;

	for (i = 0; i < 2 * sizeof(widths) / sizeof(widths[0]) && !status; i++)
		if (n + CLASSES_MAX <= CODEBOOK_TABLES_MAX)
			status =
				learn_group(tensors, count, widths[i / 2], i % 2, &tables, &n, err);
	buffer_u8(&codebook, (uint8_t)n);
	buffer_append(&codebook, tables.data, tables.size);
	if (!status && (buffer_failed(&tables) || buffer_failed(&codebook)))
		status = error_nomem(err);
	if (!status && n && codebook.size <= CODEBOOK_BYTES_MAX)
		status = pays(tensors, count, &codebook, &paid, err);
	if (!status && paid)
		buffer_append(out, codebook.data, codebook.size);
	if (!status && buffer_failed(out))
		status = error_nomem(err);
	buffer_release(&tables);
	buffer_release(&codebook);
	return status;
}
