#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What git and git-brevis show of a change, tensor by tensor: `git brevis diff`, the diff driver,
# the textconv. Nothing of that downloads anything, and it hides no pointer from git-lfs.
# shellcheck disable=SC2016 # what is in single quotes is meant as it is
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# model FILE WORD...: see support/small_model.py
model()
{
	must "$PYTHON" "$TOP/tests/support/small_model.py" "$@"
}

# says DESCRIPTION TEXT: stdout of the last `run` is exactly that.
says()
{
	is "$1" "$(cat "$T/out")" "$2"
}

# ---- two files, no repository --------------------------------------------------------------------

mkdir plain && cd plain || exit 1
model a.safetensors @format=pt @epoch=1 gone:F32:1,2 'same:F32:1,2,3' kind:F32:1,2 'half:F16:1,2,-0.5,0' ids:I64:1,2,3
model b.safetensors @format=np @step=7 'same:F32:1,2,3' kind:I32:1,2 'half:F16:1.5,2,nan,-0' ids:I64:1,-4,9 new:U8:1
text='diff --brevis a.safetensors b.safetensors
  - metadata "epoch": "1"
  ~ metadata "format": "pt" -> "np"
  + metadata "step": "7"
  - gone  F32 [2]
  ~ half  F16 [4]: 3 of 4 elements changed, largest difference 0.5, mean 0.25, NaN 0 -> 1
  ~ ids  I64 [3]: 2 of 3 elements changed, largest difference 6, mean 6
  ! kind  F32 [2] -> I32 [2]
  + new  U8 [1]
  tensors: 2 changed, 1 added, 1 removed, 1 of another type or shape, 1 the same'
run git brevis diff a.safetensors b.safetensors
exits 1 'files that differ: exit code 1'
says 'what differs is told tensor by tensor' "$text"
must git brevis compress a.safetensors -o a.brevis
must git brevis compress b.safetensors -o b.brevis
run git brevis diff a.brevis b.brevis
says 'the same of archives' "${text/a.safetensors b.safetensors/a.brevis b.brevis}"
run git brevis diff a.brevis b.safetensors
says 'the same of an archive and a file' "${text/a.safetensors/a.brevis}"
run git brevis diff a.safetensors a.brevis
exits 0 'a file and its archive: exit code 0'
says 'and nothing to say' ''
run git brevis diff a.safetensors nothing
exits 128 'a file that is not there: exit code 128'
one_line 'and one line about it' nothing
run git brevis diff a.safetensors
exits 128 'one file without a repository is refused'

model order.safetensors @epoch=1 @format=pt 'same:F32:1,2,3' gone:F32:1,2 kind:F32:1,2 'half:F16:1,2,-0.5,0' ids:I64:1,2,3
run git brevis diff a.safetensors order.safetensors
exits 1 'another order is a difference'
says 'which is told' 'diff --brevis a.safetensors order.safetensors
  ~ header: the metadata is in another order
  ~ header: the tensors are listed in another order
  ~ the tensors'\'' data is in another order
  tensors: 5 the same'
must "$PYTHON" - <<-'END'
	import struct
	data = open("a.safetensors", "rb").read()
	size = struct.unpack("<Q", data[:8])[0]
	text = data[8 : 8 + size]
	open("spaces.safetensors", "wb").write(struct.pack("<Q", size + 8) + text + b" " * 8 + data[8 + size :])
	open("longer.safetensors", "wb").write(data + b"rest")
	open("shorter.safetensors", "wb").write(data[:-5])
	open("shortest.safetensors", "wb").write(data[:-18])
END
run git brevis diff a.safetensors spaces.safetensors
exits 1 'other text of the header is a difference'
contains 'which is told' "$T/out" 'header: its text differs, its meaning does not'
run git brevis diff a.safetensors longer.safetensors
contains 'bytes behind the last tensor are' "$T/out" 'bytes behind the last tensor differ'
run git brevis diff a.safetensors shorter.safetensors
contains 'a tensor that is cut off is' "$T/out" '~ ids  I64 [3]: 0 of 2 elements changed, cut short'
run git brevis diff shorter.safetensors shortest.safetensors
contains 'where both are cut, too' "$T/out" '~ ids  I64 [3]: 0 of 0 elements changed, cut short'

