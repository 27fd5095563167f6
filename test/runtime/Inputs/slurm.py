# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command in a Slurm of its own: all nodes are this machine.

slurm.py [--nodes N] [--limit SECONDS] -- COMMAND ARGUMENTS...

The daemons run as the calling user, with a folder, a key and ports of their own,
and listen only on the loopback interface. They end with the command, whose exit
code is returned; 98 if it takes too long. If Slurm does not start within 20 s,
this prints why and returns 99.
"""

import argparse
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

split = sys.argv.index("--")
parser = argparse.ArgumentParser()
parser.add_argument("--nodes", type=int, default=1)
parser.add_argument("--limit", type=float, default=150)
options = parser.parse_args(sys.argv[1:split])

# Names of nodes that every machine can resolve.
NODES = ["127.0.0.%d" % (i + 1) for i in range(options.nodes)]


def free_ports(count):
    """Ports that no system uses for outgoing connections."""
    ports = []
    while len(ports) < count:
        port = random.randrange(10000, 20000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                ports.append(port)
            except OSError:
                pass
    return ports


def write_configuration(folder):
    ports = free_ports(options.nodes + 1)
    user = pwd.getpwuid(os.getuid()).pw_name
    lines = [
        "ClusterName=test",
        "SlurmctldHost=localhost(127.0.0.1)",
        "SlurmctldPort=%d" % ports[0],
        "SlurmUser=" + user,
        "SlurmdUser=" + user,
        "AuthType=auth/munge",
        "AuthInfo=socket=%s/munge.socket" % folder,
        "CredType=cred/munge",
        "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny",
        "StateSaveLocation=%s/state" % folder,
        "SlurmdSpoolDir=%s/%%n" % folder,
        "SlurmctldPidFile=%s/slurmctld.pid" % folder,
        "SlurmdPidFile=%s/%%n.pid" % folder,
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU",
        "SlurmdParameters=config_overrides",
        "MpiDefault=none",
        "MailProg=/bin/true",
        "ReturnToService=2",
        "SwitchType=switch/none",
    ]
    for node, port in zip(NODES, ports[1:]):
        lines.append("NodeName=%s NodeAddr=127.0.0.1 NodeHostname=localhost "
                     "Port=%d CPUs=16 State=UNKNOWN" % (node, port))
    lines.append("PartitionName=all Nodes=ALL Default=YES State=UP")
    with open(folder + "/slurm.conf", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def tasks(configuration):
    """The processes of steps."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/environ" % name, "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            continue
        if (b"SLURM_CONF=" + configuration.encode() in variables
                and any(v.startswith(b"SLURM_PROCID=") for v in variables)):
            found.append(int(name))
    return found


def end_jobs(environment):
    """Ends what the command left running; it would outlive the daemons."""
    def ask(*command):
        try:
            return subprocess.run(command, env=environment, capture_output=True,
                                  timeout=10, check=False).stdout
        except subprocess.TimeoutExpired:
            return b""

    ask("scancel", "--quiet", "--user=%d" % os.getuid())
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for pid in tasks(environment["SLURM_CONF"]):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not ask("squeue", "--noheader"):
            return
        time.sleep(0.1)


def main():
    folder = tempfile.mkdtemp(prefix="slurm-")
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("SLURM_")}
    environment["SLURM_CONF"] = folder + "/slurm.conf"
    environment["PATH"] = environment["PATH"] + ":/usr/sbin:/sbin"
    os.mkdir(folder + "/state")
    with open(folder + "/munge.key", "wb") as file:
        file.write(os.urandom(128))
    os.chmod(folder + "/munge.key", 0o600)
    write_configuration(folder)
    daemons = []

    def start(name, *arguments):
        log = open("%s/%s.log" % (folder, name), "wb")
        daemons.append(subprocess.Popen(arguments, env=environment, cwd=folder,
                                        stdin=subprocess.DEVNULL, stdout=log,
                                        stderr=log))

    try:
        start("munged", "munged", "--foreground", "--force", "--num-threads=2",
              "--key-file=%s/munge.key" % folder,
              "--socket=%s/munge.socket" % folder,
              "--pid-file=%s/munged.pid" % folder,
              "--log-file=%s/munged.log" % folder,
              "--seed-file=%s/munged.seed" % folder)
        start("slurmctld", "slurmctld", "-D")
        for node in NODES:
            start(node, "slurmd", "-D", "-N", node)
        deadline = time.monotonic() + 20
        while True:
            states = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"],
                                    env=environment, capture_output=True,
                                    text=True, check=False).stdout.split()
            if states == ["idle"] * options.nodes:
                break
            if time.monotonic() > deadline:
                print("slurm does not start")
                for name in sorted(os.listdir(folder)):
                    if name.endswith(".log"):
                        with open(folder + "/" + name, errors="replace") as file:
                            print("--", name, file.read(), sep="\n")
                return 99
            time.sleep(0.1)
        command = subprocess.Popen(sys.argv[split + 1:], env=environment,
                                   start_new_session=True)
        try:
            return command.wait(options.limit)
        except subprocess.TimeoutExpired:
            print("slurm.py: it takes longer than %g s" % options.limit, flush=True)
            return 98
        finally:
            try:
                os.killpg(command.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    finally:
        end_jobs(environment)
        # Clients end before the daemon they talk to.
        for daemon in reversed(daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())
