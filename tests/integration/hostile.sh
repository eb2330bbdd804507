#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What strangers can put into a repository or a store so that it costs us dearly: archives that
# promise, or would cost, far more than they are. Each is refused, or handled if it is valid, within
# a second of processor time and 64 MiB, whichever command meets it.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

export GIT_BREVIS_THREADS=1
CPU=1000            # milliseconds
MEMORY=$((64 << 10)) # KiB
if is_sanitized; then
	CPU=$((20 * CPU))
	MEMORY=$((10 * MEMORY))
	export ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=16
fi
SPENT=$TOP/tests/support/spent.py

must git lfs install
must git brevis install
must "$TOP/tests/support/bombs.py" bombs

# costs DESCRIPTION CEILING CODES COMMAND...: it ends with one of the codes, within the bounds, and
# its message, if any, is one line. Complaints go to the file "over".
costs()
{
	local what=$1 ceiling=$2 codes=$3 cpu memory
	shift 3
	RC=0
	"$SPENT" "$T/spent" "$@" >"$T/out" 2>"$T/err" || RC=$?
	read -r cpu memory <"$T/spent"
	[[ " $codes " == *" $RC "* ]] || echo "$what: exit code $RC, wanted $codes: $(head -c 300 "$T/err")"
	[ "$cpu" -le "$CPU" ] || echo "$what: $cpu ms of processor time"
	[ "$memory" -le "$ceiling" ] || echo "$what: $memory KiB"
	[ "$(own_lines | wc -l)" -le 1 ] || echo "$what: several lines"
} >>"$T/over"

# summary DESCRIPTION: the complaints since the last one.
summary()
{
	if [ -s "$T/over" ]; then not_ok "$1" "$T/over"; else ok "$1"; fi
	: >"$T/over"
}
: >"$T/over"

# ---- archives as files ---------------------------------------------------------------------------

for file in bombs/refused/*.brevis; do
	name=$(basename "$file" .brevis)
	costs "verify $name" "$MEMORY" 1 git-brevis verify "$file"
	costs "decompress $name" "$MEMORY" 128 git-brevis decompress "$file" -o restored
	[ ! -e restored ] || echo "decompress $name: left a file" >>"$T/over"
	costs "inspect --json $name" "$MEMORY" '0 128' git-brevis inspect --json "$file"
	costs "diff $name" "$MEMORY" '1 128' git-brevis diff "$file" "$DEMO"
	summary "refused: $name"
done

# What is restored is mapped, and counted as memory; so only as much is added as the file has.
for file in bombs/valid/*.brevis; do
	name=$(basename "$file" .brevis)
	size=$(($(stat -c %s "${file%.brevis}") / 1024))
	costs "verify $name" "$MEMORY" 0 git-brevis verify "$file"
	costs "decompress $name" "$((MEMORY + size))" 0 git-brevis decompress "$file" -f -o restored
	cmp restored "${file%.brevis}" >>"$T/over" 2>&1
	for verb in inspect 'inspect --json' textconv; do
		# shellcheck disable=SC2086 # words
		costs "$verb $name" "$MEMORY" '0 128' git-brevis $verb "$file"
	done
	costs "textconv $name as it is" "$MEMORY" '0 128' git-brevis textconv "${file%.brevis}"
	costs "diff $name" "$MEMORY" '0 1 128' git-brevis diff "$file" "$DEMO"
	summary "valid: $name"
done
# Headers of files as they are: two that differ by a blank are compared, and three merged. Who merges
# those that are looked into makes an archive, as who cleans them.
must git init -q merging
must git -C merging brevis track '*.safetensors'
for file in bombs/plain/*.0; do
	name=$(basename "$file" .0)
	costs "textconv $name" "$MEMORY" 0 git-brevis textconv "$file"
	costs "diff $name" "$MEMORY" 1 git-brevis diff "${file%0}1" "${file%0}2"
	must cp "${file%0}1" merging/ours
	cd merging || exit 1
	times=1
	case $name in spaces | value | names | tensors | entries-looked-into) times=3 ;; esac
	CPU=$((times * CPU)) costs "merge-driver $name" "$((times * MEMORY))" '0 1' git-brevis merge-driver --tensors "../$file" ours "../${file%0}2" 7 x.safetensors
	[ "$RC" -eq 0 ] || cmp ours "../${file%0}1" >>"$T/over" 2>&1
	cd "$T" || exit 1
	rm "${file%0}"*
	summary "as it is: $name"
done

# ---- the same as objects -------------------------------------------------------------------------

# Pointers that a repository names, and objects that its store has, under their right names.
must git init -q work
cd work || exit 1
must git brevis track '*.brevis-bomb'
for file in ../bombs/*/*.brevis; do
	name=$(basename "$file" .brevis)
	oid=$(sha256sum <"$file" | cut -c1-64)
	object=$(object_path . "$oid")
	must mkdir -p "$(dirname "$object")"
	must cp "$file" "$object"
	printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' "$oid" "$(stat -c %s "$file")" >"$name.brevis-bomb"
done
must git -c filter.brevis.process= -c filter.brevis.clean=cat -c filter.brevis.required=false add -A
must git commit -qm bombs
for file in ../bombs/refused/*.brevis; do
	name=$(basename "$file" .brevis).brevis-bomb
	git cat-file blob ":$name" >"$T/pointer"
	# shellcheck disable=SC2094 # the argument is only a name
	costs "smudge $name" "$MEMORY" 128 git-brevis smudge "$name" <"$T/pointer"
	costs "checkout $name" "$MEMORY" 1 git-brevis checkout "$name"
	cmp "$name" "$T/pointer" >>"$T/over" 2>&1
	summary "refused as an object: $name"
done
costs 'status' "$MEMORY" 0 git-brevis status
costs 'ls-files' "$MEMORY" 0 git-brevis ls-files -l -s
costs 'stats' "$MEMORY" 0 git-brevis stats
summary 'what lists them only'
run git brevis verify --json
is 'verify of the revision finds each' "$RC $(json_says "$T/out" 'j["damaged"] + j["unreadable"]') $(json_says "$T/out" 'j["objects"]')" \
	"1 $(find ../bombs/refused -type f | wc -l) $(find ../bombs/valid -name '*.brevis' | wc -l)"
is 'no temporary file is left' "$(find .git/lfs/tmp -type f 2>/dev/null)" ''

# ---- the same from a store -----------------------------------------------------------------------

# An archive that restores another object is one under the name of what it promises.
cd "$T" || exit 1
must git init -q fetching
cd fetching || exit 1
must git brevis store init "file://$T/store"
for file in ../bombs/refused/*.brevis; do
	oid=$(tail -c 48 "$file" | head -c 32 | od -An -vtx1 | tr -d ' \n')
	size=$(tail -c 56 "$file" | head -c 8 | od -An -vtu8 | tr -d ' \n')
	[ "$size" -lt $((1 << 53)) ] || size=$((1 << 53))
	must mkdir -p "$T/store/objects/${oid:0:2}/${oid:2:2}"
	must cp "$file" "$T/store/objects/${oid:0:2}/${oid:2:2}/$oid"
	costs "download $(basename "$file")" "$MEMORY" 2 "$TOP/tests/support/agent_client.py" download "$oid:$size"
	grep -q '"error": {' "$T/out" || echo "download $(basename "$file"): no error" >>"$T/over"
	is "downloaded, and refused: $(basename "$file" .brevis)" "$(find .git/lfs -type f -size +0 ! -name '*.log' 2>/dev/null)" ''
	summary 'within its bounds'
done

done_testing
