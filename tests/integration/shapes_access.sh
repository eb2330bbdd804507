#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Repositories in odd places and odd hands: directories with odd names, without hooks, of another user, that one may
# only read; a server's hooks, whose objects are in quarantine; several who work at the same time.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

# ---- names of the repository itself ----

# somewhere DIR: everything works there.
somewhere()
{
	local dir=$1 shown
	shown=$(printf %q "$dir")
	must mkdir -p -- "$dir"
	must git init -q -- "$dir/repository"
	cd -- "$dir/repository" || exit 1
	check "$shown: track" git brevis track '*.safetensors'
	put 1 a.safetensors sub/b.safetensors
	check "$shown: add" git add -A
	must git commit -qm first
	rm a.safetensors
	check "$shown: git brevis checkout" git -C sub brevis checkout ..
	holds "$shown" a.safetensors 1 sub/b.safetensors 1
	rm a.safetensors
	must git checkout -q .
	holds "$shown: git checkout" a.safetensors 1
	check "$shown: worktree" git worktree add -q ../tree
	cd ../tree || exit 1
	holds "$shown: worktree" a.safetensors 1
	put 2 a.safetensors
	check "$shown: commit in a worktree" git commit -qam second
	check "$shown: fsck" git brevis fsck
	check "$shown: hook" test -x ../repository/.git/hooks/pre-push
	cd "$T" || exit 1
	nothing_left "$shown" "$dir"
}
somewhere $'line\nfeed'
somewhere "quotes \" ' \`"
somewhere '[brackets] *?{a,b}'
# shellcheck disable=SC2016 # a name
somewhere 'back\slash $HOME %f'
somewhere $'latin1 \xe9'
somewhere '-dash'
somewhere ' '

# ---- a template without directories ----

must git init -q --template= bare-bones
cd bare-bones || exit 1
check 'no hooks directory: track' git brevis track '*.safetensors'
put 3 a.safetensors
check 'no hooks directory: add' git add -A
check 'no hooks directory: the hook is there' test -x .git/hooks/pre-push
must git commit -qm first
holds 'no hooks directory' a.safetensors 3
cd "$T" || exit 1

# ---- a server's hooks: what is pushed is in quarantine ----

new_remote server.git
cat >server.git/hooks/pre-receive <<'END'
#!/bin/sh
read -r old new ref
git brevis ls-files "$new" >listed 2>&1 || exit
git brevis stats "$new" >stats 2>&1 || exit
END
chmod +x server.git/hooks/pre-receive
cd bare-bones || exit 1
check 'push to a server whose hook asks us' git push -q "file://$T/server.git" HEAD:main
contains 'it saw what is in quarantine' "$T/server.git/listed" a.safetensors
contains 'and its history' "$T/server.git/stats" a.safetensors
cd "$T" || exit 1

# ---- somebody else's repository ----

others()
{
	must cp -a bare-bones others
	must chown -R 65534:65534 others
	in_dir others run git brevis status
	exits 128 "somebody else's repository"
	one_line 'says why, and what to do' 'dubious ownership' 'safe\.directory'
	must git config --global --add safe.directory '*'
	in_dir others holds "somebody else's repository, allowed" a.safetensors 3
}

# Who may only read.
reader()
{
	local reader inventory verb
	must chmod 755 "$T"
	must chmod 1777 "$TMPDIR" # git needs it to show what textconv makes
	must chown -R root:root others
	must chmod -R a+rX,go-w others home
	must mkdir readers-tree
	reader=(setpriv --reuid=65534 --regid=65534 --clear-groups git -C others)
	touch others/a.safetensors
	inventory=$(find others -type f | sort | sha256sum)
	is 'who may only read: status' "$("${reader[@]}" status --porcelain 2>&1)" ''
	"${reader[@]}" archive HEAD 2>"$T/err" | tar -x -C readers-tree
	same_bytes 'who may only read: archive' readers-tree/a.safetensors "$T/v/3"
	check 'who may only read: diff' "${reader[@]}" diff HEAD
	check 'who may only read: log -p' "${reader[@]}" log -p
	for verb in status ls-files 'ls-files HEAD' fsck env stats; do
		# shellcheck disable=SC2086 # words
		check "who may only read: git brevis $verb" "${reader[@]}" brevis $verb
	done
	is 'nothing was made there' "$(find others -type f | sort | sha256sum)" "$inventory"
}

if [ "$(id -u)" -eq 0 ]; then
	others
	reader
else
	not_here "somebody else's repository" 'only root can make one'
fi

# ---- several at the same time ----

must cp -a bare-bones shared
cd shared || exit 1
for i in $(seq 6); do
	must git worktree add -q --detach "../tree$i"
	put 4 "../tree$i/a.safetensors"
	put "$((4 + i))" "../tree$i/own.safetensors"
done

# at_once DESCRIPTION ARGUMENT...: git with these in all of the worktrees at the same time.
at_once()
{
	local what=$1 i
	local -a pids=()
	shift
	for i in $(seq 6); do
		git -C "../tree$i" "$@" >"$T/out.$i" 2>&1 &
		pids+=($!)
	done
	for i in $(seq 6); do
		wait "${pids[i - 1]}" || not_ok "$what in worktree $i" "$T/out.$i"
	done
	ok "$what in six worktrees at the same time"
}
at_once 'add' add -A
for i in $(seq 6); do
	must git -C "../tree$i" commit -qm "tree $i"
	in_dir "../tree$i" holds "worktree $i of six" a.safetensors 4 own.safetensors "$((4 + i))"
	rm "../tree$i/a.safetensors" "../tree$i/own.safetensors"
done
is 'the same content has the same pointer' \
	"$(for i in $(seq 6); do git -C "../tree$i" rev-parse HEAD:a.safetensors; done | sort -u | wc -l)" 1
at_once 'git brevis checkout' brevis checkout
for i in $(seq 6); do
	in_dir "../tree$i" holds "worktree $i of six, again" a.safetensors 4 own.safetensors "$((4 + i))"
done
cd "$T" || exit 1
nothing_left 'at the end' shared bare-bones server.git tree1 tree6
done_testing
