# SPDX-License-Identifier: Apache-2.0
"""More of what torture.py lets fail: commands that go over several revisions, and those that check."""

import os
import subprocess
import sys

from scenarios import (Add, AddAlone, Checkout, CheckoutAlone, Compress, Decompress, Download, Readd, Scenario, Upload,
                       Write)
from world import content, files_below, need, sha256

SMALL_MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "small_model.py")
POINTER = b"oid sha256:"


def swapped(models):
    names = list(models)
    return {name: models[other] for name, other in zip(names, names[1:] + names[:1])}


def small_model(*words):
    path = words[0]
    subprocess.run([sys.executable, SMALL_MODEL, *words], check=True)
    data = content(path)
    os.unlink(path)
    return data


class TwoSides(Scenario):
    """Base of those that know a work file in two versions."""

    def prepare(self, folder):
        work = os.path.join(folder, "work")
        self.committed(work)
        self.before, self.models = self.models, swapped(self.models)

    def contents(self, name):
        return (self.models[name], self.before[name])


class Switch(TwoSides):
    """git checkout of a branch."""

    command = ("git", "checkout", "-q", "side")
    again = ("git", "checkout", "-q", "-f", "side")  # files that git has written already look changed to it
    git_writes = True

    def prepare(self, folder):
        work = os.path.join(folder, "work")
        super().prepare(folder)
        self.world.must(work, "git", "checkout", "-qb", "side")
        self.write_models(work)
        self.world.must(work, "git", "commit", "-qam", "side")
        self.world.must(work, "git", "checkout", "-q", "main")


class Stash(TwoSides):
    """git stash: a clean of what was changed, a smudge of what was there before."""

    command = ("git", "stash", "-q")
    # Once the stash is there, only what was there before has to come back.
    again = ("sh", "-c", "if git rev-parse -q --verify refs/stash >/dev/null; then git reset -q --hard; else git stash -q; fi")
    git_writes = True

    def prepare(self, folder):
        super().prepare(folder)
        self.write_models(os.path.join(folder, "work"))
        self.before, self.models = self.models, self.before

    def check_work(self, folder, partial=False):
        """What was changed is in the work tree still, or in a stash."""
        super().check_work(folder, partial)
        work = os.path.join(folder, self.work)
        stashes = self.world.run(work, "git", "stash", "list", "--format=%H").stdout.decode().split()
        for name, data in self.before.items():
            path = os.path.join(work, name)
            if os.path.exists(path) and content(path) == data:
                continue
            kept = (self.world.run(work, "git", "cat-file", "--filters", f"{stash}:{name}").stdout for stash in stashes)
            need(data in kept, f"{name}, as it was changed, is nowhere any more")


class Merge(TwoSides):
    """git merge with the merge driver: tensors of both sides come into one archive."""

    command = ("git", "merge", "-q", "side")
    again = ("sh", "-c", "git reset -q --hard && git merge -q side")
    git_writes = True

    def prepare(self, folder):
        work = os.path.join(folder, "work")
        path, name = os.path.join(folder, "model"), "a.safetensors"
        sides = {side: small_model(path, f"x={x}:BF16", f"y={y}:BF16")
                 for side, x, y in (("base", 1, 2), ("ours", 11, 2), ("theirs", 1, 22), ("both", 11, 22))}
        self.models = {name: sides["base"]}
        self.committed(work)
        self.world.must(work, "git", "config", "brevis.mergeTensors", "true")
        for side, branch in (("theirs", "side"), ("ours", "main")):
            self.world.must(work, "git", "checkout", "-q", *(("-b", branch) if branch == "side" else (branch,)))
            self.models = {name: sides[side]}
            self.write_models(work)
            self.world.must(work, "git", "commit", "-qam", side)
        self.before, self.models = self.models, {name: sides["both"]}

    def restorable(self):
        return (*self.models.values(), *self.before.values())


