#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The command line: every verb's output, exit code, options, pipes.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

verbs="install uninstall track untrack status ls-files stats checkout pull fsck store inspect verify compress
	decompress pointer env clean smudge filter-process merge-driver version help"

# ---- help and usage ----

run git brevis help
exits 0 'help'
is 'help lists what people type' "$(grep -cE '^   (checkout|clean) ' "$T/out")" 1
run git brevis help -a
exits 0 'help -a'
for verb in $verbs; do
	grep -qE "^ *(git brevis )?$verb\b" "$T/out" || break
done
is 'help -a lists every verb' "$verb" help
run git brevis
exits 129 'no verb'
run git brevis frobnicate
exits 129 'an unknown verb'
one_line 'has one line' frobnicate 'git brevis help'
run git brevis chekcout
exits 129 'a misspelt verb'
one_line 'is told which one may be meant' "'checkout'" 'git brevis help'
run git brevis help ls-fil
exits 129 'help for the beginning of a verb'
one_line 'is told the rest' "'ls-files'"
for words in -h --help; do
	run git-brevis "$words"
	is "git-brevis $words" "$RC $(head -n 1 "$T/out")" '0 usage: git brevis VERB [ARGUMENT...]'
done
run git brevis version
exits 0 'version'
is 'version is one line' "$(wc -l <"$T/out")" 1
contains 'version names the program' "$T/out" 'git-brevis'
for verb in $verbs; do
	run git-brevis "$verb" -h
	is "$verb -h" "$RC $(head -n 1 "$T/out" | cut -d' ' -f1-4)" "0 usage: git brevis $verb"
	is "$verb -h says nothing on stderr" "$(cat "$T/err")" ""
	run git brevis help "$verb"
	git-brevis "$verb" -h | cmp - "$T/out" >"$T/said" 2>&1
	is "help $verb says the same" "${PIPESTATUS[*]} $(cat "$T/said")" '0 0 '
	run git-brevis "$verb" --no-such-option
	exits 129 "$verb with an unknown option"
done

