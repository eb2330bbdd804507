#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `git brevis verify` of revisions: what of a tree, a range, or all that a repository keeps is proven,
# and what it says of objects that are missing, damaged, or cannot be restored. Nothing is downloaded
# and nothing moved.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

must git lfs install
must git brevis install

# model FILE SEED [WORDS]: a checkpoint of its own.
model()
{
	must "$PYTHON" - "$1" "$2" "${3:-4096}" <<-'END'
		import json, random, struct, sys
		path, seed, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
		rng = random.Random(seed)
		data = struct.pack(f"<{n}f", *(rng.gauss(0, 0.02) for _ in range(n)))
		head = json.dumps({"w": {"dtype": "F32", "shape": [n], "data_offsets": [0, 4 * n]}}).encode()
		head += b" " * (-len(head) % 8)
		open(path, "wb").write(struct.pack("<Q", len(head)) + head + data)
	END
}

# says EXPRESSION: of the JSON that the last `run` printed.
says()
{
	json_says "$T/out" "$1"
}

# ---- what is proven ------------------------------------------------------------------------------

new_repo work
cd work || exit 1
run git brevis verify
exits 0 'a revision without models'
contains 'says that nothing was proven' "$T/out" '0 files proven: 0 objects, 0 bytes'

model a.safetensors 1
cp a.safetensors same.safetensors
model b.safetensors 2
mkdir plain
echo '*.bin filter=lfs diff=lfs merge=lfs -text' >plain/.gitattributes
head -c 5000 "$DEMO" >plain/c.bin
commit_all . first
model a.safetensors 3
commit_all . second
model a.safetensors 4
commit_all . third

stored=0
for path in a.safetensors b.safetensors plain/c.bin; do
	stored=$((stored + $(stat -c %s "$(object_of . "$path")")))
done
original=$(($(stat -c %s a.safetensors) + $(stat -c %s b.safetensors) + 5000))
run git brevis verify
exits 0 'the tree of HEAD'
# "same" is what "a" was in the first revision.
size=$(stat -c %s a.safetensors)
same=$(stat -c %s "$(object_of . same.safetensors)")
is 'counts files, objects and bytes' "$(cat "$T/out")" \
	"git-brevis verify: 4 files proven: 4 objects, $((stored + same)) bytes that restore $((original + size))"
run git brevis verify --json
is 'the same in JSON' "$RC $(says '[j[k] for k in ("good", "files", "objects", "archives", "stored_size", "original_size", "missing", "damaged",
	"unreadable", "unknown", "shallow", "findings")]')" \
	"0 [True, 4, 4, 3, $((stored + same)), $((original + size)), 0, 0, 0, 0, False, []]"
run git brevis verify --json HEAD~2
is 'a revision is its tree' "$RC $(says 'j["objects"]')" '0 3'
run git brevis verify --json HEAD~1..HEAD
is 'a range is what is new in it' "$RC $(says 'j["objects"]') $(says 'j["original_size"]')" "0 1 $size"
run git brevis verify --json HEAD~2..
is 'of both revisions' "$RC $(says 'j["objects"]')" '0 2'
run git brevis verify --json HEAD~2.. HEAD~2
is 'several words add up' "$RC $(says 'j["objects"]')" '0 5'
run git brevis verify --json HEAD HEAD
is 'an object is proven once' "$RC $(says 'j["objects"]') $(says 'j["files"]')" '0 4 8'

# ---- all -----------------------------------------------------------------------------------------

model a.safetensors 10
must git stash -q
model b.safetensors 11
commit_all . 'only the reflog knows it'
must git reset -q --hard HEAD~1
model a.safetensors 12
must git add a.safetensors
must git worktree add -q ../other -b other
model ../other/new.safetensors 13
must git -C ../other add new.safetensors
must git checkout -qf HEAD -- a.safetensors
run git brevis verify --json --all
# Three revisions, a stash, a reflog, the other worktree's index; what was added here and dropped
# again is named by nothing.
is '--all: stash, reflog, and the indexes of all worktrees' "$RC $(says 'j["objects"]')" '0 8'
run git -C ../other brevis verify --json --all
is 'from wherever it is asked' "$RC $(says 'j["objects"]')" '0 8'
must git clone -q --bare . ../bare.git
must cp -r .git/lfs ../bare.git/lfs
run git -C ../bare.git brevis verify --json --all
is 'a bare repository' "$RC $(says 'j["objects"]')" '0 5'

