#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Repositories that are not simply a directory with .git in it: worktrees, submodules, shared,
# partial and sparse clones, links to repositories, lfs.storage; and links that lead out of one.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

new_remote remote.git
new_repo work
must git -C work remote add origin "file://$T/remote.git"
mkdir -p work/sub/deep
cp "$DEMO" work/model.safetensors
cp "$TOP/tests/corpus/demo-revision.safetensors" work/sub/deep/model.safetensors
commit_all work 'two checkpoints'
must git -C work push -q origin main
listing work >"$T/listing"

# complete DESCRIPTION DIR: it has every file, and git has nothing to say.
complete()
{
	listing "$2" >"$T/restored"
	same_bytes "$1: complete" "$T/restored" "$T/listing"
	is_clean "$1: clean" "$2"
}

# again DESCRIPTION DIR: git brevis checkout restores what was deleted there.
again()
{
	rm -f "$2/model.safetensors" "$2/sub/deep/model.safetensors"
	in_dir "$2" check "$1: git brevis checkout" git brevis checkout
	complete "$1, again" "$2"
}

# ---- worktrees ----

check 'git worktree add' git -C work worktree add -q "$T/tree" -b side
complete 'a worktree' tree
again 'a worktree' tree
cp "$DEMO" tree/more.safetensors
printf more >>tree/more.safetensors
commit_all tree 'from the worktree'
check 'objects of a worktree lie in the common directory' \
	test -e "$(object_path "$T/work" "$(basename "$(object_of tree more.safetensors)")")"
is 'and nowhere else' "$(find work/.git/worktrees -type d -name objects)" ""
check 'push from a worktree' git -C tree push -q origin side
must git clone -q -b side "file://$T/remote.git" of-side
same_bytes 'which a clone then has' of-side/more.safetensors tree/more.safetensors

# ---- a clone whose checkout failed ----

object=$(object_path "$T/remote.git" "$(basename "$(object_of work sub/deep/model.safetensors)")")
must mv "$object" "$T/aside"
run git clone -q "file://$T/remote.git" failed
exits 128 'a clone that lacks an object fails'
check 'and leaves no index' test ! -e failed/.git/index
in_dir failed run git brevis status
exits 1 'status there'
one_line 'says what to do' 'not completed' 'git brevis pull' 'git restore'
in_dir failed run git brevis checkout
exits 1 'checkout there'
contains 'names the file whose object is missing' "$T/err" 'sub/deep/model.safetensors: '
in_dir failed run git brevis pull
exits 1 'pull there'
contains 'names it too' "$T/err" 'sub/deep/model.safetensors: '
same_bytes 'the other file is there' failed/model.safetensors "$DEMO"
must mv "$T/aside" "$object"
must rm failed/.git/index
in_dir failed check 'pull once the object is there' git brevis pull
must git -C failed restore :/
complete 'the failed clone' failed

must git clone -q --no-checkout "file://$T/remote.git" sparse-first
must git -C sparse-first sparse-checkout set --no-cone /sub/
rm -f sparse-first/.git/index
in_dir sparse-first check 'pull in a sparse clone without an index' git brevis pull
same_bytes 'writes what is wanted' sparse-first/sub/deep/model.safetensors \
	work/sub/deep/model.safetensors
check 'and no more' test ! -e sparse-first/model.safetensors

# ---- where the command runs ----

in_dir work/sub/deep check 'git brevis ls-files in a subdirectory' git brevis ls-files
must rm work/sub/deep/model.safetensors work/model.safetensors
in_dir work/sub/deep check 'git brevis checkout of a path in a subdirectory' \
	git brevis checkout model.safetensors
same_bytes 'restores it' work/sub/deep/model.safetensors \
	"$TOP/tests/corpus/demo-revision.safetensors"
check 'and no other' test ! -e work/model.safetensors
in_dir work/sub must git brevis checkout ..
complete 'the parent as a path' work
must ln -s work alias
again 'a repository behind a link' alias
must touch alias/model.safetensors
is_clean 'status behind a link' alias
must rm work/model.safetensors
check 'a relative GIT_DIR and GIT_WORK_TREE' \
	env GIT_DIR=work/.git GIT_WORK_TREE=work git brevis checkout
complete 'a relative GIT_DIR' work

# ---- what fails leaves nothing ----

