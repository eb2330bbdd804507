/* SPDX-License-Identifier: Apache-2.0 */
/* The AWS keys, from the environment and from the files that other tools have written. */
#include "tests/unit/sandbox.h"

#include "filter/remote/aws_credentials.h"

/* No variable of the caller's. */
static int enter(void **state)
{
	static const char *const unset[] = {"AWS_ACCESS_KEY_ID",           "AWS_SECRET_ACCESS_KEY",
					    "AWS_SESSION_TOKEN",           "AWS_PROFILE",
					    "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"};
	size_t i;

	for (i = 0; i < sizeof(unset) / sizeof(*unset); i++)
		unsetenv(unset[i]);
	if (sandbox_enter(state) != 0)
		return -1;
	return mkdir(".aws", 0700);
}

#define CREDENTIALS_TEST(function) cmocka_unit_test_setup_teardown(function, enter, sandbox_leave)

/* token NULL: none. */
static void assert_found(const char *key_id, const char *secret, const char *token)
{
	struct aws_credentials found;
	struct fault fault = {0};

	if (aws_credentials_read(&found, &fault) != 0)
		fail_msg("%s", fault.cause);
	assert_string_equal(found.key_id, key_id);
	assert_string_equal(found.secret, secret);
	if (token)
		assert_string_equal(found.token, token);
	else
		assert_null(found.token);
	aws_credentials_release(&found);
	assert_null(found.secret);
}

/* Says so, with a remedy, and without what must not be told. */
static void assert_denied(const char *cause, const char *remedy)
{
	struct aws_credentials found;
	struct fault fault = {0};

	assert_int_equal(aws_credentials_read(&found, &fault), -1);
	assert_int_equal(fault.kind, FAULT_DENIED);
	assert_string_equal(fault.cause, cause);
	assert_non_null(strstr(fault.remedy, remedy));
	assert_null(found.key_id);
	assert_null(found.secret);
	assert_null(found.token);
}

static void test_environment(void **state)
{
	(void)state;
	put_text(".aws/credentials", "[default]\naws_access_key_id=F\naws_secret_access_key=FS\n");
	setenv("AWS_ACCESS_KEY_ID", "E", 1);
	assert_denied("the environment has AWS_ACCESS_KEY_ID, but no AWS_SECRET_ACCESS_KEY",
		      "set both");
	setenv("AWS_SECRET_ACCESS_KEY", "ES", 1);
	assert_found("E", "ES", NULL);
	setenv("AWS_SESSION_TOKEN", "ET", 1);
	assert_found("E", "ES", "ET");
	/* A token alone says nothing, and is none of the file's. */
	setenv("AWS_ACCESS_KEY_ID", "", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "", 1);
	assert_found("F", "FS", NULL);
	setenv("AWS_SECRET_ACCESS_KEY", "hidden", 1);
	assert_denied("the environment has AWS_SECRET_ACCESS_KEY, but no AWS_ACCESS_KEY_ID",
		      "set both");
}

static void test_none(void **state)
{
	(void)state;
	assert_denied("there are no AWS credentials", "AWS_ACCESS_KEY_ID");
	put_text(".aws/config", "[default]\nregion = eu-west-1\n");
	assert_denied("profile default has no aws_access_key_id", "export-credentials");
	setenv("AWS_PROFILE", "gone", 1);
	assert_denied("profile gone is neither in ~/.aws/credentials nor in ~/.aws/config",
		      "AWS_PROFILE");
	unsetenv("AWS_PROFILE");
	unsetenv("HOME");
	assert_denied("there are no AWS credentials", "AWS_ACCESS_KEY_ID");
}

static void test_half_a_profile(void **state)
{
	(void)state;
	put_text(".aws/credentials", "[default]\naws_secret_access_key = hidden\n");
	put_text(".aws/config", "[default]\naws_access_key_id = A\naws_secret_access_key = S\n");
	assert_denied("profile default in ~/.aws/credentials has aws_secret_access_key, but no "
		      "aws_access_key_id",
		      "set both");
}

