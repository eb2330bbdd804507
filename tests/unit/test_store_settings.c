/* SPDX-License-Identifier: Apache-2.0 */
/* How stores are talked to, and which one it is: git's files, .lfsconfig, the environment. */
#include "filter/remote/settings.h"

#include "filter/git/repository.h"
#include "tests/unit/sandbox.h"

static const char *const variables[] = {
	"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION",
	"AWS_DEFAULT_REGION",  "GIT_SSL_CAINFO",   "GIT_SSL_NO_VERIFY",
};

static int enter(void **state)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	if (sandbox_enter(state) != 0)
		return -1;
	return system("git init -q -b main repo") || chdir("repo") ? -1 : 0;
}

static int leave(void **state)
{
	return sandbox_leave(state);
}

static struct repository *open_repository(void)
{
	struct repository *repository;

	assert_int_equal(repository_open(&repository), 0);
	return repository;
}

static struct store_settings read_good(void)
{
	struct repository *repository = open_repository();
	struct store_settings settings;
	struct fault fault = {0};

	if (store_settings_read(repository, &settings, &fault) != 0)
		fail_msg("%s", fault.cause);
	repository_free(repository);
	return settings;
}

static void test_unset(void **state)
{
	struct store_settings s = read_good();
	char path[256];

	(void)state;
	assert_int_equal(s.retries, 8);
	assert_int_equal(s.max_delay_ms, 10000);
	assert_int_equal(s.parallel, 4);
	assert_int_equal(s.dial_timeout_s, 30);
	assert_int_equal(s.idle_timeout_s, 30);
	assert_int_equal(s.sync, SYNC_BEGIN);
	snprintf(path, sizeof(path), "%s/repo/.git/lfs/brevis", sandbox_path);
	assert_string_equal(s.state_dir, path);
	snprintf(path, sizeof(path), "%s/.ssh/known_hosts", sandbox_path);
	assert_string_equal(s.known_hosts, path);
	assert_null(s.ssh_key);
	assert_null(s.ca_info);
	assert_null(s.proxy);
	assert_true(s.tls_verify);
	assert_null(s.s3_endpoint);
	assert_null(s.s3_region);
	assert_null(s.s3_addressing);
	store_settings_release(&s);
	assert_null(s.state_dir);
}

static void test_set(void **state)
{
	struct store_settings s;
	char path[256];

	(void)state;
	put_text("../config", "[lfs]\n\tconcurrenttransfers = 99\n\tdialtimeout = 5\n"
			      "\tactivitytimeout = 0\n"
			      "[lfs \"transfer\"]\n\tmaxretries = 2\n\tmaxretrydelay = 0\n"
			      "[brevis]\n\tfsync = true\n[brevis \"store\"]\n\tpartSize = 16m\n"
			      "[brevis \"sftp\"]\n\tknownHosts = ~/hosts\n\tkey = /k/id\n"
			      "[brevis \"s3\"]\n\tregion = eu-1\n\taddressing = path\n"
			      "[http]\n\tsslCAInfo = ~/ca.pem\n\tsslVerify = no\n\tproxy = p:1\n");
	sh("git config include.path ../../config");
	s = read_good();
	assert_int_equal(s.retries, 2);
	assert_int_equal(s.max_delay_ms, 0);
	assert_int_equal(s.parallel, 16);
	assert_int_equal(s.dial_timeout_s, 5);
	assert_int_equal(s.idle_timeout_s, 0);
	assert_int_equal(s.part_size, 16 << 20);
	assert_int_equal(s.sync, SYNC_DURABLE);
	snprintf(path, sizeof(path), "%s/hosts", sandbox_path);
	assert_string_equal(s.known_hosts, path);
	assert_string_equal(s.ssh_key, "/k/id");
	snprintf(path, sizeof(path), "%s/ca.pem", sandbox_path);
	assert_string_equal(s.ca_info, path);
	assert_string_equal(s.proxy, "p:1");
	assert_false(s.tls_verify);
	assert_null(s.s3_endpoint);
	assert_string_equal(s.s3_region, "eu-1");
	assert_string_equal(s.s3_addressing, "path");
	store_settings_release(&s);

	/* What makes no sense counts as not set. */
	sh("git config lfs.transfer.maxretries 0");
	sh("git config lfs.transfer.maxretrydelay -3");
	sh("git config lfs.concurrenttransfers 0");
	sh("git config lfs.dialtimeout 0");
	sh("git config brevis.store.partSize -1");
	s = read_good();
	assert_int_equal(s.part_size, 0);
	assert_int_equal(s.retries, 8);
	assert_int_equal(s.max_delay_ms, 10000);
	assert_int_equal(s.parallel, 4);
	assert_int_equal(s.dial_timeout_s, 30);
	store_settings_release(&s);

	sh("git config brevis.store.partSize 1000");
	s = read_good();
	assert_int_equal(s.part_size, 64 << 10);
	store_settings_release(&s);
}