for words in 'install --manual' 'install --force' 'ls-files -l' 'ls-files -s' 'ls-files -n' \
	'fsck --objects' 'fsck --pointers' 'fsck --dry-run' 'track --no-guard' 'track --filename' \
	'compress --preset' 'inspect --nodes' 'inspect --json' 'stats --all' 'stats --summary' \
	'pull --progress' 'checkout --no-progress'; do
	run git-brevis "${words% *}" -h
	is "help explains $words" "$(grep -cE -e "^ .*${words#* }.*  [a-z]" "$T/out")" 1
done

# ---- compress, decompress, verify, inspect: without git ----

cp "$DEMO" model.safetensors
run git brevis compress model.safetensors -o archive
exits 0 'compress'
at_most 'compress saves 30 %' "$(stat -c %s archive)" "$(($(stat -c %s "$DEMO") * 7 / 10))"
is 'compress keeps stdout for data' "$(stat -c %s "$T/out")" 0
run git brevis verify archive
exits 0 'verify'
run git brevis verify --json archive
is 'verify --json' "$RC $(json_says "$T/out" 'j')" \
	"0 {'files': [{'name': 'archive', 'good': True, 'size': $(stat -c %s archive), 'original_size': $(stat -c %s "$DEMO")}]}"
run git brevis verify --json archive model.safetensors
is 'verify --json of what is not good' "$RC $(json_says "$T/out" '[f["good"] for f in j["files"]]')" '1 [True, False]'
one_line 'says on stderr why' model.safetensors
cp archive $'bell\a'
run git brevis verify $'bell\a'
is 'verify prints no control characters' "$RC $(cut -d: -f1 "$T/out")" '0 bell\x07'
run git brevis decompress archive -o restored
exits 0 'decompress'
same_bytes 'restores every byte' restored "$DEMO"
run git brevis compress model.safetensors -o archive
exits 128 'compress overwrites nothing'
one_line 'and says how to' archive '-f'
run git brevis compress model.safetensors -f -o archive
exits 0 'compress -f does'
run git brevis decompress archive -o restored
exits 128 'decompress overwrites nothing'
run git brevis decompress --output=restored -f archive
exits 0 'decompress -f does'
git brevis compress - <model.safetensors >piped 2>"$T/err"
is 'compress in a pipe' "$? $(cmp piped archive)" '0 '
# shellcheck disable=SC2002 # a pipe is the point
cat piped | git brevis decompress - | cmp - "$DEMO" >"$T/said" 2>&1
is 'decompress in a pipe' "${PIPESTATUS[*]} $(cat "$T/said")" '0 0 0 '
(sleep 0.2; head -c 1000 model.safetensors; sleep 0.2; tail -c +1001 model.safetensors) |
	git brevis compress - 2>/dev/null | cmp - archive
is 'a slow pipe makes the same archive' "${PIPESTATUS[*]}" '0 0 0'
for threads in 1 2 3 8; do
	git brevis compress -t "$threads" - <model.safetensors 2>/dev/null | cmp - archive
	is "$threads threads make the same archive" "${PIPESTATUS[*]}" '0 0'
done
mkdir named
cp model.safetensors named/
in_dir named run git brevis compress model.safetensors
exits 0 'compress without -o'
is 'names the archive after the file' "$(cd named && ls)" 'model.safetensors
model.safetensors.brevis'
must rm named/model.safetensors
in_dir named run git brevis decompress model.safetensors.brevis
exits 0 'decompress without -o'
same_bytes 'names the file after the archive' named/model.safetensors "$DEMO"
is 'compress leaves the original' "$(cmp model.safetensors "$DEMO")" ""
: >empty
git brevis compress - <empty 2>/dev/null | git brevis decompress - >restored
is 'nothing survives a round trip' "${PIPESTATUS[*]} $(stat -c %s restored)" '0 0 0'
printf x | git brevis compress - 2>/dev/null | git brevis decompress - >restored
is 'one byte survives a round trip' "$(cat restored)" x
run git brevis compress archive -o twice
exits 0 'an archive can be compressed like any file'
run git brevis compress no-such-file
exits 128 'compress of nothing'
one_line 'has one line' no-such-file 'no such file'
run git brevis decompress model.safetensors -o out
exits 128 'decompress of no archive'
one_line 'has one line' model.safetensors archive
run git brevis verify archive no-such-file model.safetensors
exits 1 'verify of several files tells of any'
contains 'the missing one' "$T/err" no-such-file
contains 'the one that is no archive' "$T/err" model.safetensors
run git brevis compress
exits 129 'compress without a file'
run git brevis compress -t many model.safetensors -o out
exits 129 'a wrong number of threads'
size=
for preset in fast default best BEST; do
	run git brevis compress model.safetensors --preset "$preset" -f -o preset
	exits 0 "compress --preset $preset"
	check "restores every byte" git brevis verify preset
	at_most 'is no larger than the one before' "$(stat -c %s preset)" "${size:-$(stat -c %s "$DEMO")}"
	size=$(stat -c %s preset)
	[ "$preset" != default ] || same_bytes 'is what is made without it' preset archive
done
run env GIT_BREVIS_PRESET=BEST git brevis compress model.safetensors -f -o named-best
same_bytes 'GIT_BREVIS_PRESET says the same' named-best preset
run env GIT_BREVIS_PRESET=best git brevis compress model.safetensors --preset=default -f -o preset
same_bytes 'the option goes before it' preset archive
run git brevis compress --preset slow model.safetensors -o out
exits 129 'compress --preset of none'
one_line 'says which there are' "'slow'" 'fast, default or best'
run git brevis decompress --preset fast archive -o out
exits 129 'decompress has no preset'
git brevis compress - <model.safetensors >/dev/full 2>"$T/err"
is 'a full output: 128' "$?" 128
one_line 'a full output: one line' 'no space'

run git brevis inspect archive
exits 0 'inspect'
contains 'inspect names tensors' "$T/out" 'model.layers.0.mlp.up_proj.weight'
contains 'and their types' "$T/out" BF16
tensors=$(grep -cE '^ +[0-9]+ +[0-9]+ +-?[0-9.]+%  ' "$T/out")
run git brevis inspect --nodes archive
exits 0 'inspect --nodes'
is 'has the same tensors' "$(grep -cE '^ +[0-9]+ +[0-9]+ +-?[0-9.]+%  ' "$T/out")" "$tensors"
at_least 'and a node for each at least' "$(grep -cE '^ +[0-9]+ {12}[a-z]+(\(.*\))?  [0-9]+ bits? x [0-9]+$' \
	"$T/out")" "$tensors"
run git brevis inspect --nodes --json archive
exits 129 'inspect: one of --nodes and --json'
run git brevis inspect --json archive
exits 0 'inspect --json'
"$PYTHON" - "$T/out" "$DEMO" <<-'END' >"$T/said" 2>&1
	import hashlib, json, os, struct, sys
	told = json.load(open(sys.argv[1], encoding="utf-8"))
	data = open(sys.argv[2], "rb").read()
	header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
	header.pop("__metadata__", None)
	names = {tensor["name"] for tensor in told["tensors"]}
	assert names == set(header), names ^ set(header)
	text = json.dumps(told)
	assert hashlib.sha256(data).hexdigest() in text
	assert str(len(data)) in text

	# What is told adds up.
	def own_bytes(node):
	    assert set(node) - {"children"} == {"op", "detail", "width", "count", "bytes"}, node
	    assert "children" not in node or len(node["children"]) > 0
	    return node["bytes"] + sum(map(own_bytes, node.get("children", [])))
	archive = os.path.getsize("archive")
	stored = told["archive"]["frame"] + sum(piece["stored"] for piece in told["other"])
	covered = sum(piece["size"] for piece in told["other"])
	for tensor in told["tensors"]:
	    assert tensor["stored"] == sum(piece["stored"] for piece in tensor["pieces"]), tensor
	    assert tensor["size"] == sum(piece["size"] for piece in tensor["pieces"]), tensor
	    stored += tensor["stored"]
	    covered += tensor["size"]
	    for piece in tensor["pieces"]:
	        if piece["stored"] == 0:
	            assert set(piece) == {"offset", "size", "stored", "record"}, piece
	            continue
	        root = piece["program"]
	        assert root["width"] * root["count"] == 8 * piece["size"], piece
	        assert isinstance(piece["notation"], str)
	        # The head of a record is a kind, a size and a checksum.
	        assert 10 <= piece["stored"] - own_bytes(root) <= 13, piece
	assert stored == archive == told["archive"]["size"], (stored, archive)
	assert covered == len(data)
	assert [piece["program"] for piece in told["other"]] == [None]
	assert told["prior"] is None or len(bytes.fromhex(told["prior"])) == 32
END
is 'inspect --json has what the file has' "$? $(tail -n 1 "$T/said")" '0 '
printf 'no checkpoint' >opaque
git brevis compress opaque -o opaque.archive 2>/dev/null
run git brevis inspect opaque.archive
exits 0 'inspect of opaque content'
head -c 40000000 /dev/zero >zeros
"$PYTHON" -c 'import json, struct, sys; text = json.dumps({"t": {"dtype": "U8", "shape": [40000000], "data_offsets": [0, 40000000]}}); sys.stdout.buffer.write(struct.pack("<Q", len(text)) + text.encode())' |
	cat - zeros | git brevis compress - >pieces.archive 2>/dev/null
run git brevis inspect --nodes pieces.archive
is 'inspect --nodes has a line for each piece' "$(grep -c ' piece at ' "$T/out")" 5
is 'and tells which repeat another' "$(grep -cE '^ +8388608 +0 +100\.0%  piece at [0-9]+, record 1 again  ' "$T/out")" 3
run git brevis inspect --json pieces.archive
is 'inspect --json tells a program once' "$(json_says "$T/out" '[("program" in p, p["record"]) for p in j["tensors"][0]["pieces"]]')" \
	'[(True, 1), (False, 1), (False, 1), (False, 1), (True, 2)]'
must rm zeros

# ---- track, untrack ----

must git init -q repo
cd repo || exit 1
run git brevis track '*.safetensors'
exits 0 'track'
line='*.safetensors filter=brevis diff=brevis merge=brevis -text'
is 'track writes the line' "$(cat .gitattributes)" "$line"
is 'and the guard' "$(git config -f .lfsconfig lfs.fetchexclude)" '*.safetensors'
run git brevis track '*.safetensors'
exits 0 'track again'
is 'changes nothing' "$(cat .gitattributes)" "$line"
run git brevis track
exits 0 'track without a pattern lists'
contains 'the pattern' "$T/out" '*.safetensors'
printf '*.txt text' >.gitattributes
run git brevis track 'a dir/*.bin'
exits 0 'track of a pattern with a space, after a line without an end'
is 'keeps what was there' "$(head -n 1 .gitattributes)" '*.txt text'
is 'git reads the attribute' "$(git check-attr filter 'a dir/x.bin')" 'a dir/x.bin: filter: brevis'
run git brevis track --filename 'weird [1]*.bin'
exits 0 'track --filename'
is 'is that file' "$(git check-attr filter 'weird [1]*.bin')" 'weird [1]*.bin: filter: brevis'
is 'and no other' "$(git check-attr filter 'weird 1.bin')" 'weird 1.bin: filter: unspecified'
run git brevis untrack 'a dir/*.bin'
exits 0 'untrack'
is 'takes the line away' "$(git check-attr filter 'a dir/x.bin')" 'a dir/x.bin: filter: unspecified'
is 'and no other' "$(git check-attr filter 'weird [1]*.bin')" 'weird [1]*.bin: filter: brevis'
must rm .gitattributes .lfsconfig
run git brevis track --no-guard '*.safetensors'
exits 0 'track --no-guard'
check 'writes no guard' test ! -e .lfsconfig
mkdir sub
in_dir sub run git brevis track '*.gguf'
is 'track in a subdirectory concerns that' "$(git check-attr filter sub/x.gguf x.gguf)" \
	'sub/x.gguf: filter: brevis
x.gguf: filter: unspecified'
must rm -f sub/.gitattributes

# What git itself reads stays as it is.
for pattern in '*' '.git*' '*.*' '/*' '**/*' .gitattributes .lfsconfig sub/.gitignore; do
	cp .gitattributes "$T/before"
	run git brevis track --no-guard '*.other' "$pattern"
	exits 128 "track '$pattern'"
	one_line 'says which file it would match' '\.gitattributes|\.gitignore|\.lfsconfig'
	same_bytes 'and changes nothing' .gitattributes "$T/before"
done
: >sub/.gitignore
run git brevis track 'sub/*'
exits 128 'track of a directory that holds a file for git'
must rm sub/.gitignore
run git brevis track --no-guard 'sub/*'
exits 0 'track of a directory that holds none'
must git brevis untrack 'sub/*'

cp .gitattributes "$T/attributes-before"
for words in track 'track --filename' untrack; do
	# shellcheck disable=SC2086 # two words
	run git brevis $words ''
	exits 129 "$words of an empty pattern"
	one_line 'has one line' 'empty'
done
for pattern in ../x ../sub/x.bin sub/../x.bin ..; do
	run git brevis track "$pattern"
	exits 128 "track '$pattern'"
	one_line 'has one line' 'leads out'
done
in_dir sub run git brevis track '*.good' '../*.bin'
exits 128 'track of a good pattern and one that leads out'
check 'writes neither' test ! -e sub/.gitattributes
run git brevis track '[attr]x'
exits 128 'track of what would be a macro'
one_line 'has one line' 'macro'
same_bytes 'none of these changes anything' .gitattributes "$T/attributes-before"
must git config -f .lfsconfig lfs.fetchexclude '*.mine'
run git brevis untrack '*.mine'
exits 0 'untrack of a pattern that is not tracked'
contains 'says so' "$T/err" 'not tracked'
is 'and leaves a guard that is not ours' "$(git config -f .lfsconfig lfs.fetchexclude)" '*.mine'
must rm .lfsconfig

run git brevis track --json
is 'track --json' "$RC $(json_says "$T/out" 'j["patterns"][0]')" "0 {'pattern': '*.safetensors', 'source': '.gitattributes'}"
run git brevis track --json '*.bin'
exits 129 'track --json changes nothing'
export GIT_LITERAL_PATHSPECS=1
run git brevis track
exits 0 'track with GIT_LITERAL_PATHSPECS'
contains 'lists' "$T/out" '*.safetensors'
: >UPPER.SAFETENSORS
run git brevis track --no-guard '*.safetensors'
contains 'and tells of other cases' "$T/err" 'upper and lower case'
unset GIT_LITERAL_PATHSPECS
must rm UPPER.SAFETENSORS
printf '\033[31m.bin filter=brevis\n' >sub/.gitattributes
run git brevis track
is 'track prints no control characters' "$(tr -dc '\033' <"$T/out" | wc -c)" 0
contains 'but says what they are' "$T/out" '\x1b[31m.bin'
must rm sub/.gitattributes

# ---- pointer, ls-files, status, env, fsck ----

cp "$DEMO" model.safetensors
mkdir -p 'deep dir'
printf '%s' 'an opaque one' >'deep dir/b.safetensors'
run git brevis pointer model.safetensors
exits 0 'pointer'
cp "$T/out" "$T/pointer"
commit_all . 'two files'
git cat-file blob HEAD:model.safetensors >"$T/stored"
same_bytes 'pointer prints what clean stores' "$T/pointer" "$T/stored"
run git brevis pointer --check "$T/pointer"
exits 0 'pointer --check of a pointer'
run git brevis pointer --check model.safetensors
exits 1 'pointer --check of something else'
run git brevis ls-files
exits 0 'ls-files'
contains 'lists the first' "$T/out" model.safetensors
contains 'and the second' "$T/out" 'deep dir/b.safetensors'
is 'one line each' "$(wc -l <"$T/out")" 2
run git brevis ls-files -z
is 'ls-files -z ends names with NUL' "$(tr -dc '\0' <"$T/out" | wc -c)" 2
run git brevis ls-files --json
exits 0 'ls-files --json'
"$PYTHON" -c 'import json, sys; json.load(open(sys.argv[1]))' "$T/out" >"$T/said" 2>&1
is 'is JSON' "$? $(cat "$T/said")" '0 '
run git brevis ls-files 'deep dir'
is 'ls-files of a path' "$(wc -l <"$T/out")" 1
must git rm -q --cached 'deep dir/b.safetensors'
must git commit -qm 'one file'
run git brevis ls-files HEAD^
is 'ls-files of a revision' "$(wc -l <"$T/out")" 2
git brevis ls-files >/dev/full 2>"$T/err"
is 'a full output: 128' "$?" 128
(sleep 0.3; git brevis ls-files 2>"$T/err"; echo "$?" >"$T/code") | true
is 'a reader that leaves ends it without a word' "$(cat "$T/code" "$T/err")" 141

must git add -A
must git commit -qm 'two files again'
: >empty.safetensors
cp "$TOP/tests/corpus/unsupported-version.brevis" version.safetensors
head -c 3000 "$T/archive" >cut.safetensors
must git add -A
must touch -d 2024-01-02 ./*.safetensors
run git brevis status --porcelain
is 'status takes what only begins like an archive as git does' "$(cat "$T/out")" \
	"$(printf 'A  full\t%s\n' cut.safetensors empty.safetensors version.safetensors)"
run git brevis ls-files -l
is 'ls-files lists an empty file' "$(grep -c "^$(sha256sum <empty.safetensors | cut -c1-64) \* empty" \
	"$T/out") $(wc -l <"$T/out")" '1 5'
must git rm -qf empty.safetensors version.safetensors cut.safetensors
run git brevis status
exits 0 'status'
run git brevis fsck
exits 0 'fsck'
is 'fsck says how much it looked at' "$(tail -n 1 "$T/out")" \
	'git-brevis fsck: 2 files checked, all in order'
for word in HEADD deadbeef HEAD~1..HEADD HEADD..HEAD HEAD...nope no/such/path 'no*such' --all..HEAD; do
	run git brevis fsck --pointers -- "$word"
	exits 128 "fsck '$word'"
	one_line 'is no check that passes' 'neither a revision'
done
run git brevis fsck --pointers HEAD~1..HEAD
exits 0 'fsck of a range'
is 'looks at what it brought' "$(cat "$T/out")" 'git-brevis fsck: 1 file checked, all in order'
run git brevis fsck HEAD~1.. HEAD model.safetensors
exits 0 'fsck of a range, a revision and a path'
is 'counts each file once' "$(cat "$T/out")" 'git-brevis fsck: 2 files checked, all in order'
must mkdir -p 'HEAD..HEAD' 'a..b'
cp model.safetensors 'a..b/c..d.safetensors'
cp model.safetensors 'HEAD..HEAD/x.safetensors'
must git add 'a..b' 'HEAD..HEAD'
for path in 'a..b' 'a..b/c..d.safetensors' 'HEAD..HEAD' 'HEAD..HEAD/x.safetensors'; do
	run git brevis fsck "$path"
	is "a path like $path is a path" "$RC $(cat "$T/out")" \
		'0 git-brevis fsck: 1 file checked, all in order'
done
must git rm -qrf 'a..b' 'HEAD..HEAD'

# ---- checkout, pull: what they are told ----

must rm model.safetensors
run git brevis checkout model.safetensors nope
exits 1 'checkout of a path that is none'
one_line 'says which' "'nope'"
check 'and does nothing' test ! -e model.safetensors
run git brevis checkout model.safetensors 'deep dir'
exits 0 'checkout of paths'
same_bytes 'restores' model.safetensors "$DEMO"
new_remote "$T/pulled.git"
new_remote "$T/other.git"
must git remote add origin "file://$T/other.git"
must git remote add upstream "file://$T/pulled.git"
must git push -q upstream HEAD:main
object=$(object_of . model.safetensors)
must mv "$object" "$T/aside"
run git brevis status
contains 'status tells of a complete file without its object' "$T/out" 'objects are missing or damaged'
is 'and not that all is in order' "$(grep -c 'all in order' "$T/out")" 0
: >"$object"
run git brevis status --porcelain
contains 'or with a damaged one' "$T/out" 'lost	model.safetensors'
must rm "$object" model.safetensors
run git brevis pull origin
exits 1 'pull from a remote that lacks an object'
run git brevis pull upstream model.safetensors
exits 0 'pull from a remote by its name'
same_bytes 'brings the file' model.safetensors "$DEMO"
same_bytes 'and its object' "$object" "$T/aside"
must rm "$T/aside"
must git remote remove origin
must git remote remove upstream
run git -c core.bare=nonsense brevis status
one_line 'git fails: one line' nonsense
must without_filter git add --renormalize model.safetensors
run git brevis status
contains 'status tells of a raw file' <(cat "$T/out" "$T/err") 'model.safetensors'
contains 'and the remedy' <(cat "$T/out" "$T/err") 'git add --renormalize'
must git add --renormalize model.safetensors
is_clean 'which works'
object=$(object_of . model.safetensors)
must mv "$object" "$T/aside"
run git brevis fsck
exits 1 'fsck of a missing object'
contains 'names the path' <(cat "$T/out" "$T/err") model.safetensors
contains 'and the remedy' "$T/out" 'git brevis pull'
head -c 100 "$T/aside" >"$object"
must rm model.safetensors
run git brevis checkout
exits 1 'checkout of a cut object'
one_line 'says what is wrong with it' 'damaged: wrong size' 'git brevis pull'
run git brevis fsck --dry-run
exits 1 'fsck of a cut object'
contains 'says the same' "$T/out" 'damaged: wrong size'
contains 'and that fsck is still to move it away' "$T/out" 'and then'
check 'a dry run leaves it' test -e "$object"
run git brevis fsck
is 'what is moved away needs no second fsck' "$(grep -c 'brevis fsck`' "$T/out")" 0
check 'fsck moves it away' test ! -e "$object"
is 'to where git-lfs moves them' "$(stat -c %s ".git/lfs/bad/${object##*/}")" 100
cp "$DEMO" model.safetensors
run git brevis fsck --pointers
exits 0 'fsck --pointers looks at pointers only'
must mv "$T/aside" "$object"
must without_filter git add --renormalize model.safetensors
must git commit -qm 'a raw file'
run git brevis fsck --pointers HEAD
exits 1 'fsck --pointers of a commit with a raw file'
contains 'names the path' <(cat "$T/out" "$T/err") model.safetensors
must git reset -q --hard HEAD^

