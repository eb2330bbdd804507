#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds and installs git-brevis, with what it needs from the system's packages.
#
#   ./install.sh [--demo] [--prefix DIR]
#
#   --demo        afterwards show a checkpoint on its way through git and back
#   --prefix DIR  where to install: /usr/local for root, ~/.local for others
#
# The environment may set PREFIX, DESTDIR (installs below it, for packagers: nothing is set up for
# the user then), BUILD and CC. Running it again does no harm.
set -eu

root=$(cd "$(dirname "$0")" && pwd)

die() {
	echo "install.sh: $*" >&2
	exit 1
}

usage() {
	sed -n 's/^# \{0,1\}//; 4,12p' "$0"
}

demo=no
prefix=${PREFIX:-}
while [ $# != 0 ]; do
	case $1 in
	--demo) demo=yes ;;
	--prefix)
		[ $# -ge 2 ] || die "--prefix needs a directory"
		prefix=$2
		shift
		;;
	--prefix=*) prefix=${1#--prefix=} ;;
	-h | --help)
		usage
		exit
		;;
	*)
		usage >&2
		exit 2
		;;
	esac
	shift
done

# Some containers and services run without HOME; git cannot keep its configuration then.
if [ -z "${HOME:-}" ]; then
	HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
	[ -n "$HOME" ] || die "HOME is not set and this user has no home directory: set HOME"
	export HOME
fi

if [ -z "$prefix" ]; then
	if [ "$(id -u)" = 0 ]; then
		prefix=/usr/local
	else
		prefix=$HOME/.local
	fi
fi
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
destdir=${DESTDIR:-}
case $destdir in
"" | /*) ;;
*) destdir=$PWD/$destdir ;;
esac
# They are given to make by hand below; a relative one in the environment would mislead it.
unset PREFIX DESTDIR

bin=$destdir$prefix/bin
if ! mkdir -p "$bin" 2>/dev/null || ! [ -w "$bin" ]; then
	die "cannot write to $bin: run this as root, or choose a directory with --prefix DIR"
fi

"$root/scripts/dependencies" --install build

echo "Building git-brevis"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM

# Runs make silently; on failure shows the end of what it said.
run_make() {
	make -s -C "$root" "$@" >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		die "make $1 failed; see above"
	}
}
run_make all -j "$(nproc)"
run_make install PREFIX="$prefix" DESTDIR="$destdir"
echo "Installed $bin/git-brevis"

if [ -z "$destdir" ]; then
	# Not from this checkout, which would get hooks that belong into the user's repositories.
	(cd / && PATH=$bin:$PATH git brevis install) || die "git brevis install failed; see above"
	case :$PATH: in
	*":$bin:"*) ;;
	*)
		echo
		echo "$bin is not on your PATH. Put this into the start file of your shell:"
		echo "    export PATH=\"$bin:\$PATH\""
		;;
	esac
fi

if [ $demo = yes ]; then
	echo
	"$root/scripts/demo" --bin "$bin"
fi
