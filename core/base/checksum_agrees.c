/* SPDX-License-Identifier: Apache-2.0 */
/* Alone in its file: fuzz targets link another one (tests/fuzz/trusting.c). */
#include "core/base/digest.h"

bool checksum64_agrees(uint64_t checksum, uint64_t promised)
{
	return checksum == promised;
}
