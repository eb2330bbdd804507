#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `git brevis checkout` mends what stock tools leave behind: raw archives, also staged ones, files of 0
# bytes, pointers; with their modes, never through a link, and nothing that a user wrote.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

REVISION=$TOP/tests/corpus/demo-revision.safetensors
must git lfs install --skip-repo

new_remote remote.git
new_repo work
mkdir work/sub
cp "$DEMO" work/model.safetensors
cp "$REVISION" work/sub/tool.safetensors
chmod +x work/sub/tool.safetensors
printf 'small' >work/small.safetensors
: >work/empty.safetensors
commit_all work files
must git -C work remote add origin "file://$T/remote.git"
must git -C work push -q origin main

# mended WHAT DIR: checkout completes all; it is then as it was committed.
mended()
{
	in_dir "$2" check "$1: git brevis checkout" git brevis checkout
	listing "$2" >"$T/after"
	listing work >"$T/committed"
	same_bytes "$1: every byte" "$T/after" "$T/committed"
	is "$1: modes" "$(stat -c %a "$2/model.safetensors" "$2/sub/tool.safetensors" | tr '\n' ' ')" \
		'644 755 '
	is_clean "$1: clean" "$2"
	is "$1: nothing is staged" "$(git -C "$2" diff --cached --name-only)" ""
	is "$1: status" "$(in_dir "$2" git brevis status)" '4 files kept by git-brevis, all in order.'
	is "$1: no temporary file" "$(find "$2" -name '*git-brevis-*')" ""
}

# ---- an old git-lfs pulls -----------------------------------------------------------------------------

GIT_BREVIS_SKIP_SMUDGE=1 must git clone -q "file://$T/remote.git" pulled
must git -C pulled -c lfs.fetchexclude= lfs pull
in_dir pulled run git brevis status --porcelain
is 'work files that are not restored are told' "$(cut -f2 "$T/out" | tr '\n' ' ')" \
	'model.safetensors small.safetensors sub/tool.safetensors '
mended 'after git lfs pull' pulled

must without_filter git clone -q "file://$T/remote.git" bare-hands
in_dir bare-hands must without_filter git -c lfs.fetchexclude= lfs pull
cp -a bare-hands edited
cp -a bare-hands renormalized
if git -C bare-hands cat-file blob :model.safetensors | head -c 7 | grep -q BREVIS; then
	note 'this git-lfs stages archives'
else # a newer one leaves such files alone; so it would have been
	for file in model.safetensors sub/tool.safetensors small.safetensors; do
		for clone in bare-hands edited renormalized; do
			cp "$(object_of work "$file")" "$clone/$file"
			must without_filter git -C "$clone" add "$file"
		done
	done
fi
in_dir bare-hands run git brevis status
contains 'an archive that is staged is told as raw' "$T/out" 'Stored raw'
contains 'with a way out' "$T/out" 'git add --renormalize'
mended 'after git lfs pull without the filter' bare-hands

cp "$REVISION" edited/model.safetensors
cp "$REVISION" edited/more.safetensors
must without_filter git -C edited add more.safetensors
before=$(git -C edited ls-files -s model.safetensors more.safetensors)
in_dir edited check 'a file that was edited since' git brevis checkout
same_bytes 'is left' edited/model.safetensors "$REVISION"
is 'with what is staged, and what was added' \
	"$(git -C edited ls-files -s model.safetensors more.safetensors)" "$before"
same_bytes 'others are mended' edited/sub/tool.safetensors "$REVISION"

in_dir renormalized must git add --renormalize .
is 'the way out leads there' "$(git -C renormalized diff --cached --name-only)" ""
mended 'renormalized' renormalized

# ---- 0 bytes, pointers, nothing ------------------------------------------------------------------------

cp -a pulled left
: >left/model.safetensors
: >left/sub/tool.safetensors
in_dir left run git brevis status --porcelain
is '0-byte leftovers are told' "$(grep -c pointer "$T/out")" 2
in_dir left run git brevis status
contains 'and what restores them' "$T/out" 'Not restored yet'
mended 'files of 0 bytes' left
for file in model.safetensors sub/tool.safetensors; do
	git -C left cat-file blob "HEAD:$file" >"left/$file"
done
mended 'pointers' left
must rm -r left/sub left/empty.safetensors left/small.safetensors
mended 'files that are gone' left
git -C left cat-file blob HEAD:sub/tool.safetensors >left/model.safetensors
in_dir left run git brevis checkout
is 'the pointer of another file is no leftover' "$(cat left/model.safetensors)" \
	"$(git -C left cat-file blob HEAD:sub/tool.safetensors)"
must rm left/model.safetensors
head -c 1000 "$(object_of left model.safetensors)" >left/model.safetensors
in_dir left run git brevis checkout
is 'an archive that is not the object is none either' "$(stat -c %s left/model.safetensors)" 1000
must rm left/model.safetensors
mended 'once it is gone' left

# ---- links ----------------------------------------------------------------------------------------------

mkdir outside
: >outside/tool.safetensors
must rm -r left/sub
must ln -s ../outside left/sub
: >left/model.safetensors
in_dir left run git brevis checkout
contains 'a link in the place of a directory is told' "$T/err" 'sub/tool.safetensors: left out: a symbolic link'
is 'and not followed' "$(stat -c %s outside/tool.safetensors)" 0
same_bytes 'others are mended' left/model.safetensors "$DEMO"
must rm left/sub
must mkdir left/sub
must ln -s ../../outside/tool.safetensors left/sub/tool.safetensors
in_dir left run git brevis checkout
is 'nor is a link in the place of a file' \
	"$(readlink left/sub/tool.safetensors) $(stat -c %s outside/tool.safetensors)" \
	'../../outside/tool.safetensors 0'
must rm left/sub/tool.safetensors
mended 'without them' left

done_testing
