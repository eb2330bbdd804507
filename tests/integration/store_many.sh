#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Many small objects at once, more than git-lfs hands out in one go (100), and two who push the same ones
# at the same time.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/stores.sh
. "$TOP/tests/support/stores.sh"

must git lfs install
use_store directory
many 300
at_once
use_store sftp
many 120
at_once
use_store dav
many 120
at_once
done_testing
