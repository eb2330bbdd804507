# SPDX-License-Identifier: Apache-2.0
"""Measures pushes to stores, beside stock git-lfs; started by scripts/bench-stores."""

import argparse
import contextlib
import dataclasses
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import timed
from bench_git import MIB, parse_runs, parse_size, print_machine, size_name
from git_sides import MODEL, Side

SMALL_FILES = 1000
SMALL_BYTES = (100, 20000)  # of each

# Ways to push.
STORE, AS_IT_IS, LFS = "git-brevis", "git-brevis, as it is", "git-lfs"


@dataclasses.dataclass(frozen=True)
class Step:
    """A push in one way beside the same in another."""

    key: str
    title: str
    store: str  # a kind of store
    content: str  # "model" or "small"
    beside: str
    bar: float  # our wall time over theirs, at most


STEPS = (
    Step("directory", "push to a directory of another file system", "directory", "model", LFS, 1.5),
    Step("sftp", "push over sftp", "sftp", "model", AS_IT_IS, 0.8),
    Step("s3", "push over S3", "s3", "model", AS_IT_IS, 0.8),
    Step("small", f"push of {SMALL_FILES} small objects to a directory", "directory", "small", LFS,
         1.5),
)


def say(text):
    print(f"bench-stores: {text}", file=sys.stderr, flush=True)


# ---- stores ------------------------------------------------------------------------------------------


class Directory:
    """A store that is a directory, on a file system that is not the repositories'."""

    config = {}
    env = {}

    def __init__(self, folder):
        self.folder = folder
        self.url = "file://" + os.path.join(folder, "store")

    def empty(self):
        shutil.rmtree(os.path.join(self.folder, "store"), ignore_errors=True)

    def stop(self):
        pass


