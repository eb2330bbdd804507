/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of the agent: what it answers to git-lfs, whatever happens, and how it ends. */
#include "filter/agent/agent.h"

#include "filter/remote/store.h"
#include "tests/unit/sandbox.h"

#define INIT(OPERATION)                                                                            \
	"{\"event\":\"init\",\"operation\":\"" OPERATION                                           \
	"\",\"remote\":\"origin\",\"concurrent\":false,\"concurrenttransfers\":1}\n"
#define TERMINATE "{\"event\":\"terminate\"}\n"

/* An answer's end: progress comes as often as it comes. */
#define COMPLETE(OID) "{\"event\":\"complete\",\"oid\":\"" OID "\""

/* printf "one" | sha256sum, and so on */
#define ONE "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
#define TWO "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"

#define UPLOAD(OID, FILE)                                                                          \
	"{\"event\":\"upload\",\"oid\":\"" OID "\",\"size\":3,\"path\":\"" FILE                    \
	"\",\"action\":null}\n"
#define DOWNLOAD(OID) "{\"event\":\"download\",\"oid\":\"" OID "\",\"size\":3,\"action\":null}\n"

static void make_store(void)
{
	struct store_settings settings = {.retries = 0};
	struct location location;
	struct store *store;
	struct fault fault;
	char path[128];

	snprintf(path, sizeof(path), "%s/store", sandbox_path);
	assert_int_equal(location_parse(path, NULL, &location, &fault), 0);
	assert_int_equal(store_open(&location, &settings, &store, &fault), 0);
	assert_int_equal(store_create(store, &fault), 0);
	store_close(store);
	location_release(&location);
}

/* A repository whose store is in a directory, and files that are to be its objects. */
static void arrange(const char *url)
{
	char command[256];

	sh("git init -q repository && mkdir store");
	assert_int_equal(chdir("repository"), 0);
	make_store();
	put_text("one", "one");
	put_text("two", "two");
	snprintf(command, sizeof(command), "git config lfs.url '%s'", url);
	sh(command);
}

/* Runs a session. Returns its result, and in *answers what it said, which the caller frees. */
static int run(const char *events, char **answers)
{
	FILE *in = fmemopen((void *)(uintptr_t)events, strlen(events), "r");
	size_t len = 0;
	FILE *out = open_memstream(answers, &len);
	int result;

	assert_non_null(in);
	assert_non_null(out);
	result = agent_run(in, out, false);
	fclose(in);
	fclose(out);
	return result;
}

static void has(const char *answers, const char *text)
{
	if (!strstr(answers, text))
		fail_msg("'%s' is not in: %s", text, answers);
}

static void begins(const char *answers, const char *text)
{
	if (strncmp(answers, text, strlen(text)) != 0)
		fail_msg("'%s' does not begin: %s", text, answers);
}

/* The path of what was downloaded; answers ends with it then. */
static char *path_in(char *answers)
{
	char *path;

	has(answers, COMPLETE(TWO) ",\"path\":\"/");
	path = strstr(answers, "\"path\":\"") + strlen("\"path\":\"");
	*strchr(path, '"') = 0;
	return path;
}

static void test_both_ways(void **state)
{
	char *answers;
	char *at;

	(void)state;
	arrange("brevis::../store");
	assert_int_equal(
		run(INIT("upload") UPLOAD(ONE, "one") UPLOAD(TWO, "two") TERMINATE, &answers), 0);
	begins(answers, "{}\n");
	has(answers,
	    "{\"event\":\"progress\",\"oid\":\"" ONE "\",\"bytesSoFar\":1,\"bytesSinceLast\":1}\n");
	has(answers, "\"bytesSoFar\":3,\"bytesSinceLast\":2}\n" COMPLETE(ONE) "}\n");
	has(answers, "\"bytesSoFar\":3,\"bytesSinceLast\":2}\n" COMPLETE(TWO) "}\n");
	free(answers);
	assert_file("../store/objects/76/92/" ONE, "one");

	assert_int_equal(run(INIT("download") DOWNLOAD(TWO) TERMINATE, &answers), 0);
	at = path_in(answers);
	assert_file(at, "two");
	free(answers);

	/* The end of the input is an end, too: of a git-lfs that has not taken the file. */
	assert_int_equal(run(INIT("download") DOWNLOAD(TWO), &answers), 0);
	at = path_in(answers);
	assert_int_equal(access(at, F_OK), -1);
	free(answers);
}

