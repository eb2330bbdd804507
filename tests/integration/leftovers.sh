#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Asking git a hundred times while somebody's index.lock is in the way leaves nothing behind: no process, no
# temporary file, nothing that grows. Nor does what fails.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

new_repo work
cd work || exit 1
put 1 a.safetensors
put 2 sub/b.safetensors
commit_all . 'first'

# A session of its own: whatever is started by git belongs to it, whoever its parent is by now.
in_session()
{
	# shellcheck disable=SC2016 # for that shell
	setsid --wait sh -c 'echo $$ >"$1"; shift; "$@"' sh "$T/session" "$@"
}
# survivors: processes of that session.
survivors()
{
	awk -v session="$(cat "$T/session")" '{ sub(/.*\) /, "") } $4 == session && $1 != "Z"' \
		/proc/[0-9]*/stat 2>/dev/null
}
# inventory: every file that we could have touched, with its size.
inventory()
{
	find .git "$TMPDIR" "$XDG_RUNTIME_DIR" "$HOME" -type f -printf '%p %s\n' | LC_ALL=C sort
}

# asked_again TIMES DESCRIPTION WANTED: git status gives that, each time, with the index locked; git has to look at the
# files each time because it cannot note what it saw.
asked_again()
{
	local times=$1
	shift
	touch .git/index.lock
	touch a.safetensors sub/b.safetensors
	git status --porcelain >"$T/out" 2>&1
	inventory >"$T/before"
	# shellcheck disable=SC2016 # for that shell
	in_session sh -c 'for i in $(seq "$1"); do git status --porcelain; done' sh "$times" >"$T/out" 2>&1
	is "$1: $times answers" "$(sort "$T/out" | uniq -c | sed 's/^ *//')" "$2"
	is "$1: no process is left" "$(survivors)" ''
	inventory >"$T/after"
	same_bytes "$1: nothing has grown" "$T/after" "$T/before"
	check "$1: the lock is whose it was" test -e .git/index.lock
	rm .git/index.lock
	nothing_left "$1" .
}
asked_again 100 'files as they were' ''
is_clean 'clean once the lock is gone'
put 3 a.safetensors
asked_again 10 'a changed file' '10  M a.safetensors'
must git checkout -q .
printf 'no checkpoint' >new.safetensors
must git add -N new.safetensors
asked_again 10 'a file that is to be added' '10  A new.safetensors'
must git rm -q --cached new.safetensors
rm new.safetensors
object=$(object_of . a.safetensors)
must mv "$object" "$T/aside"
put 4 sub/b.safetensors
asked_again 10 'an object that is gone' '10  M sub/b.safetensors'
must git checkout -q .

# ---- our own commands beside a lock ----

rm a.safetensors
touch .git/index.lock
run git brevis checkout
exits 128 'git brevis checkout beside a lock'
one_line 'names it, the cause and what comes of it' '\.git/index\.lock' 'file exists' 'remove it'
has 'and has written the file' a.safetensors 1
for verb in status ls-files env fsck 'pointer a.safetensors'; do
	# shellcheck disable=SC2086 # words
	check "git brevis $verb beside a lock" git brevis $verb
done
rm .git/index.lock
looks_clean 'once the lock is gone'

# ---- what fails leaves nothing, however often ----

object=$(object_of . a.safetensors)
must cp "$object" "$T/good"
must "$PYTHON" "$TOP/tests/support/damage.py" record "$T/good" "$object"
rm a.safetensors
run git checkout -q a.safetensors
inventory >"$T/before"
for _ in 1 2 3 4 5; do
	git checkout -q a.safetensors 2>/dev/null && not_ok 'a damaged object is checked out'
	git brevis checkout 2>/dev/null && not_ok 'a damaged object is checked out by us'
	git brevis smudge a.safetensors <<<"$(git cat-file blob :a.safetensors)" >/dev/null 2>&1
done
inventory >"$T/after"
same_bytes 'smudge and checkout of a damaged object leave nothing' "$T/after" "$T/before"
must cp --remove-destination "$T/good" "$object"
must git checkout -q .
nothing_left 'a damaged object' .
mv .git/lfs "$T/lfs"
echo 'in the way' >.git/lfs
put 5 a.safetensors
for _ in 1 2 3; do
	run git add a.safetensors
	exits 128 'git add without a place for objects'
done
one_line 'names path, cause and remedy' a.safetensors "$T/work/.git/lfs" 'not a directory' 'make that'
rm .git/lfs
mv "$T/lfs" .git/lfs
nothing_left 'no place for objects' .
must git checkout -q .

# ---- one process, many files ----

for i in $(seq 120); do put "$((i % 24 + 1))" "many/$i.safetensors"; done
check 'git add of many files with few descriptors' sh -c 'ulimit -n 32; exec git add -A'
must git commit -qm many
rm -r many
check 'git checkout of many files with few descriptors' sh -c 'ulimit -n 32; exec git checkout -q .'
looks_clean 'many files'
rm -r many
check 'git brevis checkout of many files with few descriptors' sh -c 'ulimit -n 32; exec git brevis checkout'
looks_clean 'many files, by us'
nothing_left 'many files' .
done_testing
