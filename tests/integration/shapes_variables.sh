#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What tells git where things are: GIT_DIR and its kin, absolute and relative, from wherever; .git files and
# links, core.worktree. Every byte comes back, and objects lie where they belong.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

new_repo work
cd work || exit 1
put 1 a.safetensors sub/dir/b.safetensors
commit_all . 'first'
cd "$T" || exit 1
mkdir outside 'work/sub/with space'

# The work tree in question, by an absolute path, and the next version of a file.
tree=$T/work
next=2

# works DESCRIPTION DIR [NAME=VALUE...]: with these variables and from that directory, everything works. No
# variable, no path of ours may change what git does: add, commit, status, checkout, and our own verbs.
works()
{
	local what=$1 dir=$2 git
	shift 2
	git=(env -C "$dir" "$@" git)
	next=$((next % 24 + 1))
	cp "$T/v/$next" "$tree/a.safetensors"
	check "$what: add" "${git[@]}" add -A :/
	check "$what: commit" "${git[@]}" commit -qm "$what"
	"${git[@]}" cat-file blob HEAD:a.safetensors >"$T/pointer"
	check "$what: it is a pointer" git brevis pointer --check "$T/pointer"
	rm -f "$tree/a.safetensors" "$tree/sub/dir/b.safetensors"
	check "$what: checkout" "${git[@]}" checkout -q HEAD -- :/
	in_dir "$tree" has "$what" a.safetensors "$next" sub/dir/b.safetensors 1
	rm -f "$tree/a.safetensors" "$tree/sub/dir/b.safetensors"
	check "$what: git brevis checkout" "${git[@]}" brevis checkout
	in_dir "$tree" has "$what: git brevis checkout" a.safetensors "$next" sub/dir/b.safetensors 1
	touch "$tree/a.safetensors"
	is "$what: clean" "$("${git[@]}" status --porcelain 2>&1)" ''
	is "$what: ls-files" "$("${git[@]}" brevis ls-files -n 2>&1 | wc -l)" 2
	check "$what: the object lies with the others" test -e \
		"$lfs/$(sed -n 's/^oid sha256:\(..\)\(..\)/objects\/\1\/\2\/\1\2/p' "$T/pointer")"
}
lfs=$T/work/.git/lfs

works 'nothing set' work
works 'from a subdirectory' work/sub/dir
works 'GIT_DIR, from the top' work GIT_DIR=.git
works 'GIT_DIR and GIT_WORK_TREE, absolute' outside "GIT_DIR=$T/work/.git" "GIT_WORK_TREE=$T/work"
works 'GIT_DIR and GIT_WORK_TREE, relative' outside GIT_DIR=../work/.git GIT_WORK_TREE=../work
works 'both, from a subdirectory' work/sub/dir GIT_DIR=../../.git GIT_WORK_TREE=../..
works 'GIT_WORK_TREE alone' work GIT_WORK_TREE=.
works 'a slash too many' outside "GIT_DIR=$T/work//.git/" "GIT_WORK_TREE=$T/./work/"
works 'GIT_CEILING_DIRECTORIES' work/sub "GIT_CEILING_DIRECTORIES=$T"
works 'GIT_PREFIX and GIT_NAMESPACE' work/sub/dir GIT_PREFIX=nonsense/ GIT_NAMESPACE=space
works 'pathspec variables' work GIT_LITERAL_PATHSPECS=0 GIT_ICASE_PATHSPECS=1
works 'GIT_OPTIONAL_LOCKS' work GIT_OPTIONAL_LOCKS=0
works 'GIT_CONFIG_COUNT' work GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=brevis.threads GIT_CONFIG_VALUE_0=1
works 'GIT_NO_REPLACE_OBJECTS, GIT_TRACE' work GIT_NO_REPLACE_OBJECTS=1 "GIT_TRACE=$T/git-trace"

# ---- GIT_INDEX_FILE, GIT_OBJECT_DIRECTORY, GIT_COMMON_DIR ----

