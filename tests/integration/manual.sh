#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The manual: pages are well formed, whole, and say what the program does: each verb has one, with the
# options that the verb has; each setting that the program reads is in git-brevis-config(5). And the
# ways that lead to a page.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

PAGES=$TOP/docs/man

# Pages of others that ours refer to.
FOREIGN='git.1 git-add.1 git-archive.1 git-config.1 git-credential.1 git-diff.1 git-log.1 git-merge.1 git-merge-file.1 git-status.1
	gitattributes.5 githooks.5 gitrevisions.7 git-lfs.1 git-lfs-checkout.1 git-lfs-config.5 git-lfs-env.1 git-lfs-fsck.1
	git-lfs-ls-files.1 git-lfs-merge-driver.1 git-lfs-migrate.1 git-lfs-pointer.1 git-lfs-pull.1 man.1 touch.1'

verbs=$(git-brevis --complete | cut -f1)
names=$(cd "$PAGES" && ls)

# macro PAGE NAME: the arguments of each line that begins with this macro.
macro()
{
	sed -n "s/^\.$2 //p" "$PAGES/$1"
}

# options_of_page PAGE: "-l" and "--long", one a line, from ".It Fl l , Fl -long Ar value".
options_of_page()
{
	macro "$1" 'It Fl' | sed 's/ Ar .*//; s/ Cm .*//; s/ , Fl /\n/g; s/ No or Fl /\n/g' |
		sed 's/[[:space:]]*$//; s/^/-/' | sort -u
}

# options_of_verb VERB: from its -h, those of the verbs below it included.
options_of_verb()
{
	local below
	git-brevis "$@" --complete | cut -f1 | grep '^-'
	[ $# -eq 1 ] || return
	for below in $(git-brevis "$@" --complete | cut -f1 | grep '^[a-z]'); do
		options_of_verb "$@" "$below"
	done
}

# ---- each page -----------------------------------------------------------------------------------

# shellcheck disable=SC2086 # lists of words
printf '%s\n' $names $FOREIGN >"$T/known"
# Whether a page that is named exists is looked at below; what is installed here does not count.
for name in $names; do
	mandoc -T lint -W style "$PAGES/$name" 2>&1 |
		grep -vE 'referenced manual not found|^mandoc: outdated mandoc.db' >"$T/said"
	is "$name: mandoc has nothing to say" "$(cat "$T/said")" ''
	is "$name: nor has groff" "$(man -l --warnings -E UTF-8 "$PAGES/$name" 2>&1 >/dev/null)" ''
	is "$name: its title is its name" "$(macro "$name" Dt) $(macro "$name" Nm | head -n 1)" \
		"$(echo "${name%.*}" | tr '[:lower:]' '[:upper:]') ${name##*.} ${name%.*}"
	wanted='NAME DESCRIPTION SEE ALSO'
	[ "${name##*.}" != 1 ] || wanted='NAME SYNOPSIS DESCRIPTION EXIT STATUS SEE ALSO'
	is "$name: has the parts of a page" "$(macro "$name" Sh | grep -xE "${wanted// /|}|EXIT STATUS|SEE ALSO" | tr '\n' ' ')" "$wanted "
	for other in $(macro "$name" '\(It \)\{0,1\}Xr' | awk '{ print $1 "." $2 }' | sort -u); do
		grep -qxF "$other" "$T/known" || echo "$other"
	done >"$T/said"
	is "$name: names pages that there are" "$(cat "$T/said")" ''
done

# ---- verbs and their options -----------------------------------------------------------------------

for name in $names; do
	verb=${name#git-brevis-}
	case $name in
	*.1) [ "$name" = git-brevis.1 ] || echo "${verb%.1}" ;;
	esac
done | sort >"$T/pages"
is 'each verb has a page, and no other' "$(cat "$T/pages")" "$(sort <<<"$verbs")"
is 'git-brevis(1) names each' "$(macro git-brevis.1 'It Xr' | sed -n 's/^git-brevis-\(.*\) 1$/\1/p' | sort)" "$(sort <<<"$verbs")"
is 'below the headings that help has' \
	"$(sed -n 's/^\.Ss \(.*\)/\1/p' "$PAGES/git-brevis.1" | tr '[:upper:]' '[:lower:]')" \
	"$(git-brevis help -a | sed -n '/^set up/,$p' | grep '^[a-z]' | tr '[:upper:]' '[:lower:]')"
for verb in $verbs; do
	is "$verb: the page has the options of -h" "$(options_of_page "git-brevis-$verb.1")" "$(options_of_verb "$verb" | sort -u)"
done

# Exit status 1, which not all verbs have, is in git-brevis(1) and in the pages, or in none.
sed -n '/^\.Sh EXIT STATUS/,/^\.It 128/s/^\.Xr git-brevis-\([a-z-]*\) 1.*/\1/p' "$PAGES/git-brevis.1" >"$T/said"
is 'git-brevis(1) has the verbs that end with 1' "$(cat "$T/said")" \
	"$(cd "$PAGES" && grep -lx '\.It 1' git-brevis-*.1 | sed 's/^git-brevis-\(.*\)\.1$/\1/')"

# ---- settings --------------------------------------------------------------------------------------

# Keys as the program has them, but for those that it only sets for a git that it runs (KEY=VALUE).
# What git notes about a repository itself is no setting.
grep -rhoE '"(brevis|core|diff|filter|http|lfs|merge)\.[A-Za-z0-9.:]*[A-Za-z]"' "$TOP/filter" --include='*.[ch]' |
	tr -d '"' | sort -u | grep -vE '^core\.(sparseCheckout|ignorecase)$' >"$T/keys"
at_least 'the program reads settings' "$(wc -l <"$T/keys")" 30
sed -n 's/^\.\(It \)\{0,1\}Va //p' "$PAGES/git-brevis-config.5" | sed 's/ Pq .*//; s/ [.,]$//; s/ , /\n/g' >"$T/told"
while read -r key; do
	case $key in
	brevis.*) grep -qxF "$key" <(macro git-brevis-config.5 'It Va' | sed 's/ Pq .*//; s/ , /\n/g') || echo "$key" ;;
	*) grep -qxF "$key" "$T/told" || echo "$key" ;;
	esac
