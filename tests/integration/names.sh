#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Names that no program likes: blanks, quotes, brackets, backslashes, line feeds, bytes that are no UTF-8, names
# like options, as long as a file system lets them be. Each verb takes them, shows them so that no terminal is fooled,
# and every byte comes back.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/situations.sh
. "$TOP/tests/support/situations.sh"

long=$(printf '%0243d' 0).safetensors
deep=$(printf 'd%.0s/' {1..120})x.safetensors
# shellcheck disable=SC2016 # names
names=('a b.safetensors' ' leading.safetensors' 'trailing .safetensors' 'dots...safetensors' '...safetensors' '.safetensors'
	'quote".safetensors' "apo'strophe.safetensors" '[a]*?.safetensors' '{a,b}.safetensors' '(a)|;&<>$x`.safetensors'
	$'line\nfeed.safetensors' $'tab\t.safetensors' $'return\r.safetensors' $'escape\033[31m.safetensors' $'bell\a.safetensors'
	'back\slash.safetensors' 'a\nb.safetensors' '-dash.safetensors' '--help.safetensors' '-.safetensors' '#hash.safetensors'
	'!bang.safetensors' ':colon.safetensors' ':(top)magic.safetensors' 'HEAD.safetensors' '~tilde.safetensors' '%f%%s.safetensors'
	'ünïcödé-模型.safetensors' $'latin1-\xe9.safetensors' $'decomposed-e\xcc\x81.safetensors' $'\xf0\x9f\xa4\x97.safetensors'
	"$long" "$deep" 'C:drive.safetensors' 'con.safetensors' 'a=b.safetensors' '@.safetensors' '^caret.safetensors'
	'dir with blank/[x]/a b.safetensors' $'dir\n/x.safetensors' '-d/-x.safetensors')

new_remote remote.git
new_repo work
cd work || exit 1
must git remote add origin "file://$T/remote.git"
at=0
for name in "${names[@]}"; do
	at=$((at + 1))
	put "$((at % 24 + 1))" "$name"
done
check 'add' git add -A
must git commit -qm 'odd names'
looks_clean 'odd names'
printf '%s\0' "${names[@]}" | sort -z >"$T/wanted"

# lists DESCRIPTION COMMAND...: it lists all the names, each ends with NUL.
lists()
{
	"${@:2}" | sort -z >"$T/listed"
	same_bytes "$1" "$T/listed" "$T/wanted"
}
lists 'ls-files -z' git brevis ls-files -n -z
lists 'ls-files -z of a revision' git brevis ls-files -n -z HEAD
git brevis ls-files >"$T/out"
is 'ls-files: a line for each' "$(wc -l <"$T/out")" "${#names[@]}"
is 'ls-files: no control character' "$(LC_ALL=C grep -c '[[:cntrl:]]' "$T/out")" 0
git brevis ls-files --json >"$T/json"
check 'ls-files --json is JSON' "$PYTHON" -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8", errors="surrogateescape"))' "$T/json"
git brevis ls-files -l >"$T/out" 2>&1
is 'ls-files -l: a line for each' "$(wc -l <"$T/out")" "${#names[@]}"

# wanted_bytes DESCRIPTION: each has its version.
wanted_bytes()
{
	local at=0 name
	local -a pairs=()
	for name in "${names[@]}"; do
		at=$((at + 1))
		pairs+=("$name" "$((at % 24 + 1))")
	done
	has "$1" "${pairs[@]}"
}

find . -name .git -prune -o -name '*.safetensors' -exec rm {} +
check 'checkout of each by its name' env GIT_LITERAL_PATHSPECS=1 git brevis checkout -- "${names[@]}"
wanted_bytes 'checkout of each by its name'
looks_clean 'checkout of each by its name'
find . -name .git -prune -o -name '*.safetensors' -exec rm {} +
printf '%s\0' "${names[@]}" >"$T/asked"
check 'git checkout of each' git checkout-index -z --stdin <"$T/asked"
wanted_bytes 'git checkout of each'
check 'git brevis status' git brevis status
check 'one by one: status' one_by_one git status
find . -name .git -prune -o -name '*.safetensors' -exec touch {} +
is 'one by one: clean' "$(one_by_one git status --porcelain)" ''
find . -name .git -prune -o -name '*.safetensors' -exec rm {} +
check 'one by one: checkout' one_by_one git checkout -q .
wanted_bytes 'one by one: checkout'
check 'push' git push -q origin main
check 'clone' git clone -q "file://$T/remote.git" "$T/clone"
in_dir "$T/clone" wanted_bytes 'clone'
in_dir "$T/clone" looks_clean 'clone'
must env GIT_BREVIS_SKIP_SMUDGE=1 git clone -q "file://$T/remote.git" "$T/later"
in_dir "$T/later" check 'pull' git brevis pull
in_dir "$T/later" wanted_bytes 'pull'
in_dir "$T/later" looks_clean 'pull'
git archive HEAD | tar -x -C "$(mkdir "$T/exported" && echo "$T/exported")"
in_dir "$T/exported" wanted_bytes 'archive'

# ---- what is said of them ----

find .git/lfs/objects -type f -delete
git brevis fsck >"$T/out" 2>"$T/err"
is 'fsck of what is gone' "$?" 1
cat "$T/out" "$T/err" >"$T/said"
is 'fsck: no control character' "$(LC_ALL=C grep -c '[[:cntrl:]]' "$T/said")" 0
at_least 'fsck: a line for each object' "$(grep -ac safetensors "$T/said")" 24
must git config remote.origin.url "file://$T/gone.git"
find . -name .git -prune -o -name '*.safetensors' -exec rm {} +
git brevis pull >"$T/out" 2>"$T/err"
is 'pull of what is gone' "$?" 1
is 'pull: no control character' "$(LC_ALL=C grep -c '[[:cntrl:]]' "$T/err")" 0
at_least 'pull: a line for each' "$(grep -c '^git-brevis: error: ' "$T/err")" "${#names[@]}"
git brevis status >"$T/out" 2>&1
is 'status: no control character' "$(LC_ALL=C grep -c '[[:cntrl:]]' "$T/out")" 0
git brevis status --porcelain -z >"$T/out"
is 'status -z: one for each' "$(tr -dc '\0' <"$T/out" | wc -c)" "${#names[@]}"

# ---- track --filename ----

must git init -q "$T/tracking"
cd "$T/tracking" || exit 1
check 'track --filename of each' git brevis track --filename -- "${names[@]}"
git check-attr -z --stdin filter <"$T/asked" | tr '\0\n' '\n\1' | sed -n '3~3p' | sort | uniq -c |
	sed 's/^ *//' >"$T/out"
is 'git agrees on each' "$(cat "$T/out")" "${#names[@]} brevis"
is 'and on no other' "$(printf 'axb.safetensors\0axbc.safetensors\0' | git check-attr -z --stdin filter | grep -c brevis)" 0
check 'untrack --filename of each' git brevis untrack --filename -- "${names[@]}"
is 'which leaves none' "$(git check-attr -z --stdin filter <"$T/asked" | grep -zc brevis)" 0

cd "$T" || exit 1
nothing_left 'at the end' work clone later tracking
done_testing
