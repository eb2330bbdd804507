/* SPDX-License-Identifier: Apache-2.0 */
/** The manual pages (docs/man), as they are installed. */
#ifndef FILTER_MANUAL_H
#define FILTER_MANUAL_H

/**
 * Becomes `man git-brevis-VERB` if stdout is a terminal and that page is installed. Else returns,
 * and nothing was written. Of a verb of two words the first counts; NULL means git-brevis(1).
 */
void manual_open(const char *verb);

#endif
