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

must git lfs install
start_kills s3 40 3
end_kills s3 40
empty_bucket
journey
empty_bucket
many 100
at_once
empty_bucket
faults s3
done_testing
