# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py FOLDER [FILES]: schedules of Rondo in PyTorch, over gloo on this machine.

Profiles a small transformer, exports schedules, runs each on 2 and 4 processes,
and compares loss and gradients with those of one process. FILES is a folder of
schedules that PyTorch is known to load or to refuse. The last line is
`N passed, N failed, N skipped`; the status is 1 after a failure.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import launch
import model
import torch
import uneven
from launch import check

import rondo
import rondo.torch

HERE = pathlib.Path(__file__).resolve().parent
MICROBATCHES, SAMPLES, TOLERANCE, SECONDS = 8, 2, 1e-5, 180


def problems(placement, name):
    """Of the search, and one in which B has its own time, for predictions."""
    ids, targets = model.batch(SAMPLES)
    modules = model.stages(len(placement))
    return [
        rondo.torch.profile_stages(
            modules,
            placement,
            ids,
            model.loss_fn,
            targets,
            MICROBATCHES,
            name=name,
            fused=fused,
        )
        for fused in (False, True)
    ]


def backwards_forwards(problem):
    """A schedule whose last stage runs micro-batches from the last to the first."""
    order = range(problem.microbatches - 1, -1, -1)
    rows = [
        [f"0F{i}" for i in order] + [f"0B{i}" for i in order],
        [f"1{kind}{i}" for i in order for kind in "FB"],
    ]
    return rondo.Schedule(problem=problem.name, ranks=rows, of=problem)


CONTROL = "a control, which must differ"


def control():
    """A file that PyTorch runs with gradients of other micro-batches, or ends with an
    error, since the last stage's forwards do not ascend; Rondo neither writes nor reads
    such files."""
    order = [1, 0, *range(2, MICROBATCHES)]
    return "".join(
        ",".join(
            [f"{s}F{i}" for i in order] + [f"{s}B{i}" for i in range(MICROBATCHES)]
        )
        + "\n"
        for s in (0, 1)
    )


def make_cases(ranks):
    """Name, placement, and what makes the schedule of both problems."""
    place = rondo.torch.placement
    line, loop, v = place("loop", ranks), place("loop", ranks, 2), place("v", ranks, 2)
    uneven = [*line, 0] if ranks == 2 else [*line, 0, 1]

    def family(name):
        return lambda plain, fused: rondo.simulate(fused, name)[0]

    def searched(plain, fused):
        return rondo.search(plain, time=1)

    yield "1f1b", line, family("1f1b")
    yield "zb-h1", line, family("zb-h1")
    yield "interleaved-1f1b", loop, family("interleaved-1f1b")
    yield "zbv", v, family("zbv")
    yield "dualpipe-v", v, family("dualpipe-v")
    yield "searched, linear", line, searched
    yield "searched, V", v, searched
    yield "searched, uneven", uneven, searched
    if ranks == 2:
        yield "last forwards descend", line, lambda _, fused: backwards_forwards(fused)


def run_processes(folder, ranks):
    return launch.run_processes(HERE / "train.py", folder, ranks, SECONDS, ["RANK", ranks])


def run_control(folder):
    """Shows that a wrong schedule is noticed: of two ranks, in processes of its own."""
    control_folder = folder / "control"
    control_folder.mkdir()
    case = json.loads((folder / "cases.json").read_text())[0]
    for key in ("problem", "schedule"):
        shutil.copy(folder / case[key], control_folder)
    (control_folder / "control.csv").write_text(control())
    case |= {"name": CONTROL, "csv": "control.csv", "repeats": 0}
    (control_folder / "cases.json").write_text(json.dumps([case]))
    if run_processes(control_folder, 2):
        paths = [control_folder / f"rank{rank}.json" for rank in (0, 1)]
        seen = [json.loads(path.read_text())["cases"][CONTROL] for path in paths]
        gradient = max(s["difference"] for s in seen)
        check(gradient > TOLERANCE, f"{CONTROL}: gradients within {gradient:.1e}")
        return
    text = "".join((control_folder / f"rank{rank}.log").read_text() for rank in (0, 1))
    found = re.search(r"RuntimeError: (\[1\].*gradients None.*)", text)
    check(found, f"{CONTROL}: {found[1] if found else 'another error: ' + text[-1500:]}")


def with_early_messages(cases, folder):
    """The first of the cases whose messages, placed by Rondo, end in one queue a rank."""
    for case in cases:
        schedule = rondo.Schedule.read(folder / case["schedule"])
        schedule.of = rondo.Problem.read(folder / case["problem"])
        try:
            rondo.export("torch-csv-comms", schedule, messages="early")
        except rondo.RondoError as error:
            if "would hang" not in str(error) and "OVERLAP" not in str(error):
                raise
            continue
        name = f"{case['name']}, messages by Rondo"
        return {**case, "name": name, "csv": None, "messages": True, "repeats": 0}
    raise AssertionError("no schedule ends in one queue a rank")