class Server:
    """A store behind a server on loopback; see store-server."""

    def __init__(self, kind, folder, build):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "store-server")
        env = {**os.environ, "TMPDIR": folder, "BREVIS_TEST_BIN": build}
        self.process = subprocess.Popen([program, kind], stdin=subprocess.PIPE, text=True, env=env,
                                        stdout=subprocess.PIPE)
        self.config, self.env = {}, {}
        said = []
        while (line := self.process.stdout.readline().rstrip("\n")) != "ready":
            if not line and self.process.poll() is not None:
                raise OSError(f"no {kind} server: " + "\n".join(said))
            said.append(line)
            what, _, rest = line.partition(" ")
            if what == "url":
                self.url = rest
            elif what == "config":
                key, _, value = rest.partition(" ")
                self.config[key] = value
            elif what == "env":
                key, _, value = rest.partition("=")
                self.env[key] = value

    def empty(self):
        self.process.stdin.write("empty\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


# ---- measuring ---------------------------------------------------------------------------------------


class Bench:
    """The measurements of one invocation."""

    def __init__(self, options, folder, other, build):
        self.options = options
        self.folder = folder
        self.other = other
        self.build = build
        path = build + os.pathsep + os.environ.get("PATH", os.defpath)
        installs = (["git", "lfs", "install", "--skip-repo"],
                    ["git", "brevis", "install", "--skip-repo"])
        self.side = Side(LFS, ["git", "lfs"], installs, folder, path)
        self.sides = (self.side,)
        self.timings = {}  # by (step, way): of each run

    def repository(self, content):
        """Commits what is pushed, with stock pointers."""
        top = self.side.path(content)
        if os.path.exists(top):
            return top
        self.side.new_repository(content)
        if content == "model":
            program = os.path.join(self.build, "make-checkpoint")
            subprocess.run([program, "--seed", "1", str(self.options.size),
                            os.path.join(top, MODEL)], check=True, stdout=subprocess.DEVNULL)
        else:
            rng = random.Random(1)
            for number in range(SMALL_FILES):
                name = os.path.join(top, f"{number}.safetensors")
                with open(name, "wb") as file:
                    file.write(rng.randbytes(rng.randint(*SMALL_BYTES)))
        self.side.git(top, "add", "-A")
        self.side.git(top, "commit", "-qm", "What is pushed")
        self.side.git(top, "config", "lfs.locksverify", "false")
        return top

    def prepare(self, top, store, way):
        """A remote and a store that know nothing, and a clone that does not know that."""
        git = self.side.git
        remote = os.path.join(self.other, "remote.git")
        shutil.rmtree(remote, ignore_errors=True)
        shutil.rmtree(os.path.join(top, ".git", "lfs", "brevis"), ignore_errors=True)
        git(self.folder, "init", "-q", "--bare", remote)
        for command in (("remote", "remove", "origin"), ("config", "--remove-section", "lfs"),
                        ("config", "--remove-section", "brevis.store")):
            with contextlib.suppress(ChildProcessError):
                git(top, *command)
        git(top, "config", "lfs.locksverify", "false")
        git(top, "remote", "add", "origin", "file://" + remote)
        store.empty()
        if way == LFS:
            return
        for key, value in store.config.items():
            git(top, "config", key, value)
        self.side.command(top, ["git", "brevis", "store", "init", store.url], **store.env)
        # What it wrote for other clones would be in the way of git-lfs.
        os.unlink(os.path.join(top, ".lfsconfig"))
        git(top, "config", "lfs.url", "brevis::" + store.url)
        if way == AS_IT_IS:
            git(top, "config", "brevis.store.compress", "false")

    def check(self, top, store, way, count):
        """Raises ChildProcessError if a push has sent less than all."""
        if way == LFS:
            objects = os.path.join(self.other, "remote.git", "lfs", "objects")
            found = sum(len(names) for _, _, names in os.walk(objects))
        else:
            listed = self.side.command(top, ["git", "brevis", "store", "ls"], **store.env)
            found = len(listed.splitlines())
        if found != count:
            raise ChildProcessError(f"{way}: {found} of {count} objects arrived")

    def one_run(self, step, top, store, way):
        self.prepare(top, store, way)
        os.sync()
        timing = timed.run(["git", "push", "-q", "origin", "main"], top,
                           {**self.side.env, **store.env}, self.side.log)
        self.check(top, store, way, SMALL_FILES if step.content == "small" else 1)
        return timing

    def measure(self, step):
        top = self.repository(step.content)
        store = Directory(self.other) if step.store == "directory" \
            else Server(step.store, self.folder, self.build)
        try:
            for run in range(self.options.runs + 1):
                for way in (STORE, step.beside):
                    what = f"run {run} of {self.options.runs}" if run else "warming up"
                    say(f"{step.key}: {way}: {what}")
                    timing = self.one_run(step, top, store, way)
                    if run:
                        self.timings.setdefault((step.key, way), []).append(timing)
            store.empty()
        finally:
            store.stop()

    # ---- the table ----

    def median(self, step, way, figure):
        runs = self.timings[step.key, way]
        if figure == "memory":
            return max(max(t.peaks.get("git-brevis", 0), t.peaks.get("git-lfs", 0))
                       for t in runs) / MIB
        return statistics.median(getattr(t, figure) for t in runs)

    def print_table(self, steps):
        print("\n| step | size | ours: wall s | CPU s | MiB | beside | wall s | CPU s | MiB |"
              " ratio, wall | at most | met |")
        print("|---|---|--:|--:|--:|---|--:|--:|--:|--:|--:|---|")
        for step in steps:
            size = "100 B to 20 kB" if step.content == "small" else size_name(self.options.size)
            figures = [[format(self.median(step, way, figure), form)
                        for figure, form in (("wall", ".2f"), ("cpu", ".2f"), ("memory", ".0f"))]
                       for way in (STORE, step.beside)]
            ratio = self.median(step, STORE, "wall") / self.median(step, step.beside, "wall")
            met = "yes" if ratio <= step.bar else "**no**"
            print(f"| {step.title} | {size} | {' | '.join(figures[0])} | {step.beside} | "
                  f"{' | '.join(figures[1])} | {ratio:.2f} | {step.bar:g} | {met} |")

    def print_runs(self, steps):
        print("\nWall seconds of each run, in their order:\n")
        for step in steps:
            for way in (STORE, step.beside):
                runs = " ".join(f"{t.wall:.2f}" for t in self.timings[step.key, way])
                print(f"- {step.key}, {way}: {runs}")


# ---- the command line --------------------------------------------------------------------------------


def parse_steps(text):
    keys = {step.key: step for step in STEPS}
    for key in text.split(","):
        if key not in keys:
            raise argparse.ArgumentTypeError(f"{key} is none of {', '.join(keys)}")
    return [keys[key] for key in text.split(",")]


def parse_options():
    parser = argparse.ArgumentParser(
        prog="bench-stores",
        description="Measures pushes to stores, beside stock git-lfs and beside what stores a "
        "checkpoint as it is, and prints it as Markdown. Servers are started on loopback, with "
        "throw-away keys; nothing of the user's configuration takes part.",
    )
    parser.add_argument("--size", type=parse_size, metavar="SIZE", default=1024,
                        help="of the checkpoint: 64M, 4G; default 1G")
    parser.add_argument("--runs", type=parse_runs, default=5, help="default 5")
    parser.add_argument("--steps", type=parse_steps, default=list(STEPS), metavar="STEP,...",
                        help="some of: " + ", ".join(step.key for step in STEPS))
    parser.add_argument("--dir", help="where to work, in a directory that is removed at the end; "
                        "default: TMPDIR, or /tmp")
    parser.add_argument("--other", default="/dev/shm", help="the same, of another file system, for "
                        "the store that is a directory; default: /dev/shm")
    return parser.parse_args()


def main():
    options = parse_options()
    load = os.getloadavg()[0]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    with tempfile.TemporaryDirectory(prefix="bench-stores.", dir=options.dir) as folder, \
            tempfile.TemporaryDirectory(prefix="bench-stores.", dir=options.other) as other:
        if os.stat(folder).st_dev == os.stat(other).st_dev:
            say("--dir and --other are on one file system: git-lfs only makes links there")
        bench = Bench(options, os.path.realpath(folder), os.path.realpath(other),
                      os.environ["BENCH_BUILD"])
        print_machine(bench, load, "Pushes to stores, with stock pointers")
        for step in options.steps:
            bench.measure(step)
        bench.print_table(options.steps)
        bench.print_runs(options.steps)


if __name__ == "__main__":
    timed.run_program(main, say)
