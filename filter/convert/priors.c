/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/convert/priors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/objects/cache_file.h"
#include "filter/objects/pointer.h"
#include "filter/cli/report.h"

/* Hex digits of a prior's name that the trace shows. */
#define TRACE_DIGITS 12

struct priors {
	char *priors_dir;
	char *families_dir;
	struct brevis_prior_store store;
	bool read_only;
	bool met_damage; /* since priors_begin */
};

static int load(void *ctx, const uint8_t family[BREVIS_SHA256_SIZE],
		const uint8_t preferred[BREVIS_SHA256_SIZE], void **data, size_t *size);
static void save(void *ctx, const uint8_t family[BREVIS_SHA256_SIZE],
		 const uint8_t sha256[BREVIS_SHA256_SIZE], const void *data, size_t size);

struct priors *priors_new(const char *lfs_dir)
{
	struct priors *priors = calloc(1, sizeof(*priors));

	if (priors && asprintf(&priors->priors_dir, "%s/brevis/priors", lfs_dir) < 0)
		priors->priors_dir = NULL;
	if (priors && asprintf(&priors->families_dir, "%s/brevis/families", lfs_dir) < 0)
		priors->families_dir = NULL;
	if (!priors || !priors->priors_dir || !priors->families_dir) {
		priors_free(priors);
		report_error("out of memory");
		return NULL;
	}
	priors->store = (struct brevis_prior_store){load, save, priors};
	return priors;
}

void priors_free(struct priors *priors)
{
	if (!priors)
		return;
	free(priors->priors_dir);
	free(priors->families_dir);
	free(priors);
}

