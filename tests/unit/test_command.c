/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs by their names, those that are meant, and what is told to the completion of shells. */
#include "tests/unit/support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/command.h"
#include "filter/cli/completion.h"

static int run_nothing(const struct command *self, int argc, char **argv)
{
	(void)self;
	(void)argc;
	(void)argv;
	return EXIT_DONE;
}

static const struct command table[] = {{"", NULL, "a heading", NULL},
				       {"checkout", "checkout", "a", run_nothing},
				       {"clean", "clean", "b", run_nothing},
				       {"ls-files", "ls-files", "c", run_nothing},
				       {"stats", "stats", "d", run_nothing},
				       {"status", "status", "e", run_nothing},
				       {"store ls", "store ls", "f", run_nothing},
				       {NULL, NULL, NULL, NULL}};

static void assert_like(const char *typed, const char *meant)
{
	const struct command *like = command_like(table, typed);

	if (meant) {
		assert_non_null(like);
		assert_string_equal(like->name, meant);
	} else {
		assert_null(like);
	}
}

static void test_find(void **state)
{
	(void)state;
	assert_ptr_equal(command_find(table, "clean"), &table[2]);
	assert_null(command_find(table, "clea"));
	assert_null(command_find(table, ""));
	assert_null(command_find(table, "a heading"));
}

static void test_what_is_meant(void **state)
{
	(void)state;
	assert_like("chekout", "checkout");
	assert_like("chekcout", "checkout");
	assert_like("checkoutt", "checkout");
	assert_like("lsfiles", "ls-files");
	assert_like("claen", "clean");
	assert_like("sttaus", "status");
	assert_like("stat", "stats");
	assert_like("check", "checkout");
}

static void test_what_means_nothing(void **state)
{
	char long_word[200];

	(void)state;
	memset(long_word, 'c', sizeof(long_word) - 1);
	long_word[sizeof(long_word) - 1] = 0;
	assert_like("", NULL);
	assert_like("x", NULL);
	assert_like("frobnicate", NULL);
	assert_like("chicken", NULL);
	assert_like(long_word, NULL);
}

static void test_questions(void **state)
{
	(void)state;
	assert_int_equal(command_question("-h"), QUESTION_USAGE);
	assert_int_equal(command_question("--help"), QUESTION_MANUAL);
	assert_int_equal(command_question("--complete"), QUESTION_WORDS);
	assert_int_equal(command_question("--hel"), QUESTION_NONE);
	assert_int_equal(command_question(""), QUESTION_NONE);
}

/* What completion_print says of a verb with this usage and these options. */
static void assert_completion(const char *name, const char *usage,
			      const struct option_spec *options, const char *wanted)
{
	const struct command verb = {name, usage, "summary", run_nothing};
	FILE *said = tmpfile();
	int kept = dup(STDOUT_FILENO);
	char text[1000];
	size_t len;

	assert_non_null(said);
	fflush(stdout);
	assert_true(dup2(fileno(said), STDOUT_FILENO) >= 0);
	completion_print(&verb, options);
	fflush(stdout);
	assert_true(dup2(kept, STDOUT_FILENO) >= 0);
	close(kept);
	rewind(said);
	len = fread(text, 1, sizeof(text) - 1, said);
	text[len] = 0;
	fclose(said);
	assert_string_equal(text, wanted);
}

static void test_kinds_of_arguments(void **state)
{
	static const struct option_spec none[] = {{0}};

	(void)state;
	assert_completion("pull", "pull [--no-progress] [REMOTE] [PATH...]", none,
			  "REMOTE\t\t\nPATH\t\t\n");
	/* Values of options are none, nor is a single capital or a range. */
	assert_completion("compress", "compress FILE|- [-o OUT] [--preset NAME]", none,
			  "FILE\t\t\n");
	assert_completion("diff", "diff A B | diff [REVISION [REVISION] | A..B] [PATH...]", none,
			  "REVISION\t\t\nPATH\t\t\n");
	assert_completion("clean", "clean <CONTENT", none, "");
	assert_completion("store verify", "store verify [--all | OID...]", none, "OID\t\t\n");
	assert_completion("migrate", "migrate import [--from F] [FILE]\n migrate export [FILE]",
			  none, "ACTION\timport export\t\nFILE\t\t\n");
}

static void test_options(void **state)
{
	const char *value = NULL;
	bool flag = false;
	const struct option_spec options[] = {
		{.letter = 'f', .name = "force", .flag = &flag, .help = "do it"},
		{.letter = 'z', .flag = &flag, .help = "NUL"},
		{.name = "hidden", .flag = &flag},
		{.name = "to", .value = &value, .help = "where", .values = "raw lfs"},
		{.letter = 'o',
		 .name = "output",
		 .value = &value,
		 .help = "file",
		 .values = "FILE"},
		{.name = "size", .value = &value, .help = "any"},
		{0}};

	(void)state;
	assert_completion("verb", "verb", options,
			  "-f\t\tdo it\n--force\t\tdo it\n-z\t\tNUL\n--to\traw lfs\twhere\n"
			  "-o\tFILE\tfile\n--output\tFILE\tfile\n--size\tVALUE\tany\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_what_is_meant),
		cmocka_unit_test(test_what_means_nothing),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_kinds_of_arguments),
		cmocka_unit_test(test_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
