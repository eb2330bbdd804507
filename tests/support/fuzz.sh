# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tests/run needs to fuzz: targets (tests/fuzz/fuzz_*.c) with libFuzzer, leak checks, ASan and UBSan.
# Each begins with what is kept in tests/corpus/fuzz/TARGET, with seeds that are made anew, and with what
# it found interesting the last time: hours of it may be several runs. Findings go to build/fuzz/findings: to
# be explained, mended, and kept as tests/corpus/fuzz/TARGET/bad-*, which tests/integration/fuzz_replay.sh
# replays.

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
	rm -rf build/fuzz/seeds build/fuzz/*.spent
	mkdir -p build/fuzz/findings
	PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/fuzz/make_seeds.py build/fuzz/seeds tests/corpus/fuzz/prior/good-* \
		>>"$LOGS/build-fuzz.log" 2>&1 && return
	echo "not ok 2 - seeds are made" >>"$LOGS/build-fuzz.log"
	return 1
}

# fuzz_spread TESTS: the same tests, those that fuzz spread among the first two thirds of the others.
# They wait for nothing, and each takes as long as it is told: beside tests that wait they use what
# processors are left, and what comes last is short, as it was.
fuzz_spread()
{
	echo "$1" | awk '
		/^fuzz:/ { fuzz[++fuzzes] = $0; next }
		{ other[++others] = $0 }
		END {
			for (i = 1; i <= others; i++) {
				print other[i]
				while (done < fuzzes && i * 3 * (fuzzes + 1) >= others * 2 * (done + 1))
					print fuzz[++done]
			}
			while (done < fuzzes)
				print fuzz[++done]
		}'
}

# What a target has to keep to, on machines that are busy or slow, too: seconds for one input, MiB. What the
# program itself says on stderr is thrown away.
FUZZ_LIMITS="-timeout=25 -report_slow_units=25 -rss_limit_mb=2560 -max_len=8192 -close_fd_mask=2"

# fuzz_test TARGET: TAP. What it took goes to build/fuzz/TARGET.spent.
fuzz_test()
{
	local log=build/fuzz/$1.log work=build/fuzz/work/$1 folders=() folder inputs findings code=0
	local TIMEFORMAT='%U %S' # of the times that the shell tells
	for folder in "build/fuzz/seeds/$1" "tests/corpus/fuzz/$1"; do
		[ -d "$folder" ] && folders+=("$folder")
	done
	mkdir -p "$work"
	: >"$log"
	# shellcheck disable=SC2086 # words
	{
		time "build/check-fuzz/fuzz/fuzz_$1" -max_total_time="$FUZZ_SECONDS" $FUZZ_LIMITS -print_final_stats=1 \
			-artifact_prefix="build/fuzz/findings/$1-" "$work" "${folders[@]}" >>"$log" 2>&1
	} 2>"build/fuzz/$1.times" || code=$?
	inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	findings=$(find build/fuzz/findings -name "$1-*" -newer "build/fuzz/seeds" | wc -l)
	awk -v name="$1" -v inputs="${inputs:-0}" -v findings="$findings" \
		'{ print name, inputs, $1 + $2, findings }' "build/fuzz/$1.times" >"build/fuzz/$1.spent"
	if [ "$code" -eq 0 ] && [ "${inputs:-0}" -gt 0 ]; then
		echo "ok 1 - $1: $FUZZ_SECONDS s, $inputs inputs and no finding"
	else
		if [ "$findings" -gt 0 ]; then
			echo "not ok 1 - $1: a finding; it is in build/fuzz/findings"
		else
			echo "not ok 1 - $1: exit code $code after ${inputs:-0} inputs"
		fi
		tail -n 50 "$log" | sed 's/^/# /'
	fi
}

# fuzz_summary TESTS: what those that fuzzed have taken and found, and the sum.
fuzz_summary()
{
	local name
	echo
	for name in $(echo "$1" | sed -n 's/^fuzz://p'); do
		[ -e "build/fuzz/$name.spent" ] && cat "build/fuzz/$name.spent"
	done | awk '
		BEGIN { form = "%-12s %12s inputs %10.1f s of processor time %4d findings\n" }
		{ printf form, $1, $2, $3, $4; inputs += $2; seconds += $3; findings += $4 }
		END { printf form, "together", inputs, seconds, findings }'
}
