#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Branches that differ in who is responsible for a file: git-brevis, git-lfs, nobody; or whether it is
# there at all. Whichever one comes from, every byte is there, and git has nothing to say.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

must git lfs install --skip-repo
lfs='filter=lfs diff=lfs merge=lfs -text'
brevis='filter=brevis diff=brevis merge=brevis -text'

must git init -q work
cd work || exit 1
must git commit -q --allow-empty -m root

# branch NAME ATTRIBUTES VERSION: same.safetensors is the same everywhere, model.safetensors is not.
branch()
{
	must git switch -q -C "$1" main
	[ -z "$2" ] || echo "*.safetensors $2" >.gitattributes
	put 1 same.safetensors
	put "$3" model.safetensors
	commit_all . "$1"
	looks_clean "$1, committed"
}
branch raw '' 2
branch lfs "$lfs" 3
branch brevis "$brevis" 4
branch other "$brevis" 5
is 'a raw file is in git' "$(git cat-file blob raw:model.safetensors | sha256sum)" "$(sha256sum <"$T/v/2")"
pointer_in 'the others' lfs:model.safetensors brevis:model.safetensors other:model.safetensors
check 'the pointers of git-lfs and git-brevis differ' \
	test "$(git rev-parse lfs:same.safetensors)" != "$(git rev-parse brevis:same.safetensors)"

versions=('raw 2' 'lfs 3' 'brevis 4' 'other 5')
for from in "${versions[@]}"; do
	for to in "${versions[@]}"; do
		[ "$from" != "$to" ] || continue
		must git switch -q "${from% *}"
		check "switch from ${from% *} to ${to% *}" git switch -q "${to% *}"
		holds "from ${from% *} to ${to% *}" same.safetensors 1 model.safetensors "${to#* }"
	done
	must git switch -q main
	check "no file on main, after ${from% *}" test ! -e model.safetensors
	must git switch -q "${from% *}"
	holds "from nothing to ${from% *}" same.safetensors 1 model.safetensors "${from#* }"
done

# ---- taking a file from a branch with other attributes ----

must git switch -q -C mixed brevis
check 'checkout of a raw file' git checkout -q raw -- model.safetensors
has 'checkout of a raw file' model.safetensors 2
must git add --renormalize model.safetensors
pointer_in 'add --renormalize' :model.safetensors
must git reset -q --hard
check 'checkout of a stock pointer' git checkout -q lfs -- model.safetensors
must git commit -qm 'a stock pointer'
holds 'a stock pointer' same.safetensors 1 model.safetensors 3
is 'a stock pointer: stays' "$(git rev-parse HEAD:model.safetensors)" "$(git rev-parse lfs:model.safetensors)"

# ---- merges of branches that differ in it ----

must git switch -q -C merged raw
run git merge -q --no-edit brevis
is 'a merge with raw files stops' "$((RC != 0))" 1
must git checkout -q --theirs .
must git add -A
must git commit -qm merged
holds 'a merge that takes the side of git-brevis' same.safetensors 1 model.safetensors 4

# One side changes the content, the other who is responsible: no side's pointer may end under
# attributes that restore nothing. What is added to end the conflict is kept as these say.
for to in raw lfs; do
	must git switch -q -C "moved-$to" brevis
	must git brevis migrate export --to "$to"
	must git switch -q -C changed brevis
	put 5 model.safetensors
	must git commit -qam changed
	run git merge -q --no-edit "moved-$to"
	is "$to: a merge of content with another way of keeping it stops" "$RC $(git ls-files -u | wc -l)" '1 3'
	contains "$to: and says why" "$T/err" 'model.safetensors: conflict: one side changed its content, the other how git keeps it'
	must git add model.safetensors
	must git commit -qm "merged, $to"
	holds "$to: what ends it" same.safetensors 1 model.safetensors 5
	is "$to: is kept as the attributes say" "$(git check-attr filter model.safetensors | sed 's/.*: //')" \
		"$([ "$to" = lfs ] && echo lfs || echo unspecified)"
	check "$to: and in a clone" git clone -q . "$T/clone-$to"
	same_bytes "$to: a clone has the model" "$T/clone-$to/model.safetensors" "$T/v/5"
done

# ---- in .gitattributes only ----

must git switch -q -C untracked brevis
echo '*.safetensors -text' >.gitattributes
must git commit -qm 'the same pointers, nobody responsible' .gitattributes
must git rm -q --cached model.safetensors same.safetensors
must git reset -q --hard
check 'without the attributes it is a pointer' git brevis pointer --check model.safetensors
must git switch -q brevis
is 'a pointer in the work tree is no change' "$(git status --porcelain)" ''
check 'git brevis checkout completes what a switch left' git brevis checkout
holds 'completed' same.safetensors 1 model.safetensors 4

cd .. && nothing_left 'at the end' work
done_testing
