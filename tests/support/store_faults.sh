# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What goes wrong with a store: each object that cannot travel is told of once, with the store, the
# key, the cause and what to do; others travel; git-lfs ends with 2; nobody tells a password.
# Sourced after stores.sh.

# faulty_repo: a repository F with the store of use_store and three stock objects, not yet pushed, whose
# names are in FIRST, CHECKPOINT and LAST.
faulty_repo()
{
	F=faulty-$STORE_KIND
	new_stored_repo "$F"
	mkdir "$F/stock"
	seq 20000 >"$F/stock/first"
	cp "$DEMO" "$F/stock/checkpoint.safetensors"
	seq 30000 >"$F/stock/last"
	commit_all "$F" 'three objects'
	FIRST=$(lfs_oid "$F" stock/first)
	CHECKPOINT=$(lfs_oid "$F" stock/checkpoint.safetensors)
	LAST=$(lfs_oid "$F" stock/last)
	must git -C "$F" config lfs.transfer.maxretries 1
	F_LOG=$F/.git/lfs/brevis/transfer.log
	: >"$T/told"
}

# lfs PUSH|FETCH: of all objects of F, with every trace on. All that anybody said is kept in told.
lfs()
{
	rm -f "$T"/trace.*
	run env GIT_TRACE="$T/trace.git" GIT_TRACE_CURL="$T/trace.curl" GIT_CURL_VERBOSE=1 \
		GIT_BREVIS_TRACE="$T/trace.brevis" git -C "$F" lfs "$@"
	cat "$T/out" "$T/err" "$T"/trace.* >>"$T/told" 2>/dev/null
}

push_all()
{
	lfs push --all origin
}

fetch_all()
{
	rm -rf "$F/.git/lfs/objects"
	lfs fetch --all origin
}

# fails DESCRIPTION "OID..." WORD...: the last lfs failed for these objects and no other, each told in
# one line with the store, the object and the words.
fails()
{
	local what=$1 oids=$2 oid word
	shift 2
	exits 2 "$what: git-lfs ends with 2"
	: >"$T/complaints"
	for oid in $FIRST $CHECKPOINT $LAST; do
		grep -F "$oid" "$T/err" >"$T/lines"
		case " $oids " in
		*" $oid "*) ;;
		*)
			[ -s "$T/lines" ] && echo "$oid should travel" >>"$T/complaints"
			continue
			;;
		esac
		[ "$(wc -l <"$T/lines")" -eq 1 ] || echo "$oid: not one line" >>"$T/complaints"
		grep -qF "$F_URL: " "$T/lines" || echo "$oid: the line lacks $F_URL" >>"$T/complaints"
		for word; do
			grep -qiE -e "$word" "$T/lines" || echo "$oid: the line lacks $word" >>"$T/complaints"
		done
		grep -qF "$oid" "$F_LOG" || echo "$oid: not in the log" >>"$T/complaints"
	done
	if [ -s "$T/complaints" ]; then
		not_ok "$what: one line an object says what and why" "$T/complaints" "$T/err"
	else
		ok "$what: one line an object says what and why"
	fi
}

# has_stored DESCRIPTION OID...: exactly these are in the store.
has_stored()
{
	local what=$1
	shift
	is "$what" "$(stored_keys | sed -n 's,^objects/../../,,p' | tr '\n' ' ')" \
		"$(printf '%s\n' "$@" | LC_ALL=C sort | grep . | tr '\n' ' ')"
}

# has_local DESCRIPTION OID...: exactly these are in F.
has_local()
{
	local what=$1
	shift
	is "$what" "$(cd "$F/.git/lfs/objects" && find . -type f -printf '%f\n' | LC_ALL=C sort | tr '\n' ' ')" \
		"$(printf '%s\n' "$@" | LC_ALL=C sort | grep . | tr '\n' ' ')"
}

# pushes DESCRIPTION: the fault is over, and all travels.
pushes()
{
	push_all
	exits 0 "$1: then all objects travel"
	has_stored "$1: and are there" "$FIRST" "$CHECKPOINT" "$LAST"
	for oid in $FIRST $CHECKPOINT $LAST; do remove_stored "$(object_key "$oid")"; done
}

