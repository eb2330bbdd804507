/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/settings.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "filter/remote/location.h"
#include "filter/git/repository.h"

#define RETRIES       8
#define RETRIES_MAX   1000
#define DELAY_S       10
#define DELAY_S_MAX   3600
#define PARALLEL      4
#define TIMEOUT_S     30
#define TIMEOUT_S_MAX 86400
#define PART_SIZE_MIN (INT64_C(64) << 10)
#define PART_SIZE_MAX (INT64_C(5) << 30)

/* One number that git-lfs documents: what is below least counts as not set. */
static unsigned read_number(const struct repository *repository, const char *key, int64_t least,
			    int64_t most, int64_t unset)
{
	int64_t number = repository_config_int(repository, key, unset);

	if (number < least)
		number = unset;
	return (unsigned)(number < most ? number : most);
}

/* Too small a part would be a step of its own for every few bytes. */
static uint64_t read_part_size(const struct repository *repository)
{
	int64_t size = repository_config_int(repository, "brevis.store.partSize", 0);

	if (size <= 0)
		return 0;
	if (size < PART_SIZE_MIN)
		return (uint64_t)PART_SIZE_MIN;
	return (uint64_t)(size < PART_SIZE_MAX ? size : PART_SIZE_MAX);
}

static char *from_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? strdup(value) : NULL;
}

/* A file's path by its key, with git's "~/" resolved; else one below the home, or NULL. */
static char *read_path(const struct repository *repository, const char *key, const char *unset)
{
	const char *home = getenv("HOME");
	char *value = repository_config(repository, key);
	const char *below = unset;
	char *path;

	if (value && strncmp(value, "~/", 2) != 0)
		return value;
	if (value)
		below = value + 2;
	if (!below || !home || asprintf(&path, "%s/%s", home, below) < 0)
		path = NULL;
	free(value);
	return path;
}

static bool is_true(const char *text)
{
	static const char *const yes[] = {"1", "true", "yes", "on"};

	for (size_t i = 0; text && i < sizeof(yes) / sizeof(yes[0]); i++)
		if (strcasecmp(text, yes[i]) == 0)
			return true;
	return false;
}

static void read_tls(const struct repository *repository, struct store_settings *out)
{
	out->ca_info = from_environment("GIT_SSL_CAINFO");
	if (!out->ca_info)
		out->ca_info = read_path(repository, "http.sslCAInfo", NULL);
	out->tls_verify = !is_true(getenv("GIT_SSL_NO_VERIFY")) &&
			  repository_config_bool(repository, "http.sslVerify", true);
	out->proxy = repository_config(repository, "http.proxy");
}

static void read_s3(const struct repository *repository, struct store_settings *out)
{
	out->s3_endpoint = from_environment("AWS_ENDPOINT_URL_S3");
	if (!out->s3_endpoint)
		out->s3_endpoint = from_environment("AWS_ENDPOINT_URL");
	if (!out->s3_endpoint)
		out->s3_endpoint = repository_config(repository, "brevis.s3.endpoint");
	out->s3_region = from_environment("AWS_REGION");
	if (!out->s3_region)
		out->s3_region = from_environment("AWS_DEFAULT_REGION");
	if (!out->s3_region)
		out->s3_region = repository_config(repository, "brevis.s3.region");
	out->s3_addressing = repository_config(repository, "brevis.s3.addressing");
}

int store_settings_read(const struct repository *repository, struct store_settings *out,
			struct fault *fault)
{
	memset(out, 0, sizeof(*out));
	out->retries = read_number(repository, "lfs.transfer.maxretries", 1, RETRIES_MAX, RETRIES);
	out->max_delay_ms = 1000 * read_number(repository, "lfs.transfer.maxretrydelay", 0,
					       DELAY_S_MAX, DELAY_S);
	out->parallel = read_number(repository, "lfs.concurrenttransfers", 1, SETTINGS_PARALLEL_MAX,
				    PARALLEL);
	out->dial_timeout_s =
		read_number(repository, "lfs.dialtimeout", 1, TIMEOUT_S_MAX, TIMEOUT_S);
	out->idle_timeout_s =
		read_number(repository, "lfs.activitytimeout", 0, TIMEOUT_S_MAX, TIMEOUT_S);
	out->part_size = read_part_size(repository);
	out->sync = sync_policy_read(repository);
	out->known_hosts = read_path(repository, "brevis.sftp.knownHosts", ".ssh/known_hosts");
	out->ssh_key = read_path(repository, "brevis.sftp.key", NULL);
	read_tls(repository, out);
	read_s3(repository, out);
	if (asprintf(&out->state_dir, "%s/brevis", repository_lfs_dir(repository)) < 0) {
		out->state_dir = NULL;
		store_settings_release(out);
		return fault_nomem(fault);
	}
	return 0;
}

void store_settings_release(struct store_settings *settings)
{
	free(settings->state_dir);
	free(settings->known_hosts);
	free(settings->ssh_key);
	free(settings->ca_info);
	free(settings->proxy);
	free(settings->s3_endpoint);
	free(settings->s3_region);
	free(settings->s3_addressing);
	memset(settings, 0, sizeof(*settings));
}

/* ---- the store's URL ------------------------------------------------------------------------ */

/* From git's configuration before .lfsconfig. */
static char *from_either(const struct repository *repository, const char *key)
{
	char *value = repository_config(repository, key);

	return value ? value : repository_lfsconfig(repository, key);
}

static char *remote_value(const struct repository *repository, const char *remote,
			  const char *variable, bool either)
{
	char *value = NULL;
	char *key;

	if (asprintf(&key, "remote.%s.%s", remote, variable) < 0)
		return NULL;
	value = either ? from_either(repository, key) : repository_config(repository, key);
	free(key);
	return value;
}

static char *remote_url(const struct repository *repository, const char *remote, bool upload)
{
	char *url = NULL;

	/* git-lfs does not take this one from .lfsconfig. */
	if (upload)
		url = remote_value(repository, remote, "lfspushurl", false);
	return url ? url : remote_value(repository, remote, "lfsurl", true);
}

/* True if git-lfs would go on to a remote's own URL. */
static bool has_url(const struct repository *repository, const char *remote)
{
	char *url = remote_value(repository, remote, "url", false);
	bool has = url || strchr(remote, ':') || strchr(remote, '/');

	free(url);
	return has;
}

char *store_url(const struct repository *repository, const char *remote, bool upload)
{
	static const char origin[] = "origin";
	char *url = NULL;

	if (!remote || !*remote)
		remote = origin;
	if (upload)
		url = from_either(repository, "lfs.pushurl");
	if (!url)
		url = from_either(repository, "lfs.url");
	if (!url)
		url = remote_url(repository, remote, upload);
	if (!url && strcmp(remote, origin) != 0 && !has_url(repository, remote))
		url = remote_url(repository, origin, upload);
	if (url && strncmp(url, LOCATION_MARK, strlen(LOCATION_MARK)) == 0) {
		memmove(url, url + strlen(LOCATION_MARK), strlen(url + strlen(LOCATION_MARK)) + 1);
		return url;
	}
	free(url);
	return NULL;
}
