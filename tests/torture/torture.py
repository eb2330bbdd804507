#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lets one call of git-brevis after the other fail, under real git, and counts what is lost.

    torture.py [options]

    --bin DIR          where git-brevis is (build)
    --library FILE     inject.c, compiled
    --dir DIR          for what it works with (a directory of its own below $TMPDIR)
    --injections N     of each scenario and fault at most N calls, drawn by the seed (0: all)
    --seed N           (1)
    --jobs N           at once (the processors)
    --only WORD        only what has the word in "SCENARIO FAULT"
    --resume FILE      notes there what is done, and does not do it again

A scenario is a command in a small repository. First it runs with nothing but counting; then with
one call that fails, or at which a signal comes, in a fresh copy of the repository. After each:

  - every object under its final name is what its name promises, here and in the store;
  - work files are whole, pointers, or not there;
  - nothing else is left: no lock, and unless the process was killed no temporary file;
  - the same command, run again, succeeds, and all is as if nothing had been.

Output is TAP; at its end stands how many injections there were, and losses.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKPOINTS = os.path.join(HERE, "..", "support", "small_checkpoints.py")
ERRORS = ("ENOSPC", "EDQUOT", "EIO", "EINTR", "EMFILE", "EROFS", "EACCES", "short", "nomem")
SIGNALS = ("KILL", "TERM", "INT")
TRANSPARENT = ("EINTR", "short")  # these must not even be noticed


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
            file.write(bytes(16))
        done = self.run(folder, *command, env={"LD_PRELOAD": self.library, "TORTURE_STATE": counter,
                                               "TORTURE_FAULT": fault, "TORTURE_AT": str(at)})
        calls, hits = struct.unpack("<QQ", content(counter))
        return done, calls, hits


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
                need(name in self.objects, f"{path} is no object of this scenario")
                need(found == self.objects[name], f"{path} is not what its name promises")

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


SCENARIOS = (Add, Readd, Checkout, Write, Compress, Decompress, Upload, Download)


# ---- one injection ---------------------------------------------------------------------------------

def attempt(scenario, folder, fault, at):
    """Returns whether the call was hit. Raises Lost."""
    world, work = scenario.world, os.path.join(folder, scenario.work)
    scenario.copy(folder)
    done, _, hits = world.injected(work, folder + ".count", fault, at, scenario.command)
    try:
        scenario.check_objects(folder)
        scenario.check_work(folder)
        scenario.check_leavings(folder, killed=fault == "KILL")
        need(fault not in TRANSPARENT or done.returncode == 0, "it failed, though nothing is wrong")
        if done.returncode == 0 and fault not in SIGNALS:
            scenario.check_done(folder)
        again = world.run(work, *scenario.command)
        need(again.returncode == 0, f"run again, it fails: {again.stdout.decode(errors='replace')}")
        scenario.check_objects(folder)
        scenario.check_done(folder)
    except Lost as lost:
        raise Lost(f"{lost}\n{done.stdout.decode(errors='replace')[:2000]}") from None
    return hits


class Torture:
    def __init__(self, options, world, models):
        self.options, self.world = options, world
        self.scenarios = [kind(world, dict(models)) for kind in SCENARIOS]
        self.count = self.failed = self.injections = self.losses = 0
        self.done = {}
        if options.resume and os.path.exists(options.resume):
            self.done = json.loads(content(options.resume))

    def calls(self, scenario, fault):
        """How many calls of the scenario this fault can hit."""
        folder = os.path.join(self.world.place, "first")
        scenario.copy(folder)
        done, calls, _ = self.world.injected(os.path.join(folder, scenario.work), folder + ".count", fault, 0, scenario.command)
        if done.returncode:
            sys.exit(f"{scenario.name} fails without a fault: {done.stdout.decode(errors='replace')}")
        scenario.check_objects(folder, learn=True)
        scenario.check_done(folder)
        return calls

    def chosen(self, scenario, fault, calls):
        numbers = list(range(1, calls + 1))
        limit = self.options.injections
        if limit and calls > limit:
            numbers = sorted(random.Random(f"{self.options.seed} {scenario.name} {fault}").sample(numbers, limit))
        return numbers

    def one(self, scenario, fault, at):
        folder = os.path.join(self.world.place, f"job-{os.getpid()}-{scenario.name}-{fault}-{at}")
        try:
            return attempt(scenario, folder, fault, at), None
        except Lost as lost:
            return 1, f"{scenario.name} {fault} at call {at}: {lost}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if os.path.exists(folder + ".count"):
                os.unlink(folder + ".count")

    def torture(self, scenario, fault):
        key = f"{scenario.name} {fault}"
        calls = self.calls(scenario, fault)
        numbers = self.chosen(scenario, fault, calls)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            results = list(pool.map(lambda at: self.one(scenario, fault, at), numbers))
        hits = sum(bool(hit) for hit, _ in results)
        lost = [text for _, text in results if text]
        # How often a pipe is read differs from run to run, so the last numbers may not be reached.
        if hits * 2 < len(numbers):
            lost.append(f"only {hits} of {len(numbers)} calls were reached")
        self.report(key, calls, hits, lost)

    def report(self, key, calls, hits, lost):
        self.count += 1
        self.injections += hits
        self.losses += len(lost)
        self.failed += bool(lost)
        print(f"{'not ok' if lost else 'ok'} {self.count} - {key}: {hits} injections of {calls} calls, {len(lost)} losses", flush=True)
        for text in lost[:5]:
            print("\n".join("#   " + line for line in text.splitlines()[:12]), flush=True)
        if self.options.resume and not lost:
            self.done[key] = hits
            with open(self.options.resume + ".new", "w", encoding="utf-8") as file:
                json.dump(self.done, file)
            os.replace(self.options.resume + ".new", self.options.resume)

    def run(self):
        print(f"# torture seed {self.options.seed}")
        for scenario in self.scenarios:
            for fault in ERRORS + SIGNALS:
                key = f"{scenario.name} {fault}"
                if self.options.only and self.options.only not in key:
                    continue
                if key in self.done:
                    self.injections += self.done[key]
                    continue
                self.torture(scenario, fault)
        print(f"# {self.injections} injections, {self.losses} losses")
        print(f"1..{self.count}")
        return 1 if self.failed or not self.injections else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--bin", default="build")
    parser.add_argument("--library", required=True)
    parser.add_argument("--dir")
    parser.add_argument("--injections", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only")
    parser.add_argument("--resume")
    options = parser.parse_args()
    place = tempfile.mkdtemp(prefix="brevis-torture-", dir=options.dir)
    try:
        subprocess.run([sys.executable, CHECKPOINTS, os.path.join(place, "models"), "2"], check=True)
        models = {f"{name}.safetensors": content(os.path.join(place, "models", str(i + 1))) for i, name in enumerate("ab")}
        sys.exit(Torture(options, World(place, options.bin, options.library), models).run())
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
