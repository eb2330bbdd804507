#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command and writes "CPU-MILLISECONDS PEAK-MEMORY-IN-KIB" to a file: those of the command and of all that it has waited for.

    spent.py FILE COMMAND...

Its exit code is the command's; of a signal, 128 and its number.
"""
import os
import sys

pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w", encoding="ascii") as spent:
    spent.write(f"{round(1000 * (usage.ru_utime + usage.ru_stime))} {usage.ru_maxrss}\n")
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
