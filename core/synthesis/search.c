/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/search.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/synthesis/state.h"

/* States that wait, at most; what comes after that is dropped, the least promising first to wait.
 */
#define QUEUE_MAX 1024

/* Complete programs that wait to be written; and bytes that the streams of them may keep. */
#define PENDING_MAX    8
#define PENDING_MEMORY ((size_t)80 << 20)

/* Bytes that the streams of states that wait may keep: with more of them nothing is expanded. */
#define OPEN_MEMORY ((size_t)96 << 20)

#define SIGNATURES_MAX 256
#define CUTS_MAX       32

/* The rest of an item that waits: its base state, to be expanded by one rule. */
struct entry {
	struct state *base;
	int proposal; /* number among the base's, or -1: the hole becomes a leaf */
	uint64_t cost;
	uint64_t priority; /* g + h */
	uint64_t estimate;
	uint64_t order;
};

struct search {
	struct search_options options;
	struct stream *root;
	enum effort effort;
	const struct prior *prior;     /* of this effort */
	bool shallow;                  /* the least effort, with one expansion: of the root */
	struct entry queue[QUEUE_MAX]; /* a heap */
	unsigned queued;
	uint64_t made;   /* entries so far */
	uint64_t rounds; /* of counting memory */
	struct state *pending[PENDING_MAX];
	unsigned waiting;
	struct partition cuts[CUTS_MAX]; /* merges that the root was expanded by */
	unsigned cut_count;
	uint64_t signatures[SIGNATURES_MAX];
	unsigned signed_count;
	uint64_t least; /* bytes that a program must not exceed to be the best */
	bool found;
	struct buffer best; /* the smallest program so far */
	uint64_t best_words;
	struct choice *best_choices;
	unsigned best_choice_count;
	struct brevis_error *err;
};

struct search *search_new(struct stream *root, const struct search_options *options)
{
	struct search *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->options = *options;
	s->root = root;
	s->least = options->limit - 1;
	return s;
}

static void drop_entries(struct search *s)
{
	while (s->queued)
		state_free(s->queue[--s->queued].base);
}

void search_free(struct search *s)
{
	if (!s)
		return;
	drop_entries(s);
	while (s->waiting)
		state_free(s->pending[--s->waiting]);
	buffer_release(&s->best);
	free(s->best_choices);
	free(s);
}

/* ---- the queue ------------------------------------------------------------------------------ */

static bool goes_before(const struct search *s, const struct entry *a, const struct entry *b)
{
	if (!s->options.first_come && a->priority != b->priority)
		return a->priority < b->priority;
	if (!s->options.first_come && a->estimate != b->estimate)
		return a->estimate < b->estimate;
	return a->order < b->order;
}

static void push(struct search *s, struct state *base, int proposal, uint64_t cost, uint64_t rest,
		 uint64_t estimate)
{
	struct entry e = {base, proposal, cost, cost + rest, estimate, s->made++};
	unsigned i = s->queued;

	if (s->queued == QUEUE_MAX)
		return;
	base->references++;
	s->queued++;
	for (; i && goes_before(s, &e, &s->queue[(i - 1) / 2]); i = (i - 1) / 2)
		s->queue[i] = s->queue[(i - 1) / 2];
	s->queue[i] = e;
}

static struct entry pop(struct search *s)
{
	struct entry top = s->queue[0];
	struct entry last = s->queue[--s->queued];
	unsigned i = 0, child;

	for (child = 1; child < s->queued; child = 2 * i + 1) {
		if (child + 1 < s->queued && goes_before(s, &s->queue[child + 1], &s->queue[child]))
			child++;
		if (!goes_before(s, &s->queue[child], &last))
			break;
		s->queue[i] = s->queue[child];
		i = child;
	}
	s->queue[i] = last;
	return top;
}

/* ---- judging complete programs -------------------------------------------------------------- */

