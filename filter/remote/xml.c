/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/xml.h"

#include <stdbool.h>
#include <string.h>

#include <expat.h>

#include "core/base/buffer.h"

/* Bytes that expat is given at a time: its lengths are ints. */
#define PIECE ((size_t)1 << 20)

/* A tag, or a comment, is not longer: expat keeps it until its end, several times over, and looks
 * through all of it anew with each piece. */
#define TOKEN_MAX PIECE

#define WHITE " \t\r\n"

struct reading {
	XML_Parser parser;
	xml_element_fn element;
	void *ctx;
	char path[XML_PATH_MAX];
	size_t depth;
	size_t path_len[XML_DEPTH_MAX + 1]; /* of the path so far, at each depth */
	size_t text_at[XML_DEPTH_MAX + 1];  /* where the open element's text begins in texts */
	struct buffer texts;                /* of all open elements, one after the other */
	const char *refused;                /* why, if we ended it */
	bool stopped;                       /* by the caller's function */
};

static void refuse(struct reading *reading, const char *why)
{
	if (reading->refused || reading->stopped)
		return;
	reading->refused = why;
	XML_StopParser(reading->parser, XML_FALSE);
}

static void open_element(void *ctx, const XML_Char *name, const XML_Char **attributes)
{
	struct reading *reading = ctx;
	const char *colon = strrchr(name, ':');
	const char *plain = colon ? colon + 1 : name;
	size_t at = reading->path_len[reading->depth];
	size_t len = strlen(plain);

	(void)attributes;
	if (reading->depth == XML_DEPTH_MAX || at + 1 + len >= sizeof(reading->path)) {
		refuse(reading, "it is nested too deeply");
		return;
	}
	if (at)
		reading->path[at++] = '/';
	memcpy(reading->path + at, plain, len + 1);
	reading->depth++;
	reading->path_len[reading->depth] = at + len;
	reading->text_at[reading->depth] = reading->texts.size;
}

static void take_text(void *ctx, const XML_Char *text, int len)
{
	struct reading *reading = ctx;
	size_t left = (size_t)len;

	/* White space before a text: there may be much of it, between many children. */
	if (reading->texts.size == reading->text_at[reading->depth])
		for (; left && strchr(WHITE, *text); left--)
			text++;
	if (reading->texts.size + left > XML_TEXT_MAX)
		refuse(reading, "it has too long a text");
	else
		buffer_append(&reading->texts, text, left);
}

static void close_element(void *ctx, const XML_Char *name)
{
	struct reading *reading = ctx;
	struct buffer *texts = &reading->texts;
	size_t at = reading->text_at[reading->depth];

	(void)name;
	if (reading->refused || reading->stopped)
		return; /* expat may still tell of the end of <an-empty-one/> */
	while (texts->size > at && strchr(WHITE, texts->data[texts->size - 1]))
		texts->size--;
	buffer_u8(texts, '\0');
	if (buffer_failed(texts)) {
		refuse(reading, "memory is short");
		return;
	}
	if (reading->element(reading->ctx, reading->path, (char *)texts->data + at)) {
		reading->stopped = true;
		XML_StopParser(reading->parser, XML_FALSE);
		return;
	}
	texts->size = at;
	reading->depth--;
	reading->path[reading->path_len[reading->depth]] = '\0';
}

static void refuse_doctype(void *ctx, const XML_Char *name, const XML_Char *system,
			   const XML_Char *public_id, int internal)
{
	(void)name;
	(void)system;
	(void)public_id;
	(void)internal;
	refuse(ctx, "it has a document type");
}

static bool parse(struct reading *reading, const char *data, size_t len)
{
	size_t given = 0;
	size_t told = 0;

	do {
		size_t n = len - given < PIECE ? len - given : PIECE;
		XML_Index at;

		if (XML_Parse(reading->parser, data + given, (int)n, given + n == len) !=
		    XML_STATUS_OK)
			return false;
		given += n;
		/* What expat has not told of yet is the beginning of one token. It may wait for
		 * more before it looks, and then is nowhere. */
		at = XML_GetCurrentByteIndex(reading->parser);
		if (at >= 0)
			told = (size_t)at;
		if (given - told > TOKEN_MAX) {
			reading->refused = "it has too long a tag";
			return false;
		}
	} while (given < len);
	return true;
}

int xml_read(const void *data, size_t len, xml_element_fn element, void *ctx, const char *doing,
	     struct fault *fault)
{
	struct reading reading = {.element = element, .ctx = ctx};
	int result = 0;

	reading.parser = XML_ParserCreate(NULL);
	if (!reading.parser)
		return fault_nomem(fault);
	XML_SetUserData(reading.parser, &reading);
	XML_SetElementHandler(reading.parser, open_element, close_element);
	XML_SetCharacterDataHandler(reading.parser, take_text);
	XML_SetStartDoctypeDeclHandler(reading.parser, refuse_doctype);
	if (!parse(&reading, data, len)) {
		result = -1;
		if (!reading.stopped)
			fault_set(fault, FAULT_UNSUPPORTED,
				  "check that the URL is that of such a store",
				  "%s: the server's answer cannot be read: %s", doing,
				  reading.refused
					  ? reading.refused
					  : XML_ErrorString(XML_GetErrorCode(reading.parser)));
	}
	XML_ParserFree(reading.parser);
	buffer_release(&reading.texts);
	return result;
}
