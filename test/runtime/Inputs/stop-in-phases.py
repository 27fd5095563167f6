# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stops one process of a run in each phase, and looks how the others end.

stop-in-phases.py [--timeout SECONDS] [--join-timeout SECONDS] [--ranks N]
    [--phases LIST] [--stop LIST] [--mpirun COMMAND] -- PROGRAM ARGUMENTS...

For each phase and each rank to stop, a run of its own: that process stops itself
(SIGSTOP) as it enters the phase. Every other process must end with code 75 within
--timeout (of join: --join-timeout) and 5 s, and what they say must name the
stopped rank and the phase. Ten runs go at the same time. mpirun gets 3 s to end.
On a loaded machine a process may wait longer than --timeout for one that only is
slow, or for the disk, and then no process comes to the phase; or processes that
end do not get a core in time. Such a run is repeated with a longer time-out, at
most three times, and one of the four must hold.
Exit code 1 if a run does otherwise; --verbose prints what was said.
"""

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

# Messages of the others if rank {r} has stopped; other phases have their name in them.
WORDS = {
    "join": r"ranks? (\d, )*{r}(, \d)* did not arrive|could not find rank {r}|'join' for MPI_Bcast of rank {r}",
    "data": r"rank {r} did not reach 'data'|rank {r} .*'data'",
    "connect": r"rank {r} .*'connect'|'connect'.* rank {r}",
    "meet": r"rank {r} .*'meet'|'meet'.* rank {r}",
}
PHASES = ["join", "connect", "meet", "data", "iterate", "take transfers", "switch", "gather", "save", "leave"]
# If rank 0 stops as it enters a phase, others may also wait in one before it, since its
# answers there may not have left it.
BEFORE = {
    "connect": "join",
    "meet": "connect",
    "data": "meet",
    "iterate": "connect|meet|data|take transfers|switch",
    "take transfers": "iterate",
    "switch": "iterate|take transfers",
    "gather": "data|iterate",
    "save": "iterate|gather",
    "leave": "iterate|save",
}

split = sys.argv.index("--")
parser = argparse.ArgumentParser()
parser.add_argument("--timeout", type=float, default=3)
parser.add_argument("--join-timeout", type=float, help="default: that of --timeout")
parser.add_argument("--ranks", type=int, default=4)
parser.add_argument("--phases", default=",".join(PHASES))
parser.add_argument("--stop", default="0,1", help="ranks")
parser.add_argument("--mpirun", help="the launcher, up to the number of processes")
parser.add_argument("--verbose", action="store_true")
options = parser.parse_args(sys.argv[1:split])
command = sys.argv[split + 1:]
# A start on a loaded machine is no fault of the phases after it.
START_SECONDS = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


class Run:
    def __init__(self, phase, stopped, timeout):
        self.phase, self.stopped, self.timeout = phase, stopped, timeout
        self.folder = tempfile.mkdtemp(dir=os.getcwd())
        # If process 0 stops soon after the others have joined, its answers may not have left it.
        may_be_joining = phase == "join" or stopped == 0 and phase in ("connect", "data")
        self.join_timeout = options.join_timeout or timeout if may_be_joining else START_SECONDS
        flags = ["--timeout", f"{timeout:g}", "--join-timeout", f"{self.join_timeout:g}",
                 "--inject-fault", f"stop:{stopped}:{phase}"]
        arguments = command
        if phase == "gather":
            # Weights come to process 0 to be compared.
            arguments = command[: command.index("--iterations")] + ["--quiet", "--verify"]
        elif "save" in options.phases:
            flags += ["--save", os.path.join(self.folder, "saved")]
        if options.mpirun:
            commands = [options.mpirun.split() + [str(options.ranks)] + arguments + flags]
        else:
            place = ["--world-size", str(options.ranks), "--rdzv", f"127.0.0.1:{free_port()}"]
            commands = [arguments + flags + place + ["--rank", str(r), "--local-rank", str(r)]
                        for r in range(options.ranks)]
        self.processes = [subprocess.Popen(c, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                          for c in commands]
        self.fault, self.is_late = "", False

    def has_stopped(self):
        if not options.mpirun:
            return state_of(self.processes[self.stopped].pid) in "Tt"
        found = subprocess.run(["ps", "-o", "state=", "--ppid", str(self.processes[0].pid)],
                               capture_output=True, text=True, check=False)
        return "T" in found.stdout or "t" in found.stdout

    def check(self):
        # mpirun ends when one of its processes has, and takes the others along.
        others = [p for r, p in enumerate(self.processes) if options.mpirun or r != self.stopped]
        begun = time.monotonic()
        while not self.has_stopped():
            if time.monotonic() > begun + 60 or all(p.poll() is not None for p in self.processes):
                self.fault, self.is_late = f"rank {self.stopped} did not stop", True
                break
            time.sleep(0.01)
        stopped_at = time.monotonic()
        timeout = self.join_timeout if self.phase == "join" else self.timeout
        limit = stopped_at + timeout + 5 + (3 if options.mpirun else 0)
        while not self.fault and any(p.poll() is None for p in others):
            if time.monotonic() > limit:
                alive = [r for r, p in enumerate(self.processes) if p in others and p.poll() is None]
                self.fault, self.is_late = f"ranks {alive} still run", True
            time.sleep(0.02)
        self.seconds = time.monotonic() - stopped_at
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        self.said = [p.communicate()[1].strip() for p in self.processes]
        codes = [p.returncode for p in others]
        text = "\n".join(self.said)
        words = WORDS.get(self.phase, rf"rank {{r}} .*'{self.phase}'|'{self.phase}'.* rank {{r}}")
        if self.stopped == 0:
            # It serves the store.
            phases = "|".join(filter(None, [self.phase, BEFORE.get(self.phase)]))
            words += rf"|rank 0 has not answered for [^ ]+ s; rank \d waits in '({phases})'"
        if not self.fault and codes != [75] * len(others):
            self.fault = f"exit codes {codes}"
        if not self.fault and not re.search(words.format(r=self.stopped), text):
            self.fault = "it does not name rank and phase"


def run_in_time(case):
    for factor in (1, 2, 4, 8):
        run = Run(*case, options.timeout * factor)
        run.check()
        if not run.is_late:
            break
    return run


cases = [(phase, int(stopped)) for phase in options.phases.split(",") for stopped in options.stop.split(",")]
with ThreadPoolExecutor(10) as threads:
    runs = list(threads.map(run_in_time, cases))
for run in runs:
    print(f"rank {run.stopped} stops in {run.phase}: {run.fault or 'the others end in time'}")
    if run.fault or options.verbose:
        print(f"  after {run.seconds:.1f} s")
        for line in run.said:
            print("  " + line.replace("\n", "\n  "))
print(f"slowest: {max(run.seconds for run in runs):.1f} s", file=sys.stderr)
sys.exit(any(run.fault for run in runs))
