"""Starts the processes of a run as a launcher would, and prints what they say.

launch.py LAUNCHER PROCESSES [--do RANK:ACTION:TEXT]... [--take N] [--limit S]
          [--devices one-each] -- PROGRAM ARGUMENTS...

LAUNCHER sets the environment: torchrun, whose agent listens on MASTER_PORT and
answers nobody; srun; mpirun; flags; pmi. With --do, RANK gets ACTION (a signal's
name, or STOP) once rank 0 has printed TEXT. --take N: others listen on the N
ports behind MASTER_PORT. `late` as an action: the rank is started only then.

Prints the output of all, and `exit codes` in the order of ranks. Exit code 1
where it takes longer than --limit seconds (default 20).
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("launcher")
parser.add_argument("processes", type=int)
parser.add_argument("--do", action="append", default=[])
parser.add_argument("--take", type=int, default=0)
parser.add_argument("--limit", type=float, default=20)
parser.add_argument("--bus", action="store_true")
parser.add_argument("--missing", type=int, default=-1)
split = sys.argv.index("--")
options = parser.parse_args(sys.argv[1:split])
command = sys.argv[split + 1:]
count = options.processes


def listener(port=0):
    s = socket.socket()
    s.bind(("127.0.0.1", port))
    s.listen(64)
    return s


def ports_in_a_row(n):
    """The first of them is held, so that nobody else takes it."""
    while True:
        first = listener()
        port = first.getsockname()[1]
        try:
            return first, [listener(port + i) for i in range(1, n + 1)], port
        except OSError:
            first.close()


agent, strangers, master_port = ports_in_a_row(options.take)
folder = tempfile.mkdtemp(dir=os.environ.get("TMPDIR"))
# As long as another run on this machine has it, a number is none of ours.
job = str(os.getpid())


def environment(rank):
    env = dict(os.environ)
    for name in list(env):
        if name.startswith(("SLURM_", "OMPI_", "PMI", "TORCHELASTIC")):
            del env[name]
    if options.bus:
        env["RONDO_EMULATED_GPU_BUS"] = str(rank)
    if options.launcher == "torchrun":
        env.update(RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank),
                   LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1",
                   MASTER_PORT=str(master_port), TORCHELASTIC_RUN_ID=job,
                   TORCHELASTIC_RESTART_COUNT="0",
                   TORCHELASTIC_USE_AGENT_STORE="True")
    elif options.launcher == "srun":
        env.update(SLURM_PROCID=str(rank), SLURM_NTASKS=str(count),
                   SLURM_LOCALID=str(rank), SLURM_JOB_ID=job, SLURM_STEP_ID="0",
                   SLURM_STEP_NODELIST="localhost")
    elif options.launcher == "mpirun":
        env.update(OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE=str(count),
                   OMPI_COMM_WORLD_LOCAL_RANK=str(rank),
                   OMPI_COMM_WORLD_LOCAL_SIZE=str(count), PMIX_NAMESPACE=job,
                   TMPDIR=folder)
    return env


def arguments(rank):
    if options.launcher == "flags":
        return command + ["--rank", str(rank), "--world-size", str(count),
                          "--local-rank", str(rank), "--rdzv",
                          "file://" + os.path.join(folder, "meeting")]
    return command


def start(rank):
    return subprocess.Popen(arguments(rank), env=environment(rank),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


actions = []
for text in options.do:
    rank, action, after = text.split(":", 2)
    actions.append((int(rank), action, after))
processes = {r: start(r) for r in range(count) if r != options.missing}
lines = []
changed = threading.Condition()


def act(line):
    for rank, action, after in list(actions):
        if after in line:
            actions.remove((rank, action, after))
            processes[rank].send_signal(getattr(signal, "SIG" + action))


def follow(rank):
    for raw in processes[rank].stdout:
        line = raw.decode(errors="replace")
        with changed:
            lines.append(line)
            act(line)


begin = time.monotonic()
threads = [threading.Thread(target=follow, args=(r,)) for r in processes]
for thread in threads:
    thread.start()
codes = {}
is_late = False
stopped = {rank for rank, action, _ in actions if action == "STOP"}
for rank in [r for r in processes if r not in stopped] + sorted(stopped):
    left = options.limit - (time.monotonic() - begin)
    if rank in stopped:
        # Whoever is stopped cannot notice that the run has ended.
        processes[rank].send_signal(signal.SIGCONT)
    try:
        codes[rank] = processes[rank].wait(max(left, 0.1))
    except subprocess.TimeoutExpired:
        is_late = True
        processes[rank].kill()
        codes[rank] = "late"
for thread in threads:
    thread.join()
sys.stdout.write("".join(lines))
print("exit codes", *(codes[r] for r in sorted(codes)))
if options.launcher == "torchrun":
    agent.setblocking(False)
    try:
        agent.accept()
        print("the agent's port was used")
    except BlockingIOError:
        pass
sys.exit(1 if is_late else 0)
