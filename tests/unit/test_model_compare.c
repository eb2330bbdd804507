/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two models, each as a file or as an archive, whatever the size of their tensors: what is told of
 * them is the same. What is printed of it is tested by tests/integration/diff.sh.
 */
#include "tests/unit/sandbox.h"
#include "tests/unit/support.h"

#include "filter/diff/model_compare.h"

#define BIG ((size_t)9 << 20) /* more than one piece, and several steps */

/* What a comparison has told. */
struct told {
	unsigned metadata;
	unsigned frames;
	struct frame_change frame;
	unsigned tensors;
	struct tensor_change last;
};

static void take_metadata(void *ctx, const struct metadata_change *change)
{
	struct told *told = ctx;

	assert_int_equal(told->frames, 0);
	assert_non_null(change->key);
	told->metadata++;
}

static void take_frame(void *ctx, const struct frame_change *change)
{
	struct told *told = ctx;

	assert_int_equal(told->tensors, 0);
	told->frames++;
	told->frame = *change;
}

static void take_tensor(void *ctx, const struct tensor_change *change)
{
	struct told *told = ctx;

	told->tensors++;
	told->last = *change;
}

static struct model_view *open_view(const struct workspace *ws, const char *file)
{
	struct model_view *view = NULL;

	if (file)
		assert_int_equal(model_view_open_file(ws, file, NULL, &view), 0);
	return view;
}

/* The views outlive what was told of them. */
struct pair {
	struct model_view *views[2];
	struct told told;
	struct model_changes changes;
};

static struct pair compare(const char *before, const char *after)
{
	static const struct workspace nowhere = {.threads = 2};
	struct pair p = {.views = {open_view(&nowhere, before), open_view(&nowhere, after)}};
	const struct change_taker taker = {take_metadata, take_frame, take_tensor, &p.told};

	assert_int_equal(model_compare(p.views[0], p.views[1], &taker, &p.changes), 0);
	return p;
}

static void pair_release(struct pair *p)
{
	model_view_free(p->views[0]);
	model_view_free(p->views[1]);
}

/* Writes a model of two tensors as NAME, and its archive as NAME.brevis; of the file the last `cut`
 * bytes are left out. */
static void put_model(const char *name, const uint8_t *big, const char *small, size_t cut)
{
	struct brevis_encode_options options = {.preset = BREVIS_PRESET_FAST};
	struct tensor_spec tensors[] = {{"big", "F32", BIG / 4, BIG, big},
					{"small", "U16", 2, 4, small}};
	struct buffer file = BUFFER_INIT;
	struct encoding e;
	char archive[64];

	put_safetensors(&file, tensors, 2);
	file.size -= cut;
	e = encode(file.data, file.size, &options);
	snprintf(archive, sizeof(archive), "%s.brevis", name);
	put_file(name, file.data, file.size);
	put_file(archive, e.archive.bytes.data, e.archive.bytes.size);
	encoding_release(&e);
	buffer_release(&file);
}

static uint8_t *numbers(void)
{
	uint8_t *big = must_alloc(BIG);

	for (size_t i = 0; i < BIG / 4; i++) {
		float value = (float)(i % 1000);

		memcpy(big + 4 * i, &value, 4);
	}
	return big;
}

static void add_one(uint8_t *big, size_t i)
{
	float value;

	memcpy(&value, big + 4 * i, 4);
	value += 1;
	memcpy(big + 4 * i, &value, 4);
}

/* Changes at both ends of the tensor, and around the ends of steps and pieces. */
static void test_large_tensor(void **state)
{
	static const char *const names[][2] = {
		{"a", "b"}, {"a.brevis", "b"}, {"a", "b.brevis"}, {"a.brevis", "b.brevis"}};
	static const size_t places[] = {0, 262143, 262144, 2097151, 2097152, BIG / 4 - 1};
	uint8_t *big = numbers();

	(void)state;
	put_model("a", big, "1234", 0);
	for (size_t i = 0; i < 6; i++)
		add_one(big, places[i]);
	put_model("b", big, "1234", 0);
	for (size_t i = 0; i < 4; i++) {
		struct pair p = compare(names[i][0], names[i][1]);
		const struct tensor_difference *found = &p.told.last.difference;

		assert_false(p.changes.same);
		assert_int_equal(p.changes.tensors[TENSOR_CHANGED], 1);
		assert_int_equal(p.changes.tensors_same, 1);
		assert_int_equal(p.told.tensors, 1);
		assert_int_equal(p.told.frames, 1);
		assert_string_equal(p.told.last.before->name, "big");
		assert_int_equal(found->elements, BIG / 4);
		assert_int_equal(found->changed, 6);
		assert_true(found->largest == 1 && found->mean == 1);
		assert_false(p.told.last.cut);
		pair_release(&p);
	}
	free(big);
}

static void test_same(void **state)
{
	static const char *const names[][2] = {
		{"a", "a"}, {"a.brevis", "a"}, {"a", "a.brevis"}, {"a.brevis", "a.brevis"}};
	uint8_t *big = numbers();

	(void)state;
	put_model("a", big, "1234", 0);
	for (size_t i = 0; i < 4; i++) {
		struct pair p = compare(names[i][0], names[i][1]);

		assert_true(p.changes.same);
		assert_int_equal(p.changes.tensors_same, 2);
		assert_int_equal(p.told.tensors, 0);
		pair_release(&p);
	}
	free(big);
}

/* Files that end within their last tensor, within an element of it. */
static void test_cut_short(void **state)
{
	uint8_t *big = numbers();
	struct pair p;

	(void)state;
	put_model("whole", big, "1234", 0);
	put_model("cut", big, "1234", 1);
	put_model("same", big, "1235", 1);
	put_model("other", big, "1254", 1);
	p = compare("whole.brevis", "cut.brevis");
	assert_string_equal(p.told.last.before->name, "small");
	assert_true(p.told.last.cut);
	assert_int_equal(p.told.last.difference.elements, 1);
	assert_int_equal(p.told.last.difference.changed, 0);
	pair_release(&p);
	p = compare("cut", "same.brevis");
	assert_true(p.changes.same);
	pair_release(&p);
	/* The first half of an element differs. */
	p = compare("cut.brevis", "other");
	assert_int_equal(p.told.tensors, 1);
	assert_true(p.told.last.cut);
	assert_int_equal(p.told.last.difference.changed, 0);
	pair_release(&p);
	free(big);
}

static void test_one_side(void **state)
{
	uint8_t *big = numbers();
	struct pair p;

	(void)state;
	put_model("a", big, "1234", 0);
	put_text("text", "no model");
	p = compare(NULL, "a.brevis");
	assert_int_equal(p.changes.tensors[TENSOR_ADDED], 2);
	assert_false(p.changes.same);
	assert_int_equal(p.told.frames, 1);
	pair_release(&p);
	p = compare("a", NULL);
	assert_int_equal(p.changes.tensors[TENSOR_REMOVED], 2);
	pair_release(&p);
	p = compare("text", "a");
	assert_true(p.changes.opaque);
	assert_false(p.changes.same);
	assert_int_equal(p.told.frames + p.told.tensors, 0);
	pair_release(&p);
	p = compare("text", "text");
	assert_true(p.changes.opaque && p.changes.same);
	pair_release(&p);
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_large_tensor),
		SANDBOX_TEST(test_same),
		SANDBOX_TEST(test_cut_short),
		SANDBOX_TEST(test_one_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
