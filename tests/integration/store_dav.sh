#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A team without an LFS server keeps its objects in nginx's WebDAV: push, clone, a second push.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/stores.sh
. "$TOP/tests/support/stores.sh"

must git lfs install
use_store dav
journey
done_testing
