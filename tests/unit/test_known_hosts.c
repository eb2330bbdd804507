/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a host's key is known, as ssh would say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "filter/remote/known_hosts.h"

/* "[example.org]:2222" and "example.org" as ssh-keygen -H hides them. */
#define HIDDEN_PORT "|1|VG8QVaIxZm2w/QJpRfWOOnMPTIU=|c1I0orpiImizJALIFuoQJMpBw3M="
#define HIDDEN_NAME "|1|ASrDYrG5fnCd/td0jpiwu8ilucw=|Bdkm4lp80nEbSlcRspvR2MhV9nI="

/* What files say, first 22 and then 2222 is asked for; lines of all kinds one after another. */
struct known_case {
	const char *text;
	unsigned port;
	const char *expected;
};

static void check(const struct known_case *one)
{
	struct known_host known;
	struct buffer all = BUFFER_INIT;

	known_host_init(&known, "example.org", one->port);
	assert_int_equal(known_host_add(&known, one->text, strlen(one->text)), 0);
	known_host_seal(&known);
	for (size_t i = 0; i < KNOWN_HOST_KINDS; i++)
		buffer_append(&all, known.lines[i].data, known.lines[i].size);
	buffer_u8(&all, '\0');
	assert_string_equal((const char *)all.data, one->expected);
	assert_int_equal(known_host_found(&known), *one->expected != '\0');
	buffer_release(&all);
	known_host_release(&known);
}

static void test_names(void **state)
{
	static const struct known_case cases[] = {
		{"", 22, ""},
		{"example.org ssh-ed25519 AAAA", 22, "example.org ssh-ed25519 AAAA\n"},
		{"example.org ssh-ed25519 AAAA comment\r\n", 22, "example.org ssh-ed25519 AAAA\n"},
		{"  192.0.2.1,Example.ORG\tssh-ed25519  AAAA\n", 22,
		 "example.org ssh-ed25519 AAAA\n"},
		{"*.org ssh-ed25519 AAAA\n", 22, "example.org ssh-ed25519 AAAA\n"},
		{"ex?mple.* ssh-ed25519 AAAA\n", 22, "example.org ssh-ed25519 AAAA\n"},
		{"*.org,!example.org ssh-ed25519 AAAA\n", 22, ""},
		{"example.or,xample.org,example.orga ssh-ed25519 AAAA\n", 22, ""},
		{"#example.org ssh-ed25519 AAAA\n", 22, ""},
		{"example.org ssh-ed25519\n", 22, ""},
		{"example.org ssh-dss AAAA\n", 22, ""},
		{"@cert-authority example.org ssh-ed25519 AAAA\n", 22, ""},
		/* The best kind first, whatever the order. */
		{"example.org ssh-rsa R\nexample.org ecdsa-sha2-nistp256 E\n"
		 "example.org ssh-ed25519 D\nother.org ssh-ed25519 O\n",
		 22,
		 "example.org ssh-ed25519 D\nexample.org ecdsa-sha2-nistp256 E\n"
		 "example.org ssh-rsa R\n"},
		{"example.org ssh-ed25519 A\nexample.org ssh-ed25519 B", 22,
		 "example.org ssh-ed25519 A\nexample.org ssh-ed25519 B\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(&cases[i]);
}

/* What is known of the port counts alone; without, what is known of the name. */
static void test_ports(void **state)
{
	static const struct known_case cases[] = {
		{"[example.org]:2222 ssh-ed25519 P\n", 2222, "[example.org]:2222 ssh-ed25519 P\n"},
		{"[example.org]:2222 ssh-ed25519 P\n", 22, ""},
		{"[example.org]:2222 ssh-ed25519 P\n", 222, ""},
		{"example.org ssh-ed25519 N\n", 2222, "[example.org]:2222 ssh-ed25519 N\n"},
		{"example.org ssh-rsa N\n[example.org]:2222 ssh-ed25519 P\n"
		 "example.org ssh-ed25519 N\n",
		 2222, "[example.org]:2222 ssh-ed25519 P\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(&cases[i]);
}

static void test_hidden(void **state)
{
	static const struct known_case cases[] = {
		{HIDDEN_NAME " ssh-ed25519 AAAA\n", 22, "example.org ssh-ed25519 AAAA\n"},
		{HIDDEN_PORT " ssh-ed25519 AAAA\n", 22, ""},
		{HIDDEN_PORT " ssh-ed25519 AAAA\n", 2222, "[example.org]:2222 ssh-ed25519 AAAA\n"},
		/* Damaged ones fit nobody. */
		{"|1|VG8QVaIxZm2w/QJpRfWOOnMPTIU= ssh-ed25519 AAAA\n", 22, ""},
		{"|1|| ssh-ed25519 AAAA\n", 22, ""},
		{"|1| ssh-ed25519 AAAA\n", 22, ""},
		{"|1|!SrDYrG5fnCd/td0jpiwu8ilucw=|Bdkm4lp80nEbSlcRspvR2MhV9nI= ssh-ed25519 A\n", 22,
		 ""},
		{"|1|ASrDYrG5fnCd/td0jpiwu8ilucw=|Bdkm4lp80nEbSlcRspvR2MhV9nI=AAAAAAAA "
		 "ssh-ed25519 A\n",
		 22, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(&cases[i]);
}

/* Of two files one may revoke what the other knows. */
static void test_revoked(void **state)
{
	static const char first[] = "example.org ssh-ed25519 A\nexample.org ssh-ed25519 B\n";
	static const char second[] = "@revoked * ssh-ed25519 A\n@revoked other.org ssh-ed25519 B\n";
	struct known_host known;

	(void)state;
	known_host_init(&known, "example.org", 22);
	assert_int_equal(known_host_add(&known, first, strlen(first)), 0);
	assert_int_equal(known_host_add(&known, second, strlen(second)), 0);
	known_host_seal(&known);
	assert_int_equal(known.lines[0].size, strlen("example.org ssh-ed25519 B\n"));
	assert_memory_equal(known.lines[0].data, "example.org ssh-ed25519 B\n",
			    known.lines[0].size);
	known_host_release(&known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_revoked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
