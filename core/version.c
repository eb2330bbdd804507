/* SPDX-License-Identifier: Apache-2.0 */
/* Which library runs: a program may have been built with the header of another one. */
#include "core/brevis.h"

const char *brevis_version(void)
{
	return BREVIS_VERSION;
}
