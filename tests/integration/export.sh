#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `git brevis export`: the files of a revision in another directory, models restored, the others as
# git checks them out; from a bare repository too, with objects that are elsewhere, and never through
# a link.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

REVISION=$TOP/tests/corpus/demo-revision.safetensors
ODD=$'sub/a "b"\n[1] \\c.safetensors'

# plain DIR: what lies there, with modes and the targets of links.
plain()
{
	listing "$1"
	(cd "$1" && find . -name .git -prune -o ! -type d -printf '%#m %y %p %l\n' | LC_ALL=C sort)
}

# as_checked_out WHAT DIR REPO: as in the work tree of that clone.
as_checked_out()
{
	plain "$2" >"$T/exported"
	plain "$3" >"$T/checked-out"
	same_bytes "$1" "$T/exported" "$T/checked-out"
}

new_remote remote.git
new_repo work
mkdir work/sub
cp "$DEMO" work/model.safetensors
head -c 60000 "$REVISION" >part
cp part "work/$ODD"
chmod +x "work/$ODD"
: >work/empty.safetensors
printf 'one\ntwo\n' >work/lines.txt
printf '*.txt text eol=crlf\n*.bin filter=lfs diff=lfs merge=lfs -text\n' >>work/.gitattributes
head -c 5000 /dev/zero >work/stock.bin
ln -s model.safetensors work/link.safetensors
must git lfs install --skip-repo
commit_all work 'all kinds of files'
cp "$REVISION" work/model.safetensors
commit_all work 'a revision'
must without_filter git -C work rm -q --cached empty.safetensors
cp "$DEMO" work/raw.safetensors
must git -C work commit -qm 'raw and removed'
must without_filter git -C work add raw.safetensors
must without_filter git -C work commit -qm raw
must git -C work remote add origin "file://$T/remote.git"
must git -C work push -q origin main
must git clone -q "file://$T/remote.git" clone

status=$(git -C work status --porcelain)

# ---- whole revisions --------------------------------------------------------------------------------

in_dir work run git brevis export "$T/out-head"
exits 0 'HEAD'
is 'says nothing' "$(cat "$T/out" "$T/err")" ""
as_checked_out 'HEAD is as a checkout' out-head clone
same_bytes 'models are restored' out-head/model.safetensors "$REVISION"
same_bytes 'raw ones are as they are' out-head/raw.safetensors "$DEMO"
is 'git and its attributes decide the others' "$(od -c out-head/lines.txt | head -n 1 | tr -s ' ')" \
	'0000000 o n e \r \n t w o \r \n'
is 'no temporary file' "$(find out-head work/.git/lfs/tmp -name '*git-brevis-*')" ""
must git -C clone checkout -qf HEAD~3
in_dir work/sub run git brevis export ../../out-old HEAD~3
exits 0 'an earlier revision, from a directory'
as_checked_out 'is as its checkout' out-old clone
is 'the work tree and its index stay' "$(git -C work status --porcelain)" "$status"
in_dir work/sub run git brevis export "$T/out-part" HEAD~3 . ../lines.txt
exits 0 'some paths'
is 'they are all' "$(find out-part -type f -printf x)" xx
same_bytes 'counted from here' "out-part/$ODD" part
in_dir work run git brevis export "$T/out-none" HEAD nowhere.txt
exits 128 'a path that is not there'
one_line 'says what may be named' nowhere.txt 'name a revision, or paths that HEAD has'
check 'makes no directory' test ! -e out-none

# ---- a directory that is not empty ----------------------------------------------------------------

mkdir full
echo mine >full/mine
echo mine >full/model.safetensors
in_dir work run git brevis export "$T/full"
exits 128 'a directory that is not empty'
one_line 'is refused' full 'not empty' --force
is 'and nothing is written' "$(cat full/mine full/model.safetensors | tr "\n" " ")" "mine mine "
mkdir outside
ln -s ../outside full/sub
inode=$(stat -c %i full/model.safetensors)
in_dir work run git brevis export --force "$T/full"
exits 0 'a link to a directory on the way'
check 'gives way, as with git' test -d full/sub -a ! -L full/sub
is 'and is not followed' "$(ls outside)" ""
same_bytes 'what belongs below it is written' "full/$ODD" part
same_bytes 'and all else' full/model.safetensors "$REVISION"
check 'as new files' test "$(stat -c %i full/model.safetensors)" != "$inode"
is 'other files stay' "$(cat full/mine)" mine
must rm -r full/sub full/model.safetensors
echo file >full/sub
ln -s ../outside full/model.safetensors
must ln -sfn nowhere full/lines.txt
in_dir work run git brevis export --force "$T/full" HEAD
exits 0 'files and links in the place of directories and files'
same_bytes 'a file gives way to a directory' "full/$ODD" part
same_bytes 'a link gives way to a model' full/model.safetensors "$REVISION"
as_checked_out 'as when git does it' full/sub clone/sub
is 'nothing was written through' "$(ls outside)$(find full -name nowhere)" ""
must rm -r full/model.safetensors
must mkdir full/model.safetensors
echo mine >full/model.safetensors/mine
must rm -r full/sub
ln -s ../outside full/sub
must mv "$(object_of work "$ODD")" aside
in_dir work run git brevis export --force --no-fetch "$T/full" HEAD model.safetensors "$ODD"
exits 1 'what cannot be written'
contains 'is told: a directory' "$T/err" 'model.safetensors: left out'
contains 'and an object that is not here' "$T/err" 'is not here'
is 'and nothing has to go for it' "$(cat full/model.safetensors/mine) $(readlink full/sub)" 'mine ../outside'
must mv aside "$(object_of work "$ODD")"
echo file >file
in_dir work run git brevis export "$T/file"
exits 128 'a file in its place'
one_line 'is refused in one line' file

# ---- objects that are elsewhere ---------------------------------------------------------------------

must git clone -q --bare "file://$T/remote.git" bare.git
in_dir bare.git run git brevis export --no-fetch "$T/out-nothing"
exits 1 'a bare repository without its objects, not fetching'
is 'each missing file is named' "$(grep -c 'is not here' "$T/err")" 3
check 'others are written' test -e out-nothing/lines.txt
check 'no pointer stands for a file' test ! -e out-nothing/model.safetensors -a ! -e out-nothing/stock.bin
in_dir bare.git run git brevis export "$T/out-bare"
exits 0 'a bare repository'
must git -C clone checkout -qf main
as_checked_out 'is as a checkout' out-bare clone
in_dir bare.git run git brevis export --no-fetch "$T/out-again"
exits 0 'then they are here'
as_checked_out 'and do' out-again clone

must git -C remote.git config uploadpack.allowFilter true
GIT_LFS_SKIP_SMUDGE=1 must git clone -q --filter=blob:none --no-checkout "file://$T/remote.git" partial
in_dir partial run git brevis export "$T/out-partial"
exits 0 'a partial clone without a checkout'
as_checked_out 'is as a checkout' out-partial clone

object=$(object_of work model.safetensors)
flip_bit "$object"
in_dir work run git brevis export "$T/out-damaged"
exits 1 'a damaged object'
contains 'is named with its path' "$T/err" 'model.safetensors: its object'
check 'and nothing of it is left' test ! -e out-damaged/model.safetensors
same_bytes 'others are complete' "out-damaged/$ODD" part

must git init -q none
in_dir none run git brevis export "$T/out-none"
exits 128 'no commit yet'
check 'makes no directory' test ! -e out-none

done_testing
