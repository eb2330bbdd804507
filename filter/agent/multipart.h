/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Objects over 5 GB on their way to a model hub. Such a hub answers git-lfs's batch request with
 * the transfer "multipart": an action whose href is to be told of the completion, and whose header
 * has chunk_size and, under the numbers "1", "2", ..., a URL for each part. The agent puts each
 * part there from its own offset of the file, keeps the ETag of the answer, and posts {"oid",
 * "parts":
 * [{"partNumber", "etag"}]} to the href.
 */
#ifndef FILTER_AGENT_MULTIPART_H
#define FILTER_AGENT_MULTIPART_H

#include "filter/agent/protocol.h"
#include "filter/remote/network.h"

/** Uploads the object of an upload event as its action says. progress counts its bytes. */
int multipart_upload(struct network *network, const struct store_settings *settings,
		     const struct agent_event *event, void (*progress)(void *ctx, uint64_t bytes),
		     void *ctx, struct fault *fault);

/** Downloads an object by its action's href (a plain GET, resumed by range) into the file path. */
int multipart_download(struct network *network, const struct store_settings *settings,
		       const struct agent_event *event, const char *path,
		       void (*progress)(void *ctx, uint64_t bytes), void *ctx, struct fault *fault);

#endif
