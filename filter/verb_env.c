/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/git/attributes_file.h"
#include "filter/cli/command.h"
#include "filter/convert/convert.h"
#include "filter/git/filter_config.h"
#include "filter/git/git_run.h"
#include "filter/git/hook_files.h"
#include "filter/cli/options.h"
#include "filter/convert/preset.h"
#include "filter/remote/location.h"
#include "filter/remote/network.h"
#include "filter/remote/settings.h"
#include "filter/cli/report.h"
#include "filter/cli/text.h"

static void add(struct buffer *out, const char *text)
{
	buffer_append(out, text, strlen(text));
}

/* Prints a line in which URLs have lost what may be secret: user and password (the user alone stays
 * for ssh, where it is no secret) and the query. It may come from an .lfsconfig of strangers. */
static void print_harmless(const char *line, size_t len)
{
	struct buffer out = BUFFER_INIT;
	const char *end = line + len;
	const char *at = line;

	while (at < end) {
		bool is_ssh = at - line >= 3 && strncmp(at - 3, "ssh", 3) == 0;
		const char *stop;
		const char *host;

		if (*at == '?') {
			add(&out, "?***");
			while (at < end && *at != ' ')
				at++;
			continue;
		}
		if (end - at < 3 || strncmp(at, "://", 3) != 0) {
			buffer_u8(&out, (uint8_t)*at++);
			continue;
		}
		add(&out, "://");
		at += 3;
		for (stop = at; stop < end && !strchr("/ ?#", *stop);)
			stop++;
		host = memrchr(at, '@', (size_t)(stop - at));
		if (host && !(is_ssh && !memchr(at, ':', (size_t)(host - at)))) {
			add(&out, "***");
			at = host;
		}
	}
	buffer_u8(&out, 0);
	if (!buffer_failed(&out))
		print_path(stdout, (const char *)out.data);
	putchar('\n');
	buffer_release(&out);
}

/* What git-lfs says of its endpoints; nothing else of it is repeated. */
static void print_endpoints(void)
{
	static const char *const args[] = {"lfs", "env", NULL};
	struct buffer text = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	int rc = git_run(&(struct git_run){.args = args, .output = &text, .errors = &errors});
	const char *at;

	buffer_u8(&text, 0);
	if (rc != 0 || buffer_failed(&text)) {
		printf("git-lfs: not found or failing; objects can be neither pushed nor "
		       "downloaded\n");
		goto out;
	}
	for (at = (const char *)text.data; *at; at += strcspn(at, "\n"), at += *at != 0) {
		if (strncmp(at, "git-lfs/", 8) == 0 || strncmp(at, "Endpoint", 8) == 0 ||
		    strncmp(at, "  SSH=", 6) == 0 || strncmp(at, "UploadTransfers=", 16) == 0 ||
		    strncmp(at, "DownloadTransfers=", 18) == 0)
			print_harmless(at, strcspn(at, "\n"));
	}
out:
	buffer_release(&text);
	buffer_release(&errors);
}

static void print_git_version(void)
{
	static const char *const args[] = {"version", NULL};

	fflush(stdout);
	git_ask(NULL, args);
}

static void print_places(const struct repository *repository)
{
	const char *top = repository_work_tree(repository);

	printf("\nWorkTree=%s\n", top ? top : "");
	printf("GitDir=%s\n", repository_git_dir(repository));
	printf("CommonDir=%s\n", repository_common_dir(repository));
	printf("LfsDir=%s\n", repository_lfs_dir(repository));
	printf("ObjectDir=%s/objects\n", repository_lfs_dir(repository));
	printf("CacheDir=%s/brevis\n", repository_lfs_dir(repository));
}

static void print_bool(const struct workspace *ws, const char *key)
{
	printf("%s=%s\n", key,
	       repository_config_bool(ws->repository, key, false) ? "true" : "false");
}

