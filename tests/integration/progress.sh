#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What long work shows: one line on a terminal, nothing elsewhere, lines where that is forced.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# 24 MB, so that there is more than one line's worth to tell.
"$PYTHON" - big.safetensors "$SEED" <<-'END'
	import json, random, struct, sys
	source = random.Random(int(sys.argv[2]))
	count, size = 12, 2 << 20
	text = json.dumps({f"t{i}": {"dtype": "BF16", "shape": [1024, 1024],
	                             "data_offsets": [i * size, (i + 1) * size]} for i in range(count)})
	with open(sys.argv[1], "wb") as out:
	    out.write(struct.pack("<Q", len(text)) + text.encode())
	    for _ in range(count):
	        words = bytearray(source.randbytes(size))
	        words[1::2] = bytes(0x3c + (byte & 1) for byte in words[1::2])
	        out.write(words)
END

# on_terminal COMMAND...: as `run`, its stderr a terminal of 80 columns that shows at once; what it
# showed is $T/err.
on_terminal()
{
	RC=0
	GIT_PROGRESS_DELAY=0 "$PYTHON" "$TOP/tests/support/terminal.py" "$T/err" "$@" \
		>"$T/out" </dev/null || RC=$?
}

# shows DESCRIPTION WORD: the terminal showed a line that begins with WORD and is as lines are; each
# was written over, none was too long, and none is left.
shows()
{
	"$PYTHON" - "$T/err" "$2" <<-'END' >"$T/said" 2>&1
		import re, sys
		shown = open(sys.argv[1], encoding="utf-8", newline="").read()
		lines = re.findall(r"\r\x1b\[K([^\r\n]*)", shown)
		size = r"[0-9.]+( [KMGT]?B)?"
		form = re.compile(re.escape(sys.argv[2]) + rf"[^:]*: {size} of {size}"
		                  r"(, [0-9.]+ [KMGT]?B/s)?(, -?[0-9.]+ % (saved|more))?(, .* left)?\Z")
		assert any(form.match(line) for line in lines), lines
		assert all(len(line) < 80 for line in lines if line.startswith(sys.argv[2])), lines
		screen = ""
		for part in re.split(r"(\r\x1b\[K|\r\n)", shown):
		    screen = "" if part in ("\r\x1b[K", "\r\n") else screen + part
		assert screen == "", screen
	END
	is "$1" "$? $(tail -n 1 "$T/said")" '0 '
}

# shows_nothing DESCRIPTION: stderr of the last `run` has no line of progress.
shows_nothing()
{
	is "$1" "$(grep -cE '[0-9] [KMGT]?B(/s| of |,|$)' "$T/err")" 0
}

# ---- outside of git ----

run env GIT_PROGRESS_DELAY=0 git-brevis compress big.safetensors
exits 0 'compress, no terminal'
shows_nothing 'shows nothing'
on_terminal git-brevis compress -f big.safetensors
exits 0 'compress on a terminal'
shows 'shows a line' 'compressing big.safetensors'
contains 'and what comes of it' "$T/err" ' % saved'
on_terminal git-brevis compress -f --no-progress big.safetensors
shows_nothing 'compress --no-progress shows nothing'
on_terminal env GIT_BREVIS_PROGRESS=0 git-brevis compress -f big.safetensors
shows_nothing 'GIT_BREVIS_PROGRESS=0 neither'
run env GIT_PROGRESS_DELAY=0 git-brevis compress -f --progress big.safetensors
contains 'compress --progress shows lines anywhere' "$T/err" 'compressing big.safetensors: '
is 'and no control characters' "$(tr -d '\n\40-\176' <"$T/err" | wc -c)" 0
for forced in GIT_BREVIS_PROGRESS=1 GIT_LFS_FORCE_PROGRESS=true; do
	run env GIT_PROGRESS_DELAY=0 "$forced" git-brevis verify big.safetensors.brevis
	contains "$forced forces them" "$T/err" 'checking big.safetensors.brevis: '
done
run env GIT_PROGRESS_DELAY=0 GIT_BREVIS_PROGRESS=0 GIT_LFS_FORCE_PROGRESS=1 \
	git-brevis verify big.safetensors.brevis
