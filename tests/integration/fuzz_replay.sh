#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Each fuzz target once over the inputs that are kept: some for each way through the code, and all that
# was ever found. A finding ends the program, a sanitizer's too.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

INPUTS=$TOP/tests/corpus/fuzz
for source in "$TOP"/tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	if run "$BIN/replay/$name" "$INPUTS/${name#fuzz_}"; [ "$RC" -eq 0 ]; then
		ok "${name#fuzz_}: $(tail -n 1 "$T/out")"
	else
		not_ok "${name#fuzz_}: the last line names the input" "$T/err"
	fi
done
# Archives of the corpus, with checksums that agree with anything.
check 'archive: those that break one rule each' "$BIN/replay/fuzz_archive" "$TOP"/tests/corpus/*.brevis

done_testing
