# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What every integration script sources: a disposable directory and HOME, TAP assertions,
# repositories, and LFS servers that end with the script.
#
# A script sources this file, asserts, and calls `done_testing` as its last command. It knows
#   TOP   the source tree          T     its temporary directory (current directory at the start)
#   BIN   where git-brevis is      SEED  of everything random, from BREVIS_TEST_SEED
# and leaves nothing behind, however it ends. BREVIS_TEST_KEEP=1 keeps T for a look.

set -u

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
BIN=$(cd "${BREVIS_TEST_BIN:-$TOP/build}" && pwd -P) || exit 1
SEED=${BREVIS_TEST_SEED:-1}
PYTHON=/usr/bin/python3
# shellcheck disable=SC2034 # for the scripts
DEMO=$TOP/tests/corpus/demo.safetensors
# shellcheck source=reports.sh
. "$TOP/tests/support/reports.sh"

# ---- isolation ----------------------------------------------------------------------------------

unset "${!GIT_@}" "${!XDG_@}" "${!LC_@}" http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY \
	ALL_PROXY SSL_CERT_FILE CURL_CA_BUNDLE CDPATH GREP_OPTIONS 2>/dev/null
export LANG=C.UTF-8 LC_ALL=C.UTF-8 TZ=UTC0 NO_PROXY=127.0.0.1 no_proxy=127.0.0.1
umask 022

_name=$(basename "$0" .sh)
T=$(mktemp -d "${TMPDIR:-/tmp}/brevis-test.$_name.XXXXXX") || exit 1
T=$(cd "$T" && pwd -P)
export HOME=$T/home XDG_CONFIG_HOME=$T/home/.config XDG_CACHE_HOME=$T/home/.cache
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$T/home/.gitconfig
export GIT_TERMINAL_PROMPT=0 GIT_ADVICE=0 GIT_PAGER=cat PAGER=cat
export PATH=$BIN:$PATH
# A finding in any process of the test is a failure of the test.
reports_go_to "$T/reports"
# Tests that run at the same time do not share their threads.
export XDG_RUNTIME_DIR=$T/runtime
mkdir -p "$HOME/.config" "$XDG_RUNTIME_DIR" && cd "$T" || exit 1

git config --global user.name 'A Tester'
git config --global user.email tester@example.org
git config --global init.defaultBranch main
git config --global protocol.file.allow always
git config --global advice.detachedHead false
git config --global gc.auto 0
export GIT_AUTHOR_DATE='2024-05-01T12:00:00Z' GIT_COMMITTER_DATE='2024-05-01T12:00:00Z'

# ---- assertions ---------------------------------------------------------------------------------

_count=0
_failed=0
_done=0
_pids=()
_mounts=()

echo "# $_name seed $SEED git-brevis $BIN"

ok()
{
	_count=$((_count + 1))
	echo "ok $_count - $1"
}

# not_ok DESCRIPTION [FILE...]: the files' ends are shown.
not_ok()
{
	_count=$((_count + 1))
	_failed=$((_failed + 1))
	echo "not ok $_count - $1"
	shift
	local file
	for file in "$@"; do
		tail -n 25 "$file" | cut -c1-400 | sed 's/^/#   /'
	done
}

# A part of the test that cannot be done here, with the reason; counted, never silent.
not_here()
{
	_count=$((_count + 1))
	echo "ok $_count - $1 # SKIP $2"
}

note()
{
	echo "# $*"
}

# check DESCRIPTION COMMAND...: the command must succeed; shows what it said if it does not.
check()
{
	local what=$1
	shift
	if "$@" >"$T/.said" 2>&1; then
		ok "$what"
	else
		echo "exit code $? of: $*" >>"$T/.said"
		not_ok "$what" "$T/.said"
		return 1
	fi
}

