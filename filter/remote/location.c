/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/location.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buffer.h"
#include "filter/remote/network.h"
#include "filter/remote/s3_place.h"

#define SCHEMES                                                                                    \
	"a store is a directory, file:///path, sftp://host/path, dav+https://host/path or "        \
	"s3://bucket/prefix"

#define PLAIN_USER                                                                                 \
	"use an account there whose name is letters, digits, '.', '_' and, not first, '-'"

/* What a shell takes for more than letters of a word. */
#define SHELL_SIGNS " '`\"$;&<>|(){}"

/* What a URL may begin with. */
static const struct scheme {
	const char *name;
	enum location_scheme scheme;
	bool tls;
	unsigned port; /* its own */
} schemes[] = {
	{"file", LOCATION_DIRECTORY, false, 0}, {"sftp", LOCATION_SFTP, false, 22},
	{"dav+http", LOCATION_DAV, false, 80},  {"dav+https", LOCATION_DAV, true, 443},
	{"s3", LOCATION_S3, false, 0},
};

#define SCHEME_COUNT (sizeof(schemes) / sizeof(schemes[0]))

/* ---- text ----------------------------------------------------------------------------------- */

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if (is_control(*text))
			return true;
	return false;
}

/* Decodes text in place. Returns false if it is not well formed, or holds an encoded slash: that
 * parts names, and is part of none. */
static bool decode(char *text)
{
	return !strcasestr(text, "%2f") && url_decode(text);
}

static void put(struct buffer *out, const char *text)
{
	buffer_append(out, text, strlen(text));
}

static const struct scheme *scheme_of(const struct location *location)
{
	const struct scheme *scheme = schemes;

	while (scheme->scheme != location->scheme || scheme->tls != location->tls)
		scheme++;
	return scheme;
}

/* Makes the canonical URL of what was parsed, which names the store; or the whole one. Returns NULL
 * when memory is short. */
static char *make_url(const struct location *location, bool whole)
{
	struct buffer out = BUFFER_INIT;
	char port[16];

	put(&out, scheme_of(location)->name);
	put(&out, "://");
	if (location->user) {
		url_encode(&out, location->user, "");
		put(&out, "@");
	}
	if (location->host && strchr(location->host, ':')) {
		put(&out, "[");
		put(&out, location->host);
		put(&out, "]");
	} else if (location->host) {
		put(&out, location->host);
	}
	if (location->port) {
		snprintf(port, sizeof(port), ":%u", location->port);
		put(&out, port);
	}
	if (location->bucket)
		put(&out, location->bucket);
	if (location->path[0] && location->path[0] != '/')
		put(&out, "/");
	url_encode(&out, location->path, "/");
	s3_place_write_query(&out, location, whole);
	buffer_u8(&out, 0);
	if (buffer_failed(&out))
		buffer_release(&out);
	return (char *)out.data;
}

/* ---- paths ---------------------------------------------------------------------------------- */

/* Drops empty and "." components of a path, its trailing slashes, and resolves ".." if climb is
 * set; else ".." is refused with false. What began with a slash still does. In place. */
static bool simplify(char *path, bool climb)
{
	const char *at = path;
	bool absolute = *path == '/';
	char *to = path;

	while (*at) {
		size_t len = strcspn(at, "/");

		if (len == 2 && at[0] == '.' && at[1] == '.') {
			if (!climb)
				return false;
			while (to > path && *--to != '/')
				;
		} else if (len && !(len == 1 && at[0] == '.')) {
			if (to > path || absolute)
				*to++ = '/';
			memmove(to, at, len);
			to += len;
		}
		at += len;
		while (*at == '/')
			at++;
	}
	if (to == path && absolute)
		*to++ = '/';
	*to = 0;
	return true;
}

/* ---- URLs ----------------------------------------------------------------------------------- */

/* One URL on its way to a location. */
struct parse {
	const char *url; /* without the mark */
	char *copy;      /* of it, being cut up */
	char shown[160]; /* of it, what messages may show */
	struct location *out;
	struct fault *fault;
};

/* A user's password may stand before an @, a signature after a question mark. */
static void show(struct parse *parse)
{
	const char *url = parse->url;
	const char *start = strstr(url, "://");
	const char *at = strrchr(url, '@');

	start = start ? start + 3 : url;
	if (!at || at < start)
		at = NULL;
	snprintf(parse->shown, sizeof(parse->shown), "%.*s%s%.*s", at ? (int)(start - url) : 0, url,
		 at ? "..." : "", (int)strcspn(at ? at : url, "?"), at ? at : url);
}

static int refuse(const struct parse *parse, const char *remedy, const char *why)
{
	return fault_set(parse->fault, FAULT_LOCAL, remedy, "%s is no store's URL: %s",
			 parse->shown, why);
}