static void test_environment(void **state)
{
	struct store_settings s;

	(void)state;
	sh("git config brevis.s3.endpoint http://configured");
	sh("git config brevis.s3.region configured");
	sh("git config http.sslCAInfo /configured");
	s = read_good();
	assert_string_equal(s.s3_endpoint, "http://configured");
	assert_string_equal(s.s3_region, "configured");
	store_settings_release(&s);
	setenv("AWS_DEFAULT_REGION", "by-default", 1);
	setenv("AWS_ENDPOINT_URL", "http://[::1]:9000", 1);
	setenv("GIT_SSL_CAINFO", "/ca", 1);
	setenv("GIT_SSL_NO_VERIFY", "false", 1);
	setenv("AWS_REGION", "", 1); /* as if it were not set */
	s = read_good();
	assert_string_equal(s.s3_endpoint, "http://[::1]:9000");
	assert_string_equal(s.s3_region, "by-default");
	assert_string_equal(s.ca_info, "/ca");
	assert_true(s.tls_verify);
	store_settings_release(&s);
	setenv("AWS_REGION", "first", 1);
	setenv("AWS_ENDPOINT_URL_S3", "https://s3.host/door", 1);
	setenv("GIT_SSL_NO_VERIFY", "1", 1);
	s = read_good();
	assert_string_equal(s.s3_endpoint, "https://s3.host/door");
	assert_string_equal(s.s3_region, "first");
	assert_false(s.tls_verify);
	store_settings_release(&s);
}

/* Nothing of what strangers commit. */
static void test_lfsconfig(void **state)
{
	struct store_settings s;

	(void)state;
	put_text(".lfsconfig", "[brevis \"s3\"]\n\tendpoint = https://theirs\n\tregion = theirs-1\n"
			       "\taddressing = virtual\n"
			       "[brevis \"sftp\"]\n\tknownHosts = /theirs\n\tkey = /theirs\n"
			       "[http]\n\tproxy = theirs\n\tsslVerify = false\n"
			       "\tsslCAInfo = /theirs\n"
			       "[lfs]\n\tconcurrenttransfers = 1\n"
			       "[lfs \"transfer\"]\n\tmaxretries = 1\n");
	s = read_good();
	assert_null(s.s3_endpoint);
	assert_null(s.s3_region);
	assert_null(s.s3_addressing);
	assert_null(strstr(s.known_hosts, "theirs"));
	assert_null(s.ssh_key);
	assert_null(s.proxy);
	assert_null(s.ca_info);
	assert_true(s.tls_verify);
	assert_int_equal(s.parallel, 4);
	assert_int_equal(s.retries, 8);
	store_settings_release(&s);
}

/* ---- the store's URL ------------------------------------------------------------------------- */

