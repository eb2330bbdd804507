#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Hooks: there after install in any order with git-lfs's, never in the place of somebody else's, and
# what they do: upload, refuse a push that would leave the remote broken, complete a checkout.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# a_commit DIR: a repository with one tracked checkpoint and a remote, hooks as they are.
a_commit()
{
	printf '*.safetensors filter=brevis diff=brevis merge=brevis -text\n' >"$1/.gitattributes"
	{
		cat "$DEMO"
		printf '%s' "$1"
	} >"$1/model.safetensors"
	commit_all "$1" 'a checkpoint'
	new_remote "$1.git"
	must git -C "$1" remote add origin "file://$T/$1.git"
}

# hooks_work DESCRIPTION DIR: a push uploads; a push without the object is refused.
hooks_work()
{
	local object
	object=$(object_of "$2" model.safetensors)
	new_remote "$2-empty.git"
	must mv "$object" "$T/aside"
	run git -C "$2" push "file://$T/$2-empty.git" HEAD:main
	is "$1: a push without the object is refused" "$((RC != 0))" 1
	is "$1: nothing arrived" "$(git -C "$2-empty.git" for-each-ref)" ""
	if grep '^git-brevis: error: ' "$T/err" | grep -q 'model\.safetensors'; then
		ok "$1: the refusal names the path"
	else
		not_ok "$1: the refusal names the path" "$T/err"
	fi
	must mv "$T/aside" "$object"
	check "$1: push" git -C "$2" push -q origin HEAD:main
	check "$1: the object was uploaded" test -e "$(object_path "$T/$2.git" "$(basename "$object")")"
}

# ---- all orders ----

must git init -q only
in_dir only check 'install in a repository' git brevis install
a_commit only
hooks_work 'git-brevis alone' only

must git init -q after
in_dir after must git lfs install --local
in_dir after check 'install after git-lfs' git brevis install
a_commit after
hooks_work 'after git-lfs' after

must git init -q before
in_dir before must git brevis install
in_dir before run git lfs install --local
note "git lfs install after git-brevis: exit code $RC"
a_commit before
hooks_work 'before git-lfs' before

must git init -q twice
in_dir twice must git brevis install
cp -a twice/.git/hooks once
in_dir twice check 'install twice' git brevis install
check 'changes nothing' diff -r once twice/.git/hooks
a_commit twice
hooks_work 'installed twice' twice

must git init -q tracked
in_dir tracked must git brevis track '*.safetensors'
a_commit tracked
hooks_work 'by track alone' tracked

# ---- somebody else's hooks ----

must git init -q foreign
for hook in pre-push post-checkout post-merge post-commit; do
	printf '#!/bin/sh\n# a hook of somebody else\necho %s >>"%s/foreign-ran"\n' "$hook" "$T" \
		>"foreign/.git/hooks/$hook"
	chmod +x "foreign/.git/hooks/$hook"
done
cp -a foreign/.git/hooks "$T/foreign-hooks"
in_dir foreign run git brevis install
contains 'install says which hook it left alone' "$T/err" pre-push
for hook in pre-push post-checkout post-merge post-commit; do
	same_bytes "somebody's $hook keeps its bytes" "foreign/.git/hooks/$hook" "foreign-hooks/$hook"
done
in_dir foreign run git brevis install --manual
contains 'install --manual prints the lines to add' "$T/out" 'git brevis hook pre-push'
contains 'and those of git-lfs' "$T/out" 'git lfs'
in_dir foreign run git brevis uninstall
for hook in pre-push post-checkout; do
	same_bytes "uninstall keeps somebody's $hook" "foreign/.git/hooks/$hook" "foreign-hooks/$hook"
done
must git brevis install --skip-repo
must git init -q mixed
printf '#!/bin/sh\n# a hook of somebody else\n' >mixed/.git/hooks/pre-push
in_dir mixed run git brevis install
contains 'install says what comes of it' "$T/err" 'uploads no objects'
in_dir mixed run git brevis uninstall
exits 0 'uninstall beside a pre-push of somebody else'
is 'advises nothing that git-lfs refuses' "$(grep -c 'git lfs update' "$T/err")" 0
contains 'but what the hook has to run' "$T/err" 'git lfs pre-push'
must git brevis install --skip-repo
cp "$DEMO" foreign/model.bin
in_dir foreign run git brevis track '*.bin'
contains 'track says what comes of a hook without git-lfs' "$T/err" 'uploads no objects'
must git init -q given-up
in_dir given-up must git brevis install
in_dir given-up run git brevis uninstall
exits 0 'uninstall'
contains 'tells whose hooks are left, and how to remove them' "$T/out" 'git lfs uninstall --local'
must git brevis install --skip-repo

