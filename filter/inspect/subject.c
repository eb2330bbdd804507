/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/inspect/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/report.h"
#include "filter/objects/judgement.h"

/* Looks at the file itself. Returns 1 if it is an archive (then open), 0 if it is not, or is not
 * there; its pointer, if it is one, goes to the subject. *reason is why it could not be read. */
static int look_at_file(struct subject *subject, const char *name, int *reason)
{
	uint8_t head[POINTER_SIZE_LIMIT];
	struct brevis_source *source = &subject->file.source;
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*reason = 0;
	if (fd < 0 || object_file_from_fd(&subject->file, fd) != 0) {
		*reason = errno;
		if (fd >= 0)
			close(fd);
		return 0;
	}
	if (subject->file.is_archive)
		return 1;
	if (source->size < sizeof(head) &&
	    source->read_at(source->ctx, head, (size_t)source->size, 0) == 0)
		subject->has_pointer = pointer_parse(head, (size_t)source->size, &subject->pointer);
	object_file_close(&subject->file);
	return 0;
}

/* Asks git what it holds for the path. */
static void look_at_index(struct subject *subject, const struct workspace *ws, const char *name)
{
	struct pointer of_path[2];
	char *path = workspace_path(ws, name);

	if (path && repository_path_pointers(ws->repository, path, of_path) > 0) {
		subject->pointer = of_path[0];
		subject->has_pointer = true;
	}
	free(path);
}

static int open_object(struct subject *subject, const struct workspace *ws, const char *name)
{
	const struct pointer *pointer = &subject->pointer;
	struct judgement judgement;

	if (pointer->size == 0)
		return report_error("%s stands for nothing: its pointer has size 0", name);
	if (object_open(&subject->file, ws->store, pointer, &judgement) == 0)
		return 0;
	return judgement_report(&judgement, ws->store, name, pointer);
}

int subject_open(struct subject *subject, const struct workspace *ws, const char *name)
{
	int reason;

	memset(subject, 0, sizeof(*subject));
	subject->file.fd = -1;
	if (!*name)
		return report_error("an empty name is no file; name one");
	if (look_at_file(subject, name, &reason))
		return 0;
	if (!subject->has_pointer && ws->repository)
		look_at_index(subject, ws, name);
	if (subject->has_pointer && ws->repository)
		return open_object(subject, ws, name);
	if (subject->has_pointer)
		return report_error(
			"%s is a pointer, and its object is in a repository that we are "
			"not in; go there and try again",
			name);
	if (reason)
		return report_error("cannot read %s: %s; %s", name, strerror(reason),
				    reason == EACCES ? "make it readable" : "check its name");
	return report_error("%s is no archive of git-brevis, and git has none for it; `git brevis "
			    "ls-files` lists the files that have one",
			    name);
}

void subject_close(struct subject *subject)
{
	object_file_close(&subject->file);
}
