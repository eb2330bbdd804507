# SPDX-License-Identifier: Apache-2.0
"""What bench-git measures: how each step is set up, run, and checked to have done its work."""

import os
import shutil
import subprocess

from git_sides import MODEL, copy_repository, object_path, objects
from lfs_server import LfsServer

SHARDS = 4


class Step:
    """
    One thing that people wait for. For each run prepare, command and check are called in turn for
    one side; only the command's time counts.
    """

    key = ""  # by which it is chosen
    title = ""
    bars = ()  # see bench_git.Bar

    def __init__(self, stage):
        self.stage = stage

    def prepare(self, side):
        """Makes what the last run left as it was, for the command to do it again."""

    def command(self, side):
        """The arguments, the directory, and more of the environment."""
        raise NotImplementedError

    def check(self, side):
        """Raises ChildProcessError if the command did not do its work."""


def same(one, other):
    if subprocess.run(["cmp", "-s", one, other], check=False).returncode != 0:
        raise ChildProcessError(f"{os.path.basename(one)}: not what was committed")


def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as text:
        return text.read()


class Add(Step):
    key = "add"
    title = "`git add` of a new file"

    def prepare(self, side):
        self.stage.start_over(side)

    def command(self, side):
        return ["git", "add", MODEL], side.path("work"), {}

    def check(self, side):
        side.staged_oid(side.path("work"), MODEL)


class Revise(Step):
    key = "revise"
    title = "`git add` of a revision, a tenth of the tensors changed"

    def prepare(self, side):
        top = side.path("revised")
        shutil.rmtree(top, ignore_errors=True)
        copy_repository(self.stage.committed(side), top)
        os.unlink(os.path.join(top, MODEL))
        os.link(self.stage.revision, os.path.join(top, MODEL))

    def command(self, side):
        return ["git", "add", MODEL], side.path("revised"), {}

    def check(self, side):
        top = side.path("revised")
        oid = side.staged_oid(top, MODEL)
        if oid in side.git(top, "cat-file", "blob", "HEAD:" + MODEL):
            raise ChildProcessError(f"{side.name}: the revision was not added")
        os.unlink(object_path(top, oid))


class Status(Step):
    key = "status"
    title = "`git status` after `touch`, content known"

    def prepare(self, side):
        top = self.stage.committed(side)
        self.before = objects(top)
        os.utime(os.path.join(top, MODEL))
        if os.path.exists(side.path("trace")):
            os.unlink(side.path("trace"))

    def command(self, side):
        trace = {"GIT_BREVIS_TRACE": side.path("trace")}
        return ["git", "status", "--porcelain"], self.stage.committed(side), trace

    def check(self, side):
        text = read_text(side.log)
        if text or objects(self.stage.committed(side)) != self.before:
            raise ChildProcessError(f"{side.name}: git status took the file for changed\n{text}")
        trace = read_text(side.path("trace")) if side.traces else "nothing to see"
        if not trace or "compressed" in trace:
            raise ChildProcessError(f"{side.name}: git status compressed\n{trace}")


class Checkout(Step):
    key = "checkout"
    title = "`git checkout` of the file, object local"

    def prepare(self, side):
        os.unlink(os.path.join(self.stage.committed(side), MODEL))

    def command(self, side):
        return ["git", "checkout", "--", MODEL], self.stage.committed(side), {}

    def check(self, side):
        same(os.path.join(self.stage.committed(side), MODEL), self.stage.base)


class ShardsCheckout(Step):
    key = "shards-checkout"
    title = "`git brevis checkout` / `git lfs checkout`, four shards"
    verb = "checkout"

    def prepare(self, side):
        side.leave_pointers(self.stage.repository(side))

    def command(self, side):
        return [*side.tool, self.verb], self.stage.repository(side), {}

    def check(self, side):
        self.stage.compare(self.stage.repository(side))


class ShardsPull(ShardsCheckout):
    key = "shards-pull"
    title = "`git brevis pull` / `git lfs pull`, four shards, objects local"
    verb = "pull"

    def command(self, side):
        command, top, _ = super().command(side)
        return command, top, self.stage.server_settings()


