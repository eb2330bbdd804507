/* SPDX-License-Identifier: Apache-2.0 */
/** The three-way decision over tensors (merge_plan.h): all ways to have an item, and all orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filter/merge/merge_plan.h"

#define ITEMS_MAX 16

/* A version, from "a1 b2": the tensor a with content 1, b with content 2. Its shape is [100]; with
 * a capital letter behind it ("a1D") one of that many words of 8 bytes. */
struct version {
	struct merge_item items[ITEMS_MAX];
	char names[ITEMS_MAX][2];
	uint64_t shapes[ITEMS_MAX][1];
};

static struct merge_list make(struct version *version, const char *text)
{
	struct merge_list list = {version->items, 0};

	memset(version, 0, sizeof(*version));
	for (; *text; text += *text == ' ') {
		size_t i = list.count++;
		struct merge_item *item = &version->items[i];

		assert_true(i < ITEMS_MAX);
		version->names[i][0] = *text++;
		item->name = version->names[i];
		item->sha256[7] = (uint8_t)*text++;
		version->shapes[i][0] = 100;
		item->shape = version->shapes[i];
		item->rank = 1;
		item->dtype = "F32";
		item->size = 400;
		if (*text == 'D') {
			text++;
			item->dtype = "F64";
			item->size = 800;
		}
	}
	return list;
}

struct merge {
	struct version versions[MERGE_VERSIONS];
	struct merge_list lists[MERGE_VERSIONS];
	struct merge_plan plan;
	char result[4 * ITEMS_MAX]; /* as it would be written for make() */
};

static void merge(struct merge *m, const char *base, const char *ours, const char *theirs)
{
	char *at = m->result;

	m->lists[MERGE_BASE] = make(&m->versions[MERGE_BASE], base);
	m->lists[MERGE_OURS] = make(&m->versions[MERGE_OURS], ours);
	m->lists[MERGE_THEIRS] = make(&m->versions[MERGE_THEIRS], theirs);
	assert_int_equal(merge_plan_make(m->lists, &m->plan), 0);
	*at = 0;
	for (size_t i = 0; i < m->plan.count; i++) {
		const struct merge_item *item = merge_plan_item(&m->plan, m->lists, i);

		at += sprintf(at, "%s%s%c%s", i ? " " : "", item->name, item->sha256[7],
			      strcmp(item->dtype, "F64") == 0 ? "D" : "");
	}
	merge_plan_release(&m->plan);
}

/* ---- one item ------------------------------------------------------------------------------- */

/* Every way in which three versions may have one item: not at all, or with content 1, 2 or 3. */
static void test_every_case(void **state)
{
	static const char *const forms[] = {"", "x1", "x2", "x3"};
	struct merge m;
	size_t conflicts = 0;

	(void)state;
	for (size_t b = 0; b < 4; b++)
		for (size_t o = 0; o < 4; o++)
			for (size_t t = 0; t < 4; t++) {
				bool conflict = o != t && o != b && t != b;
				size_t expected = t == b ? o : t;

				merge(&m, forms[b], forms[o], forms[t]);
				assert_int_equal(m.plan.conflicts, conflict);
				conflicts += conflict;
				if (conflict) {
					assert_string_equal(m.plan.conflict, "x");
					continue;
				}
				assert_null(m.plan.conflict);
				assert_string_equal(m.result, forms[expected]);
				assert_int_equal(m.plan.from_ours, t == b && o != b);
				assert_int_equal(m.plan.from_theirs, o == b && t != b);
				assert_int_equal(m.plan.equals[MERGE_BASE], expected == b);
				assert_int_equal(m.plan.equals[MERGE_OURS], expected == o);
				assert_int_equal(m.plan.equals[MERGE_THEIRS], expected == t);
			}
	assert_int_equal(conflicts, 24); /* of 64: three that all differ, of four */
}

