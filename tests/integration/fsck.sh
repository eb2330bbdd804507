#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `git brevis fsck`: each kind of finding with its word for scripts, in HEAD and index, in revisions,
# and in a range as a gate for a server; damaged objects, and no others, are moved aside. (What is
# said of each kind of damage: bad_input.sh. Options and words: cli.sh.)
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

REVISION=$TOP/tests/corpus/demo-revision.safetensors
ODD=$'odd\n"name".safetensors'
new_repo work
cd work || exit 1

# pointer_to OID SIZE
pointer_to()
{
	printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' "$1" "$2"
}

# stage TEXT-FILE PATH: as a blob, without any filter.
stage()
{
	local blob
	blob=$(git hash-object -w --no-filters "$1")
	must git update-index --add --cacheinfo "100644,$blob,$2"
}

# place FILE: as an object of its name; prints that.
place()
{
	local oid path
	oid=$(sha256sum <"$1" | cut -d' ' -f1)
	path=$(object_path . "$oid")
	mkdir -p "${path%/*}"
	cp "$1" "$path"
	echo "$oid"
}

# finds WHAT CODE EXPECTED [ARGUMENT...]: fsck -z ends with that code and finds these, "KIND PATH" each.
finds()
{
	local what=$1 code=$2 expected=$3
	shift 3
	run git brevis fsck -z "$@"
	exits "$code" "$what: exit code $code"
	is "$what" "$("$PYTHON" - "$T/out" <<-'END'
		import sys
		for record in open(sys.argv[1], "rb").read().split(b"\0")[:-1]:
		    found, path = record.split(b"\t", 1)
		    print(found.split(b" ")[0].decode(), ascii(path.decode())[1:-1])
	END
	)" "$expected"
}

cp "$DEMO" whole.safetensors
: >empty.safetensors
commit_all . 'all in order'
clean=$(git rev-parse HEAD)
finds 'all in order' 0 ''
run git brevis fsck --json
exits 0 'all in order, JSON'
check 'counts' "$PYTHON" -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d == {"findings": [], "checked": 2, "unchecked": 0}, d' "$T/out"

# ---- one of each ------------------------------------------------------------------------------------

archive=$(object_of . whole.safetensors)
cp "$REVISION" damaged.safetensors
must git add damaged.safetensors
damaged=$(object_path . "$(git cat-file blob :damaged.safetensors | sed -n 's/^oid sha256://p')")
pointer_to "$(printf %064d 7)" 12345 >"$T/p"
stage "$T/p" missing.safetensors
pointer_to "${archive##*/}" 4711 >"$T/p"
stage "$T/p" mismatched.safetensors
must "$TOP/tests/support/damage.py" digest "$archive" "$T/liar"
pointer_to "$(place "$T/liar")" "$(stat -c %s "$T/liar")" >"$T/p"
stage "$T/p" liar.safetensors
git cat-file blob :whole.safetensors | sed 's/$/\r/' >"$T/p"
stage "$T/p" "$ODD"
stage "$REVISION" raw.safetensors
head -c 40 "$DEMO" >"$T/small"
stage "$T/small" small.safetensors
flip_bit "$damaged" # git update-index might clean the file anew, which heals it
wrong_pointers='not-canonical odd\n"name".safetensors
raw raw.safetensors
raw small.safetensors'
finds 'one of each' 1 "damaged damaged.safetensors
unrestorable liar.safetensors
mismatched mismatched.safetensors
missing missing.safetensors
$wrong_pointers" --dry-run
check 'a dry run moves nothing' test -e "$damaged"
finds 'pointers only' 1 "$wrong_pointers" --pointers
finds 'objects only' 1 'damaged damaged.safetensors
unrestorable liar.safetensors
mismatched mismatched.safetensors
missing missing.safetensors' --objects --dry-run
run git brevis fsck --json
exits 1 'as JSON'
check 'the same, with objects, and where the damaged one is' "$PYTHON" -c 'import json, sys
d = json.load(open(sys.argv[1]))
kinds = [f["kind"] for f in d["findings"]]
assert kinds == ["damaged", "unrestorable", "mismatched", "missing", "not-canonical", "raw", "raw"], kinds
assert d["findings"][0]["moved_to"] == sys.argv[2], d["findings"][0]
assert len(d["findings"][3]["oid"]) == 64 and "oid" not in d["findings"][5]
assert sum("moved_to" in f for f in d["findings"]) == 1
assert all(f["message"] for f in d["findings"]) and d["checked"] == 9, d' \
	"$T/out" "$PWD/.git/lfs/bad/${damaged##*/}"
check 'the damaged object is aside' test ! -e "$damaged" -a -e ".git/lfs/bad/${damaged##*/}"
check 'one whose pointer is wrong stays' test -e "$archive"
finds 'then it is missing' 1 'missing damaged.safetensors' damaged.safetensors
must touch damaged.safetensors
must git add damaged.safetensors
finds 'and comes back by git add' 0 '' damaged.safetensors

# ---- HEAD and index, revisions ---------------------------------------------------------------------

must git commit -qm 'one of each'
dirty=$(git rev-parse HEAD)
must git reset -q "$clean" -- .
must git reset -q --soft "$clean"
finds 'index and HEAD are in order again' 0 ''
finds 'that commit is not' 1 "$wrong_pointers" --pointers "$dirty"
must git reset -q --soft "$dirty"
finds 'HEAD counts where the index is in order' 1 "$wrong_pointers" --pointers
must git reset -q "$dirty"
finds 'what both hold is told once' 1 "$wrong_pointers" --pointers

# ---- a range, as a server would check it --------------------------------------------------------------

must git rm -q --cached "$ODD" raw.safetensors small.safetensors liar.safetensors \
	mismatched.safetensors missing.safetensors
must git commit -qm 'removed again'
fixed=$(git rev-parse HEAD)
finds 'HEAD is in order' 0 ''
finds 'the range is not: its history keeps them' 1 "$wrong_pointers" --pointers "$clean..$fixed"
finds 'only what the range brought' 0 '' --pointers "$dirty..$fixed"
new_remote "$T/server.git"
must git push -q --no-verify "$T/server.git" HEAD:main
cd "$T/server.git" || exit 1
finds 'a server without objects or index' 1 "$wrong_pointers" --pointers "$clean..main"
finds 'and the range without them' 0 '' --pointers "$dirty..main"
run git brevis fsck --pointers "$clean..nowhere"
exits 128 'a range that is none'

# git-lfs says the same of pointers, where it is asked about its own files.
cd "$T/work" || exit 1
must git lfs install --skip-repo
GIT_BREVIS_SKIP_SMUDGE=1 must git checkout -qf "$dirty"
printf '*.safetensors filter=lfs diff=lfs merge=lfs -text\n' >.gitattributes
must git add .gitattributes
must git commit -qm 'stock attributes'
git lfs fsck --pointers >"$T/lfs" 2>&1
for file in raw.safetensors small.safetensors; do
	contains "git-lfs finds $file, too" "$T/lfs" "$file"
done
is 'and as many' "$(grep -c '^pointer: ' "$T/lfs")" 3

done_testing
