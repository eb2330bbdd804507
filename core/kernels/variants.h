/* SPDX-License-Identifier: Apache-2.0 */
/** The variants, for the choice among them. One that this architecture does not have is absent. */
#ifndef CORE_KERNELS_VARIANTS_H
#define CORE_KERNELS_VARIANTS_H

#include "core/kernels/kernels.h"

extern const struct kernels kernels_scalar;

#if defined(__x86_64__)
extern const struct kernels kernels_avx2;
extern const struct kernels kernels_avx512;
bool kernels_avx2_supported(void);
bool kernels_avx512_supported(void);
void kernels_pack8_bmi2(uint8_t *out, const uint8_t *numbers, unsigned bits, size_t groups);
void kernels_unpack8_bmi2(uint8_t *numbers, const uint8_t *in, unsigned bits, size_t groups);
#endif

#if defined(__AARCH64EL__)
extern const struct kernels kernels_neon;
bool kernels_neon_supported(void);
#endif

#endif
