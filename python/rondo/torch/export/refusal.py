# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a module cannot be exported."""


class Refusal(ValueError):
    """A module that cannot be exported: which, why, and what to do."""


class NotRunning(Refusal):
    """A module that fails on the tensors that it would get."""
