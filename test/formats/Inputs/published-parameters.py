# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports published models and compares their parameters with those published.

    published-parameters.py MODELS SCRATCH
"""

import json
import pathlib
import subprocess
import sys

models = json.loads(pathlib.Path(sys.argv[1]).read_text())["models"]
scratch = pathlib.Path(sys.argv[2])
for model in models:
    scratch.write_text(json.dumps(model["config"], indent=2))
    done = subprocess.run(
        ["rondo", "import", "model", str(scratch)], capture_output=True, text=True, check=False
    )
    if f", {model['published_parameters']} parameters\n" not in done.stdout:
        sys.exit(f"{model['name']}: not {model['published_parameters']} parameters:\n{done.stdout}{done.stderr}")
print(f"{len(models)} models")
