/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/cli/codec_arguments.h"
#include "filter/convert/convert.h"
#include "filter/cli/output_file.h"
#include "filter/cli/progress.h"
#include "filter/cli/report.h"
#include "filter/stream.h"
#include "filter/cli/text.h"

struct job {
	struct codec_arguments arguments;
	struct workspace ws; /* outside of a repository there are no priors */
	struct codec_input in;
	struct output_file *output;
	struct brevis_encoder *encoder;
	struct brevis_error err;
	struct progress progress;
};

static int encode(void *ctx, const void *data, size_t len)
{
	struct job *job = ctx;

	progress_add(&job->progress, len);
	return brevis_encoder_write(job->encoder, data, len, &job->err);
}

static int put(void *ctx, const void *data, size_t len)
{
	struct job *job = ctx;

	progress_stored(&job->progress, len);
	return output_file_write(job->output, data, len);
}

/* Reports a failed encoder, or the output that made it fail. */
static int fail(struct job *job)
{
	if (output_file_failed(job->output))
		return output_file_flush(job->output);
	return report_error("cannot compress %s: %s", job->in.name, job->err.message);
}

/* Reads all of the input through the encoder. */
static int encode_all(struct job *job, struct brevis_encode_summary *summary)
{
	struct brevis_encode_options options = {
		.threads = job->arguments.threads,
		.preset = job->arguments.has_preset ? job->arguments.preset : job->ws.preset,
		.priors = priors_begin(job->ws.priors, false),
	};
	struct stat now;

	if (brevis_encoder_new(&options, put, job, &job->encoder, &job->err) != BREVIS_OK)
		return fail(job);
	switch (stream_read(job->in.fd, encode, job)) {
	case 0:
		break;
	case 1:
		return fail(job);
	default:
		return report_error("cannot read %s: %s; check the disk and try again",
				    job->in.name, strerror(errno));
	}
	if (brevis_encoder_finish(job->encoder, summary, &job->err) != BREVIS_OK)
		return fail(job);
	progress_share(&job->progress, summary->original_size, summary->archive_size);
	priors_trace(job->ws.priors, "compress", job->in.name, summary);
	if (fstat(job->in.fd, &now) == 0 && S_ISREG(now.st_mode) &&
	    (now.st_size != job->in.st.st_size || now.st_mtim.tv_sec != job->in.st.st_mtim.tv_sec ||
	     now.st_mtim.tv_nsec != job->in.st.st_mtim.tv_nsec))
		return report_error("%s changed while it was read; compress it again",
				    job->in.name);
	return 0;
}

/* Reads back what was written: it must be what the encoder has proven. */
static int prove(struct job *job)
{
	struct object_file file;

	progress_step(&job->progress, "checking");
	if (object_file_from_fd(&file, output_file_fd(job->output)) != 0)
		snprintf(job->err.message, sizeof(job->err.message), "%s", strerror(errno));
	else if (brevis_encoder_check(job->encoder, &file.source, &job->err) == BREVIS_OK)
		return 0;
	return report_error("the archive made of %s does not restore it (%s); nothing was written, "
			    "and this is a bug to report",
			    job->in.name, job->err.message);
}

/* One line for the user: sizes, and the share saved in tenths of a percent. */
static void tell(const struct job *job, const struct brevis_encode_summary *summary)
{
	uint64_t from = summary->original_size;
	uint64_t to = summary->archive_size;
	uint64_t difference = from > to ? from - to : to - from;
	uint64_t tenths = from ? (difference / from) * 1000 + (difference % from) * 1000 / from : 0;

	if (*summary->note)
		report_note("%s: %s", job->in.name, summary->note);
	print_path(stderr, job->in.name);
	fprintf(stderr, ": %" PRIu64 " -> %" PRIu64 " bytes", from, to);
	if (from)
		fprintf(stderr, ", %" PRIu64 ".%" PRIu64 " %% %s", tenths / 10, tenths % 10,
			from >= to ? "saved" : "more");
	fputc('\n', stderr);
}

static int compress(struct job *job, const char *out)
{
	bool is_file = S_ISREG(job->in.st.st_mode);
	struct brevis_encode_summary summary = {0};
	int result = -1;

	job->output = output_file_open(out, job->arguments.force,
				       is_file ? job->in.st.st_mode : (mode_t)0666);
	if (!job->output)
		return -1;
	progress_begin(&job->progress, "compressing", job->in.name,
		       is_file ? (uint64_t)job->in.st.st_size : 0);
	if (encode_all(job, &summary) != 0 || output_file_flush(job->output) != 0)
		goto out;
	/* A pipe cannot be read back; its receiver has the checksums. */
	if (output_file_fd(job->output) >= 0 && prove(job) != 0)
		goto out;
	if (output_file_commit(job->output) != 0)
		goto out;
	progress_end(&job->progress);
	tell(job, &summary);
	result = 0;
out:
	progress_end(&job->progress);
	brevis_encoder_free(job->encoder);
	output_file_free(job->output);
	return result;
}

int verb_compress(const struct command *self, int argc, char **argv)
{
	struct job job = {.output = NULL};
	const char *out;
	char *made = NULL;
	int result = -1;
	int code;

	if (codec_arguments_parse(self, argc, argv, true, &job.arguments, &code) < 0)
		return code;
	if (!job.arguments.out && asprintf(&made, "%s.brevis", job.arguments.file) < 0)
		return report_error("out of memory"), EXIT_FATAL;
	out = job.arguments.out ? job.arguments.out : made;
	if (strcmp(out, "-") == 0 && isatty(STDOUT_FILENO)) {
		report_error("an archive is not for terminals; name a file with -o");
		return EXIT_USAGE;
	}
	if (codec_input_open(&job.in, job.arguments.file) == 0 &&
	    workspace_open_if_any(&job.ws) == 0)
		result = compress(&job, out);
	workspace_close(&job.ws);
	codec_input_close(&job.in);
	free(made);
	return result == 0 ? EXIT_DONE : EXIT_FATAL;
}
