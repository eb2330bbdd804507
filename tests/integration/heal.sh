#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Adding a file again stores what its pointer names: an object that was lost or damaged comes back
# from the work file. And the files that no conversion touches, whatever pattern they match.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

REVISION=$TOP/tests/corpus/demo-revision.safetensors
must git lfs install --skip-repo

oid_in_index()
{
	git cat-file blob :model.safetensors | sed -n 's/^oid sha256://p'
}

# is_whole WHAT ORIGINAL: the object behind the index is what its name says and restores all.
is_whole()
{
	local oid
	oid=$(oid_in_index)
	is "$1: the object has its name" \
		"$(sha256sum "$(object_path . "$oid")" 2>&1 | cut -d' ' -f1)" "$oid"
	git cat-file --filters :model.safetensors >"$T/restored" 2>"$T/err"
	same_bytes "$1: it restores the file" "$T/restored" "$2"
}

# heals WHAT: `git add` of the unchanged model.safetensors keeps its pointer and makes it whole.
heals()
{
	local was
	was=$(git rev-parse :model.safetensors)
	must touch model.safetensors
	check "$1: git add" git add model.safetensors
	is "$1: the pointer stays" "$(git rev-parse :model.safetensors)" "$was"
	is_whole "$1" "$DEMO"
}

# damages WHAT: each way to lose the object of model.safetensors, and that it comes back.
damages()
{
	local object
	object=$(object_path . "$(oid_in_index)")
	must rm -rf .git/lfs/objects
	heals "$1, all objects removed"
	must rm "$object"
	heals "$1, object removed"
	must rm "$object"
	must rm -rf .git/lfs/brevis
	heals "$1, object and map removed"
	must chmod u+w "$object"
	must truncate -s 100 "$object"
	heals "$1, object truncated"
	sleep 0.02 # by which even coarse clocks tell before from after
	flip_bit "$object"
	heals "$1, object with a wrong bit"
	flip_bit "$object"
	must rm -rf .git/lfs/brevis
	heals "$1, object with a wrong bit and no map"
	must rm "$object"
	was=$(git rev-parse :model.safetensors)
	must git add --renormalize .
	is "$1, renormalized: the pointer stays" "$(git rev-parse :model.safetensors)" "$was"
	is_whole "$1, renormalized" "$DEMO"
	must rm "$object"
	must touch model.safetensors
	must one_by_one git add model.safetensors
	is_whole "$1, one by one" "$DEMO"
}

# ---- archives --------------------------------------------------------------------------------------

new_remote remote.git
new_repo work
cd work || exit 1
must git remote add origin "file://$T/remote.git"
cp "$DEMO" model.safetensors
commit_all . 'a checkpoint'
damages archive

cp "$REVISION" model.safetensors
must git add model.safetensors
must git lfs prune
check 'prune takes an object that is only staged' test ! -e "$(object_path . "$(oid_in_index)")"
must touch model.safetensors
must git add model.safetensors
is_whole 'archive, pruned' "$REVISION"
must git commit -qm 'a revision'
check 'then the push goes through' git push -q origin main
must git clone -q "file://$T/remote.git" "$T/clone"
same_bytes 'and a clone has it' "$T/clone/model.safetensors" "$REVISION"

: >"$T/trace"
must touch model.safetensors
must env GIT_BREVIS_TRACE="$T/trace" git add model.safetensors
is 'what is whole is not compressed again' "$(grep -c compressed "$T/trace")" 0

# ---- an archive of another version, whose object is not here ----------------------------------------

cp "$DEMO" model.safetensors
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 12345\n' 7 >"$T/other"
blob=$(git hash-object -w --no-filters "$T/other")
map=.git/lfs/brevis/known/$(stat -c %s "$DEMO")/$(sha256sum <"$DEMO" | cut -d' ' -f1)
must git update-index --cacheinfo "100644,$blob,model.safetensors"
must git commit -qm 'another version'
must cp "$T/other" "$map"
must touch model.safetensors
must git add model.safetensors
is 'nobody has it: the file is stored anew' "$([ "$(git rev-parse :model.safetensors)" != "$blob" ])$?" 0
is_whole 'nobody has it' "$DEMO"
must git reset -q HEAD model.safetensors
must git update-ref refs/remotes/origin/main HEAD
must cp "$T/other" "$map"
must touch model.safetensors
must git add model.safetensors
is 'a remote has it: its pointer stays' "$(git rev-parse :model.safetensors)" "$blob"

# ---- plain objects ---------------------------------------------------------------------------------

