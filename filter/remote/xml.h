/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Small XML answers of servers, read element by element. Names count without their namespaces and
 * attributes not at all. What such answers never need is refused: document types (and with them
 * entities of their own), deep nesting, long texts.
 */
#ifndef FILTER_REMOTE_XML_H
#define FILTER_REMOTE_XML_H

#include <stddef.h>

#include "filter/remote/fault.h"

#define XML_DEPTH_MAX 32
#define XML_PATH_MAX  512
#define XML_TEXT_MAX  65536

/**
 * An element has ended: path is "root/child/element", text all that was directly in it, without
 * white space at its ends. Children come before the element that holds them. Anything but 0 stops.
 */
typedef int (*xml_element_fn)(void *ctx, const char *path, const char *text);

/**
 * Reads a whole document. Returns 0; -1 if it is none, with *fault (FAULT_UNSUPPORTED; doing says
 * what was tried), or if element stopped it, with *fault as it was.
 */
int xml_read(const void *data, size_t len, xml_element_fn element, void *ctx, const char *doing,
	     struct fault *fault);

#endif
