# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a disk that fails or is slow does to the checkpoints of two processes.

save-faults.py kill|full|order|slow|stale TRAIN LIBRARY FOLDER

TRAIN is the program of two-stages.mlir, LIBRARY what watched-files.c becomes. A
run goes on from a checkpoint of iteration 2 to 4 and saves to the same name;
meanwhile one process meets the fault at its N-th change of the disk, for each N.
Then a run without a fault goes on to 6, whose tensors and files are compared.
Exit code 1 if anything differs.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import checkpoint

kind, train, library = sys.argv[1:4]
home = pathlib.Path(sys.argv[4]).resolve()
train = os.path.abspath(train)


def run(folder, iterations, fault=None, more=(), source="--resume", save="m.safetensors"):
    """The exit codes, and what both processes print."""
    with tempfile.TemporaryDirectory() as meeting:
        words = [train, "--quiet", "--decay", "6", "--iterations", str(iterations), "--save", folder / save,
                 source, folder / "m.safetensors", "--world-size", "2", "--rdzv", f"file://{meeting}/at", *more]
        env = dict(os.environ)
        if fault:
            env.update(LD_PRELOAD=os.path.abspath(library), WATCHED=str(folder), **fault)
        processes = [subprocess.Popen([*map(str, words), "--rank", str(rank), "--local-rank", str(rank)],
                                      env=dict(env, RANK=str(rank)), stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True) for rank in (0, 1)]
        texts = [process.communicate(timeout=60)[0] for process in processes]
        return [process.returncode for process in processes], "".join(texts)


def files_of(folder):
    """What the checkpoint consists of."""
    path = folder / "m.safetensors"
    names = {path.name} if path.exists() else set()
    index = folder / "m.safetensors.index.json"
    if index.exists():
        names |= {index.name, *json.loads(index.read_text())["weight_map"].values()}
    return names


def require(condition, what, output=""):
    if not condition:
        sys.exit(f"{what}\n{output}")


def checkpoint_of(name, processes):
    """A folder with a checkpoint of iteration 2."""
    folder = home / name
    folder.mkdir()
    if processes == 2:
        codes, output = run(folder, 2)
        require(codes == [0, 0], "a run without a fault fails", output)
    else:
        subprocess.run([train, "--quiet", "--decay", "6", "--iterations", "2", "--save", folder / "m.safetensors"],
                       check=True, stdout=subprocess.DEVNULL)
    return folder


def at_each(base, rank, word):
    """Tries the fault at each change of the disk; returns at how many."""
    folder = home / "work"
    for number in range(1, 1000):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(base, folder)
        where = f"{base.name}, rank {rank}, change {number}"
        codes, output = run(folder, 4, {word: str(number), "WATCHED_RANK": str(rank)})
        if codes == [0, 0]:
            require(number > 5, f"{where}: there are few changes", output)
            return number - 1
        if word == "WATCHED_FULL":
            require(codes == [1, 1] and output.count("error: ") == 1 and "No space left on device" in output,
                    f"{where}: exit codes {codes}", output)
            # Once the index has its name, a folder that cannot be synced may still lose it: old shards stay.
            left = set(os.listdir(folder)) - files_of(folder)
            require(not left or (left <= files_of(base) and "-iter4-" in "".join(files_of(folder))),
                    f"{where}: leaves {left}", output)
        else:
            require(sorted(codes)[0] == -9 and sorted(codes)[1] != 0, f"{where}: exit codes {codes}", output)
        codes, output = run(folder, 6)
        require(codes == [0, 0], f"{where}: cannot be resumed", output)
        left = set(os.listdir(folder))
        require(left == files_of(folder) and len(left) == 3, f"{where}: {sorted(left)} are left", output)
        require(checkpoint.read(folder / "m.safetensors") == expected, f"{where}: other weights", output)
    return None


def check_order(base):
    """Shards are on the disk before the index has its name, and old ones go after that."""
    old = files_of(base)
    log = home / "log"
    codes, output = run(base, 4, {"WATCHED_LOG": str(log)})
    require(codes == [0, 0], "the run fails", output)
    index, shards = "m.safetensors.index.json", files_of(base) - {"m.safetensors.index.json"}
    lines = [line.split() for line in log.read_text().splitlines()]
    lines = lines[min(i for i, (_, name) in enumerate(lines) if name in shards):]
    print(*(" ".join(line) for line in lines), sep="\n")
    renamed = lines.index(["rename", index])
    for shard in shards:
        # Before another process opens it.
        require(lines.index(["truncate", shard]) < lines.index(["write", shard]), f"{shard} grows")
        synced = lines.index(["fsync", shard])
        require(max(i for i, line in enumerate(lines) if line == ["write", shard]) < synced,
                f"{shard} is written after it was synced")
        require(["fsync", base.name] in lines[synced:renamed], f"the name of {shard} is not synced")
    temporary = [i for i, (call, name) in enumerate(lines) if call == "fsync" and name.startswith(index + ".tmp.")]
    require(temporary and temporary[-1] < renamed, "the index is renamed before it is synced")
    for name in old - {index}:
        gone = lines.index(["unlink", name])
        require(["fsync", base.name] in lines[renamed:gone], f"{name} is removed before the index is synced")


home.mkdir(exist_ok=True)
if kind == "slow":
    slow = checkpoint_of("slow", 2)
    for rank in (0, 1):
        codes, output = run(slow, 4 + rank, {"WATCHED_MS": "700", "WATCHED_RANK": str(rank)}, ["--timeout", "2"])
        require(codes == [0, 0], f"rank {rank} is slow: exit codes {codes}", output)
        print(f"rank {rank} is slow: saved and resumed")
        codes, output = run(slow, 1, {"WATCHED_MS": "700", "WATCHED_RANK": str(rank)}, ["--timeout", "2"], "--init",
                            f"{rank}.safetensors")
        require(codes == [0, 0], f"rank {rank} is slow: exit codes {codes}", output)
        print(f"rank {rank} is slow: initial weights read")
    sys.exit()
if kind == "stale":
    codes, output = run(checkpoint_of("stale", 2), 4, {"WATCHED_STALE": "1"})
    require(codes == [0, 0], "the run fails", output)
    print("saved")
    sys.exit()
if kind == "order":
    check_order(checkpoint_of("order", 2))
    print("in order")
    sys.exit()
last = checkpoint_of("last", 2)
run(last, 6)
expected = checkpoint.read(last / "m.safetensors")
fault = {"kill": "WATCHED_KILL", "full": "WATCHED_FULL"}[kind]
for base, ranks in ((checkpoint_of("shards", 2), (0, 1)), (checkpoint_of("whole", 1), (0,) if kind == "kill" else ())):
    for rank in ranks:
        print(f"{base.name}, rank {rank}: {at_each(base, rank, fault)} changes")
