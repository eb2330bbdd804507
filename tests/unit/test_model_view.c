/* SPDX-License-Identifier: Apache-2.0 */
/* One content seen as a raw file, an archive, a pointer and a blob: it is the same content. */
#include "tests/unit/sandbox.h"
#include "tests/unit/support.h"

#include "filter/model/model_view.h"
#include "tests/unit/sha256_of.h"

#define BIG ((size_t)9 << 20) /* more than one piece */

static uint8_t *big; /* of seeded noise */

/* Puts a safetensors file together, and its archive. */
static void make(struct buffer *file, struct encoding *e, uint8_t last)
{
	struct brevis_encode_options options = {.preset = BREVIS_PRESET_FAST};
	uint8_t small[4] = {1, 2, 3, last};
	struct tensor_spec tensors[] = {{"big", "F32", BIG / 4, BIG, big},
					{"none", "F32", 0, 0, ""},
					{"small", "U8", 4, 4, small}};

	put_safetensors(file, tensors, 3);
	*e = encode(file->data, file->size, &options);
}

/* Writes a pointer of the content; with store its object, too. */
static void put_pointer(const struct workspace *ws, const char *path, const struct buffer *content,
			bool store)
{
	struct pointer pointer = {.size = content->size};
	char text[POINTER_TEXT_SIZE], command[512];
	uint8_t digest[BREVIS_SHA256_SIZE];
	char *object;

	sha256_of(content->data, content->size, digest);
	pointer_set_oid(&pointer, digest);
	pointer_format(&pointer, text);
	put_text(path, text);
	if (!store)
		return;
	object = object_store_path(ws->store, pointer.oid);
	snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\"", object);
	sh(command);
	put_file(object, content->data, content->size);
	free(object);
}

static void assert_content(struct model_view *view, const struct buffer *file)
{
	const struct brevis_tensor_info *tensor;
	struct sink out = {0};
	uint8_t digest[BREVIS_SHA256_SIZE], part[5000];
	char expected[OID_HEX_SIZE + 1], found[OID_HEX_SIZE + 1];
	size_t i;

	assert_true(model_view_is_here(view));
	assert_int_equal(model_view_layout(view), BREVIS_LAYOUT_SAFETENSORS);
	assert_int_equal(model_view_size(view), file->size);
	assert_int_equal(model_view_tensors(view), 3);
	tensor = model_view_tensor(view, 2);
	assert_string_equal(tensor->name, "small");
	assert_int_equal(model_view_present(view, tensor), 4);
	sha256_of(file->data, file->size, digest);
	digest_to_hex(digest, expected);
	assert_int_equal(model_view_sha256(view, found), 0);
	assert_string_equal(found, expected);
	assert_int_equal(model_view_header_size(view), 8 + load_le64(file->data));
	assert_int_equal(brevis_header_tensors(model_view_header(view)), 3);
	assert_int_equal(model_view_read(view, 3, file->size - 3, sink_write, &out), 0);
	assert_int_equal(out.bytes.size, file->size - 3);
	assert_memory_equal(out.bytes.data, file->data + 3, out.bytes.size);
	out.fail_at = out.calls + 1;
	assert_int_equal(model_view_read(view, 0, 10, sink_write, &out), 1);
	for (i = 0; i < 40; i++) {
		size_t at = (size_t)random_below(file->size - sizeof(part));

		assert_int_equal(model_view_read_at(view, part, sizeof(part), at), 0);
		assert_memory_equal(part, file->data + at, sizeof(part));
	}
	assert_int_equal(model_view_read_at(view, part, 0, file->size), 0);
	buffer_release(&out.bytes);
	model_view_free(view);
}

static void test_every_kind(void **state)
{
	struct buffer file = BUFFER_INIT;
	struct model_view *view;
	struct workspace ws;
	struct encoding e;

	(void)state;
	make(&file, &e, 4);
	sh("git init -q .");
	assert_int_equal(workspace_open(&ws), 0);
	put_file("raw", file.data, file.size);
	put_file("archive", e.archive.bytes.data, e.archive.bytes.size);
	put_pointer(&ws, "pointer", &e.archive.bytes, true);
	put_pointer(&ws, "plain", &file, true);
	sh("git add raw pointer && git commit -qm 1");

	assert_int_equal(model_view_open_file(&ws, "raw", NULL, &view), 0);
	assert_null(model_view_pointer(view));
	assert_string_equal(model_view_label(view), "raw");
	assert_content(view, &file);
	assert_int_equal(model_view_open_work(&ws, "archive", "label", &view), 0);
	assert_string_equal(model_view_label(view), "label");
	assert_content(view, &file);
	assert_int_equal(model_view_open_file(&ws, "pointer", NULL, &view), 0);
	assert_int_equal(model_view_pointer(view)->size, e.archive.bytes.size);
	assert_content(view, &file);
	assert_int_equal(model_view_open_file(&ws, "plain", NULL, &view), 0);
	assert_content(view, &file);
	assert_int_equal(model_view_open_blob(&ws, "HEAD:pointer", NULL, &view), 0);
	assert_content(view, &file);
	assert_int_equal(model_view_open_blob(&ws, "HEAD:raw", NULL, &view), 0);
	assert_content(view, &file);
	sh("test -z \"$(ls -A .git/lfs/tmp)\"");
	workspace_close(&ws);
	encoding_release(&e);
	buffer_release(&file);
}

