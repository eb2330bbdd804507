/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/usual.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/codebook_encode.h"
#include "core/entropy/literal_encode.h"
#include "core/entropy/routed_encode.h"
#include "core/entropy/words.h"
#include "core/kernels/kernels.h"
#include "core/program/program.h"
#include "core/synthesis/classes.h"
#include "core/synthesis/rules_price.h"
#include "core/synthesis/screen.h"
#include "core/synthesis/sketch.h"
#include "core/synthesis/stream.h"

/* Fewer words are left to the search, which is quick with them. */
#define WORDS_MIN 256

/* Words that are looked at to guess. */
#define GLANCE_WORDS 512

/* Words that are cut at a time; a multiple of 8. */
#define BLOCK_WORDS 2048

/* A cut may cost this part more than codes for all values would, and so many bits for its tables.
 */
#define CUT_LOSS_MAX 200
#define CUT_SLACK    8192

/* Fewer steps of a sketch from the first word to the last, or fewer kinds of bytes. */
#define RANGE_MIN 32

/* Fewer bytes may be cut into fields with smaller tables. */
#define BYTES_MIN 4096

/* A sign in the symbol is worth a bit for so many words, whatever it seems to cost. */
#define SIGN_WORTH 1024

/* Low bits of codes, sign or fraction, that classes are chosen without. */
#define FOLD ALPHABET_FOLD

/* A route must promise to save this part of the codes, beyond what estimates are off by. */
#define ROUTE_GAIN_MIN 1024
#define ROUTE_GAIN_FEW 128 /* bits, of few words, which are estimated well */

/*
 * Programs of fewer words are made with a flip and without. Of more words a flip has to save more
 * bits than the estimate can be off by: so many, and one for so many bits of the codes.
 */
#define FLIP_FEW    16384
#define FLIP_MARGIN 128
#define FLIP_PART   8192

/* Columns whose signs are flipped before words are cut; none without flags. */
struct flipping {
	struct grid grid;
	uint8_t *flags;
	uint8_t *row_flags; /* of all words of a row, where columns are short */
};

/* The words, cut. */
struct cutting {
	const struct words *in;
	struct sketch_cut cut;
	unsigned low_bits;
	uint8_t *codes;
	struct buffer escaped_words;
	size_t escaped;
	const struct flipping *flipping;
	struct brevis_error *err;
};

static void pack_low(uint8_t *to, void *low, unsigned bits, unsigned size, size_t count)
{
	static const uint32_t zeros[8];
	uint8_t *end = (uint8_t *)low + count * size;

	memcpy(end, zeros, (8 - count % 8) % 8 * size);
	if (size == 4)
		kernels()->pack32(to, low, bits, (count + 7) / 8);
	else
		kernels()->pack8(to, low, bits, (count + 7) / 8);
}

/* Flips the signs of words that begin with number `at`, if any are to be. */
static void flip_words(const struct flipping *f, size_t at, void *words, unsigned width,
		       size_t count)
{
	if (f->row_flags)
		grid_flip_row(f->grid.columns * f->grid.inner, f->row_flags, at, words, width,
			      count);
	else if (f->flags)
		grid_flip(&f->grid, f->flags, at, words, width, count);
}

/* The words of a block, flipped in *copy if they are to be. */
static const void *block_words(const struct cutting *c, size_t at, size_t count, void *copy)
{
	unsigned size = word_bytes(c->in->width);
	const void *words = (const uint8_t *)c->in->data + at * size;

	if (!c->flipping->flags)
		return words;
	memcpy(copy, words, count * size);
	flip_words(c->flipping, at, copy, c->in->width, count);
	return copy;
}

/* Cuts a block, whose first word is number `at`. */
static void cut_block(struct cutting *c, const struct kernel_cut *cut, size_t at, size_t count,
		      uint8_t *to)
{
	uint32_t copy[BLOCK_WORDS], low[BLOCK_WORDS];
	const void *words = block_words(c, at, count, copy);
	uint8_t *codes = c->codes + at;
	size_t escaped;

	if (c->in->width == 16) {
		escaped = kernels()->cut16(cut, words, codes, (uint8_t *)low, count);
		pack_low(to, low, c->low_bits, 1, count);
	} else {
		escaped = kernels()->cut32(cut, words, codes, low, count);
		pack_low(to, low, c->low_bits, 4, count);
	}
	c->escaped += escaped;
}

