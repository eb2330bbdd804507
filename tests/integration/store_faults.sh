#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What goes wrong with stores in a directory, over sftp and over WebDAV, and how it is told.
# shellcheck source=../support/own_mounts.sh
. "$(dirname "$0")/../support/own_mounts.sh"
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/stores.sh
. "$TOP/tests/support/stores.sh"
# shellcheck source=../support/store_faults.sh
. "$TOP/tests/support/store_faults.sh"

must git lfs install
for kind in directory sftp dav; do
	use_store "$kind"
	faults "$kind"
done
done_testing
