#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `git status` is clean whenever the content did not change, and content that is known is not
# compressed again: after clone, touch, cp -a, loss of the map, and with any number of threads.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

REVISION=$TOP/tests/corpus/demo-revision.safetensors

# no_compression DESCRIPTION REPO: status is clean, and nothing was compressed to find that out.
no_compression()
{
	rm -f "$T/trace"
	is "$1: clean" "$(GIT_BREVIS_TRACE=$T/trace git -C "$2" status --porcelain 2>&1)" ""
	is "$1: nothing compressed" "$(compressions "$T/trace")" 0
}

new_remote remote.git
new_repo work
must git -C work remote add origin "file://$T/remote.git"
cp "$DEMO" work/model.safetensors
printf 'not a checkpoint' >work/odd.safetensors
rm -f "$T/trace"
GIT_BREVIS_TRACE=$T/trace must git -C work add -A
at_least 'the trace tells of the first compression' "$(compressions "$T/trace")" 1
must git -C work commit -qm 'a checkpoint'
no_compression 'right after the commit' work
must git -C work push -q origin main
pointer=$(git -C work rev-parse HEAD:model.safetensors)

must git clone -q "file://$T/remote.git" clone
no_compression 'after a clone' clone
must touch clone/model.safetensors clone/odd.safetensors
no_compression 'after touch' clone
must touch -d '2001-02-03' clone/model.safetensors
no_compression 'after touch into the past' clone
must cp -a clone copy
no_compression 'after cp -a' copy
must rm -rf clone/.git/lfs/brevis
must touch clone/model.safetensors clone/odd.safetensors
no_compression 'after deleting the map' clone
must rm -rf clone/.git/lfs/brevis
must rm clone/.git/index
must git -C clone reset -q
no_compression 'after deleting the index too' clone

# What smudge restored is known under any other name.
must cp copy/model.safetensors copy/again.safetensors
rm -f "$T/trace"
GIT_BREVIS_TRACE=$T/trace must git -C copy add again.safetensors
is 'a copy of a known file has its pointer' \
	"$(git -C copy rev-parse :again.safetensors)" "$pointer"
is 'and is not compressed' "$(compressions "$T/trace")" 0

# Going back and forth between revisions.
must cp "$REVISION" copy/model.safetensors
commit_all copy 'a revision'
revision=$(git -C copy rev-parse HEAD:model.safetensors)
must cp "$DEMO" copy/model.safetensors
rm -f "$T/trace"
GIT_BREVIS_TRACE=$T/trace must git -C copy add -A
is 'an earlier content gets its earlier pointer' \
	"$(git -C copy rev-parse :model.safetensors)" "$pointer"
is 'and is not compressed' "$(compressions "$T/trace")" 0
must git -C copy reset -q --hard
is 'the revision is still its own' "$(git -C copy rev-parse :model.safetensors)" "$revision"
no_compression 'after going back' copy

# Nobody's number of threads changes a byte: each time everything known is forgotten first.
must git init -q fresh
must cp work/.gitattributes fresh/
for threads in 1 2 3 8; do
	must rm -rf fresh/.git/lfs fresh/.git/index
	must cp "$DEMO" fresh/model.safetensors
	rm -f "$T/trace"
	GIT_BREVIS_THREADS=$threads GIT_BREVIS_TRACE=$T/trace must git -C fresh add -A
	is "$threads threads make the same pointer" \
		"$(git -C fresh rev-parse :model.safetensors)" "$pointer"
	at_least "and did compress" "$(compressions "$T/trace")" 1
	GIT_BREVIS_THREADS=$threads must git -C fresh checkout-index -f model.safetensors
	same_bytes "$threads threads restore every byte" fresh/model.safetensors "$DEMO"
done

# Any number of threads after a commit leaves it clean.
for threads in 1 8; do
	must touch work/model.safetensors
	is "clean with $threads threads" \
		"$(GIT_BREVIS_THREADS=$threads git -C work status --porcelain 2>&1)" ""
done

done_testing
