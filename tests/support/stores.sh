# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The four kinds of stores, for scripts that have sourced lib.sh: real servers on loopback, with
# throw-away keys, that end with the script.

# Passwords, none of which may be seen anywhere (no_secrets).
DAV_PASSWORD='dav-Secret/7 %&"'
SFTP_USER=$(id -un)

# ---- servers ------------------------------------------------------------------------------------

# make_key FILE: a pair of SSH keys without a passphrase.
make_key()
{
	must ssh-keygen -qt ed25519 -N '' -C '' -f "$1"
}

# start_sshd DIR: OpenSSH's sftp server; DIR is for its keys and its log, the store is to be
# DIR/store. Sets SFTP_URL, SFTP_PORT and SFTP_PID, and lets git-brevis of this HOME know the host and the key.
start_sshd()
{
	SFTP_DIR=$1
	mkdir -p "$SFTP_DIR"
	make_key "$SFTP_DIR/host"
	make_key "$SFTP_DIR/client"
	cp "$SFTP_DIR/client.pub" "$SFTP_DIR/authorized"
	SFTP_PORT=$(free_port)
	cat >"$SFTP_DIR/config" <<-END
		Port $SFTP_PORT
		ListenAddress 127.0.0.1
		HostKey $SFTP_DIR/host
		PidFile $SFTP_DIR/pid
		AuthorizedKeysFile $SFTP_DIR/authorized
		AuthenticationMethods publickey
		PasswordAuthentication no
		StrictModes no
		UsePAM no
		MaxStartups 100
		Subsystem sftp internal-sftp
	END
	# Where it locks itself up before anybody has logged in.
	if [ "$(id -u)" = 0 ]; then must mkdir -p /run/sshd; fi
	run_sshd
	echo "[127.0.0.1]:$SFTP_PORT $(cut -d' ' -f1,2 "$SFTP_DIR/host.pub")" >"$SFTP_DIR/known_hosts"
	git config --global brevis.sftp.key "$SFTP_DIR/client"
	git config --global brevis.sftp.knownHosts "$SFTP_DIR/known_hosts"
	# shellcheck disable=SC2034 # for the scripts
	SFTP_URL=sftp://$SFTP_USER@127.0.0.1:$SFTP_PORT$SFTP_DIR/store
}

# run_sshd: the server that start_sshd has set up, once more. Sets SFTP_PID.
run_sshd()
{
	/usr/sbin/sshd -D -e -f "$SFTP_DIR/config" >>"$SFTP_DIR/log" 2>&1 &
	SFTP_PID=$!
	_started "$SFTP_PORT" "$SFTP_PID" "$SFTP_DIR/log"
}

# start_nginx_dav DIR: nginx's WebDAV with Basic authentication over DIR/root; the store is to be
# DIR/root/store. Sets DAV_URL, DAV_PORT and DAV_PID, and gives this HOME a credential helper that
# knows the password and notes in DIR/asked what it is asked for.
start_nginx_dav()
{
	DAV_DIR=$1
	DAV_PORT=$(free_port)
	mkdir -p "$DAV_DIR/root" "$DAV_DIR/temp"
	printf 'tester:{PLAIN}%s\n' "$DAV_PASSWORD" >"$DAV_DIR/passwords"
	local user=
	if [ "$(id -u)" = 0 ]; then user="user root;"; fi
	cat >"$DAV_DIR/config" <<-END
		load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so;
		$user
		daemon off;
		worker_processes 2;
		pid $DAV_DIR/pid;
		error_log $DAV_DIR/error.log;
		events { worker_connections 256; }
		http {
			access_log $DAV_DIR/access.log;
			client_body_temp_path $DAV_DIR/temp/body;
			proxy_temp_path $DAV_DIR/temp/proxy;
			fastcgi_temp_path $DAV_DIR/temp/fastcgi;
			uwsgi_temp_path $DAV_DIR/temp/uwsgi;
			scgi_temp_path $DAV_DIR/temp/scgi;
			server {
				listen 127.0.0.1:$DAV_PORT;
				root $DAV_DIR/root;
				client_max_body_size 0;
				location / {
					dav_methods PUT DELETE MKCOL COPY MOVE;
					dav_ext_methods PROPFIND OPTIONS;
					dav_access user:rw;
					auth_basic store;
					auth_basic_user_file $DAV_DIR/passwords;
				}
			}
		}
	END
	run_nginx
	cat >"$DAV_DIR/helper" <<-'END'
		#!/bin/sh
		dir=$(dirname "$0")
		echo "$1" >>"$dir/asked"
		[ "$1" = get ] || exit 0
		printf 'username=tester\npassword=%s\n' "$(cat "$dir/password")"
	END
	chmod +x "$DAV_DIR/helper"
	printf '%s' "$DAV_PASSWORD" >"$DAV_DIR/password"
	git config --global "credential.http://127.0.0.1:$DAV_PORT.helper" "$DAV_DIR/helper"
	# shellcheck disable=SC2034 # for the scripts
	DAV_URL=dav+http://127.0.0.1:$DAV_PORT/store
}

# run_nginx: the server that start_nginx_dav has set up, once more. Sets DAV_PID.
run_nginx()
{
	/usr/sbin/nginx -e "$DAV_DIR/error.log" -c "$DAV_DIR/config" >>"$DAV_DIR/log" 2>&1 &
	DAV_PID=$!
	_started "$DAV_PORT" "$DAV_PID" "$DAV_DIR/error.log"
}
