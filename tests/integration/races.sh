#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Several at once: eight processes in one repository, two clones that push the same objects, and inputs
# that change, shrink or are replaced while they are read. Whatever each of them is told, no object is
# wrong, no work file is half, no lock and no temporary file is left, and the same command then succeeds.
# BREVIS_RACE_SECONDS says how long each kind goes on.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

RACE_SECONDS=${BREVIS_RACE_SECONDS:-5}
WORKERS=8
MODELS=12

must "$PYTHON" "$TOP/tests/support/small_model.py" --versions "$T/models" "$MODELS" "$SEED"
sha256sum "$T"/models/* | cut -d' ' -f1 >"$T/known"

# nothing_wrong DESCRIPTION REPO: what has to hold in a repository whatever happened there.
nothing_wrong()
{
	local what=$1 repo=$2
	is "$what: no lock is left" "$(find "$repo/.git" -name '*.lock')" ""
	is "$what: no temporary file is left" "$(find "$repo/.git/lfs/tmp" "$repo/.git/lfs/brevis" -type f \
		\( -name 'new-*' -o ! -path '*/known/*' ! -path '*/priors/*' ! -path '*/families/*' \) 2>/dev/null)" ""
	# Those that nothing names any more, too.
	is "$what: each object is what its name says" "$(find "$repo/.git/lfs/objects" -type f -exec sha256sum {} + |
		awk '{ oid = $1; sub(/^.*\//, ""); if ($0 != oid) print }')" ""
	in_dir "$repo" check "$what: no object is wrong" git brevis fsck
	in_dir "$repo" check "$what: all of the history restores" git brevis verify --all
}

# ---- eight processes in one repository ------------------------------------------------------------

# tried COMMAND...: it succeeds, or does not get a lock that another one has: then it is tried again.
tried()
{
	local locked="\.lock'?: File exists|is at [0-9a-f]+ but expected|gc is already running"
	for _ in $(seq 100); do
		"$@" >"$T/said.$WORKER" 2>&1 && { echo "$2" >>"$T/succeeded"; return; }
		grep -qE "$locked" "$T/said.$WORKER" || break
		sleep 0.0$((RANDOM % 9 + 1))
	done
	grep -qE "$locked|^(nothing to commit|nothing added to commit|no changes added to commit)" "$T/said.$WORKER" && return
	{
		echo "$*"
		cat "$T/said.$WORKER"
	} >>"$T/wrong"
}

# worker NUMBER: does one thing after the other, drawn by the seed, until the time is over.
worker()
{
	local end=$((SECONDS + RACE_SECONDS)) shared
	WORKER=$1
	RANDOM=$((SEED * 100 + $1))
	cd "$T/work" || return
	while [ "$SECONDS" -lt "$end" ]; do
		shared=shared-$((RANDOM % 4)).safetensors
		case $((RANDOM % 10)) in
		0 | 1 | 2)
			cp "$T/models/$((RANDOM % MODELS + 1))" "$T/new.$1"
			mv "$T/new.$1" "own-$1.safetensors"
			tried git add "own-$1.safetensors"
			;;
		3) tried git commit -qm "by $1" ;;
		4 | 5 | 6)
			rm -f "$shared"
			tried git checkout -q -- "$shared"
			;;
		7 | 8) tried git status --porcelain ;;
		9) if [ $((RANDOM % 2)) = 0 ]; then tried git gc -q; else tried git prune --expire=1.hour.ago; fi ;;
		esac
	done
}

new_repo work
for i in 0 1 2 3; do cp "$T/models/$((i + 1))" "work/shared-$i.safetensors"; done
commit_all work 'shared ones'
: >"$T/wrong"
for i in $(seq "$WORKERS"); do worker "$i" & workers[i]=$!; done
wait "${workers[@]}"
note "succeeded: $(sort "$T/succeeded" | uniq -c | tr -s ' \n' ' ')"
if [ -s "$T/wrong" ]; then not_ok 'nobody fails but for a lock' "$T/wrong"; else ok 'nobody fails but for a lock'; fi
at_least 'commands succeeded, one for each worker at least' "$(wc -l <"$T/succeeded")" "$WORKERS"
contains 'adding among them' "$T/succeeded" add
contains 'and checking out' "$T/succeeded" checkout
is 'no work file is half' "$(sha256sum work/*.safetensors | cut -d' ' -f1 | grep -vxFf "$T/known")" ""
check 'whoever comes then can add' git -C work add -A
run git -C work commit -qm 'after all'
nothing_wrong 'after eight at once' work
sha256sum work/*.safetensors >"$T/before"
rm work/*.safetensors
check 'and check out' git -C work checkout -q -- .
check 'what was there' sha256sum -c --quiet "$T/before"

# ---- two clones push at once ----------------------------------------------------------------------

# push_at_once NAME SET-UP: the clones' commits have most objects in common. SET-UP is run in each.
push_at_once()
{
	local name=$1 setup=$2 clone round
	for round in 1 2 3; do
		rm -rf remote.git store one two third
		new_remote remote.git
		for clone in one two; do
			new_repo "$clone"
			must git -C "$clone" remote add origin "$T/remote.git"
			in_dir "$clone" must eval "$setup"
			for i in 1 2 3 4 5 6; do cp "$T/models/$i" "$clone/$i.safetensors"; done
			[ "$clone" = one ] || cp "$T/models/$((6 + round))" "$clone/more.safetensors"
			commit_all "$clone" "by $clone"
		done
		git -C one push -q origin HEAD:refs/heads/one >"$T/one.said" 2>&1 &
		local first=$!
		run git -C two push -q origin HEAD:refs/heads/two
		exits 0 "$name, round $round: one of two pushes"
		if wait "$first"; then
			ok "$name, round $round: the other one"
		else
			not_ok "$name, round $round: the other one" "$T/one.said"
		fi
		must git clone -q --no-checkout remote.git third
		in_dir third must eval "$setup"
		for clone in one two; do
			check "$name, round $round: what $clone pushed is there" git -C third checkout -q "$clone"
			check "$name, round $round: and is that" diff -r -x .git third "$clone"
		done
	done
	nothing_wrong "$name" third
	nothing_wrong "$name, who pushed" one
}

push_at_once 'a file remote' true
# shellcheck disable=SC2016 # expanded later
push_at_once 'a store' '{ [ -e ../store ] || git brevis store init ../store; } && git config lfs.url brevis::../store'

# ---- inputs that change while they are read -------------------------------------------------------

# change FILE: until it is told to end, the file is cut, written to, and replaced.
change()
{
	"$PYTHON" - "$1" "$DEMO" "$SEED" <<-'END'
		import os, random, sys, time
		path, whole, rng = sys.argv[1], open(sys.argv[2], "rb").read(), random.Random(int(sys.argv[3]))
		while not os.path.exists(path + ".end"):
		    time.sleep(rng.uniform(0, 0.03))
		    choice = rng.randrange(4)
		    if choice == 0:
		        os.truncate(path, rng.randrange(len(whole)))
		    elif choice == 1:
		        with open(path, "r+b") as file:
		            file.seek(rng.randrange(len(whole)))
		            file.write(rng.randbytes(5000))
		    elif choice == 2:
		        with open(path, "wb") as file:
		            file.write(whole)
		    else:
		        with open(path + ".new", "wb") as file:
		            file.write(whole)
		        os.replace(path + ".new", path)
	END
}

# while_changing NAME FILE COMMAND...: repeats the command while its input changes. It may fail, with a
# line; it is not killed by a signal.
while_changing()
{
	local name=$1 file=$2 end=$((SECONDS + RACE_SECONDS)) changer done=0 failed=0
	shift 2
	cp "$DEMO" "$file"
	change "$file" &
	changer=$!
	: >"$T/wrong"
	while [ "$SECONDS" -lt "$end" ]; do
		run "$@"
		case $RC in
		0) done=$((done + 1)) ;;
		1 | 128) failed=$((failed + 1)) && [ -s "$T/err" ] || echo "failed silently" >>"$T/wrong" ;;
		*) { echo "exit code $RC"; cat "$T/err"; } >>"$T/wrong" ;;
		esac
	done
	touch "$file.end"
	wait "$changer" || echo 'what changes the input ended early' >>"$T/wrong"
	rm -f "$file.end" "$file.new"
	note "$name: $done succeeded, $failed failed"
	if [ -s "$T/wrong" ]; then not_ok "$name: succeeds or says why not" "$T/wrong"; else ok "$name: succeeds or says why not"; fi
	cp "$DEMO" "$file"
	check "$name: and succeeds again" "$@"
}

new_repo changing
while_changing 'git add' changing/model.safetensors git -C changing add model.safetensors
run git -C changing commit -qm 'what came to rest'
nothing_wrong 'an input that changed' changing
is_clean 'what was added last is what is there' changing
# An archive that is made restores something: what was read, whatever that was.
cat >"$T/compress" <<-'END'
	git-brevis compress -f -o "$1.brevis" "$1" || exit
	git-brevis decompress -f -o "$1.restored" "$1.brevis" || exit 3
END
while_changing 'compress' "$T/model.safetensors" sh "$T/compress" "$T/model.safetensors"
same_bytes 'and what it restores is the file' "$T/model.safetensors.restored" "$DEMO"
is 'compress leaves nothing' "$(find "$T" -maxdepth 1 -name 'model.*' | wc -l)" 3

done_testing
