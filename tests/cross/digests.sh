#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Another architecture, emulated, makes the same archives as this one, restores from archives the
# same bytes, and refuses bad ones in the same words.
#
#   BREVIS_TEST_BIN=build/check-gcc tests/cross/digests.sh ARCH
#
# Needs build/cross/ARCH and build/check-cross-ARCH; `tests/run cross-ARCH` makes them.
BREVIS_TEST_NO_INSTALL=1
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

ARCH=$1
ROOT=$TOP/build/cross/$ARCH
THERE=$TOP/build/check-cross-$ARCH/core-digests

# compare NAME PRESET KEPT LEAST FILE...: the lines of both are the same, and at least LEAST.
compare()
{
	local name=$1 preset=$2 kept=$3 least=$4
	shift 4
	# Each with threads of its own number: that makes no difference either.
	if ! "$BIN/core-digests" "$preset" 1 "$kept" "$@" >"$T/here" 2>"$T/err"; then
		not_ok "$name: here" "$T/err"
	elif ! qemu-"$ARCH" -L "$ROOT" "$THERE" "$preset" 3 "" "$@" >"$T/there" 2>"$T/err"; then
		not_ok "$name: on $ARCH" "$T/err"
	else
		check "$name: the same on $ARCH" diff "$T/here" "$T/there"
	fi
	at_least "$name: lines" "$(wc -l <"$T/here")" "$least"
}

must mkdir "$T/files" "$T/edge" "$T/kept"
must "$TOP/scripts/edge-files" --seed "$SEED" --count 20 "$T/edge"
must rm "$T/edge/manifest.json"
must "$PYTHON" -B "$TOP/tests/support/structured_tensors.py" "$T/files" "$SEED"
must cp "$DEMO" "$TOP/docs/FORMAT.md" "$T/files"
must "$PYTHON" -B "$TOP/tests/support/handmade_archives.py" "$T/handmade"

compare 'archives, fast' fast "" 30 "$T"/edge/* "$T"/files/*
compare 'archives, default' default "$T/kept" 30 "$T"/edge/* "$T"/files/*
# The preset that takes five times as long: of the structures, but the largest file of them.
must mkdir "$T/best"
must cp "$T"/files/*.safetensors "$T/best"
must rm "$T/best/scales.safetensors" "$T/best/$(basename "$DEMO")"
compare 'archives, best' best "" 8 "$T"/best/*
compare 'what they restore' default "" 30 "$T"/kept/*
compare 'the corpus' default "" 110 "$TOP"/tests/corpus/*.brevis
compare 'made by hand, good' default "" 580 "$T"/handmade/good/*.brevis
compare 'made by hand, bad' default "" 330 "$T"/handmade/bad/*.brevis

done_testing
