#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Damaged, foreign and missing objects, and stores that cannot be written: one line that names path,
# cause and remedy, the documented exit code, nothing half-written, and no other file affected.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

REMEDY='; .*(git |remove|delete|free|make|newer|check|install)'

new_remote remote.git
new_repo work
must git -C work remote add origin "file://$T/remote.git"
cp "$DEMO" work/a.safetensors
printf 'the last one' >work/z.safetensors
cp "$TOP/tests/corpus/demo-revision.safetensors" work/bad.safetensors
commit_all work 'three files'
must git -C work push -q origin main
archive=$(object_of work bad.safetensors)

# point_to FILE: prints a pointer to it.
point_to()
{
	printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n' \
		"$(sha256sum <"$1" | cut -d' ' -f1)" "$(stat -c %s "$1")"
}

# store REPO FILE: puts it into the repository's object store under its right name.
store()
{
	local path
	path=$(object_path "$1" "$(sha256sum <"$2" | cut -d' ' -f1)")
	must mkdir -p "$(dirname "$path")"
	must cp "$2" "$path"
}

# no_leavings DESCRIPTION REPO: no temporary file in the store or the work tree.
no_leavings()
{
	is "$1: nothing is left behind" "$(
		find "$2/.git/lfs/tmp" -type f 2>/dev/null
		find "$2" -name .git -prune -o -type f -print |
			grep -vE '/((a|z|bad)\.safetensors|\.gitattributes|\.lfsconfig)$'
	)" ""
}

# ---- objects that are not what they should be ----

