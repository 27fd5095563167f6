# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lengths of documents of Parquet, Arrow and data sets."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from rondo.lengths import LengthsError, lengths, main

try:
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet
except ImportError:
    pyarrow = None
try:
    import datasets
except ImportError:
    datasets = None

TOKENS = [[1, 2, 3], [4], [5, 6], [7] * 300]
LENGTHS = [3, 1, 2, 300]


class Lengths(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()

    def test_missing_package(self):
        for name, package in ("a.parquet", "pyarrow"), ("a.arrow", "pyarrow"), ("a", "datasets"):
            path = self.folder / name
            path.write_text("") if path.suffix else path.mkdir()
            hidden = {"pyarrow": None, "pyarrow.parquet": None, "datasets": None}
            with mock.patch.dict(sys.modules, hidden):
                code, _, error = self.run_main(path)
            self.assertEqual(code, 1)
            self.assertEqual(
                error,
                f"rondo.lengths: error: {path} is read by the package {package}, which is "
                f"not installed: pip install {package}\n",
            )

    def test_other_files(self):
        path = self.folder / "lengths.txt"
        with self.assertRaisesRegex(LengthsError, "does not exist"):
            list(lengths(path))
        path.write_text("3\n")
        with self.assertRaisesRegex(LengthsError, "not a .parquet"):
            list(lengths(path))

    @unittest.skipUnless(pyarrow, "needs pyarrow")
    def test_parquet_and_arrow(self):
        table = pyarrow.table({"input_ids": TOKENS, "n": LENGTHS, "text": list("abcd")})
        pyarrow.parquet.write_table(table, self.folder / "a.parquet", row_group_size=3)
        pyarrow.feather.write_feather(table, str(self.folder / "a.feather"))
        with pyarrow.OSFile(str(self.folder / "a.arrow"), "wb") as file:
            with pyarrow.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=2)
        for name in "a.parquet", "a.feather", "a.arrow":
            with self.subTest(name):
                self.assertEqual(list(lengths(self.folder / name)), LENGTHS)
                self.assertEqual(list(lengths(self.folder / name, "n")), LENGTHS)
        with self.assertRaisesRegex(LengthsError, "column 'text' is of type string"):
            list(lengths(self.folder / "a.parquet", "text"))
        with self.assertRaisesRegex(
            LengthsError, "no column 'ids'; --column takes one of input_ids, n, text"
        ):
            list(lengths(self.folder / "a.arrow", "ids"))
        output = self.folder / "out.txt"
        code, _, _ = self.run_main(
            self.folder / "a.parquet", self.folder / "a.arrow", "-o", output
        )
        self.assertEqual(code, 0)
        self.assertEqual(output.read_text(), "3\n1\n2\n300\n" * 2)

    @unittest.skipUnless(pyarrow, "needs pyarrow")
    def test_rows_without_a_value(self):
        table = pyarrow.table({"input_ids": [[1], None]})
        pyarrow.parquet.write_table(table, self.folder / "a.parquet")
        with self.assertRaisesRegex(LengthsError, "rows without a value"):
            list(lengths(self.folder / "a.parquet"))

    @unittest.skipUnless(datasets, "needs datasets")
    def test_dataset(self):
        dataset = datasets.Dataset.from_dict({"input_ids": TOKENS})
        dataset.save_to_disk(str(self.folder / "whole"))
        self.assertEqual(list(lengths(self.folder / "whole")), LENGTHS)
        dataset.select([3, 0]).save_to_disk(str(self.folder / "some"))
        self.assertEqual(list(lengths(self.folder / "some")), [300, 3])
        datasets.DatasetDict({"train": dataset}).save_to_disk(str(self.folder / "splits"))
        with self.assertRaisesRegex(LengthsError, "has the splits train"):
            list(lengths(self.folder / "splits"))


if __name__ == "__main__":
    unittest.main()
