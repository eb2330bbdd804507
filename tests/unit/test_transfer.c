/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads and downloads of the agent, with a store in a directory: what is stored of which object,
 * what comes back, and that nothing damaged ever has its final name, there or here.
 */
#include "filter/agent/download.h"
#include "filter/agent/upload.h"

#include <dirent.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/unit/sandbox.h"
#include "tests/unit/sha256_of.h"

#define LFS_DIR ".git/lfs"

/* A repository, a store beside it, and an object. */
struct scene {
	struct workspace ws;
	struct store_settings settings;
	struct location location;
	struct meter meter;
	struct transfer transfer;
	FILE *answers;
	struct fault fault;
	uint8_t *data;
	size_t size;
	struct pointer pointer;
};

static struct scene *scene_new(void)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	sh("git init -q repository && mkdir store");
	assert_int_equal(chdir("repository"), 0);
	assert_int_equal(workspace_open(&s->ws), 0);
	assert_int_equal(store_settings_read(s->ws.repository, &s->settings, &s->fault), 0);
	assert_int_equal(location_parse("../store", repository_work_tree(s->ws.repository),
					&s->location, &s->fault),
			 0);
	assert_int_equal(store_open(&s->location, &s->settings, &s->transfer.store, &s->fault), 0);
	assert_int_equal(store_create(s->transfer.store, &s->fault), 0);
	s->answers = fopen("/dev/null", "w");
	assert_non_null(s->answers);
	s->transfer.ws = &s->ws;
	s->transfer.meter = &s->meter;
	s->transfer.compress = true;
	return s;
}

static void scene_free(struct scene *s)
{
	store_close(s->transfer.store);
	location_release(&s->location);
	store_settings_release(&s->settings);
	workspace_close(&s->ws);
	fclose(s->answers);
	free(s->data);
	free(s);
}

/* The object of these bytes is the one at hand, in a file called "object". */
static void take_object(struct scene *s)
{
	uint8_t digest[BREVIS_SHA256_SIZE];

	sha256_of(s->data, s->size, digest);
	pointer_set_oid(&s->pointer, digest);
	s->pointer.size = s->size;
	put_file("object", s->data, s->size);
}

static uint8_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint8_t)((*state * UINT64_C(0x2545f4914f6cdd1d)) >> 56);
}

/* Bytes that nothing makes smaller. */
static void make_plain(struct scene *s, size_t size)
{
	uint64_t state = 7;
	size_t i;

	s->size = size;
	s->data = realloc(s->data, size + 1);
	assert_non_null(s->data);
	for (i = 0; i < size; i++)
		s->data[i] = next_random(&state);
	take_object(s);
}

/* A tensor of BF16 words; if they are weights, their upper bytes are few. */
static void make_checkpoint(struct scene *s, size_t words, bool is_weights)
{
	uint64_t state = 11;
	char header[128];
	uint64_t len;
	size_t i;

	len = (uint64_t)snprintf(
		header, sizeof(header),
		"{\"w\":{\"dtype\":\"BF16\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}", words,
		2 * words);
	s->size = 8 + (size_t)len + 2 * words;
	s->data = realloc(s->data, s->size);
	assert_non_null(s->data);
	memcpy(s->data, &len, 8);
	memcpy(s->data + 8, header, (size_t)len);
	for (i = 0; i < words; i++) {
		uint8_t *word = s->data + 8 + len + 2 * i;

		word[0] = next_random(&state);
		word[1] = next_random(&state);
		if (is_weights)
			word[1] = (uint8_t)(0x3c + (word[1] & 3));
	}
	take_object(s);
}

/* ---- the store's side ----------------------------------------------------------------------- */

static const char *stored_path(const struct scene *s)
{
	static char path[256];
	const char *oid = s->pointer.oid;

	snprintf(path, sizeof(path), "../store/objects/%.2s/%.2s/%s", oid, oid + 2, oid);
	return path;
}

static size_t stored_size(const struct scene *s)
{
	struct stat st;

	return stat(stored_path(s), &st) == 0 ? (size_t)st.st_size : 0;
}

/* Puts bytes under the object's key. */
static void put_stored(const struct scene *s, const void *data, size_t size)
{
	char command[512];

	snprintf(command, sizeof(command), "mkdir -p \"$(dirname %s)\"", stored_path(s));
	sh(command);
	put_file(stored_path(s), data, size);
}

