# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sed whose commands must each change the text: a test whose edit matches nothing
would run on the unchanged text.

    edit.py COMMAND... < IN > OUT
"""

import subprocess
import sys

text = sys.stdin.buffer.read()
for command in sys.argv[1:]:
    edited = subprocess.run(
        ["sed", command], input=text, stdout=subprocess.PIPE, check=True
    ).stdout
    if edited == text:
        sys.exit(f"edit.py: '{command}' changes nothing")
    text = edited
sys.stdout.buffer.write(text)
