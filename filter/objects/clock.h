/* SPDX-License-Identifier: Apache-2.0 */
/** Time that passes. */
#ifndef FILTER_CLOCK_H
#define FILTER_CLOCK_H

#include <stdint.h>

/** Milliseconds since some moment; no clock that is set makes them jump. */
uint64_t clock_ms(void);

#endif
