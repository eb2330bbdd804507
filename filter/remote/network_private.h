/* SPDX-License-Identifier: Apache-2.0 */
/** What network.c and network_*.c share; nobody else includes it. */
#ifndef FILTER_REMOTE_NETWORK_PRIVATE_H
#define FILTER_REMOTE_NETWORK_PRIVATE_H

#include <curl/curl.h>

#include "filter/remote/network.h"

const struct store_settings *network_settings(const struct network *network);

/**
 * Takes a handle that nobody uses, reset but for its connections, with time-outs, proxy and
 * certificates set as the settings say. NULL when memory is short.
 */
CURL *network_take(struct network *network);

/** Gives it back. */
void network_return(struct network *network, CURL *handle);

/**
 * Describes a failure of curl_easy_perform: its kind, and "DOING: what libcurl says". details is
 * the handle's CURLOPT_ERRORBUFFER. Codes that only a driver understands (quote errors, remote
 * files) are FAULT_LOCAL. Returns -1.
 */
int network_fault(CURLcode code, const char *details, const char *doing, struct fault *fault);

#endif