# ---- core.hooksPath ----

mkdir "$T/shared-hooks"
must git init -q elsewhere
must git -C elsewhere config core.hooksPath "$T/shared-hooks"
ls elsewhere/.git/hooks >"$T/hooks-before"
in_dir elsewhere must git brevis install
check 'core.hooksPath is where the hook is' test -x "$T/shared-hooks/pre-push"
ls elsewhere/.git/hooks >"$T/hooks-after"
same_bytes 'and not in .git/hooks' "$T/hooks-after" "$T/hooks-before"
a_commit elsewhere
hooks_work 'core.hooksPath' elsewhere
must git init -q relative
must git -C relative config core.hooksPath githooks
mkdir -p relative/githooks relative/sub
in_dir relative/sub must git brevis install
check 'a relative core.hooksPath is below the work tree' test -x relative/githooks/pre-push
must git init -q worktrees
in_dir worktrees must git brevis install
must git -C worktrees commit -q --allow-empty -m empty
must git -C worktrees worktree add -q "$T/worktree"
in_dir worktree check 'install in a worktree' git brevis install
is 'puts no hooks into its private directory' \
	"$(find worktrees/.git/worktrees -name hooks)" ""

# Hooks that are switched off: one line for whom it concerns, nothing else, and git goes on.
must git init -q off
must git -C off config core.hooksPath /dev/null
in_dir off run git brevis track '*.safetensors'
exits 0 'track where hooks are off'
is 'says so in one line' "$(grep -c 'core\.hooksPath is /dev/null' "$T/err") \
$(grep -c 'hook' "$T/err")" '1 1'
cp "$DEMO" off/model.safetensors
run git -C off add -A
exits 0 'git add where hooks are off'
is 'says it in at most one line' "$(($(grep -c hook "$T/err") < 2)) $(grep -c error "$T/err")" '1 0'
must git -C off commit -qm 'a checkpoint'
in_dir off run git brevis install
exits 1 'install where hooks are off'
contains 'tells of it' "$T/err" 'core.hooksPath is /dev/null'
in_dir off run git brevis env
contains 'env tells of it' "$T/out" 'hook pre-push: off'
must git init -q nowhere
must git -C nowhere config core.hooksPath "$T/no/such/hooks"
in_dir nowhere run git brevis track '*.safetensors'
exits 0 'track with a hooks path that cannot be made'
is 'warns in one line' "$(grep -c "$T/no/such/hooks" "$T/err")" 1
in_dir nowhere run git brevis install
exits 128 'install says that it fails'
one_line 'and why' "$T/no/such/hooks" 'no such file'

# A hook that leads nowhere, or is blank, was made by somebody.
must git init -q blank
must ln -s "$T/not-there-yet" blank/.git/hooks/pre-push
: >blank/.git/hooks/post-merge
in_dir blank run git brevis track '*.safetensors'
in_dir blank run git brevis install
exits 1 'install beside a link to nothing and a blank hook'
is 'leaves both' "$(readlink blank/.git/hooks/pre-push) $(stat -c %s blank/.git/hooks/post-merge)" \
	"$T/not-there-yet 0"
check 'and makes nothing where the link leads' test ! -e "$T/not-there-yet"

# ---- pushing on what came from elsewhere ----

# One LFS server for all of these repositories: a push to it asks what it has.
start_fixture_lfs "$T/lfs-server"
must git init -q long
use_lfs_server long "$LFS_URL"
in_dir long must git brevis track '*.safetensors'
a_commit long
printf 'second revision' >>long/model.safetensors
commit_all long 'second revision'
must git -C long push -q origin HEAD:main
# A clone has the objects of its checkout only.
must git clone -q -c lfs.url="$LFS_URL" -c lfs.locksverify=false "file://$T/long.git" latest
in_dir latest must git brevis install
check 'a clone lacks the object of the first revision' \
	test ! -e "$(object_of latest model.safetensors HEAD^)"
