/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of uploads: by whom, for how long, and what damage does to it. */
#include "filter/remote/journal.h"

#include <dirent.h>
#include <pthread.h>

#include "tests/unit/sandbox.h"

#define STORE "sftp://host/srv"
#define KEY   "objects/ab/cd/abcd"

static struct journal *open_here(const char *key)
{
	struct journal *journal = journal_open("lfs/brevis", STORE, key);

	assert_non_null(journal);
	assert_int_equal(strlen(journal_token(journal)), TOKEN_SIZE);
	return journal;
}

/* The only file in lfs/brevis/uploads. */
static const char *file_path(void)
{
	static char path[512];
	DIR *dir = opendir("lfs/brevis/uploads");
	struct dirent *entry;
	int count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			snprintf(path, sizeof(path), "lfs/brevis/uploads/%s", entry->d_name);
			count++;
		}
	closedir(dir);
	assert_int_equal(count, 1);
	return path;
}

static bool is_empty(void)
{
	return system("test -z \"$(ls lfs/brevis/uploads)\"") == 0;
}

static void fill(struct journal *journal)
{
	journal_begin(journal, "an upload's id", 8 << 20);
	journal_add(journal, 2, "cc");
	journal_add(journal, 0, "aa");
}

static void assert_filled(const struct journal *journal)
{
	assert_string_equal(journal_note(journal), "an upload's id");
	assert_int_equal(journal_part_size(journal), 8 << 20);
	assert_string_equal(journal_part(journal, 0), "aa");
	assert_null(journal_part(journal, 1));
	assert_string_equal(journal_part(journal, 2), "cc");
	assert_null(journal_part(journal, 3));
	assert_null(journal_part(journal, SIZE_MAX));
}

static void assert_new(const struct journal *journal)
{
	assert_string_equal(journal_note(journal), "");
	assert_int_equal(journal_part_size(journal), 0);
	assert_null(journal_part(journal, 0));
}

static void test_remembers(void **state)
{
	struct journal *journal = open_here(KEY);
	char token[TOKEN_SIZE + 1];

	(void)state;
	assert_new(journal);
	/* What is sent at once leaves nothing. */
	journal_end(journal);
	sh("test -z \"$(ls -A)\"");
	journal = open_here(KEY);
	strcpy(token, journal_token(journal));
	fill(journal);
	assert_filled(journal);
	journal_close(journal);

	journal = open_here(KEY);
	assert_string_equal(journal_token(journal), token);
	assert_filled(journal);
	journal_add(journal, 2, "dd"); /* sent again */
	journal_close(journal);

	journal = open_here(KEY);
	assert_string_equal(journal_part(journal, 2), "dd");
	journal_begin(journal, "", 1);
	assert_null(journal_part(journal, 0));
	journal_add(journal, 1, "bb");
	journal_close(journal);

	journal = open_here(KEY);
	assert_string_equal(journal_token(journal), token);
	assert_string_equal(journal_note(journal), "");
	assert_int_equal(journal_part_size(journal), 1);
	assert_null(journal_part(journal, 0));
	assert_string_equal(journal_part(journal, 1), "bb");
	journal_end(journal);

	assert_true(is_empty());
	journal = open_here(KEY);
	assert_string_not_equal(journal_token(journal), token);
	assert_new(journal);
	journal_close(journal);
	journal_close(NULL);
	journal_end(NULL);
}

/* Each store and key has its own, wherever the border between them lies. */
static void test_names(void **state)
{
	struct journal *journals[] = {
		open_here(KEY), open_here("objects/other"),
		journal_open("lfs/brevis", "sftp://host/srvobjects", "/other"),
		journal_open("lfs/brevis", "sftp://host/sr", "v" KEY)};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		journal_begin(journals[i], "", 1);
	sh("test $(ls lfs/brevis/uploads | wc -l) = 4");
	for (size_t i = 0; i < 4; i++)
		journal_close(journals[i]);
}

/* Who comes second gets one of its own, and harms the first's in no way. */
static void test_lock(void **state)
{
	struct journal *first = open_here(KEY);
	struct journal *second;
	char token[TOKEN_SIZE + 1];

	(void)state;
	fill(first);
	second = open_here(KEY);
	assert_string_not_equal(journal_token(first), journal_token(second));
	journal_begin(second, "another", 5);
	journal_add(second, 0, "xx");
	assert_string_equal(journal_part(second, 0), "xx");
	assert_filled(first);
	journal_end(second);
	journal_close(first);
	second = open_here(KEY);
	assert_filled(second);
	/* The first to begin has it; the other keeps nothing, and its own token. */
	journal_end(second);
	first = open_here(KEY);
	second = open_here(KEY);
	strcpy(token, journal_token(second));
	fill(first);
	journal_begin(second, "another", 5);
	assert_string_equal(journal_token(second), token);
	journal_close(second);
	assert_filled(first);
	journal_close(first);
	first = open_here(KEY);
	assert_string_not_equal(journal_token(first), token);
	assert_filled(first);
	journal_end(first);
}

