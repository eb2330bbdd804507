#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# merge=brevis: both sides restore to the same bytes, or one to those of the base: resolved; else ours
# is kept and the path is in conflict, unless its tensors can be merged and that is wanted. Over every
# command of git that merges; no failure loses a side.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

NAME=model.safetensors

# model FILE WORD...: see support/small_model.py
model()
{
	must "$PYTHON" "$TOP/tests/support/small_model.py" "$@"
}

# two_sides REPO: a repository whose branches main and side have changed NAME since their base: by
# base.safetensors, ours.safetensors and theirs.safetensors, which lie beside it.
two_sides()
{
	[ -e "$1" ] || new_repo "$1"
	must cp base.safetensors "$1/$NAME"
	commit_all "$1" base
	must git -C "$1" checkout -qb side
	must cp theirs.safetensors "$1/$NAME"
	commit_all "$1" theirs
	must git -C "$1" checkout -q main
	must cp ours.safetensors "$1/$NAME"
	commit_all "$1" ours
}

# no_leftovers DESCRIPTION REPO
no_leftovers()
{
	is "$1: no temporary file is left" \
		"$(find "$2" \( -name '*.tmp' -o -name '.merge_file_*' \) -print; \
			ls -A "$2/.git/lfs/tmp" 2>/dev/null)" ''
}

# in_conflict DESCRIPTION REPO WORD...: after `run` of a merge: ours is kept, whole, and told in one
# line; both sides are in the index.
in_conflict()
{
	local what=$1 repo=$2
	shift 2
	exits 1 "$what: conflict"
	one_line "$what: is told in one line" "$NAME: conflict" 'ours is kept' \
		'`git checkout --theirs -- ' 'git brevis diff :2:' "$@"
	same_bytes "$what: ours is in the work tree" "$repo/$NAME" ours.safetensors
	is "$what: git knows all sides" "$(git -C "$repo" ls-files -u | cut -f1 | cut -d' ' -f3 | xargs)" \
		"${STAGES:-1 2 3}"
	no_leftovers "$what" "$repo"
}

model base.safetensors a=1 b=2 c=3 @format=pt
model ours.safetensors a=11 b=2 c=3 @format=pt
model theirs.safetensors a=1 b=22 c=3 @format=pt
model both.safetensors a=11 b=22 c=3 @format=pt

# ---- both sides changed it ----

two_sides plain
run git -C plain merge side
in_conflict 'merge' plain 'both sides changed it'
run git -C plain checkout -m -- $NAME
exits 0 'checkout -m merges it again'
contains 'and says the same' "$T/err" "$NAME: conflict"
in_dir plain run git brevis diff :2:$NAME :3:$NAME
exits 1 'what it says compares them'
is 'tensor by tensor' "$(grep -c '^  ~ [ab]  F32' "$T/out")" 2
check 'checkout --theirs takes the other' git -C plain checkout -q --theirs -- "$NAME"
same_bytes 'which is theirs' plain/$NAME theirs.safetensors
must git -C plain add "$NAME"
must git -C plain commit -qm merged
is_clean 'and after the commit all is clean' plain
must git -C plain reset -q --hard HEAD^
run git -C plain merge side
must git -C plain merge --abort
same_bytes 'merge --abort brings ours back' plain/$NAME ours.safetensors
is_clean 'and all is clean' plain
check 'merge -X theirs' git -C plain merge -q -X theirs side
same_bytes 'takes theirs' plain/$NAME theirs.safetensors
is_clean 'and all is clean' plain
must git -C plain reset -q --hard HEAD^
check 'merge -X ours' git -C plain merge -q --strategy-option=ours side
same_bytes 'keeps ours' plain/$NAME ours.safetensors
is_clean 'and all is clean' plain
must git -C plain reset -q --hard HEAD^
must git -C plain checkout -q -b picks
check 'cherry-pick -X theirs' git -C plain cherry-pick -X theirs side
same_bytes 'takes theirs' plain/$NAME theirs.safetensors
must git -C plain checkout -q main

# ---- tensor by tensor, in all ways to merge ----