/* Writes the leaves; gives up as soon as the program cannot be the best any more. */
static int write_leaves(struct search *s, struct state *state, bool *hopeless, uint64_t *words)
{
	unsigned i;
	int status = BREVIS_OK;

	*words = 0;
	*hopeless = state_bound(state) > s->least;
	for (i = 0; i < state->items && !status && !*hopeless; i++) {
		if (state->item[i].kind != ITEM_LEAF)
			continue;
		status = stream_write_leaf(state->item[i].stream, s->err);
		*words += state->item[i].stream->literal_words;
		*hopeless = state_bound(state) > s->least;
	}
	return status;
}

static int keep_choices(struct search *s, const struct state *state)
{
	struct choice *copy = malloc(sizeof(*copy) * (state->choices + 1));

	if (!copy)
		return error_nomem(s->err);
	if (state->choices)
		memcpy(copy, state->chosen, sizeof(*copy) * state->choices);
	free(s->best_choices);
	s->best_choices = copy;
	s->best_choice_count = state->choices;
	return BREVIS_OK;
}

/* Of equal sizes the program with fewer words in literals is better, then the earlier one. */
static int judge(struct search *s, struct state *state)
{
	uint64_t words, size;
	bool hopeless;
	unsigned i;
	int status = write_leaves(s, state, &hopeless, &words);

	if (status || hopeless)
		return status;
	size = state_bound(state);
	if (size > s->least || (s->found && size == s->least && words >= s->best_words))
		return BREVIS_OK;
	buffer_clear(&s->best);
	for (i = 0; i < state->items; i++) {
		const struct item *item = &state->item[i];

		if (item->kind == ITEM_NODE)
			buffer_append(&s->best, item->node->data, item->node->size);
		else
			buffer_append(&s->best, item->stream->leaf.data, item->stream->leaf.size);
	}
	s->found = true;
	s->least = size;
	s->best_words = words;
	return buffer_failed(&s->best) ? error_nomem(s->err) : keep_choices(s, state);
}

/* Judges the most promising of those that wait, which makes it likely that bounds cut off others.
 */
static int judge_next(struct search *s)
{
	unsigned best = 0, i;
	struct state *state;
	int status;

	for (i = 1; i < s->waiting; i++) {
		const struct state *a = s->pending[i], *b = s->pending[best];

		if (a->estimate < b->estimate ||
		    (a->estimate == b->estimate && a->order < b->order))
			best = i;
	}
	state = s->pending[best];
	s->pending[best] = s->pending[--s->waiting];
	status = judge(s, state);
	state_free(state);
	return status;
}

static size_t pending_memory(struct search *s)
{
	size_t memory = 0;
	unsigned i;

	s->rounds++;
	for (i = 0; i < s->waiting; i++)
		memory += state_memory(s->pending[i], s->rounds);
	return memory;
}

/* Takes over a complete state. */
static int complete(struct search *s, struct state *state)
{
	uint64_t signature = state_signature(state);
	unsigned i;
	int status = BREVIS_OK;

	for (i = 0; i < s->signed_count; i++) {
		if (s->signatures[i] == signature) {
			state_free(state);
			return BREVIS_OK;
		}
	}
	if (s->signed_count < SIGNATURES_MAX)
		s->signatures[s->signed_count++] = signature;
	s->pending[s->waiting++] = state;
	while (!status && s->waiting &&
	       (s->waiting == PENDING_MAX || pending_memory(s) > PENDING_MEMORY))
		status = judge_next(s);
	return status;
}

/* ---- expanding ------------------------------------------------------------------------------ */

/* h: what closing the holes costs at least. */
static uint64_t holes_floor(const struct search *s, const struct state *state, unsigned from)
{
	uint64_t floor = 0;
	unsigned i;

	for (i = from; i < state->items; i++) {
		const struct item *item = &state->item[i];

		if (item->kind == ITEM_HOLE)
			floor += prior_floor(s->prior,
					     rules_admissible(&item->stream->words, &item->place));
	}
	return floor;
}

/* The context of a hole; only what a uniform prior asks for if there is no other and none is
 * learned. */
static struct prior_context context_of(const struct search *s, const struct item *hole)
{
	if (s->prior || s->options.counts)
		return prior_context_of(&hole->stream->words, &hole->place);
	return (struct prior_context){.admissible =
					      rules_admissible(&hole->stream->words, &hole->place)};
}