static int own(const struct parse *parse, const char *text, char **out)
{
	*out = strdup(text);
	return *out ? 0 : fault_nomem(parse->fault);
}

static int parse_user(const struct parse *parse, char *user)
{
	const char *colon = strchr(user, ':');

	if (!decode(user) || has_control(user))
		return refuse(parse, NULL, "its user's name is not well formed");
	/* Nor does ssh take most of these: messages name commands for people to copy. */
	if (parse->out->scheme == LOCATION_SFTP && (*user == '-' || strpbrk(user, SHELL_SIGNS)))
		return refuse(parse, PLAIN_USER,
			      "its user's name would mean something else to a shell");
	if (colon || strchr(user, ':'))
		return fault_set(parse->fault, FAULT_LOCAL,
				 "take it out of the URL: it would be committed with it; passwords "
				 "and keys are asked for where they are kept",
				 "%s holds a password", parse->shown);
	return *user ? own(parse, user, &parse->out->user) : 0;
}

static int parse_port(const struct parse *parse, const struct scheme *scheme, const char *text)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long port = strtoul(text, NULL, 10);

	if (text[digits] || digits > 5 || (digits && (port < 1 || port > 65535)))
		return refuse(parse, NULL, "its port is no number from 1 to 65535");
	parse->out->port = port == scheme->port ? 0 : (unsigned)port;
	return 0;
}

/* Names of hosts are letters, digits, dots, hyphens; some have underscores. */
static bool is_host(char *host)
{
	size_t n;

	for (n = 0; host[n]; n++) {
		host[n] = (char)tolower((unsigned char)host[n]);
		if (!isalnum((unsigned char)host[n]) && !strchr(".-_", host[n]))
			return false;
	}
	return n && host[0] != '-';
}

