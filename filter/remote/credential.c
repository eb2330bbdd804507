/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/credential.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "filter/git/git_run.h"

enum state { NOT_ASKED, KNOWN, APPROVED, NO_ANSWER };

struct credential {
	pthread_mutex_t mutex;
	enum state state;
	char *place;            /* "https://host", for messages */
	struct buffer question; /* what git is asked */
	struct buffer answer;   /* what it said: approve and reject are given it as it is */
	const char *user;       /* within lines, once known */
	const char *password;
	struct buffer lines;     /* the answer, each line ending in NUL */
	struct fault unanswered; /* why there is no answer, or none that is good */
};

static void wipe(struct buffer *buffer)
{
	if (buffer->data)
		explicit_bzero(buffer->data, buffer->capacity);
	buffer_release(buffer);
}

/* A value that breaks the line would be taken for further ones: it spoils the question. */
static void add_line(struct buffer *question, const char *name, const char *value)
{
	if (!value)
		return;
	if (strchr(value, '\n'))
		question->failed = true;
	buffer_append(question, name, strlen(name));
	buffer_append(question, value, strlen(value));
	buffer_u8(question, '\n');
}

struct credential *credential_new(const char *protocol, const char *host, const char *path,
				  const char *user)
{
	struct credential *credential = calloc(1, sizeof(*credential));
	struct buffer place = BUFFER_INIT;

	if (!credential)
		return NULL;
	pthread_mutex_init(&credential->mutex, NULL);
	buffer_append(&place, protocol, strlen(protocol));
	buffer_append(&place, "://", 3);
	buffer_append(&place, host, strlen(host) + 1);
	credential->place = (char *)place.data;
	add_line(&credential->question, "protocol=", protocol);
	add_line(&credential->question, "host=", host);
	add_line(&credential->question, "path=", path);
	add_line(&credential->question, "username=", user);
	if (!buffer_failed(&place))
		return credential;
	credential_free(credential);
	return NULL;
}

void credential_free(struct credential *credential)
{
	if (!credential)
		return;
	pthread_mutex_destroy(&credential->mutex);
	free(credential->place);
	buffer_release(&credential->question);
	wipe(&credential->answer);
	wipe(&credential->lines);
	free(credential);
}

bool credential_get(struct credential *credential, const char **user, const char **password)
{
	bool known;

	pthread_mutex_lock(&credential->mutex);
	known = credential->state != NOT_ASKED && credential->state != NO_ANSWER;
	if (known) {
		*user = credential->user;
		*password = credential->password;
	}
	pthread_mutex_unlock(&credential->mutex);
	return known;
}

/* Finds user and password in the answer. */
static bool read_answer(struct credential *credential)
{
	struct buffer *lines = &credential->lines;
	char *line;
	char *next;

	buffer_append(lines, credential->answer.data, credential->answer.size);
	buffer_u8(lines, '\0');
	if (buffer_failed(lines))
		return false;
	for (line = (char *)lines->data; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (strncmp(line, "username=", 9) == 0)
			credential->user = line + 9;
		else if (strncmp(line, "password=", 9) == 0)
			credential->password = line + 9;
	}
	return credential->user && credential->password;
}

/* The mutex is held: others that want to know wait for the one answer. */
static void ask_git(struct credential *credential)
{
	static const char remedy[] =
		"set up a credential helper (git help credentials), or let git ask on a terminal";
	static const char *const args[] = {"credential", "fill", NULL};
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.args = args,
			      .input = credential->question.data,
			      .input_len = credential->question.size,
			      .output = &credential->answer,
			      .errors = &errors};
	const char *said;

	credential->state = NO_ANSWER;
	if (buffer_failed(&credential->question)) {
		fault_set(&credential->unanswered, FAULT_DENIED, "correct the store's URL",
			  "%s wants to know user and password, but the URL has a line break",
			  credential->place);
	} else if (git_run(&run) == 0 && read_answer(credential)) {
		credential->state = KNOWN;
	} else {
		said = git_errors_line(&errors);
		fault_set(&credential->unanswered, FAULT_DENIED, remedy,
			  "%s wants to know user and password, and git has none%s%s",
			  credential->place, *said ? ": " : "", said);
	}
	buffer_release(&errors);
}

int credential_ask(struct credential *credential, struct fault *fault)
{
	int result = 0;

	pthread_mutex_lock(&credential->mutex);
	if (credential->state == NOT_ASKED)
		ask_git(credential);
	if (credential->state == NO_ANSWER) {
		*fault = credential->unanswered;
		result = -1;
	}
	pthread_mutex_unlock(&credential->mutex);
	return result;
}

/* Tells git what became of its answer. Whether a helper can do something with it is its matter. */
static void tell_git(const struct credential *credential, const char *verb)
{
	const char *const args[] = {"credential", verb, NULL};
	struct buffer output = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.args = args,
			      .input = credential->answer.data,
			      .input_len = credential->answer.size,
			      .output = &output,
			      .errors = &errors};

	git_run(&run);
	buffer_release(&output);
	buffer_release(&errors);
}

void credential_approve(struct credential *credential)
{
	pthread_mutex_lock(&credential->mutex);
	if (credential->state == KNOWN) {
		credential->state = APPROVED;
		tell_git(credential, "approve");
	}
	pthread_mutex_unlock(&credential->mutex);
}

int credential_reject(struct credential *credential, struct fault *fault)
{
	pthread_mutex_lock(&credential->mutex);
	fault_set(fault, FAULT_DENIED,
		  "correct what git's credential helper has for this server, then try again",
		  "%s refuses user %s and the password", credential->place,
		  credential->user ? credential->user : "(none)");
	/* One that was good a moment ago stays with git: the server may only refuse this. One that
	 * never was is not shown again: a server may lock out who tries it for each object. */
	if (credential->state == KNOWN) {
		credential->state = NO_ANSWER;
		credential->unanswered = *fault;
		tell_git(credential, "reject");
	}
	pthread_mutex_unlock(&credential->mutex);
	return -1;
}
