/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/token.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

int token_make(char token[TOKEN_SIZE + 1])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -1;
	snprintf(token, TOKEN_SIZE + 1, "%016" PRIx64, random);
	return 0;
}
