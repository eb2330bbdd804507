/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/stream.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/codebook_encode.h"
#include "core/entropy/histogram.h"
#include "core/entropy/tally.h"
#include "core/entropy/words.h"
#include "core/program/program.h"

/* A stream of fewer words than this has no use for tables of classes. */
#define PLAN_WORDS_MIN 256

/* A route that does not save one byte of so many slows decoding down for nothing. */
#define PLAN_GAIN_MIN 512

struct stream *stream_new(const struct words *words, void *owned, const struct shape *shape,
			  enum stream_meaning meaning)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s) {
		free(owned);
		return NULL;
	}
	s->references = 1;
	s->words = *words;
	s->owned = owned;
	s->memory = owned ? words->count * word_bytes(words->width) : 0;
	s->shape = shape ? *shape : shape_of_row(words->count);
	s->meaning = meaning;
	return s;
}

struct stream *stream_share(struct stream *stream)
{
	stream->references++;
	return stream;
}

void stream_free(struct stream *stream)
{
	if (!stream || --stream->references)
		return;
	stream_free(stream->holder);
	free(stream->owned);
	free(stream->histogram);
	free(stream->upper);
	route_plan_free(stream->plan);
	route_plan_free(stream->cut_plan);
	buffer_release(&stream->leaf);
	free(stream);
}

size_t stream_memory(struct stream *s, uint64_t round)
{
	size_t memory = 0;

	for (; s && s->counted != round; s = s->holder) {
		s->counted = round;
		memory += s->memory;
	}
	return memory;
}

/* Words too wide for an entropy coding are packed, by their range. */
static void measure_wide(struct stream *s)
{
	uint64_t smallest, largest;

	word_range(s->words.data, s->words.width, s->words.count, &smallest, &largest);
	s->constant = smallest == largest;
	s->bound = (s->words.count * (uint64_t)bit_length(largest - smallest) + 7) / 8;
	s->estimate = s->bound + 4;
}

static int measure_symbols(struct stream *s, struct brevis_error *err)
{
	size_t symbols = (size_t)1 << s->words.width;
	struct tally tally;
	uint64_t own, shared;

	if (!s->histogram) {
		s->histogram = malloc(sizeof(*s->histogram) * symbols);
		if (!s->histogram)
			return error_nomem(err);
		if (!histogram_of(s->histogram, s->words.data, s->words.width, s->words.count))
			return error_set(err, BREVIS_E_USAGE, "a word has over %u bits",
					 s->words.width);
	}
	tally_take(&tally, s->histogram, s->words.width, s->words.count);
	s->constant = tally.n == 1;
	own = tally_cost(&tally);
	shared = codebook_tally_cost(s->codebook, &tally);
	s->estimate = ((own < shared ? own : shared) + 7) / 8;
	s->bound = tally_bound(&tally);
	return BREVIS_OK;
}

int stream_measure(struct stream *s, struct brevis_error *err)
{
	int status = BREVIS_OK;

	if (s->measured)
		return BREVIS_OK;
	if (s->words.width <= LITERAL_SYMBOL_BITS)
		status = measure_symbols(s, err);
	else
		measure_wide(s);
	if (s->constant) {
		s->bound = 2;
		s->estimate =
			1 + varint_size(word_get(s->words.data, word_bytes(s->words.width), 0));
	}
	s->measured = !status;
	return status;
}

int stream_price(struct stream *s, struct brevis_error *err)
{
	int status;

	if (s->priced)
		return BREVIS_OK;
	status = partition_price(s->words.data, s->words.width, s->words.count, s->codebook,
				 &s->prices, &s->upper, err);
	s->priced = !status;
	return status;
}

int stream_fold(const struct stream *s, unsigned above, unsigned width, uint32_t **out,
		struct brevis_error *err)
{
	int status;

	*out = NULL;
	if (!s->upper || above + width > s->prices.upper || width > LITERAL_SYMBOL_BITS)
		return BREVIS_OK;
	*out = malloc(sizeof(**out) << width);
	if (!*out)
		return error_nomem(err);
	status = partition_fold(s->upper, s->prices.upper, above, width, *out, err);
	if (status) {
		free(*out);
		*out = NULL;
	}
	return status;
}

uint64_t stream_price_cut(struct stream *s, struct partition *cut)
{
	partition_best(&s->prices, 0, s->prices.upper, cut);
	partition_append(cut, &s->prices.lower);
	return cut->cost;
}

enum symbol_scale stream_scale(enum stream_meaning meaning)
{
	return meaning == MEANS_FLOAT     ? SCALE_SIGNED
	       : meaning == MEANS_INTEGER ? SCALE_DISTANCE
					  : SCALE_MAGNITUDE;
}

int stream_plan(struct stream *s, struct brevis_error *err)
{
	static const uint64_t nothing[CLASSES_DROPS];
	int status;

	if (s->planned)
		return BREVIS_OK;
	if (s->words.width > LITERAL_SYMBOL_BITS || s->words.count < PLAN_WORDS_MIN ||
	    s->meaning == MEANS_NOISE) {
		s->planned = true;
		return BREVIS_OK;
	}
	status = stream_measure(s, err);
	if (!status && !s->constant)
		status = classes_find(&s->words, &s->shape, s->histogram, stream_scale(s->meaning),
				      0, nothing, 1, &s->plan, err);
	if (!status && s->plan && s->plan->cost / 8 + s->estimate / PLAN_GAIN_MIN >= s->estimate) {
		route_plan_free(s->plan);
		s->plan = NULL;
	}
	s->planned = !status;
	return status;
}

int stream_write_leaf(struct stream *s, struct brevis_error *err)
{
	struct literal_options own = {.codebook = s->codebook, .noise = s->noise};
	int status;

	if (s->written)
		return BREVIS_OK;
	status = stream_measure(s, err);
	if (status)
		return status;
	own.histogram = s->histogram;
	if (s->constant) {
		program_put_const(&s->leaf, s->words.width,
				  word_get(s->words.data, word_bytes(s->words.width), 0));
	} else {
		s->literal_words = s->words.count;
		status = literal_encode(&s->leaf, s->words.data, s->words.width, s->words.count,
					&own, err);
	}
	if (!status && buffer_failed(&s->leaf))
		status = error_nomem(err);
	s->written = !status;
	return status;
}
