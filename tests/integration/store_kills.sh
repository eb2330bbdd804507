#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Agents and servers are killed, networks cut, disks full, at 200 seeded points: no object that does
# not prove is ever seen, and the next attempt completes.
# shellcheck source=../support/own_mounts.sh
. "$(dirname "$0")/../support/own_mounts.sh"
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/stores.sh
. "$TOP/tests/support/stores.sh"
# shellcheck source=../support/store_kills.sh
. "$TOP/tests/support/store_kills.sh"

must git lfs install
start_kills directory 70 6
start_kills sftp 75 6
start_kills dav 75 6
end_kills directory 70
end_kills sftp 75
end_kills dav 75
[ -n "$OWN_MOUNTS" ] || not_here 'full disks' 'nothing may be mounted here'
done_testing
