/* SPDX-License-Identifier: Apache-2.0 */
/** A directory of the test's own, which it works in, and has to leave empty. */
#ifndef TESTS_UNIT_OWN_DIRECTORY_H
#define TESTS_UNIT_OWN_DIRECTORY_H

#include <stdlib.h>
#include <unistd.h>

static char own_directory[] = "/tmp/brevis-unit-XXXXXX";

static int own_directory_enter(void **state)
{
	(void)state;
	return mkdtemp(own_directory) && chdir(own_directory) == 0 ? 0 : -1;
}

/* Fails if anything is left. */
static int own_directory_leave(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(own_directory) == 0 ? 0 : -1;
}

#endif
