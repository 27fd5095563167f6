# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Versions of clients that were tried."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Sequence


class UntriedVersion(UserWarning):
    """A client's version with which Rondo was not tried."""


class UnsupportedVersion(RuntimeError):
    """A client's version that lacks what Rondo uses of it."""


def need(package: str, command: str) -> None:
    """Raises ImportError, with the command that installs it, if a package is missing."""
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise ImportError(f"{package} is not installed: {command}", name=package)


def check_version(
    client: str, found: str, tried: Sequence[str], oldest: str | None = None
) -> None:
    """Warns of a version that was not tried. One before `oldest` is an error."""
    known = ", ".join(tried)
    plain = found.split("+")[0]
    if oldest is not None and _numbers(plain) < _numbers(oldest):
        raise UnsupportedVersion(
            f"{client} {found} is too old: {oldest} or later is needed, tried: {known}"
        )
    if plain not in tried:
        warnings.warn(
            f"{client} {found} was not tried with this version of rondo; tried: {known}",
            UntriedVersion,
            stacklevel=3,
        )


def _numbers(version: str) -> list[int]:
    digits = ["".join(filter(str.isdigit, part)) for part in version.split(".")]
    return [int(d or 0) for d in digits[:3]]
