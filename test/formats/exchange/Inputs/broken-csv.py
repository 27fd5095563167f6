# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks one thing in PyTorch's CSV and prints what import says of it.

    broken-csv.py FOLDER SCRATCH

A line is `name: status message`; the place of the file is left out.
"""

import pathlib
import subprocess
import sys

SOUND, SCRATCH = map(pathlib.Path, sys.argv[1:])

# (name, text, its replacement), of tasks.csv
TASKS = [
    ("empty", None, ""),
    ("blank-line", "\r\n1F0", "\r\n\r\n1F0"),
    ("blank-end", "1B3\r\n", "1B3\r\n\r\n"),
    ("only-commas", "1B3\r\n", "1B3\r\n,,\r\n"),
    ("byte-order-mark", "0F0,0F1", "\ufeff0F0,0F1"),
    ("lower-case", "0F1", "0f1"),
    ("no-stage", "0F1", "F1"),
    ("no-kind", "0F1", "01"),
    ("no-microbatch", "0F1", "0F"),
    ("negative", "0F1", "0F-1"),
    ("header", "0F0,0F1", "rank 0"),
    ("control", "0F1", "0\x07F1"),
    ("send", "0F1", "0SEND_F0,0F1"),
    ("reduce", "0B3", "0B3,0REDUCE_GRAD"),
    ("twice", "0F1", "0F0"),
    ("twice-last", "1F3", "1F2"),
    ("mixture", "1B0", "1I0"),
    ("mixture-of-three", "1B0", "1I0,1W0,1B0"),
    ("weight-first", "1B0", "1W0,1I0"),
    ("backward-first", "1F0,1B0", "1B0,1F0"),
    ("out-of-range", "1F3,1B3", "1F9,1B9"),
    ("huge", "1F3", "1F99999999999999999999"),
    ("huge-stage", "1F3", "99999999999999999999F3"),
    ("stage-gap", "1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3", "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3"),
    ("two-ranks", "0B2,0B3\r\n", "0B2\r\n0B3,"),
    ("deadlock", "0F3,0B2,0B3", "0B3,0F3,0B2"),
    ("descending", "1F0,1B0,1F1,1B1", "1F1,1B1,1F0,1B0"),
    ("pair-end", "0F2,0B1", "(0F2;0B1"),
    ("pair-word", "0F2,0B1", "(0F2;0B1)OVERLAP"),
    ("pair-order", "0F2,0B1", "(0B1;0F2)OVERLAP_F_B"),
    ("pair-alone", "0F2,0B1", "(0F2)OVERLAP_F_B,0B1"),
    ("pair-blocks", "0F3,0B2,0B3", "0B2,(0F3;0B3)OVERLAP_F_B"),
]
# Edits of comms.csv
COMMS = [
    ("blank-cell", "0F1", ",0F1"),
    ("no-receive", "1RECV_F1,", ""),
    ("no-send", "0SEND_F1,", ""),
    ("send-early", "0F1,0SEND_F1", "0SEND_F1,0F1"),
    ("receive-late", "1RECV_F1,1I0,1SEND_B0,1F1", "1I0,1SEND_B0,1F1,1RECV_F1"),
    ("send-twice", "0SEND_F1", "0SEND_F1,0SEND_F1"),
    ("receive-twice", "1RECV_F1", "1RECV_F1,1RECV_F1"),
    ("swapped", "1RECV_F0,1F0,1RECV_F1", "1RECV_F1,1RECV_F0,1F0"),
    ("no-wait", "0WAIT_SEND_F0,", ""),
    ("wait-early", "0SEND_F1", "0WAIT_SEND_F1,0SEND_F1"),
    ("wait-twice", "0WAIT_SEND_F0", "0WAIT_SEND_F0,0WAIT_SEND_F0"),
    ("waits-forever", "0SEND_F1,0RECV_B0", "0SEND_F1,0RECV_B1"),
    ("to-nobody", "1SEND_B0", "1SEND_F0,1SEND_B0"),
    ("reduce-early", "0W1,0REDUCE_GRAD", "0REDUCE_GRAD,0W1"),
    ("reduce-twice", "0RESHARD", "0RESHARD,0REDUCE_GRAD,0WAIT_REDUCE_GRAD"),
    ("no-reduce-wait", "0WAIT_REDUCE_GRAD,", ""),
    ("no-reduce", "0REDUCE_GRAD,", ""),
    ("reduce-number", "0REDUCE_GRAD", "0REDUCE_GRAD0"),
    ("other-rank", "0UNSHARD", "1UNSHARD"),
    ("unknown-stage", "0UNSHARD", "7UNSHARD"),
    ("unknown-message", "0SEND_F0", "0SEND_F7"),
]


def run(kind, source, cases):
    for name, old, new in cases:
        text = (SOUND / source).read_bytes().decode()
        if old is None:
            text = new
        elif old not in text:
            sys.exit(f"{name}: {source} has no {old!r}")
        else:
            text = text.replace(old, new, 1)
        path = SCRATCH / f"{name}.csv"
        path.write_bytes(text.encode())
        output = SCRATCH / f"{name}.json"
        done = subprocess.run(
            ["rondo", "import", kind, path, "-o", output],
            capture_output=True, text=True, check=False,
        )
        message = done.stderr.strip().removeprefix(f"rondo: error: {path}: ")
        print(f"{name}: {done.returncode} {message}")
        if output.exists():
            print(f"{name}: wrote {output.name}")


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    run("torch-csv", "tasks.csv", TASKS)
    run("torch-csv-comms", "comms.csv", COMMS)


if __name__ == "__main__":
    main()
