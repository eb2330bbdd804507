/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A fuzz target: one function that takes any bytes at all. libFuzzer finds the bytes (with clang's
 * -fsanitize=fuzzer), replay.c runs files that were kept.
 *
 * Checksums agree in targets, whatever they are (trusting.c): else no mutated archive would come
 * further than its first one.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** Returns 0. What must not be ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** A property of the code under test: if it does not hold, the input is a finding. */
#define PROPERTY(holds)                                                                            \
	do {                                                                                       \
		if (!(holds)) {                                                                    \
			fprintf(stderr, "%s:%d: property broken: %s\n", __FILE__, __LINE__,        \
				#holds);                                                           \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