printf 'one content' >opaque.1
printf 'other' >opaque.2
run git brevis diff opaque.1 opaque.2
exits 1 'opaque content differs'
says 'by size and digest' "diff --brevis opaque.1 opaque.2
  - opaque bytes, 11 bytes, SHA-256 $(sha256sum <opaque.1 | cut -c1-64)
  + opaque bytes, 5 bytes, SHA-256 $(sha256sum <opaque.2 | cut -c1-64)"
run git brevis diff opaque.1 a.safetensors
contains 'opaque content that became a model' "$T/out" '+ safetensors, '

model huge.1 a:F64:0,0
model huge.2 a:F64:1.7e308,1.7e308
run git brevis diff --json huge.1 huge.2
check 'a mean that is no finite number is null in JSON' "$PYTHON" -c 'import json, sys
difference = json.load(open(sys.argv[1]), parse_constant=float)[0]["tensors"][0]["difference"]
assert difference["largest"] == 1.7e308 and difference["mean"] is None' "$T/out"

model names.1 $'@k\e[1m=v\n' $'t\e[2J\n:F32:1'
model names.2 $'@k\e[1m=w' $'t\e[2J\n:F32:2'
run git brevis diff names.1 names.2
is 'names do not rule the terminal' "$(grep -c $'\e' "$T/out")" 0
contains 'they are escaped' "$T/out" '~ t\x1b[2J\x0a  F32 [1]: 1 of 1'

# ---- JSON ----------------------------------------------------------------------------------------

run git brevis diff --json a.safetensors b.brevis
exits 1 '--json has the same exit code'
check '--json says the same' "$PYTHON" - "$T/out" <<-'END'
	import json, sys
	(file,) = json.load(open(sys.argv[1]))
	assert list(file) == ["before", "after", "metadata", "header", "tensors", "summary", "status"], file
	assert file["status"] == "modified" and file["before"]["name"] == "a.safetensors"
	assert file["after"]["layout"] == "safetensors" and len(file["after"]["sha256"]) == 64
	assert file["metadata"] == [
	    {"key": "epoch", "before": "1", "after": None},
	    {"key": "format", "before": "pt", "after": "np"},
	    {"key": "step", "before": None, "after": "7"},
	]
	assert file["header"] == dict.fromkeys(["metadata_order", "tensor_order", "data_order", "text", "rest"], False)
	assert file["summary"] == {"changed": 2, "added": 1, "removed": 1, "retyped": 1, "same": 1}
	tensors = {t["name"]: t for t in file["tensors"]}
	assert tensors["kind"]["change"] == "retyped"
	assert tensors["kind"]["after"] == {"dtype": "I32", "shape": [2], "size": 8}
	assert tensors["new"]["before"] is None and tensors["gone"]["after"] is None
	assert tensors["new"]["difference"] is None
	assert tensors["half"]["difference"] == {
	    "elements": 4, "changed": 3, "without_difference": 1, "largest": 0.5, "mean": 0.25,
	    "nan": [0, 1], "infinite": [0, 0], "cut": False,
	}
	assert tensors["ids"]["difference"]["largest"] == 6
END
run git brevis diff --json a.safetensors a.brevis
exits 0 '--json of the same content'
check 'says so' "$PYTHON" -c 'import json, sys
(file,) = json.load(open(sys.argv[1]))
assert file["status"] == "same" and file["tensors"] == [] and file["summary"]["same"] == 5' "$T/out"

# ---- a repository --------------------------------------------------------------------------------

cd "$T" || exit 1
new_repo work
cd work || exit 1
mkdir sub
model sub/m.safetensors @v=1 a:F32:1,2,3 b:F32:1
commit_all . one
model sub/m.safetensors @v=2 a:F32:1,2,5 b:F32:1
change='  ~ metadata "v": "1" -> "2"
  ~ a  F32 [3]: 1 of 3 elements changed, largest difference 2, mean 2
  tensors: 1 changed, 1 the same'
head='diff --brevis a/sub/m.safetensors b/sub/m.safetensors'

