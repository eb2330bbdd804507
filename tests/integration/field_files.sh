#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What goes wrong for people who keep large files in git through a filter: files committed raw,
# readers of a file that is being replaced, files that change while they are read, machines that have
# only half of the configuration, or none any more.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

REVISION=$TOP/tests/corpus/demo-revision.safetensors
ATTRIBUTES='*.safetensors filter=brevis diff=brevis merge=brevis -text'

new_remote remote.git

# ---- committed raw by somebody without the filter -------------------------------------------------

must git init -q raw
must git -C raw remote add origin "file://$T/remote.git"
echo "$ATTRIBUTES" >raw/.gitattributes
cp "$DEMO" raw/model.safetensors
must without_filter git -C raw add -A
must without_filter git -C raw commit -qm 'a raw checkpoint'
must without_filter git -C raw push -q origin main:raw
must git clone -q -b raw "file://$T/remote.git" clone
same_bytes 'a clone has a file that was committed raw' clone/model.safetensors "$DEMO"
in_dir clone run git brevis status
exits 0 'status in such a clone'
check 'says that it is stored raw, and what helps' grep -q '^Stored raw (.git add --renormalize' "$T/out"
contains 'names it' "$T/out" model.safetensors
in_dir clone run git brevis fsck
exits 1 'fsck finds it'
must git -C clone add --renormalize .
must git -C clone commit -qm 'compressed'
must touch clone/model.safetensors
is_clean 'renormalized and committed, it is clean' clone
is 'and a pointer' "$(git -C clone cat-file blob HEAD:model.safetensors | grep -c '^oid sha256:')" 1
in_dir clone run git brevis status
contains 'which status says' "$T/out" 'all in order'

# The gate of a server: it sees the history alone, has neither objects nor a work tree.
must git clone -q --bare clone gate.git
in_dir gate.git run git brevis fsck --pointers HEAD^
exits 1 'fsck --pointers of a commit with a raw file, in a bare repository'
contains 'names the file' <(cat "$T/out" "$T/err") model.safetensors
in_dir gate.git run git brevis fsck --pointers HEAD^..HEAD
exits 0 'fsck --pointers of the range that mends it'

# ---- too large for git, and nobody thought of tracking it ------------------------------------------

must git init -q large
must git -C large remote add origin "file://$T/remote.git"
must git -C large switch -qc large
in_dir large must git brevis track '*.safetensors'
head -c 10485761 /dev/zero >large/data.bin
head -c 10485760 /dev/zero >large/fits.bin
commit_all large 'a large file'
run git -C large push origin large
exits 0 'a push with a large file that is not tracked'
is 'tells of it' "$(grep -c '^git-brevis: warning: data\.bin: 10485761 bytes .*track' "$T/err")" 1
is 'and of nothing else' "$(grep -c '^git-brevis: ' "$T/err")" 1
in_dir large must git brevis track --filename data.bin
must git -C large add -A
must git -C large add --renormalize data.bin
must git -C large commit -q --amend -m 'a large file that is tracked'
run git -C large push -f origin large
is 'what it advises helps' "$RC $(grep -c '^git-brevis: ' "$T/err")" '0 0'

# ---- readers of a file that is replaced ------------------------------------------------------------

# while_mapped FILE COMMAND...: runs it while a program has the file mapped, as loaders do; the program
# must see the same bytes afterwards.
while_mapped()
{
	"$PYTHON" - "$@" <<-'END'
		import hashlib, mmap, subprocess, sys
		with open(sys.argv[1], "rb") as file:
		    view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
		before = hashlib.sha256(view).digest()
		subprocess.run(sys.argv[2:], check=True)
		assert hashlib.sha256(view).digest() == before
	END
}

new_repo work
must git -C work remote add origin "file://$T/remote.git"
cp "$DEMO" work/model.safetensors
commit_all work 'a checkpoint'
must git -C work push -q origin main
archive=$(object_of work model.safetensors)
cp "$archive" work/model.safetensors
in_dir work check 'who reads what git brevis checkout replaces keeps its bytes' \
	while_mapped model.safetensors git brevis checkout
same_bytes 'the file is another' work/model.safetensors "$DEMO"
cp "$REVISION" loaded.safetensors
check 'who reads what decompress -f replaces keeps its bytes' \
	while_mapped loaded.safetensors git brevis decompress -f "$archive" -o loaded.safetensors
same_bytes 'the file is another' loaded.safetensors "$DEMO"
cp "$archive" archive.brevis
check 'who reads what compress -f replaces keeps its bytes' \
	while_mapped archive.brevis git brevis compress -f "$REVISION" -o archive.brevis

# ---- files that change while they are read ----------------------------------------------------------

