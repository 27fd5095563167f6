# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs `rondo verify` on the inputs of bad.jsonl whose micro-batches differ.

Prints what is wrong with each, the rule that should be broken, and what Rondo says.
Usage: uneven-bad.py FILE FOLDER
"""

import json
import pathlib
import subprocess
import sys

rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
first = next(number for number, row in enumerate(rows) if row["what"] == "too few entries")
folder = pathlib.Path(sys.argv[2])
folder.mkdir(exist_ok=True)
for row in rows[first:]:
    # Copies to the host are no subject here.
    for rank in row["problem"]["ranks"]:
        rank.pop("host_link", None)
        rank["memory_bytes"] = None
    for stage in row["problem"]["stages"]:
        stage["costs"].pop("SAVE", None)
        stage["costs"].pop("LOAD", None)
    for at, order in enumerate(row.get("schedule", {}).get("ranks", [])):
        row["schedule"]["ranks"][at] = [action for action in order if "SAVE" not in action and "LOAD" not in action]
    if "schedule" in row:
        row["schedule"].pop("makespan_ns", None)
    schedule = row.get("schedule") or {"format": "rondo-schedule/2", "problem": row["problem"]["name"], "ranks": []}
    (folder / "p.jsonl").write_text(json.dumps(row["problem"]) + "\n")
    (folder / "s.jsonl").write_text(json.dumps(schedule) + "\n")
    run = subprocess.run(["rondo", "verify", "--problems", "p.jsonl", "--schedules", "s.jsonl"], cwd=folder,
                         capture_output=True, text=True, check=False)
    print(f"{row['what']} ({row['rule']}): {(run.stdout + run.stderr).strip()}")
