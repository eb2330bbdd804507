#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What goes wrong for people whose objects travel: temporary files on another disk, objects that a server
# has lost while git believes it has them, agents that are not there, hubs that want large objects in
# parts, remotes over SSH.
# shellcheck source=../support/own_mounts.sh
. "$(dirname "$0")/../support/own_mounts.sh"
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/stores.sh
. "$TOP/tests/support/stores.sh"

REVISION=$TOP/tests/corpus/demo-revision.safetensors
must git lfs install --skip-repo
use_store directory

# ---- a server that lost what was pushed -------------------------------------------------------------

new_stored_repo work
mkdir work/models work/stock
cp "$DEMO" work/models/demo.safetensors
cp "$REVISION" work/stock/model.safetensors
commit_all work 'a checkpoint'
must git -C work push -q origin main main:side
lost=$(basename "$(object_of work models/demo.safetensors)")
remove_stored "$(object_key "$lost")"
must git -C work push -q origin :side
# git-lfs asks nobody about commits that a remote-tracking branch has.
must git -C work push -q origin main:fresh
run in_dir work git brevis store verify
exits 1 'store verify finds an object that the store has lost'
is 'names it, its file, and what brings it back' \
	"$(grep -cE "^$lost models/demo\.safetensors: missing; .*git lfs push --object-id" "$T/out")" 1
check 'git lfs push --all brings it back' git -C work lfs push --all origin
run in_dir work git brevis store verify
exits 0 'and verify has nothing to find'
check 'a clone is complete' git clone -q -b fresh work.git clone
same_bytes 'with every byte' clone/models/demo.safetensors "$DEMO"

# ---- clones that want little -------------------------------------------------------------------------

# Nothing is brought of what is not in the work tree. git-lfs's prune may die of a blob that is not here;
# whatever it does, all is in order afterwards.
must git -C work.git config uploadpack.allowFilter true
must git clone -q --filter=blob:none --sparse "file://$T/work.git" little
must git -C little sparse-checkout set models
in_dir little check 'git brevis pull in a sparse and partial clone' git brevis pull
same_bytes 'brings what is wanted' little/models/demo.safetensors "$DEMO"
check 'and not the object of another directory' test ! -e "$(object_path "$T/little" "$(lfs_oid work stock/model.safetensors)")"
in_dir little run git lfs prune
note "git lfs prune in a partial clone: exit code $RC"
in_dir little check 'pull after git lfs prune' git brevis pull
in_dir little run git brevis fsck
exits 0 'all is in order'
is_clean 'and clean' little

# ---- disks of their own -------------------------------------------------------------------------------

# The objects of a clone on one file system, those of the store on another, and no usual place for
# temporary files: whatever is renamed is renamed within one of them.
if [ -n "$OWN_MOUNTS" ]; then
	must env GIT_LFS_SKIP_SMUDGE=1 git clone -q work.git disks
	small_disk "$T/disks/.git/lfs" 40
	export TMPDIR=/nonexistent
	in_dir disks check 'git lfs pull to a disk of its own' git lfs pull
	in_dir disks check 'git brevis pull, too' git brevis pull
	printf more >>disks/models/demo.safetensors
	printf more >>disks/stock/model.safetensors
	commit_all disks 'more'
	check 'push from there' git -C disks push -q origin main
	unset TMPDIR
	same_bytes 'the stock file came' <(git -C disks cat-file --filters HEAD^:stock/model.safetensors) "$REVISION"
	same_bytes 'the other one, too' <(git -C disks cat-file --filters HEAD^:models/demo.safetensors) "$DEMO"
	is 'no temporary file is left' "$(find disks/.git/lfs/tmp directory/store -type f \
		-not -path '*/objects/*' -not -name brevis-store.json)" ''
	check 'another clone gets what was pushed' git -C clone pull -q origin main
	same_bytes 'with every byte' clone/stock/model.safetensors disks/stock/model.safetensors
else
	not_here 'objects and store on disks of their own' 'no mount namespaces on this machine'
fi

# ---- an agent that nobody registered --------------------------------------------------------------------

# With stock git-lfs alone a clone gets pointers, of both kinds, and is told what is missing.
cp "$GIT_CONFIG_GLOBAL" stock-only
for section in filter.brevis lfs.customtransfer.brevis 'lfs.brevis::'; do
	git config -f stock-only --remove-section "$section"
done
run env GIT_CONFIG_GLOBAL="$T/stock-only" GIT_LFS_SKIP_SMUDGE=1 git clone -q work.git stranger
exits 0 'a clone by somebody who has git-lfs alone'
contains 'has pointers' stranger/models/demo.safetensors 'oid sha256:'
in_dir stranger run env GIT_CONFIG_GLOBAL="$T/stock-only" git brevis env
contains 'env says that nobody would bring the objects, and what helps' "$T/out" \
	"$STORE_URL, by nobody: run \`git brevis install\`"
in_dir stranger run git brevis env
contains 'once installed, who does' "$T/out" "$STORE_URL, by the agent brevis"
in_dir stranger check 'and does' git brevis pull
in_dir stranger check 'of stock pointers, too' git lfs pull
same_bytes 'with every byte' stranger/stock/model.safetensors clone/stock/model.safetensors

# ---- remotes over SSH -------------------------------------------------------------------------------------

must git init -q ssh
must git -C ssh remote add origin git@git.example.org:team/models.git
in_dir ssh run git brevis env
contains 'env tells the endpoint of a remote over SSH' "$T/out" \
	'Endpoint=https://git.example.org/team/models.git/info/lfs'
contains 'and who is logged in there' "$T/out" 'SSH=git@git.example.org:team/models.git'

# ---- hubs that want large objects in parts ------------------------------------------------------------------

# A pointer is all that is looked at. Its object is not here, so that no push gets anywhere.
new_repo huge
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 5000000001\n' 7 >huge/model.safetensors
commit_all huge 'a huge checkpoint'

# told_of DESCRIPTION URL COUNT: a push there tells so often that hubs may want parts.
told_of()
{
	git -C huge remote remove origin 2>/dev/null
	must git -C huge remote add origin "$2"
	echo "refs/heads/main $(git -C huge rev-parse main) refs/heads/main $(printf %040d 0)" |
		in_dir huge git brevis hook pre-push origin "$2" >"$T/out" 2>"$T/err"
	is "$1" "$? $(grep -c '^git-brevis: note: 1 object over 5 GB: .*git brevis install --multipart' \
		"$T/err")" "1 $3"
}
told_of 'a push of an object over 5 GB to a hub tells of parts' https://hub.example.org/team/model 1
told_of 'over SSH, too' git@hub.example.org:team/model 1
told_of 'to a directory it does not' "file://$T/work.git" 0
told_of 'nor to a path' "$T/work.git" 0
must git -C huge config lfs.url "brevis::$STORE_URL"
told_of 'nor where a store has the objects' https://hub.example.org/team/model 0
must git -C huge config --unset lfs.url
in_dir huge must git brevis install --local --multipart
told_of 'nor once the agent is there' https://hub.example.org/team/model 0

done_testing
