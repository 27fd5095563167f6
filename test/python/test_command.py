# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of the rondo command."""

import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import rondo
from rondo.command import find_rondo


def problem(memory_bytes=None):
    def stage(rank):
        return rondo.Stage(
            rank=rank,
            forward_ns=30,
            input_grad_ns=40,
            weight_grad_ns=20,
            activation_bytes=4,
            input_grad_frees_bytes=1,
            output_bytes=0,
        )

    ranks = [rondo.Rank(memory_bytes=memory_bytes) for _ in range(2)]
    return rondo.Problem(
        name="two", microbatches=4, ranks=ranks, stages=[stage(0), stage(1)]
    )


class Calls(unittest.TestCase):
    def test_search_and_verify(self):
        found = rondo.search(problem(), effort=100)
        self.assertGreaterEqual(found.makespan_ns, found.lower_bound_ns)
        rondo.verify(found)
        found.makespan_ns += 1
        with self.assertRaisesRegex(rondo.IllegalSchedule, "makespan"):
            rondo.verify(found)

    def test_illegal(self):
        found = rondo.simulate(problem(), "1f1b")[0]
        found.ranks[0].remove("0F1")
        with self.assertRaises(rondo.IllegalSchedule) as raised:
            rondo.verify(found)
        self.assertIn("0F1 is missing on rank 0 [S1]", str(raised.exception))
        self.assertEqual(raised.exception.status, 1)

    def test_infeasible(self):
        with self.assertRaisesRegex(rondo.Infeasible, "no schedule fits: rank 0"):
            rondo.search(problem(memory_bytes=3), time=0.1)

    def test_time(self):
        for time in (0, -1, math.nan, math.inf):
            with self.assertRaisesRegex(ValueError, "time must be more than 0 s"):
                rondo.search(problem(), time=time)

    def test_families(self):
        found = rondo.simulate(problem(), "1f1b", "gpipe")
        self.assertEqual([s.family for s in found], ["1f1b", "gpipe"])
        everything = rondo.compare(problem(), effort=10)
        self.assertIn("1f1b", [s.family for s in everything])

    def test_one_line(self):
        found = rondo.simulate(problem(), "1f1b")[0]
        self.assertEqual(
            str(found),
            "1f1b of two: 450 ns, peak memory 8 B",
        )
        found.makespan_ns, found.lower_bound_ns = 3_000_000, 2_000_000
        found.peak_memory_bytes = [1 << 20, 3 << 19]
        self.assertEqual(
            str(found),
            "1f1b of two: 3 ms, 50.0 % above the lower bound, peak memory 1.5 MiB",
        )
        searched = rondo.search(problem(), effort=100)
        self.assertTrue(str(searched).startswith("searched of two: "))
        self.assertEqual(
            str(rondo.Schedule(problem="two", infeasible="rank 0")),
            "schedule of two: infeasible: rank 0",
        )

    def test_a_relative_path(self):
        # The command runs in a folder of its own.
        path = os.path.relpath(find_rondo())
        with mock.patch.dict(os.environ, {"RONDO": path}):
            self.assertEqual(len(rondo.simulate(problem(), "1f1b")), 1)

    def test_pictures_and_other_formats(self):
        found = rondo.simulate(problem(), "1f1b")[0]
        self.assertIn("rondoTimelines", found._repr_html_())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x.svg")
            found.show(path)
            self.assertIn("<svg", path.read_text())
        self.assertTrue(rondo.export("torch-csv", found).startswith("0F0,0F1,0B0"))
        with self.assertRaisesRegex(rondo.RondoError, "--torch is '1.0'"):
            rondo.export("torch-csv", found, torch="1.0")

    def test_micro_batches_that_differ(self):
        table = rondo.Problem.from_value(
            {
                "format": "rondo-problem/2",
                "name": "differ",
                "microbatches": 3,
                "sizes": [[4], [1], [1]],
                "ranks": [{}, {}],
                "stages": [
                    {
                        "replicas": [{"rank": rank}],
                        "costs": {k: {"ns": {"per_size": [1]}} for k in "FIW"},
                    }
                    for rank in range(2)
                ],
                "edges": [{"from": 0, "to": 1, "bytes": {"per_size": [1]}}],
                "link": {"latency_ns": 0, "bytes_per_us": None},
            }
        )
        found = rondo.simulate(table, "1f1b:order=ascending")[0]
        self.assertEqual(found.data_order(), [1, 2, 0])
        self.assertEqual(rondo.simulate(problem(), "1f1b")[0].data_order(), [0, 1, 2, 3])
        with self.assertRaisesRegex(rondo.RondoError, "--pad"):
            rondo.export("torch-csv", found)
        text = rondo.export("torch-csv", found, pad=True)
        self.assertTrue(text.startswith("0F0,0F1,0B0"))

    def test_the_commands_words(self):
        with self.assertRaises(rondo.RondoError) as raised:
            rondo.simulate(problem(), "nope")
        self.assertTrue(str(raised.exception).startswith("there is no family 'nope'"))

    def test_read_from_a_file(self):
        found = rondo.Schedule.from_json(rondo.simulate(problem(), "1f1b")[0].to_json())
        with self.assertRaisesRegex(ValueError, "also pass its problem, 'two'"):
            rondo.verify(found)
        rondo.verify(found, problem())

    def test_swapped(self):
        found = rondo.simulate(problem(), "1f1b")[0]
        words = "expected a Schedule, then its Problem; the two are swapped"
        with self.assertRaisesRegex(TypeError, words):
            rondo.verify(problem(), found)
        with self.assertRaisesRegex(TypeError, words):
            rondo.export("torch-csv", problem(), found)
        with self.assertRaisesRegex(TypeError, "then its Problem, not Problem$"):
            rondo.verify(problem())
        with self.assertRaisesRegex(TypeError, "not Schedule, Schedule$"):
            rondo.verify(found, found)

    def test_export(self):
        found = rondo.simulate(problem(), "1f1b")[0]
        try:
            text = rondo.export("torch-csv", found)
        except rondo.NoCommand as error:
            self.skipTest(str(error))
        rows = [",".join(row) for row in found.ranks]
        self.assertEqual(text.splitlines(), rows)

    def test_export_of_replicas(self):
        cost = {"F": {"ns": 1}, "R": {"ns": 1}, "I": {"ns": 1}, "W": {"ns": 1}}
        both = rondo.Problem.from_value(
            {
                "format": "rondo-problem/2",
                "name": "both",
                "microbatches": 2,
                "samples": 2,
                "ranks": [{}, {}, {}, {}],
                "stages": [
                    {"replicas": [{"rank": r}, {"rank": r + 1}], "costs": cost} for r in (0, 2)
                ],
                "edges": [{"from": 0, "to": 1, "bytes": 0}],
            }
        )
        found = rondo.simulate(both, "1f1b")[0]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            text = rondo.export("torch-csv", found)
        self.assertEqual(text.splitlines(), ["0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"])
        self.assertRegex(str(said[0].message), "^this is the order of one of 2 replicas")
        self.assertRegex(str(said[1].message), "^4 recomputations .R. of stages 0 1 left out")
        self.assertEqual(said[0].filename, __file__)


