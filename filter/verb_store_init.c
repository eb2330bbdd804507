/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/git/git_run.h"
#include "filter/cli/options.h"
#include "filter/remote/network.h"
#include "filter/cli/report.h"
#include "filter/store/store_place.h"
#include "filter/cli/text.h"
#include "filter/verb_store.h"

struct initialisation {
	struct store_place place;
	const char *endpoint;
	const char *region;
	const char *addressing;
	bool force;
	bool is_overruled; /* what the URL says, by this machine's settings */
	char *base;        /* where relative paths count from */
	char *file;        /* .lfsconfig */
	char *wanted;      /* value of lfs.url */
};

/* ---- .lfsconfig ------------------------------------------------------------------------------ */

/* Runs `git config -f .lfsconfig ...`. Returns its exit code, at most 1, or -1 after reporting. */
static int config(const struct initialisation *init, struct buffer *output, const char *option,
		  const char *key, const char *value)
{
	const char *args[] = {"config", "-f", init->file, option, key, value, NULL};
	struct buffer errors = BUFFER_INIT;
	int rc = git_run(&(struct git_run){.args = args, .output = output, .errors = &errors});

	if (rc > 1)
		rc = report_error("%s: git cannot read or write it: %s; make it a file that git "
				  "can, and its directory writable",
				  init->file, git_errors_line(&errors));
	buffer_release(&errors);
	return rc;
}

/* True if a value names the same store. */
static bool is_same(const struct initialisation *init, const char *value)
{
	struct fault fault = {.kind = FAULT_NONE};
	struct location location;
	bool same;

	if (strcmp(value, init->wanted) == 0)
		return true;
	if (strncmp(value, LOCATION_MARK, strlen(LOCATION_MARK)) != 0 ||
	    location_parse(value, init->base, &location, &fault) < 0)
		return false;
	same = strcmp(location.text, init->place.location.text) == 0;
	location_release(&location);
	return same;
}

/* Makes sure that a key of .lfsconfig has no value but ours. What it has is not repeated: it may
 * hold a password. */
static int check_key(const struct initialisation *init, const char *key)
{
	struct buffer text = BUFFER_INIT;
	int rc = config(init, &text, "--get-all", key, NULL);
	char *rest;

	buffer_u8(&text, 0);
	if (rc >= 0 && buffer_failed(&text))
		rc = report_error("out of memory");
	/* 1: it has none */
	for (char *value = rc ? NULL : strtok_r((char *)text.data, "\n", &rest); value && rc == 0;
	     value = strtok_r(NULL, "\n", &rest))
		if (!is_same(init, value))
			rc = report_error("%s: %s names another place for Git LFS objects; --force "
					  "replaces it (objects stay where they are)",
					  init->file, key);
	buffer_release(&text);
	return rc < 0 ? -1 : 0;
}

/* Nothing of the store may be made if the file could not name it. */
static int check_file(const struct initialisation *init)
{
	struct stat st;

	if (lstat(init->file, &st) != 0)
		return 0;
	if (!S_ISREG(st.st_mode))
		return report_error("%s: is no regular file; put one in its place", init->file);
	if (init->force)
		return 0;
	return check_key(init, "lfs.url") < 0 ? -1 : check_key(init, "lfs.pushurl");
}

static int set(const struct initialisation *init, const char *key, const char *value)
{
	int rc = config(init, NULL, "--replace-all", key, value);

	return rc > 0 ? report_error("%s: git cannot set %s; make it and its directory writable",
				     init->file, key)
		      : rc;
}

static int write_file(const struct initialisation *init)
{
	struct stat st;

	/* It would go before lfs.url for pushes. That there is none is fine. */
	if (init->force && lstat(init->file, &st) == 0) {
		struct buffer ignored = BUFFER_INIT;
		int rc = config(init, &ignored, "--get", "lfs.pushurl", NULL);

		buffer_release(&ignored);
		if (rc < 0 || (rc == 0 && config(init, NULL, "--unset-all", "lfs.pushurl", NULL)))
			return -1;
	}
	return set(init, "lfs.url", init->wanted);
}

/* ---- the verb -------------------------------------------------------------------------------- */

static bool is_s3(const char *url)
{
	if (strncmp(url, LOCATION_MARK, strlen(LOCATION_MARK)) == 0)
		url += strlen(LOCATION_MARK);
	return strncasecmp(url, "s3://", 5) == 0;
}

/* Adds the options to the URL, as its query: there they are checked. Caller frees; NULL after
 * reporting. */
