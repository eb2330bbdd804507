/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compresses a file with libbrevis, and restores it:
 *
 *   cc -o roundtrip roundtrip.c $(pkg-config --cflags --libs libbrevis)
 *   ./roundtrip compress model.safetensors model.brevis
 *   ./roundtrip restore model.brevis model.safetensors
 *
 * Exit code: 0, or 1 with a line on standard error. A file that could not be completed is removed.
 */
#define _FILE_OFFSET_BITS 64
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <brevis.h>

/* Of the input that are given to the encoder at a time. Any number does. */
#define PART_SIZE (1u << 20)

static int failed(const char *what, const char *why)
{
	fprintf(stderr, "roundtrip: %s: %s\n", what, why);
	return -1;
}

/* Where the library puts its output. */
static int write_part(void *ctx, const void *data, size_t len)
{
	return fwrite(data, 1, len, ctx) != len;
}

/* From where the library reads an archive, from several threads at once: hence pread. */
static int read_part(void *ctx, void *buf, size_t len, uint64_t offset)
{
	const int *fd = ctx;
	char *at = buf;

	while (len) {
		ssize_t got = pread(*fd, at, len, (off_t)offset);

		if (got <= 0)
			return -1;
		at += got;
		offset += (uint64_t)got;
		len -= (size_t)got;
	}
	return 0;
}

/* Gives the whole file to the encoder. */
static int feed(struct brevis_encoder *encoder, FILE *in, struct brevis_error *err)
{
	char *part = malloc(PART_SIZE);
	int status = part ? BREVIS_OK : BREVIS_E_NOMEM;
	size_t len;

	if (!part)
		snprintf(err->message, sizeof(err->message), "out of memory");
	while (!status && (len = fread(part, 1, PART_SIZE, in)) > 0)
		status = brevis_encoder_write(encoder, part, len, err);
	if (!status && ferror(in)) {
		snprintf(err->message, sizeof(err->message), "cannot read the input");
		status = BREVIS_E_IO;
	}
	free(part);
	return status;
}

static int compress(const char *from, FILE *out)
{
	struct brevis_encode_options options = {.preset = BREVIS_PRESET_DEFAULT};
	struct brevis_encode_summary summary;
	struct brevis_encoder *encoder = NULL;
	struct brevis_error err;
	FILE *in = fopen(from, "rb");
	int status;

	if (!in)
		return failed(from, "cannot be opened");
	status = brevis_encoder_new(&options, write_part, out, &encoder, &err);
	if (!status)
		status = feed(encoder, in, &err);
	if (!status)
		status = brevis_encoder_finish(encoder, &summary, &err);
	if (!status)
		printf("%llu bytes became %llu\n", (unsigned long long)summary.original_size,
		       (unsigned long long)summary.archive_size);
	brevis_encoder_free(encoder);
	fclose(in);
	return status ? failed(from, err.message) : 0;
}

static int restore(const char *from, FILE *out)
{
	struct brevis_archive *archive = NULL;
	struct brevis_error err;
	struct stat st;
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	struct brevis_source source = {.read_at = read_part, .ctx = &fd};
	int status;

	if (fd < 0 || fstat(fd, &st) < 0) {
		if (fd >= 0)
			close(fd);
		return failed(from, "cannot be opened");
	}
	source.size = (uint64_t)st.st_size;
	status = brevis_archive_open(&source, &archive, &err);
	if (!status)
		status = brevis_archive_decode(archive, NULL, write_part, out, &err);
	brevis_archive_free(archive);
	close(fd);
	return status ? failed(from, err.message) : 0;
}

int main(int argc, char **argv)
{
	FILE *out;
	int rc = -1;

	if (argc != 4 || (strcmp(argv[1], "compress") != 0 && strcmp(argv[1], "restore") != 0)) {
		fprintf(stderr, "usage: roundtrip compress|restore FROM TO\n");
		return EXIT_FAILURE;
	}
	/* Never over a file that is there. */
	out = fopen(argv[3], "wbx");
	if (!out) {
		failed(argv[3], "cannot be created");
		return EXIT_FAILURE;
	}
	rc = argv[1][0] == 'c' ? compress(argv[2], out) : restore(argv[2], out);
	if (fclose(out) != 0 && rc == 0)
		rc = failed(argv[3], "cannot be written");
	if (rc)
		remove(argv[3]);
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
