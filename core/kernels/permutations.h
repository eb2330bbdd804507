/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For variants with 8 lanes to a step and no instruction that compresses or expands: for each set
 * of lanes (lane 0 is its lowest bit), where what they take or give goes.
 */
#ifndef CORE_KERNELS_PERMUTATIONS_H
#define CORE_KERNELS_PERMUTATIONS_H

#include <stdbool.h>
#include <stdint.h>

/** For each lane how many of the set are below it: what it takes when units are handed out. */
extern uint8_t kernel_handing_out[256][8];

/** The set's lanes in order, at the end: what they give off. What is before them is some lanes. */
extern uint8_t kernel_giving_off[256][8];

/** Fills both, on the first call; from any thread. False if that cannot be done. */
bool kernel_permutations_fill(void);

#endif
