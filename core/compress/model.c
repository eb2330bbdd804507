/* SPDX-License-Identifier: Apache-2.0 */
#include "core/compress/model.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

/*
 * magic[8]  version:u8  prior (core/synthesis/prior.c)  codebook_size:varint  codebook
 *
 * The version changes with what the numbers of rules and the keys of contexts mean.
 */
#define MODEL_MAGIC   "BRVPRIOR"
#define MODEL_VERSION 1

void model_release(struct model *m)
{
	prior_free(m->prior);
	codebook_free(m->codebook);
	buffer_release(&m->bytes);
	*m = (struct model){0};
}

static int name(struct model *m, struct brevis_error *err)
{
	struct brevis_sha256 *sha = brevis_sha256_new();

	if (!sha || buffer_failed(&m->bytes)) {
		brevis_sha256_free(sha);
		return error_nomem(err);
	}
	brevis_sha256_update(sha, m->bytes.data, m->bytes.size);
	brevis_sha256_final(sha, m->sha256);
	brevis_sha256_free(sha);
	m->named = true;
	return BREVIS_OK;
}

static int damaged(struct brevis_error *err)
{
	return error_set(err, BREVIS_E_FORMAT, "the prior is damaged");
}

int model_parse(const void *data, size_t size, struct model *out, struct brevis_error *err)
{
	struct span in = span_of(data, size);
	const uint8_t *magic = span_take(&in, 8);
	struct model m = {0};
	uint64_t codebook_size;
	int status;

	if (!magic || memcmp(magic, MODEL_MAGIC, 8) != 0 || span_u8(&in) != MODEL_VERSION)
		return damaged(err);
	status = prior_parse(&in, &m.prior, err);
	if (status)
		return status;
	codebook_size = span_varint(&in);
	if (span_failed(&in) || codebook_size != span_left(&in))
		status = damaged(err);
	else if (codebook_size)
		status = codebook_parse(in.at, (size_t)codebook_size, &m.codebook, err);
	buffer_append(&m.bytes, data, size);
	if (!status)
		status = name(&m, err);
	if (status)
		model_release(&m);
	else
		*out = m;
	return status;
}

int model_calibrate(const struct sample_tensor *tensors, size_t count,
		    const struct sample_tensor *searched, size_t searched_count, struct model *out,
		    struct brevis_error *err)
{
	struct buffer codebook = BUFFER_INIT;
	struct model m = {0};
	int status = calibrate_codebook(tensors, count, &codebook, err);

	if (status || (!codebook.size && !searched_count))
		goto out;
	if (codebook.size)
		status = codebook_parse(codebook.data, codebook.size, &m.codebook, err);
	if (!status)
		status = calibrate_prior(searched, searched_count, m.codebook, &m.prior, err);
	if (!status) {
		buffer_append(&m.bytes, MODEL_MAGIC, 8);
		buffer_u8(&m.bytes, MODEL_VERSION);
		prior_write(m.prior, &m.bytes);
		buffer_varint(&m.bytes, codebook.size);
		buffer_append(&m.bytes, codebook.data, codebook.size);
		status = name(&m, err);
	}
out:
	buffer_release(&codebook);
	if (status)
		model_release(&m);
	else
		*out = m;
	return status;
}

int model_adopt_codebook(struct model *m, struct span bytes, struct brevis_error *err)
{
	struct codebook *codebook = NULL;
	int status = BREVIS_OK;

	if (span_left(&bytes))
		status = codebook_parse(bytes.at, span_left(&bytes), &codebook, err);
	if (status)
		return status;
	codebook_free(m->codebook);
	m->codebook = codebook;
	return BREVIS_OK;
}
