#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Clones that have not all of a history (partial, shallow), not all of its files (sparse), or borrow
# objects. Every byte comes back, and git has nothing to say.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

new_remote remote.git
must git -C remote.git config uploadpack.allowFilter true
must git -C remote.git config uploadpack.allowAnySHA1InWant true
new_repo work
cd work || exit 1
must git remote add origin "file://$T/remote.git"
for i in 1 2 3; do
	put "$i" a.safetensors sub/b.safetensors
	put "$((i + 3))" sub/deep/c.safetensors
	put "$((i + 6))" other/d.safetensors
	commit_all . "revision $i"
done
must git push -q origin main
cd ..
last=(a.safetensors 3 sub/b.safetensors 3 sub/deep/c.safetensors 6 other/d.safetensors 9)
first=(a.safetensors 1 sub/b.safetensors 1 sub/deep/c.safetensors 4 other/d.safetensors 7)

# cloned DESCRIPTION OPTION...: a clone with these options has all; what lies back comes, too.
cloned()
{
	local what=$1
	shift
	rm -rf clone
	check "$what" git clone -q "$@" clone
	in_dir clone holds "$what" "${last[@]}"
}

# goes_back DESCRIPTION: to the first revision, and again to the last.
goes_back()
{
	check "$1: an old revision" git -C clone checkout -q HEAD~2
	in_dir clone holds "$1: an old revision" "${first[@]}"
	check "$1: back" git -C clone checkout -q main
	in_dir clone holds "$1: back" "${last[@]}"
	in_dir clone rm -r a.safetensors sub
	in_dir clone check "$1: git brevis pull" git brevis pull
	in_dir clone holds "$1: pulled" "${last[@]}"
	in_dir clone check "$1: fsck" git brevis fsck
}

# ---- partial, shallow ----

cloned 'blob:none' --filter=blob:none "file://$T/remote.git"
goes_back 'blob:none'
cloned 'blob:limit' --filter=blob:limit=100 "file://$T/remote.git"
goes_back 'blob:limit'
cloned 'tree:0' --filter=tree:0 "file://$T/remote.git"
goes_back 'tree:0'
cloned 'shallow' --depth=1 "file://$T/remote.git"
in_dir clone check 'shallow: fsck' git brevis fsck
put 10 clone/a.safetensors
in_dir clone commit_all . 'on a shallow clone'
check 'push from a shallow clone' git -C clone push -q origin HEAD:shallow
check 'fetch --unshallow' git -C clone fetch -q --unshallow
must git -C clone reset -q --hard HEAD~1
goes_back 'unshallow'
cloned 'shallow and partial' --depth=1 --filter=blob:none "file://$T/remote.git"
cloned 'a single branch, no tags' --single-branch --no-tags "file://$T/remote.git"

# ---- borrowed ----

cloned 'local' --local "$T/work"
goes_back 'local'
cloned 'no hard links' --no-hardlinks "$T/work"
cloned 'shared' --shared "$T/work"
goes_back 'shared'
cloned 'reference' --reference "$T/work" "file://$T/remote.git"
goes_back 'reference'
cloned 'dissociate' --reference "$T/work" --dissociate "file://$T/remote.git"
goes_back 'dissociate'
must git clone -q --shared work lender
must git clone -q --shared --no-checkout lender borrower
must git -C borrower remote remove origin
check 'through two repositories' git -C borrower checkout -q main
in_dir borrower holds 'through two repositories' "${last[@]}"
cloned 'a clone with its git directory elsewhere' --separate-git-dir "$T/separate.git" "file://$T/remote.git"
goes_back 'separate git directory'
check 'separate git directory: the objects lie there' test -d separate.git/lfs/objects

# ---- sparse ----

# sparse DESCRIPTION OPTION...: narrowed, widened, and in between checked out by us.
sparse()
{
	local what=$1
	shift
	rm -rf clone
	must git clone -q --no-checkout "file://$T/remote.git" clone
	cd clone || exit 1
	must git sparse-checkout set "$@"
	check "$what: checkout" git checkout -q main
	holds "$what" sub/b.safetensors 3
	check "$what: not the rest" test ! -e other
	check "$what: no object of it" test ! -e "$(object_of . other/d.safetensors)"
	rm sub/b.safetensors
	check "$what: git brevis pull" git brevis pull
	holds "$what: pulled" sub/b.safetensors 3
	check "$what: pull brings not the rest" test ! -e other
	check "$what: an old revision" git checkout -q HEAD~1
	holds "$what: an old revision" sub/b.safetensors 2
	must git checkout -q main
	in_dir sub run git brevis status
	exits 0 "$what: git brevis status"
	run git brevis ls-files
	contains "$what: ls-files knows the rest" "$T/out" other/d.safetensors
	put 11 sub/b.safetensors
	check "$what: commit" git commit -qam 'sparse'
	check "$what: push" git push -q origin HEAD:sparse
	check "$what: reapply" git sparse-checkout reapply
	check "$what: disable" git sparse-checkout disable
	holds "$what: all of it" a.safetensors 3 sub/b.safetensors 11 other/d.safetensors 9
	must git push -q origin :sparse
	cd ..
}
sparse 'cone' --cone sub
sparse 'cone, sparse index' --cone --sparse-index sub
sparse 'no cone' --no-cone '/sub/*' '!/sub/deep'

# A pattern that leaves out one file of a directory.
must git -C clone sparse-checkout set --no-cone '/*' '!/sub/deep/*.safetensors'
check 'no cone: the file is gone' test ! -e clone/sub/deep/c.safetensors
in_dir clone looks_clean 'no cone: a file left out'
must git clone -q --filter=blob:none --sparse "file://$T/remote.git" both
in_dir both check 'sparse and partial: pull' git brevis pull
in_dir both holds 'sparse and partial' a.safetensors 3
check 'sparse and partial: set' git -C both sparse-checkout set sub
in_dir both holds 'sparse and partial: wider' a.safetensors 3 sub/b.safetensors 3

nothing_left 'at the end' work clone both borrower lender separate.git
done_testing