/* A failure is one line, with the store, the object, the cause and the remedy, and the others go
 * on. */
static void test_failures(void **state)
{
	char *answers;
	char *log;

	(void)state;
	arrange("brevis::../store");
	put_text("one", "oNe");
	assert_int_equal(run(INIT("upload") UPLOAD(ONE, "one") UPLOAD(TWO, "two"), &answers), 0);
	has(answers, COMPLETE(ONE) ",\"error\":{\"code\":8,\"message\":\"file:///");
	has(answers, "/store: objects/76/92/" ONE ": the object here is damaged");
	has(answers, COMPLETE(TWO) "}\n");
	free(answers);
	assert_int_equal(run(INIT("download") DOWNLOAD(ONE) DOWNLOAD(TWO), &answers), 0);
	has(answers, COMPLETE(ONE) ",\"error\":{\"code\":2,");
	has(answers, COMPLETE(TWO) ",\"path\":");
	free(answers);
	log = get_text(".git/lfs/brevis/transfer.log");
	has(log, " upload file:///");
	has(log, "/store: objects/76/92/" ONE ": damaged: the object here is damaged");
	has(log, ONE ": absent: ");
	free(log);
}

static void test_no_store(void **state)
{
	char *answers;

	(void)state;
	arrange("brevis::../nowhere");
	assert_int_equal(run(INIT("upload") UPLOAD(ONE, "one") UPLOAD(TWO, "two"), &answers), 0);
	begins(answers, "{}\n");
	has(answers, COMPLETE(ONE) ",\"error\":{\"code\":3,\"message\":\"file:///");
	has(answers, COMPLETE(TWO) ",\"error\":{\"code\":3,\"message\":\"file:///");
	free(answers);
}

/* With nowhere to go, all ends at init. */
static void test_refused(void **state)
{
	char *answers;
	char *log;

	(void)state;
	arrange("https://example.org/lfs");
	assert_int_equal(run(INIT("upload") UPLOAD(ONE, "one"), &answers), 0);
	begins(answers, "{\"error\":{\"code\":3,\"message\":\"");
	has(answers, "git brevis store init");
	has(answers, COMPLETE(ONE) ",\"error\":{\"code\":3,");
	free(answers);
	log = get_text(".git/lfs/brevis/transfer.log");
	has(log, "] init origin: no store: ");
	free(log);
	sh("git config lfs.url brevis::gopher://example.org/");
	assert_int_equal(run(INIT("upload"), &answers), 0);
	begins(answers, "{\"error\":{\"code\":9,\"message\":\"");
	free(answers);
}

static void test_no_protocol(void **state)
{
	static const char *const bad[] = {
		UPLOAD(ONE, "one"),
		INIT("upload") INIT("upload"),
		"GET / HTTP/1.1\n",
		INIT("upload") "{\"event\":\"upload\",\"oid\":\"../../"
			       "x\",\"size\":3,\"path\":\"one\"}\n",
	};
	char *answers;
	size_t i;

	(void)state;
	arrange("brevis::../store");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(run(bad[i], &answers), -1);
		assert_null(strstr(answers, "complete"));
		free(answers);
	}
}

/* Nobody listens: it ends instead of going on. */
static void test_not_heard(void **state)
{
	static const char events[] = INIT("upload") UPLOAD(ONE, "one");
	FILE *in = fmemopen((void *)(uintptr_t)events, sizeof(events) - 1, "r");
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	arrange("brevis::../store");
	assert_non_null(in);
	assert_non_null(out);
	assert_int_equal(agent_run(in, out, false), -1);
	fclose(in);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_both_ways),   SANDBOX_TEST(test_failures),
		SANDBOX_TEST(test_no_store),    SANDBOX_TEST(test_refused),
		SANDBOX_TEST(test_no_protocol), SANDBOX_TEST(test_not_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
