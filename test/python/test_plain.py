# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plain tables, queues of weight gradients, traces of runs, packages that are missing."""

import collections
import pathlib
import subprocess
import sys
import time
import unittest

import rondo
import rondo.run
from test_run import problem


class Plain(unittest.TestCase):
    def test_placements(self):
        for placement in ([0], [0, 1], [0, 1, 1, 0], [0, 0, 1, 1, 0], [1, 0, 2, 1]):
            for whole in (0, 2):
                table = rondo.run.Table.plain(placement, 4, whole=whole)
                table.check()
                table.check(queues="pair")
                kinds = collections.Counter(a.kind for row in table.rows for a in row)
                stages = len(placement)
                self.assertEqual(kinds["F"], 4 * stages)
                self.assertEqual((kinds["I"], kinds["B"]), ((4 - whole) * stages, whole * stages))
                self.assertEqual(kinds["REDUCE_GRAD"], stages)
                self.assertIsNone(table.out_of_queue())
        # Rondo reads its tasks, and times them.
        plain = rondo.run.Table.plain([0, 1, 1, 0], 4)
        timed = rondo.command.timed(plain.tasks_csv(), problem([0, 1, 1, 0]))
        self.assertGreater(timed.makespan_ns, 2 * 4 * 90)

    def test_queues_of_weight_gradients(self):
        def late(text):
            found = rondo.run.Table.from_csv(text).out_of_queue()
            return found and (str(found[0]), found[1])

        self.assertIsNone(late("0F0,0F1,0W1,0W0\n"))
        self.assertIsNone(late("0F0,1F0,1I0,1W0,1F1,1B1\n"))
        self.assertEqual(late("0F0,1F0,1I0,1I1,1W1,1W0\n"), ("1W1", 0))
        # A whole backward cannot pass a weight gradient that is left.
        self.assertEqual(late("0F0,1F0,1I0,1B1,1W0\n"), ("1B1", 0))


class Packages(unittest.TestCase):
    def test_missing(self):
        """Without a client's package the error has the command that installs it."""
        hide = (
            "import sys, importlib.abc\n"
            "class Hide(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name.split('.')[0] in {'torch', 'deepspeed', 'megatron', 'torchtitan'}:\n"
            "            raise ModuleNotFoundError(name)\n"
            "sys.meta_path.insert(0, Hide())\n"
        )
        for client in ("torch", "deepspeed", "megatron", "torchtitan"):
            done = subprocess.run(
                [sys.executable, "-c", f"{hide}import rondo.{client}"],
                cwd=pathlib.Path(rondo.__file__).parents[1],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"ImportError: torch is not installed: pip install .*torch")
        with self.assertRaisesRegex(ImportError, "no.such is not installed: pip install it"):
            rondo.run.versions.need("no.such", "pip install it")


class Traces(unittest.TestCase):
    def test_own_times(self):
        seen = collections.Counter()

        class Hooks(rondo.run.Hooks):
            def forward(self, stage, microbatch, x):
                return microbatch

            def input_grad(self, stage, microbatch, y, grad, x):
                return 0

            def weight_grad(self, stage, microbatch, token):
                time.sleep(0.002)

            def backward(self, stage, microbatch, y, grad, x):
                pass

            def gradient(self, stage, x):
                return 0

        class Trace(rondo.run.Trace):
            def action(self, stage, kind, microbatch, took):
                seen[kind] += 1
                if (stage, kind) == (1, "W"):
                    assert took >= 2_000_000

        table = rondo.run.Table.plain([0, 0], 3)
        rondo.run.run(table, 0, Hooks(), trace=Trace())
        self.assertEqual(seen, {"F": 6, "I": 6, "W": 6, "REDUCE_GRAD": 2})


if __name__ == "__main__":
    unittest.main()
