/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The program validator, and the executor behind it. An input is the exponent of the words' width,
 * the number of words (two bytes), the number of bytes of a codebook (two bytes), that, and a
 * program.
 */
#include <string.h>

#include "core/base/buffer.h"
#include "core/entropy/codebook.h"
#include "core/program/execute.h"
#include "core/program/program.h"
#include "tests/fuzz/fuzz.h"

/* What a usual shape is executed by, and execution node by node, must agree in all. */
static void execute(const struct program *program, size_t bytes)
{
	struct executor fused = {0};
	struct executor plain = {.by_node = true};
	uint8_t *a = calloc(1, bytes + 1);
	uint8_t *b = calloc(1, bytes + 1);
	int status;

	PROPERTY(a && b);
	status = executor_run(&fused, program, a, NULL);
	PROPERTY(executor_run(&plain, program, b, NULL) == status);
	PROPERTY(status != BREVIS_OK || memcmp(a, b, bytes) == 0);
	executor_release(&fused);
	executor_release(&plain);
	free(a);
	free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = span_of(data, size);
	unsigned width = 8u << (span_u8(&in) & 3);
	size_t count = span_le16(&in);
	size_t codebook_size = span_le16(&in);
	const uint8_t *codebook_at = span_take(&in, codebook_size);
	struct codebook *codebook = NULL;
	struct program *program;
	struct brevis_error err;
	struct buffer text = BUFFER_INIT;

	if (span_failed(&in) || count == 0)
		return 0;
	if (codebook_size &&
	    codebook_parse(codebook_at, codebook_size, &codebook, NULL) != BREVIS_OK)
		return 0;
	program = malloc(sizeof(*program));
	PROPERTY(program);
	if (program_parse(in, width, count, codebook, program, &err) == BREVIS_OK) {
		program_print(program, &text);
		execute(program, count * (width / 8));
	} else {
		PROPERTY(err.message[0]);
	}
	program_release(program);
	free(program);
	codebook_free(codebook);
	buffer_release(&text);
	return 0;
}
