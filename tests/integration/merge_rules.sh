#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# merge=brevis, version by version: what is resolved, what is a conflict, and what a merge by tensors
# makes, byte for byte. Without work trees: the versions are made as commits, and merge-tree merges them.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

NAME=model.safetensors

# model FILE WORD...: see support/small_model.py
model()
{
	must "$PYTHON" "$TOP/tests/support/small_model.py" "$@"
}

model base.safetensors a=1 b=2 c=3 @format=pt
model ours.safetensors a=11 b=2 c=3 @format=pt
model theirs.safetensors a=1 b=22 c=3 @format=pt
model both.safetensors a=11 b=22 c=3 @format=pt
cp "$DEMO" demo
printf 'one thing' >opaque.one
printf 'another' >opaque.two
printf 'a third' >opaque.three
: >nothing
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 0\n' \
	"$(sha256sum <nothing | cut -d' ' -f1)" >nothing-else

# ---- both sides restore the same ----

git brevis compress "$DEMO" -o usual.archive 2>"$T/err"
git brevis compress --preset fast "$DEMO" -o fast.archive 2>"$T/err"
check 'two archives of a checkpoint differ' test "$(sha256sum <usual.archive)" != "$(sha256sum <fast.archive)"
new_repo lab
must git -C lab config brevis.mergeTensors false

# blob FILE: what git stores for it; "raw FILE": itself; "stock FILE": a stock pointer, and its object
declare -A blobs
blob()
{
	local file=$T/${1#* }
	if [ -z "${blobs[$1]:-}" ]; then
		case $1 in
		raw\ *) blobs[$1]=$(git -C lab hash-object -w --no-filters "$file") ;;
		stock\ *) blobs[$1]=$(cd lab && git-lfs clean <"$file" | git hash-object -w --stdin) ;;
		*) blobs[$1]=$(git -C lab hash-object -w --path=$NAME "$T/$1" 2>"$T/said") ;;
		esac
	fi
	BLOB=${blobs[$1]}
}

# commit FILE [PARENT]: sets COMMIT; FILE "-": without the model
commit()
{
	local entries
	entries=$(git -C lab ls-tree HEAD -- .gitattributes)
	if [ "$1" != - ]; then
		blob "$1"
		entries+=$'\n'"100644 blob $BLOB"$'\t'$NAME
	fi
	COMMIT=$(git -C lab mktree <<<"$entries")
	COMMIT=$(git -C lab commit-tree -m "$1" ${2:+-p "$2"} "$COMMIT")
}

# merge BASE OURS THEIRS: runs it, after a first word "tensors" by tensors; OURS and THEIRS are then
# blobs, MERGED is that of the result.
merge()
{
	local base ours by=false
	[ "$1" != tensors ] || { by=true; shift; }
	commit "$1"
	base=$COMMIT
	commit "$2" "$base"
	ours=$COMMIT
	commit "$3" "$base"
	blob "$2"
	OURS=$BLOB
	blob "$3"
	THEIRS=$BLOB
	run git -C lab -c brevis.mergeTensors=$by merge-tree --write-tree "$ours" "$COMMIT"
	MERGED=$(git -C lab rev-parse -q --verify "$(head -n 1 "$T/out"):$NAME")
}

# resolved DESCRIPTION BLOB: without a word
resolved()
{
	is "$1" "$RC $MERGED $(cat "$T/err")" "0 $2 "
}

# unmerged DESCRIPTION WORD...: ours is kept, and told in one line
unmerged()
{
	local what=$1
	shift
	is "$what: ours is kept" "$RC $MERGED" "1 $OURS"
	one_line "$what: is told in one line" "$NAME: conflict" 'ours is kept' "$@"
}

merge ours.safetensors usual.archive fast.archive
check 'the blobs differ' test "$OURS" != "$THEIRS"
resolved 'two archives of the same bytes: our pointer' "$OURS"
merge usual.archive fast.archive ours.safetensors
resolved 'ours is another archive of the base: theirs' "$THEIRS"
merge usual.archive ours.safetensors fast.archive
resolved 'theirs is another archive of the base: ours' "$OURS"
merge ours.safetensors "raw demo" usual.archive
resolved 'ours is raw, and the same: the pointer' "$THEIRS"
merge ours.safetensors usual.archive 'raw demo'
resolved 'theirs is raw, and the same: the pointer' "$OURS"
merge 'raw demo' usual.archive ours.safetensors
resolved 'ours only compressed what was raw: theirs' "$THEIRS"
merge usual.archive fast.archive 'raw ours.safetensors'
resolved 'theirs is raw, and the only change: its blob as it is' "$THEIRS"
merge 'raw fast.archive' usual.archive ours.safetensors
resolved 'the base is a raw archive' "$THEIRS"
merge ours.safetensors 'stock demo' fast.archive
resolved 'ours is a stock pointer of the same' "$OURS"
must rm "$(object_path lab "$(sha256sum <"$DEMO" | cut -d' ' -f1)")"
merge 'stock demo' fast.archive ours.safetensors
resolved 'ours is an archive of the stock pointer that is the base, whose object is missing: theirs' "$THEIRS"
merge base.safetensors 'raw ours.safetensors' 'raw theirs.safetensors'
unmerged 'two raw sides that differ' 'both sides changed it'
merge base.safetensors 'stock ours.safetensors' theirs.safetensors
unmerged 'a stock pointer of something else' 'both sides changed it'
merge nothing nothing-else ours.safetensors
resolved 'a pointer of size 0 is nothing: theirs' "$THEIRS"

# ---- what cannot be merged by tensors ----

