# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives files to commands that read other kinds, and prints the exit code and the first line of each error.

    wrong-files.py FOLDER
"""

import gzip
import os
import struct
import subprocess
import sys

FOLDER = sys.argv[1]

COMMANDS = """
verify schedule.csv
verify wrong-name.mlir
verify with-blanks.csv
verify with-a-mistake.csv
verify comms.csv
verify x.layout
verify titan.toml
verify config.json
verify model.safetensors.index.json
verify topo.txt
verify trace.json
verify events.json
verify graph.txt
verify pointer
verify weights.safetensors
verify weights.pt
verify trace.json.gz
verify cluster.json
simulate schedule.csv
show x.layout
search config.json
versions trace.json
compile topo.txt
candidates schedule.csv
blame trace.json
plan config.json topo.txt
plan plans.mlir topo.txt
plan --problems schedule.csv
verify --problems problems.jsonl --schedules schedule.csv
verify --problems schedule.json --schedules schedule.json
simulate plans.txt
diff plans.mlir schedule.csv
simulate plans.mlir --costs config.json
import torch-csv comms.csv
import torch-csv-comms schedule.csv
import torch-csv config.json
import rondo-schedule schedule.csv
import megatron-layout --ranks 2 --microbatches 2 schedule.csv
import model model.safetensors.index.json
import model weights.safetensors
import cluster trace.json
import profile topo.txt
import profile config.json
verify mistake.mlir
simulate mistake.json
simulate cut.json
simulate list.json
verify prose.txt
simulate prose.txt
import cluster prose.txt
"""


def write(name, content):
    with open(name, "wb") as file:
        file.write(content)


def main():
    os.chdir(FOLDER)
    header = b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
    write("weights.safetensors", struct.pack("<Q", len(header)) + header + bytes(4))
    write("weights.pt", b"PK\3\4" + bytes(100))
    write("trace.json.gz", gzip.compress(b"{}"))
    for command in COMMANDS.split("\n"):
        if not command:
            continue
        done = subprocess.run(["rondo", *command.split()], capture_output=True, text=True, check=False)
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        if len(errors) != 1:
            sys.exit(f"{command}: {len(errors)} errors\n{done.stderr}")
        print(f"{command}: {done.returncode} {errors[0]}")


main()