# faults_of_content: what every kind of store can meet.
faults_of_content()
{
	local all="$FIRST $CHECKPOINT $LAST" object key
	F_URL=$STORE_URL

	case $STORE_URL in
	*\?*) F_URL=${STORE_URL/\?/-elsewhere?} ;;
	*) F_URL=$STORE_URL-elsewhere ;;
	esac
	must git -C "$F" config lfs.url "brevis::$F_URL"
	push_all
	fails 'no store' "$all" 'git brevis store init'
	must git -C "$F" config --unset lfs.url
	F_URL=$STORE_URL

	# A damaged object of our own; others travel.
	object=$(object_path "$F" "$LAST")
	must cp "$object" "$T/whole"
	flip_bit "$object"
	push_all
	fails 'a damaged object here' "$LAST" damaged
	has_stored 'is not sent, the others are' "$FIRST" "$CHECKPOINT"
	must cp -f "$T/whole" "$object"
	object=$(object_path "$F" "$CHECKPOINT")
	remove_stored "$(object_key "$CHECKPOINT")"
	must cp "$object" "$T/whole"
	flip_bit "$object"
	push_all
	fails 'a damaged checkpoint here' "$CHECKPOINT" damaged
	has_stored 'is not sent, the other is' "$FIRST" "$LAST"
	must cp -f "$T/whole" "$object"
	push_all
	exits 0 'repaired, it travels'
	has_stored 'and is there' "$FIRST" "$CHECKPOINT" "$LAST"

	# Damaged objects of the store: of the same size, an archive, too short, another's.
	for key in "$FIRST" "$CHECKPOINT"; do
		cp "$(stored "$(object_key "$key")")" "$T/good"
		cp "$T/good" "$T/bad"
		flip_bit "$T/bad"
		replace_stored "$(object_key "$key")" "$T/bad"
		fetch_all
		fails 'an object of the store is damaged' "$key" damaged 'store verify'
		# shellcheck disable=SC2046,SC2086 # lists of words
		has_local 'the others come' $(words_without "$key" $all)
		head -c 1000 "$T/good" >"$T/bad"
		replace_stored "$(object_key "$key")" "$T/bad"
		fetch_all
		fails 'an object of the store is cut' "$key" 'store verify'
		run in_dir "$F" git brevis store verify
		exits 1 'store verify finds it'
		contains 'and names it' "$T/out" "$key"
		replace_stored "$(object_key "$key")" "$T/good"
	done
	cp "$(stored "$(object_key "$CHECKPOINT")")" "$T/good"
	replace_stored "$(object_key "$LAST")" "$T/good"
	fetch_all
	fails "another object's archive" "$LAST" 'something else' 'store verify'
	remove_stored "$(object_key "$LAST")"
	fetch_all
	fails 'an object that the store lacks' "$LAST" 'the store lacks it' 'git lfs push'
	has_local 'the others come' "$FIRST" "$CHECKPOINT"
	is 'nothing is left of what did not' "$(find "$F/.git/lfs/tmp" -type f)" ''

	# A store that a later version has made.
	cp "$(stored brevis-store.json)" "$T/description"
	sed 's/\("version" *: *\)[0-9]*/\12/' "$T/description" >"$T/later"
	check 'a later version is another one' test "$(cmp "$T/later" "$T/description" | wc -l)" -eq 1
	replace_stored brevis-store.json "$T/later"
	fetch_all
	fails 'a store of a later version' "$all" version
	replace_stored brevis-store.json "$T/description"
	for key in $(stored_keys | grep ^objects/); do remove_stored "$key"; done
	must cp "$F/stock/first" "$T/a"
	for key in first checkpoint.safetensors last; do
		object=$(object_path "$F" "$(lfs_oid "$F" "stock/$key")")
		must mkdir -p "$(dirname "$object")"
		must cp "$F/stock/$key" "$object"
	done
	pushes 'a store of this version'
}

# words_without WORD WORD...: all but the first.
words_without()
{
	local word without=$1
	shift
	for word; do
		[ "$word" = "$without" ] || echo "$word"
	done
}

faults_of_directory()
{
	local all="$FIRST $CHECKPOINT $LAST"
	must mv "$STORE_DIR" "$STORE_DIR.away"
	push_all
	fails 'a share that is not mounted' "$all" 'store'
	must mv "$STORE_DIR.away" "$STORE_DIR"
	if [ "$(id -u)" != 0 ]; then
		must chmod -R a-w "$STORE_DIR"
		push_all
		fails 'a read-only directory' "$all" 'writ|permission'
		must chmod -R u+w "$STORE_DIR"
	elif [ -n "$OWN_MOUNTS" ]; then
		must mount --bind "$STORE_DIR" "$STORE_DIR"
		must mount -o remount,bind,ro "$STORE_DIR"
		push_all
		fails 'a read-only directory' "$all" 'read-only'
		must umount "$STORE_DIR"
	else
		not_here 'a read-only directory' 'root may write everywhere, and nothing may be mounted here'
	fi
	pushes 'a directory that is there'
}

