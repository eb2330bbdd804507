/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/command.h"

#include <curl/curlver.h>
#include <git2/version.h>
#include <openssl/opensslv.h>
#include <stdio.h>
#include <xxhash.h>
#include <yajl/yajl_version.h>
#include <zstd.h>

#include "core/brevis.h"
#include "filter/options.h"

int verb_version(const struct command *self, int argc, char **argv)
{
	static const struct option_spec none[] = {{0}};
	int code;

	argc = options_parse(self, argc, argv, none, &code);
	if (argc < 0)
		return code;
	if (argc > 0)
		return command_usage(self, 0);
	printf("git-brevis %s (archive format %d; libgit2 %s, OpenSSL %s, libcurl %s, libzstd %s, "
	       "xxHash %d.%d.%d, yajl %d.%d.%d)\n",
	       BREVIS_VERSION, BREVIS_FORMAT_VERSION, LIBGIT2_VERSION, OPENSSL_VERSION_STR,
	       LIBCURL_VERSION, ZSTD_VERSION_STRING, XXH_VERSION_MAJOR, XXH_VERSION_MINOR,
	       XXH_VERSION_RELEASE, YAJL_MAJOR, YAJL_MINOR, YAJL_MICRO);
	return EXIT_DONE;
}