/* Lets the leftmost hole be a leaf. */
static int close(struct search *s, struct state *state)
{
	state->cost += prior_cost(s->prior, &state->context, RULE_LEAF);
	return state_close(state, s->err);
}

/*
 * Takes over a state: closes holes for which nothing is proposed, up to one with a choice, and
 * lets each choice wait.
 */
static int advance(struct search *s, struct state *state)
{
	struct proposals *proposals = calloc(1, sizeof(*proposals));
	uint64_t leaf, rest;
	unsigned i;
	int status = proposals ? BREVIS_OK : error_nomem(s->err);

	while (!status && state->hole < state->items) {
		const struct item *hole = &state->item[state->hole];

		state->context = context_of(s, hole);
		status = rules_propose(hole->stream, &hole->place, s->effort,
				       PROGRAM_MAX_NODES - state->items + 1, proposals, s->err);
		if (status || proposals->count)
			break;
		status = close(s, state);
	}
	if (status || state->hole == state->items) {
		free(proposals);
		if (!status)
			return complete(s, state);
		state_free(state);
		return status;
	}
	state->proposals = proposals;
	leaf = state->item[state->hole].stream->estimate;
	rest = holes_floor(s, state, state->hole + 1);
	for (i = 0; i < proposals->count; i++)
		push(s, state, (int)i,
		     state->cost + prior_cost(s->prior, &state->context, proposals->list[i].rule),
		     rest, state->estimate - leaf + proposals->list[i].estimate);
	push(s, state, -1, state->cost + prior_cost(s->prior, &state->context, RULE_LEAF), rest,
	     state->estimate);
	state_free(state);
	return BREVIS_OK;
}

/*
 * True if the entry cuts the root as an earlier one did, which left the same states waiting: with
 * leaves for holes they are complete, and every effort looks at those.
 */
static bool was_cut(struct search *s, const struct entry *entry)
{
	const struct proposal *p = &entry->base->proposals->list[entry->proposal];
	unsigned i;

	if (entry->base->items > 1 || !p->cut.count)
		return false;
	for (i = 0; i < s->cut_count; i++)
		if (s->cuts[i].count == p->cut.count &&
		    !memcmp(s->cuts[i].widths, p->cut.widths,
			    sizeof(p->cut.widths[0]) * p->cut.count))
			return s->shallow;
	if (s->cut_count < CUTS_MAX)
		s->cuts[s->cut_count++] = p->cut;
	return false;
}

/* Expands the leftmost hole of a copy of the entry's state by its rule. */
static int expand(struct search *s, const struct entry *entry)
{
	const struct proposal *proposal = &entry->base->proposals->list[entry->proposal];
	struct stream *children[PROGRAM_MAX_NODES];
	struct buffer node = BUFFER_INIT;
	struct state *state = state_copy(entry->base);
	unsigned arity = 0, i;
	bool applies = false;
	int status = state ? BREVIS_OK : error_nomem(s->err);

	if (status)
		goto out;
	state->side_words += rules_side_words(state->item[state->hole].stream, proposal);
	if (state->side_words <= PROGRAM_MAX_SIDE_WORDS)
		status = rules_expand(state->item[state->hole].stream, proposal, &node, children,
				      &arity, &applies, s->err);
	if (status || !applies)
		goto out;
	state->cost = entry->cost;
	state->estimate = entry->estimate;
	state->order = entry->order;
	status = state_fill(state, proposal, &node, children, arity, s->err);
	/* Now that the children are there, their leaves can be priced exactly. */
	for (i = 0, state->estimate = 0; i < state->items && !status; i++) {
		if (state->item[i].kind != ITEM_NODE)
			status = stream_measure(state->item[i].stream, s->err);
		if (!status)
			state->estimate += state->item[i].kind == ITEM_NODE
						   ? state->item[i].node->size
						   : state->item[i].stream->estimate;
	}
	if (!status) {
		status = advance(s, state);
		state = NULL;
	}
out:
	state_free(state);
	buffer_release(&node);
	return status;
}

