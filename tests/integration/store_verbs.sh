#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# git brevis store: init, ls, stats, verify and gc, over a directory that was filled by hand, so that
# what is in it is known.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

STORE=$T/store
URL=file://$STORE
REVISED=$TOP/tests/corpus/demo-revision.safetensors

sha256() { sha256sum "$1" | cut -d' ' -f1; }
size() { stat -c %s "$1"; }
key() { echo "$STORE/objects/${1:0:2}/${1:2:2}/$1"; }

# put OID FILE: what an upload does.
put()
{
	must mkdir -p "$(dirname "$(key "$1")")"
	must cp "$2" "$(key "$1")"
}

# point OID SIZE FILE: a stock pointer.
point()
{
	printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' "$1" "$2" >"$3"
}

# store DIR VERB...: as a user runs it there.
store()
{
	local dir=$1
	shift
	in_dir "$dir" run git brevis store "$@"
}

lfsconfig() { git config -f "$1/.lfsconfig" --get "$2"; }

# ---- help ---------------------------------------------------------------------------------------

run git brevis help store
exits 0 'help store'
check 'has the usage' grep -q '^usage: git brevis store init URL' "$T/out"
contains 'and names the page' "$T/out" 'git-brevis-store(1)'
at_most 'fits a terminal' "$(awk 'length > n { n = length } END { print n }' "$T/out")" 100
cp "$T/out" page
for verb in init ls verify stats gc; do
	check "names $verb" grep -qE "^  store $verb  +[a-z]" page
	run git-brevis store "$verb" -h
	is "store $verb -h" "$RC $(head -n 1 "$T/out" | cut -d' ' -f1-5)" "0 usage: git brevis store $verb"
	is "store $verb -h says nothing on stderr" "$(cat "$T/err")" ''
	run git-brevis store "$verb" --no-such-option
	exits 129 "store $verb with an unknown option"
done
run git brevis store frobnicate
exits 129 'an unknown verb of store'
run git brevis store
exits 129 'store without a verb'
is 'says how it is used' "$(head -n 1 "$T/err" | cut -d' ' -f1-4)" 'usage: git brevis store'

# ---- init ---------------------------------------------------------------------------------------

new_repo work
guard=$(lfsconfig work lfs.fetchexclude)
store work ls
exits 128 'without a store, ls fails'
one_line 'and says what makes one' 'store init URL'

store work init "$STORE"
exits 0 'init'
is 'is silent on stderr' "$(cat "$T/err")" ''
is 'names the store in .lfsconfig' "$(lfsconfig work lfs.url)" "brevis::$URL"
is 'and leaves the guard there' "$(lfsconfig work lfs.fetchexclude)" "$guard"
check 'the store says what it is' test -s "$STORE/brevis-store.json"
contains 'init says what to commit' "$T/out" 'git add :/.lfsconfig'
cp work/.lfsconfig before
must mkdir -p work/sub
store work/sub init ../../store
exits 0 'init again, by a relative path, in a subdirectory'
same_bytes 'changes nothing' before work/.lfsconfig
store work init "brevis::file://$STORE/"
exits 0 'init again, by a URL in another form'
is 'keeps one lfs.url' "$(git config -f work/.lfsconfig --get-all lfs.url)" "brevis::$URL"
commit_all work 'a store'

must cp -a work other
for key in lfs.url lfs.pushurl; do
	must git config -f other/.lfsconfig --replace-all lfs.url "brevis::file://$T/second"
	must git config -f other/.lfsconfig --replace-all "$key" https://user:hidden@example.org/lfs
	cp other/.lfsconfig before
	store other init "$T/second"
	exits 128 "init leaves a foreign $key alone"
	one_line 'with one line' "$key" --force
	is 'which does not repeat what may hold a password' "$(grep -c hidden "$T/err")" 0
	same_bytes 'and .lfsconfig as it is' before other/.lfsconfig
	check 'and makes no store' test ! -e "$T/second"
	store other init --force "$URL"
	exits 0 'init --force replaces it'
	is 'with ours' "$(lfsconfig other lfs.url) $(lfsconfig other lfs.pushurl)" "brevis::$URL "
