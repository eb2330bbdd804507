#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The main job over a bare remote on the same machine: track, add, commit, push, clone, compare, and
# back. Only `git brevis install` was run before, as install.sh does.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

new_remote remote.git
must git init -q work
cd work || exit 1
must git remote add origin "file://$T/remote.git"
check 'track' git brevis track '*.safetensors'
contains 'track writes the attributes' .gitattributes \
	'*.safetensors filter=brevis diff=brevis merge=brevis -text'
cp "$DEMO" model.safetensors
check 'add' git add -A
check 'commit' git commit -qm 'a checkpoint'
is_clean 'clean after the commit'

# What is stored: a plain pointer, and behind it an object that is smaller.
git cat-file blob HEAD:model.safetensors >"$T/pointer"
object=$(object_of . model.safetensors)
size=$(stat -c %s "$object")
oid=$(sha256sum <"$object" | cut -d' ' -f1)
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n' "$oid" "$size" \
	>"$T/canonical"
same_bytes 'the pointer is the canonical three lines of its object' "$T/pointer" "$T/canonical"
at_most 'the object saves at least 34.4 %' "$((size * 1000))" "$(($(stat -c %s "$DEMO") * 656))"
is 'the object has the mode of any new file' "$(stat -c %a "$object")" 644

check 'push' git push -q origin main
check 'the remote has the object' test -e "$(object_path "$T/remote.git" "$oid")"
# Stock git-lfs takes it for its own.
git lfs ls-files -n >"$T/out"
is 'git lfs ls-files lists the path' "$(cat "$T/out")" model.safetensors
check 'git lfs fsck is content' git lfs fsck
cd "$T" || exit 1

check 'clone' git clone -q "file://$T/remote.git" clone
same_bytes 'the clone has every byte' clone/model.safetensors "$DEMO"
is_clean 'the clone is clean' clone
is 'the file has the mode of any new file' "$(stat -c %a clone/model.safetensors)" 644

# The colleague changes it and pushes; nothing was set up in the clone.
cp "$TOP/tests/corpus/demo-revision.safetensors" clone/model.safetensors
commit_all clone 'a revision'
check 'push from the clone' git -C clone push -q origin main
revision=$(object_of clone model.safetensors)
check 'the remote has the revision' \
	test -e "$(object_path "$T/remote.git" "$(basename "$revision")")"
at_most 'the first object was not touched' "$(sha256sum <"$object" | grep -vc "$oid")" 0
check 'pull in the first repository' git -C work pull -q origin main
same_bytes 'the revision arrived' work/model.safetensors \
	"$TOP/tests/corpus/demo-revision.safetensors"
is_clean 'clean after the pull' work
check 'the earlier revision comes back' git -C work checkout -q HEAD^
same_bytes 'with every byte' work/model.safetensors "$DEMO"
is_clean 'clean after going back' work

# Without git-brevis, the file is a pointer: never something wrong.
must without_filter git clone -q "file://$T/remote.git" bystander
git -C clone cat-file blob HEAD:model.safetensors >"$T/pointer"
same_bytes 'a clone without git-brevis has the pointer' bystander/model.safetensors "$T/pointer"
is 'and is clean' "$(without_filter git -C bystander status --porcelain)" ""
check 'a stock git lfs pull leaves it so' without_filter git -C bystander lfs pull
same_bytes 'as the guard says' bystander/model.safetensors "$T/pointer"

done_testing
