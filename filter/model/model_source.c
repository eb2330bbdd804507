/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/model/model_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "filter/git/git_run.h"
#include "filter/cli/report.h"
#include "filter/objects/judgement.h"
#include "filter/stream.h"
#include "filter/work/work_file.h"

static int set_label(struct model_source *source, const char *label)
{
	source->label = strdup(label);
	return source->label ? 0 : report_error("out of memory");
}

/* ---- behind a pointer ------------------------------------------------------------------------ */

static int read_nothing(void *ctx, void *buf, size_t len, uint64_t offset)
{
	(void)ctx;
	(void)buf;
	(void)offset;
	return len ? -1 : 0;
}

/* Opens the object of the pointer, if it is here. */
static int open_object(struct model_source *source, const struct workspace *ws)
{
	const struct pointer *pointer = &source->pointer;
	struct judgement judgement;

	if (pointer->size == 0) {
		source->is_here = true;
		source->file.source =
			(struct brevis_source){.read_at = read_nothing, .ctx = &source->file};
		return 0;
	}
	if (!ws->store)
		return 0;
	source->is_here = object_open(&source->file, ws->store, pointer, &judgement) == 0;
	if (source->is_here || judgement.verdict == VERDICT_MISSING)
		return 0;
	return judgement_report(&judgement, ws->store, source->label, pointer);
}

/* Takes over a descriptor; if its file is a pointer, its object takes the file's place. */
static int take_file(struct model_source *source, const struct workspace *ws, int fd)
{
	uint8_t head[POINTER_SIZE_LIMIT];
	const struct brevis_source *bytes = &source->file.source;

	if (object_file_from_fd(&source->file, fd) != 0) {
		int reason = errno;

		close(fd);
		return report_error("cannot read %s: %s; name a regular file", source->label,
				    strerror(reason));
	}
	source->is_here = true;
	if (bytes->size >= sizeof(head))
		return 0;
	if (bytes->read_at(bytes->ctx, head, (size_t)bytes->size, 0) != 0)
		return report_error("cannot read %s: %s; check the disk and try again",
				    source->label, strerror(source->file.failure));
	if (!pointer_parse(head, (size_t)bytes->size, &source->pointer))
		return 0;
	source->has_pointer = true;
	source->is_here = false;
	object_file_close(&source->file);
	return open_object(source, ws);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int fail_open(const struct model_source *source, int reason)
{
	return report_error("cannot read %s: %s; %s", source->label, strerror(reason),
			    reason == EACCES ? "make it readable" : "check its name");
}

int model_source_file(struct model_source *source, const struct workspace *ws, const char *file,
		      const char *label)
{
	int fd;

	if (set_label(source, label ? label : file) != 0)
		return -1;
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? fail_open(source, errno) : take_file(source, ws, fd);
}

int model_source_work(struct model_source *source, const struct workspace *ws, const char *path,
		      const char *label)
{
	int fd;

	if (set_label(source, label ? label : path) != 0)
		return -1;
	fd = work_file_open(repository_work_tree(ws->repository), path);
	return fd < 0 ? fail_open(source, errno) : take_file(source, ws, fd);
}

/* ---- blobs ----------------------------------------------------------------------------------- */

/* Asks git a question that has one line as its answer; NULL: it has none. Caller frees. */
static char *ask_line(const char *const *args, const char *input)
{
	struct buffer text = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.args = args,
			      .input = input,
			      .input_len = input ? strlen(input) : 0,
			      .output = &text,
			      .errors = &errors};
	char *line = NULL;

	if (git_run(&run) == 0) {
		buffer_u8(&text, 0);
		if (!buffer_failed(&text))
			line = strndup((const char *)text.data,
				       strcspn((const char *)text.data, "\n"));
	}
	buffer_release(&text);
	buffer_release(&errors);
	return line;
}

/* The blob's name in hex and its size. Returns NULL if there is none. Caller frees. */
static char *resolve(const char *name, uint64_t *size)
{
	const char *const parse[] = {"rev-parse", "--verify", "--quiet", name, NULL};
	static const char *const check[] = {"cat-file", "--batch-check", NULL};
	static const char blob[] = " blob ";
	char *hex = *name == '-' ? NULL : ask_line(parse, NULL);
	char *answer = hex ? ask_line(check, hex) : NULL; /* HEX TYPE SIZE */
	const char *type = answer ? strchr(answer, ' ') : NULL;

	if (type && strncmp(type, blob, strlen(blob)) == 0) {
		*size = strtoull(type + strlen(blob), NULL, 10);
	} else {
		free(hex);
		hex = NULL;
	}
	free(answer);
	return hex;
}

/* A file without a name: pointers and other small ones leave no trace on the disk. */
static int make_room(const struct workspace *ws, uint64_t size)
{
	if (size < POINTER_SIZE_LIMIT)
		return memfd_create("brevis", MFD_CLOEXEC);
	return object_store_scratch(ws->store);
}

/* Has git write the blob into a file without a name. */
static int copy_blob(const struct model_source *source, const char *hex, int fd)
{
	int rc = git_read_blob(hex, source->label, stream_write, &fd);

	if (rc > 0)
		report_error("%s cannot be copied to where objects are kept: %s; make room there",
			     source->label, strerror(errno));
	return rc == 0 ? 0 : -1;
}

int model_source_blob(struct model_source *source, const struct workspace *ws, const char *name,
		      const char *label)
{
	uint64_t size;
	char *hex;
	int fd = -1;
	int rc = -1;

	if (set_label(source, label ? label : name) != 0)
		return -1;
	hex = resolve(name, &size);
	if (!hex) {
		report_error("git has no file %s; name one as REVISION:PATH", source->label);
		goto out;
	}
	fd = make_room(ws, size);
	if (fd < 0) {
		report_error("%s: cannot make a temporary file beside the objects: %s; make that "
			     "directory writable",
			     source->label, strerror(errno));
		goto out;
	}
	rc = copy_blob(source, hex, fd);
	if (rc == 0) {
		rc = take_file(source, ws, fd);
		fd = -1;
	}
out:
	if (fd >= 0)
		close(fd);
	free(hex);
	return rc;
}

void model_source_close(struct model_source *source)
{
	free(source->label);
	source->label = NULL;
	object_file_close(&source->file);
}
