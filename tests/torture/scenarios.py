#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What torture.py lets fail: commands in small repositories, and what has to hold after them."""

import collections
import glob
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys

FAULTS = ("ENOSPC", "EDQUOT", "EIO", "EINTR", "EMFILE", "EROFS", "EACCES", "short", "nomem",
          "KILL", "TERM", "INT")  # as inject.c has them
SYSCALL = "syscall"  # killed at a system call, whoever makes it: libraries' count too
KILLS = ("KILL", SYSCALL)
SIGNALS = (*KILLS, "TERM", "INT")
COUNTERS = struct.Struct(f"<Q{len(FAULTS)}Q")


class Lost(Exception):
    """What must not happen."""


def need(holds, what):
    if not holds:
        raise Lost(what)


def content(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise Lost(f"{path} is not there") from None


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def files_below(top):
    for folder, _, names in os.walk(top):
        for name in names:
            yield os.path.join(folder, name)


# ---- the environment of all commands --------------------------------------------------------------

class World:
    """A HOME with git-brevis installed, and how commands run in it."""

    def __init__(self, place, binaries, library):
        self.place, self.library = place, os.path.abspath(library)
        home = os.path.join(place, "home")
        os.makedirs(os.path.join(home, "runtime"))
        self.env = {
            "PATH": os.path.abspath(binaries) + ":/usr/local/bin:/usr/bin:/bin",
            "HOME": home, "XDG_RUNTIME_DIR": os.path.join(home, "runtime"), "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_BREVIS_THREADS": "1",
            "GIT_AUTHOR_DATE": "2024-05-01T12:00:00Z", "GIT_COMMITTER_DATE": "2024-05-01T12:00:00Z"}
        for key, value in (("user.name", "A Tester"), ("user.email", "tester@example.org"),
                           ("init.defaultBranch", "main"), ("gc.auto", "0"), ("protocol.file.allow", "always")):
            self.must(place, "git", "config", "--global", key, value)
        self.trace(os.path.abspath(binaries))
        self.must(place, "git", "brevis", "install", "--skip-repo")
        self.must(place, "git", "lfs", "install", "--skip-repo")

    def run(self, folder, *command, env=None):
        return subprocess.run(command, cwd=folder, env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def must(self, folder, *command):
        done = self.run(folder, *command)
        if done.returncode:
            sys.exit(f"set-up: {' '.join(command)}: exit code {done.returncode}\n{done.stdout.decode(errors='replace')}")
        return done.stdout

    def injected(self, folder, counter, fault, at, command):
        """Runs a command in which call number `at` fails. Returns its result and the counts."""
        with open(counter, "wb") as file:
            file.write(bytes(COUNTERS.size))
        env = {"TORTURE_STATE": counter, "TORTURE_FAULT": fault, "TORTURE_AT": str(at)}
        if fault == SYSCALL:
            done = self.run(folder, *command, env={**env, "PATH": self.traced + ":" + self.env["PATH"]})
            return done, *self.traces(counter)
        done = self.run(folder, *command, env={**env, "LD_PRELOAD": self.library})
        hits, *calls = COUNTERS.unpack(content(counter))
        return done, dict(zip(FAULTS, calls)), hits

    def trace(self, binaries):
        """A git-brevis that strace kills at the system call TORTURE_AT: NAME:WHEN. 0: none, only count."""
        self.traced = os.path.join(self.place, "traced")
        os.mkdir(self.traced)
        with open(os.path.join(self.traced, "git-brevis"), "w", encoding="utf-8") as file:
            file.write(f"""#!/bin/sh
                set -- -- {binaries}/git-brevis "$@"
                [ "$TORTURE_AT" = 0 ] || set -- -e inject="${{TORTURE_AT%:*}}:signal=KILL:when=${{TORTURE_AT#*:}}" "$@"
                exec strace -o "$TORTURE_STATE.$$" -e signal=all "$@"
                """)
            os.chmod(file.fileno(), 0o755)

    def alone(self, repository):
        """The user's configuration once more, with a filter of one file only."""
        alone = os.path.join(repository, ".git", "alone")
        shutil.copy(os.path.join(self.env["HOME"], ".gitconfig"), alone)
        self.must(repository, "git", "config", "--file", alone, "--unset", "filter.brevis.process")

    def traces(self, counter):
        """System calls of the process that made most, by name and number of that name, and how many were killed."""
        calls, hits = [], 0
        for path in glob.glob(glob.escape(counter) + ".*"):
            text = content(path)
            hits += b"+++ killed by SIGKILL +++" in text
            names = re.findall(r"^(\w+)\(", text.decode(errors="replace"), re.M)
            if len(names) > len(calls):
                seen = collections.Counter()
                calls = [f"{name}:{seen.update([name]) or seen[name]}" for name in names]
            os.unlink(path)
        return {SYSCALL: calls}, hits


# ---- scenarios -------------------------------------------------------------------------------------

class Scenario:
    """A command, the folder it begins in, and what has to hold after it."""

    command = ()
    work = "work"      # the folder, in the copy, where the command runs
    models = {}        # name: bytes

    def __init__(self, world, models):
        self.world, self.models = world, models
        self.name = type(self).__name__.lower()
        self.origin = os.path.join(world.place, "origin", self.name)
        os.makedirs(self.origin)
        self.prepare(self.origin)
        for path in list(files_below(self.origin)):
            if path.endswith(".sample"):
                os.unlink(path)
        self.objects = {}  # of a run without faults: name: SHA-256 of the content

    def write_models(self, folder):
        for name, data in self.models.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)

    def repository(self, folder, attributes="filter=brevis diff=brevis merge=brevis -text"):
        self.world.must(".", "git", "init", "-q", folder)
        with open(os.path.join(folder, ".gitattributes"), "w", encoding="utf-8") as file:
            file.write(f"*.safetensors {attributes}\n")
        self.world.must(folder, "git", "add", ".gitattributes")
        self.world.must(folder, "git", "commit", "-qm", "attributes")

    def committed(self, folder, **options):
        self.repository(folder, **options)
        self.write_models(folder)
        self.world.must(folder, "git", "add", "-A")
        self.world.must(folder, "git", "commit", "-qm", "models")

    def copy(self, target):
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", self.origin, target], check=True)

    def prepare(self, folder):
        raise NotImplementedError

    def stores(self, folder):
        """Folders of objects, named by content."""
        yield os.path.join(folder, self.work, ".git", "lfs", "objects")

    def check_objects(self, folder, learn=False):
        for store in self.stores(folder):
            for path in files_below(store):
                name, found = os.path.relpath(path, folder), sha256(content(path))
                if learn:
                    self.objects[name] = found
                if name not in self.objects:
                    need(self.restores(path, found), f"{path} is no object of this scenario")
                else:
                    need(found == self.objects[name], f"{path} is not what its name promises")

    def restores(self, path, found):
        """Where memory is short an archive may get larger: another one, which must restore a model all the same."""
        out = path + ".restored"
        done = self.world.run(".", "git-brevis", "decompress", "-f", "-o", out, path)
        restored = content(out) if done.returncode == 0 else None
        if os.path.exists(out):
            os.unlink(out)
        return os.path.basename(path) == found and restored in self.models.values()

    def check_work(self, folder):
        work = os.path.join(folder, self.work)
        for name, data in self.models.items():
            path = os.path.join(work, name)
            if os.path.exists(path):
                found = content(path)
                need(found == data or found.startswith(b"version https://git-lfs"), f"{name} is neither whole nor a pointer")

    def check_leavings(self, folder, killed):
        work = os.path.join(folder, self.work)
        need(not os.path.exists(os.path.join(work, ".git", "index.lock")), "the index is locked")
        if killed:
            return
        left = [path for path in files_below(os.path.join(work, ".git", "lfs", "tmp"))]
        known = {".git", ".gitattributes", ".lfsconfig", *self.models, *self.others()}
        left += [name for name in os.listdir(work) if name not in known]
        need(not left, f"left behind: {left}")

    def others(self):
        return ()

    def check_done(self, folder):
        """After the command has succeeded."""
        work = os.path.join(folder, self.work)
        for name, data in self.models.items():
            need(content(os.path.join(work, name)) == data, f"{name} did not come back")
        status = self.world.run(work, "git", "status", "--porcelain", "--untracked-files=no")
        need(status.returncode == 0 and status.stdout == self.status(), f"git status says {status.stdout!r}")

    def status(self):
        return b""


class Add(Scenario):
    """Clean, through git's filter process."""

    command = ("git", "add", "-A")

    def prepare(self, folder):
        self.repository(os.path.join(folder, "work"))
        self.write_models(os.path.join(folder, "work"))

    def status(self):
        return b"".join(b"A  %s\n" % name.encode() for name in sorted(self.models))


class Readd(Add):
    """Clean of a revision: records of the earlier archive are reused."""

    def prepare(self, folder):
        work = os.path.join(folder, "work")
        self.committed(work)
        names = list(self.models)
        self.models = {name: self.models[other] for name, other in zip(names, names[1:] + names[:1])}
        self.write_models(work)

    def status(self):
        return b"".join(b"M  %s\n" % name.encode() for name in sorted(self.models))


class Checkout(Scenario):
    """Smudge, through git's filter process."""

    command = ("git", "checkout", "-q", "--", ".")

    def prepare(self, folder):
        work = os.path.join(folder, "work")
        self.committed(work)
        for name in self.models:
            os.unlink(os.path.join(work, name))


class AddAlone(Add):
    """Clean with a filter of one file, as git versions without filter processes start it."""

    command = ("env", "GIT_CONFIG_GLOBAL=.git/alone", *Add.command)

    def prepare(self, folder):
        super().prepare(folder)
        self.world.alone(os.path.join(folder, "work"))


class CheckoutAlone(Checkout):
    """Smudge, likewise."""

    command = ("env", "GIT_CONFIG_GLOBAL=.git/alone", *Checkout.command)

    def prepare(self, folder):
        super().prepare(folder)
        self.world.alone(os.path.join(folder, "work"))


class Write(Checkout):
    """git brevis checkout, which writes work files itself."""

    command = ("git", "brevis", "checkout")


class Compress(Scenario):
    """Without git: a file to an archive."""

    command = ("git-brevis", "compress", "a.safetensors", "-f", "-o", "a.brevis")

    def prepare(self, folder):
        self.repository(os.path.join(folder, "work"))
        self.write_models(os.path.join(folder, "work"))

    def others(self):
        return ("a.brevis",)

    def check_work(self, folder):
        super().check_work(folder)
        path = os.path.join(folder, self.work, "a.brevis")
        need(not os.path.exists(path) or sha256(content(path)) == self.objects.get("a.brevis"), "the archive is not whole")

    def check_objects(self, folder, learn=False):
        if learn:
            self.objects["a.brevis"] = sha256(content(os.path.join(folder, self.work, "a.brevis")))

    def check_done(self, folder):
        need(os.path.exists(os.path.join(folder, self.work, "a.brevis")), "there is no archive")
        self.check_work(folder)


class Decompress(Compress):
    """And back."""

    command = ("git-brevis", "decompress", "b.brevis", "-f", "-o", "a.brevis")

    def prepare(self, folder):
        work = os.path.join(folder, "work")
        super().prepare(folder)
        self.world.must(work, "git-brevis", "compress", "a.safetensors", "-o", "b.brevis")

    def others(self):
        return ("a.brevis", "b.brevis")


class Upload(Scenario):
    """To a store in a directory, with stock pointers: git-lfs starts our agent."""

    command = ("git", "lfs", "push", "--all", "origin")

    def prepare(self, folder):
        work, store = os.path.join(folder, "work"), os.path.join(folder, "store")
        self.world.must(".", "git", "init", "-q", "--bare", os.path.join(folder, "remote.git"))
        self.committed(work, attributes="filter=lfs diff=lfs merge=lfs -text")
        self.world.must(work, "git", "remote", "add", "origin", "../remote.git")
        self.world.must(work, "git", "brevis", "store", "init", "../store")
        os.path.exists(store) or sys.exit("set-up: there is no store")
        with open(os.path.join(work, ".lfsconfig"), "w", encoding="utf-8") as file:
            file.write("[lfs]\n\turl = brevis::../store\n")

    def stores(self, folder):
        yield from super().stores(folder)
        yield os.path.join(folder, "store", "objects")

    def check_done(self, folder):
        super().check_done(folder)
        stored = {os.path.basename(path) for path in files_below(os.path.join(folder, "store", "objects"))}
        need(stored == {sha256(data) for data in self.models.values()}, f"the store has {stored}")


class Download(Upload):
    """And back into a clone without objects."""

    command = ("git", "lfs", "pull")

    def prepare(self, folder):
        super().prepare(folder)
        work = os.path.join(folder, "work")
        self.world.must(work, "git", "lfs", "push", "--all", "origin")
        shutil.rmtree(os.path.join(work, ".git", "lfs"))
        for name, data in self.models.items():
            with open(os.path.join(work, name), "w", encoding="utf-8") as file:
                file.write(f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256(data)}\nsize {len(data)}\n")


SCENARIOS = (Add, Readd, AddAlone, Checkout, CheckoutAlone, Write, Compress, Decompress, Upload, Download)
