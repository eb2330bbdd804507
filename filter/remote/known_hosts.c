/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/known_hosts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/digest.h"

#define NAME_SIZE 300 /* "[HOST]:PORT" */
#define SSH_PORT  22

static const char *const kinds[KNOWN_HOST_KINDS] = {"ssh-ed25519", "ecdsa-sha2-nistp256",
						    "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
						    "ssh-rsa"};

/* A word of a line. */
struct word {
	const char *at;
	size_t len;
};

const char *known_host_kind(size_t kind)
{
	return kinds[kind];
}

void known_host_init(struct known_host *known, const char *name, unsigned port)
{
	memset(known, 0, sizeof(*known));
	known->name = name;
	known->port = port;
}

void known_host_release(struct known_host *known)
{
	for (size_t i = 0; i < KNOWN_HOST_KINDS; i++)
		buffer_release(&known->lines[i]);
	buffer_release(&known->revoked);
}

bool known_host_found(const struct known_host *known)
{
	bool found = false;

	for (size_t i = 0; i < KNOWN_HOST_KINDS; i++)
		found = found || known->lines[i].size > 0;
	return found;
}

static struct word next_word(const char **at, const char *end)
{
	struct word word;

	while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
		(*at)++;
	word.at = *at;
	while (*at < end && **at != ' ' && **at != '\t' && **at != '\r')
		(*at)++;
	word.len = (size_t)(*at - word.at);
	return word;
}

static bool word_is(struct word word, const char *text)
{
	return word.len == strlen(text) && memcmp(word.at, text, word.len) == 0;
}

