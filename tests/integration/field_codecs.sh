#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What goes wrong with compressors and checkpoints elsewhere: files of no, one or odd length; results
# that depend on threads or on the processor; the same tensors under a header in another order, which
# then share nothing.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# ---- lengths, threads, processors ------------------------------------------------------------------

must "$PYTHON" - lengths "$SEED" <<-'END'
	import json, os, random, struct, sys
	rng = random.Random(int(sys.argv[2]))
	os.mkdir(sys.argv[1])
	for size in (0, 1, 2, 3, 7, 8, 9, 17, 63, 65, 255, 1023, 65537):
	    data = bytes(rng.choice((0x3c, 0x3d, 0xbc, rng.randrange(256))) for _ in range(size))
	    header = json.dumps({"x": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
	    with open(f"{sys.argv[1]}/{size:05}.bytes", "wb") as file:
	        file.write(data)
	    with open(f"{sys.argv[1]}/{size:05}.safetensors", "wb") as file:
	        file.write(struct.pack("<Q", len(header)) + header + data)
END

# differing HOW...: names of files that, compressed and restored in that way, are not as with one thread.
differing()
{
	local file
	for file in lengths/*; do
		rm -f other restored
		if ! env "$@" git-brevis compress "$file" -o other 2>/dev/null ||
			! cmp -s other "archives/${file#*/}" ||
			! env "$@" git-brevis decompress other -o restored 2>/dev/null ||
			! cmp -s restored "$file"; then
			echo "$file"
		fi
	done
}
mkdir archives
for file in lengths/*; do
	GIT_BREVIS_THREADS=1 git-brevis compress "$file" -o "archives/${file#*/}" 2>/dev/null
done
is 'every length has an archive' "$(find archives -type f | wc -l)" "$(find lengths -type f | wc -l)"
is 'one thread restores every length' "$(differing GIT_BREVIS_THREADS=1)" ''
is '64 threads make the same archives, and restore them' "$(differing GIT_BREVIS_THREADS=64)" ''
is 'so does the simplest kernel' "$(differing GIT_BREVIS_THREADS=3 BREVIS_KERNELS=scalar)" ''

# A whole checkpoint, by everything that this processor has.
GIT_BREVIS_THREADS=1 git-brevis compress "$DEMO" -o demo.brevis 2>"$T/err"
for kernels in scalar avx2 avx512 neon; do
	BREVIS_KERNELS=$kernels git-brevis env | grep -qx "kernels: $kernels" || continue
	for threads in 1 7 64; do
		GIT_BREVIS_THREADS=$threads BREVIS_KERNELS=$kernels \
			git-brevis compress -f "$DEMO" -o other 2>"$T/err"
		same_bytes "$kernels and $threads threads make the same archive" other demo.brevis
	done
done

# ---- the same tensors under another header -----------------------------------------------------------

# Writers put their metadata, and tensors, into the order of a hash table: another one at every save.
must "$PYTHON" - "$DEMO" metadata.safetensors tensors.safetensors <<-'END'
	import json, struct, sys
	content = open(sys.argv[1], "rb").read()
	size, = struct.unpack("<Q", content[:8])
	header, data = json.loads(content[8:8 + size]), content[8 + size:]
	tensors = [(name, entry) for name, entry in header.items() if name != "__metadata__"]
	def save(path, metadata, tensors):
	    root, out = {"__metadata__": metadata}, []
	    at = 0
	    for name, entry in tensors:
	        begin, end = entry["data_offsets"]
	        root[name] = {**entry, "data_offsets": [at, at + end - begin]}
	        at += end - begin
	        out.append(data[begin:end])
	    text = json.dumps(root).encode()
	    text += b" " * (-len(text) % 8)
	    with open(path, "wb") as file:
	        file.write(struct.pack("<Q", len(text)) + text + b"".join(out))
	save(sys.argv[2], {"format": "pt", "step": "100", "loss": "2.5"}, tensors)
	save(sys.argv[3], {"loss": "2.5", "step": "100", "format": "pt"}, tensors[::-1])
END
new_repo work
cp metadata.safetensors work/model.safetensors
commit_all work 'a checkpoint'
first=$(object_of work model.safetensors)
cp tensors.safetensors work/model.safetensors
rm -f "$T/trace"
GIT_BREVIS_TRACE=$T/trace must git -C work add model.safetensors
must git -C work commit -qm 'the same tensors in another order'
reused=$(sed -n 's/.*: reused \([0-9]*\) of \([0-9]*\) records.*/\1 \2/p' "$T/trace")
at_least 'all but the header is taken from the earlier archive' "$((${reused% *} + 2))" "${reused#* }"
must rm work/model.safetensors
must git -C work checkout -q -- model.safetensors
same_bytes 'and is restored in its own order' work/model.safetensors tensors.safetensors
must git -C work checkout -q HEAD^
same_bytes 'as the first one is' work/model.safetensors metadata.safetensors
check 'each archive stands for itself' git-brevis verify "$first"

done_testing