must git remote add origin https://somebody:secret-token@example.invalid/model.git
run git brevis env
exits 0 'env'
contains 'env tells the version' "$T/out" "$(git brevis version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)"
contains 'and where objects lie' "$T/out" "$T/repo/.git/lfs"
is 'and no secrets' "$(grep -c secret-token "$T/out")" 0
contains 'and the kernels' "$T/out" 'kernels: '
contains 'and the network library' "$T/out" 'libcurl/'
contains 'and the agent in force for stores' "$T/out" 'agent for brevis::: brevis (git-brevis)'
must git config lfs.customtransfer.multipart.path other-agent
must git config lfs.customtransfer.multipart.args '--token secret-token'
must git config lfs.https://somebody:secret-token@example.invalid/.standalonetransferagent other
run git brevis env
# shellcheck disable=SC2016 # backquotes are those of the messages
contains 'env tells of foreign agents' "$T/out" \
	'lfs.customtransfer.multipart.path = "other-agent" (not what `git brevis install --multipart` sets)'
contains 'and for which URLs they are' "$T/out" 'agent for https://***@example.invalid/: other'
is 'and none of their secrets' "$(grep -c secret-token "$T/out")" 0
is 'nor of a store, where there is none' "$(grep -c '^store' "$T/out")" 0
must git config -f .lfsconfig lfs.url brevis::sftp://host.invalid/store
must git config lfs.pushurl brevis::relative/store
run git brevis env
contains 'env tells of a store in .lfsconfig' "$T/out" \
	'store (downloads of origin): sftp://host.invalid/store, by the agent brevis'