# ---- what is not good ----------------------------------------------------------------------------

listing .git/lfs/objects >"$T/before"
gone=$(object_of . a.safetensors HEAD~1)
damaged=$(object_of . b.safetensors)
must mv "$gone" "$T/gone"
must cp -a "$damaged" "$T/kept"
flip_bit "$damaged"
run git brevis verify
exits 1 'a damaged object'
contains 'is told of' "$T/out" "b.safetensors: object $(basename "$damaged" | cut -c1-12) is damaged: its SHA-256 is not its name; "
contains 'with what is good beside it' "$T/out" '3 files proven: 3 objects, '
is 'in two lines' "$(wc -l <"$T/out") $(wc -c <"$T/err")" '2 0'
run git brevis verify --json HEAD~2..
is 'a missing one, in JSON' "$RC $(says '[j["good"], j["missing"], j["damaged"], j["objects"]]')" '1 [False, 1, 0, 1]'
is 'has a name, an object, and a remedy' "$(says '[[f["name"], f["oid"], f["finding"], f["cause"], "pull" in f["remedy"]] for f in j["findings"]]')" \
	"[['a.safetensors', '$(basename "$gone")', 'missing', None, True]]"
run git brevis verify HEAD
exits 1 'nothing was mended or moved'
is 'nor downloaded' "$([ -e "$gone" ] || echo absent) $([ -e .git/lfs/bad ] || echo none)" 'absent none'
must chmod u+w "$damaged"
truncate -s -1 "$damaged"
run git brevis verify
contains 'a cut object' "$T/out" "wrong size, $(($(stat -c %s "$T/kept") - 1)) bytes instead of $(stat -c %s "$T/kept"); "
must rm -f "$damaged"
must mkdir "$damaged"
run git brevis verify
is 'what is no file' "$RC $(grep -c 'b.safetensors: object .* cannot be read: ' "$T/out")" '1 1'
must rmdir "$damaged"
must cp -a "$T/kept" "$damaged"
must cp -a "$T/gone" "$gone"
listing .git/lfs/objects | cmp -s - "$T/before"
is 'all is as it was' $? 0
run git brevis verify --all
exits 0 'and good again'

# An archive whose hash is right and whose content is not: only decoding tells.
model "$T/x.safetensors" 20
must git brevis compress "$T/x.safetensors" -o "$T/x.brevis"
"$PYTHON" - "$T/x.brevis" <<'END'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(-500, 2)
    byte = f.read(1)[0]
    f.seek(-500, 2)
    f.write(bytes([byte ^ 1]))
END
oid=$(sha256sum <"$T/x.brevis" | cut -c1-64)
object=$(object_path . "$oid")
must mkdir -p "$(dirname "$object")"
must cp "$T/x.brevis" "$object"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' "$oid" "$(stat -c %s "$object")" >"$T/pointer"
blob=$(git hash-object -w "$T/pointer")
must git update-index --add --cacheinfo "100644,$blob,$(printf 'evil\033[31m.safetensors')"
must git commit -qm 'a bad archive'
run git brevis verify
is 'an archive that does not restore' "$RC $(grep -c 'does not restore: ' "$T/out")" '1 1'
contains 'is named without control characters' "$T/out" 'evil\x1b[31m.safetensors: object '
contains 'and cannot be had again' "$T/out" 'add the original file again'
must git reset -q --hard HEAD~1

must git reflog expire --expire=all --all
must rm .git/ORIG_HEAD

