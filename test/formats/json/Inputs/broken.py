# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verdicts of `rondo verify` on cases that state the rule that they break.

    broken.py CASES.jsonl FOLDER KEY...

A case has `what`, `rule` (`legal` if none), a problem and a schedule, which is
that of the first case if it states none. Cases with one of the keys are left
out. Prints what is found of each, and exits with
1 if that is another rule. A problem that cannot be read breaks `format`.
"""

import json
import os
import subprocess
import sys


def verdict(case, folder):
    paths = []
    for name in ("problem", "schedule"):
        paths.append(os.path.join(folder, name + ".jsonl"))
        with open(paths[-1], "w") as file:
            print(json.dumps(case[name]), file=file)
    done = subprocess.run(
        ["rondo", "verify", "--problems", paths[0], "--schedules", paths[1], "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.stdout:
        found = json.loads(done.stdout)
        return found["rule"] or "legal", found["message"] or ""
    return "format", done.stderr.strip().replace(folder, "")


def main():
    cases, folder, keys = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    differ = 0
    schedule = None
    for line in open(cases):
        if any(key in line for key in keys):
            continue
        case = json.loads(line)
        schedule = schedule or case["schedule"]
        case.setdefault("schedule", schedule)
        rule, message = verdict(case, folder)
        differ += rule != case["rule"]
        wrong = "" if rule == case["rule"] else f", not {case['rule']}"
        print(f"{case['what']}: {rule}{wrong}: {message}")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
