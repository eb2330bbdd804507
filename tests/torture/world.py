# SPDX-License-Identifier: Apache-2.0
"""How torture.py runs a command of which one call fails, or a signal comes to it, and what it says of that."""

import collections
import glob
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys

FAULTS = ("ENOSPC", "EDQUOT", "EIO", "EINTR", "EMFILE", "EROFS", "EAGAIN", "EACCES", "short", "nomem",
          "KILL", "TERM", "INT")  # as inject.c has them
# A signal at a system call, whoever makes it: the loader's and libraries' count too.
SYSCALLS = {"syscall-KILL": "KILL", "syscall-TERM": "TERM", "syscall-INT": "INT"}
KILLS = ("KILL", "syscall-KILL")
SIGNALS = ("KILL", "TERM", "INT", *SYSCALLS)
PATIENCE = 300  # seconds; a command that takes longer hangs
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
        done = subprocess.run(("timeout", "-k", "10", str(PATIENCE), *command), cwd=folder, env={**self.env, **(env or {})},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        need(done.returncode != 124, f"{' '.join(command)} hangs")
        return done

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
        if fault in SYSCALLS:
            env.update(TORTURE_SIGNAL=SYSCALLS[fault], PATH=self.traced + ":" + self.env["PATH"])
            done = self.run(folder, *command, env=env)
            return done, *self.traces(counter, SYSCALLS[fault])
        done = self.run(folder, *command, env={**env, "LD_PRELOAD": self.library})
        hits, *calls = COUNTERS.unpack(content(counter))
        return done, dict(zip(FAULTS, calls)), hits

    def trace(self, binaries):
        """A git-brevis that gets TORTURE_SIGNAL at the system call TORTURE_AT: NAME:WHEN. 0: none, only count."""
        self.traced = os.path.join(self.place, "traced")
        os.mkdir(self.traced)
        with open(os.path.join(self.traced, "git-brevis"), "w", encoding="utf-8") as file:
            file.write(f"""#!/bin/sh
                set -- -- {binaries}/git-brevis "$@"
                [ "$TORTURE_AT" = 0 ] || set -- -e inject="${{TORTURE_AT%:*}}:signal=$TORTURE_SIGNAL:when=${{TORTURE_AT#*:}}" "$@"
                exec strace -o "$TORTURE_STATE.$$" -e signal=all "$@"
                """)
            os.chmod(file.fileno(), 0o755)

    def alone(self, repository):
        """The user's configuration once more, with a filter of one file only."""
        alone = os.path.join(repository, ".git", "alone")
        shutil.copy(os.path.join(self.env["HOME"], ".gitconfig"), alone)
        self.must(repository, "git", "config", "--file", alone, "--unset", "filter.brevis.process")

    def traces(self, counter, signal):
        """System calls of the process that made most, by name and number of that name, and how many got the signal."""
        calls, hits = [], 0
        for path in glob.glob(glob.escape(counter) + ".*"):
            text = content(path)
            hits += (b"+++ killed by SIGKILL +++" if signal == "KILL" else b"si_code=SI_KERNEL} ---") in text
            names = re.findall(r"^(\w+)\(", text.decode(errors="replace"), re.M)
            if len(names) > len(calls):
                seen = collections.Counter()
                calls = [f"{name}:{seen.update([name]) or seen[name]}" for name in names]
            os.unlink(path)
        return dict.fromkeys(SYSCALLS, calls), hits
