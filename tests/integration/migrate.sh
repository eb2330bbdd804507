#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `git brevis migrate`: files move between raw blobs, stock Git LFS and archives in a new commit.
# The work tree keeps its bytes, `git status` stays clean, what was committed stays readable; what is
# refused, fails or is killed changes nothing.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

REVISION=$TOP/tests/corpus/demo-revision.safetensors
ODD=$'sub/a "b" [1] \\c \xc3\xa9.safetensors'
must git lfs install --skip-repo

# A repository with raw checkpoints, each 2 MB or 30 KB.
raw_repo()
{
	must git init -q "$1"
	must mkdir -p "$1/sub"
	cp "$DEMO" "$1/model.safetensors"
	cp "$REVISION" "$1/$ODD"
	chmod +x "$1/$ODD"
	head -c 30000 "$DEMO" >"$1/cut.safetensors"
	: >"$1/empty.safetensors"
	echo text >"$1/notes.txt"
	ln -s model.safetensors "$1/link.safetensors"
	commit_all "$1" 'raw files'
}

# What a repository holds that matters: HEAD, index, work tree with modes, stray files.
state()
{
	git -C "$1" rev-parse HEAD
	git -C "$1" ls-files -s
	listing "$1"
	(cd "$1" && find . -name .git -prune -o -printf '%m %y %p\n' | LC_ALL=C sort)
	(cd "$1/.git" && echo index* *.lock refs/heads/*)
}

# work_listing REPO: the work tree without the files that a migration changes.
work_listing()
{
	listing "$1" | grep -v -e '\.gitattributes$' -e '\.lfsconfig$'
}

# unchanged DESCRIPTION REPO: since $T/before was written.
unchanged()
{
	state "$2" >"$T/after"
	same_bytes "$1: nothing was changed" "$T/before" "$T/after"
}

# moved DESCRIPTION REPO: status is clean, also by content, and the work tree is as in $T/work-before.
moved()
{
	is_clean "$1: clean" "$2"
	find "$2" -name '*.safetensors' -exec touch -h {} +
	is_clean "$1: clean after touch" "$2"
	work_listing "$2" >"$T/work-after"
	same_bytes "$1: the work tree has its bytes" "$T/work-after" "$T/work-before"
	is "$1: no temporary file" "$(find "$2/.git/lfs/tmp" -type f 2>/dev/null)" ""
}

# forms REPO: "FORM PATH" of each checkpoint in the index, by what is stored.
forms()
{
	git -C "$1" ls-files '*.safetensors' -z | while IFS= read -r -d '' path; do
		blob=$(git -C "$1" rev-parse ":$path")
		git -C "$1" cat-file blob "$blob" >"$T/blob"
		oid=$(sed -n '2s/^oid sha256://p' "$T/blob" 2>/dev/null | tr -d '\0')
		if [ -z "$oid" ]; then
			echo "raw $path"
		elif cmp -s "$(object_path "$1" "$oid")" "$1/$path"; then
			echo "lfs $path"
		else
			echo "brevis $path"
		fi
	done
}

# ---- there and back -------------------------------------------------------------------------------

new_remote remote.git
raw_repo work
work_listing work >"$T/work-before"
state work >"$T/before"
in_dir work run git brevis migrate import --dry-run
exits 0 'a dry run'
is 'lists what would move' "$(wc -l <"$T/out")" 3
contains 'with forms' "$T/out" 'raw -> brevis  model.safetensors (2.5 MB)'
unchanged 'a dry run' work
mkdir "$T/hooks"
for hook in pre-commit commit-msg prepare-commit-msg; do
	printf '#!/bin/sh\necho ran >>"%s/ran"\nexit 1\n' "$T" >"$T/hooks/$hook"
done
chmod +x "$T"/hooks/*
in_dir work run git -c core.hooksPath="$T/hooks" brevis migrate import -m 'keep archives'
exits 0 'import'
check 'runs no commit hook' test ! -e "$T/ran"
is 'the message is ours' "$(git -C work log -1 --format=%s)" 'keep archives'
is 'one commit, history stays' "$(git -C work rev-list --count HEAD)" 2
moved import work
is 'archives' "$(forms work | cut -d' ' -f1 | sort | uniq -c | tr -s ' \n' ' ')" ' 3 brevis 2 raw '
is 'modes stay' "$(git -C work ls-files -s -- sub | cut -d' ' -f1)" 100755
is 'the link stays' "$(git -C work ls-files -s link.safetensors | cut -d' ' -f1)" 120000
is 'the pattern has its line' "$(cat work/.gitattributes)" \
	'*.safetensors filter=brevis diff=brevis merge=brevis -text'
is 'and its guard' "$(git config -f work/.lfsconfig lfs.fetchexclude)" '*.safetensors'
must git -C work remote add origin "file://$T/remote.git"
must git -C work push -q origin main
must git clone -q "file://$T/remote.git" clone
same_bytes 'a clone restores' clone/model.safetensors "$DEMO"
must git -C clone checkout -q HEAD~1
same_bytes 'so does the commit before' "clone/$ODD" "$REVISION"

in_dir work run git brevis migrate import
exits 0 'import again'
is 'moves nothing' "$(git -C work rev-list --count HEAD)" 2
in_dir work run git brevis migrate export --to=lfs --json model.safetensors
exits 0 'export to lfs'
check 'tells it in JSON' "$PYTHON" -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert [(f["name"], f["from"], f["to"]) for f in d["files"]] == [("model.safetensors", "brevis", "lfs")], d
assert len(d["commit"]) == 40' "$T/out"
contains 'warns of the guard' "$T/err" 'lfs.fetchexclude'
moved 'export to lfs' work
is 'one file is stock' "$(forms work | grep -c ^lfs)" 1
is 'others stay' "$(forms work | grep -c ^brevis)" 2
must git -C work push -q origin main
GIT_LFS_SKIP_SMUDGE=1 must without_filter git clone -q "file://$T/remote.git" stock
in_dir stock must without_filter git -c lfs.fetchexclude= lfs pull -I model.safetensors
same_bytes 'git-lfs alone restores it' stock/model.safetensors "$DEMO"
in_dir work run git brevis migrate export -z
exits 0 'export of all'
is 'lists with NUL' "$(tr '\0' '\n' <"$T/out")" "brevis raw	cut.safetensors
brevis raw	$ODD"
moved 'export of all' work
is 'raw' "$(forms work | grep -c ^raw)" 4
is 'the guard is gone' "$(test -e work/.lfsconfig && cat work/.lfsconfig)" ""
in_dir work run git brevis migrate import --from=lfs
exits 0 'import of stock files'
moved 'import of stock files' work
is 'nothing else' "$(forms work | tr '\n' ,)" \
	"raw cut.safetensors,raw empty.safetensors,raw link.safetensors,brevis model.safetensors,raw $ODD,"
in_dir work run git brevis migrate import --above=1MB --no-commit
exits 0 'import of large files, staged only'
is 'stages' "$(git -C work status --porcelain -z | tr '\0' ,)" \
	"M  .gitattributes,M  .lfsconfig,M  $ODD,"
must git -C work commit -qm 'large files'
moved 'import of large files' work
is 'small ones stay' "$(forms work | head -n 1)" 'raw cut.safetensors'
is 'the odd name has its line' \
	"$(git -C work check-attr -z filter -- "$ODD" | tr '\0' ' ')" "$ODD filter brevis "
must git -C work push -q origin main
must rm -rf clone
must git clone -q "file://$T/remote.git" clone
same_bytes 'a clone restores the odd name' "clone/$ODD" "$REVISION"
check 'git finds nothing wrong' git -C work fsck --no-dangling

# ---- what another line decides ----------------------------------------------------------------------

raw_repo nested
echo '*.safetensors -filter' >nested/sub/.gitattributes
commit_all nested 'a deeper line'
work_listing nested >"$T/work-before"
in_dir nested run git brevis migrate import
exits 1 'a deeper line decides otherwise'
contains 'is told, with the path' "$T/err" 'another line has the last word'
moved 'a deeper line' nested
is 'that file stays raw' "$(forms nested | grep sub/)" "raw $ODD"
is 'others moved' "$(forms nested | grep -c ^brevis)" 2
in_dir nested/sub run git brevis migrate import
exits 0 'from the directory itself'
moved 'from the directory itself' nested
is 'it is that file that changes' "$(cat nested/sub/.gitattributes)" \
	'*.safetensors filter=brevis diff=brevis merge=brevis -text'
must git -C nested config commit.gpgSign true
must git -C nested config gpg.program false
state nested >"$T/before"
in_dir nested run git brevis migrate export
exits 128 'a commit that cannot be signed'
unchanged 'a commit that cannot be signed' nested
must git -C nested config --unset commit.gpgSign

# Files that were committed raw though they are tracked.
must without_filter git -C nested -c core.autocrlf=false commit -q --allow-empty -m marker
cp "$REVISION" nested/model.safetensors
must without_filter git -C nested add model.safetensors
must without_filter git -C nested commit -qm 'without the filter'
work_listing nested >"$T/work-before"
in_dir nested run git brevis migrate import --from=raw
exits 0 'a file that was committed raw'
moved 'a file that was committed raw' nested
is 'becomes an archive' "$(forms nested | grep model)" 'brevis model.safetensors'
is 'by that commit alone' "$(git -C nested show --format= --name-only | tr '\n' ' ')" 'model.safetensors '

# A sparse checkout leaves out what it leaves out.
must git -C nested sparse-checkout set --no-cone '/*' '!/model.safetensors'
check 'left out' test ! -e nested/model.safetensors
in_dir nested run git brevis migrate export --to lfs
exits 0 'export in a sparse checkout'
check 'leaves it out' test ! -e nested/model.safetensors
is_clean 'and clean' nested
must git -C nested sparse-checkout disable
same_bytes 'later it comes' nested/model.safetensors "$REVISION"
is_clean 'clean as well' nested

# ---- objects that are elsewhere ----------------------------------------------------------------------

must git init -q stock-origin
must git -C stock-origin lfs track '*.safetensors'
cp "$DEMO" stock-origin/model.safetensors
cp "$REVISION" stock-origin/other.safetensors
commit_all stock-origin 'stock files'
must git -C stock-origin remote add origin "file://$T/stock.git"
new_remote stock.git
must git -C stock-origin push -q origin main
must git clone -q "file://$T/stock.git" far
must rm -rf far/.git/lfs/objects
work_listing far >"$T/work-before"
in_dir far run git brevis migrate import
exits 0 'missing objects are fetched'
moved 'missing objects' far
is 'stock lines become ours' "$(cat far/.gitattributes)" \
	'*.safetensors filter=brevis diff=brevis merge=brevis -text'
GIT_LFS_SKIP_SMUDGE=1 must git clone -q "file://$T/stock.git" lost
must rm -rf lost/.git/lfs/objects "$T/stock.git/lfs/objects"
state lost >"$T/before"
in_dir lost run git brevis migrate import
exits 128 'objects that are nowhere'
contains 'are refused by name' "$T/err" 'model.safetensors: its object'
unchanged 'objects that are nowhere' lost

# ---- refusals ----------------------------------------------------------------------------------------

# refuses WHAT WORD...: import in repository "no" fails with one line, and nothing changes.
refuses()
{
	local what=$1
	shift
	state no >"$T/before"
	in_dir no run git brevis migrate import
	exits 128 "$what is refused"
	one_line "$what: one line" "$@"
	unchanged "$what" no
}

raw_repo no
must git -C no rm -q cut.safetensors
must git -C no commit -qm 'one less'
echo more >no/notes.txt
must git -C no add notes.txt
refuses 'a staged change' staged notes.txt
must git -C no reset -q --hard
printf x >>no/model.safetensors
refuses 'a changed file' model.safetensors differs
must git -C no checkout -q model.safetensors
must rm no/model.safetensors
refuses 'a deleted file' model.safetensors deleted
must mkdir no/model.safetensors
refuses 'a directory in its place' model.safetensors 'move it away'
must rmdir no/model.safetensors
must git -C no checkout -q model.safetensors
echo '*.bin -text' >no/.gitattributes
refuses 'an uncommitted .gitattributes' '\.gitattributes' 'commit it'
must rm no/.gitattributes
must touch no/.git/index.lock
refuses 'a locked index' index.lock
must rm no/.git/index.lock
must touch no/.git/refs/heads/main.lock
state no >"$T/before"
in_dir no run git brevis migrate import
exits 128 'a locked branch'
unchanged 'a locked branch' no
must rm no/.git/refs/heads/main.lock
must git -C no checkout -qb side
must git -C no commit -qm side --allow-empty
must git -C no checkout -q main
must git -C no commit -qm main --allow-empty
must git -C no merge -q --no-ff --no-commit side
refuses 'during a merge' merge
must git -C no merge --abort
must mkdir no/.git/hooks-here
# shellcheck disable=SC2016 # for the hook
printf '#!/bin/sh\n[ "$1" != prepared ]\n' >no/.git/hooks-here/reference-transaction
must chmod +x no/.git/hooks-here/reference-transaction
must git -C no config core.hooksPath "$T/no/.git/hooks-here"
state no >"$T/before"
in_dir no run git brevis migrate import
exits 128 'a hook that forbids to move the branch'
unchanged 'a hook that forbids to move the branch' no
must git -C no config --unset core.hooksPath
must rm -r no/.git/hooks-here
state no >"$T/before"
in_dir no run git brevis migrate import '*'
exits 128 'a pattern that matches .gitattributes'
one_line 'is refused in one line' '\.gitattributes' 'choose a pattern'
unchanged 'a pattern that matches .gitattributes' no
in_dir no run git brevis migrate import --above=1MB --no-commit
exits 0 'all files of a size'
is 'each has a line, for smaller ones may come' "$(cut -d' ' -f1 no/.gitattributes | tr '\n' ' ')" \
	'/model.safetensors /sub/a[[:space:]]"b"[[:space:]]\[1\][[:space:]]\\c[[:space:]]é.safetensors '
must git -C no reset -q --hard
in_dir no run git brevis migrate import '*.nothing'
exits 1 'a pattern that matches nothing'
in_dir no run git brevis migrate import --from=elsewhere
exits 129 'an unknown form'
in_dir no run git brevis migrate import --above=much
exits 129 'no size'
in_dir remote.git run git brevis migrate import
exits 128 'a bare repository'
one_line 'is refused in one line' 'no work tree' clone
in_dir no run without_filter git brevis migrate import
exits 128 'without the filter'
one_line 'is refused, too' 'git brevis install'
unchanged 'at the end' no
printf '[lfs]\n\turl = https://lfs.example.org\n' >no/.lfsconfig
refuses 'a .lfsconfig that nobody committed' .lfsconfig differs
must cp -a no guardless
in_dir guardless run git brevis migrate import --no-guard
exits 0 'which --no-guard leaves alone'
is 'as it was' "$(cat guardless/.lfsconfig; git -C guardless status --porcelain)" "$(
	cat no/.lfsconfig
	echo '?? .lfsconfig')"
is 'and the files have moved' "$(git -C guardless log -1 --format=%s)" 'Keep 2 files as brevis archives'
must rm no/.lfsconfig

# Lines for many files: what git-lfs is told of them has to fit into an argument of git.
must git init -q many
long=$(printf 'y%.0s' {1..250})
deep=$long/$long/$long/$long/$long/$long/$long
must mkdir -p "many/$deep"
for i in {1..75}; do
	printf %s "$i" >"many/$deep/$i.safetensors"
done
commit_all many 'many files'
in_dir many run git brevis migrate import --above=1
exits 128 'a guard that git cannot write'
one_line 'is refused in one line' 'lfs\.fetchexclude would have [0-9]+ bytes' '--no-guard'
in_dir many run git brevis migrate import --above=1 --no-guard
exits 0 'without it all is well'
is 'and each file has moved' "$(in_dir many git brevis ls-files -n | wc -l)" 75

# ---- killed ------------------------------------------------------------------------------------------

# A git that kills who runs it, at one of its calls, with the signal at hand.
mkdir "$T/bin"
cat >"$T/bin/git" <<-END
	#!/bin/sh
	PATH=\${PATH#*:}
	if [ "\$(cat /proc/\$PPID/comm)" = git-brevis ]; then
		echo "\$*" >>"$T/calls"
		[ "\$(wc -l <"$T/calls")" = "\${KILL_AT:-0}" ] && kill "-\$KILL_BY" \$PPID
	fi
	# A branch that does not move at the very end, and who moves it is killed or not. Others are
	# at work in that moment.
	if [ "\$1 \$KILL_AT" = 'update-ref end' ]; then
		read -r line && echo 'start: ok' && read -r update && read -r line && echo 'prepare: ok'
		read -r line && [ "\$line" = commit ] && eval "\$MEANWHILE" && kill "-\$KILL_BY" \$PPID
		exit 1
	fi
	exec git "\$@"
END
must chmod +x "$T/bin/git"

# killed AT SIGNAL COMMAND...: in repository "no".
killed()
{
	: >"$T/calls"
	# In a shell of its own, which says on its stderr who was killed.
	(
		cd no && KILL_AT=$1 KILL_BY=$2 PATH="$T/bin:$PATH" "${@:3}" >"$T/out" 2>"$T/err" </dev/null
		true
	) 2>"$T/shell"
}

must rm "no/$ODD"
head -c 40000 "$DEMO" >no/model.safetensors
commit_all no smaller
state no >"$T/before"
work_listing no >"$T/work-before"
before=$(git -C no rev-parse HEAD)
killed 0 KILL git-brevis migrate import
calls=$(wc -l <"$T/calls")
at_least 'git is called often' "$calls" 15
moved 'not killed' no
must git -C no reset -q --hard "$before"

# survives AT SIGNAL: all is as it was, or the migration is complete.
survives()
{
	killed "$1" "$2" git-brevis migrate import
	wait 2>/dev/null
	rm -rf no/.git/lfs/tmp # git-lfs removes what is left there after an hour
	if [ "$(git -C no rev-parse HEAD)" = "$before" ]; then
		unchanged "SIG$2 at call $1 ($(sed -n "$1p" "$T/calls" | cut -c1-30))" no
	else
		moved "SIG$2 at call $1, done" no
	fi
	must git -C no reset -q --hard "$before"
}

killed end 0 git-brevis migrate import
contains 'a branch that does not move at the end' "$T/err" 'all is as it was'
unchanged 'a branch that does not move at the end' no
killed end TERM git-brevis migrate import
unchanged 'SIGTERM at that moment' no
killed end KILL git-brevis migrate import
is 'SIGKILL at that moment: the change is staged, nothing else' \
	"$(git -C no rev-parse HEAD) $(git -C no status --porcelain | tr '\n' ,)" \
	"$before A  .gitattributes,A  .lfsconfig,M  model.safetensors,"
work_listing no >"$T/work-after"
same_bytes 'and the work tree has its bytes' "$T/work-after" "$T/work-before"
must git -C no reset -q --hard "$before"

# meanwhile COMMANDS: they run, with git's line in "update", when the branch should move, and does not.
meanwhile()
{
	MEANWHILE=$1 killed end 0 git-brevis migrate import
	is "HEAD, after: $1" "$(git -C no rev-parse HEAD)" "$before"
}

work_index=$(git -C no ls-files -s)
meanwhile 'echo more >>notes.txt && git add notes.txt'
is 'what was staged meanwhile stays, beside the migration' "$(git -C no status --porcelain | tr '\n' ,)" \
	'A  .gitattributes,A  .lfsconfig,M  model.safetensors,M  notes.txt,'
one_line 'and one line says what to do' 'no/.git/index: git could not move the branch' 'someone else' 'git commit'
must git -C no commit -qm 'as it said'
is_clean 'which is right' no
must git -C no reset -q --hard "$before"
meanwhile 'cat .git/index >.git/index.lock'
one_line 'an index that is locked is not put back' 'File exists' 'git commit'
must rm no/.git/index.lock
must git -C no reset -q --hard "$before"
meanwhile 'echo "*.mine -text" >>.gitattributes'
contains 'a file that was changed meanwhile' "$T/err" '.gitattributes: was changed by someone else'
contains 'is not said to be as it was' "$T/err" 'all else is as it was'
contains 'it stays' no/.gitattributes mine
is 'the index is back' "$(git -C no ls-files -s)" "$work_index"
check 'and the other file is gone' test ! -e no/.lfsconfig
must rm -r no/.gitattributes no/.git/lfs/tmp # where a kill has left something
# shellcheck disable=SC2016 # for the shell that runs it
MEANWHILE='set -- $update; git update-ref HEAD "$3"' killed end 0 git-brevis migrate import
moved 'a branch that moved though nobody said so' no
is 'has the commit' "$(git -C no rev-parse HEAD~)" "$before"
must git -C no reset -q --hard "$before"
# shellcheck disable=SC2016 # for the shell that runs it
MEANWHILE='set -- $update; git update-ref HEAD "$3"; mv .git/HEAD .git/HEAD.away; mkdir .git/HEAD' killed end 0 git-brevis migrate import
one_line 'where HEAD cannot be read either, that is said' 'does not say whether it has moved the branch' 'git commit'
must rmdir no/.git/HEAD
must mv no/.git/HEAD.away no/.git/HEAD
moved 'and nothing is taken back' no
must git -C no reset -q --hard "$before"

RANDOM=$SEED
for _ in 1 2; do
	survives $((RANDOM % calls + 1)) KILL
	survives $((RANDOM % calls + 1)) TERM
done
for at in $((calls - 3)) $((calls - 2)) $((calls - 1)) "$calls"; do
	survives "$at" KILL
done

done_testing
