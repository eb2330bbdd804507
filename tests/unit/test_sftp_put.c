/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads over sftp: cut, gone on with, meddled with; what gets a name is always whole. */
#include "filter/remote/driver.h"

#include <fcntl.h>

#include "tests/unit/sandbox.h"
#include "tests/unit/support.h"
#include "tests/unit/sftp_server.h"

#define PART ((uint64_t)4 << 20)
#define BIG  (5 * PART + 12345)
#define KEY  "objects/ab/cd/abcd"

static uint8_t *bytes; /* what is sent, BIG of them */
static void *store;
static uint64_t told;

/* Another store, of which nothing is known here. */
static void begin(void)
{
	const struct location location = {.scheme = LOCATION_SFTP};
	const struct store_settings settings = {.parallel = 1};
	struct fault fault = {0};

	driver_sftp.close(store);
	server_begin();
	assert_int_equal(driver_sftp.open(&location, &settings, &store, &fault), 0);
	sh("rm -rf local lfs");
}

static int enter(void **state)
{
	if (seed_restart(state) != 0 || sandbox_enter(state) != 0)
		return -1;
	bytes = must_alloc(BIG);
	random_fill(bytes, BIG);
	begin();
	return 0;
}

static int leave(void **state)
{
	driver_sftp.close(store);
	store = NULL;
	server_clear();
	free(bytes);
	return sandbox_leave(state);
}

static void sent(void *ctx, uint64_t n)
{
	(void)ctx;
	told += n;
}

/* Uploads the first len bytes, or what is in the file "local" by now, as another process would.
 * fails: after the bytes the feed fails. */
static int put(size_t len, bool fails, struct fault *fault)
{
	struct journal *journal = journal_open("lfs/brevis", "sftp://host/srv", KEY);
	struct driver_upload upload = {
		.key = KEY, .journal = journal, .part_size = PART, .sent = sent};
	int fd = open("local", O_RDONLY);
	int result;

	if (fd < 0) {
		put_file("local", bytes, len);
		fd = open("local", O_RDONLY);
	}
	assert_true(fd >= 0);
	upload.feed = feed_new(fd, len);
	feed_grow(upload.feed, len);
	if (fails)
		feed_fail(upload.feed);
	else
		feed_finish(upload.feed);
	told = 0;
	memset(fault, 0, sizeof(*fault));
	result = driver_sftp.put(store, &upload, fault);
	if (result == 0)
		journal_end(journal);
	else
		journal_close(journal);
	feed_free(upload.feed);
	close(fd);
	return result;
}

/* The object is there, all of it, and nothing else. */
static void assert_placed(size_t len)
{
	const struct server_file *file = server_find(KEY);

	assert_non_null(file);
	assert_int_equal(file->content.size, len);
	assert_memory_equal(file->content.data, bytes, len);
	assert_null(server_temporary());
}

static void assert_put(size_t len)
{
	struct fault fault;

	assert_int_equal(put(len, false, &fault), 0);
	assert_int_equal(fault.kind, FAULT_NONE);
	assert_int_equal(told, len);
	assert_placed(len);
}

/* Cuts an upload in the middle of its fourth block. */
static void assert_cut(void)
{
	struct fault fault;

	server.cut_after = 3 * PART + PART / 2;
	assert_int_equal(put(BIG, false, &fault), -1);
	assert_int_equal(fault.kind, FAULT_TRANSIENT);
	assert_null(server_find(KEY));
	assert_int_equal(server_temporary()->content.size, 3 * PART + PART / 2);
	server.cut_after = 0;
	server.received = 0;
}

static void test_whole(void **state)
{
	static const size_t sizes[] = {1, 1000, PART, PART + 1, 5 * PART, BIG};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		begin();
		assert_put(sizes[i]);
		assert_int_equal(server.received, sizes[i]);
	}
}

/* It goes on where it was cut, any number of times. */
static void test_goes_on(void **state)
{
	struct fault fault;

	(void)state;
	assert_cut();
	server.cut_after = PART;
	assert_int_equal(put(BIG, false, &fault), -1);
	assert_int_equal(server.received, PART);
	assert_null(server_find(KEY));
	server.cut_after = 0;
	assert_put(BIG);
	assert_int_equal(server.received, BIG - (3 * PART + PART / 2));
}

