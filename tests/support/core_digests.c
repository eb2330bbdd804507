/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what the core makes of files, a line for each: an archive is decoded, anything else
 * encoded with the given preset and decoded again. Whatever the architecture, compiler or number of
 * threads, the lines are the same; tests/support/cross.sh compares them.
 *
 *   core-digests PRESET THREADS DIR FILE...
 *
 * In DIR (or nowhere, if that is empty) the archives are kept as FILE.brevis. Exit code 0 says that
 * all files could be read, and every archive made here restores what it was made from.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/brevis.h"

#define HEX_SIZE (2 * BREVIS_SHA256_SIZE + 1)

/* What the store of priors was asked to keep. */
struct learned {
	char family[HEX_SIZE];
	char prior[HEX_SIZE];
};

static const char *hex(char text[HEX_SIZE], const uint8_t digest[BREVIS_SHA256_SIZE])
{
	size_t i;

	for (i = 0; i < BREVIS_SHA256_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	return text;
}

static int load_nothing(void *ctx, const uint8_t family[BREVIS_SHA256_SIZE],
			const uint8_t preferred[BREVIS_SHA256_SIZE], void **data, size_t *size)
{
	(void)ctx;
	(void)family;
	(void)preferred;
	(void)data;
	(void)size;
	return -1;
}

static void note_learned(void *ctx, const uint8_t family[BREVIS_SHA256_SIZE],
			 const uint8_t sha256[BREVIS_SHA256_SIZE], const void *data, size_t size)
{
	struct learned *learned = ctx;

	(void)data;
	(void)size;
	hex(learned->family, family);
	hex(learned->prior, sha256);
}

static int append(void *ctx, const void *data, size_t len)
{
	buffer_append(ctx, data, len);
	return buffer_failed(ctx) ? -1 : 0;
}

static int read_at(void *ctx, void *to, size_t len, uint64_t offset)
{
	const struct buffer *b = ctx;

	if (offset > b->size || len > b->size - offset)
		return -1;
	if (len)
		memcpy(to, b->data + offset, len);
	return 0;
}

static bool load_file(const char *path, struct buffer *out)
{
	FILE *file = fopen(path, "rb");
	uint8_t part[65536];
	size_t n;
	bool good;

	if (!file)
		return false;
	while ((n = fread(part, 1, sizeof(part), file)) > 0)
		buffer_append(out, part, n);
	good = !ferror(file) && !buffer_failed(out);
	fclose(file);
	return good;
}

static bool keep_file(const char *directory, const char *name, const struct buffer *b)
{
	char path[4096];
	FILE *file;
	bool good;

	if (!*directory)
		return true;
	if (snprintf(path, sizeof(path), "%s/%s.brevis", directory, name) >= (int)sizeof(path))
		return false;
	file = fopen(path, "wb");
	if (!file)
		return false;
	good = fwrite(b->data, 1, b->size, file) == b->size;
	return fclose(file) == 0 && good;
}

static int decode(struct buffer *bytes, unsigned threads, struct buffer *out,
		  struct brevis_error *err)
{
	struct brevis_source source = {read_at, bytes, bytes->size, NULL};
	struct brevis_decode_options options = {.threads = threads};
	struct brevis_archive *archive = NULL;
	int status = brevis_archive_open(&source, &archive, err);

	if (!status)
		status = brevis_archive_decode(archive, &options, append, out, err);
	brevis_archive_free(archive);
	return status;
}

static bool describe_archive(const char *name, struct buffer *bytes, unsigned threads)
{
	struct brevis_sha256 *sha = brevis_sha256_new();
	uint8_t digest[BREVIS_SHA256_SIZE];
	struct buffer out = BUFFER_INIT;
	struct brevis_error err = {0};
	char text[HEX_SIZE];
	int status = decode(bytes, threads, &out, &err);

	if (sha) {
		brevis_sha256_update(sha, out.data, out.size);
		brevis_sha256_final(sha, digest);
		/* What a failure handed out before counts too. */
		printf("%s: status %d \"%s\", %zu bytes %s\n", name, status, err.message, out.size,
		       hex(text, digest));
	}
	brevis_sha256_free(sha);
	buffer_release(&out);
	return sha != NULL;
}

static bool describe_encoding(const char *name, const struct buffer *original,
			      const struct brevis_encode_options *base, const char *directory)
{
	struct learned learned = {"-", "-"};
	struct brevis_prior_store store = {load_nothing, note_learned, &learned};
	struct brevis_encode_options options = *base;
	struct buffer archive = BUFFER_INIT, restored = BUFFER_INIT;
	struct brevis_encode_summary summary;
	struct brevis_encoder *encoder = NULL;
	struct brevis_error err = {0};
	char text[HEX_SIZE];
	int status;
	bool good;

	options.priors = &store;
	status = brevis_encoder_new(&options, append, &archive, &encoder, &err);
	if (!status)
		status = brevis_encoder_write(encoder, original->data, original->size, &err);
	if (!status)
		status = brevis_encoder_finish(encoder, &summary, &err);
	brevis_encoder_free(encoder);
	if (!status)
		status = decode(&archive, base->threads, &restored, &err);
	good = !status && restored.size == original->size &&
	       (!restored.size || !memcmp(restored.data, original->data, restored.size)) &&
	       keep_file(directory, name, &archive);
	if (good)
		printf("%s: %zu bytes %s, family %s, prior %s\n", name, archive.size,
		       hex(text, summary.archive_sha256), learned.family, learned.prior);
	else
		fprintf(stderr, "core-digests: %s: %s\n", name,
			status ? err.message : "is not restored, or not kept");
	buffer_release(&archive);
	buffer_release(&restored);
	return good;
}

static bool describe(const char *path, const struct brevis_encode_options *options,
		     const char *directory)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct buffer bytes = BUFFER_INIT;
	bool good = load_file(path, &bytes);

	if (!good)
		fprintf(stderr, "core-digests: %s: cannot be read\n", path);
	else if (strstr(name, ".brevis"))
		good = describe_archive(name, &bytes, options->threads);
	else
		good = describe_encoding(name, &bytes, options, directory);
	buffer_release(&bytes);
	return good;
}

int main(int argc, char **argv)
{
	struct brevis_encode_options options = {0};
	bool good = argc > 4;
	int i;

	if (!good)
		fprintf(stderr, "usage: core-digests PRESET THREADS DIR FILE...\n");
	else if (!strcmp(argv[1], "fast"))
		options.preset = BREVIS_PRESET_FAST;
	else if (!strcmp(argv[1], "best"))
		options.preset = BREVIS_PRESET_BEST;
	if (good)
		options.threads = (unsigned)strtoul(argv[2], NULL, 10);
	for (i = 4; i < argc; i++)
		if (!describe(argv[i], &options, argv[3]))
			good = false;
	return good ? 0 : 1;
}
