/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/network_redirect.h"

#include <string.h>
#include <strings.h>

#include "filter/remote/network_private.h"

static CURLU *parse(const char *text)
{
	CURLU *url = curl_url();

	if (url && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK)
		return url;
	curl_url_cleanup(url);
	return NULL;
}

/* A part of a URL, to be given to curl_free; a port even if it is not written there. NULL if there
 * is none. */
static char *get(CURLU *url, CURLUPart which)
{
	char *text = NULL;

	return curl_url_get(url, which, &text, CURLU_DEFAULT_PORT) == CURLUE_OK ? text : NULL;
}

static bool is(CURLU *url, CURLUPart which, const char *expected)
{
	char *text = get(url, which);
	bool same = text && expected && strcasecmp(text, expected) == 0;

	curl_free(text);
	return same;
}

static bool is_same(CURLU *a, CURLU *b, CURLUPart which)
{
	char *text = get(b, which);
	bool same = is(a, which, text);

	curl_free(text);
	return same;
}

static bool has(CURLU *url, CURLUPart which)
{
	char *text = get(url, which);

	curl_free(text);
	return text != NULL;
}

/* Why it is not followed, or NULL. */
static const char *objection(CURLU *from, CURLU *to)
{
	if (!is(to, CURLUPART_SCHEME, "http") && !is(to, CURLUPART_SCHEME, "https"))
		return "to a URL that is neither http nor https";
	if (is(from, CURLUPART_SCHEME, "https") && !is(to, CURLUPART_SCHEME, "https"))
		return "from https to http";
	if (has(to, CURLUPART_USER) || has(to, CURLUPART_PASSWORD))
		return "to a URL with a user in it";
	return NULL;
}

int redirect_resolve(const char *from, const char *location, char **to, bool *elsewhere,
		     const char *doing, struct fault *fault)
{
	CURLU *source = parse(from);
	CURLU *target = parse(from);
	const char *why = "to something that is no URL";
	char *text = NULL;

	*to = NULL;
	if (source && target &&
	    curl_url_set(target, CURLUPART_URL, location, CURLU_URLENCODE | CURLU_PATH_AS_IS) ==
		    CURLUE_OK &&
	    curl_url_get(target, CURLUPART_URL, &text, 0) == CURLUE_OK) {
		why = objection(source, target);
		*elsewhere = *elsewhere || !is_same(source, target, CURLUPART_SCHEME) ||
			     !is_same(source, target, CURLUPART_HOST) ||
			     !is_same(source, target, CURLUPART_PORT);
	}
	curl_url_cleanup(source);
	curl_url_cleanup(target);
	if (why)
		fault_set(fault, FAULT_UNSUPPORTED, "ask who runs the server",
			  "%s: the server sends on %s", doing, why);
	else if (!(*to = strdup(text)))
		fault_nomem(fault);
	curl_free(text);
	return *to ? 0 : -1;
}
