#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What people do to a work tree and its index: stash, reset, restore, checkout -p, add -p, add -N, mv,
# rm, clean, apply. Every byte comes back, and git has nothing to say.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

new_repo work
cd work || exit 1
put 1 a.safetensors dir/b.safetensors
put 2 c.safetensors
echo one >notes.txt
commit_all . 'version 1'
holds 'a commit' a.safetensors 1 dir/b.safetensors 1 c.safetensors 2

# ---- commit ----

put 3 a.safetensors
check 'commit -a' git commit -qam 'version 3'
holds 'commit -a' a.safetensors 3 dir/b.safetensors 1
pointer_in 'commit -a' HEAD:a.safetensors HEAD:dir/b.safetensors
put 4 a.safetensors
check 'commit --amend' git commit -qa --amend -m 'version 4'
holds 'commit --amend' a.safetensors 4
put 5 a.safetensors c.safetensors
check 'commit of one path' git commit -qm 'one path' c.safetensors
is 'commit of one path: leaves the other' "$(git status --porcelain)" ' M a.safetensors'
pointer_in 'commit of one path' HEAD:c.safetensors
check 'commit --include' git commit -qm 'the other' --include a.safetensors
holds 'commit --include' a.safetensors 5 c.safetensors 5

# ---- add -N, add -p, add --patch of a new file, add -u, add --renormalize ----

put 6 new.safetensors
check 'add -N' git add -N new.safetensors
is 'add -N: status' "$(git status --porcelain)" ' A new.safetensors'
check 'add -N: diff' git diff
has 'add -N' new.safetensors 6
check 'commit -a after add -N' git commit -qam 'new'
holds 'commit -a after add -N' new.safetensors 6
pointer_in 'commit -a after add -N' HEAD:new.safetensors

put 7 a.safetensors
put 8 c.safetensors
printf 'y\nn\n' | git add -p >"$T/out" 2>&1
is 'add -p: takes one file of two' "$(git status --porcelain)" 'M  a.safetensors
 M c.safetensors'
pointer_in 'add -p' :a.safetensors
has 'add -p' a.safetensors 7 c.safetensors 8
is 'add -p: stages what the file is' "$(git cat-file --filters :a.safetensors | sha256sum)" "$(sha256sum <"$T/v/7")"
check 'reset -p' sh -c 'echo y | git reset -q -p'
is 'reset -p: the index is as before' "$(git diff --cached --name-only)" ''
has 'reset -p' a.safetensors 7 c.safetensors 8
printf 'y\nn\n' | git checkout -p >"$T/out" 2>&1
has 'checkout -p: takes back one file of two' a.safetensors 5 c.safetensors 8
printf 'y\n' | git restore -p >"$T/out" 2>&1
holds 'restore -p' a.safetensors 5 c.safetensors 5
put 7 a.safetensors
must git add -u
printf 'y\n' | git restore -p --staged >"$T/out" 2>&1
is 'restore -p --staged' "$(git status --porcelain)" ' M a.safetensors'
printf 'y\ny\n' | git checkout -p HEAD >"$T/out" 2>&1
holds 'checkout -p HEAD' a.safetensors 5
printf 'y\n' | git checkout -p HEAD~3 -- c.safetensors >"$T/out" 2>&1
is 'checkout -p of a revision' "$(git status --porcelain)" 'M  c.safetensors'
has 'checkout -p of a revision' c.safetensors 2
must git reset -q --hard
put 7 a.safetensors
put 8 c.safetensors
printf 'y\nn\n' | git stash -q -p >"$T/out" 2>&1
has 'stash -p takes one file of two' a.safetensors 5 c.safetensors 8
must git checkout -q c.safetensors
check 'stash pop after stash -p' git stash pop -q
has 'stash pop after stash -p' a.safetensors 7 c.safetensors 5
must git checkout -q a.safetensors

# ---- stash ----