must git init -q "$T/plain"
cd "$T/plain" || exit 1
echo '*.safetensors filter=lfs diff=lfs merge=lfs -text' >.gitattributes
cp "$DEMO" model.safetensors
commit_all . 'with git-lfs'
must cp "$T/work/.gitattributes" .gitattributes
must git commit -qam 'with git-brevis'
damages 'plain object'

was=$(git rev-parse :model.safetensors)
object=$(object_path . "$(oid_in_index)")
must rm "$object"
run sh -c "git brevis clean model.safetensors <'$DEMO'"
exits 0 'a plain object that is gone, from a pipe'
is 'is stored again too' "$(git hash-object "$T/out" 2>&1)" "$was"
is_whole 'from a pipe' "$DEMO"
must rm "$object"
must mv model.safetensors elsewhere
run sh -c "git brevis clean model.safetensors <elsewhere"
exits 0 'a plain object that is gone, with no work file'
is 'an archive is made instead' \
	"$(git brevis smudge <"$T/out" 2>&1 | sha256sum)" "$(sha256sum <"$DEMO")"
must mv elsewhere model.safetensors
heals 'the work file is back'

flip_bit "$object"
cp "$object" model.safetensors
cp "$object" "$T/flipped"
must git add model.safetensors
is 'a damaged plain object proves nothing' "$([ "$(git rev-parse :model.safetensors)" != "$was" ])$?" 0
is_whole 'its bytes in the work tree are content' "$T/flipped"

# ---- files that git and git-lfs read themselves -----------------------------------------------------

cd "$T" || exit 1
new_remote own.git
must git init -q "$T/own"
cd "$T/own" || exit 1
must git remote add origin "file://$T/own.git"
mkdir dir .github
printf '* filter=brevis diff=brevis merge=brevis -text\n' >.gitattributes
printf '*.o\n' >dir/.gitignore
printf '[lfs]\n\tconcurrenttransfers = 3\n' >.lfsconfig
cp "$DEMO" .github/model.safetensors
head -c 3000000 /dev/urandom >.gitlarge
commit_all . 'a broad pattern'
for file in .gitattributes dir/.gitignore .lfsconfig .gitlarge; do
	git cat-file blob "HEAD:$file" >"$T/blob"
	same_bytes "$file is in git as it is" "$T/blob" "$file"
	git brevis clean "./$file" <"$file" >"$T/blob"
	same_bytes "and so says clean of $file" "$T/blob" "$file"
done
git cat-file blob HEAD:.github/model.safetensors >"$T/blob"
check 'what lies in .github is converted' git brevis pointer --check "$T/blob"
must git brevis install
must git push -q origin main
must git clone -q "file://$T/own.git" "$T/own-clone"
listing . >"$T/listing"
listing "$T/own-clone" >"$T/cloned"
same_bytes 'a clone has them all' "$T/cloned" "$T/listing"
is_clean 'and is clean' "$T/own-clone"
must touch .gitlarge
check 'a TMPDIR that is not there is no hindrance' env TMPDIR=/nonexistent git add .gitlarge
is_clean 'and changes nothing'
git cat-file blob HEAD:.github/model.safetensors >.gitpointer
git brevis smudge ./.gitpointer <.gitpointer >"$T/smudged"
same_bytes 'a pointer in such a file stays one' "$T/smudged" .gitpointer
commit_all . 'text of a pointer'
must rm .gitpointer
must git checkout -q .gitpointer
same_bytes 'after a checkout, too' .gitpointer "$T/blob"

# ---- pointers of size 0 ----------------------------------------------------------------------------

cd "$T/work" || exit 1
must git reset -q --hard
for name in plain crlf; do
	printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 0\n' \
		"$(sha256sum </dev/null | cut -d' ' -f1)" >"$T/p"
	[ "$name" = plain ] || sed -i 's/$/\r/' "$T/p"
	blob=$(git hash-object -w --no-filters "$T/p")
	must git update-index --add --cacheinfo "100644,$blob,$name-0.safetensors"
done
must git commit -qm 'pointers of size 0'
must git checkout -q -- plain-0.safetensors crlf-0.safetensors
is 'they are checked out as nothing' "$(cat plain-0.safetensors crlf-0.safetensors | wc -c)" 0
is_clean 'which is no change'
must touch plain-0.safetensors crlf-0.safetensors
is_clean 'nor after touch'
: >new-0.safetensors
must git add -A
is 'nothing else becomes a pointer' "$(git cat-file -s :new-0.safetensors)" 0
must git commit -qm 'nothing'
git update-index --add --cacheinfo "100644,$blob,new-0.safetensors"
must touch new-0.safetensors
is 'the index has the word before HEAD' "$(git status --porcelain new-0.safetensors)" \
	'M  new-0.safetensors'

done_testing
