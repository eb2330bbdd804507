#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install and uninstall: which settings go where, with every option and combinations of them; what is
# somebody else's stays; and nothing is left behind. (cli.sh has the transfer agents, hooks.sh the hooks.)
BREVIS_TEST_NO_INSTALL=1
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# The settings that git needs; those of transfer agents begin with lfs.
SETTINGS='diff.brevis.command git-brevis diff-driver
diff.brevis.textconv git-brevis textconv
filter.brevis.clean git-brevis clean -- %f
filter.brevis.process git-brevis filter-process
filter.brevis.required true
filter.brevis.smudge git-brevis smudge -- %f
merge.brevis.driver git-brevis merge-driver %O %A %B %L %P
merge.brevis.name tensors of safetensors files
merge.brevis.recursive binary'

# settings SCOPE...: ours in that scope, sorted
settings()
{
	git config "$@" --get-regexp '^(filter|diff|merge)\.brevis\.' | LC_ALL=C sort
}

# nothing_in DESCRIPTION SCOPE...
nothing_in()
{
	local what=$1
	shift
	is "$what" "$(git config "$@" --get-regexp 'brevis' 2>&1)" ''
}

# A file with things of its own, in an order and with comments of its own.
cat >own <<-'END'
	[user]
		name = A Tester
		email = tester@example.org
	# a comment
	[merge]
		conflictStyle = diff3 ; another
	[diff "other"]
		textconv = cat
	[lfs "https://example.invalid"]
		access = basic
END

# ---- scopes ----

cp own "$GIT_CONFIG_GLOBAL"
run git brevis install
exits 0 'install'
is 'sets these for the user' "$(settings --global)" "$SETTINGS"
cp "$GIT_CONFIG_GLOBAL" once
run git brevis install
same_bytes 'twice changes nothing' "$GIT_CONFIG_GLOBAL" once
run git brevis install --force
same_bytes 'neither does --force' "$GIT_CONFIG_GLOBAL" once
run git brevis uninstall
exits 0 'uninstall'
same_bytes 'leaves the file as it was, with no empty section' "$GIT_CONFIG_GLOBAL" own
contains 'and says how files stay readable' "$T/out" 'git brevis decompress'
contains 'and how they become raw' "$T/out" 'git brevis migrate export'
run git brevis install --multipart
run git brevis uninstall
same_bytes 'with --multipart, too' "$GIT_CONFIG_GLOBAL" own

must git init -q repo
cp repo/.git/config repo.config
in_dir repo run git brevis install --local
exits 0 'install --local'
is 'sets these for the repository' "$(settings -f repo/.git/config)" "$SETTINGS"
nothing_in 'and none for the user' --global
check 'and puts the hooks in place' test -x repo/.git/hooks/pre-push
in_dir repo run git brevis uninstall --local
exits 0 'uninstall --local'
nothing_in 'leaves none' -f repo/.git/config
# git-lfs has hooks and a setting of its own there by now (hooks.sh).
is 'nor an empty section' "$(grep -cE '^\[(filter|diff|merge|lfs "(brevis|custom))' repo/.git/config)" 0
must cp repo.config repo/.git/config

GIT_CONFIG_SYSTEM=$T/system
run env -u GIT_CONFIG_NOSYSTEM GIT_CONFIG_SYSTEM="$GIT_CONFIG_SYSTEM" git brevis install --system
exits 0 'install --system'
is 'sets these for all users' "$(settings -f "$GIT_CONFIG_SYSTEM")" "$SETTINGS"
nothing_in 'and none for this one' --global
run env -u GIT_CONFIG_NOSYSTEM GIT_CONFIG_SYSTEM="$GIT_CONFIG_SYSTEM" git brevis uninstall --system
is 'uninstall --system leaves an empty file' "$RC $(stat -c %s "$GIT_CONFIG_SYSTEM")" '0 0'

cp own file
run git brevis install --file=file
exits 0 'install --file'
is 'sets these in a file' "$(settings -f file)" "$SETTINGS"
in_dir repo run git brevis uninstall --skip-repo --file ../file
exits 0 'uninstall --file, by a relative name'
same_bytes 'leaves it as it was' file own
nothing_in 'the user has none of it' --global

must git -C repo commit -q --allow-empty -m empty
in_dir repo run git brevis install --worktree --skip-repo
exits 0 'install --worktree of the only one'
is 'is install --local' "$(settings -f repo/.git/config)" "$SETTINGS"
must cp repo.config repo/.git/config
must git -C repo worktree add -q "$T/tree"
in_dir tree run git brevis install --worktree --skip-repo
exits 128 'install --worktree beside others'
one_line 'is refused by git, and says what to do' 'filter.brevis.clean' 'worktreeConfig'
must git -C repo config extensions.worktreeConfig true
in_dir tree run git brevis install --worktree --skip-repo
exits 0 'with extensions.worktreeConfig'
is 'it is for that work tree' "$(settings -f repo/.git/worktrees/tree/config.worktree)" "$SETTINGS"
nothing_in 'and no other' -f repo/.git/config
in_dir tree must git brevis track '*.safetensors'
cp "$DEMO" tree/model.safetensors
in_dir tree must git add -A
is 'where it works' "$(git -C tree cat-file blob :model.safetensors | head -c 7)" version
in_dir tree run git brevis uninstall --worktree --skip-repo
is 'uninstall --worktree leaves an empty file' \
	"$RC $(stat -c %s repo/.git/worktrees/tree/config.worktree)" '0 0'

