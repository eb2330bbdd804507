# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tests/run needs to fuzz: targets (tests/fuzz/fuzz_*.c) with libFuzzer, leak checks, ASan and UBSan.
# Each begins with what is kept in tests/corpus/fuzz/TARGET, with seeds that are made anew, and with what
# it found interesting the last time. Findings go to build/fuzz/findings: to be explained, mended, and kept
# as tests/corpus/fuzz/TARGET/bad-*, which tests/integration/fuzz_replay.sh replays.

FUZZ_FLAGS="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -fno-omit-frame-pointer"
FUZZ_BUILD=(CC=clang OPT="-O1 -g" HARDEN= "SANITIZE=$FUZZ_FLAGS")
FUZZ_SECONDS=${BREVIS_FUZZ_SECONDS:-60} # for each target

# The tests, as tests/run names them.
fuzz_tests()
{
	local file name
	for file in tests/fuzz/fuzz_*.c; do
		name=${file##*/fuzz_}
		echo "fuzz:${name%.c}"
	done
}

# fuzz_build: the targets, and their seeds.
fuzz_build()
{
	build fuzz fuzz-targets "${FUZZ_BUILD[@]}" || return 1
	rm -rf build/fuzz/seeds
	mkdir -p build/fuzz/findings
	/usr/bin/python3 tests/fuzz/make_seeds.py build/fuzz/seeds tests/corpus/fuzz/prior/good-* \
		>>"$LOGS/build-fuzz.log" 2>&1 && return
	echo "not ok 2 - seeds are made" >>"$LOGS/build-fuzz.log"
	return 1
}

# fuzz_test TARGET: TAP.
fuzz_test()
{
	local work=build/fuzz/work/$1 folders=() folder
	for folder in "build/fuzz/seeds/$1" "tests/corpus/fuzz/$1"; do
		[ -d "$folder" ] && folders+=("$folder")
	done
	mkdir -p "$work"
	if "build/check-fuzz/fuzz/fuzz_$1" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=3000 \
		-max_len=8192 -print_final_stats=1 -artifact_prefix="build/fuzz/findings/$1-" "$work" \
		"${folders[@]}" >"build/fuzz/$1.log" 2>&1; then
		echo "ok 1 - $1: $FUZZ_SECONDS s, $(sed -n 's/^stat::number_of_executed_units: *//p' \
			"build/fuzz/$1.log") inputs and no finding"
	else
		echo "not ok 1 - $1: a finding"
		tail -n 50 "build/fuzz/$1.log" | sed 's/^/# /'
	fi
}
