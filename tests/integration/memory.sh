#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Peak memory of every way a checkpoint of 1.5 GiB, with one tensor of 1 GiB, goes into the store and
# comes back, and of the way of a single tensor of 5 GiB: at most 320 MiB, at two workers.
# BREVIS_TEST_HUGE=20 makes that one of 20 GiB, which takes a minute and a half more.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

CEILING=$((320 * 1024)) # KiB
NEEDED=6                # GiB: the original, its archive, a restored copy

available=$(df --output=avail -k "$T" | tail -n 1)
if [ "$available" -lt $((NEEDED * 1024 * 1024)) ]; then
	not_ok "$T has $((available / 1024)) MiB free, this test needs $NEEDED GiB: set TMPDIR"
	done_testing
fi

# From here on, every git-brevis is measured, whoever starts it.
mkdir measured
must ln -s "$TOP/tests/support/measured" measured/git-brevis
export MEASURED_PROGRAM=$BIN/git-brevis MEASURED_PEAKS=$T/peaks PATH=$T/measured:$PATH
export GIT_BREVIS_THREADS=2

# peak DESCRIPTION VERB: the largest of a verb since the last call.
peak()
{
	local kib
	kib=$(awk -v verb="$2" '$1 == verb && $2 > most { most = $2 } END { print most + 0 }' peaks)
	at_least "$1 was measured" "$kib" 1
	at_most "peak memory of $1, in KiB" "$kib" "$CEILING"
	: >peaks
	note "$1 done at $SECONDS s"
}

must "$TOP/tests/support/big_checkpoint.py" "$DEMO" big.safetensors
at_least 'the checkpoint has 1.5 GiB' "$(stat -c %s big.safetensors)" $((3 << 29))
new_repo work
: >peaks

# shellcheck disable=SC2094 # the argument is only a name
in_dir work git brevis clean big.safetensors <big.safetensors >pointer
is 'clean, one shot' "$?" 0
peak 'clean, one shot' clean

# The same again through git, with nothing known of the content.
must rm -rf work/.git/lfs
must ln big.safetensors work/big.safetensors
check 'git add' git -C work add big.safetensors
peak 'clean, by git add' filter-process
git -C work cat-file blob :big.safetensors >added
same_bytes 'both make the same pointer' added pointer
at_least 'the archive has its weights' "$(stat -c %s "$(object_path "$T/work" \
	"$(sed -n 's/^oid sha256://p' pointer)")")" $((200 << 20))

must git -C work commit -qm 'a big checkpoint'
must touch work/big.safetensors
is_clean 'known content is recognised' work
peak 'git status' filter-process

in_dir work git brevis smudge big.safetensors <pointer | cmp - big.safetensors
is 'smudge, one shot, has every byte' "${PIPESTATUS[*]}" '0 0'
peak 'smudge, one shot' smudge

in_dir work "$TOP/tests/support/filter_client.py" smudge big.safetensors <pointer |
	cmp - big.safetensors
is 'smudge, by the filter process, has every byte' "${PIPESTATUS[*]}" '0 0'
peak 'smudge, by the filter process' filter-process

must rm work/big.safetensors
in_dir work check 'git brevis checkout' git brevis checkout
peak 'git brevis checkout' checkout
same_bytes 'git brevis checkout has every byte' work/big.safetensors big.safetensors
is_clean 'and leaves the work tree clean' work

# ---- one tensor of more than 4 GiB, all of it zero ----------------------------------------------------------

must rm -rf work big.safetensors
gib=${BREVIS_TEST_HUGE:-5}
room=$(($(df --output=avail -k "$T" | tail -n 1) / 1024 / 1024 - 1))
if [ "$room" -lt "$gib" ]; then
	note "$T has room for $room GiB only: the tensor has no more"
	gib=$room
fi
must "$TOP/tests/support/big_checkpoint.py" --zero "$gib" zero.safetensors
new_repo work
: >peaks
must ln zero.safetensors work/zero.safetensors
check 'git add, a huge tensor' git -C work add zero.safetensors
peak 'clean, a huge tensor' filter-process
must git -C work commit -qm 'a huge tensor'
must rm work/zero.safetensors
in_dir work check 'git brevis checkout, a huge tensor' git brevis checkout
peak 'git brevis checkout, a huge tensor' checkout
is 'it has its size' "$(stat -c %s work/zero.safetensors)" "$(stat -c %s zero.safetensors)"

done_testing