# A pointer that gives an object the wrong size, beside one that has it right.
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 7\n' "$(basename "$damaged")" >"$T/pointer"
must git update-index --add --cacheinfo "100644,$(git hash-object -w "$T/pointer"),wrong.safetensors"
run git brevis verify --json --all
is 'one object, two sizes' "$RC $(says '[(f["name"], f["finding"]) for f in j["findings"]]')" "1 [('wrong.safetensors', 'mismatched')]"
must git rm -q --cached -f wrong.safetensors

# ---- words ---------------------------------------------------------------------------------------

run git brevis verify a.safetensors
contains 'a file is a file' "$T/out" 'a.safetensors: good, '
run git brevis verify HEAD a.safetensors
exits 128 'revisions and files'
one_line 'are apart' a.safetensors HEAD
run git brevis verify HEAD ^HEAD~1
exits 128 'a revision that is left out'
one_line 'says how ranges are written' 'A\.\.B'
run git brevis verify --all HEAD
exits 129 '--all and a revision'
run git brevis verify no-such..HEAD
exits 1 'a range of nothing'
one_line 'is taken for a file' 'no-such\.\.HEAD'
must git init -q ../empty
run git -C ../empty brevis verify
exits 128 'before the first commit'
one_line 'says what can be proven' 'verify --all'
run git -C ../empty brevis verify --all
exits 0 'all of nothing'
in_dir "$T" run git brevis verify
exits 128 'outside of any repository'
one_line 'there is nothing to prove'

# ---- clones that lack something ------------------------------------------------------------------

must env GIT_LFS_SKIP_SMUDGE=1 GIT_BREVIS_SKIP_SMUDGE=1 git clone -q --depth 1 "file://$PWD" ../shallow
must cp -r .git/lfs/. ../shallow/.git/lfs
run git -C ../shallow brevis verify --all
is 'a shallow clone' "$RC $(grep -c 'earlier revisions are not in this shallow clone' "$T/out")" '0 1'
must git config uploadpack.allowFilter true
must env GIT_LFS_SKIP_SMUDGE=1 git clone -q --no-checkout --filter=blob:none "file://$PWD" ../partial
must git -C ../partial config remote.origin.url /nonexistent
run git -C ../partial brevis verify --json
at_least 'a partial clone' "$(says 'j["unknown"]')" 4
is 'is not good' "$RC $(says 'j["good"]')" '1 False'

# ---- many small ones, and a large one ------------------------------------------------------------

new_repo ../many
cd ../many || exit 1
must "$PYTHON" - <<'END'
import json, random, struct
rng = random.Random(7)
for i in range(300):
    n = rng.randrange(1, 3000)
    data = rng.randbytes(n) + bytes(-n % 4)
    head = json.dumps({"w": {"dtype": "F32", "shape": [len(data) // 4], "data_offsets": [0, len(data)]}}).encode()
    open(f"m{i:03}.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + data)
data = rng.randbytes(10 << 20)
head = json.dumps({"w": {"dtype": "F32", "shape": [len(data) // 4], "data_offsets": [0, len(data)]}}).encode()
open("large.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + data)
END
commit_all . many
for threads in 1 2 5; do
	run env GIT_BREVIS_THREADS=$threads git brevis verify --json
	is "301 objects with $threads threads" "$RC $(says 'j["objects"]') $(says 'j["original_size"]')" \
		"0 301 $(cat ./*.safetensors | wc -c)"
done
for path in m007.safetensors m299.safetensors large.safetensors; do
	flip_bit "$(object_of . "$path")"
done
must rm "$(object_of . m100.safetensors)"
for threads in 1 4; do
	run env GIT_BREVIS_THREADS=$threads git brevis verify --json
	is "what is not good, in order, with $threads" "$RC $(says '[(f["name"][:4], f["finding"]) for f in j["findings"]]')" \
		"1 [('m007', 'damaged'), ('m100', 'missing'), ('m299', 'damaged'), ('larg', 'damaged')]"
done
run env GIT_PROGRESS_DELAY=0 git brevis verify --progress
contains 'progress is shown' "$T/err" proving

done_testing