/* Cut before any block was acknowledged: there is nothing to go by. */
static void test_first_block(void **state)
{
	struct fault fault;

	(void)state;
	server.cut_after = PART / 2;
	assert_int_equal(put(BIG, false, &fault), -1);
	server.cut_after = 0;
	server.received = 0;
	assert_put(BIG);
	assert_int_equal(server.received, BIG);
}

static bool removed;

static void note_removal(const char *doing)
{
	if (strcmp(doing, "rm") == 0)
		removed = true;
	if (strcmp(doing, "upload") == 0)
		assert_true(removed);
}

/* What is there is not what was sent: all of it is sent again, to another file, for somebody may
 * still append to this one. */
static void test_other_content(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct buffer *there;

		begin();
		assert_cut();
		there = &server_temporary()->content;
		if (i == 0)
			there->data[there->size - 1] ^= 1;
		else if (i == 1)
			there->data[2 * PART] ^= 1;
		else if (i == 2)
			there->size -= PART;
		else if (i == 3)
			buffer_append(there, bytes, 1);
		else
			memset(buffer_extend(there, 10 * PART), 0, 10 * PART);
		removed = false;
		server.meddle = note_removal;
		assert_put(BIG);
		assert_int_equal(server.received, BIG);
	}
}

static char earlier[256];

/* A request of the connection that was cut is carried out late: to make its file, or empty it. */
static void make_earlier(const char *doing)
{
	if (strcmp(doing, "upload") != 0)
		return;
	assert_null(server_find(earlier));
	assert_non_null(server_make(earlier, false));
}

/* What begins anew does so under a name that no earlier request can have meant. */
static void test_other_name(void **state)
{
	static const size_t sizes[] = {1000, BIG};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fault fault;

		begin();
		server.cut_after = 500;
		assert_int_equal(put(sizes[i], false, &fault), -1);
		assert_int_equal(fault.kind, FAULT_TRANSIENT);
		snprintf(earlier, sizeof(earlier), "%s", server_temporary()->path);
		server.cut_after = 0;
		server.received = 0;
		server.meddle = make_earlier;
		assert_int_equal(put(sizes[i], false, &fault), 0);
		assert_int_equal(server_find(KEY)->content.size, sizes[i]);
		assert_memory_equal(server_find(KEY)->content.data, bytes, sizes[i]);
		assert_string_equal(server_temporary()->path, earlier);
	}
}

/* The file here is another by now, in a block that is not compared with the server's. */
static void test_other_file(void **state)
{
	(void)state;
	assert_cut();
	bytes[7] ^= 1;
	put_file("local", bytes, BIG);
	assert_put(BIG);
	assert_int_equal(server.received, BIG);
}

static void grow_at_second_stat(const char *doing)
{
	static int stats;

	if (strcmp(doing, "stat") == 0 && ++stats == 2)
		buffer_append(&server_temporary()->content, "more", 4);
}

/* A connection that was thought to be dead still writes. */
static void test_still_growing(void **state)
{
	struct fault fault;

	(void)state;
	assert_cut();
	server.meddle = grow_at_second_stat;
	assert_int_equal(put(BIG, false, &fault), -1);
	assert_int_equal(fault.kind, FAULT_TRANSIENT);
	assert_int_equal(server.received, 0);
	server.meddle = NULL;
	assert_put(BIG);
}

static void grow_at_upload(const char *doing)
{
	if (strcmp(doing, "upload") == 0)
		buffer_append(&server_temporary()->content, "more", 4);
}

/* It does so at the last moment: the object does not get its name. */
static void test_grows_between(void **state)
{
	struct fault fault;

	(void)state;
	assert_cut();
	server.meddle = grow_at_upload;
	assert_int_equal(put(BIG, false, &fault), -1);
	assert_int_equal(fault.kind, FAULT_TRANSIENT);
	assert_null(server_find(KEY));
	assert_null(server_temporary());
	server.meddle = NULL;
	assert_put(BIG);
}