/* The value of a digit of base64, or -1. */
static int digit_of(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decodes base64 of exactly SHA1_SIZE bytes. */
static bool decode(struct word text, uint8_t out[SHA1_SIZE])
{
	unsigned bits = 0;
	unsigned held = 0;
	size_t n = 0;

	while (text.len && text.at[text.len - 1] == '=')
		text.len--;
	for (size_t i = 0; i < text.len; i++) {
		int digit = digit_of(text.at[i]);

		if (digit < 0)
			return false;
		bits = (bits << 6 | (unsigned)digit) & 0xffffff;
		held += 6;
		if (held < 8)
			continue;
		held -= 8;
		if (n == SHA1_SIZE)
			return false;
		out[n++] = (uint8_t)(bits >> held);
	}
	return n == SHA1_SIZE;
}

/* "|1|SALT|HASH": the hash is an HMAC of the name under the salt. */
static bool matches_hash(struct word pattern, const char *name)
{
	uint8_t salt[SHA1_SIZE];
	uint8_t hash[SHA1_SIZE];
	uint8_t own[SHA1_SIZE];
	struct word first = {pattern.at + 3, pattern.len - 3};
	const char *bar = memchr(first.at, '|', first.len);
	struct word second;

	if (!bar)
		return false;
	second.at = bar + 1;
	second.len = (size_t)(first.at + first.len - second.at);
	first.len = (size_t)(bar - first.at);
	if (!decode(first, salt) || !decode(second, hash))
		return false;
	hmac_sha1(salt, sizeof(salt), name, strlen(name), own);
	return memcmp(own, hash, sizeof(own)) == 0;
}

/* Whether a name fits a pattern with * and ?, in any case of letters. */
static bool matches_glob(struct word glob, const char *name)
{
	const char *at = glob.at;
	const char *end = glob.at + glob.len;
	const char *star = NULL;
	const char *resume = NULL;

	while (*name) {
		if (at < end && *at == '*') {
			star = ++at;
			resume = name;
		} else if (at < end && (*at == '?' || tolower((unsigned char)*at) ==
							      tolower((unsigned char)*name))) {
			at++;
			name++;
		} else if (star) {
			at = star;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (at < end && *at == '*')
		at++;
	return at == end;
}

/* Whether a list of patterns, which a "!" negates, fits a name. */
static bool matches(struct word list, const char *name)
{
	const char *end = list.at + list.len;
	bool found = false;

	if (list.len > 3 && memcmp(list.at, "|1|", 3) == 0)
		return matches_hash(list, name);
	for (const char *at = list.at; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		struct word glob = {at, (size_t)((comma ? comma : end) - at)};
		bool negated = glob.len && *glob.at == '!';

		if (negated) {
			glob.at++;
			glob.len--;
		}
		if (matches_glob(glob, name)) {
			if (negated)
				return false;
			found = true;
		}
		at = comma ? comma + 1 : end;
	}
	return found;
}

static void append(struct buffer *out, struct word word, char end)
{
	buffer_append(out, word.at, word.len);
	buffer_u8(out, (uint8_t)end);
}

static int failed(const struct known_host *known)
{
	bool bad = buffer_failed(&known->revoked);

	for (size_t i = 0; i < KNOWN_HOST_KINDS; i++)
		bad = bad || buffer_failed(&known->lines[i]);
	return bad ? -1 : 0;
}

/* Adds a key that fits the name with its port, or only the name. */
static void add_key(struct known_host *known, const char *name, bool of_port, struct word kind,
		    struct word key)
{
	size_t i = 0;

	while (i < KNOWN_HOST_KINDS && !word_is(kind, kinds[i]))
		i++;
	if (i == KNOWN_HOST_KINDS || (known->of_port && !of_port))
		return;
	/* What is known of the port itself is all that counts. */
	for (size_t j = 0; of_port && !known->of_port && j < KNOWN_HOST_KINDS; j++)
		buffer_clear(&known->lines[j]);
	known->of_port = of_port;
	append(&known->lines[i], (struct word){name, strlen(name)}, ' ');
	append(&known->lines[i], kind, ' ');
	append(&known->lines[i], key, '\n');
}

static void add_line(struct known_host *known, const char *name, const char *at, const char *end)
{
	struct word first = next_word(&at, end);
	bool revoked = word_is(first, "@revoked");
	struct word list = revoked ? next_word(&at, end) : first;
	struct word kind = next_word(&at, end);
	struct word key = next_word(&at, end);
	bool of_port;

	if (!key.len || *first.at == '#' || (*first.at == '@' && !revoked))
		return;
	of_port = matches(list, name);
	if (!of_port && !matches(list, known->name))
		return;
	if (revoked)
		append(&known->revoked, key, '\n');
	else
		add_key(known, name, of_port, kind, key);
}

int known_host_add(struct known_host *known, const char *text, size_t len)
{
	const char *end = text + len;
	char name[NAME_SIZE];

	if (known->port == SSH_PORT)
		snprintf(name, sizeof(name), "%s", known->name);
	else
		snprintf(name, sizeof(name), "[%s]:%u", known->name, known->port);
	while (text < end) {
		const char *line_end = memchr(text, '\n', (size_t)(end - text));

		if (!line_end)
			line_end = end;
		add_line(known, name, text, line_end);
		text = line_end < end ? line_end + 1 : end;
	}
	return failed(known);
}

/* Whether a key is one of those that were revoked. */
static bool is_revoked(const struct known_host *known, struct word key)
{
	const char *at = (const char *)known->revoked.data;
	const char *end = at + known->revoked.size;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		if (key.len == (size_t)(line_end - at) && memcmp(key.at, at, key.len) == 0)
			return true;
		at = line_end + 1;
	}
	return false;
}

/* Takes lines with revoked keys out of those of a kind. */
static void drop_revoked(const struct known_host *known, struct buffer *lines)
{
	char *at = (char *)lines->data;
	size_t kept = 0;
	size_t len;

	for (size_t i = 0; i < lines->size; i += len) {
		const char *line_end = memchr(at + i, '\n', lines->size - i);
		const char *key = memrchr(at + i, ' ', (size_t)(line_end - (at + i)));

		len = (size_t)(line_end - (at + i)) + 1;
		if (is_revoked(known, (struct word){key + 1, (size_t)(line_end - key) - 1}))
			continue;
		memmove(at + kept, at + i, len);
		kept += len;
	}
	lines->size = kept;
}

void known_host_seal(struct known_host *known)
{
	for (size_t i = 0; known->revoked.size && i < KNOWN_HOST_KINDS; i++)
		drop_revoked(known, &known->lines[i]);
}