contains 'and of another for uploads' "$T/out" \
	"store (uploads of origin): file://$T/repo/relative/store, by the agent brevis"
must git config lfs.pushurl brevis::dav+https://somebody:secret-token@host.invalid/store
must git config lfs.brevis::.standalonetransferagent ''
run git brevis env
is 'and no secrets' "$RC $(grep -c secret-token "$T/out")" '0 0'
contains 'but what is wrong with a URL' "$T/out" 'store (uploads of origin): refused: dav+https://'
# shellcheck disable=SC2016 # backquotes are those of the messages
contains 'and that nobody would bring it there' "$T/out" \
	'sftp://host.invalid/store, by nobody: run `git brevis install`'
rm .lfsconfig
must git config --unset lfs.pushurl
must git config --unset lfs.brevis::.standalonetransferagent
must git config --unset lfs.https://somebody:secret-token@example.invalid/.standalonetransferagent
must git config --remove-section lfs.customtransfer.multipart
run env BREVIS_KERNELS=scalar git brevis env
contains 'those that the environment names' "$T/out" 'kernels: scalar'
git brevis compress "$DEMO" -o "$T/usual" 2>"$T/err"
BREVIS_KERNELS=scalar git brevis compress "$DEMO" -o "$T/scalar" 2>"$T/err"
same_bytes 'all kernels write the same archive' "$T/usual" "$T/scalar"
BREVIS_KERNELS=scalar git brevis decompress "$T/usual" -o "$T/by-scalar" 2>"$T/err"
same_bytes 'and read it' "$T/by-scalar" "$DEMO"