/* Cuts all words, and appends their low bits as a literal. */
static int cut_words(struct cutting *c, struct buffer *out)
{
	struct kernel_cut cut = {!c->cut.has_sign, c->low_bits, c->cut.base, c->cut.codes,
				 c->cut.has_sign};
	size_t count = c->in->count, at, n;
	bool raw = c->low_bits % 8 == 0;
	uint8_t *to;

	buffer_u8(out, (uint8_t)(LITERAL_NODE | (raw ? LITERAL_RAW : LITERAL_PACKED) << 4));
	if (!raw) {
		buffer_varint(out, 0);
		buffer_u8(out, (uint8_t)c->low_bits);
	}
	c->codes = malloc(count);
	to = buffer_reserve(out, (count + 7) / 8 * c->low_bits + KERNEL_PACKED_SLACK);
	if (!c->codes || !to)
		return error_nomem(c->err);
	for (at = 0; at < count; at += n) {
		n = count - at < BLOCK_WORDS ? count - at : BLOCK_WORDS;
		cut_block(c, &cut, at, n, to);
		to += n / 8 * c->low_bits;
	}
	out->size += (count * c->low_bits + 7) / 8;
	return BREVIS_OK;
}

/* ---- codes ----------------------------------------------------------------------------------- */

/* What is cut off the top of a word. */
static uint16_t value_of(const struct cutting *c, size_t i)
{
	unsigned bits = c->cut.symbol_bits, width = c->in->width;
	uint64_t word = word_get(c->in->data, word_bytes(width), i);
	const struct flipping *f = c->flipping;
	uint64_t top;

	if (f->flags && f->flags[grid_place(&f->grid, i).column])
		word ^= UINT64_C(1) << (width - 1);
	top = word >> (width - bits);
	if (width == 8)
		return (uint16_t)word;
	if (c->cut.has_sign)
		return (uint16_t)((top << 1 | top >> (bits - 1)) & low_bits(bits));
	return (uint16_t)(word << 1 >> (width - bits) & low_bits(bits));
}

/* Lists the values of the words whose code is 255. */
static int list_escaped(struct cutting *c)
{
	const uint8_t *at = c->codes, *end = at + c->in->count;

	c->escaped = 0;
	while ((at = memchr(at, 255, (size_t)(end - at)))) {
		uint16_t value = value_of(c, (size_t)(at++ - c->codes));

		if (c->cut.symbol_bits > 8)
			buffer_append(&c->escaped_words, &value, sizeof(value));
		else
			buffer_u8(&c->escaped_words, (uint8_t)value);
		c->escaped++;
	}
	return buffer_failed(&c->escaped_words) ? error_nomem(c->err) : BREVIS_OK;
}

struct classifier {
	const struct route_plan *plan;
	struct route_lines lines;
};

static void classify(void *ctx, size_t first, uint8_t *of_word, size_t count)
{
	const struct classifier *c = ctx;

	route_classify(&c->lines, &c->plan->grid, &c->plan->classes, first, of_word, count);
}

/* Codes in a route, or in a literal if there is no plan, for which codes_encode decides which words
 * are escaped. */
static int put_many(struct cutting *c, const struct route_plan *plan, struct buffer *out)
{
	struct rans_input in = {c->codes, 8, c->in->count, 1, NULL, NULL};
	struct classifier classifier = {plan, {{NULL}}};
	struct rans_units units = {0};
	struct buffer head = BUFFER_INIT;
	int status = BREVIS_OK;

	if (plan) {
		in.tables = plan->classes.classes;
		in.classify = classify;
		in.ctx = &classifier;
		status = program_put_classes(&head, &plan->grid, &plan->classes, c->err);
		if (!status && !route_lines_make(&classifier.lines, &plan->grid, &plan->classes))
			status = error_nomem(c->err);
	} else {
		buffer_u8(&head, LITERAL_NODE | LITERAL_RANS << 4);
	}
	if (!status)
		status = codes_encode(&head, &in, plan ? plan->counts : NULL, &units, c->err);
	if (!status)
		status = list_escaped(c);
	if (!status) {
		program_put_escape(out, 8, c->cut.base, c->escaped);
		buffer_append(out, head.data, head.size);
		rans_units_put(out, &units);
	}
	route_lines_release(&classifier.lines);
	rans_units_release(&units);
	buffer_release(&head);
	return status;
}

