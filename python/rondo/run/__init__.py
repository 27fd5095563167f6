# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs schedules outside PyTorch's own runtime: docs/running.md.

A Table has the tasks and messages of each rank. `run` runs the row of one rank with
the Hooks of a client. `rondo.run.tensors` has the hooks of clients that pass
tensors, and is the only part that needs PyTorch.
"""

from .runner import Hooks, Trace, run
from .table import Action, Table, TableError
from .versions import UnsupportedVersion, UntriedVersion, check_version

__all__ = [
    "Action",
    "Hooks",
    "Table",
    "TableError",
    "Trace",
    "UnsupportedVersion",
    "UntriedVersion",
    "check_version",
    "run",
]
