#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Damaged, foreign and missing objects, and stores that cannot be written: one line that names path,
# cause and remedy, the documented exit code, nothing half-written, and no other file affected.
# shellcheck disable=SC2016 # backquotes are those of the messages
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# What a line advises, at its end.
FSCK='; `git brevis fsck` and then `git brevis pull` replace it'
STORED='; it was stored so: add the original file again'
NEWER='; a newer git-brevis may '
AGAIN='; `git brevis pull` downloads it'
WRITABLE='; make that a directory that can be written'
ROOM='; make room there'

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

# bad_object DESCRIPTION REPO CAUSE REMEDY [CAUSE REMEDY]: the object behind bad.safetensors in REPO cannot
# be restored; the second cause and remedy are those of `git brevis checkout`, which downloads nothing.
bad_object()
{
	local cause=${5:-$3} remedy=${6:-$4}
	git -C "$2" cat-file blob HEAD:bad.safetensors >"$T/pointer"
	in_dir "$2" git brevis smudge bad.safetensors <"$T/pointer" >"$T/out" 2>"$T/err"
	is "$1: smudge ends with 128" "$?" 128
	one_line "$1: and one line" bad.safetensors "$3" "$4"

	# git itself: exit code 128, no half file; it stops at the first failure.
	must rm -f "$2"/*.safetensors
	run git -C "$2" checkout -f HEAD -- bad.safetensors
	is "$1: git checkout fails" "$((RC != 0))" 1
	one_line "$1: with one line of ours" bad.safetensors "$3" "$4"
	check "$1: and writes nothing" test ! -e "$2/bad.safetensors"

	# Ours: the other files arrive.
	in_dir "$2" run git brevis checkout
	exits 1 "$1: git brevis checkout ends with 1"
	one_line "$1: with one line" bad.safetensors "$cause" "$remedy"
	same_bytes "$1: the file before it is whole" "$2/a.safetensors" "$DEMO"
	is "$1: the file after it is whole" "$(cat "$2/z.safetensors")" 'the last one'
	check "$1: the bad one is not there" test ! -e "$2/bad.safetensors"
	no_leavings "$1" "$2"

	in_dir "$2" run git brevis fsck
	exits 1 "$1: fsck ends with 1"
	contains "$1: and names the path" <(cat "$T/out" "$T/err") bad.safetensors
}

# spoiled HOW CAUSE [REMEDY]: commits a pointer to an archive that is spoiled that way.
spoiled()
{
	local remedy=${3:-$STORED} advice='; get a good copy of it'
	[ "$remedy" = "$NEWER" ] && advice=$NEWER
	must "$TOP/tests/support/damage.py" "$1" "$archive" spoiled
	rm -rf "damaged-$1"
	must cp -a work "damaged-$1"
	must git -C "damaged-$1" remote remove origin
	store "damaged-$1" spoiled
	point_to spoiled >"damaged-$1/bad.safetensors"
	commit_all "damaged-$1" "spoiled: $1"
	bad_object "archive spoiled: $1" "damaged-$1" "$2" "$remedy"

	run git brevis verify spoiled
	exits 1 "verify $1 ends with 1"
	one_line "verify $1: one line" spoiled "$2" "$advice"
	run git brevis inspect spoiled
	# A record can be damaged without anything that inspect reads.
	if [ "$RC" -ne 0 ]; then
		exits 128 "inspect $1 ends with 128"
		one_line "inspect $1: one line" spoiled "$2" "$advice"
	fi
	rm -f restored
	run git brevis decompress spoiled -o restored
	exits 128 "decompress $1 ends with 128"
	one_line "decompress $1: one line" spoiled "$2" "$advice"
	check "decompress $1 leaves no file" test ! -e restored
	is "decompress $1 leaves nothing else" "$(find . -maxdepth 1 -name '*restored*' -o -maxdepth 1 \
		-name '.*tmp*')" ""
}
# Whatever a wrong bit makes of the record, it is named.
spoiled record 'record 9 of 18: '
spoiled index 'checksum'
spoiled digest 'SHA-256'
spoiled cut 'cut short'
spoiled half 'cut short'
spoiled end 'cut short'
spoiled version 'version 2' "$NEWER"
spoiled feature 'time-travel' "$NEWER"

# The object's bytes rotted after it was stored: its name does not fit them any more.
must cp -a work rotten
must git -C rotten remote remove origin
object=$(object_of rotten bad.safetensors)
must cp --remove-destination "$object" copy
must "$TOP/tests/support/damage.py" record copy spoiled
must cp --remove-destination spoiled "$object"
bad_object 'a rotten object' rotten 'damaged: record 9 of 18: ' "$FSCK"

# The same with a plain object, of which only its name tells what it should be.
must cp -a work plain
must git -C plain remote remove origin
must cp "$DEMO" copy
store plain copy
point_to copy >plain/bad.safetensors
commit_all plain 'a plain object'
object=$(object_of plain bad.safetensors)
printf X | dd of="$object" bs=1 seek=1000 conv=notrunc status=none
bad_object 'a rotten plain object' plain 'damaged: its SHA-256 is not its name' "$FSCK"

# Shorter than the pointer says, or not there, and nobody to ask.
must cp -a work short
must git -C short remote remove origin
object=$(object_of short bad.safetensors)
must cp --remove-destination "$object" copy
must truncate -s 1000 copy
must cp --remove-destination copy "$object"
bad_object 'a truncated object' short "damaged: wrong size, 1000 bytes instead of $(
	git -C short cat-file blob HEAD:bad.safetensors | sed -n 's/^size //p')" "$AGAIN again"
must cp -a work missing
must git -C missing remote remove origin
must rm "$(object_of missing bad.safetensors)"
bad_object 'a missing object' missing \
	'is not here and could not be downloaded: there is no remote' '; add one with `git remote add`' \
	'bytes\) is not here' "$AGAIN"

# Something else in its place is left for the user to look at.
must cp -a missing other
must mkdir -p "$(object_of other bad.safetensors)"
in_dir other git brevis smudge bad.safetensors <"$T/pointer" >"$T/out" 2>"$T/err"
is 'a directory in the place of an object: smudge ends with 128' "$?" 128
one_line 'a directory in the place of an object: one line' bad.safetensors \
	'cannot be read: Is a directory; make that a file that can be read'

# With a remote, a truncated object is fetched again.
must cp -a work healed
object=$(object_of healed bad.safetensors)
must cp --remove-destination copy "$object"
must rm healed/bad.safetensors
in_dir healed check 'a truncated object is fetched again' git brevis pull
same_bytes 'and restored' healed/bad.safetensors "$TOP/tests/corpus/demo-revision.safetensors"
is_clean 'and clean' healed

# ---- stores that cannot be written ----

# cannot_store DESCRIPTION REPO CAUSE REMEDY: adding a new file there fails, and changes nothing.
cannot_store()
{
	local before
	before=$(git -C "$2" ls-files -s)
	cp "$DEMO" "$2/new.safetensors"
	printf '%s' "$1" >>"$2/new.safetensors"
	run git -C "$2" add new.safetensors
	is "$1: git add fails" "$((RC != 0))" 1
	one_line "$1: with one line" new.safetensors "$3" "$4"
	is "$1: the index did not change" "$(git -C "$2" ls-files -s)" "$before"
	in_dir "$2" git brevis clean new.safetensors <"$2/new.safetensors" >"$T/out" 2>"$T/err"
	is "$1: clean ends with 128" "$? $(stat -c %s "$T/out")" '128 0'
	one_line "$1: and one line" new.safetensors "$3" "$4"
	rm "$2/new.safetensors"
}

must cp -a work blocked
must rm -rf blocked/.git/lfs
must touch blocked/.git/lfs
cannot_store 'a file in the place of the store' blocked 'not a directory' "$WRITABLE"
must rm blocked/.git/lfs
must mkdir -p blocked/.git/lfs
must touch blocked/.git/lfs/objects
cannot_store 'a file in the place of the objects' blocked 'not a directory' "$WRITABLE"
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
one_line 'a limit of file sizes: one line' new.safetensors 'too large' "$ROOM"
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
	# What was learned may stay: a cache, beside the store.
	# shellcheck disable=SC2016 # the inner shell expands
	run on_small_disk 1m full/.git/lfs sh -c \
		'git -C full add new.safetensors; code=$?; find full/.git/lfs -type f ! -path "*/brevis/*" >left; exit $code'
	is 'a full disk: git add fails' "$((RC != 0))" 1
	one_line 'a full disk: one line' new.safetensors 'no space' '[0-9]+ bytes' "$ROOM"
	is 'a full disk: nothing is left in the store' "$(cat left)" ""

	# A full store under pull: each file that does not fit has its line, what fits arrives.
	must cp -a work poor
	must rm -rf poor/.git/lfs poor/*.safetensors
	must mkdir poor/.git/lfs
	run in_dir poor on_small_disk 1m .git/lfs git brevis pull
	exits 1 'a full store: pull ends with 1'
	is 'a full store: a line for each file that does not fit' "$(own_lines | sed \
		's/^git-brevis: error: \([a-z.]*\): .* no space left on device; make room there and .*/\1/' |
		LC_ALL=C sort | xargs)" 'a.safetensors bad.safetensors'
	is 'a full store: the file that fits is whole' "$(cat poor/z.safetensors)" 'the last one'

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

