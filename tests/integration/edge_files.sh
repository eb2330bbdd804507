#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# 500 generated files, well-formed and broken in every way that was seen in the wild, through add,
# commit, push and clone, by smudge and by `git brevis pull`.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

must "$TOP/scripts/edge-files" --seed "$SEED" --count 500 files
new_remote remote.git
new_repo work
must git -C work remote add origin "file://$T/remote.git"
must cp -r files work/files
at_least 'there are 500 files' "$(find work/files -name '*.safetensors' | wc -l)" 500
listing work >"$T/listing"

run git -C work add -A
exits 0 'add takes every file'
is 'it has no errors or warnings to tell' \
	"$(grep -E '^git-brevis: (error|warning)' "$T/err")" ""
# Content that is no safetensors is kept as it is, and said so in one note for each file.
is 'no file has two notes' "$(grep '^git-brevis: note: ' "$T/err" | sort | uniq -d)" ""
at_least 'there are notes on opaque files' "$(grep -c '^git-brevis: note: ' "$T/err")" 1
must git -C work commit -qm 'edge files'
is_clean 'clean after the commit' work
check 'push' git -C work push -q origin main

check 'clone' git clone -q "file://$T/remote.git" clone
listing clone >"$T/restored"
same_bytes 'smudge restores every file' "$T/restored" "$T/listing"
is_clean 'the clone is clean' clone

must env GIT_BREVIS_SKIP_SMUDGE=1 git clone -q "file://$T/remote.git" later
in_dir later check 'git brevis pull' git brevis pull
listing later >"$T/restored"
same_bytes 'pull restores every file' "$T/restored" "$T/listing"
is_clean 'and leaves the clone clean' later

must find later/files -name '*.safetensors' -delete
in_dir later check 'git brevis checkout' git brevis checkout
listing later >"$T/restored"
same_bytes 'checkout restores every file' "$T/restored" "$T/listing"
is_clean 'and leaves the clone clean again' later

# Deletes the map of known content, so that each file is compressed again.
for repo in work clone; do
	must rm -rf "$repo/.git/lfs/brevis"
	must touch "$repo"/files/*
	is_clean "compressing again gives the same pointers in $repo" "$repo"
done

done_testing
