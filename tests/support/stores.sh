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

# ---- a store of each kind -----------------------------------------------------------------------

# use_store KIND: starts what a store of that kind (directory, sftp, dav, s3) needs. The store is not
# made. Sets STORE_KIND, STORE_URL, and STORE_DIR, where its files lie (S3: STORE_BUCKET).
use_store()
{
	STORE_KIND=$1
	case $1 in
	directory)
		STORE_DIR=$T/directory/store
		STORE_URL=file://$STORE_DIR
		mkdir -p "$T/directory"
		;;
	sftp)
		start_sshd "$T/sftp"
		STORE_DIR=$T/sftp/store
		STORE_URL=$SFTP_URL
		;;
	dav)
		start_nginx_dav "$T/dav"
		STORE_DIR=$T/dav/root/store
		STORE_URL=$DAV_URL
		;;
	s3)
		# shellcheck source=swift.sh
		. "$TOP/tests/support/swift.sh"
		SWIFT_SECRET=swift-Secret+7/x
		# Files are small in tests.
		SWIFT_PART_MIN=65536
		start_swift "$T/swift"
		STORE_BUCKET=checkpoints
		swift_bucket "$STORE_BUCKET"
		STORE_URL="s3://$STORE_BUCKET/team?endpoint=$S3_ENDPOINT"
		;;
	esac
	git config --global lfs.transfer.maxretries 3
	git config --global lfs.transfer.maxretrydelay 1
}

object_key()
{
	echo "objects/${1:0:2}/${1:2:2}/$1"
}

# stored_keys: all that there is in the store, one a line.
stored_keys()
{
	case $STORE_KIND in
	s3) swift_keys "$STORE_BUCKET" | sed -n 's,^team/,,p' ;;
	*) (cd "$STORE_DIR" && find . -type f -printf '%P\n') ;;
	esac | LC_ALL=C sort
}

# stored KEY: a file that holds what the store has under the key; not to be changed.
stored()
{
	if [ "$STORE_KIND" = s3 ]; then
		swift_get "$STORE_BUCKET" "team/$1" "$T/.stored" && echo "$T/.stored"
	else
		echo "$STORE_DIR/$1"
	fi
}

# replace_stored KEY FILE: behind the store's back.
replace_stored()
{
	if [ "$STORE_KIND" = s3 ]; then
		must swift_put "$STORE_BUCKET" "team/$1" "$2"
	else
		must cp "$2" "$STORE_DIR/.replacement"
		must mv -f "$STORE_DIR/.replacement" "$STORE_DIR/$1"
	fi
}

remove_stored()
{
	if [ "$STORE_KIND" = s3 ]; then
		must swift_call DELETE "$STORE_BUCKET/team/$1"
	else
		must rm -f "$STORE_DIR/$1"
	fi
}

# empty_bucket: of all that is in it, the store's description, too.
empty_bucket()
{
	local key
	for key in $(swift_keys "$STORE_BUCKET"); do
		must swift_call DELETE "$STORE_BUCKET/$key"
	done
}

# stored_state: changes whenever something is written to the store, even the same again.
stored_state()
{
	case $STORE_KIND in
	s3) swift_call GET "$STORE_BUCKET?format=json" ;;
	*) (cd "$STORE_DIR" && find . -type f -printf '%P %i %s %T@ %C@\n' | LC_ALL=C sort) ;;
	esac
}

# new_stored_repo DIR: a repository whose objects go to the store, which is made if it is not there,
# with a bare repository beside it, DIR.git, as its origin. Files with filter=brevis are models/*,
# with filter=lfs stock/* and *.bin.
new_stored_repo()
{
	new_remote "$1.git"
	must git init -q "$1"
	must git -C "$1" remote add origin "$T/$1.git"
	in_dir "$1" must git brevis track 'models/*.safetensors'
	in_dir "$1" must git lfs track 'stock/*' '*.bin'
	in_dir "$1" must git brevis store init "$STORE_URL"
	commit_all "$1" 'track checkpoints'
}

# lfs_oid REPO PATH
lfs_oid()
{
	git -C "$1" cat-file blob "HEAD:$2" | sed -n 's/^oid sha256://p'
}

# no_secrets FILE...: none of them holds a password of this test, in any encoding that is usual.
no_secrets()
{
	"$PYTHON" - "$DAV_PASSWORD" "${SWIFT_SECRET:-}" "$@" <<-'END'
		import base64, sys, urllib.parse
		found = 0
			password, secret = sys.argv[1:3]
		words = [password, urllib.parse.quote(password), urllib.parse.quote(password, safe="")]
		words += [base64.b64encode(("tester:" + password).encode()).decode().rstrip("=")]
		if secret:
		    words += [secret, urllib.parse.quote(secret, safe="")]
		words += ["PRIVATE KEY"]  # SSH
		for path in sys.argv[3:]:
		    with open(path, "rb") as file:
		        text = file.read()
		    for word in words:
		        if word.encode() in text:
		            print(f"{path} holds {word!r}")
		            found = 1
		sys.exit(found)
	END
}

# ---- the journey --------------------------------------------------------------------------------

# as_stored DESCRIPTION FILE: the store has the file's object, by its own name, as it is.
as_stored()
{
	local oid
	oid=$(sha256sum <"$2" | cut -c1-64)
	same_bytes "$1" "$(stored "$(object_key "$oid")")" "$2"
}

