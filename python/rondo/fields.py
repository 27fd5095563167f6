# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dataclasses from and to JSON: the keys of an object are the fields of a class.

A field without a default is a required key; a key that no field has is an error.
Numbers are only checked to be whole: what they may be is for the rondo command
to say, in one place.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import tempfile
from typing import Any, Callable, TypeVar

T = TypeVar("T")
Reader = Callable[[Any, str], Any]


class FormatError(ValueError):
    """A text that does not have the format it should have."""


def field(
    read: Reader,
    *,
    key: str | None = None,
    null: bool = False,
    write: bool = True,
    **others: Any,
) -> Any:
    """A field whose value `read` makes of JSON. `key` is its name there, by default
    the field's. None is left out, unless `null`: then it is written as null."""
    metadata = {"read": read, "key": key, "null": null, "write": write}
    return dataclasses.field(metadata=metadata, **others)


def key_of(entry: dataclasses.Field[Any]) -> str:
    return entry.metadata["key"] or entry.name


def json_fields(cls: Any) -> list[dataclasses.Field[Any]]:
    """The fields of a class that are keys."""
    return [f for f in dataclasses.fields(cls) if "read" in f.metadata]


def wrong(path: str, expected: str, value: Any) -> FormatError:
    found = json.dumps(value, ensure_ascii=False, default=str)
    found = found if len(found) <= 40 else found[:37] + "..."
    return FormatError(f"{path} must be {expected}, not {found}")


def whole(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(path, "a whole number", value)
    return value


def whole_or_null(value: Any, path: str) -> int | None:
    return None if value is None else whole(value, path)


def text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise wrong(path, "a string", value)
    return value


def truth(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise wrong(path, "true or false", value)
    return value


def anything(value: Any, path: str) -> Any:
    return value


def mapping(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong(path, "an object", value)
    return value


def lists(read: Reader) -> Reader:
    def read_list(value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise wrong(path, "a list", value)
        return [read(v, f"{path}[{i}]") for i, v in enumerate(value)]

    return read_list


def values(read: Reader) -> Reader:
    """An object whose keys are free."""

    def read_values(value: Any, path: str) -> dict[str, Any]:
        return {k: read(v, f"{path}.{k}") for k, v in mapping(value, path).items()}

    return read_values


def objects(cls: type[T]) -> Reader:
    return lambda value, path: from_object(cls, value, path)


def from_object(
    cls: type[T], value: Any, path: str, without: frozenset[str] = frozenset()
) -> T:
    """An object of `cls`; keys in `without` are as unknown as those of no field."""
    known = {key_of(f): f for f in json_fields(cls) if key_of(f) not in without}
    found = {
        EARLIER_KEYS[key] if EARLIER_KEYS.get(key) in known else key: entry
        for key, entry in mapping(value, path).items()
    }
    if len(found) < len(value):
        raise FormatError(f"{path} has a key and its earlier name, one of {', '.join(EARLIER_KEYS)}")
    for key in found:
        if key not in known:
            raise FormatError(
                f'unknown key "{key}" in {path}; known keys are {", ".join(known)}'
            )
    arguments = {}
    for key, entry in known.items():
        if key in found:
            place = key if path in ROOTS else f"{path}.{key}"
            arguments[entry.name] = entry.metadata["read"](found[key], place)
        elif (
            entry.default is dataclasses.MISSING
            and entry.default_factory is dataclasses.MISSING
        ):
            raise FormatError(f'{path} has no key "{key}"')
    return cls(**arguments)


# Keys of earlier files: the key that is written.
EARLIER_KEYS = {"homes": "replicas", "cards": "nics", "card": "nic"}

# Names of the whole object in errors; paths below it begin with a key.
ROOTS = frozenset(["problem", "schedule"])


def to_value(value: Any) -> Any:
    """`value` as JSON; it may contain objects of these classes."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = {}
        for entry in json_fields(value):
            item = getattr(value, entry.name)
            if not entry.metadata["write"]:
                continue
            if item is not None or entry.metadata["null"]:
                found[key_of(entry)] = to_value(item)
        custom = getattr(value, "_edit_json", None)
        return custom(found) if custom else found
    if isinstance(value, (list, tuple)):
        return [to_value(v) for v in value]
    if isinstance(value, dict):
        return {k: to_value(v) for k, v in value.items()}
    return value


class _Fixed(float):
    """Written with six digits after the point, as Rondo writes seconds."""

    def __repr__(self) -> str:
        return format(float(self), ".6f")


def six_digits(value: Any, path: str) -> Any:
    return _Fixed(value) if isinstance(value, float) else value


def dumps(value: Any) -> str:
    """One line of JSON, as Rondo writes it."""
    pieces: list[str] = []
    _write(value, pieces)
    return "".join(pieces)


def _write(value: Any, pieces: list[str]) -> None:
    if isinstance(value, dict):
        for i, (key, item) in enumerate(value.items()):
            pieces.append(("," if i else "{") + json.dumps(key, ensure_ascii=False))
            pieces.append(":")
            _write(item, pieces)
        pieces.append("}" if value else "{}")
    elif isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
        for i, item in enumerate(value):
            pieces.append("," if i else "[")
            _write(item, pieces)
        pieces.append("]")
    elif isinstance(value, _Fixed):
        pieces.append(repr(value))
    else:
        pieces.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def loads(source: str) -> Any:
    """A JSON value; a key that appears twice in an object is an error."""
    try:
        return json.loads(source.removeprefix("\ufeff"), object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise FormatError(f"{error.lineno}:{error.colno}: {error.msg}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise FormatError(f'key "{twice}" appears twice')
    return found


def read_file(path: str | os.PathLike[str], read: Callable[[Any], T]) -> list[T]:
    """The objects of a file: one a line if its name ends in .jsonl, else one."""
    name = os.fspath(path)
    content = pathlib.Path(path).read_text(encoding="utf-8-sig")
    by_line = name.endswith(".jsonl")
    parts = content.split("\n") if by_line else [content]
    found = []
    for number, part in enumerate(parts, 1):
        if by_line and not part.strip():
            continue
        try:
            found.append(read(loads(part)))
        except FormatError as error:
            place = f"{name}:{number}" if by_line else name
            raise FormatError(f"{place}: {error}") from None
    return found


def write_file(path: str | os.PathLike[str], content: str) -> None:
    """Replaces a file as a whole, or leaves it as it was."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".rondo-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
        # As a file made by open() would have.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
