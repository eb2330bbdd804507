/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/command.h"

#include <stdio.h>

int command_usage(const struct command *self, int asked_for)
{
	FILE *out = asked_for ? stdout : stderr;

	fprintf(out, "usage: git brevis %s\n", self->usage);
	if (asked_for)
		fprintf(out, "\n%s\n", self->summary);
	return asked_for ? EXIT_DONE : EXIT_USAGE;
}
