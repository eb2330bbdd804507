/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/codec_arguments.h"
#include "filter/objects/object_store.h"
#include "filter/cli/output_file.h"
#include "filter/cli/progress.h"
#include "filter/cli/report.h"
#include "filter/convert/spool.h"
#include "filter/stream.h"

#define SUFFIX ".brevis"

struct job {
	struct codec_arguments arguments;
	struct codec_input in;
	struct object_file file;
	struct spool *spool; /* what came through a pipe: archives are read at any offset */
	struct brevis_source source;
	struct output_file *output;
	struct progress progress;
};

/* Makes the archive readable at any offset: a file is, what comes through a pipe is kept aside. */
static int open_source(struct job *job)
{
	if (codec_input_open(&job->in, job->arguments.file) != 0)
		return -1;
	if (S_ISREG(job->in.st.st_mode) && lseek(job->in.fd, 0, SEEK_CUR) == 0 &&
	    object_file_from_fd(&job->file, job->in.fd) == 0) {
		job->source = job->file.source;
		return 0;
	}
	job->spool = spool_new(NULL);
	if (!job->spool)
		return report_error("out of memory");
	switch (stream_read(job->in.fd, spool_write, job->spool)) {
	case 0:
		job->source = spool_source(job->spool);
		return 0;
	case 1:
		return report_error("%s", spool_failure(job->spool));
	default:
		return report_error("cannot read %s: %s; check the disk and try again",
				    job->in.name, strerror(errno));
	}
}

static bool is_archive(const struct job *job)
{
	uint8_t head[BREVIS_MAGIC_SIZE];

	return job->source.size >= sizeof(head) &&
	       job->source.read_at(job->source.ctx, head, sizeof(head), 0) == 0 &&
	       brevis_is_archive(head, sizeof(head));
}

static int pass_on(void *ctx, const void *data, size_t len)
{
	struct job *job = ctx;

	progress_add(&job->progress, len);
	return output_file_write(job->output, data, len);
}

static int decompress(struct job *job, const char *out)
{
	struct brevis_decode_options options = {.threads = job->arguments.threads};
	const struct brevis_archive_info *info;
	struct brevis_archive *archive = NULL;
	struct brevis_error err;
	int result = -1;

	if (!is_archive(job))
		return report_error(
			"%s is no archive of git-brevis; there is nothing to decompress",
			job->in.name);
	if (brevis_archive_open(&job->source, &archive, &err) != BREVIS_OK)
		return codec_report_archive("decompress", job->in.name, &err);
	job->output =
		output_file_open(out, job->arguments.force,
				 S_ISREG(job->in.st.st_mode) ? job->in.st.st_mode : (mode_t)0666);
	if (!job->output)
		goto out;
	info = brevis_archive_info(archive);
	progress_begin(&job->progress, "decompressing", job->in.name, info->original_size);
	progress_share(&job->progress, info->original_size, info->archive_size);
	if (brevis_archive_decode(archive, &options, pass_on, job, &err) == BREVIS_OK) {
		result = output_file_commit(job->output);
		goto out;
	}
	if (output_file_failed(job->output))
		output_file_flush(job->output);
	else
		codec_report_archive("decompress", job->in.name, &err);
out:
	progress_end(&job->progress);
	output_file_free(job->output);
	brevis_archive_free(archive);
	return result;
}

/* The archive's name without its suffix, or NULL. Caller frees. */
static char *name_output(const char *file)
{
	size_t len = strlen(file);
	size_t cut = strlen(SUFFIX);

	if (len <= cut || strcmp(file + len - cut, SUFFIX) != 0 || file[len - cut - 1] == '/') {
		report_error("%s does not end in %s; name the output with -o", file, SUFFIX);
		return NULL;
	}
	return strndup(file, len - cut);
}

int verb_decompress(const struct command *self, int argc, char **argv)
{
	struct job job = {.output = NULL};
	char *made = NULL;
	int result = -1;
	int code;

	if (codec_arguments_parse(self, argc, argv, false, &job.arguments, &code) < 0)
		return code;
	if (!job.arguments.out) {
		made = name_output(job.arguments.file);
		if (!made)
			return EXIT_FATAL;
	}
	if (open_source(&job) == 0)
		result = decompress(&job, made ? made : job.arguments.out);
	codec_input_close(&job.in);
	spool_free(job.spool);
	free(made);
	return result == 0 ? EXIT_DONE : EXIT_FATAL;
}