/* The same for few words: exactly those are escaped that the cut gives no code. */
static int put_few(struct cutting *c, const struct route_plan *plan,
		   const struct codebook *codebook, struct buffer *out)
{
	struct literal_options literal = {.codebook = codebook};
	int status = BREVIS_OK;

	/* Without an escape the last code is one like the others. */
	c->escaped = 0;
	if (c->cut.symbol_bits > c->cut.code_bits) {
		status = list_escaped(c);
		program_put_escape(out, 8, c->cut.base, c->escaped);
	}
	if (status)
		return status;
	if (plan)
		return program_put_route(out, &plan->grid, &plan->classes, c->codes,
					 c->cut.code_bits, plan->counts, c->err);
	return literal_encode(out, c->codes, c->cut.code_bits, c->in->count, &literal, c->err);
}

/* The codes, with a table for each class if that pays. histogram: of some of them. */
static int put_codes(struct cutting *c, const uint32_t *histogram, enum symbol_scale scale,
		     const struct tensor_kind *kind, const struct synthesis_options *options,
		     struct buffer *out)
{
	struct words codes = {c->codes, c->cut.code_bits, c->in->count};
	struct route_plan *plan = NULL;
	uint64_t nothing = 0, margin;
	int status = BREVIS_OK;

	if (options->preset != BREVIS_PRESET_FAST)
		status = classes_find(&codes, &kind->shape, histogram, scale, FOLD, &nothing, 1,
				      &plan, c->err);
	margin = codes_suffice(c->in->count) ? c->cut.cost / ROUTE_GAIN_MIN + 512 : ROUTE_GAIN_FEW;
	if (plan && plan->gain <= margin) {
		route_plan_free(plan);
		plan = NULL;
	}
	if (!status && codes_suffice(c->in->count))
		status = put_many(c, plan, out);
	else if (!status)
		status = put_few(c, plan, options->codebook, out);
	if (!status && c->escaped)
		status = literal_encode(out, c->escaped_words.data, c->cut.symbol_bits, c->escaped,
					NULL, c->err);
	route_plan_free(plan);
	return status;
}

static void release_flags(struct flipping *f)
{
	free(f->flags);
	free(f->row_flags);
	*f = (struct flipping){.flags = NULL};
}

/* The columns' signs that lean to the negative. *saved: bits that flipping them seems to save. */
static int take_flags(const struct words *in, struct flipping *out, uint64_t *saved,
		      struct brevis_error *err)
{
	const struct grid *grid = &out->grid;
	size_t flipped;
	int status = flip_majority(in, grid, &out->flags, &flipped, saved, err);

	if (!status && !flipped) {
		free(out->flags);
		out->flags = NULL;
	}
	if (!status && flipped && grid_has_row_flags(grid)) {
		out->row_flags = grid_row_flags(grid, out->flags);
		status = out->row_flags ? BREVIS_OK : error_nomem(err);
	}
	return status;
}

/*
 * Finds the columns whose signs lean to the negative, if flipping them promises to save more than
 * `margin` bits: it makes the sign a part of the symbol, whatever that costs. *cut: without flips.
 */
static int find_flips(const struct words *in, const struct tensor_kind *kind,
		      const struct sketch *sketch, struct flipping *out, struct sketch_cut *cut,
		      uint64_t margin, struct brevis_error *err)
{
	struct stream s = {.words = *in, .shape = kind->shape};
	struct sketch_cut with = *cut;
	uint64_t saved;
	int status = price_flip(&s, err);

	if (status || !s.leaning)
		return status;
	if (in->width > 8 && !cut->has_sign)
		with = sketch_choose(sketch, in->width, in->count, true);
	if (with.cost >= cut->cost + s.leaning)
		return BREVIS_OK;
	out->grid = s.leaning_grid;
	status = take_flags(in, out, &saved, err);
	if (status || !out->flags)
		return status;
	/* The flags themselves take a bit each. */
	margin += out->grid.columns;
	if (with.cost + margin < cut->cost + saved)
		*cut = with;
	else
		release_flags(out);
	return BREVIS_OK;
}

/* Tells whether flips would pay, for a search to find them where they cannot be written. */
static int find_leaning(const struct words *in, const struct tensor_kind *kind,
			const struct sketch *sketch, struct sketch_cut cut, uint64_t margin,
			bool *leans, struct brevis_error *err)
{
	struct flipping flipping = {.flags = NULL};
	int status = find_flips(in, kind, sketch, &flipping, &cut, margin, err);

	*leans = flipping.flags;
	release_flags(&flipping);
	return status;
}

