#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Histories that are written anew or handed on whole: fast-export and fast-import, filter-branch, replace, bundles,
# mirrors, autosquash, pulls that merge or rebase, patches by add -e. Every byte comes back.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

export GIT_EDITOR=true FILTER_BRANCH_SQUELCH_WARNING=1

new_remote remote.git
new_repo work
cd work || exit 1
must git remote add origin "file://$T/remote.git"
for i in 1 2 3; do
	put "$i" a.safetensors
	put "$((i + 3))" dir/b.safetensors
	commit_all . "revision $i"
done
must git push -q -u origin main

# ---- handed on ----

must git init -q "$T/imported"
check 'fast-export, fast-import' sh -c "git fast-export --all | git -C '$T/imported' fast-import --quiet"
must cp -a .git/lfs "$T/imported/.git/"
must git -C "$T/imported" checkout -q -f main
in_dir "$T/imported" holds 'fast-import' a.safetensors 3 dir/b.safetensors 6
is 'fast-import: the same commits' "$(git -C "$T/imported" rev-parse main)" "$(git rev-parse main)"
must git bundle create -q "$T/work.bundle" main
check 'clone of a bundle, without a checkout' git clone -q --no-checkout "$T/work.bundle" "$T/unbundled"
must git -C "$T/unbundled" config remote.origin.url "file://$T/remote.git"
check 'and checkout, objects from the remote' git -C "$T/unbundled" checkout -q main
in_dir "$T/unbundled" holds 'a bundle' a.safetensors 3 dir/b.safetensors 6
check 'clone --mirror' git clone -q --mirror "file://$T/remote.git" "$T/mirror.git"
must git -C "$T/mirror.git" lfs fetch --all
in_dir "$T/mirror.git" check 'install in a mirror' git brevis install
new_remote "$T/second.git"
check 'push --mirror' git -C "$T/mirror.git" push -q --mirror "file://$T/second.git"
must git clone -q "file://$T/second.git" "$T/from-mirror"
in_dir "$T/from-mirror" holds 'a mirror' a.safetensors 3 dir/b.safetensors 6

# ---- written anew ----

must git switch -q -c filtered
check 'filter-branch --subdirectory-filter' git filter-branch -f --subdirectory-filter dir filtered
check 'no attribute is left there, so a pointer stays one' git brevis pointer --check b.safetensors
must git switch -q -f main
must git branch -q -f filtered main
must git switch -q filtered
check 'filter-branch --tree-filter' git filter-branch -f --tree-filter "cp '$T/v/9' added.safetensors" filtered
holds 'filter-branch --tree-filter' a.safetensors 3 dir/b.safetensors 6 added.safetensors 9
pointer_in 'filter-branch --tree-filter' HEAD:added.safetensors HEAD~1:added.safetensors
is 'filter-branch --tree-filter: what it left alone has its pointer' \
	"$(git rev-parse HEAD~1:a.safetensors HEAD:dir/b.safetensors)" \
	"$(git rev-parse main~1:a.safetensors main:dir/b.safetensors)"
must git checkout -q HEAD~1
holds 'filter-branch --tree-filter: an old revision' a.safetensors 2 added.safetensors 9
must git switch -q main
must git replace HEAD filtered
must git checkout -q -f HEAD~1
check 'replace' git checkout -q -f main
has 'replace' added.safetensors 9 a.safetensors 3
must git replace -d "$(git rev-parse main)"
must git reset -q --hard
must git clean -qfd

# ---- fixup, add -e ----

must git switch -q -c squashed
put 10 a.safetensors
must git commit -q -a --fixup=HEAD
put 11 dir/b.safetensors
must git commit -q -a --fixup=HEAD^
check 'rebase -i --autosquash' git rebase -q -i --autosquash HEAD~3
holds 'rebase -i --autosquash' a.safetensors 10 dir/b.safetensors 11
is 'rebase -i --autosquash: one commit' "$(git rev-list --count main~1..)" 1
put 12 a.safetensors
must git add -e
pointer_in 'add -e' :a.safetensors
must git commit -qm 'by add -e'
holds 'add -e' a.safetensors 12
check 'notes' git notes add -F "$T/v/1" HEAD
check 'commit --only --amend' git commit -q --amend --no-edit --only a.safetensors
holds 'commit --only --amend' a.safetensors 12

# ---- pull ----

must git clone -q "file://$T/remote.git" "$T/other"
cd "$T/other" || exit 1
put 13 dir/b.safetensors
commit_all . 'elsewhere'
must git push -q origin main
cd "$T/work" || exit 1
must git switch -q main
put 14 a.safetensors
commit_all . 'here'
must git branch -q here
check 'pull --no-rebase' git pull -q --no-rebase --no-edit
holds 'pull --no-rebase' a.safetensors 14 dir/b.safetensors 13
must git reset -q --hard here
put 15 new.safetensors
must git add new.safetensors
check 'pull --rebase --autostash' git pull -q --rebase --autostash
has 'pull --rebase --autostash' a.safetensors 14 dir/b.safetensors 13 new.safetensors 15
must git commit -qm new
check 'push' git push -q origin main
cd "$T/other" || exit 1
check 'pull --ff-only' git pull -q --ff-only
holds 'pull --ff-only' a.safetensors 14 dir/b.safetensors 13 new.safetensors 15
check 'push --force-with-lease of an older state' git push -q --force-with-lease origin HEAD~1:main
cd "$T/work" || exit 1
check 'fetch and reset to a rewritten branch' git fetch -q
check 'reset --hard @{upstream}' git reset -q --hard '@{upstream}'
holds 'reset --hard @{upstream}' a.safetensors 14 dir/b.safetensors 13

cd "$T" || exit 1
nothing_left 'at the end' work imported unbundled mirror.git from-mirror other
done_testing
