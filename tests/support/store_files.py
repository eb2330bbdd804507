# SPDX-License-Identifier: Apache-2.0
"""What lies in a store, read past git-brevis: each object that is to be seen must prove."""
import hashlib
import json
import os
import subprocess
import urllib.request


def proves(content, oid):
    """Whether these are the bytes of the object, or an archive of them."""
    if hashlib.sha256(content).hexdigest() == oid:
        return True
    restored = subprocess.run(["git-brevis", "decompress", "-", "-o", "-"], input=content,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return restored.returncode == 0 and hashlib.sha256(restored.stdout).hexdigest() == oid


class StoreFiles:
    """Objects that were seen to prove are not read again, as long as they have not changed."""

    def __init__(self):
        self.good = {}

    def bad(self):
        """A line for each object that does not prove."""
        found = []
        for oid, state in self.oids().items():
            if self.good.get(oid) == state:
                continue
            if proves(self.read(oid), oid):
                self.good[oid] = state
            else:
                found.append(f"{oid} is seen in the store, and does not prove")
        return found


class DirectoryFiles(StoreFiles):
    """Of a store that is a directory, whoever serves it."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def path(self, oid):
        return os.path.join(self.folder, "objects", oid[:2], oid[2:4], oid)

    def oids(self):
        """What there is, and a state of each that changes with it."""
        found = {}
        for folder, _, names in os.walk(os.path.join(self.folder, "objects")):
            for name in names:
                status = os.stat(os.path.join(folder, name))
                found[name] = (status.st_ino, status.st_size, status.st_mtime_ns)
        return found

    def read(self, oid):
        with open(self.path(oid), "rb") as file:
            return file.read()

    def remove(self, oid):
        if os.path.exists(self.path(oid)):
            os.remove(self.path(oid))


class SwiftFiles(StoreFiles):
    """Of a bucket, by Swift's own door; environment: SWIFT_URL (of the store's prefix) and
    SWIFT_TOKEN."""

    def __init__(self):
        super().__init__()
        self.bucket, _, self.prefix = os.environ["SWIFT_URL"].rpartition("/")

    def call(self, method, url):
        request = urllib.request.Request(url, method=method,
                                         headers={"X-Auth-Token": os.environ["SWIFT_TOKEN"]})
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def url(self, oid):
        return f"{self.bucket}/{self.prefix}/objects/{oid[:2]}/{oid[2:4]}/{oid}"

    def oids(self):

        listed = json.loads(self.call("GET", f"{self.bucket}?format=json&prefix={self.prefix}/obj"))
        return {entry["name"].rpartition("/")[2]: (entry["hash"], entry["last_modified"])
                for entry in listed}

    def read(self, oid):
        return self.call("GET", self.url(oid))

    def remove(self, oid):
        if oid in self.oids():
            self.call("DELETE", self.url(oid))