static char *with_options(const struct initialisation *init, const char *url)
{
	const char *const options[][2] = {{"endpoint", init->endpoint},
					  {"region", init->region},
					  {"addressing", init->addressing}};
	struct buffer out = BUFFER_INIT;

	if (!is_s3(url) && (init->endpoint || init->region || init->addressing)) {
		report_error("store init: --endpoint, --region and --addressing are for s3:// "
			     "stores only");
		return NULL;
	}
	buffer_append(&out, url, strlen(url));
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!options[i][1])
			continue;
		buffer_u8(&out, memchr(out.data, '?', out.size) ? '&' : '?');
		buffer_append(&out, options[i][0], strlen(options[i][0]));
		buffer_u8(&out, '=');
		url_encode(&out, options[i][1], "");
	}
	buffer_u8(&out, 0);
	if (buffer_failed(&out)) {
		buffer_release(&out);
		report_error("out of memory");
	}
	return (char *)out.data;
}

/* What the URL says is what shall be made, whatever goes before it later. */
static void prefer(struct initialisation *init, const char *said, char **setting)
{
	if (!said || !*setting)
		return;
	init->is_overruled = init->is_overruled || strcmp(said, *setting) != 0;
	free(*setting);
	*setting = NULL;
}

static int locate(struct initialisation *init, const char *url)
{
	struct store_settings *settings = &init->place.settings;
	const struct location *location = &init->place.location;
	char *whole = with_options(init, url);
	int rc = whole ? store_place_locate(&init->place, whole, init->base) : -1;

	free(whole);
	if (rc < 0)
		return -1;
	prefer(init, location->s3_endpoint, &settings->s3_endpoint);
	prefer(init, location->s3_region, &settings->s3_region);
	prefer(init, location->s3_addressing, &settings->s3_addressing);
	return store_place_use(&init->place);
}

static int begin(struct initialisation *init, const char *url)
{
	char *wanted;

	init->base = getcwd(NULL, 0);
	if (!init->base)
		return report_error("the current directory cannot be told: %m; go to another one");
	if (store_place_begin(&init->place) < 0)
		return -1;
	if (!repository_work_tree(init->place.ws.repository))
		return report_error("a bare repository has no .lfsconfig of its own; run `git "
				    "brevis store init` in a clone of it, and push what it writes");
	if (locate(init, url) < 0)
		return -1;
	if (asprintf(&init->file, "%s/.lfsconfig",
		     repository_work_tree(init->place.ws.repository)) < 0)
		init->file = NULL;
	wanted = location_url(&init->place.location);
	if (!wanted || asprintf(&init->wanted, "%s%s", LOCATION_MARK, wanted) < 0)
		init->wanted = NULL;
	free(wanted);
	return init->file && init->wanted ? 0 : report_error("out of memory");
}

/* What stands in the way on this machine, and what to do next. */
static void tell(const struct initialisation *init)
{
	static const char *const keys[] = {"lfs.url", "lfs.pushurl"};
	const struct repository *repository = init->place.ws.repository;
	char *agent = repository_config(repository, "lfs.brevis::.standalonetransferagent");

	printf("The store ");
	print_path(stdout, init->place.location.text);
	printf(" is ready, and .lfsconfig names it.\nCommit that, so that clones find it: git add "
	       ":/.lfsconfig && git commit\n");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *value = repository_config(repository, keys[i]);

		if (value && !is_same(init, value))
			report_warning("git's configuration sets %s, which goes before .lfsconfig; "
				       "`git config --unset %s` removes it",
				       keys[i], keys[i]);
		free(value);
	}
	if (init->is_overruled)
		report_warning(
			"AWS_* variables or brevis.s3.* in git's configuration say something "
			"else than the URL, and go before it; unset them");
	if (!agent || strcmp(agent, "brevis") != 0)
		report_warning("git-lfs does not know its agent yet; `git brevis install` "
			       "registers it for you");
	free(agent);
}

static int initialise(struct initialisation *init, const char *url)
{
	struct fault fault = {.kind = FAULT_NONE};

	if (begin(init, url) < 0 || check_file(init) < 0)
		return -1;
	if (store_create(init->place.store, &fault) < 0)
		return store_place_report(&init->place, NULL, &fault);
	if (write_file(init) < 0)
		return -1;
	tell(init);
	return 0;
}

int verb_store_init(const struct command *self, int argc, char **argv)
{
	struct initialisation init = {.force = false};
	const struct option_spec table[] = {
		{.name = "endpoint",
		 .value = &init.endpoint,
		 .help = "of an S3 server that is not Amazon's: its URL"},
		{.name = "region", .value = &init.region, .help = "of an S3 bucket"},
		{.name = "addressing",
		 .value = &init.addressing,
		 .help = "S3: where the bucket stands: in the \"path\", or in the host "
			 "(\"virtual\")",
		 .values = "path virtual"},
		{.name = "force",
		 .flag = &init.force,
		 .help = "replace another lfs.url in .lfsconfig"},
		{0}};
	int code;

	argc = options_parse(self, argc, argv, table, &code);
	if (argc < 0)
		return code;
	if (argc != 1)
		return command_usage(self, 0);
	code = initialise(&init, argv[0]) < 0 ? EXIT_FATAL : EXIT_DONE;
	free(init.wanted);
	free(init.file);
	free(init.base);
	store_place_close(&init.place);
	return code;
}
