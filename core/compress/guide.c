/* SPDX-License-Identifier: Apache-2.0 */
#include "core/compress/guide.h"

#include <stdlib.h>

#include "core/base/error.h"

/* A checkpoint of less data gains nothing by a codebook, and searches of less nothing by a prior.
 */
#define CALIBRATE_MIN (64u << 10)
#define SEARCHED_MIN  (1u << 20)

void guide_init(struct guide *g, const struct brevis_encode_options *options)
{
	*g = (struct guide){.preset = options->preset,
			    .wanted = options->preset != BREVIS_PRESET_FAST,
			    .store = options->priors};
}

void guide_release(struct guide *g)
{
	model_release(&g->model);
}

/* The archive whose beginning is copied, or the first one that has a codebook, or NULL. */
static const struct brevis_archive *codebook_owner(const struct revisions *r)
{
	size_t i;

	if (r->pieces)
		return r->followed;
	for (i = 0; i < r->count; i++)
		if (r->archives[i]->codebook)
			return r->archives[i];
	return NULL;
}

static const uint8_t *preferred_prior(const struct revisions *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		if (r->archives[i]->info.has_prior)
			return r->archives[i]->info.prior_sha256;
	return NULL;
}

bool guide_load(struct guide *g, const uint8_t *family, const struct revisions *revisions)
{
	void *data = NULL;
	size_t size = 0;

	if (!g->wanted || g->model.named)
		return true;
	if (g->asked || !g->store || !family)
		return false;
	g->asked = true;
	if (g->store->load(g->store->ctx, family, preferred_prior(revisions), &data, &size))
		return false;
	/* A damaged prior is as good as none. */
	g->damaged = model_parse(data, size, &g->model, NULL);
	if (!g->damaged)
		g->origin = BREVIS_PRIOR_LOADED;
	free(data);
	return g->model.named;
}

/* Tensors that are searched, of which a prior is learned; the others are written without one. */
static size_t pick_searched(const struct guide *g, const struct sample_tensor *tensors,
			    size_t count, struct sample_tensor *out)
{
	size_t bytes = 0, picked = 0, i;

	for (i = 0; i < count; i++) {
		const struct sample_tensor *t = &tensors[i];

		if (g->preset != BREVIS_PRESET_BEST &&
		    synthesis_is_usual(t->words, t->width, t->count, t->kind))
			continue;
		bytes += t->count * (t->width / 8);
		out[picked++] = *t;
	}
	return bytes >= SEARCHED_MIN ? picked : 0;
}

static int calibrate(struct guide *g, const struct window *window, struct brevis_error *err)
{
	struct sample_tensor *tensors = NULL, *searched = NULL;
	size_t count = 0, bytes = 0, picked = 0, i;
	int status = window_tensors(window, &tensors, &count, err);

	g->origin = BREVIS_PRIOR_NONE;
	for (i = 0; i < count && !status; i++)
		bytes += tensors[i].count * (tensors[i].width / 8);
	if (status || bytes < CALIBRATE_MIN)
		goto out;
	searched = malloc(sizeof(*searched) * count);
	if (!searched) {
		status = error_nomem(err);
		goto out;
	}
	picked = pick_searched(g, tensors, count, searched);
	status = model_calibrate(tensors, count, searched, picked, &g->model, err);
	if (!status && g->model.named)
		g->origin = g->damaged ? BREVIS_PRIOR_REPLACED : BREVIS_PRIOR_CALIBRATED;
out:
	free(tensors);
	free(searched);
	return status;
}

int guide_decide(struct guide *g, const uint8_t *family, const struct revisions *revisions,
		 const struct window *window, struct brevis_error *err)
{
	const struct brevis_archive *owner = codebook_owner(revisions);
	struct model *m = &g->model;
	struct span none = {0};
	int status = BREVIS_OK;

	if (g->wanted && !m->named)
		status = calibrate(g, window, err);
	if (!status && m->named && g->origin != BREVIS_PRIOR_LOADED && g->store && family)
		g->store->save(g->store->ctx, family, m->sha256, m->bytes.data, m->bytes.size);
	if (!status && owner)
		status = model_adopt_codebook(
			m, owner->codebook ? codebook_bytes(owner->codebook) : none, err);
	return status;
}