/* Reads [user@]host[:port]. */
static int parse_authority(const struct parse *parse, const struct scheme *scheme, char *text)
{
	char *at = strrchr(text, '@');
	struct in6_addr address;
	char *host = text;
	char *end;

	if (at) {
		*at = 0;
		host = at + 1;
		if (parse_user(parse, text) != 0)
			return -1;
	}
	if (*host == '[') {
		host++;
		end = strchr(host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return refuse(parse, NULL, "its address lacks a bracket");
		*end++ = 0;
		if (inet_pton(AF_INET6, host, &address) != 1)
			return refuse(parse, NULL, "what its brackets hold is no IPv6 address");
	} else {
		end = strchr(host, ':');
	}
	if (end && *end == ':') {
		*end = 0;
		if (parse_port(parse, scheme, end + 1) != 0)
			return -1;
	}
	if (!strchr(host, ':') && !is_host(host))
		return refuse(parse, NULL, "it names no host");
	return own(parse, host, &parse->out->host);
}

/* Reads a bucket's name. A key before it is not told: who knows where it ends. */
static int parse_bucket(const struct parse *parse, const char *text)
{
	if (strchr(text, '@'))
		return fault_set(parse->fault, FAULT_LOCAL,
				 "take them out of the URL: keys come from AWS_ACCESS_KEY_ID and "
				 "AWS_SECRET_ACCESS_KEY, or from ~/.aws/credentials",
				 "%s holds keys", parse->shown);
	for (const char *c = text; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr(".-_", *c))
			return refuse(parse, "write s3://bucket/prefix?endpoint=https://host",
				      "a bucket's name is of letters, digits, '.', '-' and '_'");
	if (!isalnum((unsigned char)text[0]))
		return refuse(parse, "write s3://bucket/prefix?endpoint=https://host",
			      "it names no bucket");
	return own(parse, text, &parse->out->bucket);
}

/* Reads what follows the host: "" or "/...". */
static int parse_path(const struct parse *parse, char *path)
{
	enum location_scheme scheme = parse->out->scheme;
	char *start = path;

	if (!decode(path) || has_control(path))
		return refuse(parse, "write a character that is not allowed in URLs as %41",
			      "a '%' in its path does not stand for a character of a name");
	if (!simplify(path, scheme == LOCATION_DIRECTORY))
		return refuse(parse, "write the path without it", "its path contains '..'");
	if (scheme == LOCATION_SFTP && !*path)
		return refuse(parse,
			      "sftp://host/path counts from the root, sftp://host/~/path "
			      "from the user's home",
			      "it names no path");
	if (scheme == LOCATION_S3 ||
	    (scheme == LOCATION_SFTP && (strncmp(path, "/~/", 3) == 0 || strcmp(path, "/~") == 0)))
		start += *path == '/';
	else if (!*path)
		return own(parse, "/", &parse->out->path);
	return own(parse, start, &parse->out->path);
}

static int parse_url(const struct parse *parse, const struct scheme *scheme, char *rest)
{
	char *query = scheme->scheme == LOCATION_S3 ? strchr(rest, '?') : NULL;
	char *slash, *path;
	int rc = -1;

	if (query)
		*query++ = 0;
	slash = strchr(rest, '/');
	path = slash ? strdup(slash) : strdup("");
	if (!path)
		return fault_nomem(parse->fault);
	if (slash)
		*slash = 0;
	if (strchr(parse->url, '#') || (!query && strchr(parse->url, '?')))
		rc = refuse(parse, "write '?' as %3F and '#' as %23",
			    "it has a query or a fragment");
	else if (scheme->scheme == LOCATION_S3)
		rc = parse_bucket(parse, rest);
	else if (scheme->scheme != LOCATION_DIRECTORY)
		rc = parse_authority(parse, scheme, rest);
	else if (*rest && strcasecmp(rest, "localhost") != 0)
		rc = refuse(parse, "a path of this machine has three slashes: file:///path",
			    "it names another machine");
	else if (!*path)
		rc = refuse(parse, "write file:///path", "it names no path");
	else
		rc = 0;
	if (rc == 0)
		rc = parse_path(parse, path);
	if (rc == 0 && query)
		rc = s3_place_read_query(query, parse->shown, parse->out, parse->fault);
	free(path);
	return rc;
}

/* Reads a plain path. */
static int parse_plain(const struct parse *parse, const char *base)
{
	const char *url = parse->url;
	char *path;

	/* What ssh and git take for a host is not taken for a directory. */
	if (url[0] != '/' && strchr(url, ':') && strcspn(url, ":") < strcspn(url, "/"))
		return refuse(parse, "write sftp://user@host/path, or ./name for a directory",
			      "it may be a host or a directory");
	if (url[0] != '/' && !base)
		return refuse(parse, "write the whole path", "its path is relative");
	if (asprintf(&path, "%s%s%s", url[0] == '/' ? "" : base, url[0] == '/' ? "" : "/", url) < 0)
		return fault_nomem(parse->fault);
	simplify(path, true);
	parse->out->path = path;
	return 0;
}

/* Reads what stands before "://". *rest is what follows, NULL if the URL is a plain path. */
static int parse_scheme(struct parse *parse, const struct scheme **scheme, char **rest)
{
	char *colon = strstr(parse->copy, "://");

	*rest = NULL;
	*scheme = &schemes[0];
	if (!colon || strcspn(parse->copy, "/") < (size_t)(colon - parse->copy))
		return 0;
	*colon = 0;
	*rest = colon + 3;
	for (size_t i = 0; i < SCHEME_COUNT; i++) {
		*scheme = &schemes[i];
		if (strcasecmp(parse->copy, schemes[i].name) == 0)
			return 0;
	}
	if (strcasecmp(parse->copy, "http") == 0 || strcasecmp(parse->copy, "https") == 0)
		return fault_set(parse->fault, FAULT_UNSUPPORTED,
				 "dav+http:// or dav+https:// names a WebDAV store",
				 "%s names a server of an unknown kind", parse->shown);
	return fault_set(parse->fault, FAULT_UNSUPPORTED, SCHEMES, "%s has an unknown scheme",
			 parse->shown);
}

int location_parse(const char *url, const char *base, struct location *out, struct fault *fault)
{
	struct parse parse = {.url = url, .out = out, .fault = fault};
	const struct scheme *scheme;
	char *rest;
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (strncmp(url, LOCATION_MARK, strlen(LOCATION_MARK)) == 0)
		parse.url += strlen(LOCATION_MARK);
	show(&parse);
	if (!*parse.url)
		return fault_set(fault, FAULT_LOCAL, SCHEMES, "the store's URL is empty");
	if (has_control(parse.url))
		return refuse(&parse, NULL, "it contains a control character");
	parse.copy = strdup(parse.url);
	if (!parse.copy)
		return fault_nomem(fault);
	if (parse_scheme(&parse, &scheme, &rest) != 0)
		goto out;
	out->scheme = scheme->scheme;
	out->tls = scheme->tls;
	rc = rest ? parse_url(&parse, scheme, rest) : parse_plain(&parse, base);
	if (rc != 0)
		goto out;
	out->text = make_url(out, false);
	if (!out->text)
		rc = fault_nomem(fault);
out:
	if (rc != 0)
		location_release(out);
	free(parse.copy);
	return rc;
}

char *location_url(const struct location *location)
{
	return make_url(location, true);
}

void location_release(struct location *location)
{
	free(location->text);
	free(location->user);
	free(location->host);
	free(location->bucket);
	free(location->path);
	free(location->s3_endpoint);
	free(location->s3_region);
	free(location->s3_addressing);
	memset(location, 0, sizeof(*location));
}
