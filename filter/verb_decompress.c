/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/object_store.h"
#include "filter/options.h"
#include "filter/output_file.h"
#include "filter/progress.h"
#include "filter/report.h"
#include "filter/spool.h"
#include "filter/stream.h"

#define SUFFIX ".brevis"

struct job {
	const char *name; /* of the archive, for messages */
	int in;
	mode_t mode;
	unsigned threads;
	struct object_file file;
	struct spool *spool; /* what came through a pipe: archives are read at any offset */
	struct brevis_source source;
	struct output_file *output;
	struct progress progress;
};

static int open_input(struct job *job, const char *file)
{
	bool is_stdin = strcmp(file, "-") == 0;
	struct stat st;

	job->name = is_stdin ? "standard input" : file;
	job->in = is_stdin ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
	if (job->in < 0 || fstat(job->in, &st) != 0)
		return report_error("cannot read %s: %s", job->name, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return report_error("%s is a directory; name a file", job->name);
	job->mode = S_ISREG(st.st_mode) ? st.st_mode : (mode_t)0666;
	if (S_ISREG(st.st_mode) && lseek(job->in, 0, SEEK_CUR) == 0 &&
	    object_file_from_fd(&job->file, job->in) == 0) {
		job->source = job->file.source;
		return 0;
	}
	job->spool = spool_new(NULL);
	if (!job->spool)
		return report_error("out of memory");
	switch (stream_read(job->in, spool_write, job->spool)) {
	case 0:
		job->source = spool_source(job->spool);
		return 0;
	case 1:
		return report_error("%s", spool_failure(job->spool));
	default:
		return report_error("cannot read %s: %s", job->name, strerror(errno));
	}
}

static bool is_archive(const struct job *job)
{
	uint8_t head[BREVIS_MAGIC_SIZE];

	return job->source.size >= sizeof(head) &&
	       job->source.read_at(job->source.ctx, head, sizeof(head), 0) == 0 &&
	       brevis_is_archive(head, sizeof(head));
}

static int fail(const struct job *job, const struct brevis_error *err)
{
	if (err->status == BREVIS_E_UNSUPPORTED || err->status == BREVIS_E_NOMEM ||
	    err->status == BREVIS_E_LIMIT)
		return report_error("cannot decompress %s: %s", job->name, err->message);
	return report_error("%s is damaged: %s", job->name, err->message);
}

static int pass_on(void *ctx, const void *data, size_t len)
{
	struct job *job = ctx;

	progress_add(&job->progress, len);
	return output_file_write(job->output, data, len);
}

static int decompress(struct job *job, const char *out, bool force)
{
	struct brevis_decode_options options = {.threads = job->threads};
	struct brevis_archive *archive = NULL;
	struct brevis_error err;
	int result = -1;

	if (!is_archive(job))
		return report_error("%s is no archive of git-brevis", job->name);
	if (brevis_archive_open(&job->source, &archive, &err) != BREVIS_OK)
		return fail(job, &err);
	job->output = output_file_open(out, force, job->mode);
	if (!job->output)
		goto out;
	progress_begin(&job->progress, "decompressing",
		       brevis_archive_info(archive)->original_size);
	if (brevis_archive_decode(archive, &options, pass_on, job, &err) == BREVIS_OK) {
		progress_end(&job->progress);
		result = output_file_commit(job->output);
		goto out;
	}
	progress_end(&job->progress);
	if (output_file_failed(job->output))
		output_file_flush(job->output);
	else
		fail(job, &err);
out:
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
	const char *out = NULL;
	const char *threads = NULL;
	bool force = false;
	const struct option_spec options[] = {{'o', "output", NULL, &out},
					      {'t', "threads", NULL, &threads},
					      {'f', "force", &force, NULL},
					      {0}};
	struct job job = {.in = -1};
	char *made = NULL;
	int result = -1;
	int code;

	argc = options_parse(self, argc, argv, options, &code);
	if (argc < 0)
		return code;
	if (argc != 1)
		return command_usage(self, 0);
	if (threads && !option_number(threads, OPTION_THREADS_MAX, &job.threads)) {
		report_error("the number of threads is from 0 (one for each processor) to %d",
			     OPTION_THREADS_MAX);
		return EXIT_USAGE;
	}
	if (!out && strcmp(argv[0], "-") == 0)
		out = "-";
	if (!out) {
		made = name_output(argv[0]);
		if (!made)
			return EXIT_FATAL;
	}
	if (open_input(&job, argv[0]) == 0)
		result = decompress(&job, out ? out : made, force);
	if (job.in > STDERR_FILENO)
		close(job.in);
	spool_free(job.spool);
	free(made);
	return result == 0 ? EXIT_DONE : EXIT_FATAL;
}