# archived DESCRIPTION FILE: the store has the file's object as an archive that is as small as what
# `git brevis compress` makes (some bytes may differ: what compress knows of the repository), and
# restores the file.
archived()
{
	local oid own there
	oid=$(sha256sum <"$2" | cut -c1-64)
	must git brevis compress "$2" -o "$T/own.brevis" -f
	own=$(stat -c %s "$T/own.brevis")
	there=$(stored "$(object_key "$oid")")
	at_most "$1: as small as an archive" "$(stat -c %s "$there")" $((own + own / 100))
	cp "$there" "$T/there.brevis"
	rm -f "$T/restored"
	check "$1: it is an archive" git brevis decompress "$T/there.brevis" -o "$T/restored"
	same_bytes "$1: of this file" "$T/restored" "$2"
}

# journey: two clones work with the store of use_store: files with filter=brevis, and stock pointers.
journey()
{
	local revision=$TOP/tests/corpus/demo-revision.safetensors before

	new_stored_repo work
	is 'store init names the store in .lfsconfig' \
		"$(git config -f work/.lfsconfig lfs.url)" "brevis::$STORE_URL"
	contains 'the store says what it is' "$(stored brevis-store.json)" version
	run in_dir work git lfs env
	contains 'git-lfs goes there' "$T/out" "Endpoint=brevis::$STORE_URL"
	is 'and warns of nothing' "$RC $(cat "$T/err")" '0 '
	run in_dir work git brevis env
	contains 'env says so' "$T/out" "store (downloads of origin): $STORE_URL, by the agent brevis"
	mkdir work/models work/stock
	cp "$DEMO" work/models/demo.safetensors
	cp "$DEMO" work/stock/model.safetensors
	seq 40000 >work/words.bin
	: >work/stock/empty.safetensors
	commit_all work 'a checkpoint'
	check 'push' git -C work push -q origin main
	as_stored 'an archive travels untouched' "$(object_of work models/demo.safetensors)"
	archived 'a stock checkpoint is stored' "$DEMO"
	as_stored 'another file is stored as it is' work/words.bin

	check 'a fresh clone' git clone -q work.git clone
	listing work >"$T/listing"
	listing clone >"$T/cloned"
	same_bytes 'has every byte' "$T/cloned" "$T/listing"
	is_clean 'is clean' clone

	before=$(stored_state)
	check 'the same is pushed again' git -C work lfs push --all origin
	is 'nothing was sent' "$(stored_state)" "$before"

	cp "$revision" work/models/demo.safetensors
	cp "$revision" work/stock/model.safetensors
	commit_all work 'a changed checkpoint'
	check 'second push' git -C work push -q origin main
	as_stored 'the archive of the revision is there' "$(object_of work models/demo.safetensors)"
	archived 'the stock revision is stored' "$revision"
	check 'the clone pulls' git -C clone pull -q
	listing work >"$T/listing"
	listing clone >"$T/cloned"
	same_bytes 'and has every byte' "$T/cloned" "$T/listing"
	check 'the first checkpoint comes back' git -C clone checkout -q HEAD^
	same_bytes 'with every byte' clone/models/demo.safetensors "$DEMO"
	same_bytes 'the stock one, too' clone/stock/model.safetensors "$DEMO"

	run in_dir work git brevis store verify
	exits 0 'every object of the store is good'
	run in_dir work git brevis store ls
	is 'store ls names all of them' "$(grep -cE '[0-9a-f]{64}' "$T/out")" \
		"$(stored_keys | grep -c ^objects/)"
	is 'nothing else was left in the store' "$(stored_keys | grep -v ^objects/)" brevis-store.json
}

# ---- many, and at once --------------------------------------------------------------------------

# many COUNT: small objects, all different.
many()
{
	local dir=many-$STORE_KIND
	new_stored_repo "$dir"
	mkdir "$dir/stock"
	must "$PYTHON" - "$dir/stock" "$1" "$SEED" <<-'END'
		import random, sys
		rng = random.Random(int(sys.argv[3]))
		for i in range(int(sys.argv[2])):
		    with open(f"{sys.argv[1]}/{i}", "wb") as file:
		        file.write(rng.randbytes(rng.randint(1, 4000)))
	END
	commit_all "$dir" 'many objects'
	check "$1 small objects are pushed" git -C "$dir" push -q origin main
	is 'all arrive' "$(stored_keys | grep -c ^objects/)" "$1"
	check 'and come back' git clone -q "$dir.git" "$dir-clone"
	listing "$dir" >"$T/listing"
	listing "$dir-clone" >"$T/cloned"
	same_bytes 'with every byte' "$T/cloned" "$T/listing"
}

# at_once: two clones push the same new objects to branches of their own.
at_once()
{
	local dir=once-$STORE_KIND one two
	new_stored_repo "$dir"
	must git -C "$dir" push -q origin main
	for two in one two; do
		must git clone -q "$dir.git" "$dir-$two"
		must git -C "$dir-$two" switch -qc "$two"
		mkdir "$dir-$two/models" "$dir-$two/stock"
		cp "$DEMO" "$dir-$two/stock/model.safetensors"
		cp "$TOP/tests/corpus/demo-revision.safetensors" "$dir-$two/models/demo.safetensors"
		seq 500000 >"$dir-$two/words.bin"
		commit_all "$dir-$two" 'the same'
	done
	git -C "$dir-one" push -q origin one >"$T/one" 2>&1 &
	one=$!
	git -C "$dir-two" push -q origin two >"$T/two" 2>&1 &
	two=$!
	check 'two push the same at once: the first succeeds' wait "$one"
	check 'the second, too' wait "$two"
	archived 'the checkpoint is there' "$DEMO"
	as_stored 'the other file is' "$dir-one/words.bin"
	as_stored 'the archive is' "$(object_of "$dir-one" models/demo.safetensors)"
	is 'and nothing else is left' "$(stored_keys | grep -v ^objects/)" brevis-store.json
}
