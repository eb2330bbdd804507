/* SPDX-License-Identifier: Apache-2.0 */
/** Whether the bytes of a program are accepted. */
#ifndef TESTS_UNIT_PROGRAM_CHECKS_H
#define TESTS_UNIT_PROGRAM_CHECKS_H

#include "tests/unit/support.h"

#include "core/program/program.h"

static inline int parse(const struct buffer *bytes, unsigned width, size_t count,
			struct brevis_error *err)
{
	struct program program;
	int status;

	assert_false(buffer_failed(bytes));
	status =
		program_parse(span_of(bytes->data, bytes->size), width, count, NULL, &program, err);
	program_release(&program);
	return status;
}

static inline void assert_valid(const struct buffer *bytes, unsigned width, size_t count)
{
	struct brevis_error err = {0};
	int status = parse(bytes, width, count, &err);

	if (status)
		print_error("%s\n", err.message);
	assert_int_equal(status, BREVIS_OK);
}

static inline void assert_broken(const struct buffer *bytes, unsigned width, size_t count,
				 const char *message)
{
	struct brevis_error err = {0};

	assert_int_equal(parse(bytes, width, count, &err), BREVIS_E_FORMAT);
	if (!strstr(err.message, message))
		print_error("\"%s\" for \"%s\"\n", err.message, message);
	assert_non_null(strstr(err.message, message));
}

#endif
