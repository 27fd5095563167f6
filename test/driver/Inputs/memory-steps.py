# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""memory-steps.py MODULE FOLDER: searches with increasing memory.

With more memory there still is a schedule, and no family that fits according to
compare is better than what the search found.
"""

import csv
import pathlib
import re
import subprocess
import sys

source, folder = open(sys.argv[1]).read(), sys.argv[2]
tried = 0
for memory in range(21_000_000, 28_000_000, 900_000):
    module = pathlib.Path(folder, "step.mlir")
    module.write_text(re.sub(r"(memory_bytes = )\d+", rf"\g<1>{memory}", source))
    for effort in "30", "300":
        table = subprocess.run(
            ["rondo", "compare", str(module), "--csv", "--effort", effort],
            stdout=subprocess.PIPE, text=True).stdout
        made = {row["schedule"]: int(row["makespan_ns"])
                for row in csv.DictReader(table.splitlines())
                if row["makespan_ns"] and not row["schedule"].startswith("@")}
        if "searched" not in made:
            sys.exit(f"{memory} bytes, effort {effort}: no schedule\n{table}")
        if made["searched"] > min(made.values()):
            sys.exit(f"{memory} bytes, effort {effort}: a family is better\n{table}")
        tried += 1
print(f"{tried} searches")