static void assert_url(const char *remote, bool upload, const char *expected)
{
	struct repository *repository = open_repository();
	char *url = store_url(repository, remote, upload);

	if (!expected) {
		assert_null(url);
	} else {
		assert_non_null(url);
		assert_string_equal(url, expected);
	}
	free(url);
	repository_free(repository);
}

static void test_url_order(void **state)
{
	(void)state;
	assert_url("origin", true, NULL);
	sh("git config remote.origin.url https://host/repo");
	sh("git config remote.other.url https://host/other");
	assert_url("origin", true, NULL);
	sh("git config remote.origin.lfsurl brevis::/of-origin");
	assert_url("origin", true, "/of-origin");
	assert_url(NULL, false, "/of-origin");
	assert_url("", false, "/of-origin");
	assert_url("other", true, NULL);
	assert_url("https://host/x", true, NULL);
	assert_url("unknown", true, "/of-origin");
	sh("git config remote.origin.lfspushurl brevis::/pushed");
	assert_url("origin", true, "/pushed");
	assert_url("origin", false, "/of-origin");
	sh("git config lfs.url brevis::s3://b/p");
	assert_url("origin", true, "s3://b/p");
	assert_url("other", false, "s3://b/p");
	assert_url("https://host/x", false, "s3://b/p");
	sh("git config lfs.pushurl https://host/lfs");
	assert_url("origin", true, NULL);
	assert_url("origin", false, "s3://b/p");
}

static void test_url_of_lfsconfig(void **state)
{
	(void)state;
	put_text(".lfsconfig", "[lfs]\n\turl = brevis::sftp://h/s\n[remote \"r\"]\n"
			       "\tlfspushurl = brevis::/refused\n\tlfsurl = brevis::/r\n");
	assert_url(NULL, true, "sftp://h/s");
	sh("git config lfs.url brevis::/ours");
	assert_url(NULL, true, "/ours");
	sh("git config --unset lfs.url; git config -f .lfsconfig --unset lfs.url");
	assert_url("r", true, "/r");

	/* The index's, and HEAD's; also in a bare repository. */
	put_text(".lfsconfig", "[lfs]\n\turl = brevis::/of-head\n");
	sh("git add -A && git commit -qm 1");
	sh("git config -f .lfsconfig lfs.url brevis::/of-index && git add -A && rm .lfsconfig");
	assert_url(NULL, true, "/of-index");
	sh("git rm -q --cached .lfsconfig");
	assert_url(NULL, true, "/of-head");
	sh("git clone -q --bare . ../bare.git");
	assert_int_equal(chdir("../bare.git"), 0);
	assert_url(NULL, true, "/of-head");
}

/* Broken, it is as if it said nothing. Includes are followed, as git-lfs does. */
static void test_odd_lfsconfig(void **state)
{
	(void)state;
	put_text("elsewhere", "[lfs]\n\turl = brevis::/elsewhere\n");
	/* What a stranger includes may be any file of this machine. */
	put_text(".lfsconfig", "[include]\n\tpath = elsewhere\n");
	assert_url(NULL, true, NULL);
	put_text(".lfsconfig", "[lfs]\n\turl = brevis::/a\n[broken\n");
	assert_url(NULL, true, NULL);
}

/* From a directory below the top. */
static void test_url_from_below(void **state)
{
	(void)state;
	put_text(".lfsconfig", "[lfs]\n\turl = brevis::/a\n");
	sh("mkdir -p deep/er");
	assert_int_equal(chdir("deep/er"), 0);
	assert_url(NULL, true, "/a");
}

#define SETTINGS_TEST(function) cmocka_unit_test_setup_teardown(function, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SETTINGS_TEST(test_unset),         SETTINGS_TEST(test_set),
		SETTINGS_TEST(test_environment),   SETTINGS_TEST(test_lfsconfig),
		SETTINGS_TEST(test_url_order),     SETTINGS_TEST(test_url_of_lfsconfig),
		SETTINGS_TEST(test_odd_lfsconfig), SETTINGS_TEST(test_url_from_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
