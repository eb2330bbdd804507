#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Repositories of strangers: nothing that they hold is run, none of their settings is obeyed but for
# the place of the store, nothing is written through their links, and none of their names rules a
# terminal or becomes an option of git.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

must git lfs install
must git brevis install
# Hosts that are not there are asked for once more, not for half a minute.
must git config --global lfs.transfer.maxretries 1

# Whatever runs this leaves a trace.
cat >"$T/evil" <<END
#!/bin/sh
echo "\$0 \$*" >>"$T/ran"
exit 1
END
chmod +x "$T/evil"

# never_ran DESCRIPTION
never_ran()
{
	is "$1: nothing of theirs was run" "$(cat "$T/ran" 2>/dev/null)" ''
	rm -f "$T/ran"
}

# ---- a repository with everything that a stranger may try ---------------------------------------------

new_remote remote.git
new_repo theirs
cd theirs || exit 1
must git remote add origin "file://$T/remote.git"
must cp "$DEMO" model.safetensors
mkdir -p hooks .githooks lfs config.d
for hook in post-checkout pre-push post-merge post-commit pre-commit; do
	must cp "$T/evil" "hooks/$hook"
	must cp "$T/evil" ".githooks/$hook"
done
for program in git git-lfs git-brevis git-lfs-filter ssh sh; do
	must cp "$T/evil" "$program"
done
{
	printf '[include]\n\tpath = config.d/more\n'
	printf '[lfs]\n\tstandalonetransferagent = evil\n\tconcurrenttransfers = 0\n\tstorage = ../../outside\n'
	printf '[lfs "customtransfer.evil"]\n\tpath = %s/evil\n\targs = x\n\tdirection = both\n' "$T"
	printf '[lfs "customtransfer.brevis"]\n\tpath = %s/evil\n' "$T"
	printf '[filter "brevis"]\n\tprocess = %s/evil\n\tsmudge = %s/evil\n\tclean = %s/evil\n' "$T" "$T" "$T"
	printf '[core]\n\thooksPath = hooks\n\tsshCommand = %s/evil\n\tfsmonitor = %s/evil\n\tpager = %s/evil\n' "$T" "$T" "$T"
	printf '[credential]\n\thelper = !%s/evil\n[diff]\n\texternal = %s/evil\n' "$T" "$T"
	printf '[brevis]\n\tthreads = 7\n\tpreset = best\n\tskipSmudge = true\n\treuse = false\n\tfsync = true\n'
	printf '[brevis "s3"]\n\tendpoint = http://evil.invalid\n[brevis "sftp"]\n\tkey = %s/evil\n\tknownHosts = %s/evil\n' "$T" "$T"
} >.lfsconfig
printf '[lfs]\n\turl = brevis::file://%s/included\n' "$T" >config.d/more
must git add -A
must git -c core.hooksPath=/dev/null commit -qm theirs
must env -u GIT_CONFIG_PARAMETERS git -c lfs.url="file://$T/remote.git" push -q origin main
cd "$T" || exit 1
rm -f ran

run timeout 60 git -c lfs.url="file://$T/remote.git" clone -q "file://$T/remote.git" clone
note "$(tail -n 2 "$T/err")"
never_ran 'clone'
cd clone || exit 1
for command in 'env' 'status' 'ls-files -l' 'fsck' 'verify --all' 'stats' 'checkout' 'pull' 'diff HEAD' 'store ls' 'store verify' 'track' \
	'inspect model.safetensors' 'pointer model.safetensors' 'migrate export --dry-run *.safetensors'; do
	read -ra words <<<"$command" # patterns are git-brevis's to expand
	run timeout 30 git brevis "${words[@]}"
	[ "$RC" -ne 124 ] || not_ok "$command hangs" "$T/err"
	never_ran "$command"
