#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The short form of `make torture`: of each scenario and of some kinds of faults one call, the same ones
# for the same seed, fails under real git. Nothing may be lost, and the same command then succeeds.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# Beside the program if make made it, else of our own.
LIBRARY=$BIN/inject.so
if [ ! "$LIBRARY" -nt "$TOP/tests/torture/inject.c" ]; then
	LIBRARY=$T/inject.so
	must gcc -D_GNU_SOURCE -std=gnu11 -O2 -fPIC -shared -o "$LIBRARY" "$TOP/tests/torture/inject.c" -ldl
fi
must test -x "$(command -v strace)"
mkdir "$T/place"
"$PYTHON" "$TOP/tests/torture/torture.py" --bin "$BIN" --library "$LIBRARY" \
	--dir "$T/place" --seed "$SEED" --injections 1 --pairs 7 >"$T/said" 2>&1
RC=$?
# Of each of the twenty scenarios and seven of its faults there is a line.
sed -n 's/^\(not \)\{0,1\}ok [0-9]* - //p' "$T/said" | while read -r line; do note "$line"; done
at_least 'every scenario, and seven kinds of faults of each' \
	"$(grep -c '^ok .* injections of .* 0 losses$' "$T/said")" 130
# A place that is worse is not always noticed, and a call not always made.
at_least 'faults that happened' "$(sed -n 's/^# \([0-9]*\) injections, .*/\1/p' "$T/said")" 105
if [ "$RC" -eq 0 ]; then
	ok "no call that fails loses anything: $(sed -n 's/^# \(.* losses\)$/\1/p' "$T/said")"
else
	sed -n '/^not ok/,/^\(ok\|# |\)/p' "$T/said" >"$T/lost"
	not_ok 'no call that fails loses anything' "$T/lost"
fi
while read -r fault; do
	not_here "$fault" 'nothing may be mounted here'
done < <(sed -n 's/^ok [0-9]* - \(.*\) # SKIP .*/\1/p' "$T/said")

# Libraries that are first used where memory is short: OpenSSL stays half begun.
mkdir "$T/short"
hits=0
for at in $(seq 1 120); do
	head -c 200 /dev/zero >"$T/count"
	run env LD_PRELOAD="$LIBRARY" TORTURE_STATE="$T/count" TORTURE_FAULT=nomem TORTURE_AT="$at" \
		git-brevis compress "$TOP/tests/support/lib.sh" -f -o "$T/short/archive"
	hits=$((hits + $(od -An -tu8 -N8 "$T/count")))
	case $RC in 0 | 128) ;; *) echo "call $at: exit code $RC" ;; esac
	find "$T/short" ! -name archive -type f
	rm -f "$T/short/archive"
done >"$T/wrong"
at_least 'allocations that failed while all begins' "$hits" 100
is 'none of them makes it crash, or leaves a file' "$(cat "$T/wrong")" ""
is 'nothing of it is left' "$(ls "$T/place")" ""

done_testing
