#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# git brevis stats: what a history has stored, in every kind of repository.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

REVISED=$TOP/tests/corpus/demo-revision.safetensors

# stats WHAT DIR CODE [ARGUMENT...]: runs `git brevis stats --json` in DIR and evaluates CODE, lines
# of Python, with what it told: `told`, `files` by name, `revisions` by subject.
stats()
{
	local what=$1 dir=$2 code=$3
	shift 3
	in_dir "$dir" run git brevis stats --json "$@"
	DIR=$dir CODE=$code "$PYTHON" - "$T/out" <<-'END' >"$T/said" 2>&1
		import json, os, sys
		told = json.load(open(sys.argv[1], encoding="utf-8"))
		total = told["total"]
		files = {file["name"]: file for file in told["files"]}
		revisions = {revision["subject"]: revision for revision in told["revisions"]}
		size = os.path.getsize
		# What is told adds up, whatever it is.
		for revision in told["revisions"]:
		    assert revision["added"]["size"] == sum(f["added"] for f in revision["files"]), revision
		assert list(files) == sorted(files)
		assert sum(file["revisions"] for file in told["files"]) == \
		    sum(len(revision["files"]) for revision in told["revisions"])
		exec(os.environ["CODE"])
	END
	is "$what" "$RC $? $(tail -n 1 "$T/said")" '0 0 '
}

# ---- a history ----

new_repo work
a=$T/a
b=$T/b
cp "$DEMO" work/model.safetensors
commit_all work 'first'
object_of work model.safetensors >"$a"
cp "$REVISED" work/model.safetensors
cp "$REVISED" work/same.safetensors
commit_all work 'second'
object_of work model.safetensors >"$b"
a=$(cat "$a") b=$(cat "$b")
export a b DEMO REVISED
cp "$DEMO" work/model.safetensors
commit_all work 'back again'

everything='
assert total == {"objects": 2, "size": size(a) + size(b), "unknown_objects": 0, "unknown_size": 0,
                 "original_size": size(demo) + size(revised)}, total
assert list(revisions) == ["first", "second", "back again"]
assert [r["added"]["size"] for r in told["revisions"]] == [size(a), size(b), 0]
assert [f["added"] for f in revisions["second"]["files"]] == [size(b), 0]
assert revisions["second"]["added"]["original_size"] == size(revised)
model, same = files["model.safetensors"], files["same.safetensors"]
assert (model["revisions"], model["history"]["objects"]) == (3, 2), model
assert model["history"]["size"] == size(a) + size(b)
assert (model["oid"], model["size"], model["original_size"]) == \
    (os.path.basename(a), size(a), size(demo)), model
assert model["archive"] and model["downloaded"] and model["present"]
assert (same["size"], same["history"]["size"]) == (size(b), size(b)), same
assert not told["shallow"] and told["revisions_lacking"] == 0
'
names='
a, b, demo, revised = (os.environ[name] for name in ("a", "b", "DEMO", "REVISED"))
'
stats 'stats has the exact numbers' work "$names$everything"
in_dir work run git brevis stats
exits 0 'stats'
is 'is silent on stderr' "$(cat "$T/err")" ''
human() { "$PYTHON" -c 'import sys; n = int(sys.argv[1]); print(f"{n / 1e6:.1f} MB" if n >= 1e6 else f"{n / 1e3:.1f} KB")' "$1"; }
tenths=$(($(stat -c %s "$DEMO") - $(stat -c %s "$a")))
tenths=$((tenths * 1000 / $(stat -c %s "$DEMO")))
row="$(human "$(stat -c %s "$DEMO")") *$(human "$(stat -c %s "$a")") *$((tenths / 10)).$((tenths % 10)) %"
check 'has a row for the file' grep -qE "^ +$row +3 +$(human $(($(stat -c %s "$a") + $(stat -c %s "$b")))) +model.safetensors\$" "$T/out"
check 'and one for what the first revision added' grep -qE "^ +$(human "$(stat -c %s "$a")") +$row +model.safetensors\$" "$T/out"
check 'and one for what the last did not' grep -qE "^ +0 B +$row +model.safetensors \(known\)\$" "$T/out"
contains 'names revisions' "$T/out" "$(git -C work rev-parse HEAD | cut -c1-10) 2024-05-01 back again"
check 'and has a total' grep -qE '^2 objects, .* stored; plain Git LFS would store .* saved$' "$T/out"
in_dir work run git brevis stats --summary
is 'stats --summary leaves the revisions out' "$(grep -c 'back again' "$T/out") $(grep -c safetensors "$T/out")" '0 2'

