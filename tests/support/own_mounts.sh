# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced by a script before all else: runs it again where what it mounts is nobody else's. Sets
# OWN_MOUNTS if mounting is possible.

if [ -z "${OWN_MOUNTS+set}" ]; then
	export OWN_MOUNTS=
	if [ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs tmpfs /mnt 2>/dev/null; then
		OWN_MOUNTS=yes exec unshare -m "$0" "$@"
	fi
fi