/* The rotation that puts the low bits back where they belong, behind the symbol. */
static void put_rotation(const struct cutting *c, struct buffer *out)
{
	unsigned width = c->in->width;
	/* The symbol is below the low bits; a sign that is raw is the lowest of them. */
	unsigned rotation = c->cut.has_sign ? c->low_bits : c->low_bits - 1;

	if (rotation % width)
		program_put_map(out, MAP_ROTATE, rotation);
}

static int put_program(struct cutting *c, const struct sketch *sketch,
		       const struct tensor_kind *kind, const struct synthesis_options *options,
		       struct buffer *out)
{
	unsigned widths[2] = {c->low_bits, c->cut.symbol_bits};
	uint32_t histogram[256];
	int status;

	put_rotation(c, out);
	program_put_merge(out, widths, 2);
	status = cut_words(c, out);
	if (status)
		return status;
	if (c->cut.has_sign)
		program_put_map(out, MAP_ROTATE, c->cut.symbol_bits - 1);
	sketch_histogram(sketch, &c->cut, histogram);
	return put_codes(c, histogram, SCALE_MAGNITUDE, kind, options, out);
}

/*
 * Signs that are a part of the symbol may lean differently in each class; that is worth a little
 * more than they seem to cost. Words of 8 bits are codes as they are.
 */
static struct sketch_cut choose_cut(const struct sketch *sketch, const struct words *in)
{
	struct sketch_cut with, without;

	if (in->width == 8)
		return (struct sketch_cut){
			.symbol_bits = 8, .code_bits = 8, .cost = 8 * (uint64_t)in->count};
	with = sketch_choose(sketch, in->width, in->count, true);
	without = sketch_choose(sketch, in->width, in->count, false);
	return with.cost < without.cost + in->count / SIGN_WORTH ? with : without;
}

/* True if the cut comes near to what there is to gain. */
static bool suits(const struct cutting *c, const struct sketch *sketch)
{
	uint64_t ideal;

	if (c->in->width == 8)
		return true;
	ideal = sketch_ideal(sketch, c->in->width, c->in->count);
	return c->cut.cost <= ideal + ideal / CUT_LOSS_MAX + CUT_SLACK;
}

/*
 * Of few words a table in common may be worth more than the best cut: the codebook's tables are of
 * the bits below the sign (core/synthesis/calibrate_codebook.c). It has to be so clearly, because
 * this is an estimate.
 */
static void share_cut(const struct sketch *sketch, const struct words *in,
		      const struct codebook *codebook, struct sketch_cut *cut)
{
	struct sketch_cut shared = {.symbol_bits = 8, .code_bits = 8, .codes = 255};
	uint32_t histogram[256];
	uint64_t cost;

	if (!codebook || in->width == 8 || codes_suffice(in->count))
		return;
	sketch_histogram(sketch, &shared, histogram);
	cost = codebook_literal_cost(codebook, histogram, 8, sketch->words);
	if (cost == UINT64_MAX)
		return;
	shared.cost = cost * in->count / sketch->words + (uint64_t)in->count * (in->width - 8);
	if (shared.cost + shared.cost / 512 + 64 < cut->cost)
		*cut = shared;
}

static bool is_candidate(const struct words *in, const struct tensor_kind *kind)
{
	return kind->is_float && in->count >= WORDS_MIN && in->width <= 32;
}

static void take_sketch(struct sketch *sketch, const struct words *in)
{
	if (in->width == 8)
		sketch_take_bytes(sketch, in);
	else
		sketch_take(sketch, in);
}

/* Words that are codes as they are. */
static int put_bytes(struct cutting *c, const struct sketch *sketch, const struct tensor_kind *kind,
		     const struct synthesis_options *options, struct buffer *out)
{
	c->codes = malloc(c->in->count);
	if (!c->codes)
		return error_nomem(c->err);
	memcpy(c->codes, c->in->data, c->in->count);
	flip_words(c->flipping, 0, c->codes, 8, c->in->count);
	return put_codes(c, sketch->counts, SCALE_SIGNED, kind, options, out);
}

/*
 * True if the words are in so narrow a range, or bytes of so few kinds, that they may be best as
 * they are; or if there are so few bytes that their tables would be too large.
 */
