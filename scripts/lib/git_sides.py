# SPDX-License-Identifier: Apache-2.0
"""The two that are compared: git-brevis and stock git-lfs, each with a home of its own."""

import os
import shutil
import subprocess

MODEL = "model.safetensors"


class Side:
    """A way to keep checkpoints in git. Repositories below its folder share its configuration."""

    def __init__(self, name, tool, installs, folder, path):
        self.name = name
        self.tool = tool  # arguments that start its own command
        self.program = "-".join(tool)  # what its processes are called
        self.traces = self.program == "git-brevis"  # heeds GIT_BREVIS_TRACE
        self.folder = os.path.join(folder, self.program)
        home = os.path.join(self.folder, "home")
        os.makedirs(home)
        self.env = {
            "PATH": path,
            "HOME": home,
            "TMPDIR": folder,
            "LANG": "C.UTF-8",
            "NO_PROXY": "127.0.0.1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": "Bench",
            "GIT_AUTHOR_EMAIL": "bench@example.org",
            "GIT_COMMITTER_NAME": "Bench",
            "GIT_COMMITTER_EMAIL": "bench@example.org",
        }
        self.log = os.path.join(self.folder, "log")
        self.git(folder, "config", "--global", "init.defaultBranch", "main")
        self.git(folder, "config", "--global", "gc.auto", "0")
        for command in installs:
            self.command(folder, command)

    def command(self, cwd, command, **more):
        """Runs what is not measured. Returns its output."""
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**self.env, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
        )
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace")[-2000:]
            raise ChildProcessError(f"{' '.join(command)}: exit code {done.returncode}\n{said}")
        return done.stdout.decode(errors="replace")

    def git(self, cwd, *arguments, **more):
        return self.command(cwd, ["git", *arguments], **more)

    def path(self, name):
        return os.path.join(self.folder, name)

    def new_repository(self, name):
        """A repository that keeps checkpoints this way; says where it is."""
        top = self.path(name)
        self.git(self.folder, "init", "-q", name)
        self.command(top, [*self.tool, "track", "*.safetensors"])
        self.git(top, "add", "-A")
        self.git(top, "commit", "-qm", "Track checkpoints")
        return top

    def staged_oid(self, top, name):
        """The SHA-256 of the object that the index has for a file, after a look at the object."""
        pointer = self.git(top, "cat-file", "blob", ":" + name)
        oid = next((x[11:] for x in pointer.splitlines() if x.startswith("oid sha256:")), None)
        if oid is None or not os.path.exists(object_path(top, oid)):
            raise ChildProcessError(f"{self.name}: git add left no object for {name}")
        return oid

    def leave_pointers(self, top):
        """Replaces the checkpoints in the work tree by their pointers, known to the index."""
        for name in os.listdir(top):
            if name.endswith(".safetensors"):
                os.unlink(os.path.join(top, name))
        skip = {"GIT_LFS_SKIP_SMUDGE": "1", "GIT_BREVIS_SKIP_SMUDGE": "1"}
        self.git(top, "checkout", "--", ".", **skip)
        for name in os.listdir(top):
            if name.endswith(".safetensors") and os.stat(os.path.join(top, name)).st_size > 1024:
                raise ChildProcessError(f"{self.name}: skipping smudge left no pointer")


def object_path(top, oid):
    return os.path.join(top, ".git", "lfs", "objects", oid[:2], oid[2:4], oid)


def objects(top):
    """The paths of all LFS objects of a repository."""
    found = []
    for folder, _, names in os.walk(os.path.join(top, ".git", "lfs", "objects")):
        found += [os.path.join(folder, name) for name in names]
    return sorted(found)


def copy_repository(source, target):
    """Copies a repository; its LFS objects, which never change, and its checkpoints are linked."""

    def copy(old, new):
        if "/lfs/objects/" in old or old.endswith(".safetensors"):
            os.link(old, new)
        else:
            shutil.copy2(old, new)

    shutil.copytree(source, target, symlinks=True, copy_function=copy)


def both_sides(folder, build):
    path = build + os.pathsep + os.environ.get("PATH", os.defpath)
    lfs = ["git", "lfs", "install", "--skip-repo"]
    brevis = ["git", "brevis", "install", "--skip-repo"]
    return (
        Side("git-brevis", ["git", "brevis"], [lfs, brevis], folder, path),
        Side("git-lfs", ["git", "lfs"], [lfs], folder, path),
    )