must git -C plain config brevis.mergeTensors true
# merged DESCRIPTION REPO: after `run`
merged()
{
	exits 0 "$1"
	same_bytes "$1: has the tensors of both" "$2/$NAME" both.safetensors
	contains "$1: is told" "$T/err" "$NAME: merged by tensors: 1 changed by us, 1 by them"
	is "$1: in one line of ours" "$(own_lines | grep -c '^git-brevis: ')" 1
	is_clean "$1: is clean" "$2"
	is "$1: the object is there" "$(test -s "$(object_of "$2" $NAME)"; echo $?)" 0
	no_leftovers "$1" "$2"
	must git -C "$2" reset -q --hard ours
}
must git -C plain tag ours
run git -C plain merge -q --no-edit side
merged 'merge by tensors' plain
run git -C plain cherry-pick side
merged 'cherry-pick' plain
run git -C plain -c merge.directoryRenames=false merge -q --no-edit -s recursive side
merged 'the strategy "recursive"' plain
must git -C plain checkout -q --detach ours
run git -C plain rebase -q side
merged 'rebase' plain
run git -C plain rebase -q --apply side
merged 'rebase --apply' plain
must git -C plain format-patch -q -o "$T/patches" side^..side
run git -C plain am -q -3 "$T"/patches/*.patch
merged 'am -3' plain
run git -C plain rebase -q --root --onto side ours
merged 'rebase --root' plain
must git -C plain checkout -q main

must cp theirs.safetensors plain/$NAME
must git -C plain stash -q
must git -C plain reset -q --hard ours
must git -C plain checkout -q --detach HEAD^
must cp theirs.safetensors plain/$NAME
must git -C plain stash -q
must git -C plain checkout -q main
run git -C plain stash pop -q
exits 0 'stash pop'
same_bytes 'stash pop has the tensors of both' plain/$NAME both.safetensors
must git -C plain checkout -q HEAD -- "$NAME"
must git -C plain stash drop -q

# A revert of what was changed before something else was.
model later.safetensors a=11 b=2 c=33 @format=pt
model reverted.safetensors a=1 b=2 c=33 @format=pt
must cp later.safetensors plain/$NAME
commit_all plain later
run git -C plain revert --no-edit HEAD^
exits 0 'revert'
same_bytes 'revert takes back that tensor only' plain/$NAME reverted.safetensors
is_clean 'and all is clean' plain
must git -C plain reset -q --hard ours

model third.safetensors a=1 b=2 c=33 @format=pt
model all.safetensors a=11 b=22 c=33 @format=pt
must git -C plain checkout -qb third ours^
must cp third.safetensors plain/$NAME
commit_all plain third
must git -C plain checkout -q main
# An octopus asks no merge driver: git refuses it where a file would have to be merged.
run git -C plain merge -q --no-edit side third
exits 2 'an octopus'
contains 'is refused by git' "$T/out" 'Should not be doing an octopus'
same_bytes 'ours stays' plain/$NAME ours.safetensors
is_clean 'and all is clean' plain
must git -C plain merge -q --no-edit side
must git -C plain merge -q --no-edit third
same_bytes 'one after the other has the tensors of three' plain/$NAME all.safetensors
must git -C plain reset -q --hard ours

run git -C plain merge-tree --write-tree main side
exits 0 'merge-tree'
is 'writes a tree with the merged pointer' \
	"$(git -C plain cat-file --filters "$(head -n 1 "$T/out"):$NAME" | sha256sum)" \
	"$(sha256sum <both.safetensors)"
is_clean 'and leaves the work tree alone' plain

must git -C plain worktree add -q "$T/tree" -b tree ours
run git -C tree merge -q --no-edit side
merged 'in a worktree of its own' tree

must git clone -q --bare plain bare.git
must cp -r plain/.git/lfs bare.git/
must git -C bare.git config brevis.mergeTensors true
must mkdir -p bare.git/info
must cp plain/.gitattributes bare.git/info/attributes
run git -C bare.git merge-tree --write-tree main side
exits 0 'merge-tree in a bare repository'
is 'has the merged pointer' "$(git -C bare.git cat-file blob "$(head -n 1 "$T/out"):$NAME")" \
	"$(git -C plain cat-file blob "$(git -C plain merge-tree --write-tree main side 2>"$T/said" | head -n 1):$NAME")"

# ---- two merge bases ----

# What a conflict left in the base that git makes of two must not pass for what both began with.
new_repo crossed
must cp base.safetensors crossed/$NAME
commit_all crossed base
for side in ours theirs; do
	must git -C crossed checkout -qb "$side" main
	must cp $side.safetensors crossed/$NAME
	commit_all crossed "$side"
	must git -C crossed tag "$side-1"
done
must git -C crossed checkout -q ours
must git -C crossed merge -q -s ours --no-edit theirs-1
must git -C crossed checkout -q theirs
must git -C crossed merge -q -s ours --no-edit ours-1
must git -C crossed checkout -q ours
is 'there are two bases' "$(git -C crossed merge-base --all ours theirs | wc -l)" 2
run git -C crossed merge --no-edit theirs
in_conflict 'a criss-cross merge' crossed 'both sides changed it'
must git -C crossed merge --abort
must git -C crossed config brevis.mergeTensors true
run git -C crossed merge --no-edit theirs
exits 0 'a criss-cross merge by tensors'
same_bytes 'has those of both' crossed/$NAME both.safetensors

# ---- names ----

# Paths reach the driver through a shell, and git-brevis as words that may look like options.
new_repo names
odd=$'a \'b\' "c" $(touch pwned) `touch pwned`;touch pwned\nä[1].safetensors'
for file in base theirs ours; do
	case $file in
	theirs) must git -C names checkout -qb side ;;
	ours) must git -C names checkout -q main ;;
	esac
	must mkdir -p "names/in here"
	must cp $file.safetensors "names/in here/$odd"
	must cp $file.safetensors names/--tensors.safetensors
	must git -C names add -A
	must git -C names commit -qm "$file"
done
run git -C names merge --no-edit side
exits 1 'odd names: conflict'
is 'both are told, in one line each' "$(own_lines | grep -c '^git-brevis: error: .*: conflict: ')" 2
contains 'with the name as the shell needs it' "$T/err" \
	"git checkout --theirs -- 'in here/a '\\''b'\\'' \"c\" \$(touch pwned) \`touch pwned\`;touch pwned\\x0aä[1].safetensors'"
must git -C names merge --abort
must git -C names config brevis.mergeTensors true
run git -C 'names/in here' merge --no-edit side
exits 0 'odd names are merged, from a directory below'
same_bytes 'this one' "names/in here/$odd" both.safetensors
same_bytes 'and that one' names/--tensors.safetensors both.safetensors
is 'nothing of them was run' "$(find names "$T/home" -name pwned)" ''
is_clean 'all is clean' names

# What git reads itself is merged as text, whatever pattern matches it.
must git init -q texts
printf '* filter=brevis merge=brevis -text\n' >texts/.gitattributes
printf '%s\n' 1 2 3 4 5 6 7 >texts/.gitignore
commit_all texts base
must git -C texts checkout -qb side
must sed -i 's/1/one/' texts/.gitignore
commit_all texts side
must git -C texts checkout -q main
must sed -i 's/7/seven/' texts/.gitignore
commit_all texts main
run git -C texts merge -q --no-edit side
is 'a .gitignore is merged as text' "$RC $(xargs <texts/.gitignore)" '0 one 2 3 4 5 6 seven'
must git -C texts reset -q --hard HEAD^
must sed -i 's/1/eins/' texts/.gitignore
commit_all texts 'main again'
run git -C texts merge -q --no-edit side
is 'with conflict markers' "$RC $(grep -cE '^(<{7} ours|={7}|>{7} theirs)$' texts/.gitignore)" '1 3'

# ---- nothing is converted ----

two_sides crlf
must git -C crlf config core.autocrlf true
must git -C crlf config brevis.mergeTensors true
run git -C crlf merge -q --no-edit side
exits 0 'a merge with core.autocrlf'
same_bytes 'converts no bytes' crlf/$NAME both.safetensors
is 'nor line ends of the pointer' "$(git -C crlf cat-file blob "HEAD:$NAME" | tr -dc '\r' | wc -c)" 0

# ---- objects that are not here ----

new_remote remote.git
two_sides sent
must git -C sent remote add origin "file://$T/remote.git"
must git -C sent push -q origin main side
theirs=$(object_of sent $NAME side)
must git -C sent config brevis.mergeTensors true
must cp "$theirs" "$T/theirs-object"
must rm "$theirs" "$(object_of sent $NAME "$(git -C sent merge-base main side)")"
run env GIT_BREVIS_SKIP_SMUDGE=1 git -C sent merge side
exits 1 'a merge without downloads'
one_line 'is told in one line' "$NAME: conflict: the object of theirs is not here, and skipping smudge"
check 'and downloads nothing' test ! -e "$theirs"
must git -C sent reset -q --hard
run git -C sent merge -q --no-edit side
exits 0 'objects that are missing are downloaded'
same_bytes 'and merged' sent/$NAME both.safetensors
must git -C sent reset -q --hard HEAD^
must rm "$theirs"
must mv remote.git elsewhere.git
run git -C sent merge side
exits 1 'an object that cannot be had'
contains 'is told with the cause' "$T/err" "$NAME: its object"
contains 'and that it was not merged' "$T/err" "$NAME: conflict: the object of theirs is not here; ours is kept"
same_bytes 'ours is in the work tree' sent/$NAME ours.safetensors
must git -C sent reset -q --hard
must mv elsewhere.git remote.git
must cp "$T/theirs-object" "$theirs"

# ---- faults ----

flip_bit "$theirs"
run git -C sent merge side
exits 1 'an object that is damaged'
contains 'is told' "$T/err" "$NAME: its object"
contains 'and ours is kept' "$T/err" "$NAME: conflict: its tensors could not be merged; ours is kept"
same_bytes 'in the work tree' sent/$NAME ours.safetensors
no_leftovers 'damage' sent
must git -C sent reset -q --hard
flip_bit "$theirs"

# driver FILE...: the driver alone, on copies of blobs; ours is in %A
driver()
{
	git -C sent cat-file blob "$(git -C sent merge-base main side):$NAME" >sent/O
	git -C sent cat-file blob "main:$NAME" >sent/A
	git -C sent cat-file blob "side:$NAME" >sent/B
	cp sent/A "$T/ours-blob"
	in_dir sent run "$@"
	same_bytes 'what was ours still is' sent/A "$T/ours-blob"
}
driver git brevis merge-driver O A no-such-file 7 $NAME
exits 128 'a version that cannot be read'
one_line 'is told' 'no-such-file' 'no such file'
model again.safetensors a=1 b=222 c=3 @format=pt
git -C sent cat-file blob "$(git -C sent hash-object -w --path=$NAME "$T/again.safetensors")" >sent/C
driver bash -c "ulimit -f 1; git brevis merge-driver O A C 7 $NAME"
exits 1 'no room for what is merged'
contains 'is told with the path' "$T/err" $NAME
contains 'and ours is kept' "$T/err" "$NAME: conflict: its tensors could not be merged; ours is kept"
driver git brevis merge-driver O A C 7
exits 129 'too few words'
driver env GIT_DIR=/nowhere git brevis merge-driver O A B 7 $NAME
exits 128 'no repository'
must rm sent/O sent/A sent/B sent/C
no_leftovers 'faults' sent

# ---- conflict markers in pointers ----

# without_driver COMMAND...: git whose configuration is that of an earlier git-brevis
without_driver()
{
	cp "$GIT_CONFIG_GLOBAL" "$T/without-driver"
	git config -f "$T/without-driver" --remove-section merge.brevis
	GIT_CONFIG_GLOBAL=$T/without-driver "$@"
}

two_sides marked
run without_driver git -C marked merge side
exits 1 'without the driver git merges pointers as text'
contains 'which is told' "$T/err" "git-brevis: warning: $NAME: a merge has written conflict markers"
contains 'with the remedy' "$T/err" 'git checkout --ours -- PATH'
contains 'the work file has them' marked/$NAME '<<<<<<<'
in_dir marked run without_driver git brevis status
contains 'status lists it' "$T/out" "In conflict"
contains 'by its name' "$T/out" "    $NAME"
contains 'and says what git does not know' "$T/err" 'merge.brevis.name is not set'
in_dir marked run git brevis status --porcelain
is 'status --porcelain has it' "$(cat "$T/out")" $'UU conflict\t'$NAME
in_dir marked run git brevis status --json
is 'status --json has it' "$("$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["files"])' <"$T/out")" \
	"[{'name': '$NAME', 'status': 'UU', 'state': 'conflict'}]"
run git -C marked add $NAME
exits 128 'they are not added'
one_line 'which names path and remedy' "$NAME: a merge has written conflict markers" 'git checkout --ours'
in_dir marked run git brevis checkout
exits 1 'checkout restores no file of them'
one_line 'which names path and remedy' "$NAME: not restored" 'git checkout --ours'
in_dir marked run git brevis checkout $NAME
one_line 'also if it is named' "$NAME: not restored" 'git checkout --ours'
run git -C marked diff
exits 0 'git diff still works'
must git -C marked checkout --theirs -- $NAME
same_bytes 'checkout --theirs takes theirs' marked/$NAME theirs.safetensors
in_dir marked run git brevis checkout
exits 0 'then nothing is left to restore'
must git -C marked add $NAME
must git -C marked commit -qm merged
is_clean 'and to commit' marked

# Somebody without git-brevis has committed them.
must git -C marked reset -q --hard HEAD^
run without_driver git -C marked merge side
must without_filter git -C marked add $NAME
must git -C marked commit -qm 'conflict markers'
is_clean 'what was committed is not changed' marked
in_dir marked run git brevis status
contains 'but status tells of it' "$T/out" 'Pointers with conflict markers'
in_dir marked run git brevis status --porcelain
is 'with --porcelain, too' "$(cat "$T/out")" $'   markers\t'$NAME
new_remote marked.git
run git -C marked push -q "file://$T/marked.git" main
contains 'and so does a push' "$T/err" "$NAME: what is committed is a pointer with conflict markers"
must rm marked/$NAME
run git -C marked checkout -- $NAME
exits 0 'its checkout'
contains 'warns' "$T/err" "git-brevis: warning: $NAME: a merge has written conflict markers"
must git -C marked checkout -q side -- $NAME
same_bytes 'and a whole one is taken as it says' marked/$NAME theirs.safetensors

done_testing
