/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/proof.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "filter/stream.h"

static bool fail(struct brevis_error *err, enum brevis_status status, const char *message)
{
	err->status = status;
	snprintf(err->message, sizeof(err->message), "%s", message);
	return false;
}

bool archive_restores(const struct brevis_archive *archive, unsigned threads, uint64_t size,
		      const uint8_t sha256[BREVIS_SHA256_SIZE], struct brevis_error *err)
{
	struct brevis_decode_options options = {.threads = threads};
	const struct brevis_archive_info *info = brevis_archive_info(archive);

	if (info->original_size != size ||
	    memcmp(info->original_sha256, sha256, BREVIS_SHA256_SIZE) != 0)
		return fail(err, BREVIS_E_CHECKSUM, "it restores something else");
	return brevis_archive_decode(archive, &options, NULL, NULL, err) == BREVIS_OK;
}

bool source_restores(const struct brevis_source *source, unsigned threads, uint64_t size,
		     const uint8_t sha256[BREVIS_SHA256_SIZE], struct brevis_error *err)
{
	struct brevis_archive *archive = NULL;
	bool result = brevis_archive_open(source, &archive, err) == BREVIS_OK &&
		      archive_restores(archive, threads, size, sha256, err);

	brevis_archive_free(archive);
	return result;
}

bool source_is_object(const struct brevis_source *source, const struct pointer *pointer,
		      struct brevis_error *err)
{
	uint8_t digest[BREVIS_SHA256_SIZE];
	struct pointer found = {.size = source->size};

	if (source_digest(source, digest) != 0)
		return fail(err, BREVIS_E_IO, strerror(errno));
	pointer_set_oid(&found, digest);
	if (!pointer_equal(&found, pointer))
		return fail(err, BREVIS_E_CHECKSUM, "its SHA-256 is not its name");
	return true;
}
