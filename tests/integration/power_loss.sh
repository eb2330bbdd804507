#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Storing an object waits for the disk as git's own settings say, by default not at all; and what a
# loss of power can make of an object that was not waited for never goes unnoticed.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

export GIT_BREVIS_TRACE=$T/trace

new_repo work
cd work || exit 1
cp "$DEMO" model.safetensors
commit_all . 'a checkpoint'
object=$(object_of . model.safetensors)
must cp "$object" "$T/object"

# ---- what waits for the disk ----------------------------------------------------------------------

# stores HOW SETTING...: adding the file with these settings of git stores its object that way.
stores()
{
	local how=$1 setting
	local -a settings=()
	shift
	for setting; do settings+=(-c "$setting"); done
	must rm -rf .git/lfs/objects .git/lfs/brevis
	must touch model.safetensors
	: >"$T/trace"
	must git "${settings[@]}" add model.safetensors
	is "an object is $how${*:+ with $*}" "$(sed -n 's/^.*object [0-9a-f]\{64\}: //p' "$T/trace")" "$how"
}

stores 'not waited for'
stores 'not waited for' core.fsync=none
stores 'not waited for' core.fsync=pack,reference,index
stores 'not waited for' core.fsync=-loose-object
stores 'not waited for' core.fsyncMethod=fsync
for components in loose-object objects committed added all none,all -index,loose-object; do
	stores synced "core.fsync=$components"
done
stores synced core.fsync=all core.fsyncMethod=batch
stores synced core.fsyncObjectFiles=true
stores synced brevis.fsync=true
stores 'not waited for' brevis.fsync=false core.fsync=all
stores 'written out' core.fsync=all core.fsyncMethod=writeout-only
git -c brevis.fsync=true brevis env >"$T/env"
contains 'git brevis env says how' "$T/env" 'new objects are synced'

# ---- what a loss of power may leave ----------------------------------------------------------------

# noticed WHAT: the object at hand is not what its name says. fsck, checkout and the next add notice,
# and that makes it whole again.
noticed()
{
	run git brevis fsck --dry-run
	exits 1 "$1: fsck fails"
	contains "$1: and says what is wrong" "$T/out" "$2"
	run git cat-file --filters :model.safetensors
	check "$1: no file comes of it" test "$RC" -ne 0
	# The map believes that it was proven after it changed last; ctimes cannot be set back.
	find .git/lfs/brevis/known -type f -exec touch {} +
	must touch model.safetensors
	must git add model.safetensors
	same_bytes "$1: adding the file stores it anew" "$object" "$T/object"
	is_clean "$1: clean" .
}

size=$(stat -c %s "$T/object")
truncate -s 0 "$object"
noticed 'all bytes lost' 'wrong size, 0 bytes'
truncate -s 4096 "$object"
noticed 'the end lost' 'wrong size, 4096 bytes'
truncate -s 0 "$object"
truncate -s "$size" "$object"
noticed 'the right size, all zeros' 'its SHA-256 is'
dd if=/dev/zero of="$object" bs=1 seek=$((size - 512)) count=512 conv=notrunc status=none
noticed 'zeros at the end' 'its SHA-256 is'
dd if=/dev/zero of="$object" bs=4096 count=1 conv=notrunc status=none
noticed 'zeros at the beginning' 'its SHA-256 is'

# In the middle, where only decoding tells. Entries of the map that were made before the system was
# started vouch for nothing.
dd if=/dev/zero of="$object" bs=4096 seek=$((size / 8192)) count=2 conv=notrunc status=none
run git brevis fsck --dry-run
exits 1 'zeros in the middle: fsck fails'
run git cat-file --filters :model.safetensors
check 'zeros in the middle: no file comes of it' test "$RC" -ne 0
find .git/lfs/brevis/known -type f -exec touch -d @1 {} +
must touch model.safetensors
must git add model.safetensors
same_bytes 'zeros in the middle: adding the file stores it anew' "$object" "$T/object"

done_testing
