/* SPDX-License-Identifier: Apache-2.0 */
/** What the rules' programs would take: prices from exact histograms, of the words or a sample. */
#ifndef CORE_SYNTHESIS_RULES_PRICE_H
#define CORE_SYNTHESIS_RULES_PRICE_H

#include "core/synthesis/stream.h"

/** A stream of so few words is small enough to try everything. */
#define SMALL_WORDS 1024

/**
 * The bits, counted from the highest, of the field that gains most from its coding: exponent and
 * leading fraction bits, mostly. False if none gains. cut is the cheapest, of s's prices.
 */
bool price_symbols(const struct stream *s, const struct partition *cut, unsigned *begin,
		   unsigned *end);

/**
 * The cheapest cut of the stream's words into fields of which one is routed by classes. If it beats
 * the cheapest cut into leaves, it is put into stream->routed_cut, cut_plan and routed (or into
 * stream->plan, if the one field is all of the word). Needs stream_price.
 */
int price_routed_cut(struct stream *stream, struct brevis_error *err);

/** Finds the grid whose columns agree best in their signs: stream->leaning, leaning_grid. */
int price_flip(struct stream *stream, struct brevis_error *err);

/** A part of the words, in its order, for words_free. */
int sample_words(const struct words *in, struct words *out, struct brevis_error *err);

/** The price in bits of the words as a leaf or as a merge of leaves. */
int price_words(const struct words *words, uint64_t *bits, struct brevis_error *err);

/** The smallest word, and one that is more common than most. */
void words_summary(const struct words *words, uint64_t *smallest, uint64_t *common);

/**
 * The cheapest escape of a stream of symbols: width and base of its codes, and its price in bits;
 * UINT64_MAX if there is none.
 */
int price_escape(const struct stream *stream, unsigned *width, uint64_t *base, uint64_t *bits,
		 struct brevis_error *err);

/** True if one word is common enough for a mask. */
bool is_mask_promising(const struct words *words);

/**
 * The price of a mask of this word and of all other words; 0: there are too few of it, or it is the
 * largest word there is, which no escape can have for its base.
 */
int price_mask(const struct words *words, uint64_t word, uint64_t *bits, struct brevis_error *err);

/** True if the updates of a scan are so small that it is worth a price. */
bool is_scan_promising(const struct words *words, const struct words *updates);

/** How closely to look for matches. */
enum look { LOOK_GLANCE, LOOK_SAMPLE };

/** The bytes that byte matching would take, going by a sample. UINT64_MAX: it finds nothing. */
int price_match(const struct words *words, enum look look, uint64_t *bytes,
		struct brevis_error *err);

#endif
