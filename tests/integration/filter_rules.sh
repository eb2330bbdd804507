#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What clean and smudge do with what is not simply a checkpoint: pointers, nothing, archives, plain
# LFS objects, links, odd names; and that git's ways of running them agree.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

new_remote remote.git
new_repo work
cd work || exit 1
must git remote add origin "file://$T/remote.git"
cp "$DEMO" model.safetensors
commit_all . 'a checkpoint'
must git push -q origin main
archive=$(object_of . model.safetensors)
git cat-file blob HEAD:model.safetensors >"$T/pointer"
absent=$(printf %064d 7)

# ---- pointers and nothing ----

# verbatim DESCRIPTION FILE: clean gives back what it got.
verbatim()
{
	git brevis clean any.safetensors <"$2" >"$T/cleaned" 2>"$T/err"
	same_bytes "clean gives back $1" "$T/cleaned" "$2"
}
verbatim 'a pointer' "$T/pointer"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12345\n' "$absent" >"$T/p"
verbatim 'a pointer to an object that is not here' "$T/p"

# What only resembles a pointer is content, with its exact bytes, unless git holds it for the path.
resembling()
{
	git brevis clean any.safetensors <"$2" >"$T/cleaned" 2>"$T/err"
	git brevis smudge any.safetensors <"$T/cleaned" >"$T/smudged" 2>"$T/err"
	check "$1 becomes a pointer" git brevis pointer --check "$T/cleaned"
	is "$1 is not taken for that itself" "$(cmp -s "$T/cleaned" "$2" && echo same)" ""
	same_bytes "$1 comes back with its bytes" "$T/smudged" "$2"
	cp "$2" held.safetensors
	must without_filter git add held.safetensors
	must git commit -qm "$1"
	must touch held.safetensors
	is_clean "$1 that git holds stays"
	git brevis clean held.safetensors <"$2" >"$T/cleaned" 2>"$T/err"
	same_bytes "$1 that git holds is given back" "$T/cleaned" "$2"
	must git reset -q --hard HEAD^
}
printf 'version https://git-lfs.github.com/spec/v1\next-0-foo sha256:%s\noid sha256:%s\nsize 12345\n' \
	"$absent" "$absent" >"$T/p"
resembling 'a pointer with an extension line' "$T/p"
printf 'version https://hawser.github.com/spec/v1\noid sha256:%s\nsize 12345\n' "$absent" >"$T/p"
resembling 'a pointer of the older version' "$T/p"
printf 'version https://git-lfs.github.com/spec/v1\r\noid sha256:%s\r\nsize 12345\r\n' "$absent" \
	>"$T/p"
resembling 'a pointer with CRLF' "$T/p"

: >"$T/nothing"
verbatim 'nothing' "$T/nothing"
run git brevis smudge any.safetensors
is 'smudge makes nothing of nothing' "$RC $(stat -c %s "$T/out")" '0 0'
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 0\n' \
	"$(sha256sum <"$T/nothing" | cut -d' ' -f1)" >"$T/p"
git brevis smudge any.safetensors <"$T/p" >"$T/smudged" 2>"$T/err"
is 'smudge makes nothing of a pointer of size 0' "$? $(stat -c %s "$T/smudged")" '0 0'
printf 'raw bytes that somebody committed' >"$T/raw"
git brevis smudge any.safetensors <"$T/raw" >"$T/smudged" 2>"$T/err"
same_bytes 'smudge passes through what is no pointer' "$T/smudged" "$T/raw"

# ---- an archive in the work tree, as a stock `git lfs pull` may leave it ----

git brevis clean model.safetensors <"$archive" >"$T/cleaned" 2>"$T/err"
same_bytes 'an archive yields its own pointer' "$T/cleaned" "$T/pointer"
must cp "$archive" model.safetensors
must git add -A
is 'an archive in the place of its file is no change' "$(git diff --cached --name-only)" ""
check 'git brevis checkout repairs it' git brevis checkout
same_bytes 'with every byte' model.safetensors "$DEMO"
is_clean 'clean after the repair'
must git init -q "$T/elsewhere"
in_dir "$T/elsewhere" git brevis clean x.safetensors <"$archive" >"$T/cleaned" 2>"$T/err"
same_bytes 'also where the archive was unknown' "$T/cleaned" "$T/pointer"
same_bytes 'and there it is stored as it is' \
	"$(object_path "$T/elsewhere" "$(basename "$archive")")" "$archive"
git cat-file blob HEAD:model.safetensors >model.safetensors
must git add -A
is 'a pointer in the place of its file is no change' "$(git diff --cached --name-only)" ""
check 'git brevis checkout completes it' git brevis checkout
same_bytes 'with every byte too' model.safetensors "$DEMO"
printf 'an edit of the user' >model.safetensors
git brevis checkout >"$T/out" 2>&1
is 'git brevis checkout keeps an edit' "$(cat model.safetensors)" 'an edit of the user'
must git checkout -q -- model.safetensors
same_bytes 'git checkout brings the file back' model.safetensors "$DEMO"

