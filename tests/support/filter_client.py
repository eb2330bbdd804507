#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""git's side of the filter protocol, for what git itself would not show us.

usage: filter_client.py smudge PATH <POINTER >CONTENT
       filter_client.py clean PATH <CONTENT >POINTER

Starts `git-brevis filter-process`, speaks version 2 of the protocol strictly, and streams: git
would hold a smudged file in its memory. Exit code 1 and a line on stderr if the other side breaks
the protocol or answers with an error.
"""
import subprocess
import sys

PACKET = 65516


class Broken(Exception):
    """The other side did not keep to the protocol."""


class Peer:
    """The filter process, and packets to and from it."""

    def __init__(self):
        self.process = subprocess.Popen(["git-brevis", "filter-process"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=1 << 20)

    def send(self, data):
        self.process.stdin.write(b"%04x" % (len(data) + 4) + data)

    def send_lines(self, *lines):
        for line in lines:
            self.send(line.encode() + b"\n")
        self.flush()

    def flush(self):
        self.process.stdin.write(b"0000")
        self.process.stdin.flush()

    def packet(self):
        """The next packet's data, or None for a flush packet."""
        head = self.process.stdout.read(4)
        if len(head) != 4:
            raise Broken("the filter process ended early")
        size = int(head, 16)
        if size == 0:
            return None
        if size <= 4 or size > PACKET + 4:
            raise Broken(f"a packet of size {size}")
        data = self.process.stdout.read(size - 4)
        if len(data) != size - 4:
            raise Broken("a packet was cut")
        return data

    def lines(self):
        """Text packets up to the flush packet."""
        result = []
        while (data := self.packet()) is not None:
            result.append(data.decode().rstrip("\n"))
        return result

    def expect(self, *lines):
        got = self.lines()
        if got != list(lines):
            raise Broken(f"got {got}, wanted {list(lines)}")

    def shake_hands(self):
        self.send_lines("git-filter-client", "version=2")
        self.expect("git-filter-server", "version=2")
        self.send_lines("capability=clean", "capability=smudge", "capability=delay",
                        "capability=something-new")
        got = set(self.lines())
        if got != {"capability=clean", "capability=smudge", "capability=delay"}:
            raise Broken(f"capabilities {sorted(got)}")

    def convert(self, command, path, source, sink):
        self.send_lines("command=" + command, "pathname=" + path)
        while data := source.read(PACKET):
            self.send(data)
        self.flush()
        self.expect("status=success")
        while (data := self.packet()) is not None:
            sink.write(data)
        status = self.lines()
        if status not in ([], ["status=success"]):
            raise Broken(f"after the content: {status}")

    def end(self):
        self.process.stdin.close()
        if self.process.stdout.read(1):
            raise Broken("something after the last answer")
        if self.process.wait() != 0:
            raise Broken(f"exit code {self.process.returncode}")


def main():
    peer = Peer()
    try:
        peer.shake_hands()
        peer.convert(sys.argv[1], sys.argv[2], sys.stdin.buffer, sys.stdout.buffer)
        peer.end()
    except Broken as reason:
        peer.process.kill()
        print(f"filter_client: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