done
git brevis env >"$T/env"
is 'their settings are not ours' "$(grep -iE 'evil|=7$|outside|endpoint=http' "$T/env")" ''
run git brevis store ls
is 'and what .lfsconfig includes names no store' "$RC $(grep -c included "$T/err")" '128 0'
is 'nothing was written where they said' "$(find "$T/outside" "$T/included" ../outside 2>/dev/null)" ''

# The agent, too, knows their file and none of the keys in it but for the place of the store.
must mkdir "$T/store"
must git init -q "$T/ours"
must git -C "$T/ours" brevis store init "file://$T/store"
while read -r url; do
	printf '[lfs]\n\turl = "%s"\n' "$url" >.lfsconfig
	run timeout 30 git brevis store ls
	[ "$RC" -eq 128 ] || not_ok "store ls of $url: $RC" "$T/err"
	one_line "a store is no program: $url"
	never_ran "$url"
done <<END
brevis::ext::sh -c $T/evil
brevis::$T/evil
brevis::file://$T/evil
brevis::sftp://-oProxyCommand=$T/evil/store
brevis::sftp://host.invalid;$T/evil/store
brevis::dav+http://host.invalid/\`$T/evil\`
brevis::s3://bucket/x?endpoint=file://$T/evil
brevis::s3://bucket/x?endpoint=http://evil.invalid
brevis::gopher://127.0.0.1:1/x
brevis::file://host/$T/evil
brevis::file://$T/ours
END

# What it includes may be any file of this machine; git-lfs reads that, we do not.
mkfifo "$T/fifo"
printf '[include]\n\tpath = %s\n[lfs]\n\turl = brevis::file://%s\n' "$T/fifo" "$T/store" >.lfsconfig
run timeout 30 git brevis store ls
exits 0 'what .lfsconfig includes is not read'

# Nor is it read through a link, which may lead to any file of this machine, or to a pipe.
printf '[lfs]\n\turl = brevis::file://%s\n' "$T/store" >"$T/elsewhere"
for target in "$T/elsewhere" "$T/fifo"; do
	must ln -sf "$target" .lfsconfig
	run timeout 30 git brevis store ls
	exits 128 "what .lfsconfig leads to is not read: ${target##*/}"
	contains 'and that is said' "$T/err" 'no regular file'
	contains 'with what to do' "$T/err" 'put a file with its lines in its place'
done
must rm .lfsconfig
must git checkout -q -- .lfsconfig

# ---- links ---------------------------------------------------------------------------------------

cd "$T" || exit 1
new_repo links
cd links || exit 1
mkdir d
must cp "$DEMO" d/x.safetensors
must cp "$DEMO" leaf.safetensors
commit_all . models
must mkdir "$T/victim"
echo precious >"$T/victim/x.safetensors"
echo precious >"$T/victim/leaf"
swap()
{
	rm -rf d leaf.safetensors
	ln -s "$T/victim" d
	ln -s "$T/victim/leaf" leaf.safetensors
}
for command in 'checkout' 'pull' 'checkout d/x.safetensors leaf.safetensors' 'migrate export *.safetensors' 'migrate import *.safetensors'; do
	swap
	read -ra words <<<"$command" # patterns are git-brevis's to expand
	run timeout 30 git brevis "${words[@]}"
	is "$command: nothing is written through a link" "$(cat "$T/victim/x.safetensors" "$T/victim/leaf" | tr '\n' ' ')$(find "$T/victim" | wc -l)" \
		'precious precious 3'
done
swap
run git brevis status
is 'what is behind a link is not read' "$(cat "$T/out" "$T/err" | grep -c precious)" 0

# ---- names ---------------------------------------------------------------------------------------

cd "$T" || exit 1
must "$PYTHON" - <<'END'
import json, struct
names = ["../../etc/passwd", "/etc/passwd", "esc\x1b[31mred", "bell\x07", "csi\x9b1m", "rtl\u202egnp", "isolate\u2066x", "alm\u061cx", "line\nfeed", "cr\rx", "-rf", "--help",
         "nul\u0000x", "$(touch ran)", "`touch ran`", "'; touch ran; '", "%s%n%n", "del\x7f", "\u2028sep"]