put 9 a.safetensors
put 10 c.safetensors
must git add c.safetensors
put 11 untracked.safetensors
check 'stash -u' git stash -q -u
holds 'stash -u' a.safetensors 5 c.safetensors 5
check 'stash -u: takes the untracked file away' test ! -e untracked.safetensors
pointer_in 'stash -u' 'stash@{0}:a.safetensors' 'stash@{0}:c.safetensors' \
	'stash@{0}^3:untracked.safetensors'
check 'stash show' git stash show -p --include-untracked
check 'stash pop --index' git stash pop -q --index
has 'stash pop --index' a.safetensors 9 c.safetensors 10 untracked.safetensors 11
is 'stash pop --index: status' "$(git status --porcelain)" ' M a.safetensors
M  c.safetensors
?? untracked.safetensors'
check 'stash --keep-index' git stash -q --keep-index
has 'stash --keep-index' a.safetensors 5 c.safetensors 10
must git reset -q --hard
check 'stash apply' git stash apply -q
has 'stash apply' a.safetensors 9 c.safetensors 10
must git reset -q --hard
check 'stash branch' git stash branch stashed
has 'stash branch' a.safetensors 9 c.safetensors 10
commit_all . 'from the stash'
holds 'stash branch, committed' a.safetensors 9 c.safetensors 10 untracked.safetensors 11

# A pop whose file has changed since: nothing is lost, and both sides can be had.
put 12 a.safetensors
must git stash -q
put 13 a.safetensors
must git commit -qam 'meanwhile'
run git stash pop
is 'stash pop with a conflict fails' "$((RC != 0))" 1
is 'and says which path' "$(git ls-files -u | cut -f 2 | sort -u)" a.safetensors
check 'and keeps the stash' git rev-parse -q --verify 'stash@{0}'
must git checkout -q --theirs a.safetensors
has 'its own side' a.safetensors 12
must git checkout -q --ours a.safetensors
has 'the other side' a.safetensors 13
must git reset -q --hard
must git stash drop -q
holds 'reset after the conflict' a.safetensors 13
put 14 c.safetensors
must git stash -q
put 15 c.safetensors
run git stash pop
is 'stash pop over a changed file is refused' "$((RC != 0))" 1
has 'and leaves it' c.safetensors 15
must git checkout -q c.safetensors
must git stash pop -q
has 'until it is out of the way' c.safetensors 14
must git reset -q --hard
must git switch -q main

# ---- reset ----

put 16 a.safetensors
must git commit -qam 'version 16'
must git tag sixteen
put 17 a.safetensors
check 'reset --soft' git reset -q --soft HEAD^
is 'reset --soft: status' "$(git status --porcelain)" 'MM a.safetensors'
check 'reset --mixed' git reset -q
is 'reset --mixed: status' "$(git status --porcelain)" ' M a.safetensors'
has 'reset --mixed' a.safetensors 17
check 'reset --hard' git reset -q --hard
holds 'reset --hard' a.safetensors 5
check 'reset --hard to a commit ahead' git reset -q --hard sixteen
holds 'reset --hard to a commit ahead' a.safetensors 16
put 18 c.safetensors
check 'reset --keep' git reset -q --keep HEAD^
has 'reset --keep: keeps what was changed' c.safetensors 18 a.safetensors 5
must git checkout -q c.safetensors
check 'reset --merge' git reset -q --merge ORIG_HEAD
holds 'reset --merge' a.safetensors 16 c.safetensors 5
put 17 a.safetensors
run git reset --keep HEAD^
is 'reset --keep over a change is refused' "$((RC != 0))" 1
has 'and keeps it' a.safetensors 17
must git checkout -q .
holds 'checkout .' a.safetensors 16

# ---- restore, checkout of revisions and paths ----

