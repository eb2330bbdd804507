#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What makes, moves and undoes commits: rebase, cherry-pick, merge, revert, bisect, am, bundle, notes,
# filter-branch; and branches that differ in who is responsible for a file. Every byte comes back, and
# git has nothing to say.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

export GIT_EDITOR=true

# version PATH N: one commit that makes the file that version.
version()
{
	put "$2" "$1"
	must git add -A
	must git commit -qm "$1 is $2"
}

# edits_list SCRIPT: what sed makes of the list of a rebase, in the place of somebody who edits it.
edits_list()
{
	# shellcheck disable=SC2016 # for the script
	printf '#!/bin/sh\nsed -i %s "$1"\n' "$1" >"$T/edits-list"
	chmod +x "$T/edits-list"
	export GIT_SEQUENCE_EDITOR=$T/edits-list
}

new_repo work
cd work || exit 1
version a.safetensors 1
version b.safetensors 2
must git tag base
version a.safetensors 3
version a.safetensors 4
must git switch -q -c side base
version b.safetensors 5
version new.safetensors 6
version b.safetensors 7

# ---- rebase ----

must git switch -q -c rebased side
check 'rebase' git rebase -q main
holds 'rebase' a.safetensors 4 b.safetensors 7 new.safetensors 6
must git switch -q -C rebased side
check 'rebase --onto' git rebase -q --onto main~1 base
holds 'rebase --onto' a.safetensors 3 b.safetensors 7 new.safetensors 6
must git switch -q -C rebased side
check 'rebase --apply' git rebase -q --apply main
holds 'rebase --apply' a.safetensors 4 b.safetensors 7 new.safetensors 6
edits_list "'1{h;d};2{G}'"
check 'rebase -i that exchanges commits' git rebase -q -i HEAD~2
holds 'rebase -i that exchanges commits' a.safetensors 4 b.safetensors 7 new.safetensors 6
edits_list '2s/^pick/squash/'
check 'rebase -i that squashes' git rebase -q -i HEAD~2
holds 'rebase -i that squashes' a.safetensors 4 b.safetensors 7 new.safetensors 6
edits_list '2s/^pick/edit/'
check 'rebase -i stops to edit' git rebase -q -i base
put 8 a.safetensors
must git commit -qa --amend --no-edit
check 'rebase -i goes on' git rebase --continue
holds 'rebase -i that edits' a.safetensors 8 b.safetensors 7 new.safetensors 6
edits_list '2s/^pick/drop/'
check 'rebase -i that drops' git rebase -q -i HEAD~2
holds 'rebase -i that drops' a.safetensors 8 b.safetensors 5
# shellcheck disable=SC2016 # a command for git
check 'rebase --exec' git rebase -q --exec 'test -z "$(git status --porcelain)"' base
check 'rebase --root' git rebase -q --root --no-ff
holds 'rebase --root' a.safetensors 8 b.safetensors 5
put 9 a.safetensors
check 'rebase --autostash' git rebase -q --autostash --no-ff HEAD~1
has 'rebase --autostash' a.safetensors 9
must git reset -q --hard
must git switch -q -C rebased side
version a.safetensors 10
run git rebase main
is 'rebase with a conflict stops' "$((RC != 0))" 1
is 'and says where' "$(git ls-files -u | cut -f 2 | sort -u)" a.safetensors
must git checkout -q --theirs a.safetensors
has 'the side of the commit' a.safetensors 10
must git add a.safetensors
check 'rebase --continue' git rebase --continue
holds 'rebase --continue' a.safetensors 10 b.safetensors 7 new.safetensors 6
run git rebase --onto base HEAD~1
is 'another conflict' "$((RC != 0))" 1
check 'rebase --abort' git rebase --abort
holds 'rebase --abort' a.safetensors 10 b.safetensors 7 new.safetensors 6
run git rebase --onto base HEAD~1
check 'rebase --skip' git rebase --skip
holds 'rebase --skip' a.safetensors 1 b.safetensors 2

# ---- cherry-pick, revert, am ----

