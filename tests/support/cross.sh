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
#   test_synthesis           what a search finds; digests compares what it found
#   test_literal             each coding at random; digests has each of those made by hand, good and bad
#   test_archive, test_archive_read, test_archive_damage
#                            digests makes and restores archives, reads all that are made by hand, and compares
#                            in which words those that the format forbids are refused
#   test_safetensors         a header of a million tensors; digests reads each kind of header
#   test_usual               what a search would have saved; digests compares what the presets chose
#   test_pieces, test_proof  arithmetic with sizes, and what an encoder does with wrong records: of
#                            large files, for no instruction of a processor's own
CROSS_LEFT_OUT=" test_chain test_bytes test_encoder test_guided_encoder test_presets test_search "
CROSS_LEFT_OUT+="test_rules test_synthesis test_literal test_archive test_archive_read test_archive_damage "
CROSS_LEFT_OUT+="test_safetensors test_usual test_pieces test_proof "

# Of repetitions with random numbers (tests/unit/share.h) these many are done there, in percent.
CROSS_SHARE=20

# Of aarch64 only its vector unit is its own: those tests whose work kernels do.
CROSS_VECTOR_UNITS=" test_kernels test_kernels_rans test_kernels_words test_kernels_choice test_execute "

# cross_units ARCH: the unit tests that are run there.
cross_units()
{
	local name
	for name in $CROSS_UNITS; do
		case $1$CROSS_VECTOR_UNITS in
		aarch64*" $name "*) echo "$name" ;;
		aarch64*) ;;
		*) case $CROSS_LEFT_OUT in *" $name "*) ;; *) echo "$name" ;; esac ;;
		esac
	done
}

# The tests of an architecture, as tests/run names them; the longest one first.
cross_tests()
{
	echo "$1:digests"
	cross_units "$1" | sed "s/^/$1:/"
}

# cross_build ARCH: libraries, core and the tests that are run. Without what -O3 takes twice the time for:
# it makes nothing faster under an emulator.
cross_build()
{
	local arch=$1 root=$TOP/build/cross/$1 log=$LOGS/libraries-$1.log began=$SECONDS
	local built=build/check-cross-$1
	if ! scripts/cross-libraries "$arch" "$root" >"$log" 2>&1; then
		echo "not ok 1 - the libraries for $arch are there" >>"$log"
		printf '%-4s %-32s %4d s\n' FAIL "libraries:$arch" $((SECONDS - began))
		return 1
	fi
	echo "ok 1 - the libraries for $arch are there" >>"$log"
	PKG_CONFIG_LIBDIR=$root/usr/lib/$arch-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root \
		build "cross-$arch" "$(cross_units "$arch" | sed "s,^,$built/tests/,") $built/core-digests" \
		CC="$arch-linux-gnu-gcc --sysroot=$root" AR="$arch-linux-gnu-ar" CFLAGS=-Werror OPT=-O2 \
		UNIT_OPT=-O1
}

# cross_run ARCH NAME: one test.
cross_run()
{
	if [ "$2" = digests ]; then
		BREVIS_TEST_BIN=$TOP/build/check-gcc timeout -k 30 "$TIME_LIMIT" tests/cross/digests.sh "$1"
	else
		CMOCKA_MESSAGE_OUTPUT=TAP BREVIS_TEST_SHARE=$CROSS_SHARE timeout -k 10 "$TIME_LIMIT" \
			"qemu-$1" -L "$TOP/build/cross/$1" "build/check-cross-$1/tests/$2"
	fi
}