# ---- parts of it ----

known='assert [r["added"]["size"] for r in told["revisions"]] == [0], told["revisions"]
assert total["size"] == size(a)'
stats 'what is before a range is known' work "$names$known" HEAD~1..
stats 'also with ^' work "$names$known" HEAD ^HEAD~1
stats 'what another file brought is known' work "$names"'
assert [r["added"]["size"] for r in told["revisions"]] == [0]
assert files["same.safetensors"]["history"]["size"] == size(b)' same.safetensors
stats 'a revision' work "$names"'
assert list(revisions) == ["first"] and total["size"] == size(a)
assert told["commit"] == os.popen("git -C work rev-parse HEAD~2").read().strip()' HEAD~2
mkdir work/sub
stats 'paths count from where the user is' work/sub "$names"'
assert list(files) == ["model.safetensors"]' ../model.safetensors
stats 'with a pathspec' work/sub 'assert list(files) == ["same.safetensors"]' ':/*' ':!/model*'
for words in nope 'HEADD' 'HEAD nope' sub; do
	# shellcheck disable=SC2086 # words
	in_dir work run git brevis stats $words
	exits 1 "stats of $words"
	one_line 'says what it is not' "'${words#HEAD }'" 'neither a revision'
done

# ---- renames, deletions, merges, other branches ----

must git -C work checkout -q -b side
must git -C work mv same.safetensors moved.safetensors
must git -C work commit -qm 'renamed'
printf x >>work/moved.safetensors
commit_all work 'side changes'
must git -C work checkout -q main
must git -C work rm -q same.safetensors
must git -C work commit -qm 'deleted'
run git -C work merge -q side
must git -C work rm -q --cached --ignore-unmatch same.safetensors
printf y >>work/moved.safetensors
commit_all work 'merged with a change of its own'
must git -C work checkout -q -b other
printf z >>work/model.safetensors
commit_all work 'on another branch'
must git -C work checkout -q main
stats 'renames, deletions and merges' work "$names"'
subjects = ["first", "second", "back again", "renamed", "side changes", "merged with a change of its own"]
assert list(revisions) == subjects, list(revisions)
assert [r["added"]["objects"] for r in told["revisions"]] == [1, 1, 0, 0, 1, 1]
assert not files["same.safetensors"]["present"] and "oid" not in files["same.safetensors"]
moved = files["moved.safetensors"]
assert (moved["revisions"], moved["original_size"]) == (3, size(revised) + 2), moved
assert total["objects"] == 4'
stats '--all walks every branch' work 'assert "on another branch" in revisions and total["objects"] == 5' --all
stats 'which HEAD alone does not' work 'assert "on another branch" not in revisions'
stats '--all and a path' work 'assert list(revisions) == ["first", "second", "back again", "on another branch"], list(revisions)' --all model.safetensors
stats 'a branch by its name' work 'assert "on another branch" in revisions' other
must git -C work checkout -q --detach HEAD~1
stats 'a detached HEAD' work 'assert told["commit"] == os.popen("git -C work rev-parse HEAD").read().strip()'
must git -C work checkout -q main

# ---- settings that change what git log says ----

must git -C work config log.showSignature true
must git -C work config log.follow true
must git -C work config log.diffMerges off
must git -C work config diff.relative true
must git -C work config diff.renames copies
must git -C work config color.ui always
must git -C work config format.pretty fuller
must git -C work config log.showRoot false
stats 'whatever git log is configured to' work/sub 'assert total["objects"] == 4 and len(revisions) == 6'
stats 'with a path, too' work/sub 'assert list(revisions) == ["renamed", "side changes", "merged with a change of its own"]' ../moved.safetensors

# ---- what is not here, and what is not ours ----

new_repo odd
cp "$DEMO" odd/one.safetensors
cp "$REVISED" odd/two.safetensors
must cp odd/one.safetensors $'odd/na\tme\x1b[31m.safetensors'
printf x >>$'odd/na\tme\x1b[31m.safetensors'
: >odd/empty.safetensors
printf '%s\n' '*.bin filter=lfs diff=lfs merge=lfs -text' >>odd/.gitattributes
head -c 5000 /dev/urandom >odd/plain.bin
must git -C odd lfs install --local --skip-repo
commit_all odd $'subject with \x1b[31m'
must git -C odd update-index --add --cacheinfo "100644,$(printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 0\n' 7 |
	git -C odd hash-object -w --stdin),nothing.safetensors"