static int close_entry(struct search *s, const struct entry *entry)
{
	struct state *state = state_copy(entry->base);
	int status;

	if (!state)
		return error_nomem(s->err);
	state->order = entry->order;
	status = close(s, state);
	if (!status)
		return advance(s, state);
	state_free(state);
	return status;
}

/* The state that was cut off by the budget: its holes become leaves. */
static int roll_out(struct search *s, struct state *state)
{
	int status = BREVIS_OK;

	while (!status && state->hole < state->items) {
		const struct item *hole = &state->item[state->hole];

		state->context = context_of(s, hole);
		status = state_close(state, s->err);
	}
	if (!status)
		return complete(s, state);
	state_free(state);
	return status;
}

static int begin(struct search *s)
{
	struct state *state = state_new(s->root, s->options.dtype);
	int status = state ? stream_measure(s->root, s->err) : error_nomem(s->err);

	if (status) {
		state_free(state);
		return status;
	}
	state->estimate = s->root->estimate;
	return advance(s, state);
}

/*
 * Bytes that nothing which comes of an entry goes below. What a shallow search makes of a cut is a
 * merge of leaves.
 */
static uint64_t entry_bound(const struct search *s, const struct entry *entry)
{
	const struct proposal *p;
	uint64_t bound = state_bound(entry->base);

	if (entry->proposal < 0 || !s->shallow || entry->base->items > 1)
		return bound;
	p = &entry->base->proposals->list[entry->proposal];
	return p->rule == RULE_MERGE ? p->cut.bound / 8 : bound;
}

/* True if the states that wait keep too many words for one more. */
static bool is_full(struct search *s)
{
	size_t memory = 0;
	unsigned i;

	s->rounds++;
	for (i = 0; i < s->queued; i++)
		memory += state_memory(s->queue[i].base, s->rounds);
	return memory > OPEN_MEMORY;
}

/*
 * Deals with the entry whose turn it is. *left: expansions that the budget still has; *cut becomes
 * the first state that it cuts off.
 */
static int visit(struct search *s, const struct entry *entry, unsigned *left, struct state **cut)
{
	/* Nothing that comes of it can be smaller. */
	if (!s->options.first_come && entry_bound(s, entry) > s->least)
		return BREVIS_OK;
	if (entry->proposal < 0)
		return close_entry(s, entry);
	if (*left && !is_full(s)) {
		if (was_cut(s, entry))
			return BREVIS_OK;
		--*left;
		return expand(s, entry);
	}
	if (*cut)
		return BREVIS_OK;
	*cut = state_copy(entry->base);
	return *cut ? BREVIS_OK : error_nomem(s->err);
}

int search_explore(struct search *s, enum effort effort, unsigned budget, struct brevis_error *err)
{
	struct state *cut = NULL;
	int status = BREVIS_OK;

	s->effort = effort;
	/* The fast preset learns no prior; slower ones are to come upon all that it does. */
	s->prior = effort == EFFORT_FAST ? NULL : s->options.prior;
	s->shallow = effort == EFFORT_FAST && budget == 1;
	s->err = err;
	while (!status && s->waiting)
		status = judge_next(s);
	if (!status)
		status = begin(s);
	while (!status && s->queued) {
		struct entry entry = pop(s);

		status = visit(s, &entry, &budget, &cut);
		state_free(entry.base);
	}
	if (!status && cut)
		return roll_out(s, cut);
	state_free(cut);
	drop_entries(s);
	return status;
}

int search_finish(struct search *s, struct buffer *out, struct prior *counts,
		  struct brevis_error *err)
{
	unsigned i;
	int status = BREVIS_OK;

	s->err = err;
	while (!status && s->waiting)
		status = judge_next(s);
	if (status)
		return status;
	buffer_append(out, s->best.data, s->best.size);
	if (buffer_failed(out))
		return error_nomem(err);
	for (i = 0; counts && i < s->best_choice_count && !status; i++)
		status = prior_count(counts, &s->best_choices[i].context, s->best_choices[i].rule,
				     err);
	return status;
}
