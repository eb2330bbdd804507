/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <stdio.h>
#include <xxhash.h>
#include <yajl/yajl_version.h>
#include <zstd.h>

#include "core/brevis.h"
#include "filter/cli/options.h"
#include "filter/git/repository.h"

int verb_version(const struct command *self, int argc, char **argv)
{
	static const struct option_spec none[] = {{0}};
	int code;

	argc = options_parse(self, argc, argv, none, &code);
	if (argc < 0)
		return code;
	if (argc > 0)
		return command_usage(self, 0);
	printf("git-brevis %s (archive format %d; libgit2 %s, OpenSSL %s, libzstd %s, xxHash "
	       "%d.%d.%d, "
	       "yajl %d.%d.%d)\n",
	       BREVIS_VERSION, BREVIS_FORMAT_VERSION, repository_library_version(),
	       brevis_sha256_library(), ZSTD_VERSION_STRING, XXH_VERSION_MAJOR, XXH_VERSION_MINOR,
	       XXH_VERSION_RELEASE, YAJL_MAJOR, YAJL_MINOR, YAJL_MICRO);
	return EXIT_DONE;
}