new_remote fork.git
check 'push by URL of a history whose objects the server has' \
	git -C latest push -q "file://$T/fork.git" HEAD:main
new_remote second.git
must git -C latest remote add second "file://$T/second.git"
check 'push to a second remote whose server has them' git -C latest push -q second HEAD:main
printf 'third revision' >>latest/model.safetensors
commit_all latest 'third revision'
check 'push by URL of a new commit' git -C latest push -q "file://$T/fork.git" HEAD:main
oid=$(basename "$(object_of latest model.safetensors)")
is 'brings its object' "$(find "$T/lfs-server" -name "$oid" | wc -l)" 1
printf 'fourth revision' >>latest/model.safetensors
commit_all latest 'fourth revision'
must rm "$(object_of latest model.safetensors)"
run git -C latest push "file://$T/fork.git" HEAD:main
is 'what no remote ever had is refused' "$((RC != 0))" 1
contains 'by us, in time' "$T/err" 'git-brevis: error: not pushed'

# ---- git lfs prune keeps what was never pushed ----

# unpushed_survives DESCRIPTION DIR
unpushed_survives()
{
	local first second
	cp "$DEMO" "$2/model.bin"
	commit_all "$2" first
	first=$(object_of "$2" model.bin)
	printf second >>"$2/model.bin"
	commit_all "$2" second
	second=$(object_of "$2" model.bin)
	in_dir "$2" run git lfs prune
	exits 0 "$1: git lfs prune"
	check "$1: keeps the unpushed object of the last commit" test -e "$second"
	check "$1: and that of the commit before" test -e "$first"
}

