#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The sources keep to their layout, and no script has a finding of shellcheck.
BREVIS_TEST_NO_INSTALL=1
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# outline FILE: what is sourced, with the names that its functions set and use instead of what these do.
outline()
{
	awk '
		/^\{$/ { inside = 1 }
		/^\}$/ { print ":"; inside = 0 }
		!inside || /^\{$/ { print; next }
		{
			for (rest = $0; match(rest, /[A-Z][A-Z0-9_]*=|\$\{?[A-Z][A-Z0-9_]*/); rest = substr(rest, RSTART + RLENGTH)) {
				name = substr(rest, RSTART, RLENGTH)
				if (seen[name]++)
					continue
				print sub(/^\$\{?/, "", name) ? ": \"$" name "\"" : name
			}
		}' "$1"
}

cd "$TOP" || exit 1
scripts/check-layout "$BIN/libbrevis.a" >"$T/layout"
code=$?
# Its verdicts become this test's own.
grep -E '^(not )?ok|^#' "$T/layout"
_count=$(grep -cE '^(not )?ok' "$T/layout")
[ "$code" -eq 0 ] || _failed=$((_failed + 1))
at_least 'scripts/check-layout has its verdicts' "$_count" 10

git ls-files -co --exclude-standard | while read -r file; do
	[ -f "$file" ] && head -n 1 "$file" | grep -qE '^#!/(usr/)?bin/(env )?(ba)?sh' && echo "$file"
done >"$T/scripts"
at_least 'there are shell scripts' "$(wc -l <"$T/scripts")" 10
# SC2317: functions are called through `check`, which shellcheck cannot see. What scripts source is looked at
# by itself, below; to them it is an outline, with which shellcheck takes half of the time.
copy_of_sources "$T/outlined"
for file in tests/support/*.sh; do
	outline "$file" >"$T/outlined/$file"
done
(cd "$T/outlined" && tr '\n' '\0' <"$T/scripts" | xargs -0 shellcheck -x -P SCRIPTDIR -e SC2317 -f gcc) \
	>"$T/findings" 2>"$T/err"
code=$?
while read -r file; do
	awk -F: -v file="$file" '$1 == file' "$T/findings" >"$T/found"
	check "shellcheck: $file" diff /dev/null "$T/found"
done <"$T/scripts"
is 'shellcheck had nothing else to say' "$code $(cat "$T/err")" '0 '
# What they source, as it is.
for file in tests/support/*.sh scripts/completions/*.bash; do
	check "shellcheck: $file" shellcheck -x -P SCRIPTDIR -e SC2317 "$file"
done

done_testing
