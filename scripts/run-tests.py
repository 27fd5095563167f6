#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every test that ctest knows of and counts single cases.

    scripts/run-tests.py BUILD

lit tests, gtest cases, Python's and all other ctest tests count as one each. Tests
with the property RUN_SERIAL run alone, the others side by side, one per core. The
slowest 30 are listed. The last line, also in BUILD/test/summary.txt, is
`N passed, N failed, N skipped`. Status 1 if anything failed or nothing ran.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

TIMEOUT_S = 1500
SLOWEST = 30
FAILURE_LINES = 20  # of a failed test, once more at the end

# `seconds` is None if nothing measured the case alone.
Case = collections.namedtuple("Case", "name result text seconds", defaults=[None])


def run(command, cwd, environment=None):
    """Status and output of a command; status 124 if it took too long."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode(errors="replace")
        return 124, text + f"\nstopped after {TIMEOUT_S} s"
    except OSError as error:
        return 127, str(error)


def run_lit(command, cwd, scratch):
    """The cases of a lit run."""
    report = scratch / "lit.json"
    report.unlink(missing_ok=True)
    # Many tests sleep or wait for other processes, so one more than the cores.
    workers = len(os.sched_getaffinity(0)) + 1
    status, output = run([*command, f"-j{workers}", "--output", str(report)], cwd)
    if not report.exists():
        return [Case("lit", "failed", f"status {status}\n{output}")]
    kinds = {
        "PASS": "passed",
        "XFAIL": "passed",
        "FLAKYPASS": "passed",
        "UNSUPPORTED": "skipped",
        "SKIPPED": "skipped",
    }
    cases = []
    for test in json.loads(report.read_text())["tests"]:
        # "rondo :: dialect/ops.mlir"
        name = test["name"].replace(" :: ", "/", 1)
        result = kinds.get(test["code"], "failed")
        cases.append(Case(name, result, test["output"].strip(), test["elapsed"]))
    return cases


def run_gtest(name, executable, cwd, environment, scratch):
    """The cases of a gtest executable."""
    report = scratch / f"{name}.json"
    report.unlink(missing_ok=True)
    status, output = run(
        [executable, f"--gtest_output=json:{report}", "--gtest_color=no"],
        cwd,
        environment,
    )
    if not report.exists():
        return [Case(name, "failed", f"status {status}\n{output}")]
    reasons = skip_reasons(output)
    cases = []
    for suite in json.loads(report.read_text())["testsuites"]:
        for test in suite["testsuite"]:
            case = f"{name}/{suite['name']}.{test['name']}"
            seconds = float(test["time"].rstrip("s"))
            if test.get("failures"):
                text = "\n".join(f["failure"] for f in test["failures"])
                cases.append(Case(case, "failed", text, seconds))
            elif test["result"] == "COMPLETED":
                cases.append(Case(case, "passed", "", seconds))
            else:
                text = "disabled" if test["status"] == "NOTRUN" else ""
                text = reasons.get(f"{suite['name']}.{test['name']}", text)
                cases.append(Case(case, "skipped", text))
    if status != 0 and all(case.result != "failed" for case in cases):
        cases.append(Case(name, "failed", f"status {status}\n{output}"))
    return cases


def run_python(command, cwd, environment, scratch):
    """The cases of test/python/run.py."""
    report = scratch / "python.json"
    report.unlink(missing_ok=True)
    status, output = run([*command, str(report)], cwd, environment)
    if not report.exists():
        return [Case("python", "failed", f"status {status}\n{output}")]
    return [Case(*case) for case in json.loads(report.read_text())]


def skip_reasons(output):
    """What GTEST_SKIP() said by case; gtest's report leaves it out."""
    said = {}
    case = None
    lines = output.splitlines()
    for line, following in zip(lines, lines[1:]):
        if line.startswith("[ RUN      ] "):
            case = line[13:]
        elif line.endswith(": Skipped") and not following.startswith("["):
            said[case] = following.strip()
    return said


def run_other(test, cwd, environment):
    start = time.monotonic()
    status, output = run(test["command"], cwd, environment)
    seconds = time.monotonic() - start
    skip_codes = properties(test).get("SKIP_RETURN_CODE")
    result = "passed" if status == 0 else "failed"
    if skip_codes is not None and status == skip_codes:
        result = "skipped"
    return [Case(test["name"], result, output.strip(), seconds)]