# in_every_way WHAT ARGUMENT...: git and git-brevis say the same.
in_every_way()
{
	local what=$1
	shift
	run git diff "$@"
	says "git diff: $what" "$head
$change"
	run git brevis diff "$@"
	exits 1 "git brevis diff: $what: exit code 1"
	says "git brevis diff: $what" "$head
$change"
}

in_every_way 'the work tree'
in_every_way 'a path' -- sub/m.safetensors
in_every_way 'a revision and the work tree' HEAD
run git brevis diff HEAD:sub/m.safetensors sub/m.safetensors
contains 'a revision of a file and a file' "$T/out" "${change%%$'\n'*}"
cd sub || exit 1
in_every_way 'from a subdirectory' -- m.safetensors
run git brevis diff HEAD:./m.safetensors m.safetensors
contains 'a path from a subdirectory' "$T/out" "${change%%$'\n'*}"
cd ..
must git add -A
run git brevis diff
exits 0 'what is staged is no difference to the work tree'
in_every_way 'what is staged' --cached
touch sub/m.safetensors
run git brevis diff
exits 0 'a file that was touched is the same'
says 'and nothing is said of it' ''
commit_all . two
in_every_way 'two revisions' HEAD~ HEAD
in_every_way 'a range' HEAD~..HEAD
run git brevis diff HEAD~:sub/m.safetensors HEAD:sub/m.safetensors
contains 'two revisions of a file' "$T/out" "${change%%$'\n'*}"
run git brevis diff HEAD~ HEAD -- nothing
exits 0 'another path has not changed'
run git brevis diff nowhere
exits 128 'a revision that is not there'
one_line 'is told in one line' nowhere

# ---- textconv ------------------------------------------------------------------------------------

run git log -p -1 --format=%s
contains 'git log -p shows the old line' "$T/out" '-a  F32 [3]  xxh3:'
contains 'and the new one' "$T/out" '+a  F32 [3]  xxh3:'
contains 'and the metadata' "$T/out" '+metadata "v": "2"'
is 'what is the same is the same' "$(grep -c '^ b  F32 \[1\]  xxh3:' "$T/out")" 1
run git show --format=%s
contains 'git show does' "$T/out" '+a  F32 [3]  xxh3:'
run git blame --root sub/m.safetensors
exits 0 'git blame does not fail'
contains 'and goes by lines' "$T/out" 'a  F32 [3]  xxh3:'
run git diff --no-ext-diff HEAD~
contains 'git diff --no-ext-diff does' "$T/out" '-a  F32 [3]  xxh3:'
run git cat-file --textconv HEAD:sub/m.safetensors
cp "$T/out" "$T/text"
run git brevis textconv sub/m.safetensors
same_bytes 'the same text of a file' "$T/out" "$T/text"
must git brevis compress sub/m.safetensors -o "$T/archive"
run git brevis textconv "$T/archive"
same_bytes 'and of an archive' "$T/out" "$T/text"
git brevis pointer sub/m.safetensors >"$T/pointer"
run git brevis textconv "$T/pointer"
same_bytes 'and of a pointer' "$T/out" "$T/text"

# ---- who only shows is not given content ----------------------------------------------------------

export GIT_BREVIS_TRACE=$T/trace
: >"$T/trace"
for command in 'diff HEAD~ HEAD' 'log -p' 'show' 'blame sub/m.safetensors' 'log -p -G F32' \
	'grep --textconv F32 HEAD' 'diff-tree -p HEAD' 'cat-file --textconv HEAD:sub/m.safetensors' \
	'-C sub --no-pager -c a.b=c diff HEAD~'; do
	# shellcheck disable=SC2086 # words
	run git $command
	exits 0 "git $command"
done
for command in 'diff HEAD~ HEAD' 'blame sub/m.safetensors'; do
	# shellcheck disable=SC2086 # words
	run one_by_one git $command
	exits 0 "git $command, filters one by one"
	contains 'shows tensors' "$T/out" 'a  F32 [3]'