# must COMMAND...: a step of the set-up, without which going on makes no sense.
must()
{
	"$@" >"$T/.said" 2>&1 && return
	echo "exit code $? of: $*" >>"$T/.said"
	not_ok "set-up: $*" "$T/.said"
	exit 1
}

# run COMMAND...: keeps the exit code in RC, stdout in $T/out, stderr in $T/err.
run()
{
	RC=0
	"$@" >"$T/out" 2>"$T/err" </dev/null || RC=$?
}

# exits CODE DESCRIPTION: of the last `run`.
exits()
{
	if [ "$RC" -eq "$1" ]; then
		ok "$2"
	else
		echo "exit code $RC, wanted $1" >"$T/.said"
		not_ok "$2" "$T/.said" "$T/out" "$T/err"
		return 1
	fi
}

is()
{
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		printf 'got    %s\nwanted %s\n' "$2" "$3" >"$T/.said"
		not_ok "$1" "$T/.said"
		return 1
	fi
}

# at_least DESCRIPTION NUMBER FLOOR / at_most DESCRIPTION NUMBER CEILING (integers)
at_least()
{
	if [ "$2" -ge "$3" ]; then
		ok "$1 ($2, floor $3)"
	else
		not_ok "$1 ($2, floor $3)"
		return 1
	fi
}

at_most()
{
	if [ "$2" -le "$3" ]; then
		ok "$1 ($2, ceiling $3)"
	else
		not_ok "$1 ($2, ceiling $3)"
		return 1
	fi
}

# contains DESCRIPTION FILE FIXED-STRING
contains()
{
	if grep -qF -e "$3" "$2"; then
		ok "$1"
	else
		echo "not there: $3" >"$T/.said"
		not_ok "$1" "$T/.said" "$2"
		return 1
	fi
}

# json_says FILE EXPRESSION: what a Python expression says of the JSON in a file, which it knows as j.
json_says()
{
	"$PYTHON" -c 'import json, sys
j = json.load(open(sys.argv[1], encoding="utf-8"))
print(eval(sys.argv[2]))' "$1" "$2" 2>&1
}

same_bytes()
{
	check "$1" cmp "$2" "$3"
}

# is_clean DESCRIPTION [REPO]: git status has nothing to say.
is_clean()
{
	is "$1" "$(git -C "${2:-.}" status --porcelain 2>&1)" ""
}

# own_lines: what git-brevis wrote on stderr in the last `run`: all that is neither git's own nor
# git-lfs's. A second line of a message has no prefix by which it could be told.
own_lines()
{
	# git's warning after a clone without a checkout has four lines, the last of them empty.
	sed '/^warning: Clone succeeded, but checkout failed\.$/,+3d' "$T/err" |
		grep -vE -e '^(fatal|error|warning|hint): ' \
			-e '^(Downloading|Error downloading object:|Uploading LFS objects:|Errors logged to|Use `git lfs logs) '
}

# one_line DESCRIPTION [WORD...]: stderr of the last `run` holds exactly one line of git-brevis, an
# error that has all of these words.
one_line()
{
	local what=$1 word lines
	shift
	lines=$(own_lines | wc -l)
	if [ "$lines" -ne 1 ] || ! own_lines | grep -q '^git-brevis: error: '; then
		echo "$lines lines of git-brevis, wanted one error" >"$T/.said"
		not_ok "$what" "$T/.said" "$T/err"
		return 1
	fi
	for word in "$@"; do
		if ! grep '^git-brevis: error: ' "$T/err" | grep -qiE -e "$word"; then
			echo "the line lacks: $word" >"$T/.said"
			not_ok "$what" "$T/.said" "$T/err"
			return 1
		fi
	done
	ok "$what"
}

done_testing()
{
	local report
	while read -r report; do
		not_ok 'no process has a finding'
		head -n 60 "$report" | cut -c1-400 | sed 's/^/#   /'
	done < <(reports_in "$T/reports")
	echo "1..$_count"
	_done=1
	[ "$_failed" -eq 0 ] && [ "$_count" -gt 0 ]
	exit
}