must git switch -q -C picked main
check 'cherry-pick of a range' git cherry-pick base..side
holds 'cherry-pick of a range' a.safetensors 4 b.safetensors 7 new.safetensors 6
check 'revert' git revert --no-edit HEAD
holds 'revert' b.safetensors 5 new.safetensors 6
check 'revert of two' git revert --no-edit HEAD~2 main
check 'revert: the added file is gone' test ! -e new.safetensors
holds 'revert of two' a.safetensors 3 b.safetensors 5
check 'revert of a revert' git revert --no-edit HEAD
holds 'revert of a revert' a.safetensors 4
check 'cherry-pick -n' git cherry-pick -n side
has 'cherry-pick -n' a.safetensors 4 b.safetensors 7
must git reset -q --hard
must git format-patch -q -o "$T/patches" base..side
must git switch -q -C mailed base
check 'am' git am -q "$T"/patches/*.patch
holds 'am' a.safetensors 1 b.safetensors 7 new.safetensors 6
check 'apply -R --index' git apply -R --index "$T/patches/0003-b.safetensors-is-7.patch"
has 'apply -R --index' b.safetensors 5
must git reset -q --hard
must git switch -q -C mailed main~1
check 'am -3' git am -q -3 "$T"/patches/*.patch
holds 'am -3' a.safetensors 3 b.safetensors 7 new.safetensors 6

# ---- merge ----

must git switch -q -C merged main
check 'merge' git merge -q --no-edit side
holds 'merge' a.safetensors 4 b.safetensors 7 new.safetensors 6
must git reset -q --hard main
check 'merge --squash' git merge -q --squash side
has 'merge --squash' a.safetensors 4 b.safetensors 7 new.safetensors 6
must git reset -q --hard main
check 'merge -s ours' git merge -q --no-edit -s ours side
holds 'merge -s ours' a.safetensors 4 b.safetensors 2
must git reset -q --hard main
version b.safetensors 11
run git merge side
is 'merge with a conflict stops' "$((RC != 0)) $(git ls-files -u | cut -f 2 | sort -u)" \
	'1 b.safetensors'
has 'merge with a conflict: the rest' a.safetensors 4 new.safetensors 6
must git checkout -q --theirs b.safetensors
has 'theirs' b.safetensors 7
must git checkout -q --ours b.safetensors
has 'ours' b.safetensors 11
check 'merge --abort' git merge --abort
holds 'merge --abort' a.safetensors 4 b.safetensors 11
run git merge side
must git checkout -q --theirs b.safetensors
must git add b.safetensors
check 'merge --continue' git merge --continue
holds 'merge --continue' a.safetensors 4 b.safetensors 7 new.safetensors 6
must git checkout -q --orphan unrelated
must git rm -qrf .
must git checkout -q main -- .gitattributes .lfsconfig
version elsewhere.safetensors 12
must git switch -q -C merged main
check 'merge of unrelated histories' git merge -q --no-edit --allow-unrelated-histories unrelated
holds 'merge of unrelated histories' a.safetensors 4 elsewhere.safetensors 12
must git switch -q -C first main
version one.safetensors 13
must git switch -q -C second main
version two.safetensors 14
must git switch -q -C merged main
check 'merge of many' git merge -q --no-edit first second
holds 'merge of many' one.safetensors 13 two.safetensors 14
check 'read-tree --prefix -u' git read-tree --prefix=sub/ -u unrelated
has 'read-tree --prefix -u' sub/elsewhere.safetensors 12
must git reset -q --hard

# ---- bisect ----

must git switch -q -C bisected base
for i in $(seq 11 18); do version a.safetensors "$i"; done
must git bisect start HEAD base
check 'bisect run' git bisect run sh -c "! cmp a.safetensors '$T/v/18'"
is 'bisect run finds it' "$(git log -1 --format=%s refs/bisect/bad)" 'a.safetensors is 18'
check 'bisect reset' git bisect reset
holds 'bisect reset' a.safetensors 18

cd .. && nothing_left 'at the end' work
done_testing
