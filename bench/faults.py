#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tries faults at every action of a small run, and prints what became of it.

    bench/faults.py BUILD [--transports LIST] [--faults LIST] [--every N] [--jobs N] [--limit SECONDS]

A GPT on two ranks trains for four iterations and saves after each. In the second
one, a rank meets a fault as one of its actions begins: at each in turn, or with
--every N at every Nth. A run must end within ten seconds, or what --limit says, with its cause named, or
go on; started again, it must have the weights of a run without faults, bit by bit.
Exit code 1 if a run does neither.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "test/runtime/Inputs"))
import checkpoint  # pylint: disable=wrong-import-position

PLAN = """
pipe.cluster @c { pipe.device @d0 pipe.device @d1 }
pipe.model @m gpt<vocab = 256, sequence = 8, hidden = 16, heads = 2, ffn = 32, batch = 1, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @ln_f head
}
pipe.plan @p of @m on @c microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0, @ln_f] on 1
}
pipe.schedule @main of @p family<"1f1b">
"""
RANKS, ITERATIONS = 2, 4
# Arguments of the program, and words of which one must be in its output or in
# that of rondo blame if it ends; None: it must go on.
FAULTS = {
    "kill": ("kill", r"lost rank {r}|rank {r} stopped first|process rank {r} .*signal 9"),
    "stop": ("stop", r"process has not answered|lost rank {r}|rank {r} did not reach|rank {r} stopped first|"
                     r"rank {r} has not answered"),
    "delay": ("delay=1000", None),
    "hang": ("delay=60000", r"no progress for .*rank {r} runs|rank {r} did not reach|rank {r} stopped first"),
    "disk": ("disk", r"cannot write checkpoint"),
    "socket": ("socket", r"lost rank|rank {r} stopped first|rank {r} has not answered"),
    "byte": ("byte", r"message .* from rank {r} to rank \d has changed on its way"),
}
# Threads have no connections, and are stopped all at once.
WITHOUT = {"threads": {"kill": r"^$", "stop": None, "socket": None}}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--transports", default="threads,tcp,mpi")
parser.add_argument("--faults", default=",".join(FAULTS))
parser.add_argument("--every", type=int, default=1, metavar="N")
parser.add_argument("--jobs", type=int, default=4, metavar="N")
parser.add_argument("--limit", type=float, default=10, metavar="SECONDS", help="within which a run must end")
options = parser.parse_args()
rondo = options.build.resolve() / "bin/rondo"
home = pathlib.Path(tempfile.mkdtemp())

Result = collections.namedtuple("Result", "codes output seconds")


def compile_program(transport):
    plan = home / "plan.mlir"
    plan.write_text(PLAN)
    program = home / ("mpi" if transport == "mpi" else "train")
    if not program.exists():
        command = [rondo, "compile", plan, "-o", program]
        subprocess.run(command + (["--transport=mpi"] if transport == "mpi" else []), check=True,
                       stdout=subprocess.DEVNULL)
    return program


def commands(transport, program, folder, arguments):
    """The processes of a run."""
    if transport == "threads":
        return [[program, *arguments]]
    if transport == "mpi":
        return [["mpirun", "--oversubscribe", "-np", str(RANKS), program, *arguments]]
    meeting = f"file://{folder}/meeting"
    return [[program, *arguments, "--rank", str(rank), "--world-size", str(RANKS), "--local-rank", str(rank),
             "--rdzv", meeting] for rank in range(RANKS)]


