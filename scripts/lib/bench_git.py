# SPDX-License-Identifier: Apache-2.0
"""Measures what people wait for in git, beside stock git-lfs; started by scripts/bench-git."""

import argparse
import dataclasses
import math
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import timed
from git_sides import both_sides
from git_steps import ModelStage, ShardsStage

MIB = 1 << 20
OURS, LFS = "git-brevis", "git-lfs"
FEATURES = ("avx2", "avx512bw", "sha_ni", "asimd", "sha2")


@dataclasses.dataclass(frozen=True)
class Bar:
    """What a step may take: a figure of ours, at most limit times a figure of someone's step."""

    figure: str  # wall, cpu or memory
    limit: float  # of memory: MiB
    side: str = LFS
    step: str = ""  # the same one


BARS = {
    "add": (Bar("wall", 0.35), Bar("cpu", 0.5)),
    "revise": (Bar("wall", 0.5, OURS, "add"),),
    "status": (Bar("wall", 0.25),),
    "checkout": (Bar("wall", 1),),
    "shards-checkout": (Bar("wall", 0.25), Bar("memory", 512)),
    "shards-pull": (Bar("wall", 0.25, LFS, "shards-checkout"), Bar("memory", 512)),
    "clone": (Bar("wall", 1),),
}


def say(text):
    print(f"bench-git: {text}", file=sys.stderr, flush=True)


def size_name(mib):
    return f"{mib // 1024} GiB" if mib % 1024 == 0 else f"{mib} MiB"


class Bench:
    """The measurements of one invocation."""

    def __init__(self, options, folder, build):
        self.options = options
        self.folder = folder
        self.build = build
        self.sides = both_sides(folder, build)
        self.timings = {}  # by (size in MiB, step, side): of each run
        self.rows = []  # (size in MiB, step), in the order of the table

    def make(self, mib, seed, path, *more):
        program = os.path.join(self.build, "make-checkpoint")
        command = [program, "--seed", str(seed), *more, str(mib), path]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def stage(self, kind, mib):
        wanted = [step for step in kind.steps if step.key in self.options.steps]
        if not wanted:
            return
        needed = kind.space * mib * MIB
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise OSError(
                f"{size_name(mib)} needs {needed / 2**30:.1f} GiB of disk, {free / 2**30:.1f} are "
                "free: name a larger directory with --dir, or a smaller --size or --shard"
            )
        stage = kind(self.sides, self.folder, self.make)
        try:
            say(f"{size_name(mib)}: making the files")
            stage.set_up(mib)
            if kind is ModelStage:
                print(f"- the revision of {size_name(mib)} changes {stage.moved}", flush=True)
            for step in wanted:
                self.measure(step(stage), mib)
        finally:
            stage.tear_down()

    def measure(self, step, mib):
        self.rows.append((mib, step))
        for run in range(self.options.runs + 1):
            for side in self.sides:
                what = f"run {run} of {self.options.runs}" if run else "warming up"
                say(f"{size_name(mib)}: {step.key}: {side.name}: {what}")
                timing = self.one_run(step, side)
                if run:
                    self.timings.setdefault((mib, step.key, side.name), []).append(timing)

    def one_run(self, step, side):
        step.prepare(side)
        command, cwd, more = step.command(side)
        # What earlier runs wrote must not be written to disk at this one's cost.
        os.sync()
        timing = timed.run(command, cwd, {**side.env, **more}, side.log)
        step.check(side)
        return timing

    # ---- the table ----

    def median(self, mib, step, side, figure):
        runs = self.timings[mib, step, side]
        if figure == "memory":
            program = next(s.program for s in self.sides if s.name == side)
            return max(t.peaks.get(program, 0) for t in runs) / MIB
        return statistics.median(getattr(t, figure) for t in runs)

    def judge(self, bar, mib, step):
        """Says what was measured against a bar, the bar, and whether it is met."""
        ours = self.median(mib, step, OURS, bar.figure)
        if bar.figure == "memory":
            return f"{ours:.0f} MiB", f"{bar.limit:.0f} MiB", 0 < ours <= bar.limit
        theirs = self.median(mib, bar.step or step, bar.side, bar.figure)
        whose = {LFS: LFS, OURS: "our own"}[bar.side]
        of = f"× {whose} {bar.step or ''}".rstrip() + f" {bar.figure}"
        ratio = ours / theirs if theirs else math.inf
        return f"{ratio:.2f} {of}", f"{bar.limit:g}", ratio <= bar.limit

    def print_table(self):
        print(f"\n| step | size | {OURS}: wall s | CPU s | MiB | {LFS}: wall s | CPU s | MiB |"
              " ratio, wall | ratio, CPU | bar: measured / at most / met |")
        print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|")
        for mib, step in self.rows:
            cells = []
            for side in (OURS, LFS):
                for figure, form in (("wall", ".2f"), ("cpu", ".2f"), ("memory", ".0f")):
                    value = self.median(mib, step.key, side, figure)
                    # A process can be too short to be seen.
                    cells.append(format(value, form) if value else "–")
            for figure in ("wall", "cpu"):
                ours, theirs = (self.median(mib, step.key, s, figure) for s in (OURS, LFS))
                cells.append(f"{ours / theirs:.2f}" if theirs else "–")
            judged = []
            for bar in BARS[step.key]:
                measured, limit, met = self.judge(bar, mib, step.key)
                judged.append(f"{measured} / {limit} / {'yes' if met else '**no**'}")
            cells.append("<br>".join(judged))
            many = "4 × " if step.key in {s.key for s in ShardsStage.steps} else ""
            print(f"| {step.title} | {many}{size_name(mib)} | {' | '.join(cells)} |")

    def print_runs(self):
        print("\nWall seconds of each run, in their order:\n")
        for mib, step in self.rows:
            for side in (OURS, LFS):
                runs = " ".join(f"{t.wall:.2f}" for t in self.timings[mib, step.key, side])
                print(f"- {size_name(mib)}, {step.key}, {side}: {runs}")