# ---- brevis.preset ----

contains 'env tells the preset' "$T/out" brevis.preset=default
must git config brevis.preset Fast
run git brevis env
contains 'that is configured' "$T/out" brevis.preset=fast
run env GIT_BREVIS_PRESET=best git brevis env
contains 'that the environment names' "$T/out" brevis.preset=best
run env GIT_BREVIS_PRESET= git brevis env
contains 'unless it is empty' "$T/out" brevis.preset=fast
git brevis compress --preset fast "$DEMO" -o "$T/fast" 2>"$T/err"
git brevis compress "$DEMO" -o "$T/configured" 2>"$T/err"
same_bytes 'compress heeds the configuration' "$T/configured" "$T/fast"
must git config brevis.preset slow
cp "$TOP/tests/corpus/demo-revision.safetensors" preset.safetensors
run git add preset.safetensors
exits 0 'a wrong preset keeps no file from being added'
is 'but is told, once' "$(grep -c "^git-brevis: warning: brevis.preset is 'slow'.*fast, default or best" "$T/err")" 1
is 'and the file is stored as an archive' "$(git brevis ls-files -n -- preset.safetensors 2>/dev/null)" preset.safetensors
run env GIT_BREVIS_PRESET=none git brevis env
contains 'a wrong one in the environment is told' "$T/err" "GIT_BREVIS_PRESET is 'none'"
contains 'and the default in force' "$T/out" brevis.preset=default
must git config --unset brevis.preset
must git rm -qf preset.safetensors