class Commands(unittest.TestCase):
    """Which command is called."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def fake(self, script):
        path = pathlib.Path(self.folder.name, "rondo")
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return str(path)

    def test_none(self):
        nowhere = {"PATH": self.folder.name}
        with mock.patch.dict(os.environ, nowhere, clear=True):
            with self.assertRaisesRegex(rondo.NoCommand, "set RONDO to its path"):
                rondo.search(problem())

    def test_beside_the_package(self):
        # A wheel in an environment, a wheel in a folder of --target, and CMake's installation.
        for place in (
            "lib/python3.11/site-packages/rondo",
            "lib/rondo/python/rondo",
            "rondo",
        ):
            with self.subTest(place):
                prefix = pathlib.Path(self.folder.name, place.replace("/", "-"))
                command = prefix / "bin" / "rondo"
                command.parent.mkdir(parents=True)
                command.write_text("#!/bin/sh\n")
                command.chmod(0o755)
                there = str(prefix / place / "command.py")
                nowhere = {"PATH": self.folder.name}
                with mock.patch.dict(os.environ, nowhere, clear=True):
                    with mock.patch("rondo.command.__file__", there):
                        self.assertEqual(find_rondo(), str(command.resolve()))

    def test_as_a_module(self):
        environment = {**os.environ, "RONDO": self.fake('echo "$@"; exit 3\n')}
        words = [sys.executable, "-m", "rondo", "simulate", "a b"]
        done = subprocess.run(
            words,
            env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.stdout, done.returncode), ("simulate a b\n", 3))

    def test_a_wrong_name(self):
        with mock.patch.dict(os.environ, {"RONDO": "/no/such/program"}):
            with self.assertRaisesRegex(rondo.NoCommand, "which is no program"):
                rondo.search(problem())

    def test_in_the_path(self):
        self.fake("echo called >&2; exit 1\n")
        path = {"PATH": self.folder.name + ":/usr/bin:/bin"}
        with mock.patch.dict(os.environ, path, clear=True):
            with self.assertRaisesRegex(rondo.RondoError, "called"):
                rondo.search(problem())

    def test_an_older_one(self):
        script = (
            '[ "$1" = --version ] && echo rondo 0.0 && exit\n'
            "echo \"rondo: error: unknown command '$1'\" >&2; exit 2\n"
        )
        schedule = rondo.Schedule(problem="two", ranks=[["0F0"]], of=problem())
        with mock.patch.dict(os.environ, {"RONDO": self.fake(script)}):
            with self.assertRaisesRegex(
                rondo.NoCommand, r"rondo 0\.0\) has no command 'show'"
            ):
                schedule.show()

    def test_show(self):
        # Writes its own arguments.
        script = 'for last; do :; done\necho "<p title=\\"$*\\">" > "$last"\n'
        schedule = rondo.Schedule(problem="two", ranks=[["0F0"]], of=problem())
        with mock.patch.dict(os.environ, {"RONDO": self.fake(script)}):
            frame = schedule._repr_html_()
            self.assertIn("<iframe srcdoc=", frame)
            self.assertIn(
                "title=&quot;show problem.json --schedules schedule.json", frame
            )
            path = pathlib.Path(self.folder.name, "x.svg")
            schedule.show(path)
            self.assertIn("-o shown.svg", path.read_text())
            with self.assertRaisesRegex(ValueError, "not '.png'"):
                schedule.show(pathlib.Path(self.folder.name, "x.png"))
        schedule.of = None
        self.assertIsNone(schedule._repr_html_())
