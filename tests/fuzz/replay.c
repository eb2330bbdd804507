/* SPDX-License-Identifier: Apache-2.0 */
/** Runs a fuzz target once over each file that is named, or lies in a directory that is named. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

static size_t replayed;

static void fail(const char *path)
{
	fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
	exit(2);
}

static void replay_file(const char *path, size_t size)
{
	/* As large as the content: the sanitizers see a read beyond it. */
	uint8_t *data = malloc(size ? size : 1);
	FILE *file = fopen(path, "rb");

	if (!data || !file || fread(data, 1, size, file) != size)
		fail(path);
	fclose(file);
	fprintf(stderr, "%s\n", path); /* the last line names the culprit */
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	replayed++;
}

static void replay(const char *path)
{
	struct dirent *entry;
	struct stat st;
	char *inside;
	DIR *dir;

	if (stat(path, &st) != 0)
		fail(path);
	if (!S_ISDIR(st.st_mode)) {
		replay_file(path, (size_t)st.st_size);
		return;
	}
	dir = opendir(path);
	if (!dir)
		fail(path);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&inside, "%s/%s", path, entry->d_name) < 0)
			fail(path);
		replay(inside);
		free(inside);
	}
	closedir(dir);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		replay(argv[i]);
	printf("%zu inputs replayed\n", replayed);
	return replayed ? 0 : 2;
}