# ---- install, uninstall ----

cd "$T" || exit 1
is 'install sets the filter' "$(git config --global --get-regexp '^filter\.brevis\.' | sort)" \
	'filter.brevis.clean git-brevis clean -- %f
filter.brevis.process git-brevis filter-process
filter.brevis.required true
filter.brevis.smudge git-brevis smudge -- %f'
is 'and the agent for stores' "$(git config --global --get-regexp '^lfs\.' | sort)" \
	'lfs.brevis::.standalonetransferagent brevis
lfs.customtransfer.brevis.args transfer
lfs.customtransfer.brevis.concurrent false
lfs.customtransfer.brevis.path git-brevis'
run git brevis install
exits 0 'install outside a repository'
cp "$GIT_CONFIG_GLOBAL" config
run git brevis install
same_bytes 'install twice changes nothing' "$GIT_CONFIG_GLOBAL" config
run git brevis uninstall
exits 0 'uninstall'
is 'takes everything away' "$(git config --global --get-regexp brevis)" ""
is 'and nothing else' "$(git config --global user.name)" 'A Tester'
run git brevis uninstall
exits 0 'uninstall twice'
must git brevis install --skip-repo --skip-smudge
is 'install --skip-smudge' "$(git config --global brevis.skipSmudge)" true
run git brevis install --skip-repo
is 'install undoes it' "$RC $(git config --global brevis.skipSmudge)" '0 '
must git brevis install --skip-repo --skip-smudge
run git brevis uninstall --skip-repo
is 'so does uninstall' "$RC $(git config --global --get-regexp brevis)" '0 '
must git config --global lfs.customtransfer.brevis.path /opt/agent
must git config --global lfs.customtransfer.brevis.concurrent false
run git brevis install
exits 128 'install with a foreign agent brevis'
one_line 'says so' "lfs.customtransfer.brevis.path is set to '/opt/agent' already" 'install --force'
is 'and sets nothing' "$(git config --global --get-regexp '^filter|^lfs')" \
	'lfs.customtransfer.brevis.path /opt/agent
