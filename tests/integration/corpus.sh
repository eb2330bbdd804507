#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every file of the corpus of real weights, through clean, push, clone and smudge, and through
# `git brevis checkout`; the share saved on each, beside zstd -19; and, of the files that are not
# large, the promises of the presets beside xz -6. What those two make of a file is read from
# docs/SIZES.md, since they take minutes for what never changes. The corpus is built if it is not
# there: in build/corpus, unless BREVIS_CORPUS names a folder or the usual cache folder exists.

real_home=$HOME real_cache=${XDG_CACHE_HOME:-$HOME/.cache}
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# The preset "best" takes its time with larger files; scripts/sizes compares them too.
LARGEST_COMPARED=8000000
# Files of which zstd -19 and xz -6 prove the page.
LARGEST_PROVEN=1000000

corpus=${BREVIS_CORPUS:-$real_cache/git-brevis/corpus}
[ -d "$corpus" ] || corpus=$TOP/build/corpus
# npm reads the registry's address from the user's own configuration.
HOME=$real_home timeout 420 "$TOP/scripts/corpus" "$corpus" >corpus.log 2>&1
built=$?
# Without the registry, or with one that does not deliver, there is nothing to test with; any other
# failure is one of the project.
[ $built = 124 ] && echo 'the registry took too long' >>corpus.log
if [ $built = 69 ] || [ $built = 124 ]; then
	not_here 'the corpus of real weights' "$(tail -n 1 corpus.log)"
	done_testing
fi
if [ $built != 0 ]; then
	not_ok "scripts/corpus builds the corpus (exit code $built)" corpus.log
	done_testing
fi
ok 'scripts/corpus builds the corpus'

new_remote remote.git
new_repo work
must git -C work remote add origin "file://$T/remote.git"
# Links save space and time; git takes them for the files they are.
cp -l "$corpus"/*.safetensors work/ 2>/dev/null || must cp "$corpus"/*.safetensors work/
at_least 'the corpus has its files' "$(find work -name '*.safetensors' | wc -l)" 18
must cp "$DEMO" work/
head -c 5000000 /dev/urandom >"$T/random"
"$PYTHON" - "$T/random" work/random_bf16.safetensors <<-'END'
	import json, struct, sys
	data = open(sys.argv[1], "rb").read()
	header = json.dumps({"t": {"dtype": "BF16", "shape": [1000, 2500], "data_offsets": [0, len(data)]}}).encode()
	open(sys.argv[2], "wb").write(struct.pack("<Q", len(header)) + header + data)
END
must cp "$T/random" work/random.safetensors
began=$SECONDS
commit_all work 'the corpus'
note "added in $((SECONDS - began)) s"
is_clean 'clean after the commit' work
check 'push' git -C work push -q origin main

# ---- sizes with the default preset ------------------------------------------------------------------

# saves PATH SHARE: the object of a file saves at least this share, in 1/10000.
saves()
{
	local original stored
	original=$(stat -c %s "work/$1.safetensors")
	stored=$(stat -c %s "$(object_of work "$1.safetensors")")
	at_least "$1 saves its share, in 1/10000" $(((original - stored) * 10000 / original)) "$2"
}
saves demo 3460
saves isnet_bf16 3400
saves human_bf16 3460
saves isnet_f16 1540
saves human_f16 2400
saves human_f32 1790
saves ch_PP-OCRv4_rec_infer 1710
saves isnet_fp8 1720
saves isnet_quint8 3280
saves human_u8 3100
saves gaussian_bf16 3450
saves int4_symmetric 1500

for file in work/*.safetensors; do
	original=$(stat -c %s "$file")
	at_most "$(basename "$file" .safetensors) is never much larger" \
		"$(stat -c %s "$(object_of work "$(basename "$file")")")" $((original + original / 1000 + 4096))
done

# ---- beside others -----------------------------------------------------------------------------------

# by_others NAME: bytes that zstd -19 and xz -6 make of a file, as the page has them.
by_others()
{
	awk -F'|' -v name="$1.safetensors" '{ gsub(/[ ,]/, "") } $2 == name { print $7, $8 }' \
		"$TOP/docs/SIZES.md"
}

find work -name '*.safetensors' ! -name 'random*' -printf '%f\n' | sed 's/\.safetensors$//' |
	sort >"$T/compared"
at_least 'files to compare' "$(wc -l <"$T/compared")" 19
while read -r name; do
	read -r zstd xz <<<"$(by_others "$name")"
	at_most "$name: default is no larger than zstd -19" \
		"$(stat -c %s "$(object_of work "$name.safetensors")")" "${zstd:-0}"
done <"$T/compared"

find work -name '*.safetensors' -size -"${LARGEST_PROVEN}c" -printf '%f\n' | sed 's/\.safetensors$//' |
	while read -r name; do
		"$PYTHON" - "work/$name.safetensors" <<-'END'
			import lzma, sys
			import zstandard
			data = open(sys.argv[1], "rb").read()
			print(len(zstandard.compress(data, 19)), len(lzma.compress(data, preset=6)))
		END
		by_others "$name"
	done >"$T/others"
at_least 'lines of both' "$(wc -l <"$T/others")" 4
# In pairs; frames differ by some bytes between the libraries and their programs.
awk 'NR % 2 { zstd = $1; xz = $2; next }
	{ d = zstd - $1; e = xz - $2; if (d * d > 10000 || e * e > 10000) print zstd, xz, $0 }' \
	"$T/others" >"$T/wrong"
same_bytes 'docs/SIZES.md says what they make' "$T/wrong" /dev/null

# ---- presets, on the files that are not large ----------------------------------------------------------

# size_with PRESET FILE
size_with()
{
	git brevis compress -f --preset "$1" -o "$T/archive" "$2" 2>"$T/err" || echo "0 $(cat "$T/err")"
	stat -c %s "$T/archive"
}
began=$SECONDS
while read -r name; do
	file=work/$name.safetensors
	[ "$(stat -c %s "$file")" -lt "$LARGEST_COMPARED" ] || continue
	read -r zstd xz <<<"$(by_others "$name")"
	fast=$(size_with fast "$file")
	default=$(size_with default "$file")
	best=$(size_with best "$file")
	at_most "$name: default is no larger than fast" "$default" "$fast"
	at_most "$name: best is no larger than default" "$best" "$default"
	at_most "$name: best is no larger than xz -6" "$best" "${xz:-0}"
done <"$T/compared"
note "the presets took $((SECONDS - began)) s"

# ---- and back -------------------------------------------------------------------------------------------

listing work >"$T/listing"
began=$SECONDS
check 'clone' git clone -q "file://$T/remote.git" clone
note "cloned in $((SECONDS - began)) s"
listing clone >"$T/restored"
same_bytes 'smudge restores every file' "$T/restored" "$T/listing"
is_clean 'the clone is clean' clone

must rm -rf clone/*.safetensors
began=$SECONDS
in_dir clone check 'git brevis checkout' git brevis checkout
note "checked out in $((SECONDS - began)) s"
listing clone >"$T/restored"
same_bytes 'checkout restores every file' "$T/restored" "$T/listing"
is_clean 'the clone is clean again' clone

done_testing