def properties(test):
    return {p["name"]: p["value"] for p in test.get("properties", [])}


def is_gtest(executable):
    with open(executable, "rb") as file:
        return b"gtest_list_tests" in file.read()


def runs_alone(test):
    return properties(test).get("RUN_SERIAL", False)


def run_test(test, build, scratch):
    """The cases of a test, and the seconds that it took."""
    values = properties(test)
    cwd = values.get("WORKING_DIRECTORY", str(build))
    environment = dict(item.split("=", 1) for item in values.get("ENVIRONMENT", []))
    executable = test["command"][0]
    start = time.monotonic()
    if test["name"] == "lit":
        cases = run_lit(test["command"], cwd, scratch)
    elif test["name"] == "python":
        cases = run_python(test["command"], cwd, environment, scratch)
    elif os.access(executable, os.X_OK) and is_gtest(executable):
        # One executable may be several tests, with different environments.
        cases = run_gtest(test["name"], executable, cwd, environment, scratch)
    else:
        cases = run_other(test, cwd, environment)
    return cases, time.monotonic() - start


def report(test, cases, seconds):
    """Prints a test's results."""
    counts = collections.Counter(case.result for case in cases)
    print(f"{test['name']} ... {line_of(counts)} ({seconds:.1f} s)", flush=True)
    for case in cases:
        if case.result == "failed":
            print(f"FAILED {case.name}\n{case.text}\n")
        elif case.result == "skipped":
            reason = case.text.splitlines()[-1] if case.text else "no reason given"
            print(f"  skipped {case.name}: {reason}")


def list_failures(cases):
    """Repeats, after all other output, what each failed test says: of lit the command with the
    first error, of others what follows the first error."""
    for case in cases:
        if case.result != "failed":
            continue
        lines = case.text.splitlines()
        first = next((i for i, line in enumerate(lines) if "error:" in line.lower()), None)
        if first is None:
            shown = lines[-FAILURE_LINES:]
        else:
            runs = [i for i in range(first) if lines[i].startswith("# RUN: at line")]
            first = runs[-1] if runs else first
            shown = lines[first : first + FAILURE_LINES]
        print("\n  ".join([f"FAILED {case.name}", *shown]))


def list_slowest(cases):
    timed = sorted(
        (case for case in cases if case.seconds is not None),
        key=lambda case: (-case.seconds, case.name),
    )
    total = sum(case.seconds for case in timed)
    slowest = timed[:SLOWEST]
    part = sum(case.seconds for case in slowest)
    print(f"the {len(slowest)} slowest of {len(timed)} tests, {part:.1f} of {total:.1f} s:")
    for case in slowest:
        print(f"{case.seconds:7.1f} s  {case.name}")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    scratch = build / "test"
    scratch.mkdir(parents=True, exist_ok=True)
    listing = subprocess.run(
        ["ctest", "--show-only=json-v1"],
        cwd=build,
        stdout=subprocess.PIPE,
        check=False,
    )
    tests = json.loads(listing.stdout)["tests"] if listing.returncode == 0 else []

    all_cases = []
    built = [test for test in tests if "command" in test]
    for test in tests:
        if test not in built:
            all_cases.append(Case(test["name"], "failed", "it was not built"))
            print(f"FAILED {test['name']}: it was not built")
    for test in (test for test in built if runs_alone(test)):
        cases, seconds = run_test(test, build, scratch)
        report(test, cases, seconds)
        all_cases += cases
    others = [test for test in built if not runs_alone(test)]
    cores = len(os.sched_getaffinity(0))
    with concurrent.futures.ThreadPoolExecutor(max_workers=cores) as pool:
        running = {pool.submit(run_test, test, build, scratch): test for test in others}
        for done in concurrent.futures.as_completed(running):
            cases, seconds = done.result()
            report(running[done], cases, seconds)
            all_cases += cases

    list_slowest(all_cases)
    list_failures(all_cases)
    counts = collections.Counter(case.result for case in all_cases)
    if not counts["passed"] + counts["failed"]:
        print("no test ran")
        counts["failed"] += 1
    summary = line_of(counts)
    (scratch / "summary.txt").write_text(summary + "\n")
    print(summary)
    return 1 if counts["failed"] else 0


def line_of(counts):
    return ", ".join(f"{counts[k]} {k}" for k in ("passed", "failed", "skipped"))


sys.exit(main())