done
must git -C other config lfs.url https://example.org/lfs
store other init "$URL"
exits 0 'init where git has another lfs.url'
check 'warns of it' grep -q "^git-brevis: warning: .*git config --unset lfs.url" "$T/err"
GIT_CONFIG_GLOBAL=/dev/null store work init "$URL"
exits 0 'init without the agent'
check 'says how to register it' grep -q "^git-brevis: warning: .*git brevis install" "$T/err"
rm -rf other
must git init -q other
ln -s "$T/elsewhere" other/.lfsconfig
store other init "$URL"
exits 128 'init where .lfsconfig is a link'
one_line 'with one line' .lfsconfig 'regular file'
check 'follows it nowhere' test ! -e "$T/elsewhere"
must git init -q --bare bare.git
store bare.git init "$URL"
exits 128 'init in a bare repository'
one_line 'with one line' bare clone
store work init --force "$T/before"
exits 128 'init where a file is'
one_line 'with one line' "$T/before"
for url in sftp://user:hidden@127.0.0.1/store dav+http://a:hidden@127.0.0.1/x ftp://127.0.0.1/store; do
	store work init --force "$url"
	exits 128 "init ${url%%:*} of a kind that is refused"
	one_line 'with one line' "${url%%:*}|password"
	is 'without the password' "$(grep -c hidden "$T/err")" 0
done
is 'a failed init leaves .lfsconfig' "$(git -C work status --porcelain)" ''
for words in '--region x' '--endpoint http://127.0.0.1' '--addressing path'; do
	# shellcheck disable=SC2086 # a list of words
	store work init "$URL" $words
	exits 128 "init of a directory with $words"
	one_line 'with one line' s3
done
store work init s3://bucket --addressing sideways
exits 128 'init with an addressing that is none'
one_line 'with one line' path virtual
store work init s3://bucket --region eu/1
exits 128 'init with a region that is none'
one_line 'with one line' region
for endpoint in https://user:hidden@example.org https://example.org?hidden https://example.org#hidden; do
	store work init s3://bucket --endpoint "$endpoint"
	exits 128 "init with $endpoint"
	one_line 'with one line' endpoint 'https://host'
	is 'which does not repeat it' "$(grep -c hidden "$T/err")" 0
done
store work init s3://bucket --endpoint http://example.org
exits 128 'init with an endpoint without TLS'
one_line 'with one line' TLS brevis.s3.endpoint
store work init 's3://bucket?endpoint=https://example.org' --endpoint https://example.org
exits 128 'init with two endpoints'
one_line 'with one line' twice
store work init 's3://bucket?hidden=1'
exits 128 'init with a query that says something else'
one_line 'with one line' 'endpoint=https://host'
is 'which is not repeated' "$(grep -c hidden "$T/err")" 0
is 'none of them leaves anything' "$(git -C work status --porcelain)" ''
store work init
exits 129 'init without a URL'

# ---- a store with something in it ---------------------------------------------------------------

# An archive of filter=brevis, a plain object, and one that was compressed on its way.
cp "$DEMO" work/model.safetensors
must git -C work add model.safetensors
archive=$(basename "$(in_dir work git brevis pointer model.safetensors | sed -n 's/^oid sha256://p')")
put "$archive" "$(object_path work "$archive")"
head -c 300000 /dev/urandom >plain
plain=$(sha256 plain)
point "$plain" 300000 work/plain.bin
put "$plain" plain
compressed=$(sha256 "$REVISED")
must git brevis compress "$REVISED" -o revised
point "$compressed" "$(size "$REVISED")" work/revised.bin
put "$compressed" revised
# Twice the same, and nothing at all, need nothing more.
cp work/plain.bin work/again.bin
: >work/nothing.bin
commit_all work 'three objects'
all=$(printf '%s\n' "$archive" "$plain" "$compressed" | LC_ALL=C sort)
total=$(($(size "$(key "$archive")") + 300000 + $(size revised)))
originals=$(($(size "$DEMO") + 300000 + $(size "$REVISED")))

# ---- ls -----------------------------------------------------------------------------------------

