/* SPDX-License-Identifier: Apache-2.0 */
/* Which variant is used. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/brevis.h"
#include "core/kernels/variants.h"

/* More than any architecture has, and the NULL at the end. */
#define VARIANTS_MAX 4

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct kernels *available[VARIANTS_MAX];
static const struct kernels *chosen = &kernels_scalar;

/* From the slowest to the fastest. */
static size_t list_available(void)
{
	size_t n = 0;

	available[n++] = &kernels_scalar;
#if defined(__x86_64__)
	if (kernels_avx2_supported())
		available[n++] = &kernels_avx2;
	if (kernels_avx512_supported())
		available[n++] = &kernels_avx512;
#endif
#if defined(__AARCH64EL__)
	if (kernels_neon_supported())
		available[n++] = &kernels_neon;
#endif
	return n;
}

/* The fastest that can be trusted; only what may be taken is tested. */
static void choose(void)
{
	const char *wanted = getenv("BREVIS_KERNELS");
	size_t n = list_available(), i;

	for (i = 0; wanted && i < n; i++) {
		if (strcmp(wanted, available[i]->name) != 0 || !kernels_agree(available[i]))
			continue;
		chosen = available[i];
		return;
	}
	while (n > 1 && !kernels_agree(available[n - 1]))
		n--;
	chosen = available[n - 1];
}

const struct kernels *kernels(void)
{
	/* Where the once cannot be had, all that is lost is time. */
	pthread_once(&once, choose);
	return chosen;
}

const struct kernels *const *kernels_available(void)
{
	pthread_once(&once, choose);
	return available;
}

const char *brevis_kernels(void)
{
	return kernels()->name;
}
