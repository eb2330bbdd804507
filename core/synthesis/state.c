/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/state.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/error.h"

/* The smallest node: an op byte and something more. */
#define NODE_BYTES_MIN 2

struct state *state_new(struct stream *root, unsigned dtype)
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->references = 1;
	s->items = 1;
	s->item[0] = (struct item){.kind = ITEM_HOLE,
				   .stream = stream_share(root),
				   .place = {.parent = RULES, .depth = 1, .dtype = dtype}};
	return s;
}

void state_free(struct state *s)
{
	unsigned i;

	if (!s || --s->references)
		return;
	for (i = 0; i < s->items; i++) {
		if (s->item[i].node && !--s->item[i].node->references)
			free(s->item[i].node);
		stream_free(s->item[i].stream);
	}
	free(s->chosen);
	free(s->proposals);
	free(s);
}

static int choose(struct state *s, const struct prior_context *context, enum rule rule,
		  struct brevis_error *err)
{
	struct choice *chosen = realloc(s->chosen, sizeof(*chosen) * (s->choices + 1));

	if (!chosen)
		return error_nomem(err);
	s->chosen = chosen;
	s->chosen[s->choices++] = (struct choice){*context, rule};
	return BREVIS_OK;
}

struct state *state_copy(const struct state *from)
{
	struct state *s = malloc(sizeof(*s));
	unsigned i;

	if (!s)
		return NULL;
	*s = *from;
	s->references = 1;
	s->proposals = NULL;
	s->chosen = malloc(sizeof(*s->chosen) * (s->choices + 1));
	if (!s->chosen) {
		free(s);
		return NULL;
	}
	if (s->choices)
		memcpy(s->chosen, from->chosen, sizeof(*s->chosen) * s->choices);
	for (i = 0; i < s->items; i++) {
		if (s->item[i].node)
			s->item[i].node->references++;
		if (s->item[i].stream)
			stream_share(s->item[i].stream);
	}
	return s;
}

static void find_hole(struct state *s)
{
	while (s->hole < s->items && s->item[s->hole].kind != ITEM_HOLE)
		s->hole++;
}

int state_close(struct state *s, struct brevis_error *err)
{
	int status = choose(s, &s->context, RULE_LEAF, err);

	if (status)
		return status;
	s->item[s->hole].kind = ITEM_LEAF;
	find_hole(s);
	return BREVIS_OK;
}

int state_fill(struct state *s, const struct proposal *proposal, const struct buffer *node,
	       struct stream *const *children, unsigned arity, struct brevis_error *err)
{
	struct node_bytes *bytes = malloc(sizeof(*bytes) + node->size);
	struct item *at = &s->item[s->hole];
	struct place place = at->place;
	int status = bytes ? choose(s, &s->context, proposal->rule, err) : error_nomem(err);
	unsigned i;

	if (status || s->items + arity > PROGRAM_MAX_NODES) {
		free(bytes);
		for (i = 0; i < arity; i++)
			stream_free(children[i]);
		return status ? status : error_set(err, BREVIS_E_USAGE, "too many nodes");
	}
	bytes->references = 1;
	bytes->size = node->size;
	memcpy(bytes->data, node->data, node->size);
	stream_free(at->stream);
	memmove(at + 1 + arity, at + 1, sizeof(*at) * (s->items - s->hole - 1));
	*at = (struct item){.kind = ITEM_NODE, .node = bytes};
	for (i = 0; i < arity; i++)
		at[1 + i] = (struct item){
			.kind = ITEM_HOLE,
			.stream = children[i],
			.place = {proposal->rule, i, place.depth + 1, place.dtype},
		};
	s->items += arity;
	find_hole(s);
	return BREVIS_OK;
}

uint64_t state_bound(const struct state *s)
{
	uint64_t bound = 0;
	unsigned i;

	for (i = 0; i < s->items; i++) {
		const struct item *item = &s->item[i];

		if (item->kind == ITEM_NODE)
			bound += item->node->size;
		else if (item->kind == ITEM_HOLE || !item->stream->measured)
			bound += NODE_BYTES_MIN;
		else
			bound += item->stream->written ? item->stream->leaf.size
						       : item->stream->bound;
	}
	return bound;
}

size_t state_memory(const struct state *s, uint64_t round)
{
	size_t memory = 0;
	unsigned i;

	for (i = 0; i < s->items; i++)
		if (s->item[i].stream)
			memory += stream_memory(s->item[i].stream, round);
	return memory;
}

uint64_t state_signature(const struct state *s)
{
	uint64_t signature = 0;
	unsigned i;

	for (i = 0; i < s->items; i++) {
		uint64_t pair[2] = {signature, (uint64_t)i + 1};

		if (s->item[i].kind == ITEM_NODE)
			pair[1] = checksum64(s->item[i].node->data, s->item[i].node->size);
		signature = checksum64(pair, sizeof(pair));
	}
	return signature;
}
