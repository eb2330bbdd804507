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
    --seed N           (1)
    --jobs N           at once (the processors)
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
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from scenarios import FAULTS, KILLS, SCENARIOS, SIGNALS, SYSCALL, Lost, World, content, need, sha256  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL_MODEL = os.path.join(HERE, "..", "support", "small_model.py")
PORTION = 250  # injections that --resume notes at once
TRANSPARENT = ("EINTR", "short")  # these must not even be noticed


# ---- one injection ---------------------------------------------------------------------------------

def attempt(scenario, folder, fault, at):
    """Returns whether the call was hit. Raises Lost."""
    world, work = scenario.world, os.path.join(folder, scenario.work)
    scenario.copy(folder)
    done, _, hits = world.injected(work, folder + ".count", fault, at, scenario.command)
    try:
        scenario.check_objects(folder)
        scenario.check_work(folder)
        scenario.check_leavings(folder, killed=fault in KILLS)
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
        self.scenarios = [kind(world, dict(models)) for kind in SCENARIOS
                          if kind.__name__.lower() in (options.scenarios or kind.__name__.lower())]
        self.count = self.failed = self.injections = self.losses = 0
        # What was done with another program, or seed, says nothing about this one.
        self.done = {"of": f"{sha256(content(os.path.join(options.bin, 'git-brevis')))} {options.seed}"}
        if options.resume and os.path.exists(options.resume):
            done = json.loads(content(options.resume))
            self.done = done if done.get("of") == self.done["of"] else self.done

    def calls(self, scenario):
        """How many calls of the scenario each fault can hit."""
        folder = os.path.join(self.world.place, "first")
        counts = {}
        for fault in (FAULTS[0], SYSCALL):
            scenario.copy(folder)
            done, calls, _ = self.world.injected(os.path.join(folder, scenario.work), folder + ".count", fault, 0, scenario.command)
            if done.returncode:
                sys.exit(f"{scenario.name} fails without a fault: {done.stdout.decode(errors='replace')}")
            scenario.check_objects(folder, learn=True)
            scenario.check_done(folder)
            counts.update(calls)
        return counts

    def chosen(self, scenario, fault, calls):
        # Before main, a process only loads its libraries.
        numbers = calls[self.loading:] if fault == SYSCALL else list(range(1, calls + 1))
        limit = {"nomem": self.options.allocations}.get(fault, 0) or self.options.injections
        if limit and len(numbers) > limit:
            numbers = numbers[:len(numbers) * 9 // 10 or 1]  # the last ones are not always reached
            numbers = sorted(random.Random(f"{self.options.seed} {scenario.name} {fault}").sample(numbers, min(limit, len(numbers))), key=numbers.index)
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

    def torture(self, scenario, fault, calls):
        numbers = self.chosen(scenario, fault, calls)
        portions = [numbers[i:i + PORTION] for i in range(0, len(numbers), PORTION)]
        for i, portion in enumerate(portions):
            key = f"{scenario.name} {fault}" + (f" {i + 1}/{len(portions)}" if len(portions) > 1 else "")
            if key in self.done:
                self.injections += self.done[key]
                continue
            with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
                results = list(pool.map(lambda at: self.one(scenario, fault, at), portion))
            hits = sum(bool(hit) for hit, _ in results)
            lost = [text for _, text in results if text]
            # How often a pipe is read differs from run to run, so the last numbers may not be reached.
            if hits * 2 < len(portion):
                lost.append(f"only {hits} of {len(portion)} calls were reached")
            self.report(key, len(calls) if fault == SYSCALL else calls, hits, lost)

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
        first = self.world.injected(self.world.place, os.path.join(self.world.place, "count"), SYSCALL, 0, ("git-brevis", "--version"))
        self.loading = max(0, len(first[1][SYSCALL]) - 50)
        for scenario in self.scenarios:
            calls = self.calls(scenario)
            for fault in (*FAULTS, SYSCALL):
                if fault in (self.options.faults or calls):
                    self.torture(scenario, fault, calls[fault])
        print(f"# {self.injections} injections, {self.losses} losses")
        print(f"1..{self.count}")
        return 1 if self.failed or not self.injections else 0


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
    parser.add_argument("--resume")
    options = parser.parse_args()
    place = tempfile.mkdtemp(prefix="brevis-torture-", dir=options.dir)
    try:
        subprocess.run([sys.executable, SMALL_MODEL, "--versions", os.path.join(place, "models"), "2"], check=True)
        models = {f"{name}.safetensors": content(os.path.join(place, "models", str(i + 1))) for i, name in enumerate("ab")}
        sys.exit(Torture(options, World(place, options.bin, options.library or os.path.join(options.bin, "inject.so")), models).run())
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
