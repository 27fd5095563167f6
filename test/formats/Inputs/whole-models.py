# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports each line of a file as a configuration and prints what comes of it.

    whole-models.py FILE

The files have what `to_json_string(use_diff=False)` of the release's classes
writes: every key, with its default but for sizes.
"""

import json
import subprocess
import sys

for line in open(sys.argv[1], encoding="utf-8"):
    done = subprocess.run(
        ["rondo", "import", "model", "-", "--json"], input=line, capture_output=True, text=True, check=False
    )
    notes = done.stderr.splitlines()
    if done.returncode or len(notes) > 1:
        sys.exit(f"{line}{done.stderr}")
    report = json.loads(done.stdout)
    print(f"{report['model_type']}: sequence {report['sequence']}, {len(notes)} notes")