store work ls
exits 0 'ls'
is 'lists the objects in order' "$(cut -d' ' -f1 "$T/out")" "$all"
store work ls -l
exits 0 'ls -l'
is 'is silent on stderr' "$(cat "$T/err")" ''
for row in "$archive archive model.safetensors" "$plain plain (plain|again).bin" "$compressed compressed revised.bin"; do
	# shellcheck disable=SC2086 # a list of words
	set -- $row
	check "has a row for $2" grep -qE "^$1 .* $2 +$3\$" "$T/out"
done
check 'says what is saved' grep -qE "^$compressed +[0-9.]+ [KM]B +[0-9.]+ [KM]B +3[0-9]\.[0-9] % saved" "$T/out"

# json WHAT VERB... CODE: evaluates lines of Python with what it told: `told`.
json()
{
	local what=$1 code=${*: -1}
	store work "${@:2:$#-2}"
	archive=$archive plain=$plain compressed=$compressed TOTAL=$total ORIGINALS=$originals \
		URL=$URL CODE=$code "$PYTHON" - "$T/out" <<-'END' >"$T/said" 2>&1
			import json, os, sys
			told = json.load(open(sys.argv[1], encoding="utf-8"))
			archive, plain, compressed = (os.environ[n] for n in ("archive", "plain", "compressed"))
			objects = {o["oid"]: o for o in told.get("objects", [])} if "size" not in told else {}
			assert told["store"] == os.environ["URL"]
			exec(os.environ["CODE"])
		END
	is "$what" "$RC $? $(tail -n 1 "$T/said")" '0 0 '
}

json 'ls --json has oids and sizes' ls --json '
assert sorted(objects) == sorted([archive, plain, compressed])
assert objects[plain] == {"oid": plain, "size": 300000}
assert sum(o["size"] for o in told["objects"]) == int(os.environ["TOTAL"])'
json 'ls -l --json says what they restore' ls -l --json '
assert objects[plain]["name"] in ("plain.bin", "again.bin") and objects[plain]["content"] == "plain"
assert objects[archive]["name"] == "model.safetensors" and objects[archive]["content"] == "archive"
assert objects[compressed]["name"] == "revised.bin" and objects[compressed]["content"] == "compressed"
assert objects[plain]["original_size"] == 300000
assert sum(o["original_size"] for o in told["objects"]) == int(os.environ["ORIGINALS"])'

# ---- stats --------------------------------------------------------------------------------------

must mkdir -p "$STORE/tmp"
head -c 5000 plain >"$STORE/tmp/$plain.0123456789abcdef"
everything='
assert told["objects"] == 3 and told["archives"] == 2, told
assert told["size"] == int(os.environ["TOTAL"]) and told["original_size"] == int(os.environ["ORIGINALS"])
assert told["unknown_objects"] == 0 and told["unknown_size"] == 0
assert told["incomplete_uploads"] == 1 and told["incomplete_size"] == 5000'
json 'stats --json has the exact numbers' stats --json "$everything"
store work stats
exits 0 'stats'
contains 'counts' "$T/out" '3 objects, '
check 'says what is saved' grep -qE '; they restore [0-9.]+ .B, so [0-9.]+ % saved$' "$T/out"
contains 'and what is incomplete' "$T/out" '1 incomplete upload, 5.0 KB'

# ---- verify -------------------------------------------------------------------------------------

store work verify
exits 0 'verify'
is 'proves what HEAD needs' "$(cat "$T/out")" 'git-brevis store verify: 3 objects checked, all good'
is 'is silent on stderr' "$(cat "$T/err")" ''
is 'leaves no temporary file' "$(find work/.git/lfs/tmp -type f 2>/dev/null)" ''
run git -C work brevis store verify --all --progress
is 'verify --all' "$RC $(cat "$T/out")" '0 git-brevis store verify: 3 objects checked, all good'
store work verify "$plain"
is 'verify OID' "$RC $(cat "$T/out")" '0 git-brevis store verify: 1 object checked, all good'
store work verify "${plain:0:12}"
exits 129 'verify of half a name'
store work verify --all "$plain"
exits 129 'verify of all and of one'

