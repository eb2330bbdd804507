#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A hub that wants large objects in parts, each under a signed URL of its own: the agent "multipart"
# brings them there, whatever fails on the way; what is refused, or is not what it should be, ends in
# one clear line, and the next push completes.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

SERVER=$T/server
PART=1048576

start_fixture_lfs "$SERVER" --parts "$PART" --auth tester:secret
git config --global lfs.url "$LFS_URL"
git config --global lfs.locksverify false
git config --global lfs.transfer.maxretrydelay 1
git config --global lfs.transfer.maxretries 3
git config --global credential.helper '!printf "username=tester\npassword=secret\n";:'

# The agent tells its process id, so that it can be killed.
must git brevis install --multipart --skip-repo
cat >"$T/agent" <<-'END'
	#!/bin/sh
	echo $$ >>"$HOME/agents"
	exec git-brevis "$@"
END
chmod +x "$T/agent"
git config --global lfs.customtransfer.multipart.path "$T/agent"

fault()
{
	printf '%s\n' "$@" >"$SERVER/faults"
}

# count PATTERN: lines of the server's log since it was last emptied.
count()
{
	grep -cE "$1" "$SERVER/log"
}

# random BYTES SEED >FILE
random()
{
	"$PYTHON" -c 'import random, sys; sys.stdout.buffer.write(
		random.Random(int(sys.argv[2])).randbytes(int(sys.argv[1])))' "$1" "$2"
}

# checkpoint FILE SEED: 5.5 MiB that nobody can compress by much.
checkpoint()
{
	{
		printf '\x48\0\0\0\0\0\0\0%-72s' \
			'{"a":{"dtype":"BF16","shape":[2883584],"data_offsets":[0,5767168]}}'
		random 5767168 "$2"
	} >"$1"
}