# ---- ending -------------------------------------------------------------------------------------

# descendants PID: of a process, each by its id.
descendants()
{
	local child
	grep -ls "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status | while IFS=/ read -r _ _ child _; do
		echo "$child"
		descendants "$child"
	done
}

# forget_process PID: it has ended; another one may get its number.
forget_process()
{
	local pid
	local -a left=()
	for pid in "${_pids[@]}"; do
		[ "$pid" = "$1" ] || left+=("$pid")
	done
	_pids=("${left[@]}")
}

# end_process PID: one that the script started, and all that this one has started: servers leave
# those to finish what they do.
end_process()
{
	local below
	below=$(descendants "$1")
	kill "$1" 2>/dev/null && wait "$1" 2>/dev/null
	# shellcheck disable=SC2086 # a list of words
	[ -z "$below" ] || kill -KILL $below 2>/dev/null
	forget_process "$1"
}

_leave()
{
	local code=$? pid mount
	if [ "$_done" -eq 0 ]; then
		_count=$((_count + 1))
		echo "not ok $_count - the script came to its end (exit code $code)"
		code=1
	fi
	for pid in "${_pids[@]}"; do
		end_process "$pid"
	done
	cd /
	for mount in "${_mounts[@]}"; do
		umount -l "$mount"
	done
	if [ -n "${BREVIS_TEST_KEEP:-}" ]; then
		echo "# kept: $T"
	else
		chmod -R u+w "$T" 2>/dev/null
		rm -rf "$T"
	fi
	exit "$code"
}
trap _leave EXIT
trap 'exit 130' INT TERM HUP

# ---- repositories -------------------------------------------------------------------------------

# A repository with everything that `git brevis track` sets up for *.safetensors, committed.
new_repo()
{
	must git init -q "$1"
	in_dir "$1" must git brevis track '*.safetensors'
	must git -C "$1" add -A
	must git -C "$1" commit -qm 'track checkpoints'
}

# A bare repository; push to file://PATH, so that git-lfs uses its own agent for files.
new_remote()
{
	must git init -q --bare "$1"
}

in_dir()
{
	local dir=$1
	shift
	pushd "$dir" >/dev/null || exit 1
	"$@"
	local code=$?
	popd >/dev/null || exit 1
	return "$code"
}

commit_all()
{
	must git -C "$1" add -A
	must git -C "$1" commit -qm "$2"
}

# one_by_one COMMAND...: git with a configuration that has no filter process, so that it runs clean and
# smudge for each file.
one_by_one()
{
	cp "$GIT_CONFIG_GLOBAL" "$T/one-by-one"
	git config -f "$T/one-by-one" --unset filter.brevis.process
	GIT_CONFIG_GLOBAL=$T/one-by-one "$@"
}

# without_filter COMMAND...: git on a machine where nobody installed git-brevis.
without_filter()
{
	cp "$GIT_CONFIG_GLOBAL" "$T/without-filter"
	git config -f "$T/without-filter" --remove-section filter.brevis
	GIT_CONFIG_GLOBAL=$T/without-filter "$@"
}

# is_sanitized: whether git-brevis is built with ASan or TSan, which reserve an address space and memory of
# their own, and look at every access.
is_sanitized()
{
	grep -qaE '__(asan|tsan)_init' "$BIN/git-brevis"
}

# flip_bit FILE: turns one bit in the middle of it, in place.
flip_bit()
{
	must chmod u+w "$1"
	must "$PYTHON" - "$1" <<-'END'
		import sys
		with open(sys.argv[1], "r+b") as f:
		    f.seek(0, 2)
		    middle = f.tell() // 2
		    f.seek(middle)
		    byte = f.read(1)[0]
		    f.seek(middle)
		    f.write(bytes([byte ^ 16]))
	END
}

