/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/aws_credentials.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A file, and what the profile's section in it is called: "NAME", or "profile NAME". */
struct place {
	const char *variable; /* names the file */
	const char *usual;    /* below the home, where it is otherwise */
	bool prefixed;
};

static const struct place credentials_file = {"AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials",
					      false};
static const struct place config_file = {"AWS_CONFIG_FILE", ".aws/config", true};

static const char *const key_names[] = {"aws_access_key_id", "aws_secret_access_key",
					"aws_session_token"};
#define KEYS (sizeof(key_names) / sizeof(*key_names))

/* What is looked for in a section, and what was found; the last one counts. */
struct wanted {
	const char *profile;
	const char *const *names;
	char **values;
	size_t count;
	bool found; /* the section itself */
	bool no_memory;
};

/* Where a reader is in a file. */
struct reader {
	bool here;      /* in the section */
	bool after_key; /* deeper lines go on with a value */
	size_t depth;   /* of the last line with a name */
};

/* An empty variable is as good as none. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static const char *profile_name(void)
{
	const char *name = variable("AWS_PROFILE");

	return name ? name : "default";
}

/* Path of a file; NULL if there is no home, or no memory. */
static char *path_of(const struct place *place)
{
	const char *home = variable("HOME");
	const char *given = variable(place->variable);
	char *path;

	if (given && strncmp(given, "~/", 2) != 0)
		return strdup(given);
	given = given ? given + 2 : place->usual;
	return home && asprintf(&path, "%s/%s", home, given) >= 0 ? path : NULL;
}

/* Cuts white space off both ends. */
static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	text[len] = 0;
	return text;
}

/* Whether a section's header, without its brackets, is the profile's: in the configuration file
 * [profile NAME], with quotes perhaps, and [default]. */
static bool is_profile(char *header, const char *profile, bool prefixed)
{
	char *name = trim(header);
	size_t len;

	if (prefixed && strncmp(name, "profile", 7) == 0 && isspace((unsigned char)name[7]))
		name = trim(name + 7);
	else if (prefixed && strcmp(name, "default") != 0)
		return false;
	len = strlen(name);
	if (prefixed && len >= 2 && (*name == '"' || *name == '\'') && name[len - 1] == *name) {
		name[len - 1] = 0;
		name++;
	}
	return strcmp(name, profile) == 0;
}

static void keep(struct wanted *wanted, const char *name, const char *value)
{
	size_t i;

	for (i = 0; i < wanted->count; i++) {
		if (strcasecmp(wanted->names[i], name) != 0)
			continue;
		free(wanted->values[i]);
		wanted->values[i] = strdup(value);
		wanted->no_memory = wanted->no_memory || !wanted->values[i];
	}
}

/* One line. A line that is deeper than the name before it goes on with that one's value: nested
 * settings ("s3 =") are such values. */
static void read_line(struct reader *reader, struct wanted *wanted, char *line, bool prefixed)
{
	size_t depth = strspn(line, " \t");
	char *text = trim(line);
	char *end;

	if (!*text || *text == '#' || *text == ';' || (reader->after_key && depth > reader->depth))
		return;
	end = strrchr(text, ']');
	if (*text == '[' && end) {
		*end = 0;
		*reader =
			(struct reader){is_profile(text + 1, wanted->profile, prefixed), false, 0};
		wanted->found = wanted->found || reader->here;
		return;
	}
	reader->after_key = true;
	reader->depth = depth;
	end = text + strcspn(text, "=:");
	if (!reader->here || !*end)
		return;
	*end = 0;
	keep(wanted, trim(text), trim(end + 1));
}

/* Reads the profile's section. A file that is not there has none. Returns -1 with *fault. */
static int read_profile(const struct place *place, struct wanted *wanted, struct fault *fault)
{
	struct reader reader = {0};
	char *path = path_of(place);
	FILE *file = path ? fopen(path, "re") : NULL;
	char *line = NULL;
	size_t room = 0;
	int result = 0;

	if (path && !file && errno != ENOENT && errno != ENOTDIR)
		result = fault_errno(fault, errno, "cannot read %s", path);
	while (file && getline(&line, &room, file) >= 0)
		read_line(&reader, wanted, line, place->prefixed);
	if (file && ferror(file))
		result = fault_errno(fault, errno, "cannot read %s", path);
	if (wanted->no_memory)
		result = fault_nomem(fault);
	if (line)
		explicit_bzero(line, room);
	if (file)
		fclose(file);
	free(line);
	free(path);
	return result;
}

