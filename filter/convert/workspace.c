/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/convert/convert.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cli/options.h"
#include "filter/convert/preset.h"
#include "filter/cli/progress.h"
#include "filter/cli/report.h"

/* The environment goes before the configuration. A wrong name must not keep git from storing a
 * file: it is told, and the default is in force. */
static void read_preset(struct workspace *ws)
{
	const char *key = "GIT_BREVIS_PRESET";
	const char *name = getenv(key);
	char *configured = NULL;

	if ((!name || !*name) && ws->repository) {
		key = "brevis.preset";
		name = configured = repository_config(ws->repository, key);
	}
	if (name && *name && !preset_parse(name, &ws->preset))
		report_warning("%s is '%s', which is none of " PRESET_NAMES "; taken as %s", key,
			       name, preset_name(ws->preset));
	free(configured);
}

static void read_settings(struct workspace *ws)
{
	const char *text = getenv("GIT_BREVIS_THREADS");
	int64_t threads = 0;

	ws->reuse = true;
	if (ws->repository) {
		ws->reuse = repository_config_bool(ws->repository, "brevis.reuse", true);
		threads = repository_config_int(ws->repository, "brevis.threads", 0);
		object_store_sync(ws->store, sync_policy_read(ws->repository));
		progress_force(repository_config_bool(ws->repository, "lfs.forceprogress", false));
	}
	if (threads >= 0 && threads <= OPTION_THREADS_MAX)
		ws->threads = (unsigned)threads;
	else
		report_warning("brevis.threads is not a number from 0 to %d; ignored",
			       OPTION_THREADS_MAX);
	if (text && *text && !option_number(text, OPTION_THREADS_MAX, &ws->threads))
		report_warning("GIT_BREVIS_THREADS is not a number from 0 to %d; ignored",
			       OPTION_THREADS_MAX);
	read_preset(ws);
}

int workspace_open(struct workspace *ws)
{
	const char *lfs_dir;

	memset(ws, 0, sizeof(*ws));
	if (repository_open(&ws->repository) != 0)
		return -1;
	lfs_dir = repository_lfs_dir(ws->repository);
	ws->store = object_store_new(lfs_dir);
	ws->known = known_new(lfs_dir);
	ws->priors = priors_new(lfs_dir);
	if (!ws->store || !ws->known || !ws->priors) {
		workspace_close(ws);
		return -1;
	}
	read_settings(ws);
	return 0;
}

int workspace_open_if_any(struct workspace *ws)
{
	memset(ws, 0, sizeof(*ws));
	if (repository_is_here())
		return workspace_open(ws);
	read_settings(ws);
	return 0;
}

void workspace_close(struct workspace *ws)
{
	priors_free(ws->priors);
	known_free(ws->known);
	object_store_free(ws->store);
	repository_free(ws->repository);
	memset(ws, 0, sizeof(*ws));
}

char *workspace_path(const struct workspace *ws, const char *file)
{
	const char *top = ws->repository ? repository_work_tree(ws->repository) : NULL;
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	char *dir = NULL;
	char *real_dir = NULL;
	char *real_top = NULL;
	char *path = NULL;
	size_t len;

	if (!top || !*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return NULL;
	/* Only the directory is resolved: a symlink is a path of its own for git. */
	dir = slash ? strndup(file, slash == file ? 1 : (size_t)(slash - file)) : strdup(".");
	real_dir = dir ? realpath(dir, NULL) : NULL;
	real_top = realpath(top, NULL);
	if (!real_dir || !real_top)
		goto out;
	len = strcmp(real_top, "/") == 0 ? 0 : strlen(real_top);
	if (strncmp(real_dir, real_top, len) != 0 || (real_dir[len] && real_dir[len] != '/'))
		goto out;
	if (!real_dir[len] || !real_dir[len + 1])
		path = strdup(name);
	else if (asprintf(&path, "%s/%s", real_dir + len + 1, name) < 0)
		path = NULL;
out:
	free(dir);
	free(real_dir);
	free(real_top);
	return path;
}
