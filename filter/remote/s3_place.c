/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/s3_place.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "filter/remote/aws_credentials.h"
#include "filter/remote/network.h"

#define REGION "us-east-1"

#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789.-_"
#define PATH_CHARACTERS HOST_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ~/"

/* ---- what is well formed --------------------------------------------------------------------- */

/* Regions become part of host names and signatures. */
static bool is_region(const char *text)
{
	size_t n;

	for (n = 0; text[n]; n++)
		if (!isalnum((unsigned char)text[n]) && !strchr("-_", text[n]))
			return false;
	return n && n <= 64;
}

static bool is_addressing(const char *text)
{
	return strcmp(text, "path") == 0 || strcmp(text, "virtual") == 0;
}

/* Returns what follows the scheme. */
static const char *host_of(const char *endpoint)
{
	return strstr(endpoint, "://") + 3;
}

/* Makes small letters of the scheme and the host. Returns what follows both, NULL if they are not
 * well formed. */
static char *tidy_host(char *endpoint)
{
	size_t scheme = strncasecmp(endpoint, "http://", 7) == 0 ? 7 : 8;
	char *host = endpoint + scheme;
	char address[INET6_ADDRSTRLEN];
	struct in6_addr ignored;
	size_t len;

	if (scheme == 8 && strncasecmp(endpoint, "https://", 8) != 0)
		return NULL;
	for (char *c = endpoint; *c && (c < host || *c != '/'); c++)
		*c = (char)tolower((unsigned char)*c);
	if (*host != '[') {
		len = strspn(host, HOST_CHARACTERS);
		return isalnum((unsigned char)*host) ? host + len : NULL;
	}
	len = strcspn(++host, "]");
	snprintf(address, sizeof(address), "%.*s", (int)len, host);
	if (!host[len] || len >= sizeof(address) || inet_pton(AF_INET6, address, &ignored) != 1)
		return NULL;
	return host + len + 1;
}

/* An endpoint is a scheme, a host, maybe a port and a path: nothing that could be a secret. Gives
 * it its usual form. Returns false if it is none. */
static bool tidy_endpoint(char *endpoint)
{
	char *rest = tidy_host(endpoint);
	size_t len;

	if (!rest)
		return false;
	if (*rest == ':') {
		size_t digits = strspn(++rest, "0123456789");

		if (digits < 1 || digits > 5 || strtoul(rest, NULL, 10) - 1 > 65534)
			return false;
		rest += digits;
	}
	if ((*rest && *rest != '/') || rest[strspn(rest, PATH_CHARACTERS)])
		return false;
	for (len = strlen(rest); len && rest[len - 1] == '/';)
		rest[--len] = 0;
	return true;
}

/* The host of a tidy endpoint, if it is an IPv4 address. */
static bool ipv4_of(const char *endpoint, struct in_addr *address)
{
	const char *host = host_of(endpoint);
	char text[INET_ADDRSTRLEN];
	size_t len = strcspn(host, ":/");

	snprintf(text, sizeof(text), "%.*s", (int)len, host);
	return len < sizeof(text) && inet_pton(AF_INET, text, address) == 1;
}

/* Whether what is said to a tidy endpoint is heard by nobody on its way. */
static bool is_private(const char *endpoint)
{
	const char *host = host_of(endpoint);
	struct in_addr address;
	size_t len = strcspn(host, ":/");

	if (strncmp(endpoint, "https:", 6) == 0 || strncmp(host, "[::1]", 5) == 0)
		return true;
	if (ipv4_of(endpoint, &address))
		return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
	return len == strlen("localhost") && strncmp(host, "localhost", len) == 0;
}

/* ---- queries --------------------------------------------------------------------------------- */

#define ALL "a query says no more than endpoint=https://host, region=NAME and addressing=path"

static int refuse(const char *shown, struct fault *fault, const char *remedy, const char *why)
{
	return fault_set(fault, FAULT_LOCAL, remedy, "%s is no store's URL: %s", shown, why);
}

static int check_value(const char *name, char *value, const char *shown, struct fault *fault)
{
	if (strcmp(name, "region") == 0)
		return is_region(value)
			       ? 0
			       : refuse(shown, fault, NULL, "its region is no region's name");
	if (strcmp(name, "addressing") == 0)
		return is_addressing(value) ? 0
					    : refuse(shown, fault, NULL,
						     "its addressing is neither path nor virtual");
	if (!tidy_endpoint(value))
		return refuse(shown, fault,
			      "an endpoint is https://host[:port], without a user, a password or a "
			      "query: those would be committed",
			      "its endpoint is no URL of a server");
	if (!is_private(value))
		return refuse(shown, fault,
			      "write https://; where the network can be trusted, leave it out and "
			      "set brevis.s3.endpoint in git's configuration",
			      "its endpoint is without TLS");
	return 0;
}

