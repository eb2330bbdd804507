/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "core/kernels/permutations.h"

uint8_t kernel_handing_out[256][8];
uint8_t kernel_giving_off[256][8];

static void fill(void)
{
	unsigned set, lane;

	for (set = 0; set < 256; set++) {
		unsigned n = 0, at = 8 - (unsigned)__builtin_popcount(set);

		for (lane = 0; lane < 8; lane++) {
			kernel_handing_out[set][lane] = (uint8_t)n;
			if (!(set >> lane & 1))
				continue;
			n++;
			kernel_giving_off[set][at++] = (uint8_t)lane;
		}
	}
}

bool kernel_permutations_fill(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	return pthread_once(&once, fill) == 0;
}
