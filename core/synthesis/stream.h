/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A target stream of the search: words that a hole's program must yield, and what is known of them.
 * Everything is found when it is first asked for and kept, because several states of the search
 * share a stream.
 */
#ifndef CORE_SYNTHESIS_STREAM_H
#define CORE_SYNTHESIS_STREAM_H

#include "core/base/buffer.h"
#include "core/brevis.h"
#include "core/entropy/literal_encode.h"
#include "core/synthesis/classes.h"
#include "core/synthesis/expand.h"
#include "core/synthesis/partition.h"
#include "core/synthesis/shape.h"

/** What the words mean, as far as it matters to the search. */
enum stream_meaning {
	MEANS_FLOAT,     /* sign, exponent, fraction */
	MEANS_MAGNITUDE, /* the same without a sign */
	MEANS_INTEGER,
	MEANS_NOISE /* low bits: nothing but a leaf will do */
};

struct stream {
	unsigned references;
	struct words words;
	void *owned;   /* memory that ends with it, or NULL */
	size_t memory; /* bytes of that */
	struct stream
		*holder;  /* whose memory the words are in, if that could end before, or NULL */
	uint64_t counted; /* the round of stream_memory that last counted it */
	struct shape shape;
	enum stream_meaning meaning;
	const struct codebook *codebook; /* of its leaves, or NULL */

	bool measured; /* the next five */
	bool constant;
	bool noise;          /* known to have as much entropy as bits */
	uint32_t *histogram; /* of words of at most LITERAL_SYMBOL_BITS, else NULL */
	uint64_t estimate;   /* of its leaf, in bytes */
	uint64_t bound;      /* bytes that no leaf goes below */

	bool priced;
	struct partition_prices prices;
	uint32_t *upper; /* counts of the upper bits, if there are very many words, else NULL */

	bool planned;
	struct route_plan *plan; /* or NULL: no route is worth while */

	bool leaning_known;
	uint64_t leaning; /* bits that a flip would save; 0: the signs lean to no side */
	struct grid leaning_grid;

	bool cut_priced;
	struct route_plan *cut_plan; /* of one of the fields of the next, or NULL */
	struct partition routed_cut;
	unsigned routed; /* the number of that field */

	bool written;
	struct buffer leaf; /* its smallest const or lit node */
	uint64_t literal_words;
};

/** Takes over owned, also when it fails (NULL). */
struct stream *stream_new(const struct words *words, void *owned, const struct shape *shape,
			  enum stream_meaning meaning);
struct stream *stream_share(struct stream *stream);
void stream_free(struct stream *stream); /* gives up one reference */

/**
 * Bytes of the words that are kept because of it, its own and its holder's; but 0 for what an
 * earlier call with the same number, above 0, has counted.
 */
size_t stream_memory(struct stream *stream, uint64_t round);

/** Fills histogram, constant, estimate, bound. */
int stream_measure(struct stream *stream, struct brevis_error *err);

/** Fills prices. */
int stream_price(struct stream *stream, struct brevis_error *err);

/**
 * Fills plan: the best route for words of at most 12 bits, if one costs less than the leaf.
 * estimates of the leaf and the plan decide.
 */
int stream_plan(struct stream *stream, struct brevis_error *err);

/** Fills leaf. */
int stream_write_leaf(struct stream *stream, struct brevis_error *err);

/**
 * The histogram of a field of `width` bits below `above` others, if it follows from what is known,
 * else NULL; for free().
 */
int stream_fold(const struct stream *stream, unsigned above, unsigned width, uint32_t **out,
		struct brevis_error *err);

/** The best price in bits: of the leaf, or of a merge of leaves. Needs stream_price. */
uint64_t stream_price_cut(struct stream *stream, struct partition *cut);

/** How the words' symbols tell their scale. */
enum symbol_scale stream_scale(enum stream_meaning meaning);

#endif
