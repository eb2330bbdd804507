#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An independent decoder, written from docs/FORMAT.md alone, and archives made by hand after it:
# proof that the page says what the bytes are. Both decoders restore all that the page allows and
# refuse what it forbids; the reference restores whatever the encoder makes, with each preset.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# decoders COMMAND ARGUMENT... -- DESCRIPTION PATTERN: compare_decoders.py must print nothing but
# lines that match, and all of them to the end.
SUPPORT=$TOP/tests/support
decoders()
{
	local arguments=()
	while [ "$1" != -- ]; do
		arguments+=("$1")
		shift
	done
	"$PYTHON" "$SUPPORT/compare_decoders.py" "${arguments[@]}" >"$T/said" 2>&1 || echo 'it failed' >>"$T/said"
	cut -c1-1000 "$T/said" >"$T/wrong"
	if [ "$(grep -vcE "^with |$3" "$T/wrong")" = 0 ] && tail -n 1 "$T/said" | grep -qE "$3"; then
		ok "$2: $(tail -n 1 "$T/said")"
	else
		not_ok "$2" "$T/wrong"
	fi
}

# ---- what the encoder makes -----------------------------------------------------------------------

must mkdir "$T/files" "$T/archives"
must "$TOP/scripts/edge-files" --seed "$SEED" --count 60 "$T/files"
rm "$T/files/manifest.json"
must "$PYTHON" "$SUPPORT/structured_tensors.py" "$T/files" "$SEED"
cp "$TOP"/tests/corpus/*.safetensors "$T/files/"
# Opaque bytes, stored and compressed, and a tensor of more than one record.
head -c 1000 /dev/urandom >"$T/files/random"
cp "$TOP/docs/FORMAT.md" "$T/files/text"
"$PYTHON" - "$T/files/large.safetensors" "$SEED" <<-'END'
	import json, random, struct, sys
	words = 9 << 20
	seed = random.Random(int(sys.argv[2])).randbytes(1 << 20)
	header = json.dumps({"t": {"dtype": "U16", "shape": [words], "data_offsets": [0, 2 * words]}})
	with open(sys.argv[1], "wb") as f:
	    f.write(struct.pack("<Q", len(header)) + header.encode())
	    f.write(bytes(12 << 20) + seed * 6)
END

# encode PRESET FILE...
encode()
{
	local preset=$1 file
	shift
	for file; do
		git brevis compress --preset "$preset" -o "$T/archives/$(basename "$file").$preset.brevis" "$file" \
			2>"$T/err" || not_ok "compress --preset $preset $(basename "$file")" "$T/err"
	done
}

# The large one is large for the number of its records, whatever the preset.
must mkdir "$T/once"
must mv "$T/files/large.safetensors" "$T/once/"
for preset in fast default best; do
	encode $preset "$T"/files/*
done
must mv "$T/once/large.safetensors" "$T/files/"
encode default "$T/files/large.safetensors"
count=$(find "$T/archives" -type f | wc -l)
is 'an archive for each file and preset' "$count" \
	$((3 * ($(find "$T/files" -type f | wc -l) - 1) + 1))
decoders encoded "$T/files" "$T/archives" -- 'the reference restores what the encoder makes' \
	'^[0-9]{3,} archives of the encoder$'
note "$(grep '^with' "$T/said")"
# Every operator, every coding, every number of lanes.
for part in concat const escape flip lanes.01 lanes.04 lanes.16 lanes.64 lit.0 lit.1 lit.2 lit.3 lit.4 \
	lit.5 lit.6 map merge pack repeat route scan; do
	contains "among it: $part" "$T/said" " $part"
done

# ---- what was made by hand ------------------------------------------------------------------------

must "$PYTHON" -B "$SUPPORT/handmade_archives.py" "$T/handmade"
at_least 'good archives' "$(find "$T/handmade/good" -name '*.brevis' | wc -l)" 990
at_least 'bad archives' "$(find "$T/handmade/bad" -name '*.brevis' | wc -l)" 585
decoders handmade "$T/handmade" -- 'both decoders restore the good and refuse the bad' \
	'^[0-9]+ archives made by hand$'
decoders mutants "$T/handmade/good" "$SEED" 1500 -- 'both decoders agree on programs with wrong bytes' \
	'^[1-9][0-9]* of 1500 mutants refused$'

# ---- what was damaged -----------------------------------------------------------------------------

must git brevis compress -f -o "$T/archive" "$DEMO"
"$PYTHON" - "$T/archive" "$T/damaged" "$SEED" 36 <<-'END'
	import os, random, sys
	data = open(sys.argv[1], "rb").read()
	rng = random.Random(int(sys.argv[3]))
	os.mkdir(sys.argv[2])
	for i in range(int(sys.argv[4])):
	    copy = bytearray(data)
	    if i % 3 == 0:
	        copy = copy[:rng.randrange(len(copy))]
	    else:
	        copy[rng.randrange(len(copy))] ^= 1 << rng.randrange(8)
	    open(f"{sys.argv[2]}/{i:02}", "wb").write(copy)
END
decoders judge "$T"/damaged/* "$TOP"/tests/corpus/*.brevis -- 'both decoders agree on damaged archives' \
	'^[0-9]{3} of [0-9]+ archives refused$'

done_testing
