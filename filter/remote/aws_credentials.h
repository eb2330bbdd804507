/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Who we are to an S3 store, as the AWS command line finds it: AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; else the profile AWS_PROFILE ("default") of
 * AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials), else of AWS_CONFIG_FILE (~/.aws/config).
 */
#ifndef FILTER_REMOTE_AWS_CREDENTIALS_H
#define FILTER_REMOTE_AWS_CREDENTIALS_H

#include "filter/remote/fault.h"

struct aws_credentials {
	char *key_id;
	char *secret;
	char *token; /* NULL: none */
};

/** Finds them. Returns 0; -1 with *fault (FAULT_DENIED if there are none, with what to do), and
 * nothing to free. */
int aws_credentials_read(struct aws_credentials *out, struct fault *fault);

/** Overwrites and frees them. */
void aws_credentials_release(struct aws_credentials *credentials);

/** A setting of the profile, from AWS_CONFIG_FILE: "region", "endpoint_url". Caller frees; NULL if
 * it is not set, or the file cannot be read. */
char *aws_profile_setting(const char *name);

#endif
