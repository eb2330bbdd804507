# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tests/run needs to build the core and its tests for other architectures and to run them under
# an emulator: aarch64 for its vector unit, s390x for its byte order. Neither says anything about
# speed.

# shellcheck disable=SC2034 # for tests/run
CROSS_ARCHES="aarch64 s390x"
CROSS_UNITS=$(make -s core-unit-names) || exit 1

# Tests of the core that are not run there, since each takes 20 to 240 CPU seconds under the emulator,
# as much as all others together. What they are about is either not ours, or "digests" compares it:
#   test_chain, test_bytes   matching by Zstandard and LZMA; the corpus has chains and records of bytes
#   test_encoder, test_guided_encoder, test_presets, test_search, test_rules
#                            digests encodes more files, in all presets, for each operator and coding
#   test_safetensors         a header of a million tensors; digests reads each kind of header
CROSS_LEFT_OUT=" test_chain test_bytes test_encoder test_guided_encoder test_presets test_search "
CROSS_LEFT_OUT+="test_rules test_safetensors "

# The tests of an architecture, as tests/run names them; the longest one first.
cross_tests()
{
	local name
	echo "$1:digests"
	for name in $CROSS_UNITS; do
		case $CROSS_LEFT_OUT in *" $name "*) ;; *) echo "$1:$name" ;; esac
	done
}

# cross_build ARCH: libraries, core and tests.
cross_build()
{
	local arch=$1 root=$TOP/build/cross/$1 log=$LOGS/libraries-$1.log began=$SECONDS
	if ! scripts/cross-libraries "$arch" "$root" >"$log" 2>&1; then
		echo "not ok 1 - the libraries for $arch are there" >>"$log"
		printf '%-4s %-32s %4d s\n' FAIL "libraries:$arch" $((SECONDS - began))
		return 1
	fi
	echo "ok 1 - the libraries for $arch are there" >>"$log"
	PKG_CONFIG_LIBDIR=$root/usr/lib/$arch-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root \
		build "cross-$arch" core-binaries CC="$arch-linux-gnu-gcc --sysroot=$root" \
		AR="$arch-linux-gnu-ar" CFLAGS=-Werror
}

# cross_run ARCH NAME: one test.
cross_run()
{
	if [ "$2" = digests ]; then
		BREVIS_TEST_BIN=$TOP/build/check-gcc timeout -k 30 "$TIME_LIMIT" tests/cross/digests.sh "$1"
	else
		CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 "$TIME_LIMIT" \
			"qemu-$1" -L "$TOP/build/cross/$1" "build/check-cross-$1/tests/$2"
	fi
}