static void forget(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

void aws_credentials_release(struct aws_credentials *credentials)
{
	forget(&credentials->key_id);
	forget(&credentials->secret);
	forget(&credentials->token);
}

/* Half of what is needed is a mistake; to look for the other half elsewhere would be another one.
 */
static int incomplete(const char *where, const char *has, const char *lacks, struct fault *fault)
{
	return fault_set(fault, FAULT_DENIED, "set both, or none of them", "%s has %s, but no %s",
			 where, has, lacks);
}

/* Returns 1 if the environment has them, 0 if it has none. */
static int from_environment(struct aws_credentials *out, struct fault *fault)
{
	const char *key_id = variable("AWS_ACCESS_KEY_ID");
	const char *secret = variable("AWS_SECRET_ACCESS_KEY");
	const char *token = variable("AWS_SESSION_TOKEN");

	if (!key_id && !secret)
		return 0;
	if (!secret)
		return incomplete("the environment", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
				  fault);
	if (!key_id)
		return incomplete("the environment", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID",
				  fault);
	out->key_id = strdup(key_id);
	out->secret = strdup(secret);
	out->token = token ? strdup(token) : NULL;
	return out->key_id && out->secret && (!token || out->token) ? 1 : fault_nomem(fault);
}

/* Takes them from one file. Returns 1 if it has them, 0 if not. */
static int from_file(const struct place *place, bool *found, struct aws_credentials *out,
		     struct fault *fault)
{
	char *values[KEYS] = {0};
	struct wanted wanted = {profile_name(), key_names, values, KEYS, false, false};
	int result = read_profile(place, &wanted, fault);
	char where[128];
	bool key_id, secret;

	*out = (struct aws_credentials){values[0], values[1], values[2]};
	*found = *found || wanted.found;
	if (result < 0)
		return -1;
	if (out->token && !*out->token)
		forget(&out->token);
	key_id = out->key_id && *out->key_id;
	secret = out->secret && *out->secret;
	snprintf(where, sizeof(where), "profile %.64s in ~/%s", wanted.profile, place->usual);
	if (key_id && !secret)
		return incomplete(where, key_names[0], key_names[1], fault);
	if (secret && !key_id)
		return incomplete(where, key_names[1], key_names[0], fault);
	if (key_id)
		return 1;
	aws_credentials_release(out);
	return 0;
}

static int none(bool found, struct fault *fault)
{
	if (found)
		return fault_set(fault, FAULT_DENIED,
				 "if it is one of a role or a login, let the environment have its "
				 "keys: aws configure export-credentials --format env",
				 "profile %.64s has no aws_access_key_id", profile_name());
	if (variable("AWS_PROFILE"))
		return fault_set(fault, FAULT_DENIED, "correct AWS_PROFILE",
				 "profile %.64s is neither in ~/.aws/credentials nor in "
				 "~/.aws/config",
				 profile_name());
	return fault_set(fault, FAULT_DENIED,
			 "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write "
			 "~/.aws/credentials (aws configure does)",
			 "there are no AWS credentials");
}

int aws_credentials_read(struct aws_credentials *out, struct fault *fault)
{
	bool found = false;
	int result;

	*out = (struct aws_credentials){0};
	result = from_environment(out, fault);
	if (result == 0)
		result = from_file(&credentials_file, &found, out, fault);
	if (result == 0)
		result = from_file(&config_file, &found, out, fault);
	if (result == 0)
		result = none(found, fault);
	if (result < 0)
		aws_credentials_release(out);
	return result < 0 ? -1 : 0;
}

char *aws_profile_setting(const char *name)
{
	char *value = NULL;
	struct wanted wanted = {profile_name(), &name, &value, 1, false, false};
	struct fault ignored;

	if (read_profile(&config_file, &wanted, &ignored) != 0 || (value && !*value)) {
		free(value);
		value = NULL;
	}
	return value;
}