def end_session(leader):
    """Kills what a launcher that had to be killed has not ended."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rsplit(")", 1)[1].split()
            if int(words[3]) == leader:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, IndexError):
            pass  # It has ended meanwhile.


def run(transport, folder, arguments, fault=None, rank=0):
    """Ends it after the limit; who has stopped is continued or killed when the others have ended."""
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    begin = time.monotonic()
    # To pipes: a file could not grow where the disk is full.
    processes = [subprocess.Popen([str(word) for word in command], env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
                 for command in commands(transport, compile_program(transport), folder, arguments)]
    output = [b""] * len(processes)

    def follow(number):
        output[number] = processes[number].stdout.read()

    readers = [threading.Thread(target=follow, args=(number,)) for number in range(len(processes))]
    for reader in readers:
        reader.start()
    waits = list(enumerate(processes))
    if fault == "stop" and transport == "threads":
        # It says nothing when it stops.
        while open(f"/proc/{processes[0].pid}/stat").read().rsplit(")", 1)[1].split()[0] not in "TZ":
            time.sleep(0.01)
        time.sleep(1)
        processes[0].send_signal(signal.SIGCONT)
    elif fault == "stop":
        waits.sort(key=lambda at: at[0] == rank)
    codes, seconds = {}, 0
    for number, process in waits:
        left = max(0.01, options.limit - (time.monotonic() - begin))
        if fault == "stop" and transport == "tcp" and number == rank:
            process.kill()
        try:
            codes[number] = process.wait(left)
        except subprocess.TimeoutExpired:
            end_session(process.pid)
            process.wait()
            codes[number] = "late"
        seconds = time.monotonic() - begin
    for reader in readers:
        reader.join()
    return Result([codes[number] for number in sorted(codes)], b"".join(output).decode(errors="replace"), seconds)


def flags(save, more=()):
    return ["--data", home / "text", "--held-out", "0", "--iterations", str(ITERATIONS), "--quiet",
            "--save", save, "--save-every", "1", "--resume", save, *more]


def attempt(case):
    transport, kind, rank, action = case
    folder = home / "-".join(map(str, case))
    failed = folder / "failed"
    failed.mkdir(parents=True)
    save = folder / "save"
    word, cause = FAULTS[kind]
    result = run(transport, folder,
                 flags(save, ["--check-messages", "--timeout", "1" if kind in ("stop", "hang") else "5",
                              "--failure-dir", failed, "--inject-fault", f"{word}:{rank}:{action}"]), kind, rank)
    if "late" in result.codes:
        return "lost", f"no end within {options.limit:g} s", result
    if all(code == 0 for code in result.codes):
        same = checkpoint.read(save) == reference
        return ("goes on", "", result) if same else ("lost", "other weights", result)
    output = result.output
    files = sorted(failed.glob("*.json"))
    if files:
        output += subprocess.run([rondo, "blame", *files], stdout=subprocess.PIPE, text=True, check=False).stdout
    wanted = WITHOUT.get(transport, {}).get(kind, cause)
    if wanted is None or not re.search(wanted.format(r=rank), output):
        # A thread that is killed takes all others with it and can say nothing.
        if not (transport == "threads" and kind == "kill"):
            return "lost", "the cause is not named", Result(result.codes, output, result.seconds)
    again = folder / "again"
    again.mkdir()
    second = run(transport, again, flags(save))
    if any(code != 0 for code in second.codes):
        # All iterations were saved.
        if "name a later one" not in second.output:
            return "lost", "does not resume", second
    if checkpoint.read(save) != reference:
        return "lost", "other weights after resuming", second
    return "ends", "", result


def actions_of():
    """[rank]: number of actions of an iteration."""
    trace = home / "trace"
    subprocess.run([compile_program("threads"), "--data", home / "text", "--held-out", "0", "--iterations", "1",
                    "--quiet", "--trace", trace], check=True, stdout=subprocess.DEVNULL)
    events = json.loads(trace.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    # A trace also has what an action waited for, and the whole run.
    counts = collections.Counter(event["pid"] for event in events
                                 if event["ph"] == "X" and event["name"].split()[0] not in ("wait", "run"))
    return [counts[rank] for rank in range(RANKS)]


(home / "text").write_text("a schedule is not a model. " * 40)
(home / "first").mkdir()
base = home / "first/save"
first = run("threads", home / "first", flags(base))
if first.codes != [0]:
    sys.exit(f"a run without a fault fails:\n{first.output}")
reference = checkpoint.read(base)
counts = actions_of()
for transport in options.transports.split(","):
    compile_program(transport)

cases = [(transport, kind, rank, counts[rank] + action)
         for transport in options.transports.split(",") for kind in options.faults.split(",")
         for rank in range(RANKS) for action in range(1, counts[rank] + 1, options.every)
         if not (transport == "threads" and kind == "socket")]
print(f"{len(cases)} runs; actions of an iteration: {', '.join(map(str, counts))}", flush=True)
table = collections.defaultdict(collections.Counter)
slowest = collections.defaultdict(float)
with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
    for case, (end, why, result) in zip(cases, pool.map(attempt, cases)):
        table[case[:2]][end] += 1
        slowest[case[:2]] = max(slowest[case[:2]], result.seconds)
        if end == "lost":
            print(f"lost: {case}: {why}: exit codes {result.codes}\n{result.output}", flush=True)
print(f"{'transport':<10} {'fault':<8} {'tried':>6} {'goes on':>8} {'ends, resumed':>14} {'lost':>6} {'longest':>8}")
for (transport, kind), ends in table.items():
    print(f"{transport:<10} {kind:<8} {sum(ends.values()):>6} {ends['goes on']:>8} {ends['ends']:>14} "
          f"{ends['lost']:>6} {slowest[transport, kind]:>6.1f} s")
sys.exit(any(ends["lost"] for ends in table.values()))
