#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Settings and variables of the environment, and which goes before which, where no other script is
# about what they do.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

new_remote remote.git
new_repo work
cp "$DEMO" work/model.safetensors
commit_all work 'a checkpoint'
must git -C work push -q "file://$T/remote.git" main

# ---- pointers in the work tree --------------------------------------------------------------------

# is_pointer FOLDER / is_model FOLDER
is_pointer() { git brevis pointer --check "$1/model.safetensors"; }
is_model() { cmp "$1/model.safetensors" "$DEMO"; }

# cloned WHAT TEST [VARIABLE=VALUE...]: what a clone has in this environment.
cloned()
{
	local what=$1 test=$2
	shift 2
	rm -rf clone
	check "clone with $what" env "$@" git clone -q "file://$T/remote.git" clone
	check "has what $what says" "$test" clone
}

cloned 'GIT_BREVIS_SKIP_SMUDGE=1' is_pointer GIT_BREVIS_SKIP_SMUDGE=1
cloned 'GIT_BREVIS_SKIP_SMUDGE=0' is_model GIT_BREVIS_SKIP_SMUDGE=0
cloned 'GIT_LFS_SKIP_SMUDGE=1' is_pointer GIT_LFS_SKIP_SMUDGE=1
cloned 'both, which differ' is_model GIT_BREVIS_SKIP_SMUDGE=0 GIT_LFS_SKIP_SMUDGE=1
cloned 'both, which differ otherwise' is_pointer GIT_BREVIS_SKIP_SMUDGE=1 GIT_LFS_SKIP_SMUDGE=0
git config --global brevis.skipSmudge true
cloned 'brevis.skipSmudge' is_pointer
is_clean 'a clone of pointers is clean' clone
cloned 'GIT_BREVIS_SKIP_SMUDGE=0 against brevis.skipSmudge' is_model GIT_BREVIS_SKIP_SMUDGE=0
is_clean 'a clone of models, too' clone
git config --global --unset brevis.skipSmudge

# ---- the trace ------------------------------------------------------------------------------------

for value in 1 2 true; do
	run env GIT_BREVIS_TRACE=$value git -C work brevis compress model.safetensors -f -o "$T/archive"
	check "GIT_BREVIS_TRACE=$value: on stderr" grep -q '^git-brevis: trace: ' "$T/err"
done
run env GIT_BREVIS_TRACE="$T/trace" git -C work brevis compress model.safetensors -f -o "$T/archive"
check 'an absolute path: in that file' grep -q '^git-brevis: trace: ' "$T/trace"
is 'and not on stderr' "$(grep -c trace "$T/err")" 0
for value in 0 '' relative; do
	run env GIT_BREVIS_TRACE="$value" git -C work brevis compress model.safetensors -f -o "$T/archive"
	is "GIT_BREVIS_TRACE=$value: nowhere" "$RC $(grep -c trace "$T/err") $(ls work)" '0 0 model.safetensors'
done

# ---- threads --------------------------------------------------------------------------------------

# threads_with VALUE [COMMAND...]: what env says of it.
threads_with()
{
	git -C work config brevis.threads "$1"
	shift
	"$@" git -C work brevis env 2>"$T/err" | sed -n 's/^brevis.threads=//p'
}

is 'brevis.threads' "$(threads_with 3)" 3
is 'GIT_BREVIS_THREADS goes before it' "$(threads_with 3 env GIT_BREVIS_THREADS=5)" 5
is 'a number that is none is not used' "$(threads_with -1)" '0 (one per processor)'
contains 'and is told' "$T/err" 'brevis.threads is not a number from 0 to'
git -C work config --unset brevis.threads

# ---- env tells of all of them ----------------------------------------------------------------------

for key in autocheckout mergeTensors allowIncompletePush skipSmudge; do
	git -C work brevis env >"$T/env"
	check "env: brevis.$key" grep -q "^brevis.$key=false" "$T/env"
	git -C work -c "brevis.$key=true" brevis env >"$T/env"
	check "env: brevis.$key=true" grep -q "^brevis.$key=true" "$T/env"
done
for variable in GIT_BREVIS_THREADS=1 GIT_BREVIS_SKIP_SMUDGE=1 GIT_BREVIS_PROGRESS=0 GIT_BREVIS_TRACE=0; do
	env "$variable" git -C work brevis env >"$T/env"
	check "env: $variable" grep -qx "$variable" "$T/env"
done

# ---- pushes that lack objects ----------------------------------------------------------------------

new_remote other.git
object=$(object_of work model.safetensors)
must mv "$object" kept
run git -C work push "file://$T/other.git" main
exits 1 'a push that lacks an object is refused'
contains 'and says how to push all the same' "$T/err" 'brevis.allowIncompletePush=true'
run git -C work -c brevis.allowIncompletePush=true -c lfs.allowincompletepush=true push "file://$T/other.git" main
exits 0 'brevis.allowIncompletePush lets it pass'
contains 'with a warning' "$T/err" 'pushing in spite of that'
is 'the commit is there' "$(git -C other.git rev-parse main)" "$(git -C work rev-parse main)"
new_remote third.git
run git -C work -c lfs.allowincompletepush=true push "file://$T/third.git" main
exits 0 'lfs.allowincompletepush counts'
new_remote fourth.git
run git -C work -c brevis.allowIncompletePush=false -c lfs.allowincompletepush=true push "file://$T/fourth.git" main
exits 1 'brevis.allowIncompletePush=false goes before it'
must mv kept "$object"

# ---- stores -----------------------------------------------------------------------------------------

# pushed_to NAME [SETTING]: how an object with a stock pointer is kept in a new store.
pushed_to()
{
	must git init -q "repo-$1"
	must git -C "repo-$1" lfs install --local
	in_dir "repo-$1" must git brevis install
	in_dir "repo-$1" must git lfs track '*.safetensors'
	in_dir "repo-$1" must git brevis store init "$T/store-$1"
	cp "$DEMO" "repo-$1/model.safetensors"
	commit_all "repo-$1" 'a checkpoint'
	new_remote "remote-$1.git"
	must git -C "repo-$1" ${2:+-c "$2"} push -q "file://$T/remote-$1.git" main
	git -C "repo-$1" brevis store ls -l --json >"$T/listed" 2>"$T/said"
	json_says "$T/listed" '[(o["content"], o["size"] < o["original_size"]) for o in j["objects"]]'
}

is 'a store has safetensors compressed' "$(pushed_to one)" "[('compressed', True)]"
is 'brevis.store.compress=false sends them as they are' \
	"$(pushed_to two brevis.store.compress=false)" "[('plain', False)]"

done_testing
