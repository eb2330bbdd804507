/* SPDX-License-Identifier: Apache-2.0 */
/* Which settings of git have loose objects synced, and thus ours. */
#include "filter/objects/sync_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_yes(void **state)
{
	static const char *const values[] = {"loose-object",
					     "objects",
					     "committed",
					     "added",
					     "all",
					     "-pack,loose-object",
					     "none,all",
					     "none, objects",
					     "reference,,,all",
					     "\t reference,\n all",
					     "loose-object,-all",
					     "loose"};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		if (!sync_policy_has_loose_objects(values[i]))
			print_error("core.fsync=%s\n", values[i]);
		assert_true(sync_policy_has_loose_objects(values[i]));
	}
}

static void test_no(void **state)
{
	static const char *const values[] = {NULL,
					     "",
					     "none",
					     "pack",
					     "index,reference",
					     "-loose-object",
					     "-all",
					     ",",
					     "- all",
					     " ",
					     "derived-metadata,pack-metadata,commit-graph",
					     "objects2",
					     "loose-object x"};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		if (sync_policy_has_loose_objects(values[i]))
			print_error("core.fsync=%s\n", values[i]);
		assert_false(sync_policy_has_loose_objects(values[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yes),
		cmocka_unit_test(test_no),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
