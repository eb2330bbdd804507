/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/sync_policy.h"

#include <stdlib.h>
#include <string.h>

#include "filter/git/repository.h"

/* The components of core.fsync that loose objects are part of. */
static const char *const loose_objects[] = {"loose-object", "objects", "committed", "added", "all"};

/* True if a component is one of them, or the beginning of one, which git takes for it. */
static bool is_loose_objects(const char *component, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(loose_objects) / sizeof(*loose_objects); i++) {
		if (strncmp(loose_objects[i], component, len) == 0)
			return true;
	}
	return false;
}

/* By default git syncs no loose objects. "none" and components with a minus only take away from the
 * default, so that they need no look. */
bool sync_policy_has_loose_objects(const char *core_fsync)
{
	const char *at = core_fsync;

	while (at && *at) {
		size_t len;

		at += strspn(at, ", \t\n\r");
		len = strcspn(at, ",");
		if (len && is_loose_objects(at, len))
			return true;
		at += len;
	}
	return false;
}

static bool git_syncs(const struct repository *repository)
{
	char *components = repository_config(repository, "core.fsync");
	bool syncs = sync_policy_has_loose_objects(components);

	free(components);
	return syncs || repository_config_bool(repository, "core.fsyncObjectFiles", false);
}

enum sync_policy sync_policy_read(const struct repository *repository)
{
	enum sync_policy policy;
	char *method;

	if (!repository_config_bool(repository, "brevis.fsync", git_syncs(repository)))
		return SYNC_BEGIN;
	method = repository_config(repository, "core.fsyncMethod");
	policy = method && strcmp(method, "writeout-only") == 0 ? SYNC_WRITE_OUT : SYNC_DURABLE;
	free(method);
	return policy;
}

const char *sync_policy_name(enum sync_policy policy)
{
	switch (policy) {
	case SYNC_WRITE_OUT:
		return "written out";
	case SYNC_DURABLE:
		return "synced";
	default:
		return "not waited for";
	}
}
