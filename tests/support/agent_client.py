#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""git-lfs's side of the protocol for custom transfer agents, stricter than git-lfs.

usage: agent_client.py upload FILE[=OID]... [option...]
       agent_client.py download OID:SIZE... [option...]

--kill-after SECONDS   kills the agent so long after it was started
--kill-at BYTES        kills it when the progress of all objects together comes to so many bytes
--remote NAME          default: origin
--agent COMMAND        default: git-brevis transfer
--timeout SECONDS      without a line of the agent: 60

Starts the agent in the current directory, asks for one object after another, and prints what came
of it as JSON:

  {"objects": [{"oid", "size", "error": {"code", "message"} or null, "path" (downloads),
                "progress": number of progress messages, "first_progress": seconds after the
                request, "bytes": the last count}...],   as far as it came
   "broken": [what was against the protocol...],
   "killed": whether this killed the agent, "exit": its exit code, "stderr": what it said there}

Exit code: 0 if all objects completed; 1 if the protocol was broken; 2 if an object has an error; 3
if the agent ended early, killed or not.
"""
import argparse
import hashlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time

# Other workers of git-lfs wait until the first one tells of progress.
FIRST_PROGRESS_SECONDS = 5


class Ended(Exception):
    """The agent is gone, or does not answer any more."""


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class Agent:
    """The agent's process, and lines to and from it."""

    def __init__(self, command=("git-brevis", "transfer"), cwd=None, env=None, timeout=60,
                 kill_after=None, kill_at=None):
        self.stderr = tempfile.TemporaryFile()
        self.began = time.monotonic()
        self.process = subprocess.Popen(list(command), stdin=subprocess.PIPE, cwd=cwd, env=env,
                                        stdout=subprocess.PIPE, stderr=self.stderr, bufsize=0)
        self.timeout = timeout
        self.kill_after = kill_after
        self.kill_at = kill_at
        self.pending = b""
        self.total = 0  # bytes of progress, of all objects
        self.killed = False
        self.broken = []
        self.objects = []

    # ---- lines ----

    def kill(self):
        self.killed = True
        self.process.kill()
        raise Ended("killed")

    def send(self, event):
        try:
            self.process.stdin.write(json.dumps(event).encode() + b"\n")
        except BrokenPipeError:
            raise Ended("the agent does not read any more") from None

    def wait_readable(self):
        deadline = time.monotonic() + self.timeout
        kill_time = self.began + self.kill_after if self.kill_after is not None else None
        while True:
            now = time.monotonic()
            if kill_time is not None and now >= kill_time:
                self.kill()
            if now >= deadline:
                self.broken.append(f"no line within {self.timeout} s")
                self.kill()
            until = deadline if kill_time is None else min(deadline, kill_time)
            if select.select([self.process.stdout], [], [], until - now)[0]:
                return

    def line(self):
        """The next line, as an object."""
        while b"\n" not in self.pending:
            self.wait_readable()
            block = os.read(self.process.stdout.fileno(), 1 << 16)
            if not block:
                if self.pending:
                    self.broken.append(f"ended within a line: {self.pending[:80]!r}")
                raise Ended("the agent ended")
            self.pending += block
        line, self.pending = self.pending.split(b"\n", 1)
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            self.broken.append(f"no JSON object: {line[:80]!r}")
            raise Ended("nothing to understand")
        return event

    # ---- the protocol ----

    def start(self, operation, remote="origin"):
        """init. Returns the error, or None."""
        self.send({"event": "init", "operation": operation, "remote": remote,
                   "concurrent": False, "concurrenttransfers": 8})
        return self.line().get("error")

    def progress(self, entry, event, asked):
        so_far, since = event.get("bytesSoFar"), event.get("bytesSinceLast")
        if not isinstance(so_far, int) or not isinstance(since, int):
            self.broken.append(f"progress without numbers: {event}")
            return
        if so_far - since != entry["bytes"] or since < 0:
            self.broken.append(f"progress from {entry['bytes']} to {so_far} by {since}")
        if so_far > entry["size"]:
            self.broken.append(f"progress to {so_far} of {entry['size']}")
        if entry["progress"] == 0:
            entry["first_progress"] = time.monotonic() - asked
        entry["progress"] += 1
        self.total += so_far - entry["bytes"]
        entry["bytes"] = so_far
        if self.kill_at is not None and self.total >= self.kill_at:
            self.kill()

    def judge(self, entry, event, upload):
        """What has to hold of an object that is complete."""
        if not upload and not isinstance(event.get("path"), str):
            self.broken.append("a download that is complete has no path")
        if entry["bytes"] != entry["size"]:
            self.broken.append(f"complete after {entry['bytes']} of {entry['size']} bytes")
        if entry["size"] and (entry["first_progress"] or 0) > FIRST_PROGRESS_SECONDS:
            self.broken.append(f"first progress after {entry['first_progress']:.1f} s")

    def transfer(self, oid, size, path=None):
        """Uploads the file path, or downloads. Returns what became of it."""
        upload = path is not None
        entry = {"oid": oid, "size": size, "error": None, "progress": 0, "first_progress": None,
                 "bytes": 0, "path": None}
        request = {"event": "upload" if upload else "download", "oid": oid, "size": size,
                   "action": None}
        if upload:
            request["path"] = os.path.abspath(path)
        asked = time.monotonic()
        self.send(request)
        while True:
            event = self.line()
            kind = event.get("event")
            if kind not in ("progress", "complete") or event.get("oid") != oid:
                self.broken.append(f"not an answer to {oid}: {event}")
                raise Ended("a stray event")
            if kind == "progress":
                self.progress(entry, event, asked)
                continue
            self.objects.append(entry)
            entry["error"] = event.get("error")
            if entry["error"] is None:
                entry["path"] = event.get("path")
                self.judge(entry, event, upload)
            elif not isinstance(entry["error"].get("message"), str) \
                    or not isinstance(entry["error"].get("code"), int):
                self.broken.append(f"an error without code or message: {event}")
            return entry

    def finish(self):
        """terminate; nothing more may come, and the agent ends with 0."""
        try:
            self.send({"event": "terminate"})
            self.process.stdin.close()
            self.process.stdin = None
            self.line()
            self.broken.append("a line after terminate")
        except Ended:
            pass
        self.end()
        if self.process.returncode != 0 and not self.killed:
            self.broken.append(f"exit code {self.process.returncode} after terminate")

    def end(self):
        try:
            self.process.wait(None if self.killed else 30)
        except subprocess.TimeoutExpired:
            self.broken.append("does not end after terminate")
            self.killed = True
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def said(self):
        self.stderr.seek(0)
        return self.stderr.read().decode(errors="replace")

    def result(self):
        return {"objects": self.objects, "broken": self.broken, "killed": self.killed,
                "exit": self.process.returncode, "stderr": self.said()}


