/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/options.h"
#include "filter/report.h"
#include "filter/subject.h"

#define STEP (256 * 1024)

/* Checks the object's bytes against its name. */
static int check_name(const struct subject *subject, const char *name)
{
	const struct brevis_source *source = &subject->file.source;
	struct brevis_sha256 *sha = brevis_sha256_new();
	uint8_t *chunk = malloc(STEP);
	uint8_t digest[BREVIS_SHA256_SIZE];
	char hex[OID_HEX_SIZE + 1];
	uint64_t offset;
	int result = -1;

	if (!sha || !chunk) {
		report_error("cannot verify %s: out of memory", name);
		goto out;
	}
	for (offset = 0; offset < source->size;) {
		size_t n = source->size - offset < STEP ? (size_t)(source->size - offset) : STEP;

		if (source->read_at(source->ctx, chunk, n, offset) != 0) {
			report_error("%s: its object %.12s cannot be read: %s", name,
				     subject->pointer.oid, strerror(errno));
			goto out;
		}
		brevis_sha256_update(sha, chunk, n);
		offset += n;
	}
	brevis_sha256_final(sha, digest);
	digest_to_hex(digest, hex);
	if (strcmp(hex, subject->pointer.oid) == 0)
		result = 0;
	else
		report_error("%s: its object %.12s is damaged: its SHA-256 is not its name; see "
			     "`git brevis fsck`",
			     name, subject->pointer.oid);
out:
	brevis_sha256_free(sha);
	free(chunk);
	return result;
}

static int check_archive(const struct subject *subject, const struct workspace *ws,
			 const char *name)
{
	struct brevis_decode_options options = {.threads = ws->threads};
	struct brevis_archive *archive = NULL;
	struct brevis_error err;
	int result = -1;

	if (brevis_archive_open(&subject->file.source, &archive, &err) == BREVIS_OK &&
	    brevis_archive_decode(archive, &options, NULL, NULL, &err) == BREVIS_OK) {
		const struct brevis_archive_info *info = brevis_archive_info(archive);

		printf("%s: good, %" PRIu64 " bytes restore %" PRIu64 "\n", name,
		       info->archive_size, info->original_size);
		result = 0;
	} else if (err.status == BREVIS_E_UNSUPPORTED || err.status == BREVIS_E_LIMIT) {
		report_error("%s cannot be verified: %s; a newer git-brevis may do it", name,
			     err.message);
	} else if (err.status == BREVIS_E_NOMEM) {
		report_error("cannot verify %s: out of memory", name);
	} else {
		report_error("%s is damaged: %s", name, err.message);
	}
	brevis_archive_free(archive);
	return result;
}

static int verify(const struct workspace *ws, const char *name)
{
	struct subject subject;
	int result = -1;

	if (subject_open(&subject, ws, name) != 0)
		return -1;
	if (subject.has_pointer && check_name(&subject, name) != 0)
		goto out;
	if (object_file_is_archive(&subject.file)) {
		result = check_archive(&subject, ws, name);
		goto out;
	}
	printf("%s: good, a plain Git LFS object of %" PRIu64 " bytes\n", name,
	       subject.file.source.size);
	result = 0;
out:
	subject_close(&subject);
	return result;
}

int verb_verify(const struct command *self, int argc, char **argv)
{
	static const struct option_spec none[] = {{0}};
	struct workspace ws;
	int bad = 0;
	int code;
	int i;

	argc = options_parse(self, argc, argv, none, &code);
	if (argc < 0)
		return code;
	if (argc == 0)
		return command_usage(self, 0);
	if (workspace_open_if_any(&ws) != 0)
		return EXIT_FATAL;
	for (i = 0; i < argc; i++) {
		if (verify(&ws, argv[i]) != 0)
			bad++;
	}
	workspace_close(&ws);
	return bad ? EXIT_FOUND : EXIT_DONE;
}