def model(path, names, fill):
    head = {name: {"dtype": "F32", "shape": [4], "data_offsets": [16 * i, 16 * i + 16]} for i, name in enumerate(names)}
    head["__metadata__"] = {"m\x1b[2J": "v\x1b]0;title\x07\u202e"}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + bytes([fill]) * (16 * len(names)))
plain = [n for n in names if "\0" not in n]
model("plain.safetensors", plain, 1)
model("changed.safetensors", plain[::-1], 2)
model("nul.safetensors", names, 1)
END
# harmless DESCRIPTION: the last `run` has printed nothing that rules a terminal.
harmless()
{
	is "$1: no control character" "$(cat "$T/out" "$T/err" | LC_ALL=C tr -d '\n' | LC_ALL=C grep -acP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c')" 0
}
for file in plain nul; do
	must git brevis compress "$file.safetensors" -o "$file.brevis"
	check "$file: what is restored" sh -c "git brevis decompress $file.brevis -o - | cmp - $file.safetensors"
	for command in inspect 'inspect --nodes' textconv verify; do
		# shellcheck disable=SC2086 # words
		run git brevis $command "$file.brevis"
		harmless "$command $file"
	done
	run git brevis diff "$file.safetensors" changed.safetensors
	harmless "diff $file"
	run git brevis inspect --json "$file.brevis"
	is "inspect --json $file is JSON" "$(json_says "$T/out" 'type(j).__name__')" dict
done
new_repo named
must cp plain.safetensors named/a.safetensors
commit_all named one
must cp changed.safetensors named/a.safetensors
run git -C named diff
harmless 'git diff'
run git -C named brevis diff
harmless 'git brevis diff'
is 'no name was run' "$(cat ran named/ran 2>/dev/null)" ''

# Sizes of pointers whose sum fits into no number.
must git init -q large
for i in 1 2 3; do
	printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 9223372036854775807\n' "$i" >"large/$i.safetensors"
done
in_dir large must git brevis track '*.safetensors'
must git -C large -c filter.brevis.process= -c filter.brevis.clean=cat -c filter.brevis.required=false add -A
must git -C large commit -qm large
run git -C large brevis stats --json
is 'sums do not begin anew' "$(json_says "$T/out" 'j["total"]["size"], j["total"]["unknown_size"]')" '(18446744073709551615, 18446744073709551615)'

# Errors of the core hold names, too.
"$PYTHON" - <<'END'
import json, struct
text = json.dumps({"bad\x1b[31m\u202e": {"dtype": "F32", "shape": [4], "data_offsets": [16, 0]}}).encode()
open("bad.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(16))
END
run git brevis compress bad.safetensors -o bad.brevis
harmless 'a note of compress'
run git brevis inspect bad.brevis
harmless 'inspect'

# Paths that look like options or revisions, in the hands of git's children.
cd named || exit 1
for name in '--output=ran' '-c' '--upload-pack=touch ran' 'HEAD..' $'x\n--stdin' '"quoted"' '@{-1}' ':(exclude)*'; do
	must cp "$DEMO" "./$name.safetensors"
done
check 'such paths are added' git --literal-pathspecs add -A
must git commit -qm odd
for command in status 'ls-files -l' fsck 'verify --all' stats checkout; do
	# shellcheck disable=SC2086 # words
	run git brevis $command
	exits 0 "$command"
	harmless "$command"
done
for command in verify pointer inspect checkout; do
	run env GIT_LITERAL_PATHSPECS=1 git brevis "$command" -- '--output=ran.safetensors'
	exits 0 "$command takes one by its name"
done
is 'no path was an option' "$(find . "$T" -maxdepth 1 -name 'ran*' ! -name '*.safetensors')" ''

done_testing