def run(agent, operation, requests, remote="origin"):
    """One agent from beginning to end. requests: (oid, size, path or None)... Returns whether it
    came to the end."""
    try:
        error = agent.start(operation, remote)
        if error is not None:
            agent.objects.append({"oid": None, "error": error})
        else:
            for request in requests:
                agent.transfer(*request)
        agent.finish()
        return True
    except Ended:
        agent.end()
        return False


def exit_code(agent, whole):
    if agent.broken:
        return 1
    if not whole:
        return 3
    return 2 if any(entry["error"] for entry in agent.objects) else 0


def parse(operation, text):
    if operation == "download":
        oid, size = text.split(":")
        return oid, int(size), None
    path, _, oid = text.partition("=")
    return oid or sha256_of(path), os.path.getsize(path), path


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("operation", choices=("upload", "download"))
    parser.add_argument("what", nargs="*")
    parser.add_argument("--kill-after", type=float)
    parser.add_argument("--kill-at", type=int)
    parser.add_argument("--remote", default="origin")
    parser.add_argument("--agent", default="git-brevis transfer")
    parser.add_argument("--timeout", type=float, default=60)
    options = parser.parse_args()
    requests = [parse(options.operation, text) for text in options.what]
    agent = Agent(options.agent.split(), timeout=options.timeout, kill_after=options.kill_after,
                  kill_at=options.kill_at)
    whole = run(agent, options.operation, requests, options.remote)
    json.dump(agent.result(), sys.stdout, indent=1)
    print()
    return exit_code(agent, whole)


if __name__ == "__main__":
    sys.exit(main())