done
is 'nothing was restored for them' "$(grep -c 'archive .* -> ' "$T/trace")" 0
at_least 'pointers were passed on' "$(grep -c 'smudge .*: pointer' "$T/trace")" 10
: >"$T/trace"
run git cat-file --filters HEAD:sub/m.safetensors
same_bytes 'who wants content is given it' "$T/out" sub/m.safetensors
is 'git archive, too' "$(git archive HEAD sub/m.safetensors | tar xO | sha256sum)" \
	"$(sha256sum <sub/m.safetensors)"
run git -c difftool.t.cmd='cat "$LOCAL"' difftool -y -t t HEAD~ HEAD
says 'before a difftool for single files the driver goes' "$head
$change"
run git -c difftool.t.cmd='cat "$LOCAL"/sub/* "$REMOTE"/sub/* | wc -c' difftool -d -t t HEAD~ HEAD
is 'git difftool -d compares content' "$(cat "$T/out")" $(($(stat -c %s sub/m.safetensors) * 2))
unset GIT_BREVIS_TRACE

# ---- other changes -------------------------------------------------------------------------------

must git mv sub/m.safetensors moved.safetensors
run git diff --cached -M
contains 'a file that has moved' "$T/out" 'rename to moved.safetensors'
is 'and nothing else' "$(grep -c '^  ' "$T/out")" 0
run git brevis diff --cached -M
exits 129 'an option that is not known'
run git brevis diff --cached
contains 'git brevis diff knows, too' "$T/out" 'rename from sub/m.safetensors'
must git mv moved.safetensors sub/m.safetensors
chmod +x sub/m.safetensors
run git diff
says 'a mode that has changed' "$head
old mode 100644
new mode 100755"
run git brevis diff
exits 1 'is a difference'
chmod -x sub/m.safetensors
rm sub/m.safetensors
run git diff
contains 'a file that is gone' "$T/out" 'deleted file mode 100644'
contains 'and what it was' "$T/out" '  - a  F32 [3]'
must git checkout -q sub/m.safetensors
must model new.safetensors x:F32:1
must git add new.safetensors
run git diff --cached
contains 'a new file' "$T/out" 'new file mode 100644'
contains 'and what it is' "$T/out" '  + x  F32 [1]'
run git brevis diff --cached --json
check 'in JSON, too' "$PYTHON" -c 'import json, sys
(file,) = json.load(open(sys.argv[1]))
assert file["status"] == "added" and file["before"] is None and file["summary"]["added"] == 1' "$T/out"
must git rm -qf new.safetensors

# A pointer that becomes a link, and raw content behind a pointer's back.
must mv sub/m.safetensors sub/other
ln -s other sub/m.safetensors
run git diff
exits 0 'a file that became a link'
run git brevis diff
exits 1 'git brevis diff shows it as one that is gone'
must mv -f sub/other sub/m.safetensors
model raw.safetensors a:F32:1
must git -c filter.brevis.clean=cat -c filter.brevis.process= -c filter.brevis.required=false add raw.safetensors
must git commit -qm raw
must git add --renormalize raw.safetensors
run git diff --cached
says 'raw content and its pointer are the same' ''
run git brevis diff --cached
exits 0 'for git brevis diff, too'
run git diff --cached --no-ext-diff
is 'and for the textconv' "$(grep -c '^[-+][a-z]' "$T/out")" 0
must git commit -qm pointer
model raw.safetensors a:F32:2
must git -c filter.brevis.clean=cat -c filter.brevis.process= -c filter.brevis.required=false commit -qam 'raw again'
run git diff HEAD~ HEAD
contains 'raw content in a commit is compared' "$T/out" '1 of 1 elements changed, largest difference 1'
run git brevis diff HEAD~ HEAD
contains 'by git brevis diff, too' "$T/out" '1 of 1 elements changed, largest difference 1'
must git rm -qf raw.safetensors
must git commit -qm 'raw no more'

printf 'no model' >text.safetensors
commit_all . opaque
printf 'none either' >text.safetensors
run git diff text.safetensors
contains 'opaque content' "$T/out" '+ opaque bytes, 11 bytes, SHA-256'
echo '*.txt diff=brevis' >>.gitattributes
echo words >words.txt
commit_all . words
echo other >words.txt
run git diff words.txt
contains 'a text with diff=brevis' "$T/out" '- opaque bytes, 6 bytes'
run git brevis diff
is 'git brevis diff shows models only' "$(grep -c words "$T/out")" 0

