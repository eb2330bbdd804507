/* SPDX-License-Identifier: Apache-2.0 */
/** JSON for programs that read what a verb prints. */
#ifndef FILTER_JSON_OUTPUT_H
#define FILTER_JSON_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

struct json_output;

/** Begins a document on stdout. Returns NULL when memory is short (reported). */
struct json_output *json_begin(void);

/** Opens an object ('{') or an array ('['). In all functions key is NULL within an array. */
void json_open(struct json_output *json, const char *key, char kind);
/** Closes what was opened last. */
void json_close(struct json_output *json);

/** Bytes that are no UTF-8 (paths may hold any) are written as U+FFFD; value NULL is null. */
void json_string(struct json_output *json, const char *key, const char *value);
void json_number(struct json_output *json, const char *key, uint64_t value);
/** A number with all of its digits; null if it is not finite, for which JSON has no word. */
void json_real(struct json_output *json, const char *key, double value);
void json_bool(struct json_output *json, const char *key, bool value);

/**
 * Ends the document and frees it; NULL is allowed. rc is what became of all else, negative if a
 * failure was reported. Returns it, or -1 after reporting that memory was short.
 */
int json_end(struct json_output *json, int rc);

#endif
