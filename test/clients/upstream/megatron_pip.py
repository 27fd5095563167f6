# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On Python 3.11 and older pip takes an old megatron-core, and does not say that there
is a newer one. Status 0 if that is seen. Needs the package index."""

import subprocess
import sys

if sys.version_info >= (3, 12):
    print("only for Python 3.11 and older")
    sys.exit(0)
command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps"]
done = subprocess.run(
    [*command, "--ignore-installed", "megatron-core"], capture_output=True, text=True, check=True
)
said = done.stdout.strip().splitlines()[-1]
print(f"Python {sys.version.split()[0]}: {said}; {len(done.stderr.split())} words of warnings")
sys.exit(0 if "megatron-core-0.16." in said else 1)
