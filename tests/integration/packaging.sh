#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What is installed goes where it belongs, and can be taken away without a trace: `make install` and
# `uninstall`, the tarball of `make dist`, and the packages of `make deb`.
# shellcheck source=../support/own_mounts.sh
. "$(dirname "$0")/../support/own_mounts.sh"
BREVIS_TEST_NO_INSTALL=1
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

unset MAKEFLAGS MAKELEVEL MFLAGS DEBFULLNAME DEBEMAIL SOURCE_DATE_EPOCH
build=${BIN#"$TOP/"}
version=$(sed -n 's/^#define BREVIS_VERSION "\(.*\)"/\1/p' "$TOP/core/brevis.h")
build_make=(make -s -C "$TOP" BUILD="$build" CC=gcc CFLAGS=-Werror)

# tree DIR: all that is in it, with kinds, modes and contents.
tree()
{
	(cd "$1" && find . -printf '%y %m %p %l\n' | LC_ALL=C sort && listing .)
}

# ---- make install -------------------------------------------------------------------------------

# A prefix that other things are in already.
others=$T/a\ prefix
must mkdir -p "$others"/bin "$others"/lib/pkgconfig "$others"/share/man/man1 "$others"/share/doc
touch "$others/bin/git-other" "$others/lib/libother.a" "$others/share/man/man1/git-other.1"
tree "$others" >before
run "${build_make[@]}" install PREFIX="$others"
exits 0 'make install'
tree "$others" >installed
check 'puts the program there' "$others/bin/git-brevis" version
pages=$(find "$TOP/docs/man" -name '*.[1-8]' | wc -l)
is 'and every page of the manual' "$(find "$others/share/man" -name '*brevis*.[1-8]' | wc -l)" "$pages"
is 'which man finds beside the program' \
	"$(env -u MANPATH PATH="$others/bin:$PATH" man -w git-brevis)" "$others/share/man/man1/git-brevis.1"
for file in share/bash-completion/completions/git-brevis share/zsh/site-functions/_git-brevis \
	share/fish/vendor_conf.d/git-brevis.fish lib/libbrevis.so include/brevis.h \
	share/doc/git-brevis/LICENSE; do
	check "$file" test -s "$others/$file"
done
run "${build_make[@]}" install PREFIX="$others"
tree "$others" >again
same_bytes 'installing again changes nothing' again installed
run "${build_make[@]}" uninstall PREFIX="$others"
exits 0 'make uninstall'
tree "$others" >after
same_bytes 'leaves all as it was' after before

must mkdir -p "$T/blocked/share/man/man5/brevis-format.5/brevis-format.5"
run "${build_make[@]}" install PREFIX="$T/blocked"
is 'one file that cannot be written makes it fail' "$((RC != 0))" 1
contains 'with the reason' err brevis-format.5

run "${build_make[@]}" install PREFIX=here
is 'a relative prefix is refused' "$((RC != 0))" 1
contains 'with the reason' err 'here is no absolute path'

places=(DESTDIR="$T/staged" PREFIX=/usr LIBDIR=/usr/lib64 MANDIR=/usr/man BINDIR=/opt/bin DOCDIR=/usr/doc/brevis)
run "${build_make[@]}" install-strip "${places[@]}"
exits 0 'make install-strip, with places of their own'
check 'BINDIR' test -x staged/opt/bin/git-brevis
check 'LIBDIR' test -e staged/usr/lib64/libbrevis.so
check 'MANDIR' test -e staged/usr/man/man1/git-brevis.1
check 'DOCDIR' test -e staged/usr/doc/brevis/README.md
is 'nothing is there for debuggers' "$(readelf -SW staged/opt/bin/git-brevis staged/usr/lib64/libbrevis.so \
	staged/usr/lib64/libbrevis.a | grep -c '\.debug_')" 0
check 'what was stripped still works' staged/opt/bin/git-brevis compress "$DEMO" -o demo.brevis
run "${build_make[@]}" uninstall "${places[@]}"
is 'nothing is left of it' "$(ls -A staged)" ""

# ---- make dist ----------------------------------------------------------------------------------

copy_of_sources tree
must git init -q tree
commit_all tree 'all of it'
run make -s -C tree dist DISTDIR="$T/first"
exits 0 'make dist'
tarball=git-brevis-$version.tar.gz
contains 'says what it made' out "first/$tarball"
must git clone -q tree other
(umask 077 && TZ=Asia/Tokyo must git -C other -c core.autocrlf=true checkout -q HEAD)
(umask 077 && git -C other config tar.umask user && TZ=Asia/Tokyo must make -s -C other dist DISTDIR="$T/second")
same_bytes 'another clone makes the same bytes' "first/$tarball" "second/$tarball"

must tar -xf "first/$tarball"
unpacked=$T/git-brevis-$version
(cd tree && git ls-files | LC_ALL=C sort) >tracked
(cd "$unpacked" && find . -type f -o -type l | sed 's|^\./||' | LC_ALL=C sort) >found
same_bytes 'it has what git tracks, and nothing else' found tracked

# Compiled already were the same sources, as far as they are older.
must mkdir "$unpacked/build"
must cp -a "$BIN/core" "$BIN/filter" "$unpacked/build"
find "$unpacked/build" -name '*.d' -exec sed -i "s|^$build/|build/|" {} +
find "$unpacked" -path "$unpacked/build" -prune -o -type f -exec touch -d '2001-01-01' {} +
touch "$unpacked/core/version.c" "$unpacked/filter/main.c"
run make -s -C "$unpacked" CC=gcc CFLAGS=-Werror install PREFIX="$T/from-tarball"
exits 0 'it builds and installs without a repository'
check 'and the program works' from-tarball/bin/git-brevis verify demo.brevis
run make -s -C "$unpacked" dist
is 'it cannot be packed again' "$((RC != 0))" 1
contains 'as one line says' err 'is no git repository'

# ---- make deb -----------------------------------------------------------------------------------

export SOURCE_DATE_EPOCH=1714564800
run "${build_make[@]}" deb DISTDIR="$T/deb"
exits 0 'make deb'
is 'makes three packages' "$(find deb -type f -name '*.deb' -printf '%f\n' | sed 's/_.*//' | sort | tr '\n' ' ')" 'git-brevis libbrevis-dev libbrevis0 '
check 'lintian has no complaint' lintian --no-cfg --allow-root --fail-on error,warning --tag-display-limit 0 deb/*.deb
contains 'what the program needs was computed' <(dpkg-deb -f deb/git-brevis_*.deb Depends) libgit2
contains 'and git-lfs is among it' <(dpkg-deb -f deb/git-brevis_*.deb Depends) git-lfs

# What a user does once the packages are there: git knows the filter, the compiler the library.
cat >journey.sh <<END
set -e
mkdir /tmp/journey
cd /tmp/journey
export HOME=\$PWD GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=A \
	GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=a@example.org
git init -q --bare remote
git clone -q "file://\$PWD/remote" here 2>&1
cd here
git brevis track '*.safetensors'
cp "$DEMO" model.safetensors
git add -A
git commit -qm model
git cat-file blob HEAD:model.safetensors | grep -q '^oid sha256:'
git push -q origin HEAD
cd ..
git clone -q "file://\$PWD/remote" there
cmp there/model.safetensors "$DEMO"
man -w git-brevis
cc -o roundtrip /usr/share/doc/libbrevis-dev/examples/roundtrip.c \$(pkg-config --cflags --libs libbrevis)
./roundtrip compress "$DEMO" archive
END

# in_root COMMAND...: where what is written goes to $T/layers/upper.
in_root()
{
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		chroot "$T/layers/root" "$@"
}

# This system with a layer over it that takes all that is written.
begin_root()
{
	mkdir layers && mount -t tmpfs tmpfs layers && _mounts+=("$T/layers") || return 1
	mkdir layers/upper layers/work layers/root
	mount -t overlay overlay -o "lowerdir=/,upperdir=layers/upper,workdir=layers/work" layers/root &&
		_mounts=("$T/layers/root" "${_mounts[@]}") || return 1
	mount --rbind /dev layers/root/dev && in_root dpkg --version
}

# Differences between the layer and the system below it; dpkg's books, logs and caches are no files
# of a package.
differences()
{
	local path
	(cd layers/upper && find . -mindepth 1) | cut -c2- |
		grep -vE '^/(var/(lib/dpkg|log|cache)|etc/ld\.so\.cache|tmp|dev)(/|$)' | while read -r path; do
		if [ ! -e "/$path" ] && [ ! -L "/$path" ]; then
			echo "left: $path"
		elif [ -c "layers/upper$path" ]; then
			echo "gone: $path"
		elif [ -f "layers/upper$path" ] && ! cmp -s "layers/upper$path" "$path"; then
			echo "changed: $path"
		fi
	done
}

if [ -z "$OWN_MOUNTS" ] || ! begin_root >mounting 2>&1; then
	not_here 'the packages on a system' 'no layer can be mounted over this one'
	done_testing
fi
must in_root rm -f /var/lib/man-db/auto-update # the index of the manual takes long
cp -R deb journey.sh layers/root/tmp
run in_root sh -c 'dpkg -i /tmp/deb/*.deb'
exits 0 'the packages install'
check 'and a model goes through git and back' in_root sh /tmp/journey.sh
must in_root git config --system filter.brevis.clean mine
run in_root /var/lib/dpkg/info/git-brevis.postinst configure
exits 0 'settings of somebody else are no failure'
contains 'but told' err 'filter.brevis.clean'
must in_root git config --system filter.brevis.clean 'git-brevis clean -- %f'
run in_root dpkg --purge git-brevis libbrevis-dev libbrevis0
exits 0 'they are removed'
differences | grep -v '^gone: /var/lib/man-db/auto-update$' >left
same_bytes 'and nothing is left of them' left /dev/null

done_testing