shows_nothing 'our own variable goes before that of git-lfs'
on_terminal git-brevis decompress big.safetensors.brevis -o restored
exits 0 'decompress on a terminal'
shows 'shows a line' 'decompressing big.'
same_bytes 'and restores' restored big.safetensors
cp big.safetensors $'na\x1b[31mme'
on_terminal git-brevis compress -o - $'na\x1b[31mme'
shows 'a name cannot colour the terminal' 'compressing na\x1b[31mme'
is 'nor does any other line' "$(grep -c $'\x1b\[31m' "$T/err")" 0
must "$PYTHON" "$TOP/tests/support/damage.py" record big.safetensors.brevis damaged.brevis
on_terminal git-brevis verify damaged.brevis
exits 1 'verify of what is damaged, on a terminal'
check 'its error has a line of its own' grep -qE $'(^|\x1b\\[K)git-brevis: error: ' "$T/err"
long=$(printf 'directory-%03d/' 1 2 3 4 5 6 7 8)model.safetensors
mkdir -p "${long%/*}"
cp big.safetensors "$long"
on_terminal git-brevis compress -o - "$long"
shows 'a long name is shortened' 'compressing dir'
contains 'in its middle' "$T/err" '...'

# ---- through git ----

new_remote remote.git
new_repo work
must git -C work remote add origin "file://$T/remote.git"
cp big.safetensors work/
run env GIT_PROGRESS_DELAY=0 git -C work add big.safetensors
is 'git add, no terminal: silence' "$RC $(cat "$T/err")" '0 '
must git -C work rm -q --cached big.safetensors
must rm -r work/.git/lfs
on_terminal git -C work add big.safetensors
exits 0 'git add on a terminal'
shows 'shows a line' 'reading big.safetensors'
must git -C work commit -qm 'a checkpoint'
must git -C work push -q origin main
must rm work/big.safetensors
on_terminal git -C work checkout big.safetensors
exits 0 'git checkout on a terminal'
contains 'shows a line' "$T/err" 'restoring big.safetensors: '
is_clean 'and restores the file' work
cp work/big.safetensors work/second.safetensors
printf x >>work/second.safetensors
commit_all work 'two checkpoints'
must rm work/big.safetensors work/second.safetensors
in_dir work on_terminal git brevis checkout
exits 0 'git brevis checkout on a terminal'
shows 'shows a line' 'restoring'
check 'that tells which of the files it is' grep -qE ' \([12] of 2\): ' "$T/err"
must rm work/big.safetensors
in_dir work on_terminal git brevis checkout --no-progress
shows_nothing 'git brevis checkout --no-progress shows nothing'
in_dir work on_terminal git brevis fsck
exits 0 'git brevis fsck on a terminal'
shows 'shows a line' 'checking big.safetensors'
must git -C work config lfs.forceprogress true
must rm work/big.safetensors
in_dir work run env GIT_PROGRESS_DELAY=0 git brevis checkout
contains 'lfs.forceprogress forces lines' "$T/err" 'restoring big.safetensors: '
in_dir work run env GIT_PROGRESS_DELAY=0 git brevis fsck --no-progress
is 'which an option takes back' "$RC $(cat "$T/err")" '0 '

# ---- downloads ----

start_fixture_lfs lfs
use_lfs_server work "$LFS_URL"
must git -C work push -q origin main
must git -C work lfs push --all origin
use_lfs_server work "$LFS_URL"
must env GIT_BREVIS_SKIP_SMUDGE=1 git clone -q "file://$T/remote.git" clone
use_lfs_server clone "$LFS_URL"
echo "download-pause 2 4000000" >lfs/faults
in_dir clone on_terminal git brevis pull
exits 0 'git brevis pull on a terminal'
shows 'shows what it downloads' 'downloading objects'
check 'while it comes' grep -qE 'downloading objects \(0 of 2\): (4\.0|8\.0) of ' "$T/err"
is 'the server did pause' "$(cat lfs/faults)" ""
shows 'and what it restores' 'restoring'
is_clean 'and completes the clone' clone

done_testing
