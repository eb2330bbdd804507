#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A team without an LFS server keeps its objects in OpenStack Swift, by its S3 door: all that the
# other stores' scripts ask of theirs, over one start of its servers.
# shellcheck source=../support/own_mounts.sh
. "$(dirname "$0")/../support/own_mounts.sh"
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/stores.sh
. "$TOP/tests/support/stores.sh"
# shellcheck source=../support/store_faults.sh
. "$TOP/tests/support/store_faults.sh"
# shellcheck source=../support/store_kills.sh
. "$TOP/tests/support/store_kills.sh"

# places: the URL of the journey's store says where it is in all of its ways.
places()
{
	local endpoint=${S3_ENDPOINT/127.0.0.1/localhost} url
	url="brevis::s3://$STORE_BUCKET/team?endpoint=$endpoint&region=us-east-1&addressing=virtual"
	run in_dir work git brevis store init --force "s3://$STORE_BUCKET/team" --endpoint "$endpoint/" \
		--region us-east-1 --addressing virtual
	exits 0 'store init with options'
	is 'writes a URL that has them' "$(git config -f work/.lfsconfig lfs.url)" "$url"
	is 'and nothing else for S3' "$(grep -c 's3 ' work/.lfsconfig)" 0
	run in_dir work git brevis store init "$url"
	is 'store init takes that, too' "$RC $(git config -f work/.lfsconfig --get-all lfs.url)" "0 $url"
	seq 50000 >work/words.bin
	commit_all work 'another way'
	check 'push' git -C work push -q origin HEAD:refs/heads/other
	run git clone -qb other work.git other
	exits 0 'a fresh clone'
	is 'which git-lfs warns of nothing in' "$(cat "$T/err")" ''
	listing work >"$T/listing"
	listing other >"$T/cloned"
	same_bytes 'has every byte' "$T/cloned" "$T/listing"

	run in_dir other env AWS_REGION=elsewhere git brevis store verify
	exits 128 'the environment goes before the URL: a region'
	one_line 'of which the server wants another' us-east-1
	run in_dir other git -c "brevis.s3.endpoint=http://127.0.0.1:$(free_port)" \
		-c lfs.transfer.maxretries=1 brevis store ls
	exits 128 "git's configuration goes before the URL: an endpoint"
	contains 'where nobody listens' "$T/err" connect
	run in_dir other env AWS_ENDPOINT_URL="$S3_ENDPOINT" git brevis store init "$url"
	exits 0 'store init where the environment says something else'
	contains 'warns of it' "$T/err" 'warning: AWS_* variables'
}

must git lfs install
start_kills s3 20 3
end_kills s3 20
empty_bucket
journey
places
empty_bucket
many 100
at_once
empty_bucket
faults s3
done_testing