# spoiled WHAT OID FINDING SUMMARY COMMAND...: the command spoils the object of OID, which is then
# put back.
spoiled()
{
	local what=$1 oid=$2 finding=$3 summary=$4 file
	shift 4
	file=$(key "$oid")
	cp "$file" "$T/kept"
	"$@" "$file"
	store work verify
	exits 1 "verify finds $what"
	check "$what: names it, its file, and what to do" grep -qE \
		"^$oid [a-z]+\.[a-z]+: $finding; .*git lfs push --object-id" "$T/out"
	is "$what: one line, and the count" "$(wc -l <"$T/out") $(tail -n 1 "$T/out")" \
		"2 git-brevis store verify: 3 objects checked, $summary, 2 good"
	is "$what: nothing on stderr" "$(cat "$T/err")" ''
	store work verify --json
	is "$what: and in JSON" "$RC $(json_says "$T/out" '[f["oid"] for f in j["findings"]]') $(json_says "$T/out" 'j["checked"]')" \
		"1 ['$oid'] 3"
	store work verify "$oid"
	exits 1 "$what: found by its name, too"
	chmod u+w "$file" 2>/dev/null
	cp "$T/kept" "$file"
}

cut_short() { truncate -s -1 "$1"; }
cut_to_nothing() { truncate -s 0 "$1"; }
replace_by_another() { cat "$(key "$archive")" >"$1"; }
spoiled 'a damaged plain object' "$plain" 'damaged: 300000 bytes whose SHA-256 is [0-9a-f]+\.\.\.' '1 damaged' flip_bit
spoiled 'a damaged archive' "$archive" 'damaged: .+' '1 damaged' flip_bit
spoiled 'a damaged compressed object' "$compressed" 'damaged: .+' '1 damaged' flip_bit
spoiled 'a cut plain object' "$plain" 'damaged: 299999 bytes .+' '1 damaged' cut_short
spoiled 'a cut archive' "$archive" 'damaged: .*(cut|end mark).*' '1 damaged' cut_short
spoiled 'a cut compressed object' "$compressed" 'damaged: .*(cut|end mark).*' '1 damaged' cut_short
spoiled 'an object that was cut to nothing' "$plain" 'damaged: 0 bytes .+' '1 damaged' cut_to_nothing
spoiled 'an archive of another object' "$compressed" 'damaged: it is an archive of another object .+' \
	'1 damaged' replace_by_another
spoiled 'a missing object' "$plain" 'missing' '1 missing' rm
store work verify
exits 0 'all is well again'

cut_short "$(key "$compressed")"
store work ls -l
check 'ls -l shows an archive that cannot be read' grep -qE "^$compressed +\? .* unreadable +revised.bin\$" "$T/out"
json 'stats counts it apart' stats --json '
assert told["unknown_objects"] == 1 and told["unknown_size"] == '"$(($(size revised) - 1))"
put "$compressed" revised

# A pointer that is wrong about the size.
must cp -a work lying
point "$plain" 300001 lying/plain.bin
cp lying/plain.bin lying/again.bin
commit_all lying 'a wrong pointer'
store lying verify
exits 1 'verify finds a wrong pointer'
check 'and says so' grep -qE "^$plain (plain|again).bin: wrong pointer: it says 300001 bytes, the object has 300000; " "$T/out"

# ---- stores that cannot be used -----------------------------------------------------------------

# unusable WHAT WORD...: every verb fails, in one line that has the words.
unusable()
{
	local what=$1 verb
	shift
	for verb in ls stats verify gc "init $URL"; do
		# shellcheck disable=SC2086 # a list of words
		store work $verb
		exits 128 "$what: ${verb%% *} fails"
		one_line "$what: with one line" "$STORE" "$@"
	done
}

cp "$STORE/brevis-store.json" description
must "$PYTHON" - "$STORE/brevis-store.json" <<-'END'
	import json, sys
	told = json.load(open(sys.argv[1]))
	assert told["version"] == 1
	told["version"] = 2
	json.dump(told, open(sys.argv[1], "w"))
END
unusable 'a newer store' version newer
echo '{' >"$STORE/brevis-store.json"
unusable 'a damaged description' brevis-store.json
rm "$STORE/brevis-store.json"
for verb in ls stats verify gc; do
	store work "$verb"
	exits 128 "no store: $verb fails"
	one_line 'no store: with one line' "$STORE" 'store init'
done
must cp description "$STORE/brevis-store.json"

