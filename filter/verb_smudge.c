/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "filter/git/caller.h"
#include "filter/objects/conflict_text.h"
#include "filter/convert/convert.h"
#include "filter/objects/lfs.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/stream.h"

/* A blob on its way: the beginning waits until it is clear that this is no pointer. */
struct blob {
	uint8_t head[POINTER_SIZE_LIMIT];
	size_t len;
	bool is_raw; /* what comes goes out at once */
	int out;
};

static int take(void *ctx, const void *data, size_t len)
{
	struct blob *blob = ctx;

	if (!blob->is_raw && len <= sizeof(blob->head) - blob->len) {
		memcpy(blob->head + blob->len, data, len);
		blob->len += len;
		return 0;
	}
	if (!blob->is_raw && stream_write(&blob->out, blob->head, blob->len) != 0)
		return -1;
	blob->is_raw = true;
	return stream_write(&blob->out, data, len);
}

/* Passes on what stays as it is. */
static int pass(const char *path, struct blob *blob, const char *what)
{
	report_trace("smudge %s: %s", path, what);
	if (stream_write(&blob->out, blob->head, blob->len) == 0)
		return 0;
	return report_error("%s: cannot pass on its content: %s", path, strerror(errno));
}

/* Writes what the pointer stands for, after fetching it if need be. */
static int restore(struct workspace *ws, const char *path, struct blob *blob)
{
	struct lfs_want want = {.path = path};
	enum caller caller = caller_look();
	enum smudge_result result;

	if (path_is_left_alone(path) || !pointer_parse(blob->head, blob->len, &want.pointer)) {
		conflict_text_warn(path, blob->head, blob->len);
		return pass(path, blob, "raw");
	}
	if (caller_wants_pointers(caller) || smudge_is_skipped(ws))
		return pass(path, blob, "pointer");
	stream_enlarge_pipe(blob->out);
	result = smudge_pointer(ws, path, &want.pointer, stream_write, &blob->out);
	if (result == SMUDGE_MISSING && caller == CALLER_COMPARES)
		return pass(path, blob, "pointer, its object is not here");
	if (result == SMUDGE_MISSING) {
		if (lfs_download(ws, &want, 1) != 0)
			return -1;
		result = smudge_pointer(ws, path, &want.pointer, stream_write, &blob->out);
	}
	if (result == SMUDGE_MISSING)
		report_error(
			"%s: its object %s vanished while it was read; `git brevis pull` brings it "
			"back",
			path, want.pointer.oid);
	return result == SMUDGE_DONE ? 0 : -1;
}

int verb_smudge(const struct command *self, int argc, char **argv)
{
	static const struct option_spec none[] = {{0}};
	struct blob blob = {.out = STDOUT_FILENO};
	struct workspace ws;
	const char *path;
	int result;
	int code;

	argc = options_parse(self, argc, argv, none, &code);
	if (argc < 0)
		return code;
	if (argc > 1)
		return command_usage(self, 0);
	if (isatty(STDIN_FILENO)) {
		report_error("smudge reads a pointer from standard input; git runs it, see `git "
			     "brevis checkout` to restore files");
		return EXIT_USAGE;
	}
	path = argc ? argv[0] : "the input";
	result = stream_read(STDIN_FILENO, take, &blob);
	if (result != 0) {
		report_error("%s: cannot %s it: %s", path, result < 0 ? "read" : "pass on",
			     strerror(errno));
		return EXIT_FATAL;
	}
	if (blob.is_raw)
		return EXIT_DONE;
	if (workspace_open(&ws) != 0)
		return EXIT_FATAL;
	result = restore(&ws, path, &blob);
	workspace_close(&ws);
	return result == 0 ? EXIT_DONE : EXIT_FATAL;
}