/* The same bytes under another type or shape are something else. */
static void test_form_counts(void **state)
{
	struct merge m;

	(void)state;
	merge(&m, "x1", "x1D", "x1");
	assert_string_equal(m.result, "x1D");
	assert_int_equal(m.plan.from_ours, 1);
	merge(&m, "x1", "x1D", "x2");
	assert_int_equal(m.plan.conflicts, 1);

	merge(&m, "x1", "x1", "x1");
	m.versions[MERGE_THEIRS].shapes[0][0] = 50;
	assert_int_equal(merge_plan_make(m.lists, &m.plan), 0);
	assert_int_equal(m.plan.from_theirs, 1);
	merge_plan_release(&m.plan);
	m.lists[MERGE_THEIRS].items[0].rank = 0;
	assert_int_equal(merge_plan_make(m.lists, &m.plan), 0);
	assert_int_equal(m.plan.from_theirs, 1);
	merge_plan_release(&m.plan);
}

static void test_several(void **state)
{
	struct merge m;

	(void)state;
	merge(&m, "a1 b1 c1 d1", "a2 b1 c1 e1", "a1 b2 c1 d1 f1");
	assert_string_equal(m.result, "a2 b2 c1 e1 f1");
	assert_int_equal(m.plan.from_ours, 3);
	assert_int_equal(m.plan.from_theirs, 2);
	merge(&m, "a1 b1 c1 d1", "a2 d2 b2", "a3 b1 d3");
	assert_int_equal(m.plan.conflicts, 2);
	assert_string_equal(m.plan.conflict, "a");
	merge(&m, "", "", "");
	assert_int_equal(m.plan.count, 0);
	assert_true(m.plan.equals[MERGE_BASE]);
}

/* ---- orders --------------------------------------------------------------------------------- */

static void test_order(void **state)
{
	struct merge m;

	(void)state;
	/* That of ours, which only we or both changed. */
	merge(&m, "a1 b1 c1", "c1 b1 a1", "a2 b1 c1");
	assert_string_equal(m.result, "c1 b1 a2");
	merge(&m, "a1 b1 c1", "c1 b1 a1", "b1 a1 c2");
	assert_string_equal(m.result, "c2 b1 a1");
	/* That of theirs, which only they changed. */
	merge(&m, "a1 b1 c1", "a2 b1 c1", "c1 b1 a1");
	assert_string_equal(m.result, "c1 b1 a2");
	/* That of whoever has just these. */
	merge(&m, "a1 c1", "c1 a1", "c1 b1 a1");
	assert_string_equal(m.result, "c1 b1 a1");
	merge(&m, "a1 c1", "c1 b1 a1", "c1 a1");
	assert_string_equal(m.result, "c1 b1 a1");
	/* The writers', which is that of neither; wide types first. */
	merge(&m, "c1", "c1 a1", "c1 b1D");
	assert_string_equal(m.result, "b1D a1 c1");
	merge(&m, "c1", "c1 b1D", "c1 a1");
	assert_string_equal(m.result, "b1D a1 c1");
}

static void test_follows(void **state)
{
	struct merge m;

	(void)state;
	merge(&m, "a1 b1", "a2 b1", "a1 b2");
	assert_int_equal(merge_plan_make(m.lists, &m.plan), 0);
	for (size_t v = 0; v < MERGE_VERSIONS; v++)
		assert_true(merge_plan_follows(&m.plan, m.lists, (enum merge_version)v));
	merge_plan_release(&m.plan);
	merge(&m, "a1 b1", "a2 b1", "b1 a1 c1");
	assert_int_equal(merge_plan_make(m.lists, &m.plan), 0);
	assert_false(merge_plan_follows(&m.plan, m.lists, MERGE_OURS));
	assert_true(merge_plan_follows(&m.plan, m.lists, MERGE_THEIRS));
	merge_plan_release(&m.plan);
	merge(&m, "a1 b1", "a1D b1", "a1 b2");
	assert_int_equal(merge_plan_make(m.lists, &m.plan), 0);
	assert_true(merge_plan_follows(&m.plan, m.lists, MERGE_OURS));
	assert_false(merge_plan_follows(&m.plan, m.lists, MERGE_THEIRS));
	merge_plan_release(&m.plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_case), cmocka_unit_test(test_form_counts),
		cmocka_unit_test(test_several),    cmocka_unit_test(test_order),
		cmocka_unit_test(test_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
