# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Disturbs a run from outside in every way known here, without its secret.

strangers.py SECONDS PID [ADDRESS]

Finds the ports where process PID and the others of its group listen, and until
SECONDS have passed or the processes are gone calls them at ADDRESS, by default on
the loopback interface, from wherever this program runs: with garbage, slowly, in
silence, a thousand times at once, with handshakes of other connections replayed,
with connections that are reset within a frame, with frames of every kind with
absurd counts and lengths, and as a second process of each rank. Prints how often
each was done, and the largest memory of PID in MiB.
"""

import os
import random
import socket
import struct
import sys
import threading
import time

seconds, pid = float(sys.argv[1]), int(sys.argv[2])
address = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1"
MAGIC = 0x014F444E4F52
random.seed(1)
done = {}
lock = threading.Lock()
deadline = time.monotonic() + seconds
targets = []
is_over = False


def group():
    """The processes that PID's parent has started."""
    def parent(number):
        with open("/proc/%d/stat" % number) as stat:
            return int(stat.read().rsplit(")", 1)[1].split()[1])
    try:
        mother = parent(pid)
    except OSError:
        return []
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if parent(int(name)) == mother and int(name) != os.getpid():
                found.append(int(name))
        except OSError:
            pass
    return found


def ports(processes):
    """Those at ADDRESS, in the network of each process, which may be another one."""
    here = socket.inet_aton(address)[::-1].hex().upper()
    result = set()
    for number in processes:
        inodes = set()
        try:
            for fd in os.listdir("/proc/%d/fd" % number):
                link = os.readlink("/proc/%d/fd/%s" % (number, fd))
                if link.startswith("socket:["):
                    inodes.add(link[8:-1])
            with open("/proc/%d/net/tcp" % number) as table:
                for line in list(table)[1:]:
                    words = line.split()
                    if words[3] == "0A" and words[9] in inodes and words[1].split(":")[0] == here:
                        result.add(int(words[1].split(":")[1], 16))
        except OSError:
            pass
    return sorted(result)


def frame(kind, number, fields, count=None, size=None):
    body = b"".join(struct.pack("<Q", len(f)) + f for f in fields)
    return struct.pack("<QQIIQ", MAGIC, number, kind,
                       len(fields) if count is None else count,
                       len(body) if size is None else size) + body


def count(what):
    with lock:
        done[what] = done.get(what, 0) + 1


def call(port):
    return socket.create_connection((address, port), 2)


def garbage(port):
    with call(port) as s:
        s.sendall(random.randbytes(random.randrange(1, 5000)))


def slow(port):
    with call(port) as s:
        for _ in range(10):
            s.sendall(b"x")
            time.sleep(0.05)


def replay(port):
    """What one connection says, on another one."""
    with call(port) as one, call(port) as other:
        challenge = one.recv(48)
        answer = random.randbytes(64)
        one.sendall(answer)
        verdict = one.recv(40)
        other.recv(48)
        other.sendall((challenge[16:] + verdict[8:])[:64].ljust(64, b"\0"))
        other.recv(40)


def reset(port):
    s = call(port)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.sendall(frame(0, 1, [b"1"])[:random.randrange(1, 40)])
    s.close()


def absurd(port):
    with call(port) as s:
        kind = random.randrange(0, 20)
        s.sendall(bytes(random.choice([0, 64])) +
                  frame(kind, 1, [b"a"], random.choice([0, 1, 2**32 - 1]),
                        random.choice([0, 9, 2**40, 2**63, 2**64 - 1])))
        s.settimeout(0.2)
        s.recv(100)


def claim(port):
    with call(port) as s:
        s.sendall(bytes(64) + frame(0, 1, [b"%d" % random.randrange(4), b"4",
                                           b"", b"chain"]))
        s.settimeout(0.2)
        s.recv(1000)


def many(port):
    held = []
    try:
        for _ in range(1000):
            held.append(call(port))
            count("held open")
        time.sleep(1)
    finally:
        for s in held:
            s.close()


def repeat(attack):
    while not is_over:
        for port in targets:
            try:
                attack(port)
                count(attack.__name__)
            except OSError:
                pass
        time.sleep(0.02)


def memory():
    try:
        with open("/proc/%d/status" % pid) as status:
            for line in status:
                if line.startswith("VmRSS"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0


threads = [threading.Thread(target=repeat, args=(attack,))
           for attack in (garbage, slow, replay, reset, absurd, claim, many)]
for thread in threads:
    thread.start()
largest = 0
while time.monotonic() < deadline and (processes := group()):
    targets = ports(processes)
    largest = max(largest, memory())
    time.sleep(0.05)
is_over = True
for thread in threads:
    thread.join()
print("strangers:", *("%s %d," % item for item in sorted(done.items())),
      "%d MiB" % largest)