# as_user COMMAND...: whom permissions concern.
as_user()
{
	if [ "$(id -u)" -ne 0 ]; then
		"$@"
	else
		setpriv --reuid=65534 --regid=65534 --clear-groups env PATH="$T/bin:$PATH" "$@"
	fi
}

must mkdir bin
must cp "$BIN/git-brevis" bin
must chmod 755 "$T"
must git config --global --add safe.directory '*'
must cp -a work theirs
[ "$(id -u)" -ne 0 ] || must chown -R 65534:65534 theirs
must find "$STORE" -type d -exec chmod 555 {} +
in_dir theirs run as_user git brevis store verify
exits 0 'a read-only store can be verified'
in_dir theirs run as_user git brevis store ls -l
exits 0 'and listed'
in_dir theirs run as_user git brevis store gc --older-than 0
exits 128 'gc of a read-only store fails'
one_line 'in one line' "$STORE" 'permission denied|read-only' 'tmp/'
check 'and the upload is still there' test -e "$STORE/tmp/$plain.0123456789abcdef"
in_dir theirs run as_user git brevis store init --force "$T/nowhere"
exits 128 'init where nothing can be made'
one_line 'in one line' "$T/nowhere" 'permission denied|read-only'
must find "$STORE" -type d -exec chmod 755 {} +
must chmod 000 "$(key "$plain")"
in_dir theirs run as_user git brevis store verify
exits 1 'verify goes on after an object that cannot be read'
check 'which it names' grep -qE "^$plain [a-z]+\.bin: cannot be read: .*[Pp]ermission denied" "$T/out"
contains 'and counts' "$T/out" ', 1 unreadable, 2 good'
in_dir theirs run as_user git brevis store ls -l
exits 0 'so does ls -l'
check 'and shows it' grep -qE "^$plain +\? +300.0 KB +\? +unreadable" "$T/out"
must chmod 644 "$(key "$plain")"

# ---- gc of what uploads left --------------------------------------------------------------------

old=$STORE/tmp/$compressed.fedcba9876543210
young=$STORE/tmp/$plain.0123456789abcdef
head -c 7000 plain >"$old"
must touch -d '8 days ago' "$old"
store work gc --dry-run
exits 0 'gc --dry-run'
check 'says what is old' grep -qE "^would remove tmp/$compressed.fedcba9876543210 \(7.0 KB, of 8 days ago\)\$" "$T/out"
is 'and that alone' "$(wc -l <"$T/out") $(tail -n 1 "$T/out")" '2 1 to remove, 7.0 KB'
check 'and leaves it' test -e "$old"
store work gc
exits 0 'gc'
check 'removes what is old' test ! -e "$old"
check 'and leaves what is young' test -e "$young"
store work gc --older-than 0
exits 0 'gc of all that is incomplete'
check 'removes the young one, too' test ! -e "$young"
store work gc
is 'gc of nothing' "$RC $(cat "$T/out")" '0 0 removed, 0 B'
store work verify --all
exits 0 'objects are as they were'
store work gc --older-than many
exits 129 'gc of an age that is none'

# ---- gc of objects ------------------------------------------------------------------------------

# keep NAME [DIR]: a new object in the store, whose pointer is DIR/NAME.bin.
declare -A oids
keep()
{
	echo "$1 $SEED" >"$T/content"
	oids[$1]=$(sha256 "$T/content")
	put "${oids[$1]}" "$T/content"
	point "${oids[$1]}" "$(size "$T/content")" "${2:-work}/$1.bin"
}

# dangling NAME: the same, in a commit that nothing names. Sets COMMIT.
dangling()
{
	local blob tree
	keep "$1" "$T"
	blob=$(git -C work hash-object -w "$T/$1.bin")
	tree=$(printf '100644 blob %s\t%s.bin\n' "$blob" "$1" | git -C work mktree)
	COMMIT=$(git -C work commit-tree -m "$1" "$tree")
}

for name in older-stash stash; do
	keep $name
	must git -C work add $name.bin
	must git -C work stash push -q
