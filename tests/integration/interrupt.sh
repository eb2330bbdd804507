#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Commands that are interrupted, or killed, at any moment: no half file, no lock, no child process
# left, and the next command completes the work.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# Three files of 64 MiB, so that there is something to interrupt.
new_repo work
for i in 1 2 3; do
	for _ in $(seq 26); do cat "$DEMO"; done >"part$i"
	printf '%s' "$i" >>"part$i"
	must mv "part$i" "work/part$i.safetensors"
done
commit_all work 'three parts'
listing work >"$T/listing"

# whole_or_absent DESCRIPTION: what is in the work tree is right, and nothing else is there.
whole_or_absent()
{
	listing work >"$T/restored"
	is "$1: nothing but whole files" "$(grep -vxFf "$T/listing" "$T/restored")" ""
	check "$1: the index is not locked" test ! -e work/.git/index.lock
}

# alive_in PGID: a process of this group still runs; one that only waits to be reaped does not count.
alive_in()
{
	cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' |
		awk -v group="$1" '$3 == group && $1 != "Z" { found = 1 } END { exit !found }'
}

# stopped SIGNAL DELAY COMMAND...: sends the signal to the command's process group after a while, as
# a terminal does. Returns the command's exit code.
stopped()
{
	local signal=$1 delay=$2 pid code
	shift 2
	setsid "$@" >"$T/out" 2>"$T/err" </dev/null &
	pid=$!
	sleep "$delay"
	kill -s "$signal" -- "-$pid" 2>/dev/null
	wait "$pid"
	code=$?
	for _ in $(seq 20); do
		alive_in "$pid" || return "$code"
		sleep 0.1
	done
	not_ok "a process outlives $*"
	return "$code"
}

interrupted=0
for signal in INT TERM KILL; do
	for delay in 0.02 0.08 0.2; do
		rm -f work/*.safetensors
		in_dir work stopped "$signal" "$delay" git brevis checkout && continue
		interrupted=$((interrupted + 1))
		# A killed process cannot clean up; what it leaves must not look like a file of the user.
		[ "$signal" = KILL ] && rm -f work/.git-brevis-*
		whole_or_absent "checkout, SIG$signal after $delay s"
	done
done
at_least 'some checkouts were interrupted' "$interrupted" 1
in_dir work check 'the next checkout completes' git brevis checkout
listing work >"$T/restored"
same_bytes 'every file' "$T/restored" "$T/listing"
is_clean 'and is clean' work

# git add: the object store has no half object, and no temporary file unless git-brevis was killed.
interrupted=0
for signal in INT TERM KILL; do
	for delay in 0.05 0.2; do
		must rm -rf work/.git/lfs work/.git/index
		in_dir work stopped "$signal" "$delay" git add -A && continue
		interrupted=$((interrupted + 1))
		rm -f work/.git/index.lock
		find work/.git/lfs/objects -type f 2>/dev/null | while read -r file; do
			sha256sum "$file"
		done | awk '{ n = split($2, part, "/"); if ($1 != part[n]) print $2 }' >"$T/wrong"
		is "add, SIG$signal after $delay s: no wrong object" "$(cat "$T/wrong")" ""
		[ "$signal" = KILL ] || is "add, SIG$signal after $delay s: no temporary file" \
			"$(find work/.git/lfs/tmp -type f 2>/dev/null)" ""
	done
done
at_least 'some additions were interrupted' "$interrupted" 1
check 'the next addition completes' git -C work add -A
is_clean 'and changes nothing' work

done_testing
