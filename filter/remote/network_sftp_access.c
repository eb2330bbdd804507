/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/network_sftp_private.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/bytes.h"

#define SSH_PORT 22

/* A file of known hosts or of a key is not larger. */
#define FILE_LIMIT ((size_t)16 << 20)

/* What all users of this machine know, as ssh reads it. */
#define GLOBAL_KNOWN_HOSTS "/etc/ssh/ssh_known_hosts"

/* ---- files -------------------------------------------------------------------------------------
 */

/* Reads a file, or as much as the limit says. Returns 0, or an errno. */
static int read_file(const char *path, size_t limit, struct buffer *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 1;
	int error = 0;

	if (fd < 0)
		return errno;
	while (got > 0 && out->size < limit && !buffer_failed(out)) {
		uint8_t *to = buffer_reserve(out, (size_t)64 << 10);

		got = to ? read(fd, to, (size_t)64 << 10) : -1;
		if (got > 0)
			buffer_extend(out, (size_t)got);
		else if (got < 0)
			error = to ? errno : ENOMEM;
	}
	close(fd);
	return error;
}

static int read_known(struct sftp_access *access, const char *path)
{
	struct buffer text = BUFFER_INIT;
	int result = 0;

	/* One that is missing knows nobody. */
	if (path && read_file(path, FILE_LIMIT, &text) == 0)
		result = known_host_add(&access->known, (const char *)text.data, text.size);
	buffer_release(&text);
	return result;
}

/* Puts the lines of a kind where libcurl can read them by a path. */
static int put_lines(struct sftp_access *access, size_t kind)
{
	const struct buffer *lines = &access->known.lines[kind];
	int fd;

	if (lines->size == 0)
		return 0;
	fd = memfd_create("known_hosts", MFD_CLOEXEC);
	access->known_fd[kind] = fd;
	if (fd < 0)
		return -1;
	return write(fd, lines->data, lines->size) == (ssize_t)lines->size ? 0 : -1;
}

static int read_known_hosts(struct sftp_access *access, struct fault *fault)
{
	known_host_init(&access->known, access->host, access->port);
	if (read_known(access, access->settings->known_hosts) != 0 ||
	    read_known(access, GLOBAL_KNOWN_HOSTS) != 0)
		return fault_nomem(fault);
	known_host_seal(&access->known);
	for (size_t i = 0; i < KNOWN_HOST_KINDS; i++) {
		if (put_lines(access, i) != 0)
			return fault_errno(fault, errno, "keeping what is known of %s",
					   access->host);
	}
	while (access->kind < KNOWN_HOST_KINDS && access->known_fd[access->kind] < 0)
		access->kind++;
	return 0;
}

/* ---- our keys ----------------------------------------------------------------------------------
 */

/* Why a private key file cannot be used, or NULL. What needs a passphrase is the agent's affair. */
static const char *unusable_for(const char *path, char reason[128])
{
	/* What OpenSSH's own format begins with if it is not encrypted: "none" as its cipher. */
	static const char plain[] = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ";
	struct buffer text = BUFFER_INIT;
	const char *why = NULL;
	int error = read_file(path, 1, &text);

	if (error) {
		snprintf(reason, 128, "%s", strerror(error));
		why = reason;
	} else if (text.size && (memmem(text.data, text.size, "ENCRYPTED", 9) ||
				 (memmem(text.data, text.size, "OPENSSH PRIVATE", 15) &&
				  !memmem(text.data, text.size, plain, sizeof(plain) - 1)))) {
		why = "has a passphrase";
	}
	buffer_release(&text);
	return why;
}

/* Adds a key file that is to be tried. Takes the path; NULL: memory is short. */
static int add_key(struct sftp_access *access, char *path)
{
	char reason[128];
	char text[FAULT_TEXT_SIZE];
	const char *why;

	if (!path)
		return -1;
	access->key_files[access->key_file_count++] = path;
	why = unusable_for(path, reason);
	if (!why) {
		access->logins[access->login_count++] = path;
		return 0;
	}
	snprintf(text, sizeof(text), "; %s: %s", path, why);
	buffer_append(&access->unusable, text, strlen(text));
	return 0;
}

static int add_usual_keys(struct sftp_access *access)
{
	static const char *const names[] = {"id_ed25519", "id_ecdsa", "id_rsa"};
	const char *home = getenv("HOME");
	char *path;

	for (size_t i = 0; home && i < sizeof(names) / sizeof(names[0]); i++) {
		if (asprintf(&path, "%s/.ssh/%s", home, names[i]) < 0)
			return -1;
		if (faccessat(AT_FDCWD, path, F_OK, 0) != 0)
			free(path);
		else if (add_key(access, path) != 0)
			return -1;
	}
	return 0;
}

/* A key that was chosen comes first; else the agent does, as ssh has it. */
static int find_logins(struct sftp_access *access)
{
	const char *chosen = access->settings->ssh_key;
	const char *agent = getenv("SSH_AUTH_SOCK");

	if (chosen && add_key(access, strdup(chosen)) != 0)
		return -1;
	if (agent && *agent)
		access->logins[access->login_count++] = "";
	return chosen ? 0 : add_usual_keys(access);
}