for words in binary -diff 'binary lockable' 'diff=lfs merge=lfs -text -diff'; do
	repo=prune-${words//[^a-z]/_}
	must git init -q "$repo"
	new_remote "$repo.git"
	must git -C "$repo" remote add origin "file://$T/$repo.git"
	must git -C "$repo" config lfs.fetchrecentcommitsdays 0
	must git -C "$repo" config lfs.fetchrecentrefsdays 0
	printf '*.bin %s\n' "$words" >"$repo/.gitattributes"
	in_dir "$repo" run git brevis track '*.bin'
	exits 0 "track over '$words'"
	is "'$words': git shows diffs" "$(git -C "$repo" check-attr diff m.bin)" \
		'm.bin: diff: brevis'
	unpushed_survives "'$words'" "$repo"
done

# What another line says last cannot be undone there: it is said.
must git init -q later
printf '*.bin text\n*.b* binary\n' >later/.gitattributes
in_dir later run git brevis track '*.bin'
exits 0 'track before a line that says binary'
contains 'warns of what git lfs prune would do' "$T/err" 'git lfs prune'
cp "$DEMO" later/model.bin
commit_all later 'a checkpoint'
in_dir later run git brevis status
contains 'so does status' "$T/err" 'model.bin: git shows no diff'
in_dir later run git brevis env
contains 'and env' "$T/out" 'files with a hidden diff: 1'
printf '*.bin -filter\n' >later/sub-attributes
must mkdir later/sub
must mv later/sub-attributes later/.git/info/attributes
in_dir later run git brevis track '*.bin'
contains 'track warns if another file has the last word' "$T/err" 'another line'

# ---- raw files ----

must git init -q raw
in_dir raw must git brevis track '*.safetensors'
a_commit raw
must cp "$DEMO" raw/stray.safetensors
must without_filter git -C raw add stray.safetensors
must git -C raw commit -qm 'a raw file'
run git -C raw push origin HEAD:main
if grep '^git-brevis: ' "$T/err" | grep -q 'stray\.safetensors'; then
	ok 'pre-push names a raw file'
else
	not_ok 'pre-push names a raw file' "$T/err"
fi
if grep -q 'stray\.safetensors.*renormalize\|renormalize.*stray\.safetensors' "$T/err"; then
	ok 'with the remedy'
else
	not_ok 'with the remedy' "$T/err"
fi
must git -C raw reset -q --hard HEAD^

# A symbolic link is not raw content; a small file with the same bytes is.
ln -s model.safetensors raw/link.safetensors
commit_all raw 'a link'
must ln -sf elsewhere/model.safetensors raw/link.safetensors
commit_all raw 'another link'
must git -C raw rm -q link.safetensors
must git -C raw commit -qm 'no link'
check 'push of links' git -C raw push origin HEAD:links
is 'names none as raw' "$(grep -c 'link\.safetensors' "$T/.said")" 0
printf 'model.safetensors' >raw/small.safetensors
must without_filter git -C raw add small.safetensors
ln -s model.safetensors raw/link.safetensors
must git -C raw add link.safetensors
must git -C raw commit -qm 'a link and a raw file'
run git -C raw push origin HEAD:side
is 'a small raw file is named' "$(grep -c 'safetensors: 17 bytes are committed raw' "$T/err")" 1
quoted="it's; x.safetensors"
printf 'raw' >"raw/$quoted"
must without_filter git -C raw add "$quoted"
must git -C raw commit -qm 'a name with a quote'
run git -C raw push origin HEAD:quoted
contains 'a name in a command is one word for a shell' "$T/err" \
	"git add --renormalize -- 'it'\\''s; x.safetensors'\`"
must git -C raw reset -q --hard HEAD~

# ---- damage is not passed on ----

printf 'to be damaged' >>raw/model.safetensors
commit_all raw 'a checkpoint to be damaged'
object=$(object_of raw model.safetensors)
cp "$object" "$T/aside"
printf X | must dd of="$object" bs=1 seek=5000 conv=notrunc
run git -C raw push origin HEAD:links
is 'a push of a damaged object is refused' "$((RC != 0))" 1
is 'with path, cause and remedy' "$(grep -cE \
	'^git-brevis: error: model\.safetensors: .* is damaged: .*git brevis fsck' "$T/err")" 1
is 'and nothing arrives' "$(git -C raw.git rev-parse links)" "$(git -C raw rev-parse HEAD~2)"
must cp "$T/aside" "$object"
check 'once it is whole, it is pushed' git -C raw push -q origin HEAD:links

# Deleting a remote branch needs no objects.
must git -C raw push -q origin HEAD:other
rm -rf raw/.git/lfs/objects
check 'deleting a branch is no push of objects' git -C raw push -q origin :other

# An object that only the remote has was not pushed by us: nothing to refuse.
must git clone -q "file://$T/only.git" receiver
must rm -rf receiver/.git/lfs/objects
must git -C receiver commit -q --allow-empty -m more
in_dir receiver must git brevis install
check 'objects that the remote has may be absent here' git -C receiver push -q origin main

# ---- completing a checkout ----

export GIT_BREVIS_SKIP_SMUDGE=1
must git clone -q "file://$T/only.git" auto
in_dir auto must git brevis install
must git -C auto checkout -q -b side
contains 'without brevis.autocheckout a pointer stays' auto/model.safetensors 'oid sha256:'
must git -C auto config brevis.autocheckout true
check 'checkout with brevis.autocheckout' git -C auto checkout -q main
same_bytes 'post-checkout completes the file' auto/model.safetensors only/model.safetensors
is_clean 'and leaves the clone clean' auto

GIT_BREVIS_SKIP_SMUDGE='' must git -C only pull -q --rebase origin main
printf more >>only/model.safetensors
GIT_BREVIS_SKIP_SMUDGE='' commit_all only 'changed'
must git -C only push -q origin HEAD:main
check 'a merge with brevis.autocheckout' git -C auto pull -q --ff-only origin main
same_bytes 'post-merge completes the file' auto/model.safetensors only/model.safetensors
is_clean 'and leaves the clone clean again' auto

# What is complete is not touched, and git's own work does not fail for ours.
must rm "$(object_of auto model.safetensors)"
must git -C auto config remote.origin.url "file://$T/nowhere.git"
run git -C auto checkout -q -b third
exits 0 'a checkout without the object of a complete file'
is 'says nothing' "$(cat "$T/err")" ""
must rm auto/model.safetensors
must git -C auto checkout -q -- model.safetensors
run git -C auto checkout -q -b fourth
exits 0 'a checkout whose pointer cannot be completed'
contains 'says why' "$T/err" 'git-brevis: error: model.safetensors'

done_testing
