# SPDX-License-Identifier: Apache-2.0
"""Running a command and saying what it took: time, processor time, and memory by program."""

import contextlib
import ctypes
import dataclasses
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time

SAMPLE_SECONDS = 0.1  # how often peaks of memory are looked up
PR_SET_CHILD_SUBREAPER = 36


class CommandFailed(Exception):
    """A command that was to be measured did not do its work."""


@dataclasses.dataclass
class Timing:
    """What a command took, with all the processes that it started."""

    wall: float  # seconds until the command ended
    cpu: float  # seconds, user and system
    peaks: dict  # bytes of resident memory that a process of that name had at most


def run(command, cwd, env, log):
    """Measures command, whose output goes to the file log. Raises CommandFailed."""
    read_end, write_end = os.pipe()
    # In a process of its own, so that what is counted of children is this command's alone.
    runner = os.fork()
    if runner == 0:
        try:
            os.close(read_end)
            os.setsid()
            with os.fdopen(write_end, "w") as out:
                json.dump(measure(command, cwd, env, log), out)
        finally:
            os._exit(0)
    os.close(write_end)
    try:
        with os.fdopen(read_end) as answer:
            text = answer.read()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(runner, signal.SIGTERM)
        raise
    finally:
        os.waitpid(runner, 0)
    result = json.loads(text) if text else {"code": "no", "wall": 0, "cpu": 0, "peaks": {}}
    if result["code"] != 0:
        with open(log, encoding="utf-8", errors="replace") as said:
            raise CommandFailed(
                f"{' '.join(command)}: exit code {result['code']}\n{said.read()[-2000:]}"
            )
    return Timing(result["wall"], result["cpu"], result["peaks"])


def measure(command, cwd, env, log):
    # What a command leaves running becomes our child, and is counted like what it waited for.
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    os.chdir(cwd)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, flags, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    os.environ["PATH"] = env["PATH"]
    peaks = {}
    start = time.monotonic()
    pid = os.posix_spawnp(command[0], command, env, file_actions=files)
    handle = os.pidfd_open(pid)
    while not select.select([handle], [], [], SAMPLE_SECONDS)[0]:
        for child in children(os.getpid()):
            sample(child, peaks)
    wall = time.monotonic() - start
    _, status = os.waitpid(pid, 0)
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peaks": peaks}


def children(pid):
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as pids:
                found += pids.read().split()
    except (FileNotFoundError, ProcessLookupError):
        pass  # it has just ended
    return found


def sample(pid, peaks):
    """Adds the peak so far of a process and of all below it. The kernel keeps the maximum."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as lines:
            status = dict(line.rstrip("\n").split(":", 1) for line in lines if ":" in line)
    except (FileNotFoundError, ProcessLookupError):
        return
    if "VmHWM" in status:
        name = status["Name"].strip()
        peaks[name] = max(peaks.get(name, 0), int(status["VmHWM"].split()[0]) * 1024)
    for child in children(pid):
        sample(child, peaks)


def run_program(main, say):
    """Runs main; a command that fails, or a file, ends the program with a line."""
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except (OSError, CommandFailed, subprocess.CalledProcessError) as failure:
        say(failure)
        sys.exit(1)
