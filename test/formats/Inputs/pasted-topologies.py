# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports a topology in the forms in which people paste it, and prints whether each is the same cluster.

    pasted-topologies.py SOUND SCRATCH
"""

import pathlib
import re
import subprocess
import sys

SOUND, SCRATCH = map(pathlib.Path, sys.argv[1:])
TEXT = (SOUND / "topo-pairs.txt").read_text()
TABLE = TEXT.split("\nLegend")[0] + "\n"
LINES = TABLE.splitlines()
PROMPT = "user@host:~$ nvidia-smi topo -m\n"
ROWS = [line.replace(" Affinity", "-Affinity").split() for line in LINES]


def underlined(before, after):
    return f"{before}{LINES[0]}{after}\n" + "\n".join(LINES[1:]) + "\n"


FORMS = {
    "prompt": PROMPT + TEXT,
    "prompt-after": f"(base) [root@gpu01 ~]# nvidia-smi topo -m\n{TABLE}(base) [root@gpu01 ~]#\n",
    "fence": f"Our node:\n\n```text\n$ nvidia-smi topo -m\n{TABLE}```\nThanks!\n",
    "no-legend": TABLE,
    "indented": "".join(f"    {line}\n" for line in LINES),
    "quoted": "".join(f"> {line}\n" for line in TEXT.splitlines()),
    "srun": "".join(f"0: {line}\n" for line in TEXT.splitlines()),
    "crlf": TEXT.replace("\n", "\r\n"),
    "nvidia-smi": "| GPU  Name        Persistence-M |\n|   0  NVIDIA A100-SXM4-80GB  On |\n+----+\n" + TEXT,
    "byte-order-mark": "\ufeff" + TEXT,
    "no-break-spaces": TEXT.replace("  ", "\u00a0 "),
    "escapes": underlined("\x1b[4m", "\x1b[0m\x1b(B"),
    "caret-escapes": underlined("^[[4m", "^[[0m"),
    "octal-escapes": underlined("\\033[4m", "\\033[0m"),
    "lost-escapes": underlined("[4m", "[0m"),
    "markdown-table": f"|  | {' | '.join(ROWS[0])} |\n|--|--|\n".replace("-Affinity", " Affinity")
    + "".join(f"| {' | '.join(row)} |\n" for row in ROWS[1:]),
    "p2p-after": TEXT + "$ nvidia-smi topo -p2p r\n \tGPU0\tGPU1\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n",
    "fused": TABLE.replace("SYS     SYS", "SYSSYS").replace("NODE     X", "NODEX"),
    "all-fused": "".join("".join(row[:6]) + "\n" for row in ROWS).replace("CPU-Affinity", "CPU Affinity"),
    "other-nic": TABLE.replace("mlx5_0", "rocep33s0f0"),
    "old-names": TABLE.replace("SYS", "SOC"),
}


def imported(text, name):
    path = SCRATCH / f"{name}.txt"
    path.write_bytes(text.encode())
    done = subprocess.run(
        ["rondo", "import", "cluster", path, "--device", "a100"], capture_output=True, text=True, check=False
    )
    # Comments name the NICs.
    return done.stderr + re.sub("^//.*\n", "", done.stdout, flags=re.MULTILINE)


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    expected = imported(TEXT, "sound")
    assert "pipe.link" in expected, expected
    for name, text in FORMS.items():
        found = imported(text, name)
        print(f"{name}: " + ("the same" if found == expected else found.strip()))


main()
