#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lets one call of git-brevis after the other fail, under real git, and counts what is lost.

    torture.py [options]

    --bin DIR          where git-brevis is (build)
    --library FILE     inject.c, compiled (inject.so beside git-brevis)
    --dir DIR          for what it works with (a directory of its own below $TMPDIR)
    --injections N     of each scenario and fault at most N calls, drawn by the seed (0: all)
    --allocations N    the same for failing allocations, of which there are thousands
    --scenarios WORDS  only these
    --faults WORDS     only these
    --pairs N          of each scenario only N kinds of faults, drawn by the seed
    --at WORDS         only these calls: what a report named, once more
    --seed N           (1)
    --jobs N           at once (the processors)
    --resume FILE      notes there what is done, and does not do it again

A scenario is a command in a small repository. First it runs with nothing but counting; then with
one call that fails, or at which a signal comes, or in a place that is worse (places.py), in a fresh
copy of the repository. After each:

  - every object under its final name is what its name promises, here and in the store;
  - work files are whole, pointers, or not there;
  - nothing else is left: no lock, and unless the process was killed no temporary file;
  - the same command, run again, succeeds, and all is as if nothing had been.

Output is TAP; at its end stands how many injections there were, and losses, by fault and by command.
A place that is worse counts if the command met it, and failed.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import places  # noqa: E402
from git_scenarios import SCENARIOS  # noqa: E402
from world import FAULTS, KILLS, SIGNALS, SYSCALLS, Lost, World, content, files_below, need, sha256  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL_MODEL = os.path.join(HERE, "..", "support", "small_model.py")
PORTION = 250  # injections that --resume notes at once
FEW = 5        # so many may happen to be all calls that another run does not make
UNWRITTEN = b"unable to write file"
TRANSPARENT = ("EINTR", "short")  # these must not even be noticed


# ---- one injection ---------------------------------------------------------------------------------

def inflict(scenario, folder, fault, at):
    """Runs the command with the fault. Returns what came of it, and whether it was hit."""
    world, work = scenario.world, os.path.join(folder, scenario.work)
    if fault not in places.PLACES:
        done, _, hits = world.injected(work, folder + ".count", fault, at, scenario.command)
        return done, hits
    with places.worse(folder, fault, at) as by:
        done = world.run(work, *by, *scenario.command)
    if UNWRITTEN in done.stdout and done.returncode == 0:
        done.returncode = 1  # git says so, and may end with 0 all the same
    return done, done.returncode != scenario.code


def examine(scenario, folder, fault, done):
    """What has to hold after it, and after the same command without a fault."""
    scenario.check_objects(folder)
    # Where there is no room for what git itself writes, git reports that, and leaves it.
    scenario.check_work(folder, partial=scenario.git_writes and fault in places.PLACES and done.returncode)
    scenario.check_leavings(folder, killed=fault in KILLS, by_git=fault in places.PLACES)
    scenario.check_said(done)
    need(fault not in TRANSPARENT or done.returncode == scenario.code, "it failed, though nothing is wrong")
    if done.returncode == scenario.code == 0 and fault not in SIGNALS:
        scenario.check_done(folder)
    work = os.path.join(folder, scenario.work)
    same = done.returncode == 0 or not scenario.again
    command = scenario.command if same else scenario.again
    again = scenario.world.run(work, *command)
    if again.returncode != scenario.code and fault in KILLS and scenario.take_back(folder, again.stdout):
        again = scenario.world.run(work, *command)
    need(again.returncode == scenario.code, f"run again, it fails: {again.stdout.decode(errors='replace')}")
    scenario.check_objects(folder)
    scenario.check_work(folder)
    scenario.check_done(folder)
    need(not [path for path in files_below(folder) if path.endswith(".lock")], "run again, it leaves a lock")


def attempt(scenario, folder, fault, at):
    """Returns whether the call was hit. Raises Lost."""
    with places.disk(folder, fault):
        scenario.copy(folder)
        done, hits = inflict(scenario, folder, fault, at)
        try:
            examine(scenario, folder, fault, done)
        except Lost as lost:
            raise Lost(f"{lost}\n{done.stdout.decode(errors='replace')[:2000]}") from None
    return hits


