# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""load.py FILE...: whether PyTorch loads schedules, a line of JSON each. The ranks
are a pretence: nothing runs."""

import contextlib
import io
import json
import pathlib
import re
import sys

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, schedules
from torch.testing._internal.distributed.fake_pg import FakeStore


def load(path, ranks, stages, microbatches):
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
    try:
        stage = PipelineStage(torch.nn.Identity(), 0, stages, torch.device("cpu"))
        runtime = schedules._PipelineScheduleRuntime(
            [stage], microbatches, loss_fn=lambda a, b: a.sum(), scale_grads=False
        )
        is_comms = path.name.endswith(".comms.csv")
        with contextlib.redirect_stdout(io.StringIO()):
            runtime._load_csv(
                str(path), format="compute_comms" if is_comms else "compute_only"
            )
        return "loads"
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        return f"refuses: {type(error).__name__}: {first[:100]}"
    finally:
        dist.destroy_process_group()


def main():
    for name in sys.argv[1:]:
        file = pathlib.Path(name)
        # The job in the file's name: NAME-p2v2m4.csv, else of two ranks.
        shape = {"p": 2, "v": 1, "m": 2 if ".comms" in file.name else 4}
        words = file.name.split(".")[0].split("-")
        if words[0] in ("torch", "rondo"):
            shape["v"] = 2 if "zbv" in file.name else 1
            shape.update((k, int(n)) for k, n in re.findall(r"([pvm])(\d+)", words[-1]))
        stages = shape["p"] * shape["v"]
        if "cross-rank-cycle" in file.name:
            stages, shape["m"] = 4, 2
        said = load(file, shape["p"], stages, shape["m"])
        print(json.dumps({"file": file.name, "said": said}))


main()
