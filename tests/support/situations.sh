# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the scripts about situations share (history_*.sh, shapes_*.sh and others), beside lib.sh: small
# checkpoints, and what has to hold after whatever git did.

# Where programs put temporary files: nothing of ours may be there, at any time.
export TMPDIR=$T/temporary
mkdir "$TMPDIR"

# Files $T/v/1 to $T/v/24: checkpoints of 4 KB that differ.
must "$PYTHON" "$TOP/tests/support/small_model.py" --versions "$T/v" 24 "$SEED"

# put VERSION PATH...: the work files become that version.
put()
{
	local version=$1 path
	shift
	for path in "$@"; do
		[[ $path != */* ]] || mkdir -p -- "${path%/*}"
		cp -- "$T/v/$version" "$path"
	done
}

# has DESCRIPTION PATH VERSION...: the files have the bytes of these versions, every one.
has()
{
	local what=$1 wrong=''
	shift
	while [ $# -gt 0 ]; do
		cmp -s "./$1" "$T/v/$2" || wrong="$wrong $1 is not version $2;"
		shift 2
	done
	is "$what: every byte" "$wrong" ''
}

# looks_clean DESCRIPTION: git has nothing to say, though it has to look at every file again.
looks_clean()
{
	find . -name .git -prune -o -type f -exec touch {} +
	is_clean "$1: clean"
}

# holds DESCRIPTION PATH VERSION...: both.
holds()
{
	has "$@"
	looks_clean "$1"
}

# pointer_in DESCRIPTION BLOB...: each of them is a pointer in git.
pointer_in()
{
	local what=$1 blob wrong=''
	shift
	for blob in "$@"; do
		git cat-file blob "$blob" 2>&1 | grep -q '^oid sha256:' || wrong="$wrong $blob"
	done
	is "$what: pointers in git" "$wrong" ''
}

# leftovers DIR: temporary files of ours in a directory, its work tree and git directory included.
leftovers()
{
	find "$(realpath -- "$1")" \( -path '*/lfs/tmp/*' -o -name '.git-brevis-*' -o -name 'git-brevis-*' \
		-o -name 'index.lock' \) ! -type d -print
}

# nothing_left DESCRIPTION DIR...: no temporary file anywhere, and every object has its own name.
nothing_left()
{
	local what=$1 dir
	shift
	is "$what: no temporary file" "$(find "$TMPDIR" ! -path "$TMPDIR"
		for dir in "$@"; do leftovers "$dir"; done)" ''
	for dir in "$@"; do
		(cd -- "$dir" && find . -path '*/lfs/objects/*' -type f -execdir sha256sum -z {} +) |
			tr '\0' '\n' | awk '$2 != "./" $1'
	done >"$T/wrong"
	is "$what: every object is sound" "$(cat "$T/wrong")" ''
}