check 'restore --source' git restore --source=HEAD^ a.safetensors
has 'restore --source' a.safetensors 5
is 'restore --source: status' "$(git status --porcelain)" ' M a.safetensors'
check 'restore --staged --worktree' git restore --staged --worktree a.safetensors
holds 'restore --staged --worktree' a.safetensors 16
put 17 a.safetensors
must git add a.safetensors
check 'restore --staged' git restore --staged a.safetensors
is 'restore --staged: status' "$(git status --porcelain)" ' M a.safetensors'
has 'restore --staged' a.safetensors 17
check 'checkout of a revision and a path' git checkout -q main~4 -- c.safetensors
has 'checkout of a revision and a path' c.safetensors 2
check 'checkout -f' git checkout -q -f
holds 'checkout -f' a.safetensors 16
rm -r a.safetensors dir
check 'restore of what was deleted' git restore .
holds 'restore of what was deleted' a.safetensors 16 dir/b.safetensors 1
check 'checkout of a commit' git checkout -q 'HEAD~3'
holds 'checkout of a commit' a.safetensors 4 dir/b.safetensors 1 c.safetensors 5
check 'checkout -' git checkout -q -
holds 'checkout -' a.safetensors 16
check 'checkout-index' git checkout-index -a --prefix="$T/prefix/"
same_bytes 'checkout-index: every byte' "$T/prefix/a.safetensors" "$T/v/16"

# ---- mv, rm, clean ----

must mkdir other
check 'mv' git mv a.safetensors other/a2.safetensors
check 'mv of a directory' git mv dir renamed
has 'mv' other/a2.safetensors 16 renamed/b.safetensors 1
is 'mv: status' "$(git status --porcelain)" 'R  a.safetensors -> other/a2.safetensors
R  dir/b.safetensors -> renamed/b.safetensors'
must git commit -qm moved
holds 'mv, committed' other/a2.safetensors 16 renamed/b.safetensors 1
check 'rm --cached' git rm -q --cached other/a2.safetensors
has 'rm --cached' other/a2.safetensors 16
must git reset -q
check 'rm' git rm -q other/a2.safetensors
check 'rm: it is gone' test ! -e other/a2.safetensors
must git reset -q --hard
holds 'after rm and reset' other/a2.safetensors 16
check 'mv out of the pattern' git mv other/a2.safetensors other/a2.bin
must git commit -qm 'renamed to another kind'
must rm other/a2.bin
must git checkout -q other/a2.bin
check 'a pointer that is not tracked stays one' git brevis pointer --check other/a2.bin
must git reset -q --hard HEAD^
holds 'and back' other/a2.safetensors 16
put 19 stray.safetensors strays/stray.safetensors
check 'clean -fd' git clean -qfd
check 'clean -fd: they are gone' test ! -e stray.safetensors -a ! -e strays
holds 'clean -fd' other/a2.safetensors 16 renamed/b.safetensors 1
echo '*.tmp.safetensors' >.gitignore
put 19 x.tmp.safetensors
check 'clean -fdX' git clean -qfdX
check 'clean -fdX: it is gone' test ! -e x.tmp.safetensors
must rm .gitignore

# ---- looking ----

for command in 'diff HEAD~3' 'diff --stat HEAD~3' 'diff --word-diff HEAD~3' 'log -p' 'log -p --stat -M' \
	'log --follow -p -- other/a2.safetensors' 'log -S oid --oneline' 'log -G oid --oneline' \
	'show HEAD~2' 'show HEAD:other/a2.safetensors' 'blame other/a2.safetensors' \
	'grep -c oid HEAD' 'shortlog -s HEAD' 'whatchanged -p' 'diff-tree -p HEAD~2' 'range-diff HEAD~4..HEAD~2 HEAD~4..HEAD'; do
	# shellcheck disable=SC2086 # words
	check "$command" git $command
done
holds 'after looking' other/a2.safetensors 16
check 'show --textconv' git show --textconv HEAD:other/a2.safetensors
git cat-file --filters HEAD:other/a2.safetensors >"$T/out"
same_bytes 'cat-file --filters' "$T/out" "$T/v/16"
printf 'HEAD:other/a2.safetensors other/a2.safetensors\n' >"$T/asked"
git cat-file --batch --filters <"$T/asked" | tail -n +2 | head -c "$(stat -c %s "$T/v/16")" >"$T/out"
same_bytes 'cat-file --batch --filters' "$T/out" "$T/v/16"

cd "$T" || exit 1
nothing_left 'at the end' work
done_testing
