# SPDX-License-Identifier: Apache-2.0
# What zsh would offer behind each LINE:
#
#   zsh -f completions.zsh FOLDER LINE...
#
# prints "LINE => WORD WORD ..." for each, with the words sorted. FOLDER goes first in fpath. zsh
# completes at a terminal only, so there is one, whose shell reads this file too (--inside), and what
# completion adds to its list is written down on the way.

if [[ $1 == --inside ]]; then
	fpath=($2 $fpath)
	autoload -Uz compinit
	compinit -u -D
	compadd() {
		local -a words
		# What only goes into arrays of the caller is not offered.
		if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
			builtin compadd -O words "$@"
			(( $#words )) && print -rl -- $words >>$OFFERED
		fi
		builtin compadd "$@"
	}
	end-of-offer() {
		print '<END>' >>$OFFERED
		zle kill-whole-line
	}
	zle -N end-of-offer
	bindkey '^I' complete-word
	bindkey '^X' end-of-offer
	unsetopt automenu
	LISTMAX=10000
	return
fi

zmodload zsh/zpty
export OFFERED=$(mktemp)
zpty terminal 'zsh -f -i'
zpty -w terminal "stty -echo; source ${(q)0:A} --inside ${(q)1}"
shift
for line; do
	: >$OFFERED
	zpty -w -n terminal $line$'\t\x18'
	# What zsh writes to its terminal is taken, so that it never waits for a reader.
	for tries in {1..1000}; do
		grep -q '<END>' $OFFERED && break
		zpty -r -t terminal said || sleep 0.01
	done
	words=(${(u)${(f)"$(grep -v '<END>' $OFFERED)"}})
	print -r -- "$line =>" ${(o)words}
done
zpty -d terminal
rm -f $OFFERED