class Clone(Step):
    key = "clone"
    title = "`git clone`, four shards from an LFS server on the loopback"

    def prepare(self, side):
        shutil.rmtree(side.path("clone"), ignore_errors=True)

    def command(self, side):
        url = "file://" + self.stage.remote(side)
        return ["git", "clone", url, "clone"], side.folder, self.stage.server_settings()

    def check(self, side):
        self.stage.compare(side.path("clone"))
        if side.git(side.path("clone"), "status", "--porcelain"):
            raise ChildProcessError(f"{side.name}: the clone is not clean")
        shutil.rmtree(side.path("clone"))


class ModelStage:
    """One checkpoint, and for each side a repository that holds it."""

    steps = (Add, Revise, Status, Checkout)
    space = 10  # times the size, on disk

    def __init__(self, sides, folder, make):
        self.sides = sides
        self.base = os.path.join(folder, "base.safetensors")
        self.revision = os.path.join(folder, "revision.safetensors")
        self.moved = ""
        self.make = make

    def set_up(self, mib):
        self.make(mib, 1, self.base)
        self.moved = self.make(mib, 1, self.revision, "--revision").strip()
        for side in self.sides:
            side.new_repository("template")

    def start_over(self, side):
        """A repository with the checkpoint in its work tree, and no trace of it in .git."""
        top = side.path("work")
        shutil.rmtree(top, ignore_errors=True)
        copy_repository(side.path("template"), top)
        os.link(self.base, os.path.join(top, MODEL))

    def committed(self, side):
        """A repository with the checkpoint committed: that of the last `add`, if there was one."""
        top = side.path("committed")
        if not os.path.exists(top):
            if not os.path.exists(side.path("work")):
                self.start_over(side)
            side.git(side.path("work"), "add", MODEL)
            side.git(side.path("work"), "commit", "-qm", "Add the checkpoint")
            os.rename(side.path("work"), top)
        return top

    def tear_down(self):
        for side in self.sides:
            for name in ("template", "work", "revised", "committed"):
                shutil.rmtree(side.path(name), ignore_errors=True)
        for path in (self.base, self.revision):
            if os.path.exists(path):
                os.unlink(path)


class ShardsStage:
    """A checkpoint of four files, and an LFS server that has all of their objects."""

    steps = (ShardsCheckout, ShardsPull, Clone)
    space = 28  # times the size of a shard, on disk

    def __init__(self, sides, folder, make):
        self.sides = sides
        self.originals = os.path.join(folder, "shards")
        self.objects = os.path.join(folder, "server")
        self.server = None
        self.make = make

    def names(self):
        return [f"model-{i + 1:05}-of-{SHARDS:05}.safetensors" for i in range(SHARDS)]

    def repository(self, side):
        return side.path("sharded")

    def remote(self, side):
        return side.path("remote.git")

    def set_up(self, mib):
        os.mkdir(self.originals)
        os.mkdir(self.objects)
        for seed, name in enumerate(self.names()):
            self.make(mib, seed + 2, os.path.join(self.originals, name))
        for side in self.sides:
            top = side.new_repository("sharded")
            for name in self.names():
                os.link(os.path.join(self.originals, name), os.path.join(top, name))
            side.git(top, "add", "-A")
            side.git(top, "commit", "-qm", "Add the checkpoint")
            side.git(side.folder, "clone", "-q", "--bare", "sharded", "remote.git")
            side.git(top, "remote", "add", "origin", "file://" + self.remote(side))
            for path in objects(top):
                os.link(path, os.path.join(self.objects, os.path.basename(path)))
        self.server = LfsServer(self.objects)
        self.server.start()

    def server_settings(self):
        settings = {"lfs.url": self.server.url, "lfs.locksverify": "false"}
        env = {"GIT_CONFIG_COUNT": str(len(settings))}
        for i, (key, value) in enumerate(settings.items()):
            env[f"GIT_CONFIG_KEY_{i}"] = key
            env[f"GIT_CONFIG_VALUE_{i}"] = value
        return env

    def compare(self, top):
        for name in self.names():
            same(os.path.join(top, name), os.path.join(self.originals, name))

    def tear_down(self):
        if self.server:
            self.server.stop()
        for side in self.sides:
            for name in ("sharded", "remote.git", "clone"):
                shutil.rmtree(side.path(name), ignore_errors=True)
        shutil.rmtree(self.originals, ignore_errors=True)
        shutil.rmtree(self.objects, ignore_errors=True)