class Import(Scenario):
    """git brevis migrate: raw blobs become archives, in a commit."""

    command = ("git", "brevis", "migrate", "import")

    def prepare(self, folder):
        self.world.must(".", "git", "init", "-q", os.path.join(folder, "work"))
        self.write_models(os.path.join(folder, "work"))
        self.world.must(os.path.join(folder, "work"), "git", "add", "-A")
        self.world.must(os.path.join(folder, "work"), "git", "commit", "-qm", "raw")

    def pointers(self, folder):
        """By name, whether what is committed is a pointer."""
        return {name: POINTER in self.world.run(os.path.join(folder, self.work), "git", "cat-file", "blob", f"HEAD:{name}").stdout
                for name in self.models}

    def check_work(self, folder, partial=False):
        super().check_work(folder, partial)
        need(len(set(self.pointers(folder).values())) == 1, "only a part of the files is in the commit")

    def take_back(self, folder, said):
        """A kill between the names that files, index and branch get leaves the change there, or staged: then it is said what to do."""
        work = os.path.join(folder, self.work)
        if b"; commit it, or take the change back" not in said and b"take them back with `git restore --staged`" not in said:
            return False
        self.world.must(work, "git", "restore", "--staged", ":/")
        for name in (".gitattributes", ".lfsconfig"):
            if self.world.run(work, "git", "cat-file", "-e", f"HEAD:{name}").returncode == 0:
                self.world.must(work, "git", "restore", name)
            elif os.path.exists(os.path.join(work, name)):
                os.unlink(os.path.join(work, name))
        return True

    def check_done(self, folder):
        super().check_done(folder)
        need(all(self.pointers(folder).values()), "the commit is not there")


class Export(Import):
    """And back."""

    command = ("git", "brevis", "migrate", "export")

    def prepare(self, folder):
        work = os.path.join(folder, "work")
        super().prepare(folder)
        self.world.must(work, "git", "brevis", "migrate", "import")

    def check_done(self, folder):
        Scenario.check_done(self, folder)
        need(not any(self.pointers(folder).values()), "the commit is not there")


class Verify(Scenario):
    """git brevis verify. Whatever happens, it says that all is proven only if it is."""

    command = ("git", "brevis", "verify", "--all")
    said = None

    def prepare(self, folder):
        self.committed(os.path.join(folder, "work"))

    def check_said(self, done, learn=False):
        last = done.stdout.splitlines()[-1:]
        if learn:
            self.said = last
        need(done.returncode or last == self.said, "it says something else than without a fault")


class VerifyDamaged(Verify):
    """Where an object is damaged, it never succeeds."""

    code = 1

    def prepare(self, folder):
        work = os.path.join(folder, "work")
        super().prepare(folder)
        self.damaged = min(files_below(os.path.join(work, ".git", "lfs", "objects")))
        self.good = content(self.damaged)
        self.bad = self.good[:-40] + bytes([self.good[-40] ^ 16]) + self.good[-39:]
        os.chmod(self.damaged, 0o644)
        with open(self.damaged, "wb") as file:
            file.write(self.bad)
        self.damaged = os.path.relpath(self.damaged, folder)

    def check_said(self, done, learn=False):
        need(done.returncode, "it says that all is well")

    def check_done(self, folder):
        """Git would look at the work files, which look new, and so mend the object."""
        need(content(os.path.join(folder, self.damaged)) == self.bad, "it has touched the object")


class Fsck(VerifyDamaged):
    """git brevis fsck moves a damaged object out of the way, and loses not a byte of it."""

    command = ("git", "brevis", "fsck")

    def check_objects(self, folder, learn=False):
        if learn:
            self.objects[self.damaged] = sha256(self.bad)
        super().check_objects(folder, learn)
        kept = [*files_below(os.path.join(folder, "work", ".git", "lfs", "bad")), os.path.join(folder, self.damaged)]
        need(any(os.path.exists(path) and content(path) == self.bad for path in kept), "the damaged object is nowhere")

    def check_done(self, folder):
        need(not os.path.exists(os.path.join(folder, self.damaged)), "the damaged object has its name still")


class Heal(Fsck):
    """git add of the file that a damaged object was made of makes it good."""

    command = ("git", "add", "--renormalize", ".")
    code = 0

    def check_said(self, done, learn=False):
        pass

    def check_objects(self, folder, learn=False):
        Scenario.check_objects(self, folder, learn)

    def promised(self, name):
        return (*super().promised(name), *((sha256(self.bad),) if name == self.damaged else ()))

    def check_done(self, folder):
        Scenario.check_done(self, folder)
        need(content(os.path.join(folder, self.damaged)) == self.good, "the object is not what it was")


class Pull(Download):
    """git brevis pull: downloads archives, and writes work files."""

    command = ("git", "brevis", "pull")
    attributes = "filter=brevis diff=brevis merge=brevis -text"


SCENARIOS = (Add, Readd, AddAlone, Checkout, CheckoutAlone, Write, Compress, Decompress, Upload, Download, Pull, Switch,
             Stash, Merge, Import, Export, Verify, VerifyDamaged, Fsck, Heal)
