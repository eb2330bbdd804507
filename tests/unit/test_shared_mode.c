/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "filter/git/shared_mode.h"

static const mode_t plain = S_IFREG | 0600;
static const mode_t directory = S_IFDIR | 0700;

static void no_value_changes_nothing(void **state)
{
	static const char *const values[] = {NULL, "umask", "false", "0", "", "no", "0100", "66x"};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_int_equal(shared_mode(values[i], plain), plain);
		assert_int_equal(shared_mode(values[i], directory), directory);
	}
}

static void names_add_permissions(void **state)
{
	static const char *const groups[] = {"group", "Group", "true", "yes", "on", "1"};
	static const char *const all[] = {"all", "world", "everybody", "2"};

	(void)state;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		assert_int_equal(shared_mode(groups[i], plain), S_IFREG | 0660);
		assert_int_equal(shared_mode(groups[i], S_IFREG | 0644), S_IFREG | 0664);
		assert_int_equal(shared_mode(groups[i], directory), S_IFDIR | S_ISGID | 0770);
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(shared_mode(all[i], plain), S_IFREG | 0664);
		assert_int_equal(shared_mode(all[i], directory), S_IFDIR | S_ISGID | 0775);
	}
}

static void a_number_is_all_there_is(void **state)
{
	(void)state;
	assert_int_equal(shared_mode("0640", S_IFREG | 0666), S_IFREG | 0640);
	assert_int_equal(shared_mode("0640", S_IFDIR | 0777), S_IFDIR | S_ISGID | 0750);
	assert_int_equal(shared_mode("0600", S_IFDIR | 0777), S_IFDIR | 0700);
}

/* Only what lies below the directory is shared, and not what merely begins like it. */
static void only_below_the_directory(void **state)
{
	char base[] = "/tmp/brevis-shared-XXXXXX";
	char path[64];
	struct stat st;
	mode_t umask_was = umask(077);

	(void)state;
	assert_non_null(mkdtemp(base));
	snprintf(path, sizeof(path), "%s/lfs", base);
	shared_mode_begin(path, "group");
	assert_int_equal(shared_mkdir(path), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, S_ISGID | 0770);
	assert_int_equal(shared_mkdir(path), -1);
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/lfs-other", base);
	assert_int_equal(shared_mkdir(path), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(rmdir(path), 0);
	shared_mode_end();
	assert_int_equal(rmdir(base), 0);
	umask(umask_was);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_value_changes_nothing),
		cmocka_unit_test(names_add_permissions),
		cmocka_unit_test(a_number_is_all_there_is),
		cmocka_unit_test(only_below_the_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
