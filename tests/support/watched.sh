# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tests/run needs to run unit tests and scripts once more with programs that are watched: built with
# ASan and UBSan ("asan") or with TSan ("tsan"), or run by valgrind's memcheck ("valgrind"). Each is a group
# of tests, GROUP:NAME, of which a selection is part of all.
# shellcheck disable=SC2034,SC2086 # used by tests/run, or by a name that is put together; lists of words

WATCHED_GROUPS="asan tsan valgrind"

# gcc's runtime libraries are linked in: as shared ones, UBSan's writes no reports to files.
ASAN_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -static-libasan -static-libubsan"
TSAN_FLAGS="-fsanitize=thread -fno-omit-frame-pointer"
ASAN_BUILD=(CC=gcc OPT="-O1 -g" HARDEN= "SANITIZE=$ASAN_FLAGS")
TSAN_BUILD=(CC=gcc OPT="-O1 -g" HARDEN= "SANITIZE=$TSAN_FLAGS")

# Scripts that are not run so, as watching would tell nothing there or change what they are about:
#   layout, picture, manual, completion, install, bench_git, bench_stores
#                            texts, settings and tools around the program
#   hardening, library, packaging, install_script
#                            what make builds and installs, without sanitizers
#   memory                   peak memory, which watching multiplies, of files of GiB
#   torture                  the library that lets calls fail stands where the sanitizers' is
UNWATCHED_SCRIPTS="layout picture manual completion install bench_git bench_stores hardening library packaging
	install_script memory torture"

# Part of all: with ASan the unit tests but four, and scripts of what people do and what meets strangers' bytes;
# with TSan, where threads work together, as much as takes a minute with its build; under valgrind, what takes
# a quarter of that.
ASAN_SCRIPTS="journey_file_remote edge_files filter_rules status_clean bad_input cli store_verbs
	store_faults store_sftp store_dav fuzz_replay"
# Left to the group asan: test_chain and test_bytes are of Zstandard's and LZMA's matching, test_presets and
# test_usual of searches that other tests make, too; each takes up to half a minute.
ASAN_UNITS_LEFT_OUT="test_chain test_bytes test_presets test_usual"
TSAN_SCRIPTS="journey_file_remote status_clean"
TSAN_UNITS="test_pool test_hasher test_feed test_progress test_thread_share test_multipart test_journal
	test_pkt_line test_session test_revisions"
VALGRIND_SOME_UNITS="test_agent test_buffer test_pkt_line test_pointer test_prior test_session test_xml"

# The group valgrind: what reads strangers' bytes, what reckons with memory, and what people do. For the
# rest its slowness is too much: it makes forty of a second.
VALGRIND_UNITS="$VALGRIND_SOME_UNITS test_archive_read test_codebook test_encoder test_escape test_execute
	test_expand test_feed test_guided_encoder test_inspect test_kernels test_kernels_rans
	test_kernels_words test_known test_literal test_literal_damaged test_map test_program
	test_program_hostile test_protocol test_record test_safetensors test_store_settings"
VALGRIND_SCRIPTS="filter_rules journey_file_remote"

# watched_names GROUP: of all its tests.
watched_names()
{
	if [ "$1" = valgrind ]; then
		printf '%s\n' $VALGRIND_SCRIPTS $VALGRIND_UNITS
	else
		(printf '%s\n' $SLOW_SCRIPTS && scripts) | awk '!seen[$0]++' |
			grep -vxF "$(printf '%s\n' $UNWATCHED_SCRIPTS)"
		units
	fi
}

asan_tests() { watched_names asan | sed s/^/asan:/; }
tsan_tests() { watched_names tsan | sed s/^/tsan:/; }
valgrind_tests() { watched_names valgrind | sed s/^/valgrind:/; }
asan_test() { run_named asan "$1"; }
tsan_test() { run_named tsan "$1"; }
valgrind_test() { run_named valgrind "$1"; }

# watched_scripts_of_all, watched_units_of_all: the tests that are part of all.
watched_scripts_of_all()
{
	printf 'asan:%s\n' $ASAN_SCRIPTS
	printf 'tsan:%s\n' $TSAN_SCRIPTS
}

watched_units_of_all()
{
	units | grep -vxF "$(printf '%s\n' $ASAN_UNITS_LEFT_OUT)" | sed s/^/asan:/
	printf 'tsan:%s\n' $TSAN_UNITS
	printf 'valgrind:%s\n' $VALGRIND_SOME_UNITS
}

# watched_share GROUP: how much of their random repetitions (tests/unit/share.h) unit tests do, in percent.
watched_share()
{
	case $1 in
	asan) echo 15 ;;
	tsan) echo 20 ;;
	valgrind) echo 2 ;;
	*) echo 100 ;;
	esac
}

# watched_targets GROUP TESTS: what make builds for those of the tests that are of this group.
watched_targets()
{
	local built=build/check-$1 name
	echo "$built/git-brevis"
	echo "$2" | sed -n "s/^$1://p" | while read -r name; do
		if [ -e "tests/unit/$name.c" ]; then
			echo "$built/tests/$name"
		fi
		case $name in
		fuzz_replay) echo replay-targets ;;
		reference_decoder) echo "$built/core-digests" ;;
		esac
	done
}

# watched_build GROUP TESTS: what these tests run. Warnings with the sanitizers are no errors: they make the
# compiler guess wrong.
watched_build()
{
	local arguments="${1^^}_BUILD[@]"
	if [ "$1" = valgrind ]; then
		valgrind_programs
	else
		build "$1" "$(watched_targets "$1" "$2")" "${!arguments}"
	fi
}

# valgrind_programs: the programs of the usual build, each by a script that runs it under valgrind.
valgrind_programs()
{
	local program place
	mkdir -p build/check-valgrind/tests
	for program in git-brevis $(printf 'tests/%s ' $VALGRIND_UNITS); do
		place=build/check-valgrind/$program
		printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$TOP/tests/support/valgrind" \
			"$TOP/build/check-gcc/$program" >"$place"
		chmod +x "$place"
	done
}
