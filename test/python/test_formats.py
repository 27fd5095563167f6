# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of Rondo, read and written."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import rondo
from rondo import problem
from rondo.command import find_rondo
from rondo.fields import json_fields as fields_of, key_of

ROOT = pathlib.Path(__file__).resolve().parents[2]


def problem_value():
    stage = {"rank": 0, "forward_ns": 3, "input_grad_ns": 4, "weight_grad_ns": 2}
    stage |= {"activation_bytes": 2, "input_grad_frees_bytes": 1, "output_bytes": 0}
    value = {"format": "rondo-problem/1", "name": "näme", "microbatches": 2}
    return value | {"ranks": [{"memory_bytes": None}], "stages": [stage]}


class RoundTrip(unittest.TestCase):
    def test_what_rondo_writes(self):
        seen = {"rondo-problem/2": 0, "rondo-schedule/1": 0, "rondo-schedule/2": 0}
        for source in sorted((ROOT / "examples").glob("*.mlir")):
            with tempfile.TemporaryDirectory() as folder:
                problems = pathlib.Path(folder, "p.jsonl")
                command = [find_rondo(), "simulate", source, "--json"]
                done = subprocess.run(
                    [*command, "--problem-output", problems],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode:
                    continue
                for line in problems.read_text().splitlines():
                    self.assertEqual(rondo.Problem.from_json(line).to_json(), line)
                    seen[json.loads(line)["format"]] += 1
                for line in done.stdout.splitlines():
                    self.assertEqual(rondo.Schedule.from_json(line).to_json(), line)
                    form = json.loads(line)["format"]
                    seen[form] = seen.get(form, 0) + 1
        self.assertTrue(all(seen.values()), seen)

    def test_windows_that_clip(self):
        plan = ROOT / "test/runtime/Inputs/asynchronous.mlir"
        command = [find_rondo(), "simulate", plan, "--iterations", "12", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        clips = []
        for line in done.stdout.splitlines():
            schedule = rondo.Schedule.from_json(line)
            self.assertEqual(schedule.to_json(), line)
            clips.append(schedule.clip)
        self.assertIn("global", clips)
        self.assertIn(None, clips)

    def test_a_search(self):
        with tempfile.TemporaryDirectory() as folder:
            problem, schedule = (pathlib.Path(folder, n) for n in ("p.json", "s.json"))
            problem.write_text(json.dumps(problem_value()))
            subprocess.run(
                [find_rondo(), "search", problem, "-o", schedule],
                check=True,
                capture_output=True,
            )
            before = schedule.read_bytes()
            found = rondo.Schedule.read(schedule)
            found.write(schedule)
            self.assertEqual(schedule.read_bytes(), before)
            self.assertIsNotNone(found.search.seconds)

    def test_the_pages_examples(self):
        page = (ROOT / "docs/formats.md").read_text()
        count = 0
        for text in re.findall(r"```json[^\n]*\n(.*?)```", page, re.S):
            value = json.loads(text)
            kinds = {"rondo-problem": rondo.Problem, "rondo-schedule": rondo.Schedule}
            kind = kinds.get(value["format"].split("/")[0])
            if kind:
                count += 1
                for rank in value["ranks"]:
                    # The default, which is written out.
                    if value["format"] == "rondo-problem/2":
                        rank.setdefault("memory_bytes", None)
                self.assertEqual(kind.from_value(value).to_value(), value)
        self.assertGreaterEqual(count, 3)

    def test_lines(self):
        first, second = problem_value(), problem_value() | {"name": "other"}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "p.jsonl")
            problems = [rondo.Problem.from_value(v) for v in (first, second)]
            rondo.write_problems(path, problems)
            self.assertEqual(rondo.read_problems(path), problems)
            self.assertEqual([p.name for p in path.parent.iterdir()], ["p.jsonl"])
            with self.assertRaisesRegex(rondo.FormatError, "has 2 problems, not one"):
                rondo.Problem.read(path)

    def test_of_version_2(self):
        value = {
            "format": "rondo-problem/2",
            "name": "all keys",
            "microbatches": 2,
            "samples": 4,
            "ranks": [{"memory_bytes": 8, "speed_percent": 50, "host": {"wait_ns": 1}}],
            "stages": [
                {
                    "replicas": [{"rank": 0, "samples": 4}],
                    "shard": {"what": "weights", "group": 1},
                    "costs": {"F": {"ns_by_index": [1, 2], "lane": "compute"}},
                    "versions": {"forward": "live"},
                }
            ],
            "edges": [{"from": 0, "to": 1, "bytes": 3, "gradient_bytes": None}],
            "nics": [{"ranks": [0], "bytes_per_us": 5, "server": 0}],
            "channels": {"protocol": "eager"},
            "host": {"action_ns": 2, "send_ns": 3},
            "provenance": {"costs": [1.5, "free"]},
        }
        problem = rondo.Problem.from_value(value)
        self.assertEqual(problem.to_value(), value)
        self.assertIsNone(problem.edges[0].gradient_bytes)
        self.assertEqual(problem.version, 2)

    def test_earlier_keys(self):
        value = {
            "format": "rondo-problem/2",
            "name": "earlier",
            "microbatches": 1,
            "ranks": [{}],
            "stages": [{"homes": [{"rank": 0}], "costs": {"F": {"ns": 1}}}],
            "edges": [],
            "cards": [{"ranks": [0], "bytes_per_us": 5}],
        }
        problem = rondo.Problem.from_value(value)
        written = problem.to_value()
        self.assertEqual(written["stages"][0]["replicas"], [{"rank": 0}])
        self.assertEqual(written["nics"], value["cards"])
        with self.assertRaises(rondo.FormatError):
            rondo.Problem.from_value({**value, "nics": []})


class Keys(unittest.TestCase):
    """The classes have the keys of docs/formats.md, whose tables Rondo writes from
    those by which it reads files."""

    CLASSES = {
        "": problem.Problem,
        "ranks[]": problem.Rank,
        "host": problem.HostCosts,
        "ranks[].device": problem.Device,
        "ranks[].host_link": problem.HostLink,
        "host_links[]": problem.SharedHostLink,
        "edges[]": problem.Edge,
        "edges[].bytes": problem.Affine,
        "link": problem.Link,
        "links[]": problem.RankLink,
        "nics[]": problem.Nic,
        "channels": problem.Channels,
        "stages[].replicas[]": problem.Replica,
        "stages[].shard": problem.Shard,
        "stages[].versions": problem.Versions,
        "stages[].costs.F": problem.Cost,
        "stages[].costs.SAVE": problem.Save,
        "stages[].costs.LOAD": problem.Load,
    }

    @staticmethod
    def objects_of(name):
        """The keys of each object, by its path."""
        page = (ROOT / "docs/formats.md").read_text()
        table = page.partition(f"<!-- Keys of {name}. ")[2].partition("<!-- end -->")[0]
        found = {}
        for path in re.findall(r"^\| `(\S+)` \|", table, re.M):
            before, _, key = path.rpartition(".")
            found.setdefault(before, []).append(key)
        return found

    def check(self, name, classes, later):
        found = self.objects_of(name)
        self.assertEqual(set(found) - {"stages[].costs"}, set(classes))
        for path, cls in classes.items():
            keys = [key for key in found[path] if key != "format"]
            fields = [key for f in fields_of(cls) if (key := key_of(f)) not in later]
            self.assertEqual(keys, fields, f"{name}: {path or 'the whole'}")

    def test_of_version_1(self):
        later = {"host", "device", "speed_percent", "duplex", "edges", "samples"}
        later |= {"host_memory_bytes", "host_link", "host_links"}
        later |= {"sizes", "iterations", "nics", "channels", "provenance"}
        classes = {path: self.CLASSES[path] for path in ("", "ranks[]", "link", "links[]")}
        self.check("rondo-problem/1", classes | {"stages[]": problem.Stage}, later)

    def test_of_version_2(self):
        classes = self.CLASSES | {"stages[]": problem.GraphStage}
        self.check("rondo-problem/2", classes, set())


class Faults(unittest.TestCase):
    def refused(self, change, message, kind=rondo.Problem):
        value = problem_value()
        change(value)
        with self.assertRaises(rondo.FormatError) as raised:
            kind.from_value(value)
        self.assertEqual(str(raised.exception), message)

    def test_unknown_key(self):
        self.refused(
            lambda v: v["stages"][0].update(colour=1),
            'unknown key "colour" in stages[0]; known keys are rank, forward_ns, '
            "input_grad_ns, weight_grad_ns, activation_bytes, input_grad_frees_bytes, "
            "output_bytes",
        )

    def test_key_of_version_2(self):
        with self.assertRaisesRegex(rondo.FormatError, 'unknown key "edges"'):
            rondo.Problem.from_value(problem_value() | {"edges": []})
        with self.assertRaisesRegex(rondo.FormatError, 'unknown key "duplex" in link'):
            link = {"latency_ns": 1, "bytes_per_us": None, "duplex": "half"}
            rondo.Problem.from_value(problem_value() | {"link": link})

    def test_missing_key(self):
        self.refused(lambda v: v.pop("name"), 'problem has no key "name"')
        self.refused(
            lambda v: v["ranks"][0].clear(), 'ranks[0] has no key "memory_bytes"'
        )

    def test_kinds(self):
        self.refused(
            lambda v: v.update(microbatches=2.0),
            "microbatches must be a whole number, not 2.0",
        )
        self.refused(
            lambda v: v["stages"][0].update(rank=True),
            "stages[0].rank must be a whole number, not true",
        )

    def test_twice(self):
        with self.assertRaisesRegex(rondo.FormatError, 'key "a" appears twice'):
            rondo.Problem.from_json('{"a": 1, "a": 2}')

    def test_place_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "p.jsonl")
            path.write_text(json.dumps(problem_value()) + "\n{]\n")
            with self.assertRaisesRegex(rondo.FormatError, r"p\.jsonl:2: 1:2"):
                rondo.read_problems(path)

    def test_schedules(self):
        head = {"format": "rondo-schedule/1", "problem": "p"}
        with self.assertRaisesRegex(rondo.FormatError, 'no key "ranks"'):
            rondo.Schedule.from_value(head)
        with self.assertRaisesRegex(rondo.FormatError, r"ranks\[0\]\[1\] must be"):
            rondo.Schedule.from_value(head | {"ranks": [["0F0", 1]]})
        infeasible = head | {"infeasible": "too small"}
        self.assertEqual(rondo.Schedule.from_value(infeasible).to_value(), infeasible)
