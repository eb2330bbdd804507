/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums that agree with anything: by mutation a fuzzer could not get past one. The linker takes
 * this instead of what is in the library. */
#include "core/base/digest.h"

bool checksum64_agrees(uint64_t checksum, uint64_t promised)
{
	(void)checksum;
	(void)promised;
	return true;
}
