# SPDX-License-Identifier: Apache-2.0
"""What torture.py lets fail: commands in small repositories, and what has to hold after them."""

import os
import shutil
import subprocess

from world import content, files_below, need, sha256

MARK = b"git-brevis "


class Scenario:
    """A command, the folder it begins in, and what has to hold after it."""

    command = ()
    again = None       # what completes it after a fault, where git does not let it be the same command
    code = 0           # with which it ends
    work = "work"      # the folder, in the copy, where the command runs
    git_writes = False  # git writes work files, and where there is no room it leaves what it wrote
    places = ("work/.git", "work/.git/lfs", "work/.git/lfs/objects", "work/.git/lfs/brevis", "store")
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
        os.makedirs(target, exist_ok=True)
        subprocess.run(["cp", "-a", self.origin + "/.", target], check=True)

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
                    need(found in self.promised(name), f"{path} is not what its name promises")

    def promised(self, name):
        """SHA-256 that an object may have."""
        return (self.objects[name],)

    def restores(self, path, found):
        """Where memory is short an archive may get larger: another one, which must restore a model all the same."""
        out = path + ".restored"
        done = self.world.run(".", "git-brevis", "decompress", "-f", "-o", out, path)
        restored = content(out) if done.returncode == 0 else None
        if os.path.exists(out):
            os.unlink(out)
        return os.path.basename(path) == found and restored in self.restorable()

    def restorable(self):
        return self.models.values()

    def contents(self, name):
        """What a work file may hold, before or after."""
        return (self.models[name],)

    def check_work(self, folder, partial=False):
        work = os.path.join(folder, self.work)
        for name in self.models:
            path = os.path.join(work, name)
            if os.path.exists(path):
                found = content(path)
                whole = found in self.contents(name) or found.startswith(b"version https://git-lfs")
                whole = whole or partial and any(data.startswith(found) for data in self.contents(name))
                need(whole, f"{name} is neither whole nor a pointer")

    def check_leavings(self, folder, killed, by_git=False):
        """by_git: what git and git-lfs themselves leave where they have no room does not count."""
        work = os.path.join(folder, self.work)
        locks = [path for path in files_below(folder) if path.endswith(".lock")]
        if killed:  # who comes next takes over what has this mark
            locks = [path for path in locks if not path.endswith(".brevis.lock") and not content(path).startswith(MARK)]
        need(not locks, f"locked: {locks}")
        known = {".git", ".gitattributes", ".lfsconfig", *self.models, *self.others()}
        beside = [name for name in os.listdir(work) if name not in known]
        if killed:
            foreign = [name for name in beside if "brevis" not in name and not name.startswith(".merge_file_")]
            need(not foreign, f"left behind, and nobody can tell by whom: {foreign}")
            return
        left = [path for path in files_below(os.path.join(work, ".git", "lfs", "tmp"))
                if not by_git or "brevis" in os.path.basename(path)]
        left += [path for path in files_below(os.path.join(folder, "store", "tmp"))]
        left += [path for path in files_below(os.path.join(work, ".git", "lfs", "brevis")) if "/new-" in path]
        left += [name for name in beside if not (by_git and name.startswith(".merge_file_"))]
        need(not left, f"left behind: {left}")

    def others(self):
        return ()

    def take_back(self, folder, said):
        """Does what the command said that is to be done after a kill, before it is run again. False if it said nothing."""
        return False

    def check_said(self, done, learn=False):
        """Of what it says."""

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

    git_writes = True
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
    git_writes = False


class Compress(Scenario):
    """Without git: a file to an archive."""

    command = ("git-brevis", "compress", "a.safetensors", "-f", "-o", "a.brevis")

    def prepare(self, folder):
        self.repository(os.path.join(folder, "work"))
        self.write_models(os.path.join(folder, "work"))

    def others(self):
        return ("a.brevis",)

    def check_work(self, folder, partial=False):
        super().check_work(folder, partial)
        path = os.path.join(folder, self.work, "a.brevis")
        if not os.path.exists(path) or sha256(content(path)) == self.objects.get("a.brevis"):
            return
        # Where memory is too short to prove a program, its tensor is kept as bytes: another good archive.
        restored = os.path.join(folder, "restored")
        done = self.world.run(folder, "git-brevis", "decompress", path, "-f", "-o", restored)
        need(done.returncode == 0 and content(restored) == self.models["a.safetensors"], "the archive is not whole")
        os.unlink(restored)

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
    attributes = "filter=lfs diff=lfs merge=lfs -text"

    def prepare(self, folder):
        work = os.path.join(folder, "work")
        self.world.must(".", "git", "init", "-q", "--bare", os.path.join(folder, "remote.git"))
        self.committed(work, attributes=self.attributes)
        self.world.must(work, "git", "remote", "add", "origin", "../remote.git")
        self.world.must(work, "git", "brevis", "store", "init", "../store")
        with open(os.path.join(work, ".lfsconfig"), "w", encoding="utf-8") as file:
            file.write("[lfs]\n\turl = brevis::../store\n")
        pointers = (self.world.must(work, "git", "cat-file", "blob", f"HEAD:{name}") for name in self.models)
        self.stored = {pointer.decode().split("sha256:")[1].split()[0] for pointer in pointers}

    def stores(self, folder):
        yield from super().stores(folder)
        yield os.path.join(folder, "store", "objects")

    def check_done(self, folder):
        super().check_done(folder)
        stored = {os.path.basename(path) for path in files_below(os.path.join(folder, "store", "objects"))}
        need(stored == self.stored, f"the store has {stored}")


class Download(Upload):
    """And back into a clone without objects."""

    command = ("git", "lfs", "pull")

    def prepare(self, folder):
        super().prepare(folder)
        work = os.path.join(folder, "work")
        self.world.must(work, "git", "lfs", "push", "--all", "origin")
        shutil.rmtree(os.path.join(work, ".git", "lfs"))
        for name in self.models:
            with open(os.path.join(work, name), "wb") as file:
                file.write(self.world.must(work, "git", "cat-file", "blob", f"HEAD:{name}"))
