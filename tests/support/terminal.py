#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command whose stderr is a terminal, and keeps what it shows there.

usage: terminal.py [--columns N] [--output] SHOWN COMMAND...

Standard input and output stay what they are; with --output, output is the terminal too. The
terminal's bytes go to the file SHOWN as they come. Exit code: the command's, 128 + N if signal N ended it.
"""
import argparse
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("--output", action="store_true")
    parser.add_argument("shown")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, arguments.columns, 0, 0))
    environment = dict(os.environ, TERM="xterm")

    def keep():
        with open(arguments.shown, "wb") as shown:
            while True:
                try:
                    data = os.read(ours, 65536)
                except OSError:  # nobody has the other end any more
                    return
                if not data:
                    return
                shown.write(data)

    reader = threading.Thread(target=keep)
    reader.start()
    child = subprocess.Popen(
        arguments.command,
        stdout=theirs if arguments.output else None,
        stderr=theirs,
        env=environment,
    )
    code = child.wait()
    os.close(theirs)
    reader.join()
    return code if code >= 0 else 128 - code


sys.exit(main())