for scope in --local --worktree; do
	for verb in install uninstall; do
		run git brevis $verb $scope
		exits 128 "$verb $scope outside of a repository"
		one_line 'says so' "$scope" 'there is none here'
	done
done
for scopes in '--local --system' '--worktree --local' '--system --file=file' '--local --file file'; do
	# shellcheck disable=SC2086 # two options
	run git brevis install $scopes
	exits 129 "install $scopes"
	contains 'says that they exclude each other' "$T/err" 'exclude each other'
done
run git brevis install --file=no/such/file
exits 128 'install into a file that cannot be made'
one_line 'says which' 'no/such/file'
nothing_in 'none of these has set anything' --global

# ---- other options ----

in_dir repo run git brevis install --skip-smudge --skip-repo --local
is 'options combine' "$RC $(git -C repo config --local brevis.skipSmudge)" '0 true'
must cp repo.config repo/.git/config
must rm -f repo/.git/hooks/*
in_dir repo run git brevis install --skip-repo
is 'install --skip-repo makes no hook' "$RC $(ls repo/.git/hooks)" '0 '
in_dir repo run git brevis install --manual
is 'install --manual neither' "$RC $(ls repo/.git/hooks)" '0 '
contains 'but prints what they have to run' "$T/out" 'git brevis hook pre-push'
contains 'and sets all else' "$T/out" 'git-brevis is set up.'
in_dir repo run git brevis install --manual --skip-repo
is 'with --skip-repo it prints nothing of hooks' "$RC $(grep -c hook "$T/out")" '0 0'
run git brevis install word
exits 129 'install takes no argument'
run git brevis uninstall --force
exits 129 'uninstall has no --force'

# An installation of an earlier version gets what it lacks.
for section in merge.brevis diff.brevis; do
	must git config --global --remove-section $section
done
cp "$DEMO" repo/model.safetensors
in_dir repo must git brevis track '*.safetensors'
must git -C repo add -A
in_dir repo run git brevis status
exits 0 'status with a setting missing'
contains 'warns once' "$T/err" 'git-brevis: warning: diff.brevis.command is not set'
is 'in one line' "$(wc -l <"$T/err")" 1
# shellcheck disable=SC2016 # backquotes are those of the messages
contains 'and says what to do' "$T/err" 'run `git brevis install`'
in_dir repo run git brevis env
# shellcheck disable=SC2016 # backquotes are those of the messages
contains 'env tells each' "$T/out" \
	'git config merge.brevis.driver = "" (not set; run `git brevis install`)'
in_dir repo run git brevis install
is 'install sets it' "$RC $(settings --global)" "0 $SETTINGS"
in_dir repo run git brevis status
is 'and status has nothing to warn of' "$RC $(cat "$T/err")" '0 '

# ---- what is somebody else's ----

must git brevis uninstall
for key in merge.brevis.driver diff.brevis.textconv filter.brevis.process merge.brevis.recursive; do
	cp own "$GIT_CONFIG_GLOBAL"
	must git config --global "$key" 'my own %A'
	cp "$GIT_CONFIG_GLOBAL" before
	run git brevis install
	exits 128 "install beside another $key"
	one_line 'tells of it and what to do' "$key is set to 'my own %A' already" 'git brevis install --force'
	same_bytes 'and sets nothing' "$GIT_CONFIG_GLOBAL" before
	run git brevis uninstall
	exits 0 'uninstall beside it'
	contains 'tells of it' "$T/err" "$key is set to 'my own %A', not by \`git brevis install\`; it stays"
	same_bytes 'and leaves it' "$GIT_CONFIG_GLOBAL" before
	run git brevis install --force
	is 'install --force replaces it' "$RC $(settings --global)" "0 $SETTINGS"
done
must git config --global merge.brevis.driver 'my own %A'
must git config --global diff.brevis.xfuncname 'mine'
run git brevis uninstall
is 'uninstall takes what is unchanged' "$RC $(git config --global --get-regexp brevis | sort)" \
	'0 diff.brevis.xfuncname mine
merge.brevis.driver my own %A'
cp own "$GIT_CONFIG_GLOBAL"
must git brevis install
must git config --global --unset merge.brevis.driver
must git config --global --add merge.brevis.driver 'my own %A'
must git config --global --add merge.brevis.driver 'git-brevis merge-driver %O %A %B %L %P'
cp "$GIT_CONFIG_GLOBAL" before
run git brevis install
exits 0 'install where ours is the last of several'
same_bytes 'leaves all of them' "$GIT_CONFIG_GLOBAL" before
run git brevis uninstall
is 'uninstall takes ours' "$RC $(git config --global --get-all merge.brevis.driver)" '0 my own %A'
contains 'and tells that the other stays' "$T/err" "merge.brevis.driver is set to 'my own %A'"

# Another scope is not looked at.
cp own "$GIT_CONFIG_GLOBAL"
must git -C repo config merge.brevis.driver 'my own %A'
run git brevis install
exits 0 'a repository that has its own does not matter to the user'
in_dir repo run git brevis env
# shellcheck disable=SC2016 # backquotes are those of the messages
contains 'but env tells of it' "$T/out" 'merge.brevis.driver = "my own %A" (not what `git brevis install` sets)'
in_dir repo run git brevis install --local
exits 128 'for install --local it does'
in_dir repo run git brevis uninstall --local --skip-repo
is 'and uninstall --local leaves it' "$RC $(git -C repo config --local merge.brevis.driver)" '0 my own %A'

done_testing