# ---- the machine -----------------------------------------------------------------------------------


def cpu_line(key):
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        found = (line.split(":", 1)[1].strip() for line in lines if line.startswith(key))
        return next(found, "")


def print_machine(bench, load, title):
    side = bench.sides[0]
    flags = (cpu_line("flags") or cpu_line("Features")).split()
    with open("/proc/meminfo", encoding="utf-8") as lines:
        memory = int(re.search(r"\d+", lines.readline())[0]) / 2**20
    kind = ["stat", "-f", "-c", "%T", bench.folder]
    disk = subprocess.run(kind, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    versions = [
        side.command(bench.folder, command).strip()
        for command in (["git", "version"], ["git", "lfs", "version"], ["git", "brevis", "version"])
    ]
    print(f"# {title}\n")
    print(
        f"- machine: {cpu_line('model name') or 'unknown processor'}, "
        f"{len(os.sched_getaffinity(0))} processors, {platform.machine()}, "
        f"{' '.join(f for f in FEATURES if f in flags)}; {memory:.0f} GiB of memory, {disk}; "
        f"{platform.system()} {platform.release()}; load {load:.1f} at the start"
    )
    print(f"- versions: {'; '.join(versions)}")
    print(
        f"- medians of {bench.options.runs} runs of both in turn, after one that is not counted; "
        "caches are warm as far as memory goes, and what was written is on disk before a run "
        "starts\n- CPU: user and system, git and all that it starts; MiB: the most that a "
        f"process called {OURS} or {LFS} had resident in any run (git's own memory is not in it)\n"
        "- the checkpoints are BF16 weights made by a generator, with scales of rows and columns "
        "as in a Llama-style model; no tensor repeats another one",
        flush=True,
    )


# ---- the command line -----------------------------------------------------------------------------


def parse_size(text):
    match = re.fullmatch(r"(\d+)([MG])", text)
    mib = int(match[1]) * (1024 if match[2] == "G" else 1) if match else 0
    if not 0 < mib <= 1 << 20:
        raise argparse.ArgumentTypeError("must be a size such as 64M or 4G")
    return mib


def parse_runs(text):
    if not re.fullmatch(r"\d{1,3}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError("must be a number from 1 to 999")
    return int(text)


def parse_steps(text):
    steps = text.split(",")
    for step in steps:
        if step not in BARS:
            raise argparse.ArgumentTypeError(f"{step} is none of {', '.join(BARS)}")
    return steps


def parse_options():
    parser = argparse.ArgumentParser(
        prog="bench-git",
        description="Measures what people wait for in git, beside stock git-lfs, and prints it as "
        "Markdown. Nothing of the user's configuration takes part.",
    )
    parser.add_argument("--size", type=parse_size, action="append", metavar="SIZE",
                        help="of the checkpoint: 64M, 4G; may be given again; default 1G")
    parser.add_argument("--shard", type=parse_size, metavar="SIZE",
                        help="of each of four shards; default: the largest --size, at most 1G")
    parser.add_argument("--runs", type=parse_runs, default=5, help="default 5")
    parser.add_argument("--steps", type=parse_steps, default=list(BARS), metavar="STEP,...",
                        help="some of: " + ", ".join(BARS))
    parser.add_argument("--dir", help="where to work, in a directory that is removed at the end; "
                        "default: TMPDIR, or /tmp")
    options = parser.parse_args()
    options.size = options.size or [1024]
    options.shard = options.shard or min(max(options.size), 1024)
    for key, needed in (("revise", "add"), ("shards-pull", "shards-checkout")):
        if key in options.steps and needed not in options.steps:
            say(f"{needed} is measured too: {key} is compared with it")
            options.steps.append(needed)
    return options


def main():
    options = parse_options()
    load = os.getloadavg()[0]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    with tempfile.TemporaryDirectory(prefix="bench-git.", dir=options.dir) as folder:
        bench = Bench(options, os.path.realpath(folder), os.environ["BENCH_BUILD"])
        print_machine(bench, load, "Through git, beside stock git-lfs")
        for mib in options.size:
            bench.stage(ModelStage, mib)
        bench.stage(ShardsStage, options.shard)
        bench.print_table()
        bench.print_runs()


if __name__ == "__main__":
    timed.run_program(main, say)