def run_ranks(root, ranks):
    folder = root / f"{ranks}-ranks"
    folder.mkdir(parents=True)
    cases, predicted = [], {}
    for number, (name, placement, make) in enumerate(make_cases(ranks)):
        plain, fused = problems(placement, name)
        schedule = make(plain, fused)
        predicted[name] = schedule.makespan_ns
        case = {"name": name, "placement": placement, "microbatches": MICROBATCHES}
        case |= {"samples": SAMPLES, "repeats": 5}
        case |= {"problem": f"{number}.problem.json", "schedule": f"{number}.json"}
        schedule.of.write(folder / case["problem"])
        schedule.write(folder / case["schedule"])
        cases.append(case)
    # A file instead of a schedule.
    first = dict(cases[0], name="1f1b, from a file", csv="0.csv", repeats=0)
    schedule = rondo.Schedule.read(folder / first["schedule"])
    schedule.of = rondo.Problem.read(folder / first["problem"])
    rondo.export("torch-csv", schedule, output=folder / first["csv"])
    cases.append(first)
    cases.append(with_early_messages(cases, folder))
    (folder / "cases.json").write_text(json.dumps(cases))

    is_done = run_processes(folder, ranks)
    reports = []
    for rank in range(ranks):
        path = folder / f"rank{rank}.json"
        reports.append(json.loads(path.read_text()) if path.exists() else {"cases": {}})
    for case in cases:
        name = case["name"]
        seen = [report["cases"].get(name) for report in reports]
        if None in seen:
            check(False, f"{ranks} processes, {name}: no result")
            continue
        gradient = max(s["difference"] for s in seen)
        loss = max(s.get("loss_difference", 0) for s in seen)
        tensors = sum(s["tensors"] for s in seen)
        line = f"{ranks} processes, {name}: {tensors} gradients within {gradient:.1e}"
        line += f", loss within {loss:.1e}"
        step = max(s["step_ns"] for s in seen)
        if predicted.get(name) and step:
            times = f"{predicted[name] / 1e6:.1f} ms, measured {step / 1e6:.1f} ms"
            line += f"; predicted {times}"
        check(max(gradient, loss) <= TOLERANCE and tensors > 0, line)
    if not is_done:
        logs = [folder / f"rank{rank}.log" for rank in range(ranks)]
        said = "\n".join(f"{p.name}:\n{p.read_text()[-1500:]}" for p in logs)
        check(False, f"{ranks} processes end well and in time\n{said}")
        return
    for rank, report in enumerate(reports):
        first, second, third = report["refusals"]
        expected = f"rank {rank} has stage {rank} in the schedule"
        check(first.startswith(expected), f"refused: {first}")
        check(f"one of {ranks + 1}" in second, f"refused: {second}")
        check("does not divide by" in third, f"refused: {third}")
    if ranks == 2:
        run_control(folder)
    host = reports[0]["host"]
    text = ", ".join(f"{ns / 1000:.0f} us" for ns in host)
    check(all(ns > 0 for ns in host), f"an action, a send, a receive, a wait: {text}")


UNEVEN_TOLERANCE = 1e-6


def make_uneven_cases(folder):
    """Micro-batches of several lengths, which are padded; and some with as many tokens
    each, in documents of several lengths, whose times alone differ."""
    lengths = [64, 9, 33, 17, 48, 25]
    squares = [length**2 for length in lengths]
    lengthy = uneven.problem("lengths", lengths, squares)
    packed = uneven.problem("packed", [64] * 6, [64 * length for length in lengths])
    makes = [
        ("1f1b, descending", lengthy, lambda of: rondo.simulate(of, "1f1b:order=descending")[0]),
        ("zb-h1, ascending", lengthy, lambda of: rondo.simulate(of, "zb-h1:order=ascending")[0]),
        ("searched", lengthy, lambda of: rondo.search(of, effort=2000)),
        ("searched, one shape", packed, lambda of: rondo.search(of, effort=2000)),
    ]
    for number, (name, problem, make) in enumerate(makes):
        case = {"name": name, "problem": f"{number}.problem.json", "schedule": f"{number}.json"}
        case |= {"lengths": lengths if problem is lengthy else [64] * 6}
        case |= {"pad": problem is lengthy, "mean": False}
        problem.write(folder / case["problem"])
        make(problem).write(folder / case["schedule"])
        yield case
    # Without loss_is_share the loss is divided by the number of micro-batches.
    yield case | {"name": "a control, whose loss is divided twice", "mean": True}


def run_uneven(root):
    folder = root / "uneven"
    folder.mkdir()
    cases = list(make_uneven_cases(folder))
    (folder / "cases.json").write_text(json.dumps(cases))
    is_done = launch.run_processes(HERE / "uneven.py", folder, 2, SECONDS, ["RANK", 2])
    if not is_done:
        logs = [(folder / f"rank{rank}.log").read_text()[-1500:] for rank in (0, 1)]
        check(False, "uneven micro-batches end well and in time\n" + "\n".join(logs))
        return
    reports = [json.loads((folder / f"rank{rank}.json").read_text()) for rank in (0, 1)]
    for case in cases:
        seen = [report["cases"][case["name"]] for report in reports]
        gradient = max(s["difference"] for s in seen)
        loss = max(s["loss_difference"] for s in seen)
        tensors = sum(s["tensors"] for s in seen)
        line = f"uneven, {case['name']}: {tensors} gradients within {gradient:.1e}, loss within {loss:.1e}"
        is_equal = max(gradient, loss) <= UNEVEN_TOLERANCE and tensors > 0
        check(is_equal != case["mean"], line)
    for report in reports:
        check("--pad" in report["refusal"], f"refused: {report['refusal']}")