odd=$'a "b" [c] \\d\n\xc3\xa9 %.safetensors'
model "$odd" a:F32:1
commit_all . odd
model "$odd" a:F32:3
for command in diff 'brevis diff'; do
	# shellcheck disable=SC2086 # words
	run git $command -- ":(literal)$odd"
	contains "git $command: an odd name" "$T/out" 'largest difference 2'
	is "git $command: its text has no odd line" "$(grep -c '^é' "$T/out")" 0
done
run git brevis diff --json -- ":(literal)$odd"
check 'JSON has the name' "$PYTHON" -c 'import json, sys
(file,) = json.load(open(sys.argv[1]))
assert file["after"]["name"] == "b/" + sys.argv[2], file' "$T/out" "$odd"
commit_all . 'odd, two'

# ---- a merge -------------------------------------------------------------------------------------

must git checkout -qb side HEAD~
model "$odd" a:F32:4
commit_all . side
run git merge -q main
run git diff
exits 0 'git diff of an unmerged path'
run git diff --cached
contains 'git diff --cached of an unmerged path' "$T/out" '* Unmerged path'
run git brevis diff
exits 1 'git brevis diff: exit code 1'
contains 'of an unmerged path' "$T/out" '* Unmerged path a "b" [c] \d\x0aé %.safetensors'
run git brevis diff --json
exits 1 'the same with --json'
check 'which says unmerged' "$PYTHON" -c 'import json, sys
assert json.load(open(sys.argv[1]))[0]["status"] == "unmerged"' "$T/out"
must git checkout -q --ours -- ":(literal)$odd"
must git add -A
must git commit -qm merge
for command in 'show --cc' 'log -p -m' 'log -p -c'; do
	# shellcheck disable=SC2086 # words
	run git $command
	exits 0 "git $command of a merge"
done
must git checkout -q main

# ---- what people do with patches -----------------------------------------------------------------

model sub/m.safetensors @v=3 a:F32:1,2,5 b:F32:9
cp sub/m.safetensors "$T/three"
must git stash
run git stash show -p
exits 0 'git stash show -p'
contains 'shows tensors' "$T/out" '9'
must git stash pop
same_bytes 'git stash pop restores every byte' sub/m.safetensors "$T/three"
printf 'y\n' >"$T/yes"
check 'git add -p' sh -c "git add -p -- sub/m.safetensors <'$T/yes'"
run git diff --cached --stat
contains 'stages the pointer' "$T/out" sub/m.safetensors
is 'which is that of the file' "$(git cat-file blob :sub/m.safetensors)" "$(git brevis pointer sub/m.safetensors)"
must git reset -q
check 'git checkout -p' sh -c "git checkout -p -- sub/m.safetensors <'$T/yes'"
is 'brings the content back' "$(git brevis pointer sub/m.safetensors)" "$(git cat-file blob HEAD:sub/m.safetensors)"
is_clean 'and nothing is modified'

