/* SPDX-License-Identifier: Apache-2.0 */
/* Where an S3 store is: what goes before what. */
#include "filter/remote/s3_place.h"

#include "tests/unit/sandbox.h"

static int enter(void **state)
{
	unsetenv("AWS_PROFILE");
	unsetenv("AWS_CONFIG_FILE");
	return sandbox_enter(state);
}

static int leave(void **state)
{
	return sandbox_leave(state);
}

/* What a URL and settings come to, as "ENDPOINT REGION path|virtual". */
static void assert_place(const char *url, const struct store_settings *settings,
			 const char *expected)
{
	struct location location;
	struct fault fault = {0};
	struct s3_place place;
	char text[256];

	assert_int_equal(location_parse(url, NULL, &location, &fault), 0);
	if (s3_place_find(&location, settings, &place, &fault) != 0)
		fail_msg("%s", fault.cause);
	snprintf(text, sizeof(text), "%s %s %s", place.endpoint, place.region,
		 place.path_style ? "path" : "virtual");
	assert_string_equal(text, expected);
	s3_place_release(&place);
	assert_null(place.endpoint);
	location_release(&location);
}

#define ALL_SAID "s3://b?endpoint=https://theirs&region=theirs-1&addressing=virtual"

static void test_nothing_said(void **state)
{
	static const struct store_settings none;

	(void)state;
	assert_place("s3://b", &none, "https://s3.us-east-1.amazonaws.com us-east-1 virtual");
	assert_place("s3://b?region=eu-1", &none, "https://s3.eu-1.amazonaws.com eu-1 virtual");
	assert_int_equal(mkdir(".aws", 0700), 0);
	put_text(".aws/config", "[default]\nregion = of-the-profile\n");
	assert_place("s3://b", &none,
		     "https://s3.of-the-profile.amazonaws.com of-the-profile virtual");
	assert_place("s3://b?region=eu-1", &none, "https://s3.eu-1.amazonaws.com eu-1 virtual");
}

static void test_url(void **state)
{
	static const struct store_settings none;

	(void)state;
	assert_place(ALL_SAID, &none, "https://theirs theirs-1 virtual");
	assert_place("s3://b?endpoint=https://theirs", &none, "https://theirs us-east-1 path");
	assert_place("s3://b?addressing=path", &none,
		     "https://s3.us-east-1.amazonaws.com us-east-1 path");
	assert_place("s3://b?endpoint=http://localhost:1&addressing=virtual", &none,
		     "http://localhost:1 us-east-1 virtual");
	/* Nothing can stand before an address. */
	assert_place("s3://b?endpoint=http://127.0.0.1:1&addressing=virtual", &none,
		     "http://127.0.0.1:1 us-east-1 path");
	assert_place("s3://b?endpoint=http://[::1]:1&addressing=virtual", &none,
		     "http://[::1]:1 us-east-1 path");
}

/* Each for itself; and what is ours may be without TLS. */
static void test_settings_go_before(void **state)
{
	const struct store_settings endpoint = {.s3_endpoint = (char *)"HTTP://Ours:9000//"};
	const struct store_settings region = {.s3_region = (char *)"ours-1"};
	const struct store_settings addressing = {.s3_addressing = (char *)"path"};

	(void)state;
	assert_place("s3://b", &endpoint, "http://ours:9000 us-east-1 path");
	assert_place(ALL_SAID, &endpoint, "http://ours:9000 theirs-1 virtual");
	assert_place(ALL_SAID, &region, "https://theirs ours-1 virtual");
	assert_place(ALL_SAID, &addressing, "https://theirs theirs-1 path");
}

static void assert_refused(struct store_settings settings, const char *why)
{
	struct location location;
	struct fault fault = {0};
	struct s3_place place;

	assert_int_equal(location_parse("s3://b", NULL, &location, &fault), 0);
	assert_int_equal(s3_place_find(&location, &settings, &place, &fault), -1);
	assert_int_equal(fault.kind, FAULT_LOCAL);
	assert_non_null(strstr(fault.cause, why));
	assert_null(strstr(fault.cause, "hunter2"));
	assert_null(place.region);
	location_release(&location);
}

static void test_refused(void **state)
{
	static const char *const endpoints[] = {"http://me:hunter2@host", "http://host?sig=hunter2",
						"file:///etc", "https://", ""};
	static const char *const regions[] = {"eu/../x", "eu:1", ""};

	(void)state;
	for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++)
		assert_refused((struct store_settings){.s3_endpoint = (char *)endpoints[i]},
			       "endpoint");
	for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++)
		assert_refused((struct store_settings){.s3_region = (char *)regions[i]}, "region");
	assert_refused((struct store_settings){.s3_addressing = (char *)"sideways"}, "addressing");
}

#define PLACE_TEST(function) cmocka_unit_test_setup_teardown(function, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE_TEST(test_nothing_said),
		PLACE_TEST(test_url),
		PLACE_TEST(test_settings_go_before),
		PLACE_TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