# ---- empty files, links, names ----

: >empty.safetensors
must ln -s model.safetensors link.safetensors
mkdir -p 'dir with space'
names=('a space.safetensors' 'quote"s.safetensors' "apo'strophe.safetensors" '[1]*?.safetensors'
	$'new\nline.safetensors' $'tab\t.safetensors' 'back\slash.safetensors' 'ünïcödé-模型.safetensors'
	'-dash.safetensors' 'dir with space/&& ;`.safetensors' '%f %% .safetensors')
for name in "${names[@]}"; do
	{
		cat "$DEMO"
		printf '%s' "$name"
	} >"./$name"
done
commit_all . 'odd names'
is_clean 'clean with odd names'
is 'an empty file is empty in git' "$(git cat-file -s HEAD:empty.safetensors)" 0
is 'a link is its target in git' "$(git cat-file blob HEAD:link.safetensors)" model.safetensors
for name in "${names[@]}"; do
	git cat-file blob "HEAD:$name" | grep -q '^oid sha256:' || break
done
is 'every odd name has a pointer' "$name" "${names[-1]}"
must git push -q origin main
listing . >"$T/listing"
must git clone -q "file://$T/remote.git" "$T/clone"
listing "$T/clone" >"$T/cloned"
same_bytes 'a clone has them all' "$T/cloned" "$T/listing"
is 'the link is a link' "$(readlink "$T/clone/link.safetensors")" model.safetensors
is_clean 'and is clean' "$T/clone"
must env GIT_BREVIS_SKIP_SMUDGE=1 git clone -q "file://$T/remote.git" "$T/later"
in_dir "$T/later" check 'pull' git brevis pull
listing "$T/later" >"$T/cloned"
same_bytes 'pull brings them all' "$T/cloned" "$T/listing"
is 'the link is a link' "$(readlink "$T/later/link.safetensors")" model.safetensors
is_clean 'and it is clean' "$T/later"

# ---- git's ways of running the filter agree ----

must git -C "$T" clone -qn "file://$T/remote.git" oneshot
must one_by_one git -C "$T/oneshot" checkout -q main
listing "$T/oneshot" >"$T/cloned"
same_bytes 'smudge one by one restores the same' "$T/cloned" "$T/listing"
must rm -rf "$T/oneshot/.git/index" "$T/oneshot/.git/lfs"
must one_by_one git -C "$T/oneshot" add -A
is 'clean one by one makes the same pointers' \
	"$(git -C "$T/oneshot" write-tree)" "$(git rev-parse 'HEAD^{tree}')"
must mkdir "$T/exported"
git -C "$T/remote.git" archive HEAD | tar -x -C "$T/exported"
listing "$T/exported" >"$T/cloned"
same_bytes 'git archive in the bare repository has the files' "$T/cloned" "$T/listing"
must mkdir -p "$T/remote.git/info"
must cp .gitattributes "$T/remote.git/info/attributes"
git -C "$T/remote.git" cat-file --filters HEAD:model.safetensors >"$T/smudged"
same_bytes 'git cat-file --filters in the bare repository too' "$T/smudged" "$DEMO"

# ---- line ends ----

must git -c core.autocrlf=true clone -q "file://$T/remote.git" "$T/crlf"
same_bytes 'core.autocrlf changes no byte' "$T/crlf/model.safetensors" "$DEMO"
is "and the clone is clean" "$(git -C "$T/crlf" -c core.autocrlf=true status --porcelain)" ""

# ---- plain LFS objects, from before git-brevis ----

cd "$T" || exit 1
must git lfs install --skip-repo
new_remote plain.git
must git init -q plain
must git -C plain remote add origin "file://$T/plain.git"
echo '*.safetensors filter=lfs diff=lfs merge=lfs -text' >plain/.gitattributes
cp "$DEMO" plain/model.safetensors
commit_all plain 'with git-lfs'
was=$(git -C plain rev-parse HEAD:model.safetensors)
cp work/.gitattributes plain/.gitattributes
must git -C plain commit -qam 'with git-brevis'
is_clean 'a plain LFS object stays what it was' plain
in_dir plain must git lfs install --local --force
must git -C plain push -q origin main
must git clone -q "file://$T/plain.git" plain-clone
same_bytes 'a plain LFS object passes through' plain-clone/model.safetensors "$DEMO"
is_clean 'and is clean' plain-clone
must touch plain-clone/model.safetensors
is_clean 'and after touch' plain-clone
must rm -rf plain-clone/.git/lfs/brevis
must touch plain-clone/model.safetensors
must git -C plain-clone add -A
is 'and keeps its pointer without the map' "$(git -C plain-clone rev-parse :model.safetensors)" "$was"
must rm plain-clone/model.safetensors
in_dir plain-clone check 'git brevis checkout of a plain object' git brevis checkout
same_bytes 'restores it' plain-clone/model.safetensors "$DEMO"

done_testing
