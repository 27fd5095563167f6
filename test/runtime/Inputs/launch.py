# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts the processes of a run as a launcher does, and prints their output.

launch.py [flags] LAUNCHER PROCESSES -- PROGRAM ARGUMENTS...

LAUNCHER is torchrun, whose agent listens on MASTER_PORT and never answers; srun;
mpirun; or flags. It only sets the environment, or the flags.

The exit codes follow the output of all processes, in the order of ranks. Exit
code 1 if a process takes too long.
"""

import argparse
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

split = sys.argv.index("--")
parser = argparse.ArgumentParser()
parser.add_argument("launcher", choices=["torchrun", "srun", "mpirun", "flags"])
parser.add_argument("processes", type=int)
parser.add_argument("--signal", metavar="RANK:NAME:TEXT",
                    help="sends a signal, such as KILL, when TEXT is printed")
parser.add_argument("--missing", type=int, metavar="RANK", help="is not started")
parser.add_argument("--first", default="", metavar="FLAGS",
                    help="of process 0 alone, after the others")
parser.add_argument("--take", type=int, default=0, metavar="N",
                    help="other sockets listen on the N ports after MASTER_PORT without answering")
parser.add_argument("--one-gpu-each", action="store_true",
                    help="each process sees another GPU as its first")
parser.add_argument("--no-local-rank", action="store_true",
                    help="flags leave it out")
parser.add_argument("--strangers", type=float, metavar="SECONDS",
                    help="disturb the run for so long; the last process starts 2 s late")
parser.add_argument("--jobs", type=int, default=1, help="number at the same time")
parser.add_argument("--limit", type=float, default=60, help="seconds")
options = parser.parse_args(sys.argv[1:split])
command = sys.argv[split + 1:]
count = options.processes
stopped = -1
if options.signal and ":STOP:" in options.signal:
    stopped = int(options.signal.split(":")[0])


def listen(port=0):
    listener = socket.socket()
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    return listener


def listen_in_a_row():
    """The agent's socket, and those after it."""
    while True:
        agent = listen()
        port = agent.getsockname()[1]
        try:
            return agent, [listen(port + i + 1) for i in range(options.take)]
        except OSError:
            agent.close()


class Job:
    def __init__(self, number):
        # Unique among the runs on this machine.
        self.name = "%d%d" % (os.getpid(), number)
        self.folder = tempfile.mkdtemp()
        self.agent, self.strangers = listen_in_a_row()
        self.lines = []
        self.processes = {r: self.start(r) for r in range(count)
                          if r != options.missing and not (options.strangers and r == count - 1)}
        self.disturber = None
        if options.strangers:
            self.disturber = subprocess.Popen(
                [sys.executable, os.path.join(os.path.dirname(__file__), "strangers.py"),
                 str(options.strangers), str(self.processes[0].pid)])
            time.sleep(2)
            self.processes[count - 1] = self.start(count - 1)
        self.threads = [threading.Thread(target=self.follow, args=(process,))
                        for process in self.processes.values()]
        for thread in self.threads:
            thread.start()

    def start(self, rank):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(("SLURM_", "OMPI_", "PMI", "TORCHELASTIC"))}
        arguments = []
        if options.one_gpu_each:
            env["RONDO_EMULATED_GPU"] = str(rank)
        if options.launcher == "torchrun":
            env.update(RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank),
                       LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1",
                       MASTER_PORT=str(self.agent.getsockname()[1]),
                       TORCHELASTIC_RUN_ID="none", TORCHELASTIC_RESTART_COUNT="0",
                       TORCHELASTIC_USE_AGENT_STORE="True")
        elif options.launcher == "srun":
            env.update(SLURM_PROCID=str(rank), SLURM_NTASKS=str(count),
                       SLURM_LOCALID=str(rank), SLURM_JOB_ID=self.name,
                       SLURM_STEP_ID="0", SLURM_STEP_NODELIST="localhost")
        elif options.launcher == "mpirun":
            env.update(OMPI_COMM_WORLD_RANK=str(rank),
                       OMPI_COMM_WORLD_SIZE=str(count),
                       OMPI_COMM_WORLD_LOCAL_RANK=str(rank),
                       OMPI_COMM_WORLD_LOCAL_SIZE=str(count),
                       PMIX_NAMESPACE=self.name, TMPDIR=self.folder)
        else:
            arguments = ["--rank", str(rank), "--world-size", str(count),
                         "--rdzv", "file://%s/meeting" % self.folder]
            if not options.no_local_rank:
                arguments += ["--local-rank", str(rank)]
        if rank == 0:
            arguments += shlex.split(options.first)
        return subprocess.Popen(command + arguments, env=env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def follow(self, process):
        for raw in process.stdout:
            line = raw.decode(errors="replace")
            self.lines.append(line)
            if options.signal:
                rank, name, text = options.signal.split(":", 2)
                if text in line:
                    options.signal = None
                    self.processes[int(rank)].send_signal(
                        getattr(signal, "SIG" + name))

    def wait(self):
        """The exit codes. Stopped processes cannot end, and are continued at last."""
        codes = {}
        for rank in sorted(self.processes, key=lambda r: (r == stopped, r)):
            process = self.processes[rank]
            if rank == stopped:
                process.send_signal(signal.SIGCONT)
            try:
                codes[rank] = process.wait(
                    max(0.1, options.limit - (time.monotonic() - begin)))
            except subprocess.TimeoutExpired:
                process.kill()
                codes[rank] = "late"
        for thread in self.threads:
            thread.join()
        if self.disturber:
            self.disturber.wait()
        shutil.rmtree(self.folder)
        return [codes[rank] for rank in sorted(codes)]


begin = time.monotonic()
jobs = [Job(number) for number in range(options.jobs)]
status = 0
for job in jobs:
    codes = job.wait()
    sys.stdout.write("".join(job.lines))
    print("exit codes", *codes)
    if "late" in codes:
        status = 1
    if options.launcher == "torchrun":
        job.agent.setblocking(False)
        try:
            job.agent.accept()
            print("MASTER_PORT is the agent's, but was used")
            status = 1
        except BlockingIOError:
            pass
sys.exit(status)