lfs.customtransfer.brevis.concurrent false'
run git brevis uninstall
exits 0 'uninstall with a foreign agent'
contains 'says that it stays' "$T/err" "lfs.customtransfer.brevis.path is set to '/opt/agent'"
is 'and leaves all of it' "$(git config --global lfs.customtransfer.brevis.concurrent)" false
run git brevis install --force
is 'install --force replaces it' "$RC $(git config --global lfs.customtransfer.brevis.path)" \
	'0 git-brevis'

# The agent "multipart" is somebody else's on many machines.
must git config --global lfs.customtransfer.multipart.path other-agent
must git config --global lfs.customtransfer.multipart.args upload
must git config --global lfs.customtransfer.multipart.concurrent false
cp "$GIT_CONFIG_GLOBAL" config
run git brevis install
exits 0 'install leaves a foreign agent multipart alone'
run git brevis install --multipart
exits 128 'install --multipart refuses to replace it'
one_line 'says so' "lfs.customtransfer.multipart.path is set to 'other-agent' already" \
	'install --multipart --force'
same_bytes 'and leaves it alone' "$GIT_CONFIG_GLOBAL" config
run git brevis uninstall
is 'so does uninstall' "$RC $(git config --global --get-regexp '^lfs')" \
	'0 lfs.customtransfer.multipart.path other-agent
