# SPDX-License-Identifier: Apache-2.0
"""Archive sizes of the corpus as a table fit to be committed; started by scripts/sizes."""

import argparse
import concurrent.futures
import difflib
import os
import re
import subprocess
import sys
import tempfile

PRESETS = ("fast", "default", "best")
PEERS = {"zstd -19": ["zstd", "-19", "-q", "-c"], "xz -6": ["xz", "-6", "-T1", "-c"]}
COLUMNS = ("original", *PRESETS, *PEERS)

INTRODUCTION = """\
# Archive sizes

Bytes of each file of the corpus and of what is made of it: archives of `git brevis compress` with each preset, and what `zstd -19` and `xz -6` make of the same
file. The last column is what the default preset saves. `scripts/sizes` writes this page; `scripts/sizes --check docs/SIZES.md` says whether it still holds, so that every
change of a ratio shows as a difference of lines.

"""


class Failure(Exception):
    """Something the user has to know; the message is the whole line."""


def say(text):
    print(f"sizes: {text}", file=sys.stderr, flush=True)


def default_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "git-brevis", "corpus")


def inputs(paths):
    """The files, by name: those named, and the safetensors files of the folders named."""
    files = {}
    for path in paths:
        found = [path]
        if os.path.isdir(path):
            found = [os.path.join(path, n) for n in os.listdir(path) if n.endswith(".safetensors")]
        for file in found:
            name = os.path.basename(file)
            if files.setdefault(name, os.path.abspath(file)) != os.path.abspath(file):
                raise Failure(f"two files are called {name}")
    if not files:
        raise Failure(f"no safetensors file in {', '.join(paths)}: run scripts/corpus first")
    return dict(sorted(files.items()))


def archive_size(binary, preset, file):
    """Size of the archive with a preset, made where no configuration and no prior is."""
    with tempfile.TemporaryDirectory(prefix="brevis-sizes-") as folder:
        archive = os.path.join(folder, "archive")
        run = subprocess.run(
            [binary, "compress", "--preset", preset, "-o", archive, file],
            cwd=folder,
            env={**os.environ, "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if run.returncode:
            raise Failure(f"{file}, preset {preset}: {run.stderr.strip() or run.returncode}")
        return os.path.getsize(archive)


def peer_size(command, file):
    """Bytes that another program writes to its standard output."""
    size = 0
    with subprocess.Popen([*command, file], stdout=subprocess.PIPE) as process:
        while block := process.stdout.read(1 << 20):
            size += len(block)
    if process.returncode:
        raise Failure(f"{file}: {' '.join(command)} failed")
    return size


def parse(text):
    """The rows of a table that format_table made: sizes by column, by file name."""
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == len(COLUMNS) + 2 and cells[1].replace(",", "").isdigit():
            sizes = [int(cell.replace(",", "")) for cell in cells[1 : 1 + len(COLUMNS)]]
            rows[cells[0]] = dict(zip(COLUMNS, sizes))
    return rows


def measure(binary, files, earlier):
    """
    The rows for files. Other programs are slow and do not change with this one: what an earlier
    table has of them stays, if the file's size is the same.
    """
    rows = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        peers = {}
        for name, file in files.items():
            rows[name] = {"original": os.path.getsize(file)}
            known = earlier.get(name, {})
            for peer, command in PEERS.items():
                if known.get("original") == rows[name]["original"]:
                    rows[name][peer] = known[peer]
                else:
                    peers[name, peer] = pool.submit(peer_size, command, file)
        # Archives one at a time: the encoder uses all processors by itself.
        for name, file in files.items():
            for preset in PRESETS:
                rows[name][preset] = archive_size(binary, preset, file)
            say(f"{name}: " + ", ".join(f"{p} {rows[name][p]:,}" for p in PRESETS))
        for (name, peer), future in peers.items():
            rows[name][peer] = future.result()
    return rows


def saved(row):
    """What the default preset saves, in per cent with two places, rounded towards less."""
    hundredths = (row["original"] - row["default"]) * 10000 // max(row["original"], 1)
    sign = "-" if hundredths < 0 else ""
    return f"{sign}{abs(hundredths) // 100}.{abs(hundredths) % 100:02} %"


def format_table(rows):
    total = {c: sum(row[c] for row in rows.values()) for c in COLUMNS}
    lines = [["file", *COLUMNS, "saved"]]
    for name, row in [*rows.items(), ("all", total)]:
        lines.append([name, *(f"{row[c]:,}" for c in COLUMNS), saved(row)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = [
        "| " + " | ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) + " |"
        for line in lines
    ]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    text.insert(1, "| " + " | ".join(rule) + " |")
    return INTRODUCTION + "\n".join(text) + "\n"


def broken_promises(rows):
    """What docs promise of the presets, where it does not hold."""
    order = (("default", "fast"), ("best", "default"), ("default", "zstd -19"), ("best", "xz -6"))
    return [
        f"{name}: {larger} is larger than {limit}"
        for name, row in rows.items()
        for larger, limit in order
        if row[larger] > row[limit]
    ]


def compare(expected, actual):
    """Prints the lines that differ; returns whether none does."""
    lines = difflib.unified_diff(
        expected.splitlines(), actual.splitlines(), "committed", "measured", lineterm="", n=0
    )
    # Numbers of lines say nothing here.
    different = [line for line in lines if not re.match(r"@@|---|\+\+\+", line)]
    print("\n".join(different), end="\n" if different else "")
    return not different


def arguments():
    parser = argparse.ArgumentParser(
        prog="sizes",
        description="Print a table of archive sizes: each preset, and other compressors.",
        epilog="Exit code: 1 if --check finds a difference, or something failed.",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        default=[default_folder()],
        metavar="FILE|FOLDER",
        help="default: the folder of scripts/corpus",
    )
    parser.add_argument("--bin", default="build/git-brevis", help="default: %(default)s")
    parser.add_argument(
        "--from",
        dest="earlier",
        metavar="TABLE",
        help="take what other compressors make of a file from this table, if it has it",
    )
    parser.add_argument(
        "--check",
        metavar="TABLE",
        help="print the lines of TABLE that no longer hold, and promises of the presets that "
        "are broken; implies --from TABLE",
    )
    options = parser.parse_args()
    options.earlier = options.earlier or options.check
    return options


def main():
    options = arguments()
    binary = os.path.abspath(options.bin)
    if not os.access(binary, os.X_OK):
        raise Failure(f"{options.bin} cannot be run: make it, or name one with --bin")
    earlier = ""
    if options.earlier:
        with open(options.earlier, encoding="utf-8") as f:
            earlier = f.read()
    rows = measure(binary, inputs(options.paths), parse(earlier))
    table = format_table(rows)
    if not options.check:
        print(table, end="")
        return 0
    broken = broken_promises(rows)
    for line in broken:
        print(line)
    return 0 if compare(earlier, table) and not broken else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        say(failure)
        sys.exit(1)
    except OSError as error:
        say(f"{error.filename}: {error.strerror}")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
