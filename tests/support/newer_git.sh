# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tests/run needs to run scripts a second time with a newer git and git-lfs: those of a small system
# of a later Debian (scripts/newer-git). The program is the one that was built here, with its libraries
# and their loader beside it.

# Scripts of what people do, over remotes that need no server of this system.
NEWER_GIT_SCRIPTS="migrate shapes_settings shapes_variables shapes_clones shapes_places history_worktree
	history_commits history_tracking merge names attributes beside_git_lfs repository_shapes hooks install
	diff filter_rules heal status_clean field_transfers journey_file_remote store_directory"

# The tests, as tests/run names them.
newer_git_tests()
{
	local name
	echo newer-git:reference_reader
	for name in $NEWER_GIT_SCRIPTS; do
		echo "newer-git:$name"
	done
}

# newer_git_program DIR: what is to be mounted as /program there. Programs that it starts are those of
# that system, with its libraries: so these are named in the program itself, not in the environment.
newer_git_program()
{
	local loader
	rm -rf "$1"
	mkdir -p "$1/lib"
	cp build/check-gcc/git-brevis "$1/git-brevis"
	loader=$(patchelf --print-interpreter "$1/git-brevis")
	ldd "$1/git-brevis" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | xargs cp -L -t "$1/lib" "$loader"
	patchelf --set-interpreter "/program/lib/${loader##*/}" --force-rpath --set-rpath /program/lib \
		"$1/git-brevis"
}

# newer_git_build: makes that system and puts the program where it is mounted. A test of its own, in the
# form of TAP; where it cannot be made, a skipped one, and 1 is returned.
newer_git_build()
{
	local log=$LOGS/build-newer-git.log began=$SECONDS why
	if ! NEWER_GIT_ROOT=$(scripts/newer-git 2>"$log"); then
		why=$(tail -n 1 "$log")
		echo "ok 1 - the tests with a newer git # SKIP $why" >>"$log"
		printf '%-4s %-32s %4d s  %s\n' skip build:newer-git $((SECONDS - began)) "$why"
		return 1
	fi
	if ! newer_git_program build/newer-git >>"$log" 2>&1 ||
		! newer_git_run true >>"$log" 2>&1 </dev/null; then
		echo "not ok 1 - a newer git is there" >>"$log"
		printf '%-4s %-32s %4d s\n' FAIL build:newer-git $((SECONDS - began))
		return 1
	fi
	echo "ok 1 - a newer git is there: $(newer_git_run git version), $(newer_git_run git lfs version)" >>"$log"
	printf '%-4s %-32s %4d s\n' ok build:newer-git $((SECONDS - began))
}

# newer_git_run COMMAND...: in that system, as root. It sees the sources in /src and the program in
# /program, cannot write there nor to the system itself, and all of it is gone when it ends.
newer_git_run()
{
	# shellcheck disable=SC2016 # the inner shell expands
	unshare -m sh -eu -c '
		root=$1 src=$2 program=$3
		shift 3
		mount --bind "$root" "$root"
		mount --bind "$src" "$root/src"
		mount -o remount,bind,ro "$root/src"
		mount --bind "$program" "$root/program"
		mount -o remount,bind,ro "$root/program"
		mount -t tmpfs -o size=4g,mode=1777 tmpfs "$root/tmp"
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount -o remount,bind,ro "$root"
		exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp \
			BREVIS_TEST_SEED="$BREVIS_TEST_SEED" BREVIS_TEST_BIN=/program "$@"
	' sh "$NEWER_GIT_ROOT" "$TOP" "$TOP/build/newer-git" "$@"
}

# newer_git_test NAME: one test.
newer_git_test()
{
	local script=/src/tests/integration/$1.sh
	[ -e "tests/integration/$1.sh" ] || script=/src/tests/newer-git/$1.sh
	newer_git_run timeout -k 30 "$TIME_LIMIT" "$script"
}