lfs.customtransfer.multipart.args upload
lfs.customtransfer.multipart.concurrent false'
run git brevis install --multipart --force
is 'install --multipart --force replaces it' \
	"$RC $(git config --global --get-regexp '^lfs\.customtransfer\.multipart')" \
	'0 lfs.customtransfer.multipart.path git-brevis
lfs.customtransfer.multipart.args transfer --multipart
lfs.customtransfer.multipart.concurrent false'
cp "$GIT_CONFIG_GLOBAL" config
run git brevis install --multipart
same_bytes 'twice changes nothing' "$GIT_CONFIG_GLOBAL" config
run git brevis uninstall
is 'uninstall takes it away' "$RC $(git config --global --get-regexp 'brevis|^lfs')" '0 '
must git init -q local
in_dir local run git brevis install --local
exits 0 'install --local'
is 'sets this repository only' "$(git config --global --get-regexp brevis) \
$(git -C local config --local filter.brevis.required)" ' true'
cp "$DEMO" local/model.safetensors
in_dir local must git brevis track '*.safetensors'
commit_all local 'a checkpoint'
is 'and works' "$(git -C local cat-file blob HEAD:model.safetensors)" "$(cat "$T/pointer")"
in_dir local run git brevis uninstall --local
is 'uninstall --local' "$RC $(git -C local config --local --get-regexp '^filter|transfer')" '0 '

done_testing
