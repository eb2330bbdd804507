#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Completion in bash, zsh and fish: each is asked in its own way what it offers behind a line, and all
# have to offer the same. The lines are for `git brevis`, as git's completion passes them on.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

COMPLETIONS=$TOP/scripts/completions

must git init -q repo
cd repo || exit 1
must git commit -q --allow-empty -m first
must git tag v1
must git remote add backup /nowhere
mkdir weights
echo 1 >weights/a.safetensors
echo 2 >'with space'
must git add -A

# ---- what the program says -----------------------------------------------------------------------

run git-brevis --complete
exits 0 'verbs can be asked for'
is 'there is a line for each verb' "$(cut -f1 "$T/out" | sort)" \
	"$(git-brevis help -a | sed -n 's/^   \([a-z]\)/\1/p' | awk '{ print $1 }' | sort)"
is 'with three columns' "$(awk -F'\t' 'NF != 3 || $3 == ""' "$T/out")" ''
cp "$T/out" "$T/verbs"
while IFS=$'\t' read -r verb _; do
	run git-brevis "$verb" --complete
	is "$verb --complete" "$RC $(awk -F'\t' 'NF != 3 || $1 == ""' "$T/out")$(cat "$T/err")" '0 '
	[ "$verb" = store ] && continue
	git-brevis "$verb" -h | sed -n 's/^  \(-.\), \(--[a-z-]*\).*/\1\n\2/p; s/^  \(-.\)  .*/\1/p; s/^      \(--[a-z-]*\).*/\1/p' >"$T/wanted"
	is "$verb --complete has the options of -h" "$(cut -f1 "$T/out" | grep '^-')" "$(cat "$T/wanted")"
done <"$T/verbs"

# ---- the same questions for each shell ------------------------------------------------------------

# Lines, and what is offered behind them, sorted. In words of a path, what is offered first is enough.
cat >"$T/questions" <<'END'
git brev => brevis
git brevis tr => track transfer
git-brevis tr => track transfer
git -C . brevis unt => untrack
git brevis store  => gc init ls stats verify
git brevis store ls -- => --json --long
git brevis ls-files --n => --name-only
git brevis compress --preset  => best default fast
git brevis compress --preset=f => fast
git brevis store init --addressing  => path virtual
git brevis stats v => v1
git brevis migrate  => export import
git brevis migrate import --fr => --from
git brevis migrate export --to  => lfs raw
git brevis pull back => backup
git brevis help che => checkout
git brevis checkout with => with space
git brevis checkout -- with => with space
git brevis nosuch  =>
git brevis nosuch - =>
END
sed 's/ =>.*//' "$T/questions" >"$T/lines"

# ---- bash -----------------------------------------------------------------------------------------

# As bash calls it: words are split at its COMP_WORDBREAKS, '=' among them.
cat >"$T/ask.bash" <<'END'
. /usr/share/bash-completion/bash_completion
BASH_COMPLETION_USER_DIR=$1
for program in git git-brevis; do
	_completion_loader $program
done
while IFS= read -r line; do
	read -ra COMP_WORDS <<<"${line//=/ = }"
	[[ $line != *' ' ]] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
	COMP_TYPE=9 COMP_KEY=9
	words=$(complete -p "${COMP_WORDS[0]}")
	[[ $words =~ -F\ ([^ ]*) ]] && "${BASH_REMATCH[1]}"
	printf '%s =>' "$line"
	[ "${#COMPREPLY[@]}" -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}" | sed 's/ *$//' | LC_ALL=C sort -u | sed 's/^/ /' | tr -d '\n'
	echo
done
END
mkdir -p "$T/user/completions"
cp "$COMPLETIONS/git-brevis.bash" "$T/user/completions/git-brevis"
bash --norc "$T/ask.bash" "$T/user" <"$T/lines" >"$T/bash" 2>"$T/said"
same_bytes 'bash offers what it should' "$T/bash" "$T/questions" || diff "$T/bash" "$T/questions" | sed 's/^/#   /'
is 'and says nothing' "$(cat "$T/said")" ''

# ---- zsh ------------------------------------------------------------------------------------------

mapfile -t lines <"$T/lines"
zsh -f "$TOP/tests/support/completions.zsh" "$COMPLETIONS" "${lines[@]}" >"$T/zsh" 2>"$T/said"
same_bytes 'zsh offers the same' "$T/zsh" "$T/questions" || diff "$T/zsh" "$T/questions" | sed 's/^/#   /'
is 'and says nothing' "$(cat "$T/said")" ''

# ---- fish -----------------------------------------------------------------------------------------

# fish offers whole words, its own --help of git among them, and explanations.
cat >"$T/ask.fish" <<'END'
while read --line line
    set -l words (complete -C $line | string replace -r '\t.*' '' | string match -v -- --help |
        string match -v -- -h | string replace -r '^--preset=' '' | string unescape | sort -u)
    echo (string join ' ' -- "$line =>" $words)
end
END
mkdir -p "$XDG_CONFIG_HOME/fish/conf.d"
cp "$COMPLETIONS/git-brevis.fish" "$XDG_CONFIG_HOME/fish/conf.d/"
fish "$T/ask.fish" <"$T/lines" >"$T/fish" 2>"$T/said"
same_bytes 'fish offers the same' "$T/fish" "$T/questions" || diff "$T/fish" "$T/questions" | sed 's/^/#   /'
is 'and says nothing' "$(cat "$T/said")" ''
run fish -c 'complete -C "git brevis stat"'
contains 'fish explains what it offers' "$T/out" $'stats\tsay what the history has stored'

done_testing
