# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the lengths of the documents of a data set, for `rondo import lengths`.

    python -m rondo.lengths train.parquet --column input_ids -o lengths.txt

Reads Parquet and Arrow files (the package pyarrow) and folders that
`datasets.Dataset.save_to_disk` has written (the package datasets). A column of
lists gives the length of each list, such as of token ids; a column of whole
numbers has the lengths. One number a line, in the order of the data set.
"""

from __future__ import annotations

import argparse
import importlib
import pathlib
import sys
from collections.abc import Iterator
from typing import Any


class LengthsError(Exception):
    """Why lengths cannot be read, in words."""


def _library(name: str, what: str) -> Any:
    """A package that this one does not depend on."""
    package = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise LengthsError(
            f"{what} is read by the package {package}, which is not installed: "
            f"pip install {package}"
        ) from error


def _column(schema: Any, name: str, where: str) -> str:
    if name in schema.names:
        return name
    raise LengthsError(
        f"{where}: no column {name!r}; --column takes one of {', '.join(schema.names)}"
    )


def _of_array(array: Any, name: str, where: str) -> list[int]:
    """The lengths of a column of Arrow."""
    types = _library("pyarrow.types", where)
    kind = array.type
    if array.null_count:
        raise LengthsError(f"{where}: column {name!r} has rows without a value")
    if types.is_integer(kind):
        return [int(length) for length in array.to_pylist()]
    if (
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
    ):
        compute = _library("pyarrow.compute", where)
        return [int(length) for length in compute.list_value_length(array).to_pylist()]
    raise LengthsError(
        f"{where}: column {name!r} is of type {kind}, neither lists of token ids nor lengths"
    )


def _of_parquet(path: pathlib.Path, column: str) -> Iterator[list[int]]:
    parquet = _library("pyarrow.parquet", str(path))
    with parquet.ParquetFile(path) as file:
        name = _column(file.schema_arrow, column, str(path))
        for batch in file.iter_batches(columns=[name]):
            yield _of_array(batch.column(0), name, str(path))


def _of_arrow(path: pathlib.Path, column: str) -> Iterator[list[int]]:
    """A file of Arrow, Feather or a stream, as the package datasets keeps it."""
    arrow = _library("pyarrow", str(path))
    ipc = _library("pyarrow.ipc", str(path))
    with arrow.memory_map(str(path)) as source:
        try:
            reader = ipc.open_file(source)
            batches = (
                reader.get_batch(index) for index in range(reader.num_record_batches)
            )
        except arrow.ArrowInvalid:
            source.seek(0)
            reader = ipc.open_stream(source)
            batches = iter(reader)
        name = _column(reader.schema, column, str(path))
        for batch in batches:
            yield _of_array(batch.column(name), name, str(path))


def _of_dataset(path: pathlib.Path, column: str) -> Iterator[list[int]]:
    datasets = _library("datasets", str(path))
    dataset = datasets.load_from_disk(str(path))
    if not isinstance(dataset, datasets.Dataset):
        raise LengthsError(
            f"{path} has the splits {', '.join(dataset)}: name the folder of one"
        )
    name = _column(dataset.data.schema, column, str(path))
    # Rows may be chosen or reordered by indices.
    arrow = dataset.with_format("arrow")
    for start in range(0, len(arrow), 10_000):
        for chunk in arrow[start : start + 10_000][name].chunks:
            yield _of_array(chunk, name, str(path))


def lengths(path: str | pathlib.Path, column: str = "input_ids") -> Iterator[int]:
    """The lengths in a file or a folder, in its order. Raises LengthsError, also if
    the package that reads the file is not installed."""
    place = pathlib.Path(path)
    if not place.exists():
        raise LengthsError(f"{place} does not exist")
    if place.is_dir():
        batches = _of_dataset(place, column)
    elif place.suffix == ".parquet":
        batches = _of_parquet(place, column)
    elif place.suffix in (".arrow", ".feather", ".ipc"):
        batches = _of_arrow(place, column)
    else:
        raise LengthsError(
            f"{place}: not a .parquet, .arrow, .feather or .ipc file, nor a folder of "
            "datasets; `rondo import lengths` itself reads text and JSON"
        )
    for batch in batches:
        yield from batch


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m rondo.lengths",
        description="Writes the lengths of the documents of data sets, a number a line.",
    )
    parser.add_argument("data", nargs="+", metavar="DATA", help="a file or a folder")
    parser.add_argument(
        "--column",
        default="input_ids",
        help="lists of token ids, or lengths (default: %(default)s)",
    )
    parser.add_argument("-o", "--output", help="(default: standard output)")
    given = parser.parse_args(arguments)
    try:
        text = "".join(
            f"{length}\n" for path in given.data for length in lengths(path, given.column)
        )
        if given.output:
            pathlib.Path(given.output).write_text(text)
        else:
            sys.stdout.write(text)
    except (LengthsError, OSError) as error:
        print(f"rondo.lengths: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
