#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What an encoder learned from a checkpoint is kept beside the objects and used for the next one of
# the same family; it is a cache, and damage there costs time only.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

export GIT_BREVIS_TRACE=$T/trace
REVISION=$TOP/tests/corpus/demo-revision.safetensors

new_repo work
cd work || exit 1
# By default the demo's tensors need no search, and so no prior.
must git config brevis.preset best
PRIORS=.git/lfs/brevis/priors
FAMILIES=.git/lfs/brevis/families

# add FILE PATH: has git clean a file, and leaves what the trace says of its prior in ORIGIN.
add()
{
	: >"$T/trace"
	cp "$1" "$2"
	run git add "$2"
	exits 0 "$2 is added"
	ORIGIN=$(sed -n "s/^git-brevis: trace: clean ${2//./\\.}: prior \\(.*\\) [0-9a-f]\\{12\\}\$/\\1/p" "$T/trace")
}

# revised NUMBER: writes another revision of the demo, of which all tensors changed, and tells its name.
revised()
{
	"$PYTHON" - "$DEMO" "$T/revision-$1" "$1" <<-'END'
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		start = 8 + struct.unpack("<Q", data[:8])[0]
		for at in range(start, len(data), 64):
		    data[at] ^= int(sys.argv[3])
		open(sys.argv[2], "wb").write(data)
	END
	echo "$T/revision-$1"
}

stored()
{
	git cat-file blob ":$1"
}

# ---- learned once, then used ----------------------------------------------------------------------

add "$DEMO" model.safetensors
is 'the first checkpoint: a prior is learned' "$ORIGIN" calibrated
is 'and kept' "$(find "$PRIORS" -type f | wc -l) $(find "$FAMILIES" -type f | wc -l)" '1 1'
prior=$(ls "$PRIORS")
is 'under its SHA-256' "$(sha256sum <"$PRIORS/$prior" | cut -d' ' -f1)" "$prior"
is 'which the family names' "$(cat "$FAMILIES"/*)" "$prior"
contains 'the trace names it' "$T/trace" "prior calibrated ${prior:0:12}"
must git commit -qm 'a checkpoint'
first=$(stored model.safetensors)

add "$REVISION" model.safetensors
is 'a revision of it: the prior is loaded' "$ORIGIN" loaded
contains 'that very one' "$T/trace" "prior loaded ${prior:0:12}"
must git commit -qm 'a revision'
second=$(stored model.safetensors)

add "$(revised 1)" model.safetensors
is 'a revision of which everything changed: loaded' "$ORIGIN" loaded
must git commit -qm 'another revision'
add "$(revised 2)" other.safetensors
is 'another path of the same family: loaded' "$ORIGIN" loaded
must git commit -qm 'another path'
is 'no more priors were kept' "$(ls "$PRIORS")" "$prior"
run git brevis inspect --json other.safetensors
contains 'the archive names its prior' "$T/out" "\"prior\": \"$prior\""
: >"$T/trace"
cp "$(revised 3)" third.safetensors
run one_by_one git add third.safetensors
contains 'so does a clean of its own' "$T/trace" "clean third.safetensors: prior loaded ${prior:0:12}"
must git commit -qm 'a third path'

: >"$T/trace"
git brevis compress -o "$T/compressed" "$(revised 4)" 2>"$T/err"
contains 'compress within the repository: loaded' "$T/trace" 'prior loaded'
: >"$T/trace"
GIT_DIR=$T/nowhere git brevis compress --preset best -f -o "$T/compressed" "$(revised 4)" 2>"$T/err"
contains 'compress outside of one: learned' "$T/trace" 'prior calibrated'
check 'its archive is good' git brevis verify "$T/compressed"

# ---- the pointer of a dry run is that of the clean -------------------------------------------------