static bool is_narrow(const struct sketch *sketch, const struct words *in)
{
	unsigned distinct = 0, i;

	if (in->width > 8)
		return sketch->last - sketch->first < RANGE_MIN;
	for (i = 0; i < 256; i++)
		distinct += sketch->counts[i] > 0;
	return distinct < RANGE_MIN || in->count < BYTES_MIN;
}

/* True if nothing is to be seen that only a search could use. */
static bool is_plain(const struct sketch *sketch, const struct words *in)
{
	return sketch->is_plain && !is_narrow(sketch, in) && screen_finds_nothing(in);
}

bool usual_applies(const struct words *in, const struct tensor_kind *kind)
{
	size_t part = in->count < GLANCE_WORDS ? in->count : GLANCE_WORDS;
	size_t at = (in->count - part) / 2 * word_bytes(in->width);
	struct words middle = {(const uint8_t *)in->data + at, in->width, part};
	struct sketch sketch;

	if (!is_candidate(in, kind))
		return false;
	take_sketch(&sketch, &middle);
	return sketch.is_plain;
}

/* Appends the program, with the signs flipped as they are to be. */
static int put_whole(struct cutting *c, const struct sketch *sketch, const struct tensor_kind *kind,
		     const struct synthesis_options *options, struct buffer *out)
{
	const struct flipping *f = c->flipping;
	int status = BREVIS_OK;

	c->low_bits = c->in->width - c->cut.symbol_bits;
	if (f->flags)
		status = program_put_flip(out, &f->grid, f->flags, c->err);
	if (!status && c->in->width == 8)
		status = put_bytes(c, sketch, kind, options, out);
	else if (!status)
		status = put_program(c, sketch, kind, options, out);
	if (!status && buffer_failed(out))
		status = error_nomem(c->err);
	free(c->codes);
	c->codes = NULL;
	buffer_release(&c->escaped_words);
	c->escaped = 0;
	return status;
}

/* Puts the program without flips in the place of the one that begins at `begin`, if it is smaller.
 */
static int try_unflipped(const struct cutting *flipped, const struct sketch *sketch,
			 const struct tensor_kind *kind, const struct synthesis_options *options,
			 struct buffer *out, size_t begin)
{
	struct flipping none = {.flags = NULL};
	struct cutting c = {.in = flipped->in,
			    .cut = choose_cut(sketch, flipped->in),
			    .flipping = &none,
			    .err = flipped->err};
	struct buffer other = BUFFER_INIT;
	int status = put_whole(&c, sketch, kind, options, &other);

	if (!status && other.size < out->size - begin) {
		out->size = begin;
		buffer_append(out, other.data, other.size);
	}
	buffer_release(&other);
	return status;
}

int usual_program(const struct words *in, const struct tensor_kind *kind,
		  const struct synthesis_options *options, bool flips, struct buffer *out,
		  enum usual *usual, struct brevis_error *err)
{
	struct flipping flipping = {.flags = NULL};
	struct cutting c = {.in = in, .flipping = &flipping, .err = err};
	struct sketch *sketch;
	size_t before = out->size;
	bool plain, tries, leans = false;
	uint64_t margin;
	int status = BREVIS_OK;

	*usual = USUAL_NONE;
	if (!is_candidate(in, kind))
		return BREVIS_OK;
	sketch = malloc(sizeof(*sketch));
	if (!sketch)
		return error_nomem(err);
	take_sketch(sketch, in);
	c.cut = choose_cut(sketch, in);
	plain = is_plain(sketch, in) && suits(&c, sketch);
	share_cut(sketch, in, options->codebook, &c.cut);
	/* It is in doubt, too, where signs may tell something of other bits. */
	tries = in->count < FLIP_FEW || !plain;
	margin = tries ? 0 : FLIP_MARGIN + c.cut.cost / FLIP_PART;
	if (options->preset != BREVIS_PRESET_FAST)
		status = flips ? find_flips(in, kind, sketch, &flipping, &c.cut, margin, err)
			       : find_leaning(in, kind, sketch, c.cut, margin, &leans, err);
	if (!status)
		status = put_whole(&c, sketch, kind, options, out);
	if (!status && flipping.flags && tries)
		status = try_unflipped(&c, sketch, kind, options, out, before);
	if (!status && out->size - before < in->count * (in->width / 8))
		*usual = plain && !leans ? USUAL_SUFFICES : USUAL_IS_ONE;
	else
		out->size = before;
	release_flags(&flipping);
	free(sketch);
	return status;
}