static void print_settings(const struct workspace *ws)
{
	static const char *const names[] = {"GIT_BREVIS_THREADS",     "GIT_BREVIS_PRESET",
					    "GIT_BREVIS_SKIP_SMUDGE", "GIT_LFS_SKIP_SMUDGE",
					    "GIT_BREVIS_PROGRESS",    "GIT_LFS_FORCE_PROGRESS",
					    "GIT_BREVIS_TRACE",       "BREVIS_KERNELS"};
	bool skip = repository_config_bool(ws->repository, "brevis.skipSmudge", false);

	printf("\nbrevis.threads=%u%s\n", ws->threads, ws->threads ? "" : " (one per processor)");
	printf("brevis.preset=%s\n", preset_name(ws->preset));
	printf("brevis.reuse=%s\n", ws->reuse ? "true" : "false");
	printf("brevis.fsync: new objects are %s\n",
	       sync_policy_name(sync_policy_read(ws->repository)));
	printf("brevis.skipSmudge=%s (in force: %s)\n", skip ? "true" : "false",
	       smudge_is_skipped(ws) ? "pointers stay in the work tree" : "files are restored");
	print_bool(ws, "brevis.autocheckout");
	print_bool(ws, "brevis.mergeTensors");
	print_bool(ws, "brevis.allowIncompletePush");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (getenv(names[i]))
			printf("%s=%s\n", names[i], getenv(names[i]));
}

static void print_installed(const struct repository *repository)
{
	printf("\n");
	for (size_t i = 0; i < FILTER_SETTINGS_ALL; i++) {
		const struct filter_setting *setting = &filter_settings[i];
		const char *option = i < FILTER_SETTINGS ? "" : " --multipart";
		char *value = repository_config(repository, setting->key);
		bool is_ours = value && strcmp(value, setting->value) == 0;

		/* Arguments of somebody else's agent may hold anything. */
		printf("git config %s = \"%s\"", setting->key,
		       !value                       ? ""
		       : is_ours || !setting->agent ? value
						    : "***");
		if (!value)
			printf(" (not set; run `git brevis install%s`)", option);
		else if (!is_ours)
			printf(" (not what `git brevis install%s` sets)", option);
		putchar('\n');
		free(value);
	}
}

/* Prints what an entry "lfs[.URL].standalonetransferagent\nNAME" of git's configuration means. */
static void print_agent(const struct repository *repository, const char *entry)
{
	size_t len = strcspn(entry, "\n");
	const char *name = entry[len] ? entry + len + 1 : "";
	size_t rest = strlen("lfs.") + strlen(".standalonetransferagent");
	char *url = len > rest ? strndup(entry + 4, len - rest) : strdup("all other URLs");
	char *path = NULL;
	char *key = NULL;
	char *line = NULL;

	if (asprintf(&key, "lfs.customtransfer.%s.path", name) < 0)
		key = NULL;
	if (key)
		path = repository_config(repository, key);
	if (asprintf(&line, "agent for %s: %s (%s)", url ? url : "", name,
		     path ? path : "which git-lfs does not know: it has no path") < 0)
		line = NULL;
	if (line)
		print_harmless(line, strlen(line));
	free(line);
	free(key);
	free(path);
	free(url);
}

/* Which agents carry objects without a server that is asked, and for URLs that begin with what. */
static void print_agents(const struct repository *repository)
{
	static const char *const args[] = {"config", "-z", "--get-regexp",
					   "^lfs\\.(.*\\.)?standalonetransferagent$", NULL};
	struct buffer text = BUFFER_INIT;
	const char *at;

	git_ask(&text, args);
	buffer_u8(&text, 0);
	if (!buffer_failed(&text))
		for (at = (const char *)text.data; *at; at += strlen(at) + 1)
			print_agent(repository, at);
	buffer_release(&text);
}

/* Who would carry objects to a store; "" if nobody. Caller frees. */
static char *store_agent(const struct repository *repository)
{
	char *name = repository_config(repository, "lfs." LOCATION_MARK ".standalonetransferagent");

	if (!name)
		name = repository_config(repository, "lfs.standalonetransferagent");
	return name ? name : strdup("");
}

