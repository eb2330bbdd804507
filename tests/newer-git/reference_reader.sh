#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The reference reader of safetensors, the strictest there is, over files of every kind that were
# committed and restored: it takes exactly those that git-brevis takes for safetensors, and finds in them
# the tensors that git-brevis found.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

must "$TOP/scripts/edge-files" --seed "$SEED" --count 300 files
new_remote remote.git
new_repo work
must git -C work remote add origin "file://$T/remote.git"
cp files/*.safetensors work
cp "$DEMO" work/demo.safetensors
cp "$TOP/tests/corpus/demo-revision.safetensors" work/demo-revision.safetensors
git -C work add -A 2>"$T/err" || not_ok 'set-up: git add' "$T/err"
must git -C work commit -qm 'files of every kind'
must git -C work push -q origin main
check 'clone' git clone -q "file://$T/remote.git" clone
listing work >"$T/listing"
listing clone >"$T/cloned"
same_bytes 'every file is restored' "$T/cloned" "$T/listing"

# What git-brevis says of each: one JSON document a line, after the file's name and a tab.
for file in clone/*.safetensors; do
	object=$(object_of clone "${file##*/}")
	[ -s "$file" ] || continue
	printf '%s\t' "$file"
	git brevis inspect --json "$object" | tr -d '\n'
	echo
done >inspected
at_least 'they were inspected' "$(grep -c '"tensors"' inspected)" 290

"$PYTHON" - inspected >compared 2>&1 <<'END'
import json, sys
from safetensors import SafetensorError, deserialize

KNOWN = {"BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "I16", "U16", "F16", "BF16", "I32", "U32", "F32",
         "F64", "I64", "U64"}  # to this version of the reader
taken = refused = newer = tensors = 0
for line in open(sys.argv[1], encoding="utf-8"):
    path, text = line.rstrip("\n").split("\t", 1)
    ours = json.loads(text)
    valid = ours["layout"] == "safetensors"
    with open(path, "rb") as file:
        content = file.read()
    try:
        theirs = deserialize(content)
    except SafetensorError as error:
        theirs, reason = None, error
    if theirs is None and valid and any(t["dtype"] not in KNOWN for t in ours["tensors"]):
        newer += 1
    elif (theirs is not None) != valid:
        print(f"{path}: {ours['layout']} for us, but the reference reader",
              "takes it" if theirs is not None else f"says {reason}")
    elif valid:
        taken += 1
        tensors += len(theirs)
        mine = sorted((t["name"], t["dtype"], t["shape"], t["size"]) for t in ours["tensors"])
        read = sorted((n, t["dtype"], t["shape"], len(t["data"])) for n, t in theirs)
        if mine != read:
            print(f"{path}: other tensors: {mine[:3]} {read[:3]}")
    else:
        refused += 1
print(f"{taken} taken with {tensors} tensors, {refused} refused, {newer} of newer types", file=sys.stderr)
if min(taken, refused, newer) < 20 or tensors < 100:
    print("too few of a kind")
END
note "$(grep ' taken with ' compared)"
is 'the reference reader agrees about every file' "$(grep -v ' taken with ' compared)" ''

done_testing
