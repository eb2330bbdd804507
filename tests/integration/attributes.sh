#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Who is responsible for a file, said in every way that git has: nested files, macros, negations, info/attributes,
# core.attributesFile; beside attributes that change text. git and git-brevis agree about each file, and every byte
# comes back.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

must git init -q work
cd work || exit 1
must git brevis install

# agree DESCRIPTION: what has the attribute for git is what ls-files lists, and what is a pointer in git; all of it
# comes back.
agree()
{
	local what=$1 path
	must git add -A
	must git commit -qm "$what"
	git ls-files -z | git check-attr -z --stdin filter | tr '\0' '\n' | paste - - - |
		sed -n 's/\tfilter\tbrevis$//p' | grep -v '/\.git\|^\.git' >"$T/wanted"
	git brevis ls-files -n >"$T/listed"
	same_bytes "$what: ls-files agrees with git" "$T/listed" "$T/wanted"
	git ls-files | while read -r path; do
		git cat-file blob "HEAD:$path" | grep -q '^oid sha256:' && echo "$path"
	done >"$T/pointers"
	same_bytes "$what: so do the blobs" "$T/pointers" "$T/wanted"
	git brevis ls-files -n HEAD >"$T/listed"
	same_bytes "$what: so does ls-files of a revision" "$T/listed" "$T/wanted"
	looks_clean "$what"
	listing . >"$T/before"
	find . -name .git -prune -o -type f -name '*.safetensors' -exec rm {} +
	check "$what: git brevis checkout" git brevis checkout
	must git checkout -q .
	listing . >"$T/after"
	same_bytes "$what: every byte" "$T/after" "$T/before"
	looks_clean "$what, again"
}
tracked='filter=brevis diff=brevis merge=brevis -text'

mkdir -p deep/er raw other
put 1 a.safetensors deep/b.safetensors deep/er/c.safetensors
put 2 raw/d.safetensors other/e.safetensors deep/er/plain.safetensors
echo "*.safetensors $tracked" >.gitattributes
echo '*.safetensors -filter' >raw/.gitattributes
echo 'plain.safetensors !filter !diff !merge' >deep/er/.gitattributes
agree 'nested files, -filter, !filter'

printf '[attr]model %s\n*.safetensors model\nother/* -model\nraw/* !model\n' "$tracked" >.gitattributes
rm raw/.gitattributes deep/er/.gitattributes
must git rm -rq --cached .
agree 'a macro, negated'

printf '[attr]model %s\n[attr]large model\n*.safetensors large\n/other/*.safetensors binary\n' "$tracked" >.gitattributes
must git rm -rq --cached .
agree 'a macro of a macro, and binary'

printf '"deep/**" %s\ndeep/er/[^p]* -filter\n' "$tracked" >.gitattributes
must git rm -rq --cached .
agree 'patterns with ** and ranges, in quotes'

printf 'other/*.safetensors %s\n' "$tracked" >.git/info/attributes
must git rm -rq --cached .
agree 'info/attributes'
: >.git/info/attributes

printf '*.safetensors %s\n' "$tracked" >"$T/attributes"
must git config core.attributesFile "$T/attributes"
rm .gitattributes
must git rm -rq --cached .
# A revision is looked at with these, too: they are no part of it.
agree 'core.attributesFile'
must git config --unset core.attributesFile

# ---- a work file of attributes that is not there, or that is a link ----

echo "*.safetensors $tracked" >.gitattributes
must git rm -rq --cached .
agree 'one file again'
must mv .gitattributes "$T/aside"
touch a.safetensors
is 'without the work file the index has the word' "$(git status --porcelain)" ' D .gitattributes'
git brevis ls-files -n >"$T/listed"
is 'also for ls-files' "$(wc -l <"$T/listed")" 6
rm a.safetensors
check 'and for git brevis checkout' git brevis checkout a.safetensors
has 'which restores it' a.safetensors 1
must git checkout -q .gitattributes
rm -rf a.safetensors .gitattributes
must git checkout -q .
looks_clean 'attributes that are checked out together with the files'

# ---- attributes that change text, on the same path: git applies them to the pointer ----

# beside DESCRIPTION ATTRIBUTES [SETTING=VALUE...]: a clone of a repository with these attributes has every byte.
beside()
{
	local what=$1 attributes=$2 setting
	local -a options=()
	shift 2
	for setting; do options+=(-c "$setting"); done
	rm -rf "$T/beside" "$T/beside-clone" "$T/beside.git"
	new_remote "$T/beside.git"
	must git clone -q "${options[@]}" "file://$T/beside.git" "$T/beside"
	cd "$T/beside" || exit 1
	must git brevis install
	echo "*.safetensors $attributes" >.gitattributes
	put 3 a.safetensors
	put 4 b.safetensors
	# shellcheck disable=SC2016 # what ident would expand
	printf 'not a checkpoint\r\n$Id$\nof two line ends\r\n' >text.safetensors
	commit_all . "$what"
	listing . >"$T/before"
	pointer_in "$what" HEAD:a.safetensors HEAD:b.safetensors HEAD:text.safetensors
	looks_clean "$what"
	rm ./*.safetensors
	check "$what: checkout" git checkout -q .
	listing . >"$T/after"
	same_bytes "$what: every byte" "$T/after" "$T/before"
	looks_clean "$what: checkout"
	rm ./*.safetensors
	check "$what: git brevis checkout" git brevis checkout
	listing . >"$T/after"
	same_bytes "$what: git brevis checkout: every byte" "$T/after" "$T/before"
	looks_clean "$what: git brevis checkout"
	check "$what: push" git push -q origin HEAD:main
	check "$what: clone" git clone -q "${options[@]}" "file://$T/beside.git" "$T/beside-clone"
	cd "$T/beside-clone" || exit 1
	has "$what: clone" a.safetensors 3 b.safetensors 4
	looks_clean "$what: clone"
	must git brevis fsck
	cd "$T" || exit 1
}
beside 'eol=crlf' "filter=brevis text eol=crlf"
beside 'autocrlf, text not said' "filter=brevis" core.autocrlf=true
beside 'autocrlf, text=auto' "filter=brevis text=auto" core.autocrlf=true
beside 'ident' "filter=brevis -text ident"
beside 'export-subst, whitespace, delta' "$tracked export-subst whitespace=trailing-space -delta"

# git itself refuses to take a pointer for UTF-16; what had been added before stays, and so does the file.
cd beside || exit 1
echo "*.safetensors $tracked working-tree-encoding=UTF-16LE-BOM" >.gitattributes
put 5 a.safetensors
run git add -A
is 'working-tree-encoding: git refuses' "$((RC != 0)) $(grep -c 'UTF-16' "$T/err")" '1 1'
has 'working-tree-encoding: the file stays' a.safetensors 5
must git reset -q --hard
looks_clean 'working-tree-encoding: taken back'
cd "$T" || exit 1

nothing_left 'at the end' work beside beside-clone
done_testing