# object_of REPO PATH [REVISION]: the file of the LFS object behind a path.
object_of()
{
	local oid
	oid=$(git -C "$1" cat-file blob "${3:-HEAD}:$2" | sed -n 's/^oid sha256://p')
	object_path "$1" "$oid"
}

object_path()
{
	local common
	common=$(git -C "$1" rev-parse --path-format=absolute --git-common-dir)
	echo "$common/lfs/objects/${2:0:2}/${2:2:2}/$2"
}

# Every file below a directory but git's own, as "sha256  path".
listing()
{
	(cd "$1" && find . -name .git -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum)
}

# copy_of_sources DIR: the source tree as a clone of it would be after `git commit -a`.
copy_of_sources()
{
	must mkdir "$1"
	if [ "$(git -C "$TOP" rev-parse --show-toplevel 2>/dev/null)" = "$TOP" ]; then
		(cd "$TOP" && git ls-files -z -co --exclude-standard) | while IFS= read -r -d '' file; do
			[ ! -e "$TOP/$file" ] || printf '%s\0' "$file"
		done >"$T/.files"
		must tar -C "$TOP" --null -T "$T/.files" -cf "$T/.tar"
	else
		must tar -C "$TOP" --exclude=./build --exclude=./.git -cf "$T/.tar" .
	fi
	must tar -C "$1" -xf "$T/.tar"
	must rm "$T/.tar"
}

# small_disk DIR MIB: a file system of its own. Only where OWN_MOUNTS is set (own_mounts.sh).
small_disk()
{
	must mkdir -p "$1"
	must mount -t tmpfs -o "size=$2m" tmpfs "$1"
	_mounts+=("$1")
}

# Lines of a trace file that tell of a compression.
compressions()
{
	if [ -e "$1" ]; then grep -c compressed "$1"; else echo 0; fi
}

# ---- servers ------------------------------------------------------------------------------------

free_port()
{
	"$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# _started PORT PID LOG: waits until the port answers.
_started()
{
	local tries
	_pids+=("$2")
	for tries in $(seq 600); do
		if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then
			note "server on port $1 answers after $((tries * 100)) ms"
			return
		fi
		kill -0 "$2" 2>/dev/null || break
		sleep 0.1
	done
	not_ok "set-up: a server starts" "$3"
	exit 1
}

# shellcheck disable=SC2034 # LFS_URL is for the scripts
# start_jgit_lfs DIR: JGit's LFS server over DIR. Sets LFS_URL. Objects lie in DIR/ab/cd/OID.
start_jgit_lfs()
{
	local port
	port=$(free_port)
	mkdir -p "$1"
	java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '/usr/share/java/*' \
		org.eclipse.jgit.pgm.Main debug-lfs-store --store FS -p "$port" "$1" \
		>"$T/jgit.log" 2>&1 &
	_started "$port" $! "$T/jgit.log"
	LFS_URL=http://127.0.0.1:$port/lfs
}

# shellcheck disable=SC2034 # LFS_URL is for the scripts
# start_fixture_lfs DIR [OPTION...]: support/lfs_fixture.py over DIR. Sets LFS_URL. Faults: see there.
start_fixture_lfs()
{
	local dir=$1 port
	shift
	port=$(free_port)
	mkdir -p "$dir"
	"$PYTHON" "$TOP/tests/support/lfs_fixture.py" --port "$port" "$@" "$dir" >"$dir.log" 2>&1 &
	_started "$port" $! "$dir.log"
	LFS_URL=http://127.0.0.1:$port/lfs
}

# use_lfs_server REPO URL
use_lfs_server()
{
	git -C "$1" config lfs.url "$2"
	git -C "$1" config lfs.locksverify false
}

# ---- the program is installed for this HOME -----------------------------------------------------

if [ -z "${BREVIS_TEST_NO_INSTALL:-}" ]; then
	must git brevis install
fi