done <"$T/keys" >"$T/said"
is 'git-brevis-config(5) has every setting' "$(cat "$T/said")" ''
macro git-brevis-config.5 'It Va' | sed 's/ Pq .*//; s/ , /\n/g' | grep '^[a-z][a-z]*\.' |
	grep -vE '^lfs\.customtransfer\.|^lfs\.storage$' | grep -vxF -f "$T/keys" >"$T/said"
is 'and no other' "$(cat "$T/said")" ''
is 'with type and default' "$(macro git-brevis-config.5 'It Va' | grep '^brevis\.' | grep -v ' Pq ')" ''

grep -rhoE 'getenv\("(GIT_)?BREVIS_[A-Z_]*|"GIT_BREVIS_[A-Z_]*"' "$TOP/filter" "$TOP/core" --include='*.[ch]' |
	grep -oE '(GIT_)?BREVIS_[A-Z_]*' | sort -u >"$T/variables"
at_least 'the program reads variables' "$(wc -l <"$T/variables")" 6
is 'git-brevis(1) has every variable' "$(macro git-brevis.1 'It Ev' | grep BREVIS | sort)" "$(cat "$T/variables")"

# ---- ways to a page ----------------------------------------------------------------------------------

mkdir -p "$T/man/man1"
cp "$PAGES"/*.1 "$T/man/man1"
export MANPAGER=cat TERM=xterm

# shown NAME COMMAND...: what a terminal shows of a page of this name, or of a usage.
shown()
{
	local name=$1
	shift
	"$PYTHON" "$TOP/tests/support/terminal.py" --output "$T/shown" "$@" </dev/null
	RC=$?
	is "$* on a terminal" "$RC $(grep -oE "^(GIT-BREVIS[A-Z-]*\(1\)|usage: .*)" "$T/shown" | tr -d '\r' | head -n 1)" "0 $name"
}

export MANPATH=$T/man
shown 'GIT-BREVIS(1)' git brevis --help
shown 'GIT-BREVIS(1)' git-brevis --help
shown 'GIT-BREVIS(1)' git help brevis
shown 'GIT-BREVIS-TRACK(1)' git brevis track --help
shown 'GIT-BREVIS-TRACK(1)' git brevis help track
shown 'GIT-BREVIS-STORE(1)' git brevis store --help
shown 'GIT-BREVIS-STORE(1)' git brevis store ls --help
shown 'GIT-BREVIS-HOOK(1)' git brevis help hook
shown 'usage: git brevis track [--json] | [--no-guard] [--filename] PATTERN...' git brevis track -h
run git brevis track --help
is 'without a terminal there is the usage' "$RC $(head -n 1 "$T/out")" \
	'0 usage: git brevis track [--json] | [--no-guard] [--filename] PATTERN...'
MANPATH=$T/nothing
mkdir "$MANPATH"
shown 'usage: git brevis track [--json] | [--no-guard] [--filename] PATTERN...' git brevis track --help
shown 'usage: git brevis VERB [ARGUMENT...]' git-brevis --help
contains 'the usage is whole' "$T/shown" 'git brevis help -a'

done_testing
