# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package as a whole: its types, and its wheel."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
# Debian's Python, which has the build backend.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


class Package(unittest.TestCase):
    def run_in(self, folder, *command):
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_types(self):
        if not shutil.which("mypy"):
            self.skipTest("mypy is not installed")
        with tempfile.TemporaryDirectory() as cache:
            self.run_in(PACKAGE, "mypy", "--cache-dir", cache, "rondo")

    def test_wheel(self):
        needs = [PYTHON, "-c", "import setuptools, pip, venv, wheel"]
        if subprocess.run(needs, stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest(f"{PYTHON} has no pip, setuptools, venv or wheel")
        with tempfile.TemporaryDirectory() as folder:
            # The build writes files next to the sources.
            shutil.copytree(PACKAGE, pathlib.Path(folder, "package"))
            build = [PYTHON, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps"]
            self.run_in(folder, *build, "./package", "-w", "wheels")
            wheels = list(pathlib.Path(folder, "wheels").glob("*.whl"))
            self.assertEqual(len(wheels), 1)
            self.run_in(folder, PYTHON, "-m", "venv", "clean")
            python = str(pathlib.Path(folder, "clean", "bin", "python"))
            self.run_in(folder, python, "-m", "pip", "install", "--no-deps", *wheels)
            script = "import rondo; print(rondo.__file__, rondo.Problem.__name__)"
            said = self.run_in(folder, python, "-c", script)
            self.assertIn("clean/lib", said)
            files = pathlib.Path(said.split()[0]).parent
            self.assertTrue((files / "py.typed").exists())
            for client in ("deepspeed", "megatron", "torch", "torchtitan"):
                self.assertTrue((files / client / "private.py").exists())
            # Runs of tables need neither PyTorch nor a client.
            script = "import sys, rondo.run; print('torch' in sys.modules)"
            self.assertEqual(self.run_in(folder, python, "-c", script).strip(), "False")