/* One "name=value". */
static int read_parameter(char *parameter, const char *shown, struct location *out,
			  struct fault *fault)
{
	const struct {
		const char *name;
		char **value;
	} known[] = {{"endpoint", &out->s3_endpoint},
		     {"region", &out->s3_region},
		     {"addressing", &out->s3_addressing}};
	char *value = strchr(parameter, '=');
	size_t i = 0;

	if (value)
		*value++ = 0;
	while (i < 3 && strcmp(parameter, known[i].name) != 0)
		i++;
	if (i == 3 || !value || !url_decode(value))
		return refuse(shown, fault, ALL, "its query says what is not known");
	if (*known[i].value)
		return refuse(shown, fault, NULL, "its query says something twice");
	if (check_value(known[i].name, value, shown, fault) != 0)
		return -1;
	*known[i].value = strdup(value);
	return *known[i].value ? 0 : fault_nomem(fault);
}

int s3_place_read_query(char *query, const char *shown, struct location *out, struct fault *fault)
{
	char *parameter;

	while ((parameter = strsep(&query, "&")) != NULL)
		if (read_parameter(parameter, shown, out, fault) != 0)
			return -1;
	return 0;
}

static void write_parameter(struct buffer *out, char *separator, const char *name,
			    const char *value)
{
	if (!value)
		return;
	buffer_u8(out, (uint8_t)*separator);
	buffer_append(out, name, strlen(name));
	buffer_u8(out, '=');
	url_encode(out, value, ":/");
	*separator = '&';
}

void s3_place_write_query(struct buffer *out, const struct location *location, bool whole)
{
	char separator = '?';

	write_parameter(out, &separator, "endpoint", location->s3_endpoint);
	if (!whole)
		return;
	write_parameter(out, &separator, "region", location->s3_region);
	write_parameter(out, &separator, "addressing", location->s3_addressing);
}

/* ---- what is in force ------------------------------------------------------------------------ */

static const char *first(const char *setting, const char *of_url)
{
	return setting ? setting : of_url;
}

static int find_region(const char *said, struct s3_place *out, struct fault *fault)
{
	out->region = said ? strdup(said) : aws_profile_setting("region");
	if (!out->region)
		out->region = strdup(REGION);
	if (!out->region)
		return fault_nomem(fault);
	if (!is_region(out->region))
		return fault_set(fault, FAULT_LOCAL,
				 "set AWS_REGION or brevis.s3.region to a region's name",
				 "'%s' is no region's name", out->region);
	return 0;
}

static int find_endpoint(const char *said, struct s3_place *out, struct fault *fault)
{
	if (said)
		out->endpoint = strdup(said);
	else if (asprintf(&out->endpoint, "https://s3.%s.amazonaws.com", out->region) < 0)
		out->endpoint = NULL;
	if (!out->endpoint)
		return fault_nomem(fault);
	/* It may hold what is no good in a message. */
	if (!tidy_endpoint(out->endpoint))
		return fault_set(fault, FAULT_LOCAL,
				 "set AWS_ENDPOINT_URL_S3 or brevis.s3.endpoint to "
				 "https://host[:port], without a user or a query",
				 "the endpoint of the S3 store is no URL of a server");
	return 0;
}

static int find_addressing(const char *said, bool endpoint_said, struct s3_place *out,
			   struct fault *fault)
{
	struct in_addr ignored;

	if (said && !is_addressing(said))
		return fault_set(fault, FAULT_LOCAL, "set it to path or virtual",
				 "brevis.s3.addressing is '%s'", said);
	out->path_style = said ? strcmp(said, "path") == 0 : endpoint_said;
	/* Nothing can stand before an address. */
	if (*host_of(out->endpoint) == '[' || ipv4_of(out->endpoint, &ignored))
		out->path_style = true;
	return 0;
}

int s3_place_find(const struct location *location, const struct store_settings *settings,
		  struct s3_place *out, struct fault *fault)
{
	const char *endpoint = first(settings->s3_endpoint, location->s3_endpoint);
	const char *addressing = first(settings->s3_addressing, location->s3_addressing);

	*out = (struct s3_place){0};
	if (find_region(first(settings->s3_region, location->s3_region), out, fault) == 0 &&
	    find_endpoint(endpoint, out, fault) == 0 &&
	    find_addressing(addressing, endpoint != NULL, out, fault) == 0)
		return 0;
	s3_place_release(out);
	return -1;
}

void s3_place_release(struct s3_place *place)
{
	free(place->endpoint);
	free(place->region);
	*place = (struct s3_place){0};
}
