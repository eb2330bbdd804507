/* SPDX-License-Identifier: Apache-2.0 */
/** What a table of figures says of where they were measured, and the clocks they come from. */
#ifndef SCRIPTS_BENCH_MACHINE_H
#define SCRIPTS_BENCH_MACHINE_H

#include <time.h>

/** Seconds of a clock. */
double bench_clock(clockid_t clock);

/** Prints two lines of a Markdown list: the machine, and the versions of all that is measured. */
void bench_print_machine(void);

#endif
