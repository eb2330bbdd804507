/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/store/store_place.h"

#include <stdlib.h>
#include <string.h>

#include "filter/cli/report.h"

/* "WHAT: CAUSE; REMEDY" */
static int report(const char *what, const char *key, const struct fault *fault)
{
	return report_error("%s%s%s%s%s%s%s", what ? what : "", what ? ": " : "", key ? key : "",
			    key ? ": " : "", fault->cause, fault->remedy[0] ? "; " : "",
			    fault->remedy);
}

int store_place_begin(struct store_place *place)
{
	struct fault fault = {.kind = FAULT_NONE};

	memset(place, 0, sizeof(*place));
	if (workspace_open(&place->ws) < 0)
		return -1;
	if (store_settings_read(place->ws.repository, &place->settings, &fault) < 0) {
		memset(&place->settings, 0, sizeof(place->settings));
		return report(NULL, NULL, &fault);
	}
	return 0;
}

int store_place_locate(struct store_place *place, const char *url, const char *base)
{
	struct fault fault = {.kind = FAULT_NONE};

	if (location_parse(url, base, &place->location, &fault) < 0) {
		memset(&place->location, 0, sizeof(place->location));
		return report(NULL, NULL, &fault);
	}
	return 0;
}

int store_place_use(struct store_place *place)
{
	struct fault fault = {.kind = FAULT_NONE};

	if (store_open(&place->location, &place->settings, &place->store, &fault) < 0) {
		place->store = NULL;
		return report(place->location.text, NULL, &fault);
	}
	return 0;
}

/* Finds the URL. The repository's top is where git-lfs starts its agents. */
static int locate_configured(struct store_place *place, bool upload)
{
	const struct repository *repository = place->ws.repository;
	const char *top = repository_work_tree(repository);
	char *url = store_url(repository, NULL, upload);
	int rc;

	if (!url)
		return report_error("Git LFS does not keep this repository's objects in a store of "
				    "git-brevis; `git brevis store init URL` has it do so");
	rc = store_place_locate(place, url, top ? top : repository_git_dir(repository));
	free(url);
	return rc < 0 ? -1 : store_place_use(place);
}

int store_place_open(struct store_place *place, bool upload)
{
	struct fault fault = {.kind = FAULT_NONE};

	if (store_place_begin(place) < 0 || locate_configured(place, upload) < 0)
		return -1;
	if (store_check(place->store, &fault) < 0)
		return store_place_report(place, NULL, &fault);
	return 0;
}

void store_place_close(struct store_place *place)
{
	store_close(place->store);
	location_release(&place->location);
	store_settings_release(&place->settings);
	workspace_close(&place->ws);
	memset(place, 0, sizeof(*place));
}

int store_place_report(const struct store_place *place, const char *key, const struct fault *fault)
{
	const char *name = store_name(place->store);

	/* Of the store itself the cause may speak by name. */
	return report(!key && strstr(fault->cause, name) ? NULL : name, key, fault);
}