static void test_not_here(void **state)
{
	static const char *const pointers[] = {"missing", "empty"};
	struct buffer content = BUFFER_INIT;
	struct model_view *view;
	struct workspace ws;
	char hex[OID_HEX_SIZE + 1];

	(void)state;
	sh("git init -q .");
	assert_int_equal(workspace_open(&ws), 0);
	buffer_append(&content, "content", 7);
	put_pointer(&ws, pointers[0], &content, false);
	buffer_clear(&content);
	put_pointer(&ws, pointers[1], &content, false);

	assert_int_equal(model_view_open_file(&ws, "missing", NULL, &view), 0);
	assert_false(model_view_is_here(view));
	assert_int_equal(model_view_pointer(view)->size, 7);
	assert_int_equal(model_view_report_missing(view), -1);
	model_view_free(view);
	assert_int_equal(model_view_open_file(&ws, "empty", NULL, &view), 0);
	assert_true(model_view_is_here(view));
	assert_int_equal(model_view_layout(view), BREVIS_LAYOUT_OPAQUE);
	assert_int_equal(model_view_size(view), 0);
	assert_int_equal(model_view_sha256(view, hex), 0);
	assert_memory_equal(hex, "e3b0c442", 8);
	model_view_free(view);

	assert_int_equal(model_view_open_file(&ws, "nothing", NULL, &view), -1);
	assert_int_equal(model_view_open_file(&ws, ".", NULL, &view), -1);
	assert_int_equal(model_view_open_blob(&ws, "HEAD:nothing", NULL, &view), -1);
	assert_int_equal(model_view_open_blob(&ws, "--all", NULL, &view), -1);
	sh("ln -s missing link");
	assert_int_equal(model_view_open_work(&ws, "link", NULL, &view), -1);
	model_view_free(NULL);
	workspace_close(&ws);
	buffer_release(&content);
}

/* What can be told of two archives without decoding. */
static void test_checksums(void **state)
{
	struct buffer file[2] = {BUFFER_INIT, BUFFER_INIT};
	struct model_view *view[3];
	struct workspace ws = {0};
	struct encoding e[2];
	uint64_t checksum;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		make(&file[i], &e[i], (uint8_t)(4 + i));
		put_file(i ? "b" : "a", e[i].archive.bytes.data, e[i].archive.bytes.size);
		assert_int_equal(model_view_open_file(&ws, i ? "b" : "a", NULL, &view[i]), 0);
	}
	put_file("raw", file[0].data, file[0].size);
	assert_int_equal(model_view_open_file(&ws, "raw", NULL, &view[2]), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(model_view_same_tensor(view[0], model_view_tensor(view[0], i),
							view[1], model_view_tensor(view[1], i)),
				 i != 2);
	assert_false(model_view_same_tensor(view[0], model_view_tensor(view[0], 0), view[2],
					    model_view_tensor(view[2], 0)));
	assert_false(model_view_same_tensor(view[0], model_view_tensor(view[0], 0), view[0],
					    model_view_tensor(view[0], 2)));
	assert_false(model_view_checksum(view[0], model_view_tensor(view[0], 0), &checksum));
	assert_true(model_view_checksum(view[0], model_view_tensor(view[0], 2), &checksum));
	assert_true(checksum == checksum64("\1\2\3\4", 4));
	assert_false(model_view_checksum(view[2], model_view_tensor(view[2], 2), &checksum));
	for (i = 0; i < 3; i++)
		model_view_free(view[i]);
	for (i = 0; i < 2; i++) {
		encoding_release(&e[i]);
		buffer_release(&file[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_every_kind),
		SANDBOX_TEST(test_not_here),
		SANDBOX_TEST(test_checksums),
	};
	int failed;

	seed_init("test_model_view");
	seed_restart(NULL);
	big = malloc(BIG);
	if (!big)
		return 1;
	random_f32(big, BIG / 4, 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(big);
	return failed;
}