must git clone -q "file://$T/remote.git" damaged
object=$(object_of damaged sub/deep/model.safetensors)
must mv "$object" "$T/good"
must "$PYTHON" "$TOP/tests/support/damage.py" record "$T/good" "$object"
must rm -rf damaged/sub
in_dir damaged run git brevis checkout
exits 1 'checkout of a damaged object'
check 'leaves no new directory' test ! -e damaged/sub

# ---- submodules ----

must git init -q super
check 'git submodule add' git -C super submodule --quiet add "file://$T/remote.git" module
complete 'a submodule' super/module
again 'a submodule' super/module
check 'its objects lie in its own git directory' test -d super/.git/modules/module/lfs/objects

# ---- clones that share or lack ----

must git clone -q --shared work shared
complete 'a shared clone' shared
must git clone -q --no-checkout --shared work alone
must git -C alone remote remove origin
check 'checkout in a shared clone without a remote' git -C alone checkout -q main
complete 'reads through alternates' alone
must git -C remote.git config uploadpack.allowFilter true
check 'a partial clone' git clone -q --filter=blob:none "file://$T/remote.git" partial
complete 'a partial clone' partial
again 'a partial clone' partial
in_dir partial check 'git brevis fsck in a partial clone' git brevis fsck
# A partial clone whose index is there but whose blobs never came.
must git clone -q --no-checkout --filter=blob:none "file://$T/remote.git" bare-bones
must git -C bare-bones reset -q
must cp -r bare-bones offline
in_dir bare-bones run git brevis fsck
exits 1 'git brevis fsck without the blobs'
contains 'says how many files it could not look at' "$T/out" '0 files checked, 2 not'
in_dir bare-bones check 'git brevis pull without the blobs' git brevis pull
same_bytes 'fetches what it needs' bare-bones/model.safetensors "$DEMO"
same_bytes 'for every file' bare-bones/sub/deep/model.safetensors \
	"$TOP/tests/corpus/demo-revision.safetensors"
in_dir bare-bones run git brevis fsck
is 'then fsck looks at all of them' "$RC $(cat "$T/out")" \
	'0 git-brevis fsck: 2 files checked, all in order'
must git -C offline checkout -q -- .gitattributes
must git -C offline config remote.origin.url "file://$T/gone.git"
in_dir offline run git brevis pull
exits 1 'pull of a partial clone whose remote is gone'
contains 'names what was left out' "$T/err" 'model.safetensors: its pointer (blob '
contains 'and why' "$T/err" 'git cannot fetch what this partial clone lacks'
is 'and writes nothing' "$(find offline -name '*.safetensors')" ""

# No directory for temporary files but the repository's own.
TMPDIR=/nowhere in_dir work check 'no TMPDIR: fsck' git brevis fsck
TMPDIR=/nowhere in_dir work check 'no TMPDIR: ls-files of a revision' git brevis ls-files HEAD

must git clone -q --sparse "file://$T/remote.git" sparse
is 'a sparse clone lacks the subdirectory' "$(find sparse/sub -type f 2>/dev/null)" ""
in_dir sparse check 'git brevis pull in a sparse clone' git brevis pull
is 'and still lacks it' "$(find sparse/sub -type f 2>/dev/null)" ""
same_bytes 'but has the rest' sparse/model.safetensors "$DEMO"
is_clean 'a sparse clone is clean' sparse
must git -C sparse sparse-checkout set sub
same_bytes 'widening it brings the file' sparse/sub/deep/model.safetensors \
	"$TOP/tests/corpus/demo-revision.safetensors"

# ---- lfs.storage, worktree configuration ----

must git clone -q --no-checkout "file://$T/remote.git" stored
must git -C stored config lfs.storage "$T/storage"
check 'checkout with lfs.storage' git -C stored checkout -q main
complete 'lfs.storage' stored
oid=$(basename "$(object_of stored model.safetensors)")
check 'is where the objects lie' test -e "$T/storage/objects/${oid:0:2}/${oid:2:2}/$oid"
must git -C stored config extensions.worktreeConfig true
must git -C stored config --worktree brevis.threads 1
again 'with extensions.worktreeConfig' stored

# ---- links that lead out ----

must git clone -q "file://$T/remote.git" attacked
must mkdir outside outside/deep
must rm -rf attacked/sub
must ln -s ../outside attacked/sub
in_dir attacked run git brevis checkout
is 'git brevis checkout does not follow a link out of the tree' \
	"$(find outside -type f)" ""
check 'and leaves the link' test -L attacked/sub

done_testing
