#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Settings and extensions of a repository: kinds of index, packs and objects, what git shows and how it
# looks at files. Every byte comes back, and git has nothing to say.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

new_remote remote.git
new_repo work
cd work || exit 1
must git remote add origin "file://$T/remote.git"
put 1 a.safetensors
put 2 sub/b.safetensors
commit_all . 'first'
put 3 a.safetensors
commit_all . 'second'
must git push -q origin main
cd "$T" || exit 1

# with DESCRIPTION SETTING=VALUE...: a clone with these settings does what any does. With AFTER_CLONE, a
# command, run in it first.
with()
{
	local what=$1 setting
	local -a options=()
	shift
	for setting; do options+=(-c "$setting"); done
	rm -rf clone
	check "$what: clone" git clone -q "${options[@]}" "file://$T/remote.git" clone
	cd clone || exit 1
	[ -z "${AFTER_CLONE:-}" ] || must sh -c "$AFTER_CLONE"
	holds "$what: clone" a.safetensors 3 sub/b.safetensors 2
	rm a.safetensors sub/b.safetensors
	check "$what: git brevis checkout" git brevis checkout
	is "$what: git believes it" "$(git diff-files --name-only -- '*.safetensors')" ''
	holds "$what: git brevis checkout" a.safetensors 3 sub/b.safetensors 2
	must git checkout -q HEAD^
	holds "$what: an old revision" a.safetensors 1
	must git checkout -q main
	put 4 a.safetensors
	put 5 new.safetensors
	check "$what: add" git add -A
	must git commit -qm third
	holds "$what: commit" a.safetensors 4 sub/b.safetensors 2 new.safetensors 5
	pointer_in "$what" HEAD:a.safetensors HEAD:new.safetensors
	is "$what: ls-files" "$(git brevis ls-files -n 2>&1 | wc -l)" 3
	check "$what: fsck" git brevis fsck HEAD
	check "$what: push" git push -q origin HEAD:third
	must git push -q origin :third
	cd "$T" || exit 1
}

# ---- the index ----

with 'split index' core.splitIndex=true splitIndex.maxPercentChange=100
with 'feature.manyFiles, threads' feature.manyFiles=true index.threads=4 core.preloadIndex=true
printf '#!/bin/sh\nprintf "token\\0/\\0"\n' >fsmonitor
chmod +x fsmonitor
with 'a file system monitor, untracked cache' "core.fsmonitor=$T/fsmonitor" core.fsmonitorHookVersion=2 \
	core.untrackedCache=true

# ---- the work tree ----

with 'poor file systems' core.checkStat=minimal core.trustctime=false core.fileMode=false core.symlinks=false \
	core.ignoreCase=true core.precomposeUnicode=true
with 'parallel checkout, streams, fsync' checkout.workers=4 checkout.thresholdForParallelism=1 core.bigFileThreshold=1 \
	core.fsync=all core.fsyncMethod=batch

# ---- objects ----

AFTER_CLONE='git repack -qadb && git multi-pack-index write --bitmap && git commit-graph write --reachable' \
	with 'bitmaps, pack and graph files'
AFTER_CLONE='git pack-refs --all && git gc -q --prune=now --aggressive' with 'after gc' gc.reflogExpire=now
AFTER_CLONE='mv .git/objects/pack/*.pack ../p; rm -f .git/objects/pack/*; git unpack-objects -q <../p' \
	with 'loose objects' core.looseCompression=0

# ---- what git shows ----

with 'all that is shown differs' color.ui=always core.quotePath=true log.showSignature=true log.decorate=full \
	core.abbrev=4 log.date=relative diff.noprefix=true diff.renames=copies status.short=true diff.external=false \
	log.follow=true log.showRoot=false log.diffMerges=first-parent diff.relative=true column.ui=always \
	i18n.logOutputEncoding=latin1 status.relativePaths=false core.pager=false diff.submodule=log \
	diff.ignoreSubmodules=all diff.algorithm=histogram diff.wordRegex=. diff.context=0 \
	push.recurseSubmodules=on-demand grep.lineNumber=true diff.interHunkContext=2

# ---- a repository that several users share ----

# modes DIR: of what we made there.
modes()
{
	find "$1" \( -type d -o -path '*/objects/*' \) -printf '%M\n' | sort -u | tr '\n' ' '
}
# shared_as DESCRIPTION UMASK SETTING MODES: a new repository with that setting.
shared_as()
{
	rm -rf shared
	(
		umask "$2"
		must git init -q --shared="$3" shared
		cd shared || exit 1
		cp ../work/.gitattributes .
		put 6 a.safetensors
		must git add -A
		must git commit -qm first
		must git brevis ls-files HEAD
	)
	is "$1" "$(modes shared/.git/lfs)" "$4"
	in_dir shared holds "$1" a.safetensors 6
}
shared_as 'umask alone' 022 umask '-rw-r--r-- drwxr-xr-x '
shared_as 'umask alone, narrow' 077 false '-rw------- drwx------ '
shared_as 'shared by a group' 022 group '-rw-rw-r-- drwxrwsr-x '
shared_as 'shared by a group, umask 077' 077 true '-rw-rw---- drwxrws--- '
shared_as 'shared by all' 077 all '-rw-rw-r-- drwxrwsr-x '
shared_as 'shared as a number says' 022 0640 '-rw-r----- drwxr-s--- '

# ---- object names that are SHA-256 ----

must git init -q --object-format=sha256 sha256
cd sha256 || exit 1
run git brevis track '*.safetensors'
exits 128 'object names that are SHA-256: track'
one_line 'says what to do' sha256 'object-format=sha1'
cp ../work/.gitattributes .
put 7 a.safetensors
run git add -A
exits 128 'object names that are SHA-256: add'
contains 'says why' "$T/err" 'object-format=sha1'
is 'and adds nothing' "$(git ls-files)" ''
has 'and leaves the file' a.safetensors 7
cd "$T" || exit 1

nothing_left 'at the end' work clone shared sha256
done_testing
