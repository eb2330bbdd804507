#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh as a new user runs it, on a copy of the tree in an empty home directory.
BREVIS_TEST_NO_INSTALL=1
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

# Nothing of the test builds may be found; the tree is what a clone of it would be.
PATH=${PATH#"$BIN":}
# That the program builds as it is delivered, another build says.
export OPT=-O0
copy_of_sources tree

cd tree || exit 1
run env DESTDIR="$T/packaged" ./install.sh --prefix /usr
exits 0 'install.sh with DESTDIR'
check 'puts the program below DESTDIR' test -x "$T/packaged/usr/bin/git-brevis"
check 'and it runs' "$T/packaged/usr/bin/git-brevis" version
is 'and configures nobody' "$(git config --global --get filter.brevis.process)" ""

run ./install.sh --demo --prefix "$T/x"
exits 0 'install.sh --demo'
check 'puts the program below the prefix' test -x "$T/x/bin/git-brevis"
contains 'the demo says how much was saved' "$T/out" '%'
contains 'install.sh says what to put on PATH' <(cat "$T/out" "$T/err") "$T/x/bin"
is 'the filter is configured' "$(git config --global --get filter.brevis.required)" true

cp "$GIT_CONFIG_GLOBAL" "$T/config"
run ./install.sh --prefix "$T/x"
exits 0 'install.sh a second time'
same_bytes 'is harmless to the configuration' "$GIT_CONFIG_GLOBAL" "$T/config"

export PATH=$T/x/bin:$PATH
unset MANPATH
contains 'git help finds the manual beside the program' <(MANPAGER="cat" git help brevis 2>&1) 'git-brevis-config(5)'
must git init -q "$T/repo"
cd "$T/repo" || exit 1
check 'the installed program tracks' git brevis track '*.safetensors'
cp "$DEMO" model.safetensors
commit_all . 'a checkpoint'
at_most 'and compresses' "$(stat -c %s "$(object_of . model.safetensors)")" \
	"$(($(stat -c %s "$DEMO") * 7 / 10))"
check 'and uninstalls' git brevis uninstall

cd "$T/tree" || exit 1
run ./install.sh --nonsense
is 'an unknown option is refused' "$((RC != 0))" 1
is 'building left nothing in the tree but build' "$(find . -newer "$T/config" -type f \
	-not -path './build/*')" ""

done_testing
