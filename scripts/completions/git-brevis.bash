# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # cur, prev, words and cword are of git's completion
#
# Completion for `git brevis` and `git-brevis` in bash. It belongs into bash-completion's folder as
# "git-brevis": there git's own completion, whose functions it uses, finds it. Verbs, options and
# their values come from the program itself (`git brevis [VERB...] --complete`).

# __git_brevis_ask [VERB...]: lines of WORD, VALUES and HELP with tabs between them.
__git_brevis_ask()
{
	git brevis "$@" --complete 2>/dev/null </dev/null
}

# __git_brevis_words WHAT LINES: the first column: verbs, options, or kinds of arguments.
__git_brevis_words()
{
	local pattern word _
	case $1 in
	verbs) pattern='^[a-z]' ;;
	options) pattern='^-' ;;
	kinds) pattern='^[A-Z]' ;;
	esac
	while IFS=$'\t' read -r word _; do
		[[ $word =~ $pattern ]] && printf '%s\n' "$word"
	done <<<"$2"
}

# __git_brevis_values OPTION LINES: its second column.
__git_brevis_values()
{
	local line
	while read -r line; do
		if [[ $line == "$1"$'\t'* ]]; then
			line=${line#*$'\t'}
			echo "${line%%$'\t'*}"
		fi
	done <<<"$2"
}

# __git_brevis_value VALUES WORD: what the value of an option may be; files complete themselves.
__git_brevis_value()
{
	case $1 in
	*[a-z]*) __gitcomp "$1" "" "$2" ;;
	esac
}

# __git_brevis_argument KINDS: an argument of one of these kinds. What is not listed here may be a
# file, and is left to bash.
__git_brevis_argument()
{
	case " $1 " in
	*" VERB "*) __gitcomp "$(__git_brevis_words verbs "$(__git_brevis_ask)")" ;;
	*" REVISION "*) __git_complete_revlist ;;
	*" REMOTE "*) __gitcomp_nl "$(__git_remotes)" ;;
	esac
	case " $1 " in
	*" PATH "*) [ "${#COMPREPLY[@]}" -gt 0 ] || __git_complete_index_file --cached ;;
	esac
}

_git_brevis()
{
	local at=$((${__git_cmd_idx-1} + 1)) lines verbs values word
	local -a path=()

	lines=$(__git_brevis_ask)
	while verbs=$(__git_brevis_words verbs "$lines") && [ -n "$verbs" ]; do
		if [ "$at" -ge "$cword" ]; then
			__gitcomp "$verbs"
			return
		fi
		path+=("${words[at]}")
		lines=$(__git_brevis_ask "${path[@]}")
		at=$((at + 1))
	done
	values=$(__git_brevis_values ACTION "$lines")
	if [ -n "$values" ] && [ "$at" -ge "$cword" ]; then
		__gitcomp "$values"
		return
	fi
	# All behind "--" are arguments.
	for word in "${words[@]:at:cword-at}"; do
		if [ "$word" = -- ]; then
			__git_brevis_argument PATH
			return
		fi
	done
	values=$(__git_brevis_values "$prev" "$lines")
	if [ -n "$values" ]; then
		__git_brevis_value "$values" "$cur"
		return
	fi
	case $cur in
	--*=*) __git_brevis_value "$(__git_brevis_values "${cur%%=*}" "$lines")" "${cur#*=}" ;;
	-*) __gitcomp "$(__git_brevis_words options "$lines")" ;;
	*) __git_brevis_argument "$(__git_brevis_words kinds "$lines" | tr '\n' ' ')" ;;
	esac
}

# The program under its own name: completed in the same way, with git's functions.
if ! declare -F __git_complete >/dev/null && declare -F _completion_loader >/dev/null; then
	_completion_loader git
fi
if declare -F __git_complete >/dev/null; then
	__git_complete git-brevis _git_brevis
fi