must rm -rf .git/lfs/brevis
cp "$(revised 5)" dry.safetensors
run git brevis pointer dry.safetensors
exits 0 'pointer'
pointer=$(cat "$T/out")
check 'pointer keeps nothing' test ! -e .git/lfs/brevis/priors
add "$T/revision-5" dry.safetensors
is 'pointer tells what clean stores' "$(stored dry.safetensors)" "$pointer"
must git commit -qm 'a dry run'

# ---- without the cache ------------------------------------------------------------------------------

must rm -rf .git/lfs/brevis
touch model.safetensors
is_clean 'the cache is gone: nothing looks modified'
must git checkout -q HEAD~4 -- model.safetensors
must rm -rf .git/lfs/brevis
touch model.safetensors
must git add model.safetensors
is 'and unchanged content has the pointer that it had' "$(stored model.safetensors)" "$second"
must git checkout -q HEAD~5 -- model.safetensors
is 'each' "$(stored model.safetensors)" "$first"
must rm -rf .git/lfs/brevis
add "$(revised 6)" model.safetensors
is 'new content: a prior is learned again' "$ORIGIN" calibrated
must git commit -qm 'without the cache'
add "$(revised 7)" model.safetensors
is 'and used again' "$ORIGIN" loaded
must git commit -qm 'with it'

# ---- damage -----------------------------------------------------------------------------------------

# damaged WHAT COMMAND...: after it, a new revision must be added all the same, with a new prior.
number=7
damaged()
{
	local what=$1
	shift
	PRIOR=$(ls -d "$PRIORS"/*)
	must "$@"
	number=$((number + 1))
	add "$(revised $number)" model.safetensors
	is "$what: a prior is learned" "$ORIGIN" 'replaced (damaged)'
	is "$what: it is told once" "$(grep -c 'is damaged' "$T/trace")" 1
	is "$what: and not to the user" "$(cat "$T/err")" ''
	must git commit -qm "$what"
	must rm -f model.safetensors
	must git checkout model.safetensors
	same_bytes "$what: every byte comes back" model.safetensors "$T/revision-$number"
	for name in "$PRIORS"/*; do
		is "$what: what is kept is sound" "$(sha256sum <"$name" | cut -d' ' -f1)" "${name##*/}"
	done
	number=$((number + 1))
	add "$(revised $number)" model.safetensors
	is "$what: the new one is used" "$ORIGIN" loaded
	must git commit -qm "$what, once more"
	# One is left for the next turn.
	name=$(cat "$FAMILIES"/*)
	find "$PRIORS" -type f ! -name "$name" -delete
}

spoil_it()
{
	flip_bit "$PRIOR"
}

cut_it()
{
	truncate -s 3 "$PRIOR"
}

link_it()
{
	mv "$PRIOR" "$T/prior" && ln -s "$T/prior" "$PRIOR"
}

damaged 'a prior with a wrong bit' spoil_it
damaged 'a prior that is cut' cut_it
damaged 'a prior that is a link' link_it
check 'what it led to is still there' test -s "$T/prior"

# Where no earlier archive tells which prior it was, the family's file does.
must rm -rf .git/lfs/brevis/known
echo nonsense >"$(ls -d "$FAMILIES"/*)"
add "$(revised 50)" alone.safetensors
is 'a family that names nothing: a prior is learned' "$ORIGIN" 'replaced (damaged)'
must rm -rf .git/lfs/brevis/known
add "$(revised 51)" lonely.safetensors
is 'and used again' "$ORIGIN" loaded
must git commit -qm 'two paths'

# ---- a place where nothing can be kept ----------------------------------------------------------------

must rm -rf .git/lfs/brevis
: >.git/lfs/brevis
add "$(revised 100)" model.safetensors
is 'no place for a prior: one is learned' "$ORIGIN" calibrated
is 'and nobody is bothered' "$(cat "$T/err")" ''
must git commit -qm 'no place'
is_clean 'nothing looks modified'
must rm .git/lfs/brevis

done_testing