# revision SEED: another checkpoint in the work tree, committed. Sets OBJECT, its file, and OID.
revision()
{
	checkpoint work/model.safetensors "$1"
	commit_all work "revision $1"
	OBJECT=$(object_of work model.safetensors)
	OID=${OBJECT##*/}
	: >"$SERVER/log"
}

push()
{
	run git -C work lfs push origin main
}

# arrived DESCRIPTION: the hub has the object.
arrived()
{
	same_bytes "$1" "$OBJECT" "$SERVER/objects/$OID"
}

# one_message DESCRIPTION WORD...: git-lfs showed one error, which has all of these words, and nothing
# that is secret.
one_message()
{
	local what=$1 word
	shift
	grep -F "$OID" "$T/err" >"$T/message"
	is "$what: one line" "$(wc -l <"$T/message")" 1
	for word in "$@"; do
		contains "$what: $word" "$T/message" "$word"
	done
	is "$what: no secrets" "$(grep -c signature "$T/message")" 0
}

new_remote remote.git
new_repo work
must git -C work remote add origin "$T/remote.git"
must git lfs install --skip-repo
must git -C work lfs track '*.bin'
commit_all work 'track others'
must git -C work push -q origin main

# ---- parts ----

revision 1
check 'push of an archive of six parts' git -C work push -q origin main
arrived 'arrives'
is 'in parts' "$(count 'PUT /parts/') $(count 'PUT /objects/') $(count 'POST /complete/')" '6 0 1'
is 'and leaves nothing' "$(ls "$SERVER/uploads")" ''
check 'clone' git clone -q "$T/remote.git" clone
same_bytes 'has it back' clone/model.safetensors work/model.safetensors

random 300000 7 >work/small.bin
random "$PART" 8 >work/exact.bin
random $((2 * PART)) 9 >work/double.bin
revision 2
check 'push of large objects and small ones' git -C work push -q origin main
is 'small ones have no parts' "$(count 'PUT /parts/') $(count 'PUT /objects/') $(count 'stored ')" \
	'8 2 4'
random 300000 10 >work/small.bin
commit_all work 'a small one'
: >"$SERVER/log"
: >"$HOME/agents"
check 'push of a small object alone' git -C work push -q origin main
is 'needs no agent' "$(count 'stored ') $(wc -l <"$HOME/agents")" '1 0'
check 'pull' git -C clone pull -q
same_bytes 'brings back all of it' <(listing work) <(listing clone)

# ---- faults that pass ----

seed=10
for line in 'part-503 1' 'part-503 3' 'part-429 1 1' 'part-cut 1 100000' 'part-cut 2 0' 'complete-503 2'; do
	revision "$((seed += 1))"
	fault "$line"
	push
	exits 0 "push with $line"
	arrived 'arrives'
	is 'after all that happened' "$(cat "$SERVER/faults")" ''
done
fault
revision "$((seed += 1))"
fault 'part-503 1'
GIT_BREVIS_TRACE=$T/trace push
exits 0 'push with a trace'

# ---- faults that stay ----

# refused LINE WORD...: the push fails with these words; the next one completes.
refused()
{
	local line=$1
	shift
	revision "$((seed += 1))"
	fault "$line"
	push
	exits 2 "push with $line"
	one_message "$line" "$@"
	check 'nothing is there' test ! -e "$SERVER/objects/$OID"
	fault
	push
	exits 0 'the next push completes'
	arrived 'arrives'
}
refused 'parts-expired 1' 'of 6: the hub answers with status 403' 'push again'
is 'an expired URL is not tried again' "$(count 'parts/1\?signature=0000')" 1
refused 'parts-few 1' 'no URL'
refused 'part-503 99' 'of 6: the hub answers with status 503' 'try again later'
refused 'part-no-etag 1' 'ETag'
refused 'part-etag 1' 'completion: the hub answers with status 400: a part has another ETag' 'push again'
refused 'complete-400 1' 'completion: the hub answers with status 400: the parts do not please me'

random $((2 * PART + 1)) 11 >work/double.bin
revision "$((seed += 1))"
fault 'parts-expired 1'
push
exits 2 'push of two objects of which one fails'
is 'brings the other one' "$(count 'stored ')" 1
fault
push
exits 0 'the next one brings the rest'
is 'and only that' "$(count 'stored ') $(count 'POST /complete/')" '2 2'

is 'no trace and no log holds a secret' "$(grep -rl signature trace work/.git/lfs 2>/dev/null)" ''

# ---- an object that is none ----

revision "$((seed += 1))"
cp "$OBJECT" whole
flip_bit "$OBJECT"
push
exits 2 'push of a damaged object'
one_message 'a damaged object' 'has the SHA-256' 'git lfs fsck'
is 'is never completed' "$(count 'POST /complete/')" 0
cp whole "$OBJECT"
push
exits 0 'push of the same, healed'
arrived 'arrives'

# ---- an agent that dies ----

for signal in KILL TERM; do
	revision "$((seed += 1))"
	fault 'part-pause 6 1'
	: >"$HOME/agents"
	git -C work lfs push origin main >"$T/out" 2>"$T/err" &
	pusher=$!
	for _ in $(seq 100); do
		[ "$(count 'PUT /parts/')" -ge 2 ] && break
		sleep 0.05
	done
	check "SIG$signal for the agent" kill -s "$signal" "$(tail -n 1 "$HOME/agents")"
	wait "$pusher"
	is 'ends the push' "$?" 2
	check 'nothing is there' test ! -e "$SERVER/objects/$OID"
	fault
	push
	exits 0 'the next push completes'
	arrived 'arrives'
done

# ---- downloads that a server gives to the agent ----

start_fixture_lfs "$SERVER" --parts "$PART" --parts-download --auth tester:secret
git config --global lfs.url "$LFS_URL"

# pulled DESCRIPTION: a clone without objects gets them.
pulled()
{
	rm -rf fresh
	: >"$HOME/agents"
	check "$1" git clone -q "$T/remote.git" fresh
	same_bytes 'brings all' <(listing work) <(listing fresh)
	check 'by the agent' test -s "$HOME/agents"
}
must git -C work push -q origin main
pulled 'clone'
fault 'download-503 1' 'download-429 1 1'
pulled 'clone from a busy server'
is 'that was busy' "$(cat "$SERVER/faults")" ''
fault 'download-fin 1 4000000' 'download-rst 2 1500000'
: >"$SERVER/log"
pulled 'clone with cut connections'
is 'which were cut' "$(cat "$SERVER/faults")" ''
contains 'and went on where they were' "$SERVER/log" ' bytes=4000000-'
fault 'download-elsewhere 9' 'download-fin 1 4000000'
: >"$SERVER/log"
pulled 'clone from a hub that has its objects elsewhere'
is 'asks there with what the URL says' "$(count '^GET .*signature=elsewhere bytes=4000000-')" 1
fault 'download-flip 9 300000'
rm -rf fresh
run git clone -q "$T/remote.git" fresh
exits 128 'a clone that gets a damaged object fails'
contains 'and says why' "$T/err" 'another SHA-256'
fault
check 'the next pull completes' git -C fresh brevis pull
check 'and the checkout' git -C fresh checkout -qf main
same_bytes 'brings all' <(listing work) <(listing fresh)

done_testing