# bad_object DESCRIPTION REPO CAUSE: the object behind bad.safetensors in REPO cannot be restored.
bad_object()
{
	git -C "$2" cat-file blob HEAD:bad.safetensors >"$T/pointer"
	in_dir "$2" git brevis smudge bad.safetensors <"$T/pointer" >"$T/out" 2>"$T/err"
	is "$1: smudge ends with 128" "$?" 128
	one_line "$1: and one line" bad.safetensors "$3" "$REMEDY"

	# git itself: exit code 128, no half file; it stops at the first failure.
	must rm -f "$2"/*.safetensors
	run git -C "$2" checkout -f HEAD -- bad.safetensors
	is "$1: git checkout fails" "$((RC != 0))" 1
	one_line "$1: with one line of ours" bad.safetensors "$3" "$REMEDY"
	check "$1: and writes nothing" test ! -e "$2/bad.safetensors"

	# Ours: the other files arrive.
	in_dir "$2" run git brevis checkout
	exits 1 "$1: git brevis checkout ends with 1"
	one_line "$1: with one line" bad.safetensors "$3" "$REMEDY"
	same_bytes "$1: the file before it is whole" "$2/a.safetensors" "$DEMO"
	is "$1: the file after it is whole" "$(cat "$2/z.safetensors")" 'the last one'
	check "$1: the bad one is not there" test ! -e "$2/bad.safetensors"
	no_leavings "$1" "$2"

	in_dir "$2" run git brevis fsck
	exits 1 "$1: fsck ends with 1"
	contains "$1: and names the path" <(cat "$T/out" "$T/err") bad.safetensors
}

# spoiled HOW CAUSE: commits a pointer to an archive that is spoiled that way.
spoiled()
{
	must "$TOP/tests/support/damage.py" "$1" "$archive" spoiled
	rm -rf "damaged-$1"
	must cp -a work "damaged-$1"
	must git -C "damaged-$1" remote remove origin
	store "damaged-$1" spoiled
	point_to spoiled >"damaged-$1/bad.safetensors"
	commit_all "damaged-$1" "spoiled: $1"
	bad_object "archive spoiled: $1" "damaged-$1" "$2"

	run git brevis verify spoiled
	exits 1 "verify $1 ends with 1"
	one_line "verify $1: one line" spoiled "$2"
	rm -f restored
	run git brevis decompress spoiled -o restored
	exits 128 "decompress $1 ends with 128"
	one_line "decompress $1: one line" spoiled "$2"
	check "decompress $1 leaves no file" test ! -e restored
	is "decompress $1 leaves nothing else" "$(find . -maxdepth 1 -name '*restored*' -o -maxdepth 1 \
		-name '.*tmp*')" ""
}
spoiled record '(checksum|damaged|corrupt)'
spoiled index '(checksum|damaged|corrupt)'
spoiled digest '(SHA-256|checksum|damaged|corrupt)'
spoiled cut '(cut|truncated|damaged|corrupt|end)'
spoiled half '(cut|truncated|damaged|corrupt|end)'
spoiled end '(cut|truncated|damaged|corrupt|end)'
spoiled version 'version 2'
spoiled feature 'time-travel'

# The object's bytes rotted after it was stored: its name does not fit them any more.
must cp -a work rotten
must git -C rotten remote remove origin
object=$(object_of rotten bad.safetensors)
must cp --remove-destination "$object" copy
must "$TOP/tests/support/damage.py" record copy spoiled
must cp --remove-destination spoiled "$object"
bad_object 'a rotten object' rotten '(checksum|damaged|corrupt|SHA-256)'

# The same with a plain object, of which only its name tells what it should be.
must cp -a work plain
must git -C plain remote remove origin
must cp "$DEMO" copy
store plain copy
point_to copy >plain/bad.safetensors
commit_all plain 'a plain object'
object=$(object_of plain bad.safetensors)
printf X | dd of="$object" bs=1 seek=1000 conv=notrunc status=none
bad_object 'a rotten plain object' plain '(checksum|damaged|corrupt|SHA-256)'

# Shorter than the pointer says, or not there, and nobody to ask.
must cp -a work short
must git -C short remote remove origin
object=$(object_of short bad.safetensors)
must cp --remove-destination "$object" copy
must truncate -s 1000 copy
must cp --remove-destination copy "$object"
bad_object 'a truncated object' short '(not here|missing|remote|truncated|size)'
must cp -a work missing
must git -C missing remote remove origin
must rm "$(object_of missing bad.safetensors)"
bad_object 'a missing object' missing '(not here|missing|remote|not found)'

# With a remote, a truncated object is fetched again.
must cp -a work healed
object=$(object_of healed bad.safetensors)
must cp --remove-destination copy "$object"
must rm healed/bad.safetensors
in_dir healed check 'a truncated object is fetched again' git brevis pull
same_bytes 'and restored' healed/bad.safetensors "$TOP/tests/corpus/demo-revision.safetensors"
is_clean 'and clean' healed

# ---- stores that cannot be written ----

# cannot_store DESCRIPTION REPO CAUSE: adding a new file there fails, and changes nothing.
cannot_store()
{
	local before
	before=$(git -C "$2" ls-files -s)
	cp "$DEMO" "$2/new.safetensors"
	printf '%s' "$1" >>"$2/new.safetensors"
	run git -C "$2" add new.safetensors
	is "$1: git add fails" "$((RC != 0))" 1
	one_line "$1: with one line" new.safetensors "$3" "$REMEDY"
	is "$1: the index did not change" "$(git -C "$2" ls-files -s)" "$before"
	in_dir "$2" git brevis clean new.safetensors <"$2/new.safetensors" >"$T/out" 2>"$T/err"
	is "$1: clean ends with 128" "$? $(stat -c %s "$T/out")" '128 0'
	one_line "$1: and one line" new.safetensors "$3" "$REMEDY"
	rm "$2/new.safetensors"
}

must cp -a work blocked
must rm -rf blocked/.git/lfs
must touch blocked/.git/lfs
cannot_store 'a file in the place of the store' blocked 'not a directory'
must rm blocked/.git/lfs
must mkdir -p blocked/.git/lfs
must touch blocked/.git/lfs/objects
cannot_store 'a file in the place of the objects' blocked 'not a directory'
is 'nothing is left in tmp' "$(find blocked/.git/lfs/tmp -type f)" ""

# The limit of a file's size stands for a full disk where none can be mounted.
must cp -a work limited
limited_add()
{
	(
		ulimit -f 500
		exec git -C limited add new.safetensors
	)
}
cp "$DEMO" limited/new.safetensors
printf limited >>limited/new.safetensors
run limited_add
is 'a limit of file sizes: git add fails' "$((RC != 0))" 1
one_line 'a limit of file sizes: one line' new.safetensors 'too large'
is 'a limit of file sizes: nothing is left' "$(find limited/.git/lfs/tmp -type f)" ""

# A real full disk, in a mount namespace of its own.
on_small_disk()
{
	unshare -m sh -c "mount -t tmpfs -o size=\$1 tmpfs \"\$2\" && shift 2 && \"\$@\"" - "$@"
}
mkdir small
if on_small_disk 1m small true 2>/dev/null; then
	must cp -a work full
	must mkdir -p full/.git/lfs
	cp "$DEMO" full/new.safetensors
	printf full >>full/new.safetensors
	# shellcheck disable=SC2016 # the inner shell expands
	run on_small_disk 1m full/.git/lfs sh -c \
		'git -C full add new.safetensors; code=$?; find full/.git/lfs -type f >left; exit $code'
	is 'a full disk: git add fails' "$((RC != 0))" 1
	one_line 'a full disk: one line' new.safetensors 'no space' '[0-9]+ bytes' "$REMEDY"
	is 'a full disk: nothing is left in the store' "$(cat left)" ""

	# The work tree is full: the store is elsewhere and stays as it is.
	mkdir tree
	# shellcheck disable=SC2016
	run on_small_disk 1m tree sh -c \
		'git --git-dir=full/.git --work-tree=tree brevis checkout; code=$?
		find tree -type f -size +0 >left; exit $code'
	is 'a full work tree: git brevis checkout fails' "$((RC != 0))" 1
	contains 'a full work tree: says so' "$T/err" 'No space left'
	is 'a full work tree: only whole files are there' \
		"$(grep -vE '/(z\.safetensors)$' left)" ""
else
	not_here 'a full disk' 'no mount namespaces on this machine'
fi

# A name that cannot be created in the work tree affects no other file.
must cp -a work occupied
must rm occupied/*.safetensors
must mkdir occupied/bad.safetensors
must touch occupied/bad.safetensors/keep
in_dir occupied run git brevis checkout
contains 'a directory in the place of a file is told of' "$T/err" bad.safetensors
same_bytes 'the file before it is whole' occupied/a.safetensors "$DEMO"
is 'the file after it is whole' "$(cat occupied/z.safetensors)" 'the last one'
check 'and the directory is untouched' test -e occupied/bad.safetensors/keep

# ---- a file that changes while it is read ----

must cp -a work changing
cp "$DEMO" changing/new.safetensors
printf new >>changing/new.safetensors
{
	head -c 1000000 changing/new.safetensors
	sleep 0.3
	printf changed | dd of=changing/new.safetensors bs=1 seek=2000 conv=notrunc status=none
	tail -c +1000001 changing/new.safetensors
} | in_dir changing git brevis clean new.safetensors >"$T/out" 2>"$T/err"
is 'a file that changes while it is read: clean ends with 128' \
	"${PIPESTATUS[1]} $(stat -c %s "$T/out")" '128 0'
one_line 'a file that changes while it is read: one line' new.safetensors changed 'add it again'
is 'nothing of it is left' "$(find changing/.git/lfs/tmp -type f)" ""
check 'and can be added once it is complete' git -C changing add new.safetensors

# ---- no repository at all ----

mkdir nowhere
in_dir nowhere run env GIT_CEILING_DIRECTORIES="$T" git brevis checkout
exits 128 'outside a repository: 128'
one_line 'outside a repository: one line' 'not a git repository'

done_testing
