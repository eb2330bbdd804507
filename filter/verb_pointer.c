/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/convert/convert.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/stream.h"

static int open_file(const char *file)
{
	struct stat st;
	int fd = strcmp(file, "-") == 0 ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return report_error("cannot read %s: %s; %s", file, strerror(errno),
				    errno == EACCES ? "make it readable" : "check its name");
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return report_error("%s is a directory; name a file", file);
	}
	return fd;
}

/* Prints what clean would give git for the file. */
static int print_pointer(struct workspace *ws, const char *file)
{
	struct cleaning *cleaning = NULL;
	char *path = workspace_path(ws, file);
	const void *text;
	int result = -1;
	size_t len;
	int fd = open_file(file);

	if (fd < 0)
		goto out;
	cleaning = cleaning_begin(ws, path ? path : file);
	if (!cleaning)
		goto out;
	if (stream_read(fd, cleaning_write, cleaning) < 0) {
		report_error("cannot read %s: %s; check the disk and try again", file,
			     strerror(errno));
		goto out;
	}
	if (cleaning_finish(cleaning, &text, &len) != 0)
		goto out;
	fwrite(text, 1, len, stdout);
	result = 0;
out:
	if (fd > STDERR_FILENO)
		close(fd);
	cleaning_free(cleaning);
	free(path);
	return result;
}

/* Says whether the file is a pointer. */
static int check(const char *file)
{
	uint8_t head[POINTER_SIZE_LIMIT];
	size_t len = 0;
	ssize_t n = 0;
	int fd = open_file(file);

	if (fd < 0)
		return EXIT_FATAL;
	while (len < sizeof(head)) {
		n = read(fd, head + len, sizeof(head) - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (n < 0)
		report_error("cannot read %s: %s; check the disk and try again", file,
			     strerror(errno));
	if (fd > STDERR_FILENO)
		close(fd);
	if (n < 0)
		return EXIT_FATAL;
	return pointer_parse(head, len, NULL) ? EXIT_DONE : EXIT_FOUND;
}

int verb_pointer(const struct command *self, int argc, char **argv)
{
	bool check_only = false;
	const struct option_spec options[] = {
		{.name = "check",
		 .flag = &check_only,
		 .help = "tell by the exit code if FILE is a pointer"},
		{0}};
	struct workspace ws;
	int result;
	int code;

	argc = options_parse(self, argc, argv, options, &code);
	if (argc < 0)
		return code;
	if (argc != 1)
		return command_usage(self, 0);
	if (check_only)
		return check(argv[0]);
	if (workspace_open_if_any(&ws) != 0)
		return EXIT_FATAL;
	ws.dry_run = true;
	result = print_pointer(&ws, argv[0]);
	workspace_close(&ws);
	return result == 0 ? EXIT_DONE : EXIT_FATAL;
}
