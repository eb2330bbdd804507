#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Clean draws on earlier archives: what it reuses, and that it never believes them. A damaged or
# forged one costs time, never bytes.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

export GIT_BREVIS_TRACE=$T/trace
REVISION=$TOP/tests/corpus/demo-revision.safetensors

new_repo work
cd work || exit 1
cp "$DEMO" model.safetensors
commit_all . 'a checkpoint'
first=$(object_of . model.safetensors)

# ---- a revision reuses what did not change -------------------------------------------------------

: >"$T/trace"
cp "$REVISION" model.safetensors
commit_all . 'a revision'
second=$(object_of . model.safetensors)
contains 'unchanged records are reused' "$T/trace" 'clean model.safetensors: reused 1'
git brevis compress -f -o "$T/alone" "$REVISION" 2>/dev/null
same_bytes 'the archive is what it would be on its own' "$second" "$T/alone"

: >"$T/trace"
cp "$DEMO" model.safetensors
git add model.safetensors
is 'going back finds the first pointer' "$(git cat-file blob :model.safetensors)" \
	"$(git cat-file blob HEAD^:model.safetensors)"
is 'without compressing' "$(grep -c compressed "$T/trace")" 0

# ---- an earlier archive that is damaged -----------------------------------------------------------

# The object that the index names.
staged_object()
{
	object_path . "$(git cat-file blob :model.safetensors | sed -n 's/^oid sha256://p')"
}

# restores WHAT ORIGINAL: the object behind the index is sound, and a fresh checkout has every byte.
restores()
{
	check "$1: its object is sound" git brevis verify "$(staged_object)"
	rm model.safetensors
	check "$1: it is checked out" git checkout-index model.safetensors
	same_bytes "$1: every byte comes back" model.safetensors "$2"
}

git commit -qm 'back to the first'
flip_bit "$first"
rm -rf .git/lfs/brevis
touch model.safetensors
: >"$T/trace"
run git add model.safetensors
exits 0 'a file whose known archive is damaged is added'
contains 'that is noticed' "$T/trace" 'an earlier archive is damaged'
restores 'same content' "$DEMO"

flip_bit "$first"
cp "$REVISION" model.safetensors
rm -f "$second"
rm -rf .git/lfs/brevis
run git add model.safetensors
exits 0 'a revision of a file whose archive is damaged is added'
restores 'revision' "$REVISION"

# From a pipe there is nothing to read again: an error, and nothing stored.
flip_bit "$(staged_object)"
rm -rf .git/lfs/brevis model.safetensors
run sh -c "git brevis clean model.safetensors <'$REVISION'"
exits 128 'from a pipe it is an error'
contains 'that says what to do' "$T/err" 'brevis.reuse=false'
run sh -c "git -c brevis.reuse=false brevis clean model.safetensors <'$REVISION'"
exits 0 'and that helps'
cp "$REVISION" model.safetensors
must git -c brevis.reuse=false add model.safetensors
is 'so that it is what git add stores then' "$(git cat-file blob :model.safetensors)" "$(cat "$T/out")"
restores 'after it' "$REVISION"

# ---- text that resembles a pointer ----------------------------------------------------------------

pointer='version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 12345'
printf '%s\n' "$pointer" >exact.safetensors
printf '%s' "$pointer" >no-newline.safetensors
printf '%s\n' "$pointer" | sed 's/$/\r/' >crlf.safetensors
mkdir "$T/kept"
cp exact.safetensors no-newline.safetensors crlf.safetensors "$T/kept/"
git add exact.safetensors no-newline.safetensors crlf.safetensors 2>/dev/null
git cat-file blob :exact.safetensors >"$T/blob"
same_bytes 'a pointer is stored verbatim' "$T/blob" "$T/kept/exact.safetensors"
rm no-newline.safetensors crlf.safetensors
check 'text like a pointer is checked out' git checkout-index no-newline.safetensors crlf.safetensors
same_bytes 'without its final newline' no-newline.safetensors "$T/kept/no-newline.safetensors"
same_bytes 'with its line ends' crlf.safetensors "$T/kept/crlf.safetensors"

# But what git holds as a pointer of another kind stays that: a checkout left it there.
old=$(printf '%s\n' "$pointer" | sed 's|git-lfs.github.com|hawser.github.com|')
printf '%s\n' "$old" >old.safetensors
blob=$(git hash-object -w --no-filters old.safetensors)
git update-index --add --cacheinfo "100644,$blob,old.safetensors"
touch old.safetensors
git add old.safetensors
is 'an old pointer that git holds stays as it is' "$(git rev-parse :old.safetensors)" "$blob"

# ---- hooks come with the first use ----------------------------------------------------------------

git init -q "$T/fresh"
cd "$T/fresh" || exit 1
echo '*.safetensors filter=brevis diff=brevis merge=brevis -text' >.gitattributes
cp "$DEMO" model.safetensors
git add -A
check 'git add alone puts the pre-push hook in place' test -x .git/hooks/pre-push

git init -q "$T/own"
cd "$T/own" || exit 1
echo '*.safetensors filter=brevis diff=brevis merge=brevis -text' >.gitattributes
printf '#!/bin/sh\nexit 0\n' >.git/hooks/pre-push
cp .git/hooks/pre-push "$T/own-hook"
cp "$DEMO" model.safetensors
run git add -A
same_bytes 'a hook of your own stays as it is' .git/hooks/pre-push "$T/own-hook"
contains 'and you are told what it lacks' "$T/err" 'does not run all that a push needs'

done_testing