/* The user that the URL does not name. */
static char *login_name(void)
{
	struct passwd entry;
	struct passwd *found = NULL;
	char room[4096];
	const char *name = NULL;

	if (getpwuid_r(getuid(), &entry, room, sizeof(room), &found) == 0 && found)
		name = found->pw_name;
	if (!name)
		name = getenv("LOGNAME");
	return strdup(name ? name : "");
}

/* ---- access ------------------------------------------------------------------------------------
 */

int sftp_access_init(struct sftp_access *access, const struct location *location,
		     const struct store_settings *settings, struct fault *fault)
{
	memset(access, 0, sizeof(*access));
	pthread_mutex_init(&access->mutex, NULL);
	for (size_t i = 0; i < KNOWN_HOST_KINDS; i++)
		access->known_fd[i] = -1;
	access->settings = settings;
	access->port = location->port ? location->port : SSH_PORT;
	access->host = strdup(location->host);
	access->user = location->user ? strdup(location->user) : login_name();
	if (!access->host || !access->user)
		return fault_nomem(fault);
	for (char *at = access->host; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	if (find_logins(access) != 0)
		return fault_nomem(fault);
	return read_known_hosts(access, fault);
}

void sftp_access_release(struct sftp_access *access)
{
	for (size_t i = 0; i < KNOWN_HOST_KINDS; i++) {
		if (access->known_fd[i] >= 0)
			close(access->known_fd[i]);
	}
	for (size_t i = 0; i < access->key_file_count; i++)
		free(access->key_files[i]);
	known_host_release(&access->known);
	buffer_release(&access->unusable);
	free(access->host);
	free(access->user);
	pthread_mutex_destroy(&access->mutex);
}

/* libcurl asks what to do with the host's key. Only one that is known will do. */
static int judge_host(CURL *handle, const struct curl_khkey *known, const struct curl_khkey *found,
		      enum curl_khmatch match, void *ctx)
{
	enum sftp_host *host = (enum sftp_host *)ctx;

	(void)handle;
	(void)known;
	(void)found;
	*host = match == CURLKHMATCH_OK ? SFTP_HOST_KNOWN : SFTP_HOST_REFUSED;
	return match == CURLKHMATCH_OK ? CURLKHSTAT_FINE : CURLKHSTAT_REJECT;
}

static CURLcode attempt(const struct sftp_access *access, CURL *handle, size_t kind, size_t login,
			enum sftp_host *host)
{
	const char *key = access->logins[login];
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", access->known_fd[kind]);
	curl_easy_setopt(handle, CURLOPT_USERNAME, access->user);
	curl_easy_setopt(handle, CURLOPT_SSH_KNOWNHOSTS, path);
	curl_easy_setopt(handle, CURLOPT_SSH_KEYFUNCTION, judge_host);
	curl_easy_setopt(handle, CURLOPT_SSH_KEYDATA, host);
	curl_easy_setopt(handle, CURLOPT_SSH_AUTH_TYPES,
			 (long)(*key ? CURLSSH_AUTH_PUBLICKEY : CURLSSH_AUTH_AGENT));
	curl_easy_setopt(handle, CURLOPT_SSH_PRIVATE_KEYFILE, *key ? key : NULL);
	*host = SFTP_HOST_UNSEEN;
	return curl_easy_perform(handle);
}

/* Whether the two sides had no kind of key, or no cipher, in common. */
static bool nothing_in_common(CURLcode code, const char *details)
{
	return code == CURLE_FAILED_INIT && strstr(details, "ssh session: -5,");
}

/* Remembers what the server took. */
static void remember(struct sftp_access *access, size_t kind, size_t login)
{
	pthread_mutex_lock(&access->mutex);
	access->kind = kind;
	access->login = login;
	pthread_mutex_unlock(&access->mutex);
}

CURLcode sftp_access_perform(struct sftp_access *access, CURL *handle, const char *details,
			     enum sftp_host *host)
{
	bool refused = false;
	size_t kind;
	size_t first;
	size_t login;
	CURLcode code;

	pthread_mutex_lock(&access->mutex);
	kind = access->kind;
	first = login = access->login;
	pthread_mutex_unlock(&access->mutex);
	while ((code = attempt(access, handle, kind, login, host)) != CURLE_OK) {
		size_t next = kind + 1;

		if (code == CURLE_LOGIN_DENIED && login + 1 < access->login_count) {
			login++;
			continue;
		}
		/* A connection that broke off during the login looks the same: only a second
		 * refusal is one. */
		if (code == CURLE_LOGIN_DENIED && !refused) {
			refused = true;
			login = first;
			continue;
		}
		while (next < KNOWN_HOST_KINDS && access->known_fd[next] < 0)
			next++;
		if (!nothing_in_common(code, details) || next == KNOWN_HOST_KINDS)
			break;
		kind = next;
	}
	if (code == CURLE_OK)
		remember(access, kind, login);
	return code;
}

/* ---- faults ------------------------------------------------------------------------------------
 */

/* As ssh and ssh-keyscan take the port: "-p 2222 ", or nothing. */
static void port_option(const struct sftp_access *access, char out[32])
{
	out[0] = '\0';
	if (access->port != SSH_PORT)
		snprintf(out, 32, "-p %u ", access->port);
}

/* The file that users are to look at. */
static const char *known_file(const struct sftp_access *access)
{
	return access->settings->known_hosts ? access->settings->known_hosts : GLOBAL_KNOWN_HOSTS;
}

static int unknown_fault(const struct sftp_access *access, struct fault *fault)
{
	char remedy[FAULT_TEXT_SIZE];
	char port[32];

	if (access->known.revoked.size)
		return fault_set(
			fault, FAULT_UNTRUSTED, "ask whoever runs it for another key",
			"the key of host %s (port %u) is revoked, says %s or " GLOBAL_KNOWN_HOSTS,
			access->host, access->port, known_file(access));
	port_option(access, port);
	snprintf(remedy, sizeof(remedy),
		 "connect once by hand, compare the fingerprint and let ssh keep the key: ssh %s%s"
		 "%s%s; or add what ssh-keyscan %s%s prints to that file",
		 port, *access->user ? access->user : "", *access->user ? "@" : "", access->host,
		 port, access->host);
	return fault_set(fault, FAULT_UNTRUSTED, remedy,
			 "host %s (port %u) is unknown: %s has no "
			 "key that is its",
			 access->host, access->port, known_file(access));
}

static int changed_fault(const struct sftp_access *access, struct fault *fault)
{
	char remedy[FAULT_TEXT_SIZE];

	snprintf(
		remedy, sizeof(remedy),
		"ask whoever runs it; if the change is meant, remove the old key (ssh-keygen -f %s "
		"-R '%s%s%s%.0u'), then connect once by hand with ssh",
		known_file(access), access->port == SSH_PORT ? "" : "[", access->host,
		access->port == SSH_PORT ? "" : "]:", access->port == SSH_PORT ? 0 : access->port);
	return fault_set(fault, FAULT_UNTRUSTED, remedy,
			 "the key of host %s (port %u) has CHANGED: it is not the one in %s; "
			 "somebody may be listening in",
			 access->host, access->port, known_file(access));
}

/* The server shows no key of a kind that we could compare. */
static int kinds_fault(const struct sftp_access *access, struct fault *fault)
{
	char kinds[FAULT_TEXT_SIZE / 2] = "";
	char remedy[FAULT_TEXT_SIZE];
	char port[32];

	for (size_t i = 0; i < KNOWN_HOST_KINDS; i++) {
		size_t len = strlen(kinds);

		if (access->known_fd[i] >= 0)
			snprintf(kinds + len, sizeof(kinds) - len, "%s%s", len ? ", " : "",
				 known_host_kind(i));
	}
	port_option(access, port);
	snprintf(remedy, sizeof(remedy),
		 "add its other keys: ssh-keyscan -t ed25519,ecdsa %s%s; keys of kind ssh-rsa need "
		 "SHA-1 here, which servers refuse by now",
		 port, access->host);
	return fault_set(fault, FAULT_UNTRUSTED, remedy,
			 "host %s (port %u) does not prove who it is by a key of a kind that %s "
			 "has of it (%s)",
			 access->host, access->port, known_file(access), kinds);
}

static int denied_fault(const struct sftp_access *access, struct fault *fault)
{
	char tried[FAULT_TEXT_SIZE / 2] = "";

	for (size_t i = 0; i < access->login_count; i++) {
		const char *key = *access->logins[i] ? access->logins[i] : "the SSH agent's keys";
		size_t len = strlen(tried);

		if (len < sizeof(tried))
			snprintf(tried + len, sizeof(tried) - len, "%s%s", len ? ", " : "", key);
	}
	return fault_set(
		fault, FAULT_DENIED,
		"let the agent have a key that the server takes (ssh-add), or name its "
		"file: git config --global brevis.sftp.key FILE; RSA keys need SHA-1 here, "
		"which servers refuse by now",
		"%s does not let %s in: tried %s%.*s", access->host, access->user,
		*tried                  ? tried
		: access->unusable.size ? "nothing"
					: "nothing, there is neither an SSH agent nor a key file",
		(int)access->unusable.size,
		access->unusable.size ? (const char *)access->unusable.data : "");
}

int sftp_access_check(const struct sftp_access *access, struct fault *fault)
{
	if (!known_host_found(&access->known))
		return unknown_fault(access, fault);
	return access->login_count ? 0 : denied_fault(access, fault);
}

int sftp_access_fault(const struct sftp_access *access, CURLcode code, const char *details,
		      enum sftp_host host, struct fault *fault)
{
	if (host == SFTP_HOST_REFUSED)
		return access->known.of_port ? changed_fault(access, fault)
					     : unknown_fault(access, fault);
	if (nothing_in_common(code, details))
		return kinds_fault(access, fault);
	return code == CURLE_LOGIN_DENIED ? denied_fault(access, fault) : 0;
}