# ---- what permissions forbid ----

# as_user COMMAND...: whom permissions concern.
as_user()
{
	if [ "$(id -u)" -ne 0 ]; then
		"$@"
	else
		setpriv --reuid=65534 --regid=65534 --clear-groups env PATH="$T/bin:$PATH" "$@"
	fi
}

# hand_over REPO...: to that user.
hand_over()
{
	[ "$(id -u)" -ne 0 ] || must chown -R 65534:65534 "$@"
}

must mkdir bin
must cp "$BIN/git-brevis" bin
must chmod 755 "$T"
must git config --global --add safe.directory '*'

# A store that takes no objects: git-lfs would not even be asked.
must cp -a remote.git theirs.git
must cp -a work closed
must git -C closed remote set-url origin "file://$T/theirs.git"
must rm -rf closed/.git/lfs closed/*.safetensors
must mkdir -p closed/.git/lfs/objects
hand_over closed theirs.git
must chmod 555 closed/.git/lfs/objects
in_dir closed run as_user git brevis pull
exits 1 'a read-only store: pull ends with 1'
is 'a read-only store: a line for each file' "$(own_lines | sed \
	"s|^git-brevis: error: \\([a-z.]*\\): .*: cannot write $T/closed/.git/lfs/objects: Permission denied$WRITABLE.*|\\1|" |
	LC_ALL=C sort | xargs)" 'a.safetensors bad.safetensors z.safetensors'
cp "$DEMO" closed/new.safetensors
printf closed >>closed/new.safetensors
hand_over closed/new.safetensors
run as_user git -C closed add new.safetensors
is 'a read-only store: git add fails' "$((RC != 0))" 1
one_line 'a read-only store: with one line' new.safetensors 'permission denied' "$WRITABLE"
must rm closed/new.safetensors
must chmod 755 closed/.git/lfs/objects
in_dir closed check 'once it can be written, pull completes' as_user git brevis pull
same_bytes 'with every byte' closed/bad.safetensors "$TOP/tests/corpus/demo-revision.safetensors"

# The same for its temporary files, about which git-lfs only says "EOF".
must rm -rf closed/.git/lfs/objects closed/*.safetensors
must mkdir -p closed/.git/lfs/tmp
hand_over closed
must chmod 555 closed/.git/lfs/tmp
in_dir closed run as_user git brevis pull bad.safetensors
exits 1 'a read-only temporary directory: pull ends with 1'
one_line 'a read-only temporary directory: one line' bad.safetensors \
	"cannot write $T/closed/.git/lfs/tmp: permission denied$WRITABLE"

# Nor more where there is no repository any more.
must cp -a work moved
must rm -rf moved/.git/lfs/objects moved/*.safetensors
must git -C moved remote remove origin
must git -C moved remote add origin "file://$T/moved.git"
in_dir moved run git brevis pull bad.safetensors
exits 1 'a remote that was moved: pull ends with 1'
one_line 'a remote that was moved: one line' bad.safetensors 'git remote -v'

# An object that cannot be read may be a good one: nothing that destroys it is advised.
must cp -a work unreadable
must git -C unreadable remote remove origin
must rm unreadable/*.safetensors
object=$(object_of unreadable bad.safetensors)
must cp --remove-destination "$archive" "$object.new"
must mv "$object.new" "$object"
hand_over unreadable
must chmod 000 "$object"
UNREADABLE='cannot be read: permission denied; make that a file that can be read'
in_dir unreadable as_user git brevis smudge bad.safetensors <"$T/pointer" >"$T/out" 2>"$T/err"
is 'an unreadable object: smudge ends with 128' "$?" 128
one_line 'an unreadable object: one line, which names it' bad.safetensors "$(basename "$object") $UNREADABLE"
in_dir unreadable run as_user git brevis checkout
exits 1 'an unreadable object: git brevis checkout ends with 1'
one_line 'an unreadable object: with one line' bad.safetensors "$UNREADABLE"
same_bytes 'the file before it is whole' unreadable/a.safetensors "$DEMO"
is 'the file after it is whole' "$(cat unreadable/z.safetensors)" 'the last one'
in_dir unreadable run as_user git brevis verify bad.safetensors
exits 1 'an unreadable object: verify ends with 1'
one_line 'an unreadable object: verify has one line' bad.safetensors "$UNREADABLE"
must chmod 644 "$object"
in_dir unreadable check 'once it can be read, checkout completes' as_user git brevis checkout

# A place that takes no output.
must mkdir locked
must chmod 555 locked
cp "$DEMO" readable # the source tree need not be, for others
chmod 644 readable
run as_user git brevis compress readable -o locked/out
exits 128 'compress into a read-only directory ends with 128'
one_line 'with one line' locked/out 'permission denied; make that a place that can be written'
run git brevis compress "$DEMO" -o absent/out
exits 128 'compress into a directory that is not there ends with 128'
one_line 'with one line' absent/out 'no such file or directory; create its directory'
run git brevis decompress "$archive" -o /dev/full
exits 128 'decompress to a full place ends with 128'
one_line 'with one line' /dev/full 'no space left on device; make room there'
run git brevis compress ''
exits 129 'compress of an empty name ends with 129'
one_line 'with one line' 'an empty name is no file'

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