faults_of_sftp()
{
	local all="$FIRST $CHECKPOINT $LAST" hosts=$SFTP_DIR/known_hosts
	must cp "$hosts" "$T/known_hosts"
	: >"$hosts"
	push_all
	fails 'an unknown host' "$all" 'host key|unknown' 'ssh-keyscan|ssh '
	make_key "$T/other-host"
	echo "[127.0.0.1]:$SFTP_PORT $(cut -d' ' -f1,2 "$T/other-host.pub")" >"$hosts"
	push_all
	fails 'a changed host key' "$all" 'changed|not the key|other key'
	must rm "$hosts"
	push_all
	fails 'no known hosts at all' "$all" 'known'
	must cp "$T/known_hosts" "$hosts"

	make_key "$T/stranger"
	must git config --global brevis.sftp.key "$T/stranger"
	push_all
	fails 'a key that the server does not know' "$all" 'key|denied|auth'
	must git config --global brevis.sftp.key "$T/no-such-key"
	push_all
	fails 'a key that is not there' "$all" 'key'
	must git config --global brevis.sftp.key "$SFTP_DIR/client"

	end_process "$SFTP_PID"
	push_all
	fails 'no server' "$all" 'connect'
	sed -i 's/^Subsystem.*/& -R/' "$SFTP_DIR/config"
	run_sshd
	push_all
	fails 'a read-only server' "$all" 'permission|read-only|writ'
	end_process "$SFTP_PID"
	sed -i 's/^\(Subsystem.*\) -R/\1/' "$SFTP_DIR/config"
	run_sshd
	pushes 'a server that lets us write'
	has_no_key_of_ours
}

# The keys' files themselves are no secret that could be told in words; their content is.
has_no_key_of_ours()
{
	if grep -qF -e "$(sed -n 2p "$SFTP_DIR/client")" "$T/told" "$F_LOG"; then
		not_ok 'nobody tells the key'
	else
		ok 'nobody tells the key'
	fi
}

faults_of_dav()
{
	local all="$FIRST $CHECKPOINT $LAST"
	printf 'wrong' >"$DAV_DIR/password"
	: >"$DAV_DIR/asked"
	push_all
	fails 'a wrong password' "$all" 'password|credential|denied|401'
	contains 'git is told to forget it' "$DAV_DIR/asked" erase
	printf '%s' "$DAV_PASSWORD" >"$DAV_DIR/password"
	must git config --global --unset "credential.http://127.0.0.1:$DAV_PORT.helper"
	push_all
	fails 'no password' "$all" 'credential|password'
	must git config --global "credential.http://127.0.0.1:$DAV_PORT.helper" "$DAV_DIR/helper"

	end_process "$DAV_PID"
	push_all
	fails 'no server' "$all" 'connect'
	sed -i 's/^\( *\)dav_methods.*/#&/' "$DAV_DIR/config"
	run_nginx
	push_all
	fails 'a server that lets nobody write' "$all" 'method|writ|read-only'
	end_process "$DAV_PID"
	sed -i 's/^#\(.*dav_methods\)/\1/' "$DAV_DIR/config"
	run_nginx
	: >"$DAV_DIR/asked"
	pushes 'a server that lets us write'
	contains 'git is told to remember the password' "$DAV_DIR/asked" store
}

faults_of_s3()
{
	local all="$FIRST $CHECKPOINT $LAST" secret=$AWS_SECRET_ACCESS_KEY
	AWS_SECRET_ACCESS_KEY=wrong-$secret
	push_all
	fails 'a wrong secret' "$all" 'denied|signature|key'
	AWS_SECRET_ACCESS_KEY=$secret AWS_ACCESS_KEY_ID=test:nobody
	push_all
	fails 'an unknown key' "$all" 'denied|key'
	unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
	push_all
	fails 'no key' "$all" 'AWS_ACCESS_KEY_ID'
	export AWS_ACCESS_KEY_ID=$SWIFT_KEY AWS_SECRET_ACCESS_KEY=$secret

	F_URL=${STORE_URL/$STORE_BUCKET/no-such-bucket}
	must git -C "$F" config lfs.url "brevis::$F_URL"
	push_all
	fails 'a bucket that is not there' "$all" bucket
	must git -C "$F" config --unset lfs.url
	F_URL=$STORE_URL

	must swift_call POST "$STORE_BUCKET" -H "X-Container-Read: $SWIFT_OTHER_KEY"
	AWS_ACCESS_KEY_ID=$SWIFT_OTHER_KEY AWS_SECRET_ACCESS_KEY=$SWIFT_OTHER_SECRET
	push_all
	fails 'a key that may only read' "$all" 'denied'
	AWS_ACCESS_KEY_ID=$SWIFT_KEY AWS_SECRET_ACCESS_KEY=$secret

	must git config --global brevis.s3.endpoint "http://127.0.0.1:$(free_port)"
	push_all
	fails 'no server' "$all" 'connect'
	must git config --global --unset brevis.s3.endpoint
	pushes 'a key that may write'
}

# faults KIND: all of them, for a store that use_store has just begun.
faults()
{
	note "faults of $1"
	faulty_repo
	faults_of_content
	"faults_of_$1"
	check 'nobody tells a password' no_secrets "$T/told" "$F_LOG"
}
