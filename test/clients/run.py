# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py CLIENT FOLDER [WORD...]: schedules of Rondo in DeepSpeed, Megatron Core or
torchtitan, over gloo on this machine.

Each case trains some steps with a schedule and compares every parameter, by name, with
the client's own 1F1B. With words, only groups and cases whose names have one of them
are run. The last line is `N passed, N failed, N skipped`; the status is 1
after a failure.
"""

import importlib
import json
import os
import pathlib
import subprocess
import sys
import time

import rondo

HERE = pathlib.Path(__file__).resolve().parent
# After this folder: that one has a run.py too.
sys.path.append(str(HERE.parent / "torch"))
import launch  # noqa: E402
from launch import check  # noqa: E402

# Only ends what hangs: a loaded machine is many times slower.
SECONDS = 3000


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
    is_done = launch.run_processes(HERE / f"{client}_train.py", folder, ranks, SECONDS)
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
    """The program of the client's page. It may need stand-ins for this machine, which
    sitecustomize.py, in a folder of this client, puts in place."""
    name = "my_jobs.py" if client == "torchtitan" else "train.py"
    program = launch.program_of(HERE.parent.parent / "docs" / f"{client}.md", name)
    folder = root / client / "page"
    folder.mkdir(parents=True)
    (folder / name).write_text(program)
    paths = [HERE / "pages" / client, HERE, os.environ["PYTHONPATH"]]
    where = {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    for words in PAGES[client]:
        status, said, errors = launch.torchrun(words, folder, SECONDS, environment=where)
        lines = [*said.splitlines(), *errors.splitlines()]
        found = [line for line in lines if any(word in line for word in WORDS)]
        is_good = status == 0 and found
        what = "; ".join(found) if is_good else f"{said[-1500:]}\n{errors[-3000:]}"
        check(is_good, f"{client}, the page, {' '.join(map(str, words))[:40]}: {what}")


# What the programs of pages print.
WORDS = ("loss ", "predicted step", "Training completed")
# The runs of each page's program.
TITAN = ["--module", "my_jobs", "--config"]
PAGES = {
    "deepspeed": [["train.py"]],
    "megatron": [["train.py"]],
    "torchtitan": [
        ["-m", "rondo.torchtitan", "profile", "--placement", "0,1,1,0", "-o", "job", "--steps", "1",
         "--", *TITAN, "my_llama"],
        ["-m", "torchtitan.train", *TITAN, "my_searched_llama"],
    ],
}  # fmt: skip


def run_upstream(client):
    """The scripts that show what is wrong in the client itself."""
    for script in sorted((HERE / "upstream").glob(f"{client}_*.py")):
        if script.stem.endswith("_pip"):
            done = subprocess.run(
                [sys.executable, str(script)], capture_output=True, text=True, check=False
            )
            status, said, errors = done.returncode, done.stdout, done.stderr
        else:
            status, said, errors = launch.torchrun([script], HERE, SECONDS)
        lines = [line for line in said.splitlines() if "gradient" in line or "Python" in line]
        what = "; ".join(lines) if status == 0 else f"{said[-1500:]}\n{errors[-1500:]}"
        check(status == 0, f"{client}, upstream, {script.stem}: {what}")


def run_command_lines(client):
    """Command lines of plans in the client's own parser."""
    printer = pathlib.Path(os.environ["RONDO"]).with_name("rondo-launch-cases")
    command = [sys.executable, str(HERE / "command_lines.py"), client, str(printer)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode != 0:
        check(False, f"{client}, command lines: {done.stderr[-3000:]}")
        return
    for is_good, text in json.loads(done.stdout.splitlines()[-1]):
        check(is_good, f"{client}, command lines: {text}")


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
    if client != "deepspeed" and (not words or "command-lines" in words):
        run_command_lines(client)
    if not words or "upstream" in words:
        run_upstream(client)
    return launch.summary()


if __name__ == "__main__":
    sys.exit(main())
