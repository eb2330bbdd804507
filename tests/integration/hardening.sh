#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the default build has against an error of ours becoming somebody's way in, read from what was
# built: the program, and the library that others load.
BREVIS_TEST_NO_INSTALL=1
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# hardened FILE NAME: what is asked of both. Leaves what readelf says of it in parts, needs and names.
hardened()
{
	must readelf -hlnW "$1"
	mv "$T/.said" parts
	must readelf -dW "$1"
	mv "$T/.said" needs
	must readelf -W --dyn-syms "$1"
	mv "$T/.said" names

	check "$2: it is placed where nobody can foretell" grep -q '^ *Type: *DYN ' parts
	check "$2: and its code needs no changing for that" test "$(grep -c TEXTREL needs)" -eq 0
	check "$2: addresses of functions are found at the start" grep -qE '\(FLAGS\) .*BIND_NOW' needs
	check "$2: and not writable afterwards" grep -q '^ *GNU_RELRO ' parts
	# Flags stand in the last column but one, as "RW", "R E" or "RWE".
	check "$2: its stack is not executable" grep -qE '^ *GNU_STACK .* RW +0x[0-9a-f]+$' parts
	check "$2: nor anything else that is writable" test "$(grep -cE ' RWE +0x[0-9a-f]+$' parts)" -eq 0
	check "$2: a stack that was written over is noticed" grep -qw __stack_chk_fail names
	for name in memcpy memset snprintf; do
		check "$2: $name into too little room is noticed" grep -qw "__${name}_chk" names
	done
}

program=$BIN/git-brevis
version=$(sed -n 's/^#define BREVIS_VERSION "\(.*\)"/\1/p' "$TOP/core/brevis.h")
hardened "$BIN/lib/libbrevis.so.$version" library
hardened "$program" program
check 'program: it says that it may be placed anywhere' grep -qE '\(FLAGS_1\) .*PIE' needs

# Seen in instructions only: large frames touch each page, so that none reaches past the guard.
if [ "$(uname -m)" = x86_64 ]; then
	objdump -d --no-show-raw-insn "$program" >code
	at_least 'program: large frames are entered page by page' "$(grep -cE 'orq +[$]0x0,\(%rsp\)' code)" 10
	is 'program: functions begin where a jump may land' \
		"$(grep -A1 '<main>:$' code | awk 'NR == 2 { print $2 }')" endbr64
else
	not_here 'program: large frames are entered page by page' 'no pattern is known for this processor'
	not_here 'program: functions begin where a jump may land' 'no pattern is known for this processor'
fi

done_testing
