#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A server that fails in the middle: while it does, a file is whole, or its pointer, or absent, and
# never something else; once it works again, the same command completes the clone.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

REVISION=$TOP/tests/corpus/demo-revision.safetensors
SERVER=$T/server

start_fixture_lfs "$SERVER"
git config --global lfs.url "$LFS_URL"
git config --global lfs.transfer.maxretrydelay 1
git config --global lfs.transfer.maxretries 3

# fault LINE...: what the server will do from now on.
fault()
{
	printf '%s\n' "$@" >"$SERVER/faults"
}

# happened DESCRIPTION KIND: the fault was made since the log was last emptied.
happened()
{
	contains "$1" "$SERVER/log" "fault $2"
}

new_remote remote.git
new_repo work
must git -C work remote add origin "$T/remote.git"
cp "$DEMO" work/model.safetensors
cp "$REVISION" work/other.safetensors
commit_all work 'two checkpoints'

# ---- pushing ----

# push_survives KIND LINE: one push meets a fault; it or the next one completes.
push_survives()
{
	rm -f "$SERVER"/objects/* "$SERVER/log"
	must git -C work push -q origin :main
	fault "$2"
	git -C work push -q origin main >"$T/out" 2>&1
	happened "push: the server did $1" "$1"
	fault
	check "push completes after $1" git -C work push -q origin main
	# A push whose refs arrived before its objects were lost needs --all.
	must git -C work lfs push --all origin
	check "the server has both objects after $1" test -e "$SERVER/objects/$(basename \
		"$(object_of work model.safetensors)")" -a -e "$SERVER/objects/$(basename \
		"$(object_of work other.safetensors)")"
}
must git -C remote.git config receive.denyDeleteCurrent ignore
must git -C work push -q origin main
push_survives upload-cut 'upload-cut 1 100000'
push_survives verify-500 'verify-500 1'
push_survives batch-503 'batch-503 1'

# ---- cloning and pulling ----

model_pointer=$(git -C work cat-file blob HEAD:model.safetensors | sha256sum)
model=$(sha256sum <"$DEMO")
other=$(sha256sum <"$REVISION")

# nothing_half DESCRIPTION REPO: each file is whole, or a pointer, or not there.
nothing_half()
{
	local file sum wrong=""
	for file in "$2"/*.safetensors; do
		[ -e "$file" ] || continue
		sum=$(sha256sum <"$file")
		case $sum in "$model" | "$other" | "$model_pointer") continue ;; esac
		grep -q '^oid sha256:' "$file" && [ "$(stat -c %s "$file")" -lt 1024 ] && continue
		wrong="$wrong $file"
	done
	is "$1: no half file" "$wrong" ""
	is "$1: nothing unknown in the work tree" "$(find "$2" -name .git -prune -o -type f -print |
		grep -vE '/(\.gitattributes|\.lfsconfig|(model|other)\.safetensors)$')" ""
	# Whatever is in the object store is right.
	find "$2/.git/lfs/objects" -type f 2>/dev/null | while read -r file; do
		sha256sum "$file"
	done | awk '{ n = split($2, part, "/"); if ($1 != part[n]) print $2 }' >"$T/wrong"
	is "$1: no wrong object in the store" "$(cat "$T/wrong")" ""
}

whole()
{
	same_bytes "$1: one file is whole" "$2/model.safetensors" "$DEMO"
	same_bytes "$1: the other file is whole" "$2/other.safetensors" "$REVISION"
	is_clean "$1: clean" "$2"
}

# passing KIND LINE: a fault that passes. The clone copes with it, or the next command does.
passing()
{
	rm -rf clone "$SERVER/log"
	fault "$2"
	git clone -q remote.git clone >"$T/out" 2>"$T/err"
	happened "passing $1: the server did it" "$1"
	nothing_half "passing $1" clone
	fault
	if [ -n "$(git -C clone status --porcelain 2>/dev/null)" ]; then
		must git -C clone reset -q --hard
	fi
	in_dir clone check "passing $1: pull completes" git brevis pull
	whole "passing $1" clone
}

# lasting KIND LINE: a fault that stays. `git brevis pull` fails with a line for each file.
lasting()
{
	rm -rf clone "$SERVER/log"
	must env GIT_BREVIS_SKIP_SMUDGE=1 git clone -q remote.git clone
	fault "$2"
	in_dir clone run timeout 120 git brevis pull
	happened "lasting $1: the server did it" "$1"
	if [ "$RC" -gt 0 ] && [ "$RC" -ne 124 ]; then
		ok "lasting $1: pull fails (exit code $RC)"
	else
		not_ok "lasting $1: pull fails" "$T/err"
	fi
	for path in model.safetensors other.safetensors; do
		is "lasting $1: one line about $path" \
			"$(grep '^git-brevis: error: ' "$T/err" | grep -c "$path")" 1
	done
	nothing_half "lasting $1" clone
	is_clean "lasting $1: clean" clone
	fault
	in_dir clone check "lasting $1: pull completes once it is over" git brevis pull
	whole "lasting $1" clone
}

passing download-fin 'download-fin 1 100000'
passing download-rst 'download-rst 1 100000'
passing download-503 'download-503 2'
passing download-429 'download-429 1 1'
passing download-flip 'download-flip 1 5000'
passing download-404 'download-404 1'
passing missing 'missing 1'
passing expired 'expired 1'
passing batch-503 'batch-503 1'

lasting download-fin 'download-fin 99 100000'
lasting download-rst 'download-rst 99 0'
lasting download-503 'download-503 99'
lasting download-flip 'download-flip 99 5000'
lasting missing 'missing 99'
lasting expired 'expired 99'

# A fault of one object only: the other one arrives.
rm -rf clone "$SERVER/log"
must env GIT_BREVIS_SKIP_SMUDGE=1 git clone -q remote.git clone
must mv "$SERVER/objects/$(basename "$(object_of work other.safetensors)")" "$T/lost"
in_dir clone run git brevis pull
is 'a lost object fails the pull' "$((RC != 0))" 1
one_line 'with one line' other.safetensors
same_bytes 'the other file is whole all the same' clone/model.safetensors "$DEMO"
is_clean 'and the clone is clean' clone
must mv "$T/lost" "$SERVER/objects/$(basename "$(object_of work other.safetensors)")"

# A server that is not there at all.
rm -rf clone
must env GIT_BREVIS_SKIP_SMUDGE=1 git clone -q remote.git clone
in_dir clone run git -c lfs.url=http://127.0.0.1:9/lfs brevis pull
is 'a server that is not there fails the pull' "$((RC != 0))" 1
nothing_half 'no server' clone
in_dir clone check 'and then it is there' git brevis pull
whole 'after no server' clone

# Credentials: git's own helpers are asked, through git-lfs.
start_fixture_lfs "$T/private" --auth 'somebody:se cret'
git config --global lfs.url "$LFS_URL"
git config --global credential.helper store
printf 'http://somebody:se%%20cret@%s\n' "$(echo "$LFS_URL" | cut -d/ -f3)" >"$HOME/.git-credentials"
check 'push with credentials' git -C work lfs push --all origin
rm -rf clone
check 'clone with credentials' git clone -q remote.git clone
whole 'with credentials' clone
rm -rf clone "$HOME/.git-credentials"
must env GIT_BREVIS_SKIP_SMUDGE=1 git clone -q remote.git clone
in_dir clone run timeout 60 git brevis pull
is 'without credentials the pull fails' "$((RC != 0 && RC != 124))" 1
nothing_half 'without credentials' clone

done_testing