merge tensors opaque.one opaque.two opaque.three
unmerged 'opaque content' 'is no safetensors file'
merge tensors base.safetensors nothing theirs.safetensors
unmerged 'a file that we emptied' 'ours is no safetensors file'
merge tensors base.safetensors ours.safetensors nothing
unmerged 'a file that they emptied' 'theirs is no safetensors file'
merge tensors base.safetensors ours.safetensors opaque.one
unmerged 'theirs is no safetensors file' 'theirs is no safetensors file'
head -c -100 theirs.safetensors >short
merge tensors base.safetensors ours.safetensors short
unmerged 'theirs is cut short' 'theirs is no safetensors file'
model same.safetensors a=12 b=2 c=3 @format=pt
merge tensors base.safetensors ours.safetensors same.safetensors
unmerged 'both changed one tensor' 'both sides changed the tensor a;'
model two.safetensors a=1 c=33
model ours-two.safetensors a=11 b=2 c=3 @format=pt
merge tensors two.safetensors ours-two.safetensors same.safetensors
unmerged 'both changed several' 'both sides changed the tensor a;'
model odd.1 $'x\e[31m=1' $'y\n=1'
model odd.2 $'x\e[31m=2' $'y\n=2'
model odd.3 $'x\e[31m=3' $'y\n=3'
merge tensors odd.1 odd.2 odd.3
unmerged 'both changed two tensors' 'the tensor x\\x1b\[31m and 1 more;'
model meta.1 a=1 @format=pt @step=1
model meta.2 a=1 @format=pt @step=2
model meta.3 a=1 @format=pt @step=3
merge tensors meta.1 meta.2 meta.3
unmerged 'both changed an entry of the metadata' 'both sides changed the metadata step;'
model field.1 a=1 b=2
model field.2 a=1 b=22 d=4 --field mine
model field.3 a=1 b=2 e=5
merge tensors field.1 field.2 field.3
unmerged 'fields that a composed header would lose' 'has fields of its own'
printf '*.safetensors -filter\n' >lab/.git/info/attributes
merge tensors base.safetensors ours.safetensors theirs.safetensors
unmerged 'where no checkout would restore an archive' 'no filter=brevis'
must rm lab/.git/info/attributes

# ---- what is merged by tensors ----

# by_tensors DESCRIPTION BASE OURS THEIRS EXPECTED: the merged file is that one, byte for byte, and the
# other way round, too.
by_tensors()
{
	local sides
	blobs=()
	for sides in "$3|$4" "$4|$3"; do
		merge tensors "$2" "${sides%|*}" "${sides#*|}"
		exits 0 "$1"
		is 'to a pointer' "$(git -C lab cat-file blob "$MERGED" | head -c 7)" version
		git -C lab cat-file --filters "$(head -n 1 "$T/out"):$NAME" >"$T/merged"
		same_bytes 'of what it should be' "$T/merged" "$5"
	done
}

by_tensors 'raw sides' base.safetensors 'raw ours.safetensors' 'raw theirs.safetensors' both.safetensors
by_tensors 'stock pointers' 'stock base.safetensors' 'stock ours.safetensors' theirs.safetensors \
	both.safetensors
model h.base m=1 n=2 z=3 @format=pt
model h.ours m=1 n=22 z=3 @format=pt --pad 24
model h.theirs m=11 n=2 z=3 @format=pt
model h.both m=11 n=22 z=3 @format=pt --pad 24
by_tensors 'a header whose layout one side changed' h.base h.ours h.theirs h.both
model h.ours m=1 n=22 z=3 @format=pt
model h.theirs m=1 n=2 z=3 q=4:U8:77 @format=pt @step=5
model h.both m=1 n=22 z=3 q=4:U8:77 @format=pt @step=5
by_tensors 'a tensor that one side added' h.base h.ours h.theirs h.both
model h.ours m=1 n=2 z=3 p=4:BF16:3 k=9:U8:5 @format=pt @ours=1
model h.theirs m=1 z=3 q=5:I64:7 r=8:F32:0 @format=pt @theirs=2
model h.both @format=pt @ours=1 @theirs=2 q=5:I64:7 m=1 z=3 p=4:BF16:3 k=9:U8:5 r=8:F32:0
by_tensors 'tensors that both added and one removed' h.base h.ours h.theirs h.both
model h.ours z=3 n=22 m=1 @format=pt
model h.theirs m=11 n=2 z=3 @format=pt
model h.both z=3 n=22 m=11 @format=pt
by_tensors 'an order that one side changed' h.base h.ours h.theirs h.both
model h.ours m=1:U8:4000 n=2 z=3 @format=pt
model h.theirs m=1 n=22 z=3 @format=pt
model h.both m=1:U8:4000 n=22 z=3 @format=pt
by_tensors 'a type that one side changed' h.base h.ours h.theirs h.both
model h.ours m=1 n=2 z=3 x=7
model h.theirs m=1 n=2 z=3 y=8
model h.both m=1 n=2 x=7 y=8 z=3
by_tensors 'a file that both added' - h.ours h.theirs h.both
model h.ours $'n\t"\\=1' m=1 '@k"\=v' @empty=
model h.theirs m=1 é=2:F64:3 @schlüssel=wert
model h.both é=2:F64:3 m=1 $'n\t"\\=1' @empty= '@k"\=v' @schlüssel=wert
blobs=()
merge tensors - h.ours h.theirs
exits 0 'names that have to be escaped'
git -C lab cat-file --filters "$(head -n 1 "$T/out"):$NAME" >"$T/merged"
for file in merged h.both; do
	must "$PYTHON" "$TOP/tests/support/small_model.py" --show $file
	must mv "$T/.said" $file.shown
done
same_bytes 'are merged, too' merged.shown h.both.shown
merge tensors meta.1 meta.2 meta.1
is 'nothing to merge is nothing of ours' "$RC $MERGED $(cat "$T/err")" "0 $OURS "

done_testing
