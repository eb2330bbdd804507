#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What git-lfs's own commands, and git's gc, do to objects and files of git-brevis: prune keeps what only this
# clone has, fsck agrees, migrate info and ls-files see them, and gc loses nothing.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

new_remote remote.git
new_repo work
cd work || exit 1
must git remote add origin "file://$T/remote.git"
must git config lfs.fetchrecentrefsdays 0
must git config lfs.fetchrecentcommitsdays 0
must git config lfs.pruneoffsetdays 0

oids=(none)

# is_in VERSION BLOB: notes the object of a version, whose pointer is that blob.
is_in()
{
	oids[$1]=$(git cat-file blob "$2" | sed -n 's/^oid sha256://p')
	[ -e "$(object_path . "${oids[$1]}")" ] || not_ok "set-up: the object of version $1"
}

# kept DESCRIPTION VERSION...: their objects are here.
kept()
{
	local version missing=''
	for version in "${@:2}"; do
		[ -e "$(object_path . "${oids[version]}")" ] || missing="$missing $version"
	done
	is "$1" "$missing" ''
}

put 1 a.safetensors
commit_all . 'pushed and old'
is_in 1 HEAD:a.safetensors
put 2 a.safetensors
commit_all . 'pushed'
is_in 2 HEAD:a.safetensors
must git push -q origin main
must git switch -q -c never-pushed
put 7 a.safetensors
commit_all . 'never pushed'
is_in 7 HEAD:a.safetensors
put 10 a.safetensors
commit_all . 'never pushed, either'
is_in 10 HEAD:a.safetensors
must git switch -q --detach main
put 9 a.safetensors
commit_all . 'tagged'
is_in 9 HEAD:a.safetensors
must git tag never-pushed-tag
must git switch -q main
must git worktree add -q --detach "$T/tree" main
put 6 "$T/tree/a.safetensors"
must git -C "$T/tree" commit -qam 'in a worktree'
is_in 6 "$(git -C "$T/tree" rev-parse HEAD:a.safetensors)"
put 3 a.safetensors
put 4 untracked.safetensors
must git add a.safetensors
must git stash -q -u
is_in 3 'stash@{0}:a.safetensors'
is_in 4 'stash@{0}^3:untracked.safetensors'
put 5 a.safetensors
must git add a.safetensors
is_in 5 :a.safetensors


# ---- git lfs prune ----

must cp -a .git/lfs/objects "$T/objects"
for command in 'prune' 'prune --verify-remote' 'prune --force' 'prune --recent'; do
	must cp -an "$T/objects" .git/lfs/
	# shellcheck disable=SC2086 # words
	run git lfs $command
	exits 0 "$command"
	kept "$command: keeps what was never pushed, of branches and tags" 7 9 10
	kept "$command: keeps what is stashed" 3 4
	check "$command: deletes what was pushed and is old" test ! -e "$(object_path . "${oids[1]}")"
done
# git-lfs knows no index; and paths of lfs.fetchexclude it only keeps for branches and tags. What that takes away is
# in the work tree, from where it comes back, or on the remote.
rm -f "$(object_path . "${oids[5]}")" "$(object_path . "${oids[6]}")" "$(object_path . "${oids[2]}")"
run git brevis fsck
exits 1 'fsck tells of a staged object that prune took'
contains 'by its path' "$T/out" a.safetensors
touch a.safetensors "$T/tree/a.safetensors"
is 'looking again puts it back' "$(git status --porcelain)" 'M  a.safetensors'
is_clean 'also in a worktree' "$T/tree"
kept 'what was staged, or of a detached HEAD, is back' 5 6
must git commit -qm 'what was staged'
check 'and it is pushed' git push -q origin main
# The stash changes what was committed since.
run git stash pop
has 'git stash pop after prune: the untracked file' untracked.safetensors 4
must git checkout -q --theirs a.safetensors
has 'git stash pop after prune: the changed file' a.safetensors 3
must git reset -q --hard
must rm untracked.safetensors
must git checkout -q HEAD^
holds 'what prune took comes from the remote again' a.safetensors 2
must git checkout -q HEAD^
holds 'that of an old revision, too' a.safetensors 1
must git checkout -q main

# ---- other commands of git-lfs ----

check 'git lfs fsck' git lfs fsck
check 'git lfs fsck of all' git lfs fsck never-pushed
check 'git lfs fsck --pointers' git lfs fsck --pointers HEAD
git lfs ls-files >"$T/out"
contains 'git lfs ls-files' "$T/out" a.safetensors
at_least 'git lfs ls-files --all' "$(git lfs ls-files --all | wc -l)" 8
check 'git lfs status' git lfs status
is 'git lfs status --porcelain' "$(git lfs status --porcelain)" ''
put 11 a.safetensors
must git add a.safetensors
git lfs status >"$T/out" 2>&1
contains 'git lfs status of a staged file' "$T/out" a.safetensors
is 'it is a pointer for git-lfs' "$(grep -c 'a.safetensors (.*LFS: .* -> LFS: ' "$T/out")" 1
for command in 'migrate info --everything' 'migrate info --everything --include=*.safetensors --pointers=follow' \
	'migrate info --everything --pointers=ignore' 'env' 'track' 'ls-files -s' 'ls-files --json' 'fetch origin main' \
	'fetch --all' 'pull' 'checkout' 'push --all origin' 'push --dry-run origin main' 'locks --local'; do
	# shellcheck disable=SC2086 # words
	check "git lfs $command" git lfs $command
	has "git lfs $command" a.safetensors 11
done
must git commit -qm 'last'
holds 'after them all' a.safetensors 11

# ---- git's own tidying ----

put 12 b.safetensors
must git add b.safetensors
put 13 a.safetensors
must git stash -q
for command in 'gc --quiet' 'gc --quiet --prune=now' 'repack -q -ad' 'maintenance run --quiet --task=gc --task=commit-graph' \
	'reflog expire --expire=now --all' 'prune --expire=now' 'pack-refs --all' 'fsck --full' 'count-objects -v'; do
	# shellcheck disable=SC2086 # words
	check "$command" git $command
done
holds 'after gc' a.safetensors 11
must git stash pop -q --index
has 'after gc: what was stashed' a.safetensors 13 b.safetensors 12
must git reset -q --hard
must git checkout -q never-pushed~1
holds 'after gc: a branch' a.safetensors 7
must git checkout -q never-pushed-tag
holds 'after gc: a tag' a.safetensors 9
must git checkout -q main

cd "$T" || exit 1
nothing_left 'at the end' work tree
done_testing
