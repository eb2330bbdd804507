#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Commands that are interrupted, or killed, at any moment: no half file, no lock, no child process
# left, and the next command completes the work.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# Two files of 32 and 96 MiB, so that there is something to interrupt, and a small one, which is
# there long before them: an interruption finds some files written, on every machine.
# The preset is the fast one: others take seconds to find out that each part repeats itself.
export GIT_BREVIS_PRESET=fast
new_repo work
copies=(1 13 39)
for i in 1 2 3; do
	for _ in $(seq "${copies[i - 1]}"); do cat "$DEMO"; done >"part$i"
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
	for _ in $(seq 100); do
		alive_in "$pid" || return "$code"
		sleep 0.1
	done
	not_ok "a process outlives $*"
	return "$code"
}

# took COMMAND...: runs it and sets TOOK to its time in milliseconds.
took()
{
	local began
	began=$(date +%s%N)
	"$@"
	TOOK=$((($(date +%s%N) - began) / 1000000))
	note "$* takes $TOOK ms"
}

# part PERCENT: of TOOK, in seconds.
part()
{
	awk -v ms="$TOOK" -v percent="$1" 'BEGIN { printf "%.3f", ms * percent / 100000 }'
}

# The first run also warms the caches: the second one tells how long the work takes.
for _ in 1 2; do
	rm -f work/*.safetensors
	in_dir work took must git brevis checkout
done
midway=0
all=0
for signal in INT TERM KILL; do
	interrupted=0
	for percent in 5 20 35 50; do
		rm -f work/*.safetensors
		in_dir work stopped "$signal" "$(part "$percent")" git brevis checkout && continue
		interrupted=$((interrupted + 1))
		# A killed process cannot clean up; what it leaves must not look like a file of the user.
		[ "$signal" = KILL ] && rm -f work/.git-brevis-*
		case $(find work -maxdepth 1 -name '*.safetensors' | wc -l) in
		1 | 2) midway=$((midway + 1)) ;;
		esac
		whole_or_absent "checkout, SIG$signal at $percent %"
	done
	at_least "checkouts that SIG$signal interrupted" "$interrupted" 1
	all=$((all + interrupted))
done
at_least 'checkouts that were interrupted, of 12' "$all" 6
at_least 'checkouts that had written some files and not all' "$midway" 1
in_dir work check 'the next checkout completes' git brevis checkout
listing work >"$T/restored"
same_bytes 'every file' "$T/restored" "$T/listing"
is_clean 'and is clean' work

# git add, of the smaller files: the largest takes seconds to compress, each time. The object store has no
# half object, and no temporary file unless git-brevis was killed.
must git -C work rm -q part3.safetensors
must git -C work commit -qm 'two parts'
must rm -rf work/.git/lfs work/.git/index
in_dir work took must git add -A
midway=0
for signal in INT TERM KILL; do
	interrupted=0
	for percent in 10 40 70 25 55 30 60 45 80 20 50 65; do
		# Three tries each; more only until a kill has hit an object that was being written.
		case $signal:$percent in
		KILL:25) [ "$midway" -gt 0 ] && break ;;
		KILL:*) [ "$interrupted" -ge 3 ] && [ "$midway" -gt 0 ] && break ;;
		*:25) break ;;
		esac
		must rm -rf work/.git/lfs work/.git/index
		in_dir work stopped "$signal" "$(part "$percent")" git add -A && continue
		interrupted=$((interrupted + 1))
		rm -f work/.git/index.lock
		find work/.git/lfs/objects -type f 2>/dev/null | while read -r file; do
			sha256sum "$file"
		done | awk '{ n = split($2, part, "/"); if ($1 != part[n]) print $2 }' >"$T/wrong"
		is "add, SIG$signal at $percent %: no wrong object" "$(cat "$T/wrong")" ""
		leavings=$(find work/.git/lfs/tmp -type f 2>/dev/null)
		if [ "$signal" != KILL ]; then
			is "add, SIG$signal at $percent %: no temporary file" "$leavings" ""
		elif [ -n "$leavings" ]; then
			midway=$((midway + 1))
		fi
	done
	at_least "additions that SIG$signal interrupted" "$interrupted" 1
done
at_least 'additions that were killed while they wrote an object' "$midway" 1
check 'the next addition completes' git -C work add -A
is_clean 'and changes nothing' work

# A second signal, while a git that cares for none is waited for.
mkdir "$T/bin"
cat >"$T/bin/git" <<-END
	#!/bin/sh
	PATH=\${PATH#*:}
	[ "\$1" = write-tree ] || exec git "\$@"
	trap '' HUP TERM
	: >"$T/deaf"
	exec sleep 60
END
must chmod +x "$T/bin/git"

# twice FIRST SECOND: sets CODE to the exit code of a migration that gets both.
twice()
{
	local pid
	rm -f "$T/deaf"
	PATH=$T/bin:$PATH setsid git-brevis migrate export >"$T/out" 2>"$T/err" </dev/null &
	pid=$!
	for _ in $(seq 300); do
		[ -e "$T/deaf" ] && break
		sleep 0.1
	done
	at_least 'temporary files while it runs' "$(find .git/lfs/tmp -type f | wc -l)" 1
	kill -s "$1" "$pid"
	sleep 0.1
	kill -s "$2" "$pid"
	wait "$pid" 2>/dev/null
	CODE=$?
	if alive_in "$pid"; then
		not_ok "a process outlives SIG$1 and SIG$2"
		kill -s KILL -- "-$pid"
	fi
}

must git -C work rm -q part2.safetensors
must git -C work commit -qm 'one part'
must rm -r work/.git/lfs/tmp # what kills have left
# Not SIGINT: what a script runs in the background ignores it.
for signal in HUP TERM; do
	in_dir work twice TERM "$signal"
	at_least "SIGTERM and SIG$signal end it" "$CODE" 129
	is 'and leave no temporary file' "$(find work/.git/lfs/tmp -type f)" ""
done

done_testing