# A relative one counts from the top of the work tree, wherever git runs.
for index in "$T/other-index" ../other-index; do
	rm -f "$T/other-index" "$T/other-index.lock"
	works "GIT_INDEX_FILE=${index%%/*}" work/sub GIT_INDEX_FILE="$index"
	check "GIT_INDEX_FILE=${index%%/*}: that is the index" test -s "$T/other-index"
	must git -C work reset -q
done

must mkdir "$T/objects"
variables=("GIT_OBJECT_DIRECTORY=$T/objects" "GIT_ALTERNATE_OBJECT_DIRECTORIES=$T/work/.git/objects")
must git -C work branch before
works 'GIT_OBJECT_DIRECTORY' work "${variables[@]}"
check 'GIT_OBJECT_DIRECTORY: git has put its objects there' test -n "$(ls objects)"
must git -C work update-ref refs/heads/main before
must git -C work reset -q --hard
variables=(GIT_OBJECT_DIRECTORY=../objects GIT_ALTERNATE_OBJECT_DIRECTORIES=.git/objects)
works 'GIT_OBJECT_DIRECTORY, relative' work "${variables[@]}"
must git -C work update-ref refs/heads/main before
must git -C work reset -q --hard

must git -C work worktree add -q "$T/tree" -b side
tree=$T/tree
works 'a worktree by its GIT_DIR' outside "GIT_DIR=$T/work/.git/worktrees/tree" "GIT_WORK_TREE=$T/tree"
works 'GIT_COMMON_DIR' outside "GIT_DIR=$T/work/.git/worktrees/tree" "GIT_WORK_TREE=$T/tree" \
	"GIT_COMMON_DIR=$T/work/.git"
works 'GIT_COMMON_DIR, relative' tree GIT_DIR=../work/.git/worktrees/tree GIT_WORK_TREE=. \
	GIT_COMMON_DIR=../work/.git
tree=$T/work

# ---- in hooks and aliases ----

printf '#!/bin/sh\ngit brevis status && git brevis ls-files && git brevis fsck\n' >work/.git/hooks/pre-commit
chmod +x work/.git/hooks/pre-commit
works 'in a hook' work/sub/dir
must git -C work config alias.st '!cd sub && git brevis status'
check 'in an alias' git -C work/sub/dir st
works 'git commit -a of a subdirectory, its hook with a private index' work/sub
must git -C work config alias.part 'commit -q -m part a.safetensors'
put 24 work/a.safetensors
check 'a hook of a partial commit' git -C work part
rm work/.git/hooks/pre-commit
in_dir work looks_clean 'after it'

# ---- links and .git files ----

must ln -s work link
must ln -s "$T/work/sub" sublink
tree=$T/work
works 'a link to the repository' link
works 'a link into it' sublink/dir
works 'a link and GIT_WORK_TREE' outside "GIT_DIR=$T/link/.git" "GIT_WORK_TREE=$T/link"
must mv work/.git moved.git
must ln -s "$T/moved.git" work/.git
lfs=$T/moved.git/lfs
works '.git is a link' work/sub/dir
must rm work/.git
echo "gitdir: ../moved.git" >work/.git
works '.git is a file' work/sub/dir
must mv moved.git/lfs "$T/lfs-elsewhere"
must ln -s "$T/lfs-elsewhere" moved.git/lfs
works 'lfs is a link' work/sub/dir
must rm work/.git
must git --git-dir=moved.git config core.worktree "$T/work"
works 'core.worktree' moved.git
works 'core.worktree, from within' outside "GIT_DIR=$T/moved.git"
must git --git-dir=moved.git config core.worktree ../work
works 'core.worktree, relative' outside GIT_DIR=../moved.git
must git --git-dir=moved.git config --unset core.worktree
must mv moved.git work/.git
lfs=$T/work/.git/lfs

# ---- who owns it, and where git may look ----

must git -C work config lfs.storage "$T/lfs storage"
must cp -rL work/.git/lfs "lfs storage"
lfs="$T/lfs storage"
works 'lfs.storage with a blank' work/sub
must git -C work config --unset lfs.storage

nothing_left 'at the end' work tree
check 'git-lfs agrees on every object' git -C work lfs fsck --objects
done_testing