must git format-patch -q -o "$T/patches" -1 "$(git log --format=%h --grep='^two$')"
contains 'git format-patch has the pointer' "$(echo "$T"/patches/*)" '+oid sha256:'
must git checkout -q "$(git log --format=%h --grep='^two$')~"
check 'git am applies it' git am -q "$T"/patches/*
is 'and restores the file' "$(git brevis pointer sub/m.safetensors)" "$(git cat-file blob HEAD:sub/m.safetensors)"
must git checkout -q main

# ---- objects that are not here -------------------------------------------------------------------

new_remote "$T/remote"
must git remote add origin "file://$T/remote"
must git push -q origin main
must env GIT_LFS_SKIP_SMUDGE=1 git clone -q "file://$T/remote" "$T/clone"
cd "$T/clone" || exit 1
# Whoever asks the remote for an object leaves a mark.
cat >"$T/agent" <<-END
	#!/bin/sh
	echo asked >>"$T/asked"
	exit 1
END
chmod +x "$T/agent"
must git config lfs.standalonetransferagent mark
must git config lfs.customtransfer.mark.path "$T/agent"
two=$(git log --format=%h --grep='^two$')
for command in "diff $two~ $two" 'log -p' "show $two" 'blame sub/m.safetensors' "diff $two~ -- sub" \
	'grep --textconv sha256 HEAD' "diff --no-ext-diff $two~ $two" "log -p -G sha256"; do
	# shellcheck disable=SC2086 # words
	run git $command
	exits 0 "without objects: git $command"
done
run git diff "$two~" "$two"
contains 'what is missing is told' "$T/out" 'a/sub/m.safetensors: its object '
contains 'and how it comes' "$T/out" 'is not here; `git brevis pull`'
run git log -p -1 "$two"
contains 'git log -p shows the pointer' "$T/out" '+oid sha256:'
run git brevis diff "$two~" "$two"
exits 128 'git brevis diff cannot compare: exit code 128'
contains 'and says why' "$T/err" 'is not here; `git brevis pull`'
run git brevis diff --json "$two~" "$two"
check 'in JSON it is unknown' "$PYTHON" -c 'import json, sys
(file,) = json.load(open(sys.argv[1]))
assert file["status"] == "unknown" and file["after"]["layout"] is None
assert len(file["after"]["oid"]) == 64' "$T/out"
run git brevis diff HEAD:sub/m.safetensors sub/m.safetensors
exits 0 'the same pointer is the same content'
run git -c difftool.t.cmd='cat "$LOCAL"/sub/*' difftool -d -t t "$two~" "$two"
contains 'git difftool is given the pointer' "$T/out" 'oid sha256:'
check 'nobody was asked for an object' test ! -e "$T/asked"
is 'none came' "$(find .git/lfs/objects -type f 2>/dev/null | wc -l)" 0
must git config --unset lfs.standalonetransferagent
must git brevis pull
run git diff "$two~" "$two"
contains 'one of two objects is here' "$T/out" 'a/sub/m.safetensors: its object '
is_clean 'a clone is clean'
cd "$T/work" || exit 1

# A damaged object spoils its own file only.
must git checkout -q "$two"
object=$(object_of . sub/m.safetensors "$two")
cp "$object" "$T/object"
truncate -s -1 "$object"
run git diff "$two~" "$two"
exits 0 'a damaged object does not end git diff'
contains 'it is told' "$T/err" 'is damaged: wrong size'
contains 'and that there is nothing to see' "$T/out" 'b/sub/m.safetensors cannot be compared'
run git brevis diff "$two~" "$two"
exits 128 'git brevis diff: exit code 128'
cp "$T/object" "$object"
flip_bit "$object"
run git brevis diff "$two~" "$two"
exits 128 'a damaged record: exit code 128'
cp "$T/object" "$object"
must git checkout -q main

# ---- git lfs prune sees what was not pushed --------------------------------------------------------

model sub/m.safetensors @v=4 a:F32:4,4,4 b:F32:4
commit_all . 'not pushed'
unpushed=$(object_of . sub/m.safetensors)
model sub/m.safetensors @v=5 a:F32:5,5,5 b:F32:5
commit_all . 'not pushed either'
run git lfs prune --verbose
exits 0 'git lfs prune'
check 'an object that was not pushed stays' test -s "$unpushed"
check 'one that was pushed goes' test ! -e "$(object_of . sub/m.safetensors "$two")"
run git log main --not --remotes -G 'oid sha256:' -p -U12 --format=%s
is 'so it would be without --no-textconv' "$(grep -c '^+oid sha256:' "$T/out")" 2

# ---- a bare repository, a work tree -----------------------------------------------------------------

must git push -q origin main
must git clone -q --bare . "$T/bare.git"
cp -r .git/lfs "$T/bare.git/lfs"
# There git 2.39 knows no attributes but those.
echo '*.safetensors filter=brevis diff=brevis' >"$T/bare.git/info/attributes"
run git -C "$T/bare.git" diff HEAD~ HEAD
contains 'a bare repository: git diff' "$T/out" '~ a  F32 [3]: 3 of 3 elements changed, largest difference 1, mean 1'
run git -C "$T/bare.git" brevis diff HEAD~ HEAD
contains 'git brevis diff' "$T/out" '~ a  F32 [3]: 3 of 3 elements changed, largest difference 1, mean 1'
run git -C "$T/bare.git" log -p -1
contains 'git log -p' "$T/out" '+a  F32 [3]  xxh3:'
must git worktree add -q "$T/tree"
cd "$T/tree" || exit 1
model sub/m.safetensors @v=5 a:F32:5,5,7 b:F32:5
run git diff
contains 'in a work tree: git diff' "$T/out" '~ a  F32 [3]: 1 of 3 elements changed, largest difference 2'
run git brevis diff
contains 'and git brevis diff' "$T/out" '~ a  F32 [3]: 1 of 3 elements changed, largest difference 2'

# ---- larger ones ---------------------------------------------------------------------------------

cd "$T/work" || exit 1
cp "$DEMO" demo.safetensors
commit_all . demo
cp "$TOP/tests/corpus/demo-revision.safetensors" demo.safetensors
run git brevis diff demo.safetensors
exits 1 'a revision of a checkpoint'
cp "$T/out" "$T/text"
must git add demo.safetensors
run git brevis diff --cached demo.safetensors
same_bytes 'two archives show what a file shows' "$T/out" "$T/text"
check 'with the numbers that Python finds' "$PYTHON" - "$DEMO" demo.safetensors "$T/text" <<-'END'
	import pathlib, re, struct, sys
	sys.path.insert(0, str(pathlib.Path.cwd()))
	def read(path):
	    import json
	    data = open(path, "rb").read()
	    size = struct.unpack("<Q", data[:8])[0]
	    header = json.loads(data[8 : 8 + size])
	    header.pop("__metadata__", None)
	    return {n: (t["dtype"], data[8 + size + t["data_offsets"][0] : 8 + size + t["data_offsets"][1]])
	            for n, t in header.items()}
	def values(data):
	    words = struct.unpack(f"<{len(data) // 2}H", data)
	    return struct.unpack(f"<{len(words)}f", struct.pack(f"<{len(words)}I", *(w << 16 for w in words)))
	before, after = read(sys.argv[1]), read(sys.argv[2])
	lines = dict(re.findall(r"^  ~ (\S+)  BF16 \[[^]]*\]: (.*)$", open(sys.argv[3]).read(), re.M))
	changed = {n for n in before if n in after and before[n][1] != after[n][1]}
	assert changed == set(lines) and changed, (changed, lines)
	for name in changed:
	    a, b = values(before[name][1]), values(after[name][1])
	    d = [abs(x - y) for x, y in zip(a, b) if x != y]
	    numbers = re.match(r"(\d+) of (\d+) elements changed, largest difference (\S+), mean (\S+)", lines[name])
	    assert int(numbers[1]) == len(d) and int(numbers[2]) == len(a), (name, lines[name], len(d))
	    assert numbers[3] == f"{max(d):g}", (name, lines[name], max(d))
	    assert abs(float(numbers[4]) - sum(d) / len(d)) < 1e-5 * max(d), (name, lines[name])
END

# ---- a name like an option ------------------------------------------------------------------------

cd "$T" || exit 1
new_repo dashes
cd dashes || exit 1
model ./-x.safetensors a:F32:1
commit_all . one
model ./-x.safetensors a:F32:2
run git diff
exits 0 'git diff of a file whose name begins with a dash'
contains 'shows it' "$T/out" '~ a  F32 [1]: 1 of 1'
run git diff --no-ext-diff
exits 0 'and so does the textconv'
contains 'in its way' "$T/out" '-a  F32 [1]  xxh3:'

# ---- settings -------------------------------------------------------------------------------------

is 'the driver is configured' "$(git config --get diff.brevis.command)" 'git-brevis diff-driver'
is 'the textconv is' "$(git config --get diff.brevis.textconv)" 'git-brevis textconv'
is 'never as binary' "$(git config --get diff.brevis.binary)" ''
must git config --global diff.brevis.command mine
run git brevis uninstall
is 'uninstall leaves what is not ours' "$(git config --get diff.brevis.command)" mine
is 'and takes away the rest' "$(git config --get diff.brevis.textconv)" ''

done_testing