const struct brevis_prior_store *priors_begin(struct priors *priors, bool read_only)
{
	if (!priors)
		return NULL;
	priors->read_only = read_only;
	priors->met_damage = false;
	return &priors->store;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Says once what is wrong with a file, and takes it out of the way of a good one. */
static void drop(struct priors *priors, int dir_fd, const char *what, const char *name,
		 const char *why)
{
	report_trace("%s %.*s is damaged: %s; not used", what, TRACE_DIGITS, name, why);
	priors->met_damage = true;
	if (!priors->read_only)
		unlinkat(dir_fd, name, 0);
}

/* Handles a file that could not be read, by errno. */
static void explain(struct priors *priors, int dir_fd, const char *what, const char *name)
{
	switch (errno) {
	case ENOENT:
		return;
	case EFBIG:
		drop(priors, dir_fd, what, name, "too large");
		return;
	case ELOOP:
	case EINVAL:
		drop(priors, dir_fd, what, name, "no regular file");
		return;
	default:
		/* It may be sound, and the place or the disk at fault. */
		report_trace("cannot read %s %.*s: %m; not used", what, TRACE_DIGITS, name);
	}
}

static bool has_name(const void *data, size_t size, const char *name)
{
	struct brevis_sha256 *sha = brevis_sha256_new();
	uint8_t digest[BREVIS_SHA256_SIZE];
	char hex[OID_HEX_SIZE + 1];

	if (!sha)
		return false;
	brevis_sha256_update(sha, data, size);
	brevis_sha256_final(sha, digest);
	brevis_sha256_free(sha);
	digest_to_hex(digest, hex);
	return strcmp(hex, name) == 0;
}

/* Opens a directory for reading, unless it is not there or cannot be. */
static int open_directory(const char *path)
{
	int fd = cache_directory_open(path);

	if (fd < 0 && errno != ENOENT)
		report_trace("cannot open %s: %m; not used", path);
	return fd;
}

/* Reads the prior of this name. Returns its bytes, which the caller frees, or NULL. */
static void *read_prior(struct priors *priors, const char *name, size_t *size)
{
	int dir_fd = open_directory(priors->priors_dir);
	void *data = dir_fd >= 0 ? malloc(PRIOR_SIZE_LIMIT) : NULL;
	void *kept = NULL;
	ssize_t len;

	if (!data)
		goto out;
	len = cache_file_read(dir_fd, name, data, PRIOR_SIZE_LIMIT, NULL);
	if (len < 0) {
		explain(priors, dir_fd, "prior", name);
	} else if (len == 0 || !has_name(data, (size_t)len, name)) {
		drop(priors, dir_fd, "prior", name, "its SHA-256 is not its name");
	} else {
		*size = (size_t)len;
		kept = realloc(data, (size_t)len);
		if (kept)
			data = NULL;
	}
out:
	free(data);
	if (dir_fd >= 0)
		close(dir_fd);
	return kept;
}

/* Reads which prior a family had last. */
static bool read_family(struct priors *priors, const char *family, char name[OID_HEX_SIZE + 1])
{
	char text[OID_HEX_SIZE + 1];
	int dir_fd = open_directory(priors->families_dir);
	ssize_t len;
	bool found = false;

	if (dir_fd < 0)
		return false;
	len = cache_file_read(dir_fd, family, text, sizeof(text), NULL);
	if (len < 0) {
		explain(priors, dir_fd, "family", family);
	} else if (len != sizeof(text) || text[OID_HEX_SIZE] != '\n' ||
		   strspn(text, "0123456789abcdef") != OID_HEX_SIZE) {
		drop(priors, dir_fd, "family", family, "it names no prior");
	} else {
		memcpy(name, text, OID_HEX_SIZE);
		name[OID_HEX_SIZE] = '\0';
		found = true;
	}
	close(dir_fd);
	return found;
}

/* Of brevis_prior_store: the preferred prior, else the family's latest. */
static int load(void *ctx, const uint8_t family[BREVIS_SHA256_SIZE],
		const uint8_t preferred[BREVIS_SHA256_SIZE], void **data, size_t *size)
{
	struct priors *priors = ctx;
	char wanted[OID_HEX_SIZE + 1] = "";
	char family_hex[OID_HEX_SIZE + 1];
	char latest[OID_HEX_SIZE + 1];

	*data = NULL;
	if (preferred) {
		digest_to_hex(preferred, wanted);
		*data = read_prior(priors, wanted, size);
	}
	digest_to_hex(family, family_hex);
	if (!*data && read_family(priors, family_hex, latest) && strcmp(latest, wanted) != 0)
		*data = read_prior(priors, latest, size);
	return *data ? 0 : -1;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Writes a file of a directory that is made if it is missing. Returns -1 after tracing. */
static int write_file(const char *dir, const char *name, const void *data, size_t size)
{
	int dir_fd = cache_directory_make(dir);
	int result = dir_fd >= 0 ? cache_file_write(dir_fd, name, data, size) : -1;

	if (result != 0)
		report_trace("cannot write %s/%.*s: %m; the next file like this takes longer", dir,
			     TRACE_DIGITS, name);
	if (dir_fd >= 0)
		close(dir_fd);
	return result;
}

/* Of brevis_prior_store: the prior first, so that no family names one that is not there. */
static void save(void *ctx, const uint8_t family[BREVIS_SHA256_SIZE],
		 const uint8_t sha256[BREVIS_SHA256_SIZE], const void *data, size_t size)
{
	struct priors *priors = ctx;
	char family_hex[OID_HEX_SIZE + 1];
	char name[OID_HEX_SIZE + 2];

	if (priors->read_only)
		return;
	digest_to_hex(sha256, name);
	if (size > PRIOR_SIZE_LIMIT) {
		report_trace("prior %.*s is too large to be kept", TRACE_DIGITS, name);
		return;
	}
	if (write_file(priors->priors_dir, name, data, size) != 0)
		return;
	digest_to_hex(family, family_hex);
	name[OID_HEX_SIZE] = '\n';
	write_file(priors->families_dir, family_hex, name, OID_HEX_SIZE + 1);
}

void priors_trace(const struct priors *priors, const char *doing, const char *name,
		  const struct brevis_encode_summary *summary)
{
	static const char *const origins[] = {
		[BREVIS_PRIOR_NONE] = "none",
		[BREVIS_PRIOR_LOADED] = "loaded",
		[BREVIS_PRIOR_CALIBRATED] = "calibrated",
		[BREVIS_PRIOR_REPLACED] = "replaced (damaged)",
	};
	enum brevis_prior_origin origin = summary->prior;
	char hex[OID_HEX_SIZE + 1] = "";

	/* What is damaged in a way that its name tells never reaches the encoder. */
	if (origin == BREVIS_PRIOR_CALIBRATED && priors && priors->met_damage)
		origin = BREVIS_PRIOR_REPLACED;
	if (origin != BREVIS_PRIOR_NONE)
		digest_to_hex(summary->prior_sha256, hex);
	report_trace("%s %s: prior %s%s%.*s", doing, name, origins[origin], *hex ? " " : "",
		     TRACE_DIGITS, hex);
}
