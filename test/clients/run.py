# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py CLIENT FOLDER [WORD...]: schedules of Rondo in DeepSpeed, Megatron Core or
torchtitan, over gloo on this machine.

Each case trains some steps with a schedule and compares every parameter, by name, with
the client's own 1F1B. With words, only groups and cases whose names have one of them
are run. The last line is `N passed, N failed, N skipped`; the status is 1
after a failure.
"""

import collections
import importlib
import json
import os
import pathlib
import subprocess
import sys
import time

import rondo

HERE = pathlib.Path(__file__).resolve().parent
# Only ends what hangs: a loaded machine is many times slower.
SECONDS = 3000
counts = collections.Counter()

LINE, V, LOOP = [0, 1], [0, 1, 1, 0], [0, 1, 0, 1]
UNEVEN = [0, 0, 1, 1, 0]
WAVES = [0, 1, 1, 0, 0, 1, 1, 0]


def check(is_good, what):
    counts["passed" if is_good else "failed"] += 1
    print(f"{'ok' if is_good else 'FAILED'}  {what}", flush=True)


def schedule(placement, microbatches, family=None):
    stages = [
        rondo.Stage(
            rank=rank,
            forward_ns=1000,
            input_grad_ns=1200,
            weight_grad_ns=900,
            activation_bytes=4,
            input_grad_frees_bytes=1,
            output_bytes=8,
        )
        for rank in placement
    ]
    problem = rondo.Problem(
        name="client",
        microbatches=microbatches,
        ranks=[rondo.Rank(memory_bytes=None) for _ in range(1 + max(placement))],
        stages=stages,
        link=rondo.Link(latency_ns=100, bytes_per_us=1000),
    )
    if family is None:
        return rondo.search(problem, effort=50)
    return rondo.simulate(problem, family)[0]


def run_processes(program, folder, ranks):
    """True if all ended well in time. All end here, come what may."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "PYTHONWARNINGS": "ignore",
        "RANK_FILE": str(folder / "store"),
        "WORLD_SIZE": str(ranks),
    }
    processes = []
    for rank in range(ranks):
        with open(folder / f"rank{rank}.log", "w") as log:
            command = [sys.executable, str(HERE / program), str(folder)]
            processes.append(
                subprocess.Popen(
                    command,
                    env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )
    end = time.monotonic() + SECONDS
    try:
        while any(p.poll() is None for p in processes):
            is_late = time.monotonic() > end
            if is_late or any(p.poll() not in (None, 0) for p in processes):
                break
            time.sleep(0.1)
        return all(p.poll() == 0 for p in processes)
    finally:
        # Others notice that one has failed; if not, they are stopped.
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def run_group(client, folder, name, ranks, cases):
    """Cases of one group of processes. Each has a limit of the difference, and may
    expect an error instead."""
    folder.mkdir(parents=True)
    for number, case in enumerate(cases):
        if "placement" in case:
            found = schedule(case["placement"], case["microbatches"], case.get("family"))
            case["table"] = str(folder / f"{number}.csv")
            kind = case.get("kind", "torch-csv-comms")
            rondo.export(kind, found, output=case["table"])
            if case.get("as_schedule"):
                case["table"] = str(folder / f"{number}.json")
                found.write(case["table"])
                case["problem"] = str(folder / f"{number}.problem.json")
                found.of.write(case["problem"])
    (folder / "cases.json").write_text(json.dumps(cases))
    begin = time.monotonic()
    is_done = run_processes(f"{client}_train.py", folder, ranks)
    took = time.monotonic() - begin
    reports = []
    for rank in range(ranks):
        path = folder / f"rank{rank}.json"
        reports.append(json.loads(path.read_text()) if path.exists() else {})
    for case in cases:
        seen = [report.get(case["name"]) for report in reports]
        what = f"{client}, {name}: {case['name']}"
        if None in seen:
            check(False, f"{what}: no result")
        elif "refused" in case:
            said = [s.get("said", "no error") for s in seen]
            found = [s for s in said if case["refused"] in s]
            is_good = len(found) == len(said) or (found and case.get("ends"))
            check(is_good, f"{what}: {(found or said)[0]}")
        else:
            worst = max(s["difference"] for s in seen)
            tensors = sum(s["tensors"] for s in seen)
            losses = max(s["losses"] for s in seen)
            is_good = worst <= case["limit"] and tensors >= case["tensors"]
            is_good = is_good and losses <= case.get("loss_limit", case["limit"])
            line = f"{tensors} parameters within {worst:.1e}, losses within {losses:.1e}"
            notes = [s["note"] for s in seen if s.get("note")]
            check(is_good, f"{what}: {line}" + "".join(f"; {n}" for n in notes[:1]))
    print(f"{client}, {name}: {took:.0f} s", flush=True)
    if not is_done:
        logs = [folder / f"rank{rank}.log" for rank in range(ranks)]
        said = "\n".join(f"{p.name}:\n{p.read_text()[-3000:]}" for p in logs)
        check(False, f"{client}, {name}: processes end well and in time\n{said}")


def run_page(client, root):
    """The program of the client's page, if it has one."""
    page = (HERE.parent.parent / "docs" / f"{client}.md").read_text()
    if "```python train.py\n" not in page:
        return
    folder = root / client / "page"
    folder.mkdir(parents=True)
    program = page.split("```python train.py\n")[1].split("```")[0]
    (folder / "train.py").write_text(program)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    try:
        done = subprocess.run(
            [*command, "--nproc-per-node", "2", "train.py"],
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        said = [line for line in done.stdout.splitlines() if line.startswith("loss ")]
        is_good = done.returncode == 0 and len(said) == 1
        check(is_good, f"{client}, the page: {said[0] if is_good else done.stderr[-3000:]}")
    except subprocess.TimeoutExpired:
        check(False, f"{client}, the page's program ends within {SECONDS} s")


def main():
    client, root = sys.argv[1], pathlib.Path(sys.argv[2])
    words = sys.argv[3:]
    for name, ranks, cases in importlib.import_module(f"{client}_cases").groups():
        if words and not any(word in name for word in words):
            cases = [c for c in cases if any(word in c["name"] for word in words)]
        if cases:
            run_group(client, root / client / name.replace(" ", "-"), name, ranks, cases)
    if not words or "page" in words:
        run_page(client, root)
    if not words or "splits" in words:
        command = [sys.executable, str(HERE / "splits.py")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = done.stderr.strip()
        check(done.returncode == 0, f"{client}, splits: {said if done.returncode else 'right'}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, 0 skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
