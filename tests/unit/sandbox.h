/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the unit tests of filter/ share that need git: a directory of their own, in which the
 * process stands, with a HOME and a git configuration that nobody else sees.
 */
#ifndef TESTS_UNIT_SANDBOX_H
#define TESTS_UNIT_SANDBOX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char sandbox_path[64];

/** A cmocka setup function: makes the directory and goes there. */
static inline int sandbox_enter(void **state)
{
	static const char *const unset[] = {
		"GIT_DIR",          "GIT_WORK_TREE", "GIT_INDEX_FILE",   "GIT_COMMON_DIR",
		"GIT_CONFIG_COUNT", "GIT_PREFIX",    "GIT_CONFIG_GLOBAL"};

	(void)state;
	for (size_t i = 0; i < sizeof(unset) / sizeof(unset[0]); i++)
		unsetenv(unset[i]);
	strcpy(sandbox_path, "/tmp/brevis-unit-XXXXXX");
	if (!mkdtemp(sandbox_path) || chdir(sandbox_path) != 0)
		return -1;
	setenv("HOME", sandbox_path, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("GIT_AUTHOR_NAME", "a", 1);
	setenv("GIT_AUTHOR_EMAIL", "a@example.org", 1);
	setenv("GIT_COMMITTER_NAME", "a", 1);
	setenv("GIT_COMMITTER_EMAIL", "a@example.org", 1);
	return 0;
}

/** A cmocka teardown function: removes the directory. */
static inline int sandbox_leave(void **state)
{
	char command[192];

	(void)state;
	if (chdir("/") != 0)
		return -1;
	snprintf(command, sizeof(command), "chmod -R u+w %s; rm -rf %s", sandbox_path,
		 sandbox_path);
	return system(command);
}

/** Runs a shell command that must succeed. */
static inline void sh(const char *command)
{
	int status = system(command);

	if (status)
		print_error("status %d of: %s\n", status, command);
	assert_int_equal(status, 0);
}

/** Writes a file. */
static inline void put_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static inline void put_text(const char *path, const char *text)
{
	put_file(path, text, strlen(text));
}

/** Reads a small file as a string that the caller frees. */
static inline char *get_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 65536);
	size_t n;

	assert_non_null(file);
	assert_non_null(text);
	n = fread(text, 1, 65535, file);
	text[n] = 0;
	fclose(file);
	return text;
}

static inline void assert_file(const char *path, const char *expected)
{
	char *text = get_text(path);

	assert_string_equal(text, expected);
	free(text);
}

#define SANDBOX_TEST(function)                                                                     \
	cmocka_unit_test_setup_teardown(function, sandbox_enter, sandbox_leave)

#endif
