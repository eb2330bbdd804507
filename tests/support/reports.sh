# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Where a program that watches itself (built with ASan, UBSan or TSan) or is watched (by valgrind) writes
# what it finds: each process a file of its own. So nothing is missed in those whose exit codes nobody
# looks at, such as the filters that git runs.

# reports_go_to DIR
reports_go_to()
{
	local options=log_path=$1/report:exitcode=99
	mkdir -p "$1" || return 1
	export ASAN_OPTIONS=$options:suppressions=$TOP/tests/support/asan.supp LSAN_OPTIONS=exitcode=99
	export UBSAN_OPTIONS=$options:print_stacktrace=1
	export TSAN_OPTIONS=$options:suppressions=$TOP/tests/support/tsan.supp
	export BREVIS_TEST_REPORTS=$1 # for support/valgrind
}

# reports_in DIR: the files that tell of findings, one a line.
reports_in()
{
	find "$1" -type f -size +0 | LC_ALL=C sort
}