/* What is there under the key stays. */
static void test_there_already(void **state)
{
	static const size_t sizes[] = {1000, BIG};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fault fault;

		begin();
		server_make("objects/ab", true);
		server_make("objects/ab/cd", true);
		buffer_append(&server_make(KEY, false)->content, "first", 5);
		assert_int_equal(put(sizes[i], false, &fault), 0);
		assert_int_equal(server_find(KEY)->content.size, 5);
		assert_null(server_temporary());
	}
}

/* It got its name, but we were not told. */
static void test_unanswered(void **state)
{
	struct fault fault;

	(void)state;
	server.rename_unanswered = true;
	assert_int_equal(put(BIG, false, &fault), -1);
	assert_int_equal(fault.kind, FAULT_TRANSIENT);
	server.received = 0;
	assert_put(BIG);
	assert_int_equal(server.received, 0);
}

/* Directories that are missing are made, also such as were there a moment ago; not the store's. */
static void test_directories(void **state)
{
	static const size_t sizes[] = {1000, BIG};
	struct fault fault;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		server_clear();
		server_make(".", true);
		sh("rm -rf local lfs");
		assert_put(sizes[i]);
	}
	server_clear();
	assert_int_equal(put(1000, false, &fault), -1);
	assert_int_equal(fault.kind, FAULT_NO_STORE);
}

static void test_failures(void **state)
{
	struct fault fault;

	(void)state;
	assert_int_equal(put(BIG, true, &fault), -1);
	assert_int_equal(fault.kind, FAULT_CANCELLED);
	assert_null(server_find(KEY));
	begin();
	server.full = true;
	/* Of what is too small to be gone on with nothing is left on a full disk. */
	assert_int_equal(put(1000, false, &fault), -1);
	assert_int_equal(fault.kind, FAULT_NO_SPACE);
	assert_null(server_find(KEY));
	assert_null(server_temporary());
}

static int note_entry(void *ctx, const struct store_entry *entry)
{
	char line[300];

	snprintf(line, sizeof(line), "%s %s %d %d\n", entry->oid ? entry->oid : "-", entry->key,
		 (int)entry->size, (int)entry->modified);
	buffer_append(ctx, line, strlen(line));
	return 0;
}

#define OID "abcd0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"

static void test_list(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct fault fault = {0};

	(void)state;
	server_make("objects/ab", true);
	server_make("objects/ab/cd", true);
	server_make("objects/zz", true);
	server_make("objects/abc", true);
	server_make("objects/ab/cd/foreign", false);
	server_make("objects/ab/cd/" OID "0", false);
	buffer_append(&server_make("objects/ab/cd/" OID, false)->content, "12345", 5);
	server_make("tmp/Foreign", false);
	buffer_append(&server_make("tmp/" OID ".0123", false)->content, "12", 2);
	assert_int_equal(driver_sftp.list(store, false, note_entry, &text, &fault), 0);
	assert_int_equal(driver_sftp.list(store, true, note_entry, &text, &fault), 0);
	buffer_u8(&text, '\0');
	assert_string_equal((const char *)text.data, OID " objects/ab/cd/" OID " 5 0\n"
							 "- tmp/" OID ".0123 2 1700000000\n");
	buffer_release(&text);
}

static void test_create(void **state)
{
	struct fault fault = {0};

	(void)state;
	server_clear();
	assert_int_equal(driver_sftp.create(store, &fault), 0);
	assert_non_null(server_find("tmp"));
	assert_non_null(server_find("objects"));
	assert_int_equal(driver_sftp.put_bytes(store, "brevis-store.json", "{}", 2, &fault), 0);
	assert_int_equal(driver_sftp.put_bytes(store, "brevis-store.json", "other", 5, &fault), 0);
	assert_int_equal(server_find("brevis-store.json")->content.size, 2);
	assert_null(server_temporary());
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_whole),         CASE(test_goes_on),       CASE(test_first_block),
		CASE(test_other_content), CASE(test_other_file),    CASE(test_still_growing),
		CASE(test_grows_between), CASE(test_there_already), CASE(test_unanswered),
		CASE(test_directories),   CASE(test_failures),      CASE(test_list),
		CASE(test_create),        CASE(test_other_name),
	};

	seed_init("test_sftp_put");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