static void print_store(const struct repository *repository, const char *remote, bool upload)
{
	const char *base = repository_work_tree(repository);
	char *url = store_url(repository, remote, upload);
	char *agent = url ? store_agent(repository) : NULL;
	struct location location;
	struct fault fault;

	if (!url)
		return;
	printf("store (%s of ", upload ? "uploads" : "downloads");
	print_path(stdout, remote);
	printf("): ");
	if (location_parse(url, base ? base : repository_git_dir(repository), &location, &fault) <
	    0) {
		printf("refused: %s%s%s\n", fault.cause, *fault.remedy ? "; " : "", fault.remedy);
	} else {
		print_path(stdout, location.text);
		if (agent && *agent)
			printf(", by the agent %s\n", agent);
		else
			printf(", by nobody: run `git brevis install`\n");
		location_release(&location);
	}
	free(agent);
	free(url);
}

/* The stores that git-lfs uses: they depend on the remote. */
static void print_stores(const struct repository *repository)
{
	static const char *const args[] = {"remote", NULL};
	struct buffer remotes = BUFFER_INIT;
	char *rest = NULL;

	git_ask(&remotes, args);
	if (remotes.size == 0)
		buffer_append(&remotes, "origin", 6); /* as git-lfs calls what has no name */
	buffer_u8(&remotes, 0);
	if (!buffer_failed(&remotes))
		rest = (char *)remotes.data;
	for (char *name; (name = strsep(&rest, "\n")) != NULL;)
		if (*name) {
			print_store(repository, name, false);
			print_store(repository, name, true);
		}
	buffer_release(&remotes);
}

static int print_hooks(const struct repository *repository)
{
	char *dir = repository_hooks_dir(repository);

	if (!dir)
		return -1;
	printf("\nHooksDir=%s\n", dir);
	for (size_t i = 0; i < HOOK_COUNT; i++) {
		enum hook_state state = hook_file_state(dir, &hook_texts[i]);

		/* git-lfs's own post-commit does all that ours would. */
		if (state == HOOK_STOCK && strcmp(hook_texts[i].name, "post-commit") == 0)
			state = HOOK_OURS;
		printf("hook %s: %s\n", hook_texts[i].name, hook_state_name(state));
	}
	free(dir);
	return 0;
}

struct hidden {
	char *first;
	size_t count;
};

static int count_hidden(void *ctx, const struct tracked_file *file)
{
	struct hidden *hidden = ctx;

	if (file->diff_hidden && !hidden->count++)
		hidden->first = strdup(file->path);
	return 0;
}

/* Attributes that hide the files' diffs are no setting of ours, and dangerous. */
static int print_hidden(struct repository *repository)
{
	struct hidden hidden = {NULL, 0};
	const char *revision = repository_work_tree(repository) ? NULL : "HEAD";
	int rc = 0;

	if (!revision || repository_has_head(repository))
		rc = repository_each_tracked(repository, revision, NULL, 0, count_hidden, &hidden);
	if (rc == 0) {
		printf("\nfiles with a hidden diff: %zu\n", hidden.count);
		attributes_warn_of_hidden(hidden.first, hidden.count);
	}
	free(hidden.first);
	return rc;
}

int verb_env(const struct command *self, int argc, char **argv)
{
	const struct option_spec table[] = {{0}};
	struct workspace ws;
	int code;
	int count = options_parse(self, argc, argv, table, &code);

	if (count < 0)
		return code;
	if (count > 0)
		return command_usage(self, 0);
	printf("git-brevis/%s\n", BREVIS_VERSION);
	printf("kernels: %s\n", brevis_kernels());
	printf("libcurl/%s\n", network_library_version());
	print_git_version();
	print_endpoints();
	if (!repository_is_here()) {
		printf("\nno git repository here\n");
		return EXIT_DONE;
	}
	if (workspace_open(&ws) < 0)
		return EXIT_FATAL;
	print_places(ws.repository);
	print_settings(&ws);
	print_installed(ws.repository);
	print_agents(ws.repository);
	print_stores(ws.repository);
	code = EXIT_DONE;
	if (print_hooks(ws.repository) < 0 || print_hidden(ws.repository) < 0)
		code = EXIT_FATAL;
	workspace_close(&ws);
	return code;
}
