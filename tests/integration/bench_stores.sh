#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What scripts/bench-stores measures is what it says: on a small file the pushes do their work, the
# table is whole, and nothing is left behind. How long anything takes is not looked at.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

mkdir tools place other
must ln -s "$BIN/git-brevis" tools/git-brevis
must "${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -I"$TOP" -D_GNU_SOURCE -o tools/make-checkpoint \
	"$TOP/scripts/make-checkpoint.c" "$TOP/scripts/synthetic.c" -lm

bench_stores()
{
	run env -u GIT_CONFIG_GLOBAL BENCH_BUILD="$T/tools" "$PYTHON" -B "$TOP/scripts/lib/bench_stores.py" \
		--dir "$T/place" --other "$T/other" "$@"
}

bench_stores --size 3M --runs 1 --steps directory,sftp,small
exits 0 'every push works'
is 'each step has its row' "$(grep -c '^| push' "$T/out")" 3
is 'each step has its runs of both' "$(grep -cE '^- [a-z]+, git-(brevis|lfs)[a-z, ]*: [0-9.]+$' "$T/out")" 6
is 'each bar is judged' "$(grep -cE '\| (yes|\*\*no\*\*) \|$' "$T/out")" 3
contains 'links instead of copies are told of' "$T/err" 'on one file system'
if grep -nF -e "$T" -e "$TOP" "$T/out" >found; then
	not_ok 'no path of this machine is printed' found
else
	ok 'no path of this machine is printed'
fi
is 'nothing is left behind' "$(ls -A place other)" "$(printf 'other:\n\nplace:')"

bench_stores --steps sleep
exits 2 'no such step'

# A push that sends nothing is no measurement.
must rm tools/git-brevis
cat >tools/git-brevis <<END
#!/bin/sh
case \$1 in
store) [ "\$2" = ls ] && exit 0 ;;
esac
exec "$BIN/git-brevis" "\$@"
END
must chmod +x tools/git-brevis
bench_stores --size 1M --runs 1 --steps directory
exits 1 'a store without the object is an error'
contains 'and that is said' "$T/err" '0 of 1 objects arrived'
is 'nothing is left behind after a failure' "$(ls -A place other)" "$(printf 'other:\n\nplace:')"
done_testing
