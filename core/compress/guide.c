/* SPDX-License-Identifier: Apache-2.0 */
#include "core/compress/guide.h"

#include <stdlib.h>

#include "core/base/error.h"

/* A checkpoint of less data gains nothing by a prior. */
#define CALIBRATE_MIN (64u << 10)

void guide_init(struct guide *g, const struct brevis_encode_options *options)
{
	*g = (struct guide){.wanted = options->preset != BREVIS_PRESET_FAST,
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
	g->origin = model_parse(data, size, &g->model, NULL) ? BREVIS_PRIOR_REPLACED
							     : BREVIS_PRIOR_LOADED;
	free(data);
	return g->model.named;
}

static int calibrate(struct guide *g, const struct window *window, struct brevis_error *err)
{
	struct sample_tensor *tensors = NULL;
	size_t count = 0, bytes = 0, i;
	int status = window_tensors(window, &tensors, &count, err);

	for (i = 0; i < count; i++)
		bytes += tensors[i].count * (tensors[i].width / 8);
	if (!status && bytes >= CALIBRATE_MIN) {
		status = model_calibrate(tensors, count, &g->model, err);
		if (!status && g->origin != BREVIS_PRIOR_REPLACED)
			g->origin = BREVIS_PRIOR_CALIBRATED;
	} else if (!status) {
		g->origin = BREVIS_PRIOR_NONE;
	}
	free(tensors);
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