static uint8_t *read_file(const char *path, size_t size)
{
	uint8_t *data = malloc(size + 1);
	FILE *file = fopen(path, "r");

	assert_non_null(data);
	assert_non_null(file);
	assert_int_equal(fread(data, 1, size + 1, file), size);
	fclose(file);
	return data;
}

/* Changes a byte of a file. */
static void damage(const char *path, long at)
{
	FILE *file = fopen(path, "r+");
	int byte;

	assert_non_null(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	byte = getc(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	assert_int_equal(putc(byte ^ 0x10, file), byte ^ 0x10);
	assert_int_equal(fclose(file), 0);
}

/* Files in a directory; a missing one has none. */
static size_t count_files(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

/* ---- both directions ------------------------------------------------------------------------ */

static int upload(struct scene *s)
{
	memset(&s->fault, 0, sizeof(s->fault));
	meter_begin(&s->meter, s->answers, &s->pointer);
	return upload_object(&s->transfer, &s->pointer, "object", &s->fault);
}

static void upload_well(struct scene *s)
{
	if (upload(s) != 0)
		fail_msg("%s", s->fault.cause);
	assert_true(stored_size(s) > 0);
	assert_int_equal(count_files("../store/tmp"), 0);
	assert_int_equal(count_files(LFS_DIR "/tmp"), 0);
}

/* An upload that must fail in this way, and leave the store as it was. */
static void upload_badly(struct scene *s, enum fault_kind kind)
{
	size_t before = stored_size(s);

	assert_int_equal(upload(s), -1);
	if (s->fault.kind != kind)
		fail_msg("%d: %s", s->fault.kind, s->fault.cause);
	assert_true(*s->fault.cause != 0);
	assert_int_equal(stored_size(s), before);
	assert_int_equal(count_files("../store/tmp"), 0);
	assert_int_equal(count_files(LFS_DIR "/tmp"), 0);
}

static int download(struct scene *s, char **path)
{
	struct landed landed = {NULL, -1};
	int result;

	memset(&s->fault, 0, sizeof(s->fault));
	meter_begin(&s->meter, s->answers, &s->pointer);
	result = download_object(&s->transfer, &s->pointer, &landed, &s->fault);
	*path = landed.path ? strdup(landed.path) : NULL;
	landed_release(&landed);
	return result;
}

static void download_well(struct scene *s)
{
	struct stat st;
	uint8_t *data;
	char *path;

	umask(027);
	if (download(s, &path) != 0)
		fail_msg("%s", s->fault.cause);
	assert_non_null(strstr(path, "/" LFS_DIR "/tmp/"));
	data = read_file(path, s->size);
	assert_memory_equal(data, s->data, s->size);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(count_files(LFS_DIR "/tmp"), 0);
	assert_int_equal(count_files(LFS_DIR "/brevis/incoming"), 0);
	free(data);
	free(path);
}

/* A download that must fail in this way, and leave nothing. */
static void download_badly(struct scene *s, enum fault_kind kind)
{
	char *path;

	assert_int_equal(download(s, &path), -1);
	assert_null(path);
	if (s->fault.kind != kind)
		fail_msg("%d: %s", s->fault.kind, s->fault.cause);
	assert_true(*s->fault.cause != 0);
	assert_int_equal(count_files(LFS_DIR "/tmp"), 0);
	assert_int_equal(count_files(LFS_DIR "/brevis/incoming"), 0);
}

static void test_round_trips(void **state)
{
	static const size_t sizes[] = {1, 15, 16, 17, 1000, (1 << 20) + 1, 5 << 20};
	struct scene *s = scene_new();
	uint8_t *stored;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		make_plain(s, sizes[i]);
		upload_well(s);
		assert_int_equal(stored_size(s), s->size);
		stored = read_file(stored_path(s), s->size);
		assert_memory_equal(stored, s->data, s->size);
		free(stored);
		download_well(s);
	}
	scene_free(s);
}

/* git-lfs asks for none, but what is empty is no special case. */
static void test_empty(void **state)
{
	struct scene *s = scene_new();

	(void)state;
	make_plain(s, 0);
	assert_int_equal(upload(s), 0);
	assert_int_equal(access(stored_path(s), F_OK), 0);
	assert_int_equal(upload(s), 0);
	download_well(s);
	scene_free(s);
}

static void test_compressed(void **state)
{
	static const size_t words[] = {10000, 1 << 20, 5 << 20};
	struct scene *s = scene_new();
	uint8_t magic[BREVIS_MAGIC_SIZE];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		FILE *file;

		make_checkpoint(s, words[i], true);
		upload_well(s);
		assert_true(stored_size(s) < s->size * 7 / 10);
		file = fopen(stored_path(s), "r");
		assert_non_null(file);
		assert_int_equal(fread(magic, 1, sizeof(magic), file), sizeof(magic));
		assert_true(brevis_is_archive(magic, sizeof(magic)));
		fclose(file);
		download_well(s);
	}
	scene_free(s);
}

/* What an archive makes no smaller, and what is not to be compressed, is stored as it is. */
static void test_not_compressed(void **state)
{
	struct scene *s = scene_new();

	(void)state;
	make_checkpoint(s, 100, false);
	upload_well(s);
	assert_int_equal(stored_size(s), s->size);
	download_well(s);
	make_checkpoint(s, 3 << 20, false);
	upload_well(s);
	assert_int_equal(stored_size(s), s->size);
	download_well(s);
	s->transfer.compress = false;
	make_checkpoint(s, 100000, true);
	upload_well(s);
	assert_int_equal(stored_size(s), s->size);
	download_well(s);
	scene_free(s);
}

/* An object that is an archive by itself (filter=brevis) travels as it is. */
static void test_archive_object(void **state)
{
	struct scene *s = scene_new();
	size_t archive_size;
	uint8_t *archive;

	(void)state;
	make_checkpoint(s, 50000, true);
	upload_well(s);
	archive_size = stored_size(s);
	archive = read_file(stored_path(s), archive_size);
	s->data = realloc(s->data, archive_size);
	assert_non_null(s->data);
	memcpy(s->data, archive, archive_size);
	s->size = archive_size;
	take_object(s);
	upload_well(s);
	assert_int_equal(stored_size(s), archive_size);
	download_well(s);
	upload_well(s);
	free(archive);
	scene_free(s);
}

static void test_damaged_object(void **state)
{
	struct scene *s = scene_new();

	(void)state;
	make_plain(s, 3000000);
	damage("object", 2999999);
	upload_badly(s, FAULT_DAMAGED);
	make_plain(s, 100);
	damage("object", 50);
	upload_badly(s, FAULT_DAMAGED);
	make_checkpoint(s, 2 << 20, true);
	damage("object", 3000000);
	upload_badly(s, FAULT_DAMAGED);
	make_plain(s, 1000);
	assert_int_equal(truncate("object", 999), 0);
	upload_badly(s, FAULT_DAMAGED);
	assert_int_equal(unlink("object"), 0);
	upload_badly(s, FAULT_LOCAL);
	assert_int_equal(mkdir("object", 0777), 0);
	upload_badly(s, FAULT_LOCAL);
	scene_free(s);
}

/* Uploads what is there, and tells whether it was written again. */
static bool is_written_again(struct scene *s)
{
	struct stat before, after;

	assert_int_equal(stat(stored_path(s), &before), 0);
	upload_well(s);
	assert_int_equal(stat(stored_path(s), &after), 0);
	return before.st_ino != after.st_ino || before.st_mtim.tv_nsec != after.st_mtim.tv_nsec;
}

static void test_existing(void **state)
{
	struct scene *s = scene_new();
	uint8_t *archive;
	size_t size;

	(void)state;
	make_plain(s, 100000);
	upload_well(s);
	assert_false(is_written_again(s));
	/* Whatever there is, it is not ours to change: it may be what is good. */
	damage(stored_path(s), 3);
	upload_badly(s, FAULT_DAMAGED);
	put_stored(s, s->data, s->size - 1);
	upload_badly(s, FAULT_DAMAGED);
	put_stored(s, s->data, 0);
	upload_badly(s, FAULT_DAMAGED);

	make_checkpoint(s, 3 << 20, true);
	upload_well(s);
	assert_false(is_written_again(s));
	size = stored_size(s);
	archive = read_file(stored_path(s), size);
	put_stored(s, archive, size - 1);
	upload_badly(s, FAULT_DAMAGED);
	put_stored(s, archive, 9);
	upload_badly(s, FAULT_DAMAGED);
	/* A raw one of the same object is as good as the archive. */
	put_stored(s, s->data, s->size);
	assert_false(is_written_again(s));
	/* An archive of something else is none. */
	make_checkpoint(s, 20000, true);
	put_stored(s, archive, size);
	upload_badly(s, FAULT_DAMAGED);
	/* That a newer program may read it is for that to tell. */
	archive[BREVIS_MAGIC_SIZE] = 200;
	put_stored(s, archive, size);
	upload_badly(s, FAULT_UNSUPPORTED);
	free(archive);
	scene_free(s);
}

/* ---- resumed downloads ---------------------------------------------------------------------- */

static void put_part(const struct scene *s, const void *data, size_t size)
{
	char path[256];

	sh("mkdir -p " LFS_DIR "/brevis/incoming");
	snprintf(path, sizeof(path), LFS_DIR "/brevis/incoming/%s.part", s->pointer.oid);
	put_file(path, data, size);
}

/* With the first half here, what the store has in its place is not looked at. */
static void resume(struct scene *s)
{
	size_t size = stored_size(s);
	uint8_t *stored = read_file(stored_path(s), size);

	put_part(s, stored, size / 2);
	damage(stored_path(s), (long)size / 4);
	download_well(s);
	put_part(s, stored, size);
	download_well(s);
	damage(stored_path(s), (long)size / 4);
	/* A half that is damaged, or more than there can be, costs time only. */
	stored[size / 3] ^= 1;
	put_part(s, stored, size / 2);
	download_well(s);
	put_part(s, stored, size);
	download_well(s);
	stored = realloc(stored, size + 1000);
	assert_non_null(stored);
	memset(stored + size, 0, 1000);
	put_part(s, stored, size + 1000);
	download_well(s);
	free(stored);
}

static void test_resume(void **state)
{
	struct scene *s = scene_new();

	(void)state;
	make_plain(s, 3000000);
	upload_well(s);
	resume(s);
	make_plain(s, 300);
	upload_well(s);
	resume(s);
	make_checkpoint(s, 1500000, true);
	upload_well(s);
	resume(s);
	scene_free(s);
}

/* Another process is at the same object: its part is left alone. */
static void test_part_in_use(void **state)
{
	struct scene *s = scene_new();
	char path[256];
	char *got;
	FILE *part;

	(void)state;
	make_checkpoint(s, 100000, true);
	upload_well(s);
	put_part(s, "theirs", 6);
	snprintf(path, sizeof(path), LFS_DIR "/brevis/incoming/%s.part", s->pointer.oid);
	part = fopen(path, "r+");
	assert_non_null(part);
	assert_int_equal(flock(fileno(part), LOCK_EX), 0);
	assert_int_equal(download(s, &got), 0);
	assert_file(path, "theirs");
	assert_int_equal(count_files(LFS_DIR "/tmp"), 1);
	assert_int_equal(unlink(got), 0);
	free(got);
	fclose(part);
	scene_free(s);
}

static void test_damaged_store(void **state)
{
	struct scene *s = scene_new();
	uint8_t *archive;
	size_t size;

	(void)state;
	make_plain(s, 2000000);
	download_badly(s, FAULT_ABSENT);
	upload_well(s);
	damage(stored_path(s), 1999999);
	download_badly(s, FAULT_DAMAGED);
	put_stored(s, s->data, 100);
	download_badly(s, FAULT_DAMAGED);
	put_stored(s, s->data, 0);
	download_badly(s, FAULT_DAMAGED);

	make_checkpoint(s, 1 << 20, true);
	upload_well(s);
	size = stored_size(s);
	archive = read_file(stored_path(s), size);
	damage(stored_path(s), (long)size / 2);
	download_badly(s, FAULT_DAMAGED);
	put_stored(s, archive, size - 1);
	download_badly(s, FAULT_DAMAGED);
	make_checkpoint(s, 20000, true);
	put_stored(s, archive, size);
	download_badly(s, FAULT_DAMAGED);
	free(archive);
	scene_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_round_trips),    SANDBOX_TEST(test_empty),
		SANDBOX_TEST(test_compressed),     SANDBOX_TEST(test_not_compressed),
		SANDBOX_TEST(test_archive_object), SANDBOX_TEST(test_damaged_object),
		SANDBOX_TEST(test_existing),       SANDBOX_TEST(test_resume),
		SANDBOX_TEST(test_part_in_use),    SANDBOX_TEST(test_damaged_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
