#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The main job over a real LFS server, JGit's: two revisions, several files at once, clones that
# complete themselves at once or later, and what stock git-lfs commands do with our objects.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

REVISION=$TOP/tests/corpus/demo-revision.safetensors

start_jgit_lfs "$T/server"
git config --global lfs.url "$LFS_URL"
git config --global lfs.locksverify false

on_server()
{
	find "$T/server" -name "$(basename "$1")" -size "$(stat -c %s "$1")c" | grep -q .
}

new_remote remote.git
new_repo work
must git -C work remote add origin "$T/remote.git"
cp "$DEMO" work/model.safetensors
commit_all work 'a checkpoint'
first=$(object_of work model.safetensors)
check 'push' git -C work push -q origin main
check 'the server has the object' on_server "$first"

# A revision that changes a tenth of the tensors, and a few more files beside it.
cp "$REVISION" work/model.safetensors
mkdir -p work/parts
for i in 1 2 3 4; do
	{
		cat "$DEMO"
		printf 'trailing bytes %d' "$i"
	} >"work/parts/part $i.safetensors"
done
commit_all work 'a revision and its parts'
check 'second push' git -C work push -q origin main
check 'the server has the revision' on_server "$(object_of work model.safetensors)"
check 'the server has a part' on_server "$(object_of work 'parts/part 3.safetensors')"
listing work >"$T/listing"

# A fresh clone: several files are asked for at once, and git-lfs fetches them together.
check 'clone' env GIT_TRACE="$T/trace" git clone -q remote.git clone
listing clone >"$T/cloned"
same_bytes 'the clone has every byte' "$T/cloned" "$T/listing"
is_clean 'the clone is clean' clone
batches=$(grep -c 'HTTP: POST .*objects/batch' "$T/trace")
at_least 'they come over HTTP' "$batches" 1
at_most 'five files are fetched in few batches' "$batches" 2
check 'the first revision comes back' git -C clone checkout -q HEAD^
same_bytes 'with every byte' clone/model.safetensors "$DEMO"
is_clean 'clean on the first revision' clone

# A clone with pointers only, completed later.
check 'clone with GIT_BREVIS_SKIP_SMUDGE' \
	env GIT_BREVIS_SKIP_SMUDGE=1 git clone -q remote.git later
git -C later cat-file blob HEAD:model.safetensors >"$T/pointer"
same_bytes 'the file is its pointer' later/model.safetensors "$T/pointer"
is_clean 'and the clone is clean' later
in_dir later check 'git brevis pull' git brevis pull
listing later >"$T/cloned"
same_bytes 'pull completes every file' "$T/cloned" "$T/listing"
is_clean 'and the clone is clean again' later
is 'nothing is left in the temporary directory' "$(find later/.git/lfs/tmp -type f 2>/dev/null)" ""

for setting in GIT_LFS_SKIP_SMUDGE=1 GIT_BREVIS_SKIP_SMUDGE=true; do
	rm -rf pointers
	must env "$setting" git clone -q remote.git pointers
	same_bytes "$setting leaves pointers" pointers/model.safetensors "$T/pointer"
done
rm -rf pointers
must git -c brevis.skipSmudge=true clone -q remote.git pointers
same_bytes 'brevis.skipSmudge leaves pointers' pointers/model.safetensors "$T/pointer"

# An object that the server lost fails the clone; it takes no other file with it, wherever its path
# stands among them.
model=$(basename "$(object_of work model.safetensors)")
part=$(basename "$(object_of work 'parts/part 1.safetensors')")
for lost in "$model" "$part"; do
	path=model.safetensors
	[ "$lost" = "$part" ] && path='parts/part 1.safetensors'
	object=$(find "$T/server" -name "$lost")
	must mv "$object" "$T/lost"
	rm -rf lacking
	run git clone -q remote.git lacking
	exits 128 "a lost object ($path): the clone fails"
	one_line 'with one line' "$path" 'the remote does not have it' 'git lfs push --all'
	listing lacking >"$T/cloned"
	grep -vF "$path" "$T/listing" >"$T/others"
	same_bytes 'every other file is there, with every byte' "$T/cloned" "$T/others"
	must mv "$T/lost" "$object"
done

# The usual commands of git-lfs still do their work.
must rm -rf "$T/server"
mkdir -p "$T/server"
check 'git lfs push --all to a server that lost everything' git -C work lfs push --all origin
check 'the server has the first revision again' on_server "$first"
must git clone -q --no-checkout remote.git fetched
check 'git lfs fetch, past the guard' git -C fetched -c lfs.fetchexclude= lfs fetch origin main
check 'checkout without the server' git -C fetched -c lfs.url=http://127.0.0.1:9/lfs checkout -q main
listing fetched >"$T/cloned"
same_bytes 'has every byte' "$T/cloned" "$T/listing"

# git lfs prune keeps what was not pushed: commits, what is staged, and what a stash holds.
printf unpushed >>work/model.safetensors
commit_all work 'not pushed'
unpushed=$(object_of work model.safetensors)
printf stashed >>work/model.safetensors
must git -C work add -A
stashed=$(object_path "$T/work" "$(git -C work cat-file blob :model.safetensors |
	sed -n 's/^oid sha256://p')")
must git -C work stash
check 'git lfs prune' git -C work lfs prune
check 'keeps an object that was not pushed' test -e "$unpushed"
check 'keeps an object of the stash' test -e "$stashed"
must git -C work stash pop
is 'the stash comes back' "$(tail -c 15 work/model.safetensors)" unpushedstashed

done_testing
