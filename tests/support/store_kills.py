#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Transfers that are stopped at seeded random points, and what must hold after each of them.

usage: store_kills.py --url URL --files DIR|swift --work REPO --objects DIR --points N
                      [option...]

--objects DIR          for the files that travel
--seed N               of all that is random
--proxy PORT:TARGET    the URL leads to this port, which is passed on to that one, and cut
--server PID           children of it are killed
--store-disk DIR       a small file system that holds the store, to be filled
--work-disk DIR        the same of the repository
--pushes N             so many of the points go through git push and a kill of its agent

The repository's lfs.url is the store, which exists. Prints TAP without numbers, a line a point.
Each point stops an upload or a download of one object, or does its best to. After it, all objects
that the store shows prove, and the same client completes the same transfer.
"""
import argparse
import contextlib
import dataclasses
import hashlib
import json
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time

import numpy

import agent_client
from cut_proxy import CutProxy
from store_files import DirectoryFiles, SwiftFiles

KIB = 1 << 10


# ---- what is transferred ------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Object:
    """A file, and what git-lfs calls it."""

    path: str
    oid: str
    size: int


def tensors(rng, size):
    """A safetensors file of about so many bytes of BF16 weights."""
    count = size // 2
    header = json.dumps({"w": {"dtype": "BF16", "shape": [count], "data_offsets": [0, 2 * count]}})
    weights = numpy.random.default_rng(rng.randrange(1 << 32)).normal(0, 0.02, count)
    words = (weights.astype("<f4").view("<u4") >> 16).astype("<u2")
    return struct.pack("<Q", len(header)) + header.encode() + words.tobytes()


def make_objects(rng, folder):
    """Files of both kinds, stored as they are and compressed. The largest are large enough to go on
    with where an upload over sftp has stopped: it remembers no less than 4 MiB."""
    os.makedirs(folder, exist_ok=True)
    contents = [rng.randbytes(n) for n in (1, 100 * KIB, 700 * KIB, 4096 * KIB - 1, 13000 * KIB)]
    contents += [tensors(rng, n) for n in (150 * KIB, 1500 * KIB, 14000 * KIB)]
    objects = []
    for content in contents:
        oid = hashlib.sha256(content).hexdigest()
        path = os.path.join(folder, oid)
        with open(path, "wb") as file:
            file.write(content)
        objects.append(Object(path, oid, len(content)))
    return objects


# ---- ways to stop it ----------------------------------------------------------------------------


def children(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as pids:
            return [int(child) for child in pids.read().split()]
    return []


def descendants(pid):
    below = children(pid)
    return below + [far for child in below for far in descendants(child)]


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def filled(disk, leave):
    """A file system that has only so many bytes left."""
    filler = os.path.join(disk, "filler")
    status = os.statvfs(disk)
    free = status.f_bavail * status.f_frsize
    with open(filler, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(free - leave, 1))
    try:
        yield
    finally:
        os.remove(filler)


@contextlib.contextmanager
def later(seconds, action):
    """Does something in the middle of what goes on meanwhile."""
    timer = threading.Timer(seconds, action)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


class Kills:
    """The points of one store."""

    def __init__(self, options):
        self.options = options
        self.rng = random.Random(options.seed)
        self.work = options.work
        self.files = SwiftFiles() if options.files == "swift" else DirectoryFiles(options.files)
        self.objects = make_objects(self.rng, options.objects)
        self.proxy = CutProxy(*map(int, options.proxy.split(":"))) if options.proxy else None
        self.usual = {}  # seconds of an undisturbed transfer, by operation and object
        self.failures = 0
        self.ways = [(self.agent_by_progress, 4), (self.agent_by_time, 4)]
        if self.proxy:
            self.ways += [(self.network_cut, 5), (self.network_gone, 1)]
        if options.server:
            self.ways += [(self.server_child, 3)]
        if options.store_disk:
            self.ways += [(self.store_full, 2)]
        if options.work_disk:
            self.ways += [(self.work_full, 2)]

    # ---- transfers ----

    def transfer(self, operation, what, **limits):
        """Runs an agent for one object. Returns it, and whether it came to its end."""
        agent = agent_client.Agent(cwd=self.work, **limits)
        path = what.path if operation == "upload" else None
        whole = agent_client.run(agent, operation, [(what.oid, what.size, path)])
        return agent, whole

    def complaints(self, operation, what, agent, whole, undisturbed):
        """What is wrong with how an agent ended."""
        found = list(agent.broken)
        if agent.killed:
            return found
        if not whole:
            return found + [f"the agent ended by itself: {agent.said()}"]
        entry = agent.objects[-1]
        error = entry["error"]
        if error is None and operation == "download":
            found += self.take(entry["path"], what)
        if error is not None and undisturbed:
            found.append(f"{operation} fails: {error['message']}")
        elif error is not None and not (self.options.url in error["message"]
                                        and what.oid in error["message"]):
            found.append(f"an error that names not both store and object: {error['message']}")
        return found

    def take(self, path, what):
        """What git-lfs does with a download."""
        path = os.path.join(self.work, path)
        if agent_client.sha256_of(path) != what.oid:
            return [f"a download that is not {what.oid}"]
        os.remove(path)
        return []

    def sweep(self):
        """What git-lfs does with its temporary files, when they are an hour old."""
        folder = os.path.join(self.work, ".git", "lfs", "tmp")
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            os.remove(os.path.join(folder, name))

    def undisturbed(self, operation, what):
        began = time.monotonic()
        found = self.complaints(operation, what, *self.transfer(operation, what), True)
        if operation == "upload" and what.oid not in self.files.oids():
            found.append(f"{what.oid} is complete, and not in the store")
        self.usual[operation, what.oid] = time.monotonic() - began
        return found

    # ---- ways ----

    def agent_by_progress(self, operation, what):
        at = self.rng.randint(1, max(what.size, 1))
        return f"agent killed at {at} bytes", self.transfer(operation, what, kill_at=at)

    def agent_by_time(self, operation, what):
        after = self.rng.uniform(0, self.usual[operation, what.oid])
        return f"agent killed after {after:.3f} s", self.transfer(operation, what, kill_after=after)

    def network(self, operation, what, how, stays_down):
        # Some kilobytes more or less are said besides the object.
        count = self.rng.randint(1, what.size + 20 * KIB)
        reset = self.rng.random() < 0.5
        self.proxy.cut_after(count, reset, stays_down)
        result = self.transfer(operation, what)
        self.proxy.mend()
        return f"network {how} after {count} bytes{' (RST)' if reset else ''}", result

    def network_cut(self, operation, what):
        return self.network(operation, what, "cut", False)

    def network_gone(self, operation, what):
        return self.network(operation, what, "gone", True)

    def server_child(self, operation, what):
        after = self.rng.uniform(0, self.usual[operation, what.oid])
        with later(after, lambda: kill(descendants(self.options.server))):
            return f"server's process killed after {after:.3f} s", self.transfer(operation, what)

    def disk_full(self, operation, what, whose, disk):
        leave = self.rng.randint(0, what.size + 64 * KIB)
        with filled(disk, leave):
            return f"{whose} disk full after {leave} bytes", self.transfer(operation, what)

    def store_full(self, _, what):
        return self.disk_full("upload", what, "store's", self.options.store_disk)

    def work_full(self, operation, what):
        return self.disk_full(operation, what, "own", self.options.work_disk)

    def git_push(self, _, what):
        """Through real git and git-lfs."""
        after = self.rng.uniform(0, 2 * self.usual["upload", what.oid])
        push = subprocess.Popen(["git", "push", "-q", "origin", "HEAD"], cwd=self.work,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def kill_agents():
            for pid in descendants(push.pid):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as words:
                    if words.read().split(b"\0")[1:2] == [b"transfer"]:
                        kill([pid])

        with later(after, kill_agents):
            push.wait()
        return f"agent of git push killed after {after:.3f} s"

    # ---- points ----

    def point(self, number):
        names, weights = zip(*self.ways)
        way = self.rng.choices(names, weights)[0]
        operation = self.rng.choice(("upload", "download"))
        if way == self.store_full:
            operation = "upload"
        what = self.rng.choice(self.objects)
        if operation == "upload":
            self.files.remove(what.oid)
        how, (agent, whole) = way(operation, what)
        gentle = way == self.network_cut or way == self.server_child
        found = self.complaints(operation, what, agent, whole, gentle)
        found += self.files.bad()
        if operation == "download" or gentle or not self.rng.randrange(4):
            found += self.undisturbed(operation, what)
        else:
            # Another agent may be stopped in turn, on the way that the first one has gone.
            found += self.complaints(operation, what, *self.agent_by_time(operation, what)[1], True)
            found += self.files.bad() + self.undisturbed(operation, what)
        found += self.files.bad()
        self.tell(number, f"{operation} of {what.size} bytes, {how}", found)

    def push_point(self, number):
        content = self.rng.randbytes(200 * KIB) + tensors(self.rng, 300 * KIB)
        with open(os.path.join(self.work, "pushed.bin"), "wb") as file:
            file.write(content)
        oid = hashlib.sha256(content).hexdigest()
        self.git("add", "pushed.bin")
        self.git("commit", "-qm", f"point {number}")
        what = Object("", oid, len(content))
        self.usual["upload", oid] = 0.3
        how = self.git_push("upload", what)
        found = self.files.bad() + self.git("push", "-q", "origin", "HEAD")
        # What git has got already it does not offer to git-lfs again.
        found += self.git("lfs", "push", "--object-id", "origin", oid)
        found += self.files.bad()
        if oid not in self.files.oids():
            found.append(f"{oid} is not in the store")
        self.tell(number, f"git push, {how}", found)

    def git(self, *command):
        result = subprocess.run(["git", *command], cwd=self.work, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False)
        return [] if result.returncode == 0 else [f"git {command}: {result.stdout.decode()}"]

    def tell(self, number, what, found):
        print(f"{'not ok' if found else 'ok'} - {number}: {what}")
        for line in found:
            self.failures += 1
            print("#   " + str(line).replace("\n", "\n#   "))
        sys.stdout.flush()

    def run(self):
        found = []
        for what in self.objects:
            found += self.undisturbed("upload", what) + self.undisturbed("download", what)
        self.tell(0, "undisturbed", found + self.files.bad())
        for number in range(1, self.options.points + 1):
            self.sweep()
            if number <= self.options.pushes:
                self.push_point(number)
            else:
                self.point(number)
        return 1 if self.failures else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    for name in ("--url", "--files", "--work", "--objects"):
        parser.add_argument(name, required=True)
    for name in ("--proxy", "--store-disk", "--work-disk"):
        parser.add_argument(name)
    for name in ("--points", "--seed", "--server", "--pushes"):
        parser.add_argument(name, type=int, default=0)
    return Kills(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