must git -C odd commit -qm 'a pointer of nothing'
one=$(object_of odd one.safetensors)
two=$(object_of odd two.safetensors)
export one two
stats 'plain objects save nothing' odd '
plain = files["plain.bin"]
assert not plain["archive"] and plain["size"] == plain["original_size"] == 5000, plain
assert files["nothing.safetensors"]["size"] == 0 and total["objects"] == 4, total
assert "na\tme\x1b[31m.safetensors" in files'
in_dir odd run git brevis stats
contains 'and are named as such' "$T/out" 'plain.bin (plain Git LFS object)'
is 'no name or subject rules the terminal' "$(tr -dc '\033' <"$T/out" | wc -c)" 0
before=$(stat -c %s "$one") cut=$(stat -c %s "$two")
must rm "$one"
must chmod u+w "$two"
must truncate -s 100 "$two"
BEFORE=$before CUT=$cut stats 'objects that are not here' odd '
before, cut = int(os.environ["BEFORE"]), int(os.environ["CUT"])
one = files["one.safetensors"]
assert one["size"] == before and not one["downloaded"] and "original_size" not in one, one
assert total["unknown_objects"] == 2 and total["unknown_size"] == before + cut, total
assert total["objects"] == 4 and total["original_size"] < total["size"] + 3000000, total'
in_dir odd run git brevis stats
exits 0 'stats without them'
contains 'says which is not here' "$T/out" 'one.safetensors (not here)'
contains 'and which is damaged' "$T/out" 'two.safetensors (damaged here)'
contains 'and that the share is without them' "$T/out" '2 objects of '
check 'and downloads nothing' test ! -e "$one"

# The same original in two archives would be one object of git-lfs.
new_repo twice
cp "$DEMO" twice/a.safetensors
must git -C twice -c brevis.preset=fast add a.safetensors
must git -C twice commit -qm fast
fast=$(object_of twice a.safetensors)
must git -C twice rm -q a.safetensors
must rm -rf twice/.git/lfs/brevis
must mv "$fast" "$T/fast"
cp "$DEMO" twice/b.safetensors
must git -C twice -c brevis.preset=best add b.safetensors
must git -C twice commit -qm best
must mv "$T/fast" "$fast"
stats 'originals count once' twice 'assert total["objects"] == 2 and total["original_size"] == size(os.environ["DEMO"]), total'

# ---- kinds of repositories ----

must git init -q empty
in_dir empty run git brevis stats
is 'an empty repository' "$RC $(cat "$T/out" "$T/err")" '0 No revision here has a file that Git LFS keeps.'
stats 'an empty repository, --all' empty 'assert total["objects"] == 0 and told["commit"] is None' --all
in_dir "$T" run git brevis stats
exits 128 'no repository'
one_line 'has one line' 'not a git repository'

must git clone -q --bare work bare.git
cp -r work/.git/lfs bare.git/
stats 'a bare repository' bare.git 'assert total["objects"] == 4 and total["unknown_objects"] == 0 and len(revisions) == 6'
stats 'a bare repository, and a path' bare.git 'assert list(files) == ["model.safetensors"]' model.safetensors
must git -C work worktree add -q "$T/tree" other
stats 'a linked worktree' tree 'assert "on another branch" in revisions and total["unknown_objects"] == 0'
must env GIT_BREVIS_SKIP_SMUDGE=1 git clone -q --depth 1 "file://$T/work" shallow
stats 'a shallow clone' shallow '
assert told["shallow"] and list(revisions) == ["merged with a change of its own"], list(revisions)
assert total["objects"] == total["unknown_objects"] == 2'
in_dir shallow run git brevis stats
contains 'says so' "$T/out" 'this clone is shallow'
must git -C work config uploadpack.allowFilter true
must git clone -q --filter=blob:none --no-checkout "file://$T/work" partial
stats 'a partial clone' partial '
assert total["objects"] == 0 and told["revisions_lacking"] > 0, told
assert files["model.safetensors"]["revisions_lacking"] == 3, files
assert ".gitattributes" not in files'
in_dir partial run git brevis stats
contains 'says that pointers are not here' "$T/out" 'the pointers are not in this partial clone'
is 'and has fetched none' "$(git -C partial cat-file --batch-check --batch-all-objects 2>/dev/null | grep -c ' blob 1[0-9][0-9]$')" 0

done_testing
