/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/codebook.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/entropy/rans.h"

struct shared_table {
	unsigned width;
	unsigned scale_bits;
	uint16_t *shares;
	void *slots;
};

struct codebook {
	unsigned count;
	struct shared_table tables[CODEBOOK_TABLES_MAX];
	size_t size;
	uint8_t bytes[];
};

static int check_parameters(struct span *in, struct shared_table *table,
			    struct frequency_table *frequencies, struct brevis_error *err)
{
	unsigned lanes;
	int status;

	table->width = span_u8(in);
	if (span_left(in) && *in->at >> 3 & 3)
		return error_set(err, BREVIS_E_FORMAT, "bits 3 and 4 of its parameters are set");
	if (!span_failed(in) && (table->width < 1 || table->width > LITERAL_SYMBOL_BITS))
		return error_set(err, BREVIS_E_FORMAT, "words of %u bits, must be 1 to %d",
				 table->width, LITERAL_SYMBOL_BITS);
	status = rans_parameters_read(in, frequencies, &lanes, err);
	table->scale_bits = frequencies->scale_bits;
	return status;
}

static int parse_table(struct span *in, struct shared_table *table, struct brevis_error *err)
{
	struct frequency_table frequencies = {0};
	struct bit_reader bits;
	int status = check_parameters(in, table, &frequencies, err);

	if (status)
		return status;
	table->shares = calloc((size_t)1 << table->width, sizeof(*table->shares));
	table->slots = malloc(rans_slots_size(table->width, table->scale_bits));
	if (!table->shares || !table->slots)
		return error_nomem(err);
	bit_reader_init(&bits, *in);
	status = frequency_table_read(&bits, table->width, &frequencies, table->shares, err);
	if (!status)
		status = frequency_tables_end(&bits, in, err);
	if (!status)
		rans_slots_fill(table->slots, table->width, table->scale_bits, table->shares);
	return status;
}

static int parse_tables(struct codebook *codebook, struct brevis_error *err)
{
	struct span in = span_of(codebook->bytes, codebook->size);
	struct brevis_error why;
	unsigned i;

	codebook->count = span_u8(&in);
	if (span_failed(&in) || !codebook->count || codebook->count > CODEBOOK_TABLES_MAX)
		return error_set(err, BREVIS_E_FORMAT, "codebook: %u tables, must be 1 to %d",
				 codebook->count, CODEBOOK_TABLES_MAX);
	for (i = 0; i < codebook->count; i++) {
		int status = parse_table(&in, &codebook->tables[i], &why);

		if (status)
			return error_set(err, status, "codebook: table %u: %s", i, why.message);
	}
	if (span_left(&in))
		return error_set(err, BREVIS_E_FORMAT, "codebook: bytes after the last table");
	return BREVIS_OK;
}

int codebook_parse(const void *bytes, size_t size, struct codebook **out, struct brevis_error *err)
{
	struct codebook *codebook;
	int status;

	if (size > CODEBOOK_BYTES_MAX)
		return error_set(err, BREVIS_E_FORMAT, "codebook: %zu bytes, at most %d", size,
				 CODEBOOK_BYTES_MAX);
	codebook = calloc(1, sizeof(*codebook) + size);
	if (!codebook)
		return error_nomem(err);
	codebook->size = size;
	if (size)
		memcpy(codebook->bytes, bytes, size);
	status = parse_tables(codebook, err);
	if (status)
		codebook_free(codebook);
	else
		*out = codebook;
	return status;
}

void codebook_free(struct codebook *codebook)
{
	unsigned i;

	if (!codebook)
		return;
	for (i = 0; i < CODEBOOK_TABLES_MAX; i++) {
		free(codebook->tables[i].shares);
		free(codebook->tables[i].slots);
	}
	free(codebook);
}

struct span codebook_bytes(const struct codebook *codebook)
{
	return span_of(codebook->bytes, codebook->size);
}

unsigned codebook_count(const struct codebook *codebook)
{
	return codebook->count;
}

unsigned codebook_width(const struct codebook *codebook, unsigned number)
{
	return codebook->tables[number].width;
}

const uint16_t *codebook_shares(const struct codebook *codebook, unsigned number)
{
	return codebook->tables[number].shares;
}

unsigned codebook_scale_bits(const struct codebook *codebook, unsigned number)
{
	return codebook->tables[number].scale_bits;
}

const void *codebook_slots(const struct codebook *codebook, unsigned number)
{
	return codebook->tables[number].slots;
}
