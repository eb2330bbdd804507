#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An independent decoder, written from docs/FORMAT.md alone, restores what the encoder makes and
# refuses what is damaged: proof that the page says what the bytes are.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

must "$TOP/scripts/edge-files" --seed "$SEED" --count 500 "$T/files"
rm "$T/files/manifest.json"
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

# reference COMMAND FOLDER...: runs the reference decoder over many archives in one process.
reference()
{
	PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - "$TOP/tests/support" "$@" <<-'END'
		import os, sys
		sys.path.insert(0, sys.argv[1])
		from reference_decoder import Archive, Refused

		def restore(path):
		    return b"".join(Archive(open(path, "rb").read()).pieces())

		def compare(originals, archives):
		    """Prints each original that its archive does not restore."""
		    for name in sorted(os.listdir(originals)):
		        try:
		            same = restore(f"{archives}/{name}") == open(f"{originals}/{name}", "rb").read()
		        except Refused as why:
		            same = False
		            print(f"{name}: refused: {why}")
		        if not same:
		            print(f"{name}: not restored")

		def judge(*archives):
		    """Prints 0 for each archive that decodes, 1 for each that is refused."""
		    for path in archives:
		        try:
		            restore(path)
		            print(f"{path} 0")
		        except Refused:
		            print(f"{path} 1")

		{"compare": compare, "judge": judge}[sys.argv[2]](*sys.argv[3:])
	END
}

mkdir "$T/archives"
: >"$T/log"
for file in "$T"/files/*; do
	must git brevis compress -o "$T/archives/$(basename "$file")" "$file"
done
count=$(find "$T/archives" -type f | wc -l)
reference compare "$T/files" "$T/archives" >"$T/said" 2>&1 || echo "it failed" >>"$T/said"
if [ ! -s "$T/said" ] && [ "$count" -gt 500 ]; then
	ok "the reference decoder restores $count files, every byte"
else
	not_ok "the reference decoder restores $count files, every byte" "$T/said"
fi

# What our own decoder refuses, the reference refuses, and the other way round.
git brevis compress -f -o "$T/archive" "$DEMO" 2>>"$T/log"
"$PYTHON" - "$T/archive" "$T/damaged" "$SEED" 60 <<-'END'
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
set -- "$T"/damaged/* "$TOP"/tests/corpus/bad-*.brevis
for file; do
	ours=0
	git brevis verify "$file" >>"$T/log" 2>&1 || ours=1
	echo "$file $ours"
done >"$T/ours"
reference judge "$@" >"$T/theirs" 2>>"$T/log"
refused=$(grep -c ' 1$' "$T/ours")
at_least 'damaged archives are refused' "$refused" 60
same_bytes 'both decoders agree on each' "$T/ours" "$T/theirs"

done_testing