static void test_nowhere(void **state)
{
	struct journal *journal = journal_open(NULL, STORE, KEY);
	char command[1200];

	(void)state;
	fill(journal);
	assert_filled(journal);
	journal_close(journal);
	sh("test -z \"$(ls -A)\"");

	put_text("file", "in the way");
	journal = journal_open("file", STORE, KEY);
	assert_int_equal(strlen(journal_token(journal)), TOKEN_SIZE);
	fill(journal);
	assert_filled(journal);
	journal_end(journal);
	assert_file("file", "in the way");

	/* Nor is a link followed. */
	sh("mkdir -p lfs/brevis/uploads");
	journal = open_here(KEY);
	fill(journal);
	journal_close(journal);
	snprintf(command, sizeof(command), "f=%s; rm $f && ln -s \"$PWD/file\" $f", file_path());
	sh(command);
	journal = open_here(KEY);
	fill(journal);
	journal_close(journal);
	assert_file("file", "in the way");
}

/* Whatever single byte is damaged, and wherever it is cut: what is believed was said. */
static void test_damage(void **state)
{
	struct journal *journal = open_here(KEY);
	char token[TOKEN_SIZE + 1];
	char *text;
	size_t size;

	(void)state;
	fill(journal);
	strcpy(token, journal_token(journal));
	journal_close(journal);
	text = get_text(file_path());
	size = strlen(text);
	for (size_t i = 0; i < 2 * size; i++) {
		char *copy = strdup(text);
		const char *part;
		bool same;

		if (i < size)
			copy[i] ^= 1;
		put_file(file_path(), copy, i < size ? size : i - size);
		free(copy);
		journal = open_here(KEY);
		same = strcmp(journal_token(journal), token) == 0;
		part = journal_part(journal, 2);
		assert_true(!part || (same && strcmp(part, "cc") == 0));
		part = journal_part(journal, 0);
		assert_true(!part || (same && strcmp(part, "aa") == 0 && journal_part(journal, 2)));
		assert_true(journal_part_size(journal) == 0 || same);
		/* It can be gone on with. */
		fill(journal);
		strcpy(token, journal_token(journal));
		journal_close(journal);
		journal = open_here(KEY);
		assert_string_equal(journal_token(journal), token);
		assert_filled(journal);
		journal_close(journal);
		free(text);
		text = get_text(file_path());
		assert_int_equal(strlen(text), size);
	}
	free(text);
}

static void test_too_long(void **state)
{
	struct journal *journal = open_here(KEY);
	char note[JOURNAL_NOTE_SIZE + 1];

	(void)state;
	memset(note, 'n', sizeof(note));
	note[JOURNAL_NOTE_SIZE] = 0;
	journal_begin(journal, note, 7);
	journal_add(journal, 0, "aa");
	assert_string_equal(journal_note(journal), note);
	assert_string_equal(journal_part(journal, 0), "aa");
	journal_close(journal);
	journal = open_here(KEY);
	assert_new(journal);
	note[JOURNAL_NOTE_SIZE - 1] = 0;
	journal_begin(journal, note, 7);
	journal_close(journal);
	journal = open_here(KEY);
	assert_string_equal(journal_note(journal), note);
	journal_begin(journal, "two\nlines", 7);
	journal_close(journal);
	journal = open_here(KEY);
	assert_new(journal);
	journal_end(journal);
}

/* ---- threads --------------------------------------------------------------------------------- */

#define THREADS 4
#define PARTS   250

struct adder {
	pthread_t thread;
	struct journal *journal;
	size_t first;
};

static void *add(void *ctx)
{
	struct adder *adder = ctx;
	char digest[32];

	for (size_t i = PARTS; i-- > 0;) {
		size_t part = i * THREADS + adder->first;

		snprintf(digest, sizeof(digest), "digest-%zu", part);
		journal_add(adder->journal, part, digest);
		if (!journal_part(adder->journal, part))
			abort();
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct adder adders[THREADS];
	struct journal *journal = open_here(KEY);
	char digest[32];

	(void)state;
	journal_begin(journal, "id", 1);
	for (size_t i = 0; i < THREADS; i++) {
		adders[i] = (struct adder){.journal = journal, .first = i};
		assert_int_equal(pthread_create(&adders[i].thread, NULL, add, &adders[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(adders[i].thread, NULL);
	journal_close(journal);
	journal = open_here(KEY);
	for (size_t i = 0; i < (size_t)THREADS * PARTS; i++) {
		snprintf(digest, sizeof(digest), "digest-%zu", i);
		assert_string_equal(journal_part(journal, i), digest);
	}
	journal_end(journal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_remembers), SANDBOX_TEST(test_names),
		SANDBOX_TEST(test_lock),      SANDBOX_TEST(test_nowhere),
		SANDBOX_TEST(test_damage),    SANDBOX_TEST(test_too_long),
		SANDBOX_TEST(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