done
keep untracked-stash
must git -C work stash push -qu
keep reset
commit_all work 'to be reset'
must git -C work reset -q --hard HEAD^
dangling tagged
must git -C work tag -am 'a tag' tagged "$COMMIT"
dangling replaced
must git -C work tag replaced "$COMMIT"
must git -C work replace "$COMMIT" HEAD
dangling fetched
printf '%s\t\tof somewhere\n' "$COMMIT" >work/.git/FETCH_HEAD
must git -C work worktree add -q --detach --no-checkout "$T/linked"
keep linked-index linked
must git -C linked add linked-index.bin
dangling autostash
must mkdir work/.git/worktrees/linked/rebase-merge
echo "$COMMIT" >work/.git/worktrees/linked/rebase-merge/autostash
keep staged
must git -C work add staged.bin
dangling lost
keep never
rm work/never.bin
count=$(find "$STORE/objects" -type f | wc -l)

store work gc --unreferenced
exits 128 'gc --unreferenced without --yes fails'
one_line 'and says what must be so' 'other' 'fetched' --dry-run --yes
store work gc --unreferenced --yes
is 'objects that are young stay' "$RC $(cat "$T/out")" '0 0 removed, 0 B'
must find "$STORE/objects" -type f -exec touch -d '30 days ago' {} +
wanted=$(printf 'would remove objects/%s\n' "${oids[lost]:0:2}/${oids[lost]:2:2}/${oids[lost]}" \
	"${oids[never]:0:2}/${oids[never]:2:2}/${oids[never]}" | LC_ALL=C sort)
store work gc --unreferenced --dry-run
is 'gc --unreferenced --dry-run names what nothing names' "$(sed -n 's/ ([^(]*$//p' "$T/out" | LC_ALL=C sort)" "$wanted"
is 'and removes nothing' "$(find "$STORE/objects" -type f | wc -l)" "$count"

# What is not here may name something.
must git clone -q --depth 1 --no-checkout "file://$T/work" shallow
store shallow gc --unreferenced --yes --older-than 0
exits 128 'gc --unreferenced in a shallow clone fails'
one_line 'in one line' shallow unshallow
must git -C work config uploadpack.allowFilter true
GIT_BREVIS_SKIP_SMUDGE=1 must git clone -q --filter=blob:none "file://$T/work" partial
store partial gc --unreferenced --yes --older-than 0
exits 128 'gc --unreferenced in a partial clone fails'
one_line 'in one line' 'not in this clone' 'no object is removed'
is 'neither removes anything' "$(find "$STORE/objects" -type f | wc -l)" "$count"

store work gc --unreferenced --yes
exits 0 'gc --unreferenced --yes'
is 'removes what nothing names' "$(find "$STORE/objects" -type f | wc -l)" $((count - 2))
for name in "${!oids[@]}"; do
	case $name in
	lost | never) check "$name: gone" test ! -e "$(key "${oids[$name]}")" ;;
	*) check "$name: kept" test -e "$(key "${oids[$name]}")" ;;
	esac
done
store work verify --all
is 'what is left is good' "$RC $(cat "$T/out")" "0 git-brevis store verify: $((count - 2)) objects checked, all good"

# ---- what verify advises ------------------------------------------------------------------------

# Objects that git-lfs itself has sent there; nothing helps but to remove the damaged one.
must git lfs install
new_remote remote.git
must git init -q stock
must git -C stock remote add origin "file://$T/remote.git"
in_dir stock must git lfs track '*.safetensors'
STORE=$T/sent
store stock init "$STORE"
exits 0 'init, for stock pointers'
cp "$DEMO" stock/model.safetensors
commit_all stock 'a checkpoint'
store stock verify
exits 1 'before the push, verify finds it missing'
check 'push' git -C stock push -q origin main
store stock verify
exits 0 'after it, it is good'
oid=$(sha256 "$DEMO")
store stock ls -l
check 'and compressed' grep -qE "^$oid .*% saved +compressed +model.safetensors\$" "$T/out"
flip_bit "$(key "$oid")"
store stock verify
exits 1 'when it is damaged, verify finds it'
must rm "$STORE/$(sed -n "s|.*; remove \(objects/../../\)OID from the store.*|\1$oid|p" "$T/out")"
in_dir stock check 'what it advises can be done' git lfs push --object-id origin "$oid"
store stock verify
exits 0 'and helps'

done_testing
