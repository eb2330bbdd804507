#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Trees that git does not make, but takes from whoever pushes them: paths that lead out of the work
# tree or into .git, one name twice, links in the place of what we read. No verb writes anything but
# where it should, or runs on for ever.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

must git lfs install
must git brevis install
new_repo work
cd work || exit 1
must cp "$DEMO" x.safetensors
commit_all . model

# tree "MODE OID NAME"...: writes it as it is.
tree()
{
	"$PYTHON" - "$@" <<'END'
import os, subprocess, sys
text = b""
for line in sys.argv[1:]:
    mode, oid, name = line.split(" ", 2)
    text += mode.encode() + b" " + os.fsencode(name) + b"\0" + bytes.fromhex(oid)
made = subprocess.run(["git", "hash-object", "-w", "-t", "tree", "--literally", "--stdin"], input=text, stdout=subprocess.PIPE, check=True)
print(made.stdout.decode().strip())
END
}

pointer=$(git rev-parse :x.safetensors)
config=$(printf '[core]\n\tfsmonitor = touch %s/ran\n' "$T" | git hash-object -w --stdin)
mkdir "$T/victim"
echo precious | tee "$T/victim/x.safetensors" "$T/victim/config" >"$T/victim/attributes"
to_victim=$(printf '%s' "$T/victim" | git hash-object -w --stdin)
to_file=$(printf '%s' "$T/victim/attributes" | git hash-object -w --stdin)
attributes="100644 $(git rev-parse :.gitattributes) .gitattributes"
inside=$(tree "100644 $config config" "100644 $pointer x.safetensors")

# attack NAME "MODE OID NAME"...: a branch of that name.
attacks=()
attack()
{
	local name=$1 commit
	shift
	if ! commit=$(git commit-tree -m "$name" "$(tree "$@")"); then
		not_ok "set-up: a commit of $name"
		return
	fi
	must git update-ref "refs/heads/$name" "$commit"
	attacks+=("$name")
}
attack up "$attributes" "40000 $inside .."
attack up-in-a-name "$attributes" "100644 $pointer ../x.safetensors"
attack absolute "$attributes" "100644 $pointer $T/victim/x.safetensors"
attack itself "$attributes" "40000 $inside ."
attack nameless "$attributes" "40000 $inside "
attack git-directory "$attributes" "40000 $inside .git"
attack git-in-capitals "$attributes" "40000 $inside .GiT"
attack git-of-windows "$attributes" "40000 $inside git~1"
attack git-and-blank "$attributes" "40000 $inside .git "
attack git-of-macs "$attributes" "40000 $inside "$'.g\u200cit'
attack windows "$attributes" "100644 $pointer ..\\x.safetensors" "100644 $pointer C:x.safetensors" "100644 $pointer CON.safetensors"
attack link-then-directory "$attributes" "120000 $to_victim d" "40000 $inside d"
attack directory-then-link "$attributes" "40000 $inside d" "120000 $to_victim d"
attack linked-attributes "120000 $to_file .gitattributes" "100644 $pointer x.safetensors"
attack linked-config "$attributes" "120000 $to_file .lfsconfig" "100644 $pointer x.safetensors"
attack pointer-as-link "$attributes" "120000 $pointer x.safetensors" "120000 $to_victim y.safetensors"
attack pointer-as-submodule "$attributes" "160000 $(git rev-parse HEAD) x.safetensors"

# All that there is but for what the verbs make, with sizes and times.
state()
{
	find "$T" \( -path "$T/work/.git/objects" -o -path "$T/work/.git/lfs" -o -path "$T/work/.git/worktrees" -o -path "$T/home" -o -path "$T/runtime" -o \
		-path "$T/out" -o -path "$T/there" -o -path "$T/err" -o -path "$T/.*" -o -path "$T/before" -o -path "$T/after" -o -path "$T/complaints" -o \
		-name ORIG_HEAD -o -path "$T/work/.git/index" \) -prune -o ! -type d -printf '%p %l %s %T@\n' | LC_ALL=C sort
}

# tries VERB...: what is elsewhere stays as it is, and the verb ends, with an exit code of its own.
tries()
{
	state >"$T/before"
	run timeout 60 git brevis "$@"
	state >"$T/after"
	[ "$RC" -le 129 ] && [ "$RC" -ne 124 ] || echo "$* ends with $RC"
	diff "$T/before" "$T/after" | sed "s|^|$*: |"
	[ ! -e "$T/ran" ] || echo "$*: something was run"
} >>"$T/complaints"

for name in "${attacks[@]}"; do
	: >"$T/complaints"
	tries export "$T/out" "$name"
	tries export --force "$T/out" "$name"
	[ ! -e "$T/out/.git" ] || echo 'export: there is a .git' >>"$T/complaints"
	rm -rf "$T/out"
	for verb in verify stats fsck; do
		tries "$verb" "$name"
	done
	tries diff HEAD "$name"
	# Whatever git itself takes of it.
	must git worktree add -q --no-checkout --detach "$T/there" "$name"
	for verb in checkout pull 'fsck --repair' 'migrate export *.safetensors' 'migrate import *'; do
		git -C "$T/there" reset -q --hard "$name" >/dev/null 2>&1
		read -ra words <<<"$verb" # patterns are git-brevis's to expand
		in_dir "$T/there" tries "${words[@]}"
	done
	must git worktree remove --force "$T/there"
	if [ -s "$T/complaints" ]; then not_ok "$name" "$T/complaints"; else ok "$name"; fi
done
is 'what links lead to is as it was' "$(cat "$T"/victim/* | sort -u)" precious

done_testing