static void test_profiles(void **state)
{
	(void)state;
	put_text(".aws/credentials", "# keys\n"
				     "[other]\n"
				     "aws_access_key_id = O\n"
				     "aws_secret_access_key = OS\n"
				     "aws_session_token = OT\n"
				     "\n"
				     "[default]\r\n"
				     "; of mine\r\n"
				     "AWS_Access_Key_Id: D\r\n"
				     "aws_secret_access_key=a=b:c+/ #no comment\r\n"
				     "[profile config]\n"
				     "aws_access_key_id = wrong\n");
	put_text(".aws/config", "[other]\n"
				"region = wrong\n"
				"[default]\n"
				"region = eu-west-1\n"
				"[profile config]\n"
				"aws_access_key_id = C\n"
				"aws_secret_access_key = CS\n"
				"[profile \"two words\"]\n"
				"aws_access_key_id = T\n"
				"aws_secret_access_key = TS\n"
				"endpoint_url = http://localhost:1\n"
				"[profile other]\n"
				"region = us-west-2\n");
	assert_found("D", "a=b:c+/ #no comment", NULL);
	setenv("AWS_PROFILE", "other", 1);
	assert_found("O", "OS", "OT");
	setenv("AWS_PROFILE", "config", 1);
	assert_found("C", "CS", NULL);
	setenv("AWS_PROFILE", "two words", 1);
	assert_found("T", "TS", NULL);
}

/* What is deeper than a name belongs to its value. */
static void test_nested(void **state)
{
	(void)state;
	put_text(".aws/config", "[default]\n"
				"s3 =\n"
				"  aws_access_key_id = nested\n"
				"\n"
				"  # still nested\n"
				"  region = nested\n"
				"region = eu-central-1\n"
				"  region = goes on\n"
				"[profile deep]\n"
				"  aws_access_key_id = A\n"
				"  aws_secret_access_key = S\n"
				"    aws_session_token = nested\n");
	assert_denied("profile default has no aws_access_key_id", "");
	setenv("AWS_PROFILE", "deep", 1);
	assert_found("A", "S", NULL);
}

static void assert_setting(const char *name, const char *expected)
{
	char *value = aws_profile_setting(name);

	if (expected)
		assert_string_equal(value, expected);
	else
		assert_null(value);
	free(value);
}

static void test_settings(void **state)
{
	(void)state;
	assert_setting("region", NULL);
	put_text(".aws/config", "[default]\nregion = eu-west-1\noutput =\n"
				"[profile lab]\nregion = lab-1\nendpoint_url = http://lab:80/\n");
	put_text(".aws/credentials", "[default]\nregion = wrong\n");
	assert_setting("region", "eu-west-1");
	assert_setting("output", NULL);
	assert_setting("endpoint_url", NULL);
	setenv("AWS_PROFILE", "lab", 1);
	assert_setting("region", "lab-1");
	assert_setting("endpoint_url", "http://lab:80/");
}

static void test_files_elsewhere(void **state)
{
	struct aws_credentials found;
	struct fault fault = {0};

	(void)state;
	put_text("keys", "[default]\naws_access_key_id = K\naws_secret_access_key = KS\n");
	put_text("config", "[default]\nregion = here\n");
	setenv("AWS_SHARED_CREDENTIALS_FILE", "~/keys", 1);
	setenv("AWS_CONFIG_FILE", "config", 1);
	assert_found("K", "KS", NULL);
	assert_setting("region", "here");
	setenv("AWS_SHARED_CREDENTIALS_FILE", ".aws", 1);
	assert_int_equal(aws_credentials_read(&found, &fault), -1);
	assert_int_equal(fault.kind, FAULT_LOCAL);
	assert_non_null(strstr(fault.cause, "cannot read .aws"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CREDENTIALS_TEST(test_environment),    CREDENTIALS_TEST(test_none),
		CREDENTIALS_TEST(test_half_a_profile), CREDENTIALS_TEST(test_profiles),
		CREDENTIALS_TEST(test_nested),         CREDENTIALS_TEST(test_settings),
		CREDENTIALS_TEST(test_files_elsewhere)};

	return cmocka_run_group_tests_name("aws credentials", tests, NULL, NULL);
}
