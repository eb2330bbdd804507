#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# libbrevis as others use it: installed, found by pkg-config, called from C and C++; what it exports
# and what the linker needs to know.
BREVIS_TEST_NO_INSTALL=1
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

unset MAKEFLAGS MAKELEVEL MFLAGS PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
export PKG_CONFIG_PATH

# Under another name than the one it was installed for: what it says of itself has to move along.
must make -s -C "$TOP" BUILD="${BIN#"$TOP/"}" CC=gcc CFLAGS=-Werror install DESTDIR="$T/staged" PREFIX=/opt/brevis
must mv "$T/staged/opt/brevis" "$T/a place"
root="$T/a place"
lib=$root/lib
PKG_CONFIG_PATH=$lib/pkgconfig
version=$(sed -n 's/^#define BREVIS_VERSION "\(.*\)"/\1/p' "$TOP/core/brevis.h")
soname=libbrevis.so.${version%%.*}

# ---- names --------------------------------------------------------------------------------------

# The functions that the header declares.
grep -oE '\bbrevis_[a-z0-9_]+\(' <(sed -e 's|^ \*.*||; s|/\*.*\*/||' -e '/^typedef/d' "$root/include/brevis.h") |
	tr -d '(' | sort -u >declared
at_least 'the header declares functions' "$(wc -l <declared)" 20

nm -D --defined-only "$lib/libbrevis.so" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort >exported
same_bytes 'the shared library exports these, and nothing else' exported declared
nm -g --defined-only "$lib/libbrevis.a" | awk 'NF == 3 { print $3 }' |
	grep -vE '^brevis_private_' | sort -u >archived
same_bytes 'so does the static one, but for names that nobody else has' archived declared
readelf -d "$lib/libbrevis.so" >dynamic
contains 'the soname has the version' dynamic "[$soname]"
is 'the loader finds it by that' "$(readlink "$lib/$soname")" "libbrevis.so.$version"
is 'the linker by its own' "$(readlink "$lib/libbrevis.so")" "$soname"
check 'it can be placed anywhere' test "$(grep -c TEXTREL dynamic)" -eq 0

# ---- the header ---------------------------------------------------------------------------------

warnings=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$root/include")
echo '#include <brevis.h>' >alone.c
cp alone.c alone.cc
for compiler in gcc clang; do
	check "$compiler: the header is C11 by itself" $compiler -std=c11 "${warnings[@]}" -Wstrict-prototypes alone.c
done
for compiler in g++ clang++; do
	check "$compiler: and C++11" $compiler -std=c++11 "${warnings[@]}" alone.cc
done
# A declaration is documented if a comment ends on the line before it.
awk '/^[a-z].*\<brevis_[a-z0-9_]+\(/ && !/^typedef/ && before !~ /\*\/$/ { print FILENAME ":" FNR ": " $0 }
	{ before = $0 }' "$root/include/brevis.h" >bare
same_bytes 'each function is documented' bare /dev/null

# ---- programs -----------------------------------------------------------------------------------

examples=$root/share/doc/git-brevis/examples

# build COMPILER SOURCE PROGRAM [--static]: with what pkg-config says, which is quoted for a shell.
build()
{
	eval "$1 -Wall -Wextra -Werror -o '$3' '$2' $(pkg-config "${@:4}" --cflags --libs libbrevis)"
}

# with_library PROGRAM...: runs it with nothing but the installed library.
with_library()
{
	env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH="$lib" "$@"
}

check 'the example in C builds' build gcc "$examples/roundtrip.c" in-c
check 'and that in C++' build 'g++ -std=c++17' "$examples/roundtrip.cc" in-c++
contains 'they take the installed library' <(with_library ldd in-c) "$soname => $root/lib"

run with_library ./in-c compress "$DEMO" archive
exits 0 'the C program compresses'
at_most 'by a third' "$(stat -c %s archive)" "$(($(stat -c %s "$DEMO") * 67 / 100))"
run with_library ./in-c restore archive restored
exits 0 'and restores'
same_bytes 'every byte' restored "$DEMO"
check 'git-brevis reads its archive' "$BIN/git-brevis" verify archive
run with_library ./in-c restore "$TOP/tests/corpus/bad-record-checksum.brevis" broken
exits 1 'it refuses a damaged archive'
is 'says so in one line' "$(wc -l <err)" 1
check 'and leaves no part of a file' test ! -e broken
run with_library ./in-c++ "$DEMO"
exits 0 'the C++ program does all of it in memory'
at_least 'and names the tensors' "$(wc -l <out)" 10

# Where there is only the static library, and its dependencies have to be named.
must mkdir -p static/lib
must cp -R "$lib/pkgconfig" "$lib/libbrevis.a" static/lib
must cp -R "$root/include" static
PKG_CONFIG_PATH=$T/static/lib/pkgconfig
check 'the example builds with the static library' build gcc "$examples/roundtrip.c" in-static --static
is 'and needs no other of it' "$(ldd in-static | grep -c libbrevis)" 0
check 'compresses' ./in-static compress "$DEMO" archive-static
same_bytes 'to the same archive' archive-static archive

done_testing
