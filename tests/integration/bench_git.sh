#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What scripts/bench-git measures is what it says: on small files every step does its work with both
# tools, the table is whole, and nothing is left behind. How long anything takes is not looked at.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

LIB=$TOP/scripts/lib

# The generator has no part in the program, so it is built here and not by the build under test.
mkdir tools place
must ln -s "$BIN/git-brevis" tools/git-brevis
must "${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -I"$TOP" -D_GNU_SOURCE -o tools/make-checkpoint \
	"$TOP/scripts/make-checkpoint.c" "$TOP/scripts/synthetic.c" -lm

# ---- the checkpoints -----------------------------------------------------------------------------

check 'a checkpoint is made' tools/make-checkpoint 3 one
check 'and again' tools/make-checkpoint 3 again
same_bytes 'the same seed gives the same bytes' one again
must tools/make-checkpoint --seed 2 3 other
check 'another seed gives other bytes' test "$(cmp -l one other | wc -l)" -gt 1000000
must tools/make-checkpoint --revision 3 revised
changed=$(cmp -l one revised | wc -l)
at_least 'a revision differs' "$changed" 10000
at_most 'a revision differs in a part only' "$changed" $((3 << 19))
must git brevis compress one -o one.brevis
check 'a checkpoint is valid safetensors, and its tensors differ' \
	"$PYTHON" - one <<-'END'
		import json, struct, sys
		content = open(sys.argv[1], "rb").read()
		end = 8 + struct.unpack("<Q", content[:8])[0]
		header = json.loads(content[8:end])
		spans = sorted(t["data_offsets"] for t in header.values())
		assert spans[0][0] == 0 and spans[-1][1] == len(content) - end == 3 << 20, spans
		assert all(a[1] == b[0] for a, b in zip(spans, spans[1:])), spans
		words = [content[at:at + 32] for at in range(end, len(content), 32)]
		assert len(set(words)) == len(words), "something repeats"
	END
saved=$((100 - 100 * $(stat -c %s one.brevis) / $(stat -c %s one)))
at_least 'weights save as much as real ones, in percent' "$saved" 30
at_most 'and no more' "$saved" 40

# ---- the whole table -----------------------------------------------------------------------------

bench_git()
{
	run env -u GIT_CONFIG_GLOBAL BENCH_BUILD="$T/tools" "$PYTHON" -B "$LIB/bench_git.py" \
		--dir "$T/place" "$@"
}

bench_git --size 3M --runs 2
exits 0 'every step works'
is 'each step has its row' "$(grep -c '^| `git' "$T/out")" 7
is 'each step has its runs of both' "$(grep -cE '^- 3 MiB, [a-z-]+, git-(brevis|lfs): [0-9.]+ [0-9.]+$' "$T/out")" 14
is 'each bar is judged' "$(grep -oE '/ (yes|\*\*no\*\*)' "$T/out" | wc -l)" 10
if grep -nF -e "$T" -e "$TOP" "$T/out" >found; then
	not_ok 'no path of this machine is printed' found
else
	ok 'no path of this machine is printed'
fi
is 'nothing is left behind' "$(ls -A place)" ""

# ---- a selection, and what is wrong ---------------------------------------------------------------

bench_git --size 2M --runs 1 --steps revise
exits 0 'a selection of steps'
is 'what a step is compared with is measured too' "$(grep -c '^| `git' "$T/out")" 2
contains 'and that is said' "$T/err" 'add is measured too'

bench_git --size 1024G --steps status
exits 1 'too little disk is an error'
contains 'which says what is needed' "$T/err" 'GiB of disk'
is 'and nothing is left behind' "$(ls -A place)" ""

bench_git --steps sleep
exits 2 'no such step'
bench_git --size 12
exits 2 'no size'

# A step that did not do its work is no measurement.
must rm tools/git-brevis
cat >tools/git-brevis <<END
#!/bin/sh
case \$1 in
checkout) exit 0 ;;
esac
exec "$BIN/git-brevis" "\$@"
END
must chmod +x tools/git-brevis
bench_git --size 1M --runs 1 --steps shards-checkout
exits 1 'a checkout that leaves pointers is no checkout'
contains 'and that is said' "$T/err" 'not what was committed'
is 'nothing is left behind after a failure' "$(ls -A place)" ""
done_testing