class Torture:
    def __init__(self, options, world, models):
        self.options, self.world = options, world
        self.scenarios = [kind(world, dict(models)) for kind in SCENARIOS
                          if kind.__name__.lower() in (options.scenarios or kind.__name__.lower())]
        self.count = self.failed = 0
        self.figures = collections.Counter()  # (scenario, fault, "injections" or "losses"): number
        # What was done with another program, or seed, says nothing about this one.
        self.done = {"of": f"{sha256(content(os.path.join(options.bin, 'git-brevis')) + content(world.library))} {options.seed}"}
        if options.resume and os.path.exists(options.resume):
            done = json.loads(content(options.resume))
            self.done = done if done.get("of") == self.done["of"] else self.done

    def calls(self, scenario):
        """What each fault can hit: the numbers of calls, and the like."""
        folder = os.path.join(self.world.place, "first")
        counts = {}
        for fault in (FAULTS[0], *list(SYSCALLS)[:1]):
            shutil.rmtree(folder, ignore_errors=True)
            scenario.copy(folder)
            done, calls, _ = self.world.injected(os.path.join(folder, scenario.work), folder + ".count", fault, 0, scenario.command)
            if done.returncode != scenario.code:
                sys.exit(f"{scenario.name} fails without a fault: {done.stdout.decode(errors='replace')}")
            scenario.check_objects(folder, learn=True)
            scenario.check_said(done, learn=True)
            scenario.check_done(folder)
            counts.update(calls)
        for fault in places.available():
            shutil.rmtree(folder, ignore_errors=True)
            with places.disk(folder, fault):
                scenario.copy(folder)
                before = places.free(folder)
                self.world.run(os.path.join(folder, scenario.work), *scenario.command)
                counts[fault] = places.choices(scenario, fault, folder, before)
        return counts

    def chosen(self, scenario, fault, calls):
        # Before main, a process only loads its libraries.
        numbers = calls[self.loading:] if fault in SYSCALLS else calls if fault in places.PLACES else list(range(1, calls + 1))
        if self.options.at:
            return [at for at in numbers if str(at) in self.options.at]
        limit = {"nomem": self.options.allocations}.get(fault, 0) or self.options.injections
        if limit and len(numbers) > limit:
            # The last calls are not always reached, and much room is not always missed.
            numbers = numbers[:len(numbers) * (5 if fault in places.PLACES else 9) // 10 or 1]
            numbers = sorted(random.Random(f"{self.options.seed} {scenario.name} {fault}").sample(numbers, min(limit, len(numbers))), key=numbers.index)
        return numbers

    def one(self, scenario, fault, at):
        folder = os.path.join(self.world.place, f"job-{scenario.name}-{fault}-{str(at).replace('/', '-')}")
        try:
            return attempt(scenario, folder, fault, at), None
        except Lost as lost:
            return 1, f"{scenario.name} {fault} at call {at}: {lost}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if os.path.exists(folder + ".count"):
                os.unlink(folder + ".count")

    def torture(self, scenario, fault, calls):
        numbers = self.chosen(scenario, fault, calls)
        portions = [numbers[i:i + PORTION] for i in range(0, len(numbers), PORTION)]
        for i, portion in enumerate(portions):
            key = f"{scenario.name} {fault}" + (f" {i + 1}/{len(portions)}" if len(portions) > 1 else "")
            if key in self.done:
                self.figures[scenario.name, fault, "injections"] += self.done[key]
                continue
            with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
                results = list(pool.map(lambda at: self.one(scenario, fault, at), portion))
            hits = sum(bool(hit) for hit, _ in results)
            lost = [text for _, text in results if text]
            # How often a pipe is read differs from run to run, so the last numbers may not be reached.
            if hits * 2 < len(portion) > FEW and fault not in places.PLACES:
                lost.append(f"only {hits} of {len(portion)} calls were reached")
            self.figures[scenario.name, fault, "injections"] += hits
            self.figures[scenario.name, fault, "losses"] += len(lost)
            self.report(key, calls if isinstance(calls, int) else len(calls), hits, lost)

    def report(self, key, calls, hits, lost):
        self.count += 1
        self.failed += bool(lost)
        print(f"{'not ok' if lost else 'ok'} {self.count} - {key}: {hits} injections of {calls} calls, {len(lost)} losses", flush=True)
        for text in lost[:5]:
            print("\n".join("#   " + line for line in text.splitlines()[:12]), flush=True)
        if self.options.resume and not lost:
            self.done[key] = hits
            with open(self.options.resume + ".new", "w", encoding="utf-8") as file:
                json.dump(self.done, file)
            os.replace(self.options.resume + ".new", self.options.resume)

    def total(self, what, name=None):
        return sum(number for (*key, kind), number in self.figures.items() if kind == what and name in (None, *key))

    def table(self, title, names):
        """As docs/DURABILITY.md has it."""
        print(f"# | {title} | injections | losses |\n# |---|---|---|")
        for name in names:
            if self.total("injections", name):
                print(f"# | {name} | {self.total('injections', name):,} | {self.total('losses', name):,} |")

    def faults_of(self, scenario):
        """All faults, or some drawn by the seed."""
        faults = [fault for fault in (*FAULTS, *SYSCALLS, *places.available()) if fault in (self.options.faults or [fault])]
        pairs = self.options.pairs or len(faults)
        return random.Random(f"{self.options.seed} {scenario.name}").sample(faults, pairs) if pairs < len(faults) else faults

    def run(self):
        print(f"# torture seed {self.options.seed}")
        fault = next(iter(SYSCALLS))
        first = self.world.injected(self.world.place, os.path.join(self.world.place, "count"), fault, 0, ("git-brevis", "--version"))
        self.loading = max(0, len(first[1][fault]) - 50)
        for scenario in self.scenarios:
            calls = self.calls(scenario)
            for fault in self.faults_of(scenario):
                if calls[fault]:
                    self.torture(scenario, fault, calls[fault])
        for fault in set(places.PLACES) - set(places.available()):
            self.count += 1
            print(f"ok {self.count} - {fault} # SKIP nothing may be mounted here")
        self.table("fault", (*FAULTS, *SYSCALLS, *places.PLACES))
        self.table("command", (scenario.name for scenario in self.scenarios))
        print(f"# {self.total('injections')} injections, {self.total('losses')} losses")
        print(f"1..{self.count}")
        return 1 if self.failed or not self.total("injections") else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--bin", default="build")
    parser.add_argument("--library")
    parser.add_argument("--dir")
    parser.add_argument("--injections", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--allocations", type=int, default=0)
    parser.add_argument("--scenarios", type=str.split)
    parser.add_argument("--faults", type=str.split)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--at", type=str.split)
    parser.add_argument("--resume")
    options = parser.parse_args()
    places.own_mounts()
    place = tempfile.mkdtemp(prefix="brevis-torture-", dir=options.dir)
    try:
        subprocess.run([sys.executable, SMALL_MODEL, "--versions", os.path.join(place, "models"), "2"], check=True)
        models = {f"{name}.safetensors": content(os.path.join(place, "models", str(i + 1))) for i, name in enumerate("ab")}
        sys.exit(Torture(options, World(place, options.bin, options.library or os.path.join(options.bin, "inject.so")), models).run())
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
