/* SPDX-License-Identifier: Apache-2.0 */
/* Causes out of git-lfs's stderr: one line that tells, of many that do not. */
#include "filter/objects/lfs_cause.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define AB8 "abababab"
#define OID AB8 AB8 AB8 AB8 AB8 AB8 AB8 AB8
#define BEGIN                                                                                      \
	"Downloading " OID " (12 B)\nError downloading object: " OID " (abababa): Smudge error: "  \
	"Error downloading " OID " (" OID "): "
#define END                                                                                        \
	"\n\nErrors logged to '/r/.git/lfs/logs/x.log'.\nUse `git lfs logs last` to view the "     \
	"log.\n"

static void expect(const char *text, const char *cause, bool general)
{
	char copy[2048];
	char out[400];

	snprintf(copy, sizeof(copy), "%s", text);
	assert_int_equal(lfs_cause(copy, OID, out, sizeof(out)), general);
	assert_string_equal(out, cause);
}

static void test_causes(void **state)
{
	(void)state;
	expect(BEGIN "error transferring \"" OID "\": [0] remote missing object " OID END,
	       "the remote does not have it", false);
	expect(BEGIN "error transferring \"" OID "\": [404] object not found" END,
	       "object not found", false);
	expect(BEGIN "[" OID "] Object '" OID "' not found: [404] Object '" OID "' not found" END,
	       "the remote does not have it", false);
	expect(BEGIN "[" OID "] quota exceeded: [507] over quota" END,
	       "quota exceeded: [507] over quota", false);
	expect(BEGIN "error transferring \"" OID "\": no code" END, "no code", false);
	expect(BEGIN "batch request: missing protocol: \"\"" END,
	       "there is no remote to download it from", true);
	expect(BEGIN "batch response: Post \"http://127.0.0.1:1/x\": connection refused" END,
	       "Post \"http://127.0.0.1:1/x\": connection refused", true);
}

static void test_dark(void **state)
{
	(void)state;
	assert_true(lfs_cause_is_dark("the transfer agent of git-lfs ended without a word (EOF)"));
	assert_true(lfs_cause_is_dark("git-lfs does not say why"));
	assert_true(lfs_cause_is_dark(
		"error initializing custom adapter \"lfs-standalone-file\" worker "
		"0: [0] error creating handler: mkdir /r/.git/lfs/tmp/x: "
		"permission denied"));
	assert_false(lfs_cause_is_dark("the remote does not have it"));
	assert_false(lfs_cause_is_dark("error creating handler: permission denied"));
}

static void test_other_output(void **state)
{
	(void)state;
	expect("", "git-lfs does not say why", false);
	expect(END, "git-lfs does not say why", false);
	expect("git: 'lfs' is not a git command. See 'git --help'.\n",
	       "git: 'lfs' is not a git command. See 'git --help'", false);
	expect("EOF\n", "the transfer agent of git-lfs ended without a word (EOF)", false);
	expect("no credentials found.\n", "no credentials found", false);
	expect("\npanic: the last words\n\ngoroutine 1 [running]:\n", "panic: the last words",
	       false);
	/* What it says about another object is not the cause. */
	expect("Error: 0000 (0000): other\n" BEGIN "its own" END "Error: 1111 (1111): later\n",
	       "its own", false);
}

/* Each kind of cause has a remedy of its own. */
static void test_remedies(void **state)
{
	static const char *const pairs[][2] = {
		{"the remote does not have it", "git lfs push --all"},
		{"object not found", "git lfs push --all"},
		{"there is no remote to download it from", "git remote add"},
		{"cannot write data to \"/x\": write /x: no space left on device", "make room"},
		{"write /x: disk quota exceeded", "make room"},
		{"cannot write /r/.git/lfs/objects: Permission denied", "that can be written"},
		{"ssh: Permission denied (publickey)", "credentials"},
		{"Git credentials for http://127.0.0.1/lfs not found", "credentials"},
		{"Post \"http://h/x\": dial tcp 127.0.0.1:9: connect: connection refused",
		 "when the remote can be reached"},
		{"the transfer agent of git-lfs ended without a word (EOF)", "`git remote -v`"},
		{"[0] error creating handler: chdir /x.git: no such file or directory",
		 "`git remote -v`"},
		{"Get \"http://h/x\": EOF", "when the remote can be reached"},
		{"git: 'lfs' is not a git command", "install git-lfs"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_non_null(strstr(lfs_remedy(pairs[i][0]), pairs[i][1]));
}

static void test_long_cause(void **state)
{
	char text[3000];
	char out[100];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	lfs_cause(text, OID, out, sizeof(out));
	assert_int_equal(strlen(out), 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_causes),       cmocka_unit_test(test_dark),
		cmocka_unit_test(test_other_output), cmocka_unit_test(test_remedies),
		cmocka_unit_test(test_long_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
