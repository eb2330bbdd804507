# SPDX-License-Identifier: Apache-2.0
#
# Completion for `git brevis` and `git-brevis` in fish. It belongs into a folder conf.d of fish: what
# lies in a folder of completions is not read when git is completed. Verbs, options and their values come from the program itself (`git brevis [VERB...] --complete`),
# as lines of WORD, VALUES and HELP with tabs between them.

function __git_brevis_ask
    git brevis $argv --complete 2>/dev/null </dev/null
end

# Candidates for a value or an argument of a kind, behind a prefix.
function __git_brevis_kind --argument-names kind prefix token
    switch $kind
        case FILE PATH
            __fish_complete_path $token | string replace -r -- '^' "$prefix"
        case REVISION
            git for-each-ref --format='%(refname:short)%09revision' 2>/dev/null
        case REMOTE
            git remote 2>/dev/null | string replace -r '$' '\tremote'
        case VERB
            __git_brevis_ask | string replace -r '\t.*\t' '\t'
        case VALUE
        case '*'
            # The words themselves, unless it is another kind.
            string match -qr '[a-z]' -- $kind; or return
            string split ' ' -- $kind | string replace -r -- '^' "$prefix"
    end
end

function __git_brevis_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l verbs
    set -l lines (__git_brevis_ask)
    # All up to the program, in either form, as `git -C DIR brevis`.
    set -l at (contains --index -- git-brevis $words; or contains --index -- brevis $words; or echo 1)
    set -e words[1..$at]
    # Descends as far as words are verbs.
    while string match -qr '^[a-z]' -- $lines
        if not set -q words[1]
            string match -r '^[a-z].*' -- $lines | string replace -r '\t.*\t' '\t'
            return
        end
        set -a verbs $words[1]
        set -e words[1]
        set lines (__git_brevis_ask $verbs)
    end
    if contains -- -- $words
        __git_brevis_kind PATH '' $token
        return
    end
    for line in $lines
        set -l columns (string split \t -- $line)
        if test -n "$columns[2]"; and test "$words[-1]" = "$columns[1]"
            __git_brevis_kind $columns[2] '' $token
            return
        end
        if test -n "$columns[2]"; and string match -q -- "$columns[1]=*" $token
            __git_brevis_kind $columns[2] "$columns[1]=" (string replace -- "$columns[1]=" '' $token)
            return
        end
    end
    for line in $lines
        set -l columns (string split \t -- $line)
        switch $columns[1]
            case ACTION
                if not set -q words[1]
                    __git_brevis_kind $columns[2] '' $token
                    return
                end
            case '-*'
                string match -q -- '-*' $token; and printf '%s\t%s\n' $columns[1] $columns[3]
            case '*'
                string match -q -- '-*' $token; or __git_brevis_kind $columns[1] '' $token
        end
    end
end

complete -c git -n __fish_git_needs_command -a brevis -d 'Keep model checkpoints small'
complete -c git -f -n '__fish_git_using_command brevis' -a '(__git_brevis_complete)'
complete -c git-brevis -f -a '(__git_brevis_complete)'
