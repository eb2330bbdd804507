#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Where a repository lies and how one gets there: worktrees, submodules, bare repositories, git directories
# elsewhere, symbolic links, and the variables that tell git where things are. Every byte comes back.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

new_remote remote.git
new_repo work
cd work || exit 1
must git remote add origin "file://$T/remote.git"
put 1 a.safetensors
put 2 sub/dir/b.safetensors
commit_all . 'first'
put 3 a.safetensors
commit_all . 'second'
must git push -q origin main
cd "$T" || exit 1

# ---- worktrees ----

cd work || exit 1
check 'worktree add' git worktree add -q "$T/tree" -b side HEAD^
check 'worktree add --detach, by a relative path' git worktree add -q --detach ../tree2 HEAD^
must git worktree add -q --no-checkout --detach "$T/tree3" HEAD
cd "$T/tree3" || exit 1
must git reset -q
check 'checkout in a worktree that has no files' git brevis checkout
must git checkout -q .
holds 'a worktree without a checkout' a.safetensors 3 sub/dir/b.safetensors 2
cd "$T/tree" || exit 1
holds 'a worktree' a.safetensors 1 sub/dir/b.safetensors 2
put 4 sub/dir/b.safetensors
check 'stash in a worktree' git stash -q
holds 'stash in a worktree' sub/dir/b.safetensors 2
check 'stash pop in the other one' git -C "$T/work" stash pop -q
in_dir "$T/work" has 'stash pop in the other one' sub/dir/b.safetensors 4
must git -C "$T/work" checkout -q .
put 4 a.safetensors
check 'commit in a worktree' git commit -qam 'third'
rm a.safetensors
in_dir sub/dir check 'git brevis checkout in a subdirectory of a worktree' git brevis checkout ../..
holds 'a worktree, again' a.safetensors 4
check 'worktree move' git worktree move "$T/tree" "$T/moved"
cd "$T/moved" || exit 1
holds 'worktree move' a.safetensors 4
must mv "$T/tree2" "$T/tree2-moved"
cd "$T/tree2-moved" || exit 1
must git worktree repair
rm a.safetensors
check 'git brevis pull after worktree repair' git brevis pull
holds 'worktree repair' a.safetensors 1
cd "$T/work" || exit 1
check 'worktree remove' git worktree remove "$T/moved"
check 'worktree remove --force' git worktree remove --force "$T/tree3"
holds 'after worktree remove' a.safetensors 3
must git config extensions.worktreeConfig true
must git -C "$T/tree2-moved" config --worktree brevis.threads 1
must git -C "$T/tree2-moved" config --worktree brevis.skipSmudge true
in_dir "$T/tree2-moved" must git checkout -q main~0
in_dir "$T/tree2-moved" check 'worktree configuration of one' git brevis pointer --check a.safetensors
rm a.safetensors
must git checkout -q .
holds 'is not that of the other' a.safetensors 3
cd "$T" || exit 1

# ---- a bare repository, and worktrees of it ----

must git clone -q --bare "file://$T/remote.git" bare.git
cd bare.git || exit 1
mkdir "$T/exported"
check 'archive in a bare clone' sh -c "git archive HEAD | tar -x -C '$T/exported'"
in_dir "$T/exported" has 'archive in a bare clone' a.safetensors 3 sub/dir/b.safetensors 2
check 'archive of a directory' sh -c "git archive HEAD:sub dir | tar -x -C '$T/exported'"
git archive --format=zip HEAD a.safetensors >"$T/exported.zip"
"$PYTHON" -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read("a.safetensors"))' \
	"$T/exported.zip" >"$T/out"
same_bytes 'archive --format=zip' "$T/out" "$T/v/3"
must mkdir -p info
must cp "$T/work/.gitattributes" info/attributes
git cat-file --filters HEAD:sub/dir/b.safetensors >"$T/out" 2>"$T/err"
same_bytes 'cat-file --filters in a bare clone' "$T/out" "$T/v/2"
git cat-file --filters --path=x.safetensors HEAD^:a.safetensors >"$T/out" 2>"$T/err"
same_bytes 'cat-file --filters --path' "$T/out" "$T/v/1"
check 'cat-file --textconv in a bare clone' git cat-file --textconv HEAD:a.safetensors
check 'log -p in a bare clone' git log -p
check 'hash-object --path in a bare clone' git hash-object -w --path=x.safetensors "$T/v/5"
pointer_in 'hash-object --path' "$(cat "$T/.said")"
check 'git brevis ls-files of a revision in a bare clone' git brevis ls-files HEAD
check 'git brevis env in a bare clone' git brevis env
check 'git brevis fsck in a bare clone' git brevis fsck HEAD
run git brevis checkout
exits 128 'git brevis checkout in a bare clone'
one_line 'says what it lacks' 'work tree'
check 'worktree of a bare clone' git worktree add -q "$T/of-bare" main
in_dir "$T/of-bare" holds 'worktree of a bare clone' a.safetensors 3 sub/dir/b.safetensors 2
cd "$T" || exit 1

# ---- submodules ----

must git init -q super
cd super || exit 1
check 'submodule add' git submodule --quiet add "file://$T/remote.git" module
check 'submodule add, a second one' git submodule --quiet add --name second "file://$T/remote.git" deep/module
must git brevis track '*.safetensors'
put 6 own.safetensors
commit_all . 'with submodules'
must git -C module checkout -q HEAD^
commit_all . 'an older submodule'
looks_clean 'a repository with submodules'
in_dir module holds 'in a submodule' a.safetensors 1 sub/dir/b.safetensors 2
check 'submodule update --recursive' git submodule --quiet update --recursive
new_remote "$T/super.git"
must git remote add origin "file://$T/super.git"
check 'push --recurse-submodules=check' git push -q --recurse-submodules=check origin main
cd "$T" || exit 1
check 'clone --recurse-submodules -j4' git clone -q --recurse-submodules -j4 "file://$T/super.git" recursive
cd recursive || exit 1
holds 'clone --recurse-submodules' own.safetensors 6 module/a.safetensors 1 deep/module/a.safetensors 3
check 'checkout --recurse-submodules' git checkout -q --recurse-submodules HEAD^
holds 'checkout --recurse-submodules' own.safetensors 6 module/a.safetensors 3
check 'submodule foreach git brevis pull' git submodule --quiet foreach 'rm a.safetensors && git brevis pull'
holds 'submodule foreach git brevis pull' module/a.safetensors 3 deep/module/a.safetensors 3
put 7 module/a.safetensors
must git -C module commit -qam 'in a submodule'
is 'a submodule with a commit of its own' "$(git status --porcelain)" ' M module'
check 'reset --hard --recurse-submodules' git reset -q --hard --recurse-submodules
holds 'reset --hard --recurse-submodules' module/a.safetensors 3
check 'submodule absorbgitdirs' git submodule absorbgitdirs
check 'grep --recurse-submodules' git grep -q --recurse-submodules oid HEAD
check 'submodule deinit' git submodule --quiet deinit --all
check 'submodule update --init --jobs' git submodule --quiet update --init --jobs 2
holds 'submodule update --init' module/a.safetensors 3 deep/module/a.safetensors 3
cd "$T" || exit 1
nothing_left 'at the end' work bare.git super recursive of-bare tree2-moved
done_testing