# Files that PyTorch refuses to load: the first version that does, and the first
# that loads them again. It loads all others.
REFUSED = {
    "bad-blank-cell.comms.csv": [(0, 0)],
    "bad-blank-last-line.csv": [(0, 0)],
    "bad-bom.csv": [(0, 0)],
    "bad-comms-in-compute-only.csv": [(2, 9)],
    "bad-cross-rank-cycle.csv": [(0, 0)],
    "bad-deadlock.csv": [(0, 0)],
    "bad-duplicate-f.csv": [(2, 15)],
    "bad-lower-case.csv": [(0, 0)],
    "bad-missing-rank.csv": [(0, 0)],
    "bad-missing-recv.comms.csv": [(0, 0), (2, 15)],
    "bad-missing-w.csv": [(0, 0)],
    "bad-no-reduce-scale.comms.csv": [(0, 0), (2, 15)],
    "bad-no-wait-reduce.comms.csv": [(0, 0)],
    "bad-old-dialect.comms.csv": [(0, 0), (2, 10), (2, 15)],
    "bad-stage-gap.csv": [(0, 0)],
    "bad-stage-on-two-ranks.csv": [(0, 0)],
    "odd-no-reduce.comms.csv": [(0, 0), (2, 15)],
    "torch-1f1b-p4m8.csv": [(0, 0)],
    "torch-interleaved-p2v2m4.comms.csv": [(0, 0), (2, 15)],
    "torch-loopedbfs-p2v2m4.comms.csv": [(0, 0), (2, 15)],
    "torch-zbv-p4m8.comms.csv": [(0, 0), (2, 15)],
}


def run_page(root):
    """The program of docs/pytorch.md."""
    program = launch.program_of(HERE.parent.parent / "docs" / "pytorch.md", "train.py")
    lines = sum(bool(line.strip()) for line in program.splitlines())
    (root / "train.py").write_text(program)
    status, said, errors = launch.torchrun(["train.py"], root, SECONDS)
    last = (said.strip().splitlines() or [""])[-1]
    is_good = status == 0 and last.startswith("loss ")
    check(is_good and lines <= 20, f"the page's {lines} lines: {last or errors}")


def run_model(root):
    """The program of docs/pytorch.md that cuts a model of transformers."""
    program = launch.program_of(HERE.parent.parent / "docs" / "pytorch.md", "gpt2.py")
    (root / "gpt2.py").write_text(program)
    status, said, errors = launch.torchrun(["gpt2.py"], root, SECONDS)
    found = re.search(r"^loss (\S+) whole model (\S+)$", said, re.MULTILINE)
    is_good = status == 0 and found is not None
    is_good = is_good and abs(float(found[1]) - float(found[2])) < TOLERANCE
    check(is_good, f"a model in stages: {found[0] if found else errors}")


def run_tutorial(root):
    """The program of docs/tutorial.md, with a schedule of two stages and 32 micro-batches."""
    folder = root / "tutorial"
    folder.mkdir()
    problem = rondo.Problem.read(HERE.parent.parent / "examples" / "uneven.json")
    problem.ranks, problem.stages, problem.microbatches = problem.ranks[1:], problem.stages[1:], 32
    for rank, stage in enumerate(problem.stages):
        stage.rank = rank
    rondo.export("torch-csv", rondo.simulate(problem, "zb-auto")[0], output=folder / "schedule.csv")
    page = HERE.parent.parent / "docs" / "tutorial.md"
    (folder / "train.py").write_text(launch.program_of(page, "train.py"))
    status, said, errors = launch.torchrun(["train.py"], folder, SECONDS)
    last = (said.strip().splitlines() or [""])[-1]
    check(status == 0 and last.startswith("loss "), f"the tutorial: {last or errors}")


def load_files(files):
    paths = sorted(str(path) for path in files.glob("*.csv"))
    done = subprocess.run(
        [sys.executable, str(HERE / "load.py"), *paths],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    check(len(said) == len(paths), f"{len(said)} of {len(paths)} files were tried")
    version = tuple(map(int, torch.__version__.split(".")[:2]))
    for line in said:
        name, is_loaded = line["file"], line["said"] == "loads"
        changes = [v for v in REFUSED.get(name, []) if version >= v]
        is_refused = len(changes) % 2 == 1
        check(is_loaded != is_refused, f"{name}: PyTorch {line['said']}")


def main():
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}", flush=True)
    root = pathlib.Path(sys.argv[1])
    for ranks in (2, 4):
        run_ranks(root, ranks)
    run_uneven(root)
    run_page(root)
    run_model(root)
    run_tutorial(root)
    if len(sys.argv) > 2:
        load_files(pathlib.Path(sys.argv[2]))
    return launch.summary()


sys.exit(main())
