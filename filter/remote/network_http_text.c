/* SPDX-License-Identifier: Apache-2.0 */
/* What needs no network: faults of statuses, and text for URLs. */
#include <ctype.h>
#include <string.h>

#include "filter/remote/network.h"

static enum fault_kind kind_of(long status)
{
	switch (status) {
	case 401:
	case 403:
		return FAULT_DENIED;
	case 404:
	case 410:
		return FAULT_ABSENT;
	case 405:
	case 501:
		return FAULT_UNSUPPORTED;
	case 408:
	case 423: /* WebDAV: somebody holds a lock */
	case 429:
		return FAULT_TRANSIENT;
	case 507:
		return FAULT_NO_SPACE;
	default:
		return status >= 500 && status < 600 ? FAULT_TRANSIENT : FAULT_LOCAL;
	}
}

static const char *remedy_of(enum fault_kind kind, long status)
{
	switch (kind) {
	case FAULT_DENIED:
		return "check user and password, and what they are allowed to do there";
	case FAULT_UNSUPPORTED:
		return "check that the URL is that of such a store, and that its server allows "
		       "this";
	case FAULT_TRANSIENT:
		return "check the server, then try again";
	case FAULT_NO_SPACE:
		return "make room in the store and try again";
	default:
		break;
	}
	if (status == 413)
		return "let the server take files of any size (nginx: client_max_body_size 0)";
	if (status >= 300 && status < 400)
		return "use the URL that the store has moved to";
	return kind == FAULT_LOCAL ? "see what the server's log says about it" : NULL;
}

int http_status_fault(const struct http_response *response, const char *doing, struct fault *fault)
{
	enum fault_kind kind = kind_of(response->status);

	fault_set(fault, kind, remedy_of(kind, response->status), "%s: %s status %ld", doing,
		  kind == FAULT_ABSENT ? "it is not there:" : "the server answers with",
		  response->status);
	if (kind == FAULT_TRANSIENT)
		fault->retry_after_ms = response->retry_after_ms;
	return -1;
}

void url_encode(struct buffer *out, const char *text, const char *keep)
{
	static const char hex[] = "0123456789ABCDEF";
	unsigned char c;

	for (; (c = (unsigned char)*text); text++) {
		if (c < 0x80 && (isalnum(c) || strchr("-._~", c) || strchr(keep, c))) {
			buffer_u8(out, c);
			continue;
		}
		buffer_u8(out, '%');
		buffer_u8(out, (uint8_t)hex[c >> 4]);
		buffer_u8(out, (uint8_t)hex[c & 15]);
	}
}

static int hex_value(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

bool url_decode(char *text)
{
	char *to = text;

	for (; *text; text++, to++) {
		int high, low;

		*to = *text;
		if (*text != '%')
			continue;
		high = hex_value(text[1]);
		low = high < 0 ? -1 : hex_value(text[2]);
		if (low < 0 || (high | low) == 0)
			return false;
		*to = (char)(high << 4 | low);
		text += 2;
	}
	*to = 0;
	return true;
}
