# SPDX-License-Identifier: Apache-2.0
"""Faults of the place where a command works: a full file system, one that may only be read, a limit of file sizes.

Here it is the kernel that fails the calls, of git and git-lfs too. The first two need mounts, and so root
and a mount namespace of their own.
"""

import contextlib
import os
import subprocess
import sys

from world import files_below

FULL = "full-tmpfs"       # at: so many bytes of 5 MB are free
READ_ONLY = "read-only"   # at: the folder that may only be read, with all below it
FILE_SIZE = "ulimit-f"    # at: no file gets longer than this
PLACES = (FULL, READ_ONLY, FILE_SIZE)
SIZE, BLOCK = 5 << 20, 4096
STEP = 64                 # bytes, between one limit and the next one
OWN = "BREVIS_TORTURE_MOUNTS"


def available():
    return PLACES if os.environ.get(OWN) else (FILE_SIZE,)


def own_mounts():
    """Runs this program again where what it mounts is nobody else's, if that can be."""
    if OWN in os.environ:
        return
    able = os.geteuid() == 0 and subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    os.environ[OWN] = "yes" if able else ""
    if able:
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])


def mount(*words):
    subprocess.run(["mount", *words], check=True)


@contextlib.contextmanager
def disk(folder, fault):
    """Makes the folder a file system of 5 MB if the fault wants one."""
    if fault not in (FULL, READ_ONLY):
        yield
        return
    os.makedirs(folder)
    mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def free(folder):
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize


@contextlib.contextmanager
def worse(folder, fault, at):
    """Makes the place as bad as the fault wants it, and good again. Gives what a command is to be run by."""
    if fault == FULL:
        filler = os.path.join(folder, "filler")
        with open(filler, "wb") as file:
            if free(folder) > at:
                os.posix_fallocate(file.fileno(), 0, free(folder) - at)
        try:
            yield ()
        finally:
            os.unlink(filler)
    elif fault == READ_ONLY:
        target = os.path.join(folder, at)
        os.makedirs(target, exist_ok=True)
        mount("--bind", target, target)
        mount("-o", "remount,bind,ro", target)
        try:
            yield ()
        finally:
            subprocess.run(["umount", "-l", target], check=True)
    elif fault == FILE_SIZE:
        # Git does not know what SIGXFSZ is, and would be killed by it with its locks in place.
        yield ("prlimit", f"--fsize={at}", "sh", "-c", 'trap "" XFSZ; exec "$@"', "sh")
    else:
        yield ()


def choices(scenario, fault, folder, before):
    """All values of `at` for a scenario that has run in the folder, where it found so many bytes free."""
    if fault == FULL:
        # What is needed on the way is more than what is left in the end.
        return list(range(0, 2 * (before - free(folder)) + 8 * BLOCK, BLOCK))
    if fault == READ_ONLY:
        return [place for place in (".", *scenario.places) if os.path.exists(os.path.join(folder, place))]
    largest = max(os.path.getsize(path) for path in files_below(folder))
    return list(range(0, largest + 2 * STEP, STEP))
