# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a launcher, and prints its and its processes' output, and its exit code.

watch.py [flags] -- LAUNCHER ARGUMENTS...

Exit code 1 if it takes too long: it and all that it started are then killed.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time

split = sys.argv.index("--")
parser = argparse.ArgumentParser()
parser.add_argument("--signal", metavar="WHO:NAME:TEXT",
                    help="sends a signal, such as KILL, when TEXT is printed; WHO "
                    "is a rank, `launcher`, or `all`: what a terminal does")
parser.add_argument("--limit", type=float, default=40, help="seconds")
options = parser.parse_args(sys.argv[1:split])


def environment_of(pid):
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            return dict(entry.split(b"=", 1) for entry in file.read().split(b"\0")
                        if b"=" in entry)
    except OSError:
        return {}


def started():
    """The launcher's descendants. Those of srun descend from Slurm's daemon."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="utf-8",
                          errors="replace") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    found = {launcher.pid}
    slurm = os.environ.get("SLURM_CONF")
    if slurm:
        for pid in parents:
            variables = environment_of(pid)
            if (variables.get(b"SLURM_CONF") == slurm.encode()
                    and b"SLURM_PROCID" in variables):
                found.add(pid)
    while True:
        more = {p for p, parent in parents.items() if parent in found} - found
        if not more:
            return found - {launcher.pid}
        found |= more


def rank_of(pid):
    variables = environment_of(pid)
    for name in (b"RANK", b"SLURM_PROCID", b"OMPI_COMM_WORLD_RANK"):
        if name in variables:
            return int(variables[name])
    return None


def send(who, name):
    number = getattr(signal, "SIG" + name)
    if who == "launcher":
        launcher.send_signal(number)
    elif who == "all":
        os.killpg(launcher.pid, number)
    else:
        for pid in started():
            if rank_of(pid) == int(who):
                os.kill(pid, number)


def end():
    """Called when time is up."""
    late.set()
    for pid in started() | {launcher.pid}:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


begin = time.monotonic()
late = threading.Event()
launcher = subprocess.Popen(sys.argv[split + 1:], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            start_new_session=True)
timer = threading.Timer(options.limit, end)
timer.start()
for raw in launcher.stdout:
    line = raw.decode(errors="replace")
    sys.stdout.write(line)
    if options.signal:
        who, name, text = options.signal.split(":", 2)
        if text in line:
            options.signal = None
            send(who, name)
code = launcher.wait()
timer.cancel()
print("exit code", "late" if late.is_set() else code)
print("%.1f s" % (time.monotonic() - begin), file=sys.stderr)
sys.exit(late.is_set())
