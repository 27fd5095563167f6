# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks one thing in a sound cluster and prints what import says of it.

    broken-clusters.py SOUND SCRATCH

A line is `name: status message`; the path of the file is left out.
"""

import pathlib
import subprocess
import sys

SOUND, SCRATCH = map(pathlib.Path, sys.argv[1:])

# (name, file, text, its replacement)
CASES = [
    ("format", "cluster.json", "rondo-cluster/1", "rondo-cluster/2"),
    ("key", "cluster.json", '"name": "lab"', '"names": "lab"'),
    ("name", "cluster.json", '"lab"', '""'),
    ("nodes", "cluster-matrix.json", '[{"name": "a", "devices": [{"name": "g", "count": 3}]}]', "[]"),
    ("nodes-object", "cluster-matrix.json", '[{"name": "a", "devices": [{"name": "g", "count": 3}]}]', "{}"),
    ("nics", "cluster.json", '"nics": []', '"nics": {}'),
    ("NIC-name", "cluster.json", '"nics": []', '"nics": [{"bytes_per_us": 50000}]'),
    ("NIC-no-name", "cluster.json", '"nics": []', '"nics": [{"name": "", "bytes_per_us": 50000}]'),
    ("NIC-rate", "cluster.json", '"nics": []', '"nics": [{"name": "nic", "bytes_per_us": 0}]'),
    ("NIC-list", "cluster.json", '"nics": []', '"nics": [{"name": "nic", "bytes_per_us": 1, "devices": "cpu"}]'),
    ("NIC-empty", "cluster.json", '"nics": []', '"nics": [{"name": "nic", "bytes_per_us": 1, "devices": []}]'),
    ("NIC-device", "cluster.json", '"nics": []', '"nics": [{"name": "nic", "bytes_per_us": 1, "devices": ["gpu"]}]'),
    ("NIC-again", "cluster.json", '"nics": []', '"nics": [{"name": "nic", "bytes_per_us": 1, "devices": ["cpu", "cpu"]}]'),
    ("NIC-two", "cluster.json", '"nics": []', '"nics": [{"name": "a", "bytes_per_us": 1}, {"name": "b", "bytes_per_us": 1}]'),
    ("NIC-device-name", "cluster.json", '"nics": []', '"nics": [{"name": "cpu", "bytes_per_us": 1}]'),
    ("no-devices", "cluster.json", '[{"name": "cpu"}]', "[]"),
    ("device-name", "cluster.json", '"name": "cpu"', '"name": 3'),
    ("device-key", "cluster.json", '"memory_bytes"', '"memory"'),
    ("memory", "cluster.json", "8000000000", "0"),
    ("flops", "cluster.json", "1000000}", "1e6}"),
    ("count", "cluster.json", '"count": 2,\n', '"count": 4096,\n'),
    ("twice", "cluster.json", '[{"name": "cpu"}]', '[{"name": "cpu"}, {"name": "cpu"}]'),
    ("no-link", "cluster.json", ',\n     "link": {"latency_ns": 5000, "bytes_per_us": 50000}', ""),
    ("no-network", "cluster.json", ',\n  "link": {"latency_ns": 20000, "bytes_per_us": 10000}', ""),
    ("latency", "cluster.json", '"latency_ns": 5000', '"latency_ns": -1'),
    ("rate", "cluster.json", '"bytes_per_us": 10000', '"bytes_per_us": 0'),
    ("both", "cluster-matrix.json", '"matrix"', '"link": {"latency_ns": 1, "bytes_per_us": 1}, "matrix"'),
    ("both-inside", "cluster-matrix.json", '"devices"', '"link": {"latency_ns": 1, "bytes_per_us": 1}, "devices"'),
    ("rows", "cluster-matrix.json", ", [20, 20, 0]", ""),
    ("many-rows", "cluster-matrix.json", "[20, 20, 0]", "[20, 20, 0], []"),
    ("columns", "cluster-matrix.json", "[10, 0, 20]", "[10, 0]"),
    ("many-columns", "cluster-matrix.json", "[10, 0, 20]", "[10, 0, 20, 30]"),
    ("cell", "cluster-matrix.json", "400", "0"),
    ("no-matrix-key", "cluster-matrix.json", '"latency_ns"', '"latencies"'),
    ("text", "cluster.json", '"format"', "format"),
    ("topo-heading", "topo-pairs.txt", "        GPU0    GPU1", "        Nic0   Nic1"),
    ("topo-cell", "topo-pairs.txt", "NV4", "NVX"),
    ("topo-none", "topo-pairs.txt", "NV4", "NV0"),
    ("topo-self", "topo-pairs.txt", "GPU0     X ", "GPU0    PIX"),
    ("topo-other", "topo-pairs.txt", "GPU0     X      NV4", "GPU0     X      X  "),
    ("topo-ways", "topo-pairs.txt", "GPU0     X      NV4", "GPU0     X      NV2"),
    ("topo-order", "topo-pairs.txt", "GPU1    NV4      X ", "GPU2    NV4      X "),
    ("topo-row", "topo-pairs.txt", "GPU3    SYS     SYS     NODE     X      SYS     16-31           1\n", ""),
    ("topo-extra", "topo-pairs.txt", "mlx5_0  PXB", "GPU4    PXB"),
    ("topo-short", "topo-pairs.txt", "GPU3    SYS     SYS     NODE     X      SYS     16-31           1", "GPU3    SYS     SYS"),
    ("topo-text", "topo-pairs.txt", "mlx5_0  PXB", "Driver  PXB"),
    ("topo-empty", "topo-pairs.txt", None, "\n"),
    ("topo-prose", "topo-pairs.txt", None, "GPU0 and GPU1 have four NVLinks.\n"),
    ("topo-zeros", "topo-pairs.txt", None, "G\0P\0U\0" "0\0"),
    ("topo-fused", "topo-pairs.txt", None, "\tGPU0\tGPU1\tCPU Affinity\nGPU0     X      NV40-15\n"),
    ("topo-fused-row", "topo-pairs.txt", None, "\tGPU0\tGPU1\tCPU Affinity\nGPU0 X NV4 0-15\nGPU1NV40-15\n"),
    ("topo-second", "topo-pairs.txt", "\nLegend", "\n\tGPU0\tGPU1\nGPU0\tX\tNV4\nLegend"),
]


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    for name, base, old, new in CASES:
        sound = (SOUND / base).read_text()
        if old is not None and old not in sound:
            sys.exit(f"{name}: nothing to replace")
        path = SCRATCH / name
        path.write_text(new if old is None else sound.replace(old, new, 1))
        output = SCRATCH / "cluster.mlir"
        done = subprocess.run(
            ["rondo", "import", "cluster", str(path), "-o", str(output)], capture_output=True, text=True, check=False
        )
        errors = done.stderr.splitlines()
        if len(errors) != 1 or done.stdout or output.exists():
            sys.exit(f"{name}: not one error alone:\n{done.stdout}{done.stderr}")
        print(f"{name}: {done.returncode} " + errors[0].replace(f"rondo: error: {path}: ", "").removeprefix(f"{path}:"))


main()