cp "$DEMO" work/new.safetensors
printf new >>work/new.safetensors
find work/.git/lfs -type f | sort >before
{
	head -c 1000000 work/new.safetensors
	sleep 0.3
	truncate -s 500000 work/new.safetensors
	head -c 1000000 "$DEMO"
} | in_dir work git brevis clean new.safetensors >"$T/out" 2>"$T/err"
is 'a file that is cut while it is read: clean fails' "${PIPESTATUS[1]} $(stat -c %s "$T/out")" '128 0'
one_line 'with one line' new.safetensors changed 'add it again'
find work/.git/lfs -type f | sort >after
same_bytes 'and stores nothing' after before
rm work/new.safetensors

# A file that grows all the time: what git add stores of it is a state that the file had, else it fails.
"$PYTHON" - work/growing.safetensors "$DEMO" enough <<-'END' &
	import os, sys, time
	content = open(sys.argv[2], "rb").read()
	at, step = 0, 100
	with open(sys.argv[1], "wb", buffering=0) as file:
	    while at < len(content):
	        at += file.write(content[at : at + step])
	        if os.path.exists(sys.argv[3]):
	            step = len(content)
	        time.sleep(0.0001)
END
writer=$!
wrong=0
failed=0
for _ in 1 2 3 4 5; do
	if ! git -C work add growing.safetensors >"$T/said" 2>&1; then
		failed=$((failed + 1))
	else
		git -C work cat-file --filters :growing.safetensors >restored
		cmp -s -n "$(stat -c %s restored)" restored "$DEMO" || wrong=$((wrong + 1))
	fi
done
touch enough
wait "$writer"
note "$failed of 5 additions of a file that grew failed"
is 'nothing that a growing file never was is added' "$wrong" 0
check 'once it is complete, it is added' git -C work add growing.safetensors
git -C work cat-file --filters :growing.safetensors >restored
same_bytes 'with every byte' restored "$DEMO"
must git -C work rm -qf growing.safetensors

# ---- files larger than memory ------------------------------------------------------------------------

truncate -s 400M work/sparse.safetensors
if is_sanitized; then
	not_here '400 MiB are cleaned in an address space of 250 MB' 'sanitizers need a larger one'
else
	(
		ulimit -v 250000
		GIT_BREVIS_THREADS=2 in_dir work git brevis clean sparse.safetensors <work/sparse.safetensors
	) >pointer 2>"$T/err"
	is '400 MiB are cleaned in an address space of 250 MB' "$? $(grep -c '^oid' pointer)" '0 1'
fi
rm work/sparse.safetensors

# ---- what git has of it ------------------------------------------------------------------------------

cp "$REVISION" work/model.safetensors
commit_all work 'a revision'
is 'git itself holds only small text' "$(git -C work cat-file --batch-all-objects --batch-check |
	awk '$2 == "blob" && $3 >= 1024')" ''
is 'and no file but those that were added' "$(git -C work ls-files | tr '\n' ' ')" \
	'.gitattributes .lfsconfig model.safetensors '
must git clone -q -b main --single-branch "file://$T/remote.git" one
at_most 'there is no second copy of the content' "$(du -sb one/.git | cut -f1)" \
	"$(($(stat -c %s "$DEMO") * 3 / 4))"

# ---- half a configuration ----------------------------------------------------------------------------

must git -C work push -q origin main
must env GIT_BREVIS_SKIP_SMUDGE=1 git clone -q -b main "file://$T/remote.git" half
cp "$GIT_CONFIG_GLOBAL" smudge-only
must git config -f smudge-only --unset filter.brevis.process
must git config -f smudge-only --unset filter.brevis.clean
in_dir half check 'pull where no clean filter is configured' \
	env GIT_CONFIG_GLOBAL="$T/smudge-only" git brevis pull
same_bytes 'brings the file' half/model.safetensors "$REVISION"
is 'and git sees no change' "$(GIT_CONFIG_GLOBAL=$T/smudge-only git -C half status --porcelain)" ''
is_clean 'nor does it with the filter' half
in_dir half git brevis pointer model.safetensors >"$T/pointer"
git -C half cat-file blob HEAD:model.safetensors >"$T/blob"
same_bytes 'git brevis pointer says what git has' "$T/pointer" "$T/blob"

# ---- after uninstall -----------------------------------------------------------------------------------

# Without a filter git must have no reason to look at a file again, such as that it is as young as the
# index.
must touch -d '1 minute ago' work/model.safetensors
is_clean 'a repository with files' work
in_dir work run git brevis uninstall
exits 0 'uninstall in a repository with files'
contains 'says how files stay readable' <(cat "$T/out" "$T/err") 'git brevis'
check 'an older commit can still be checked out' git -C work checkout -q HEAD^
git -C work cat-file blob HEAD:model.safetensors >"$T/blob"
same_bytes 'its files are pointers' work/model.safetensors "$T/blob"
is_clean 'which is no change' work
must git brevis install --skip-repo
in_dir work check 'with git-brevis again, checkout restores them' git brevis checkout
same_bytes 'with every byte' work/model.safetensors "$DEMO"
is_clean 'and that is no change either' work

done_testing
