/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tests that repeat themselves with other random numbers do so as often as BREVIS_TEST_SHARE says,
 * in percent: under an emulator, and with the sanitizers, each repetition takes ten times as long.
 */
#ifndef TESTS_UNIT_SHARE_H
#define TESTS_UNIT_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static inline unsigned test_share(void)
{
	const char *given = getenv("BREVIS_TEST_SHARE");

	return given ? (unsigned)strtoul(given, NULL, 10) : 100;
}

/** How many of n rounds there shall be: at least one. */
static inline unsigned rounds(unsigned n)
{
	unsigned wanted = n * test_share() / 100;

	return wanted ? wanted : 1;
}

/** Whether a case is one of those left out, by a random number. */
static inline bool is_spared(uint64_t random)
{
	return random % 100 >= test_share();
}

#endif
