"""Compilation ahead of the first use: a short call of each kernel that users meet first."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from hopflow.execution.progress import progress_bar
from hopflow.naming.packages import LEFT_OUT, check_packages

__all__ = ["warm_cache"]

USERS = ("dfcmodel", "markov", "responsefn")
"""Packages with kernels; the module `first_uses` of each has the calls."""


def warm_cache() -> list[str]:
    """Compile what is not in the cache yet, under a progress bar; return what the light installation cannot run.

    Kernels of a user's own rules are compiled when they are used: nobody knows them here.

    Raises
    ------
    ImportError
        Where one of the packages is hidden or overwritten.
    """
    check_packages(*USERS)
    uses: dict[str, Callable[[], Any]] = {}
    for name in USERS:
        uses |= importlib.import_module(f"{name}.first_uses").short_calls()
    left_out = []
    bar = progress_bar(uses.items(), desc="compiling")
    for name, use in bar:
        bar.set_postfix_str(name)
        try:
            use()
        except ImportError as error:
            if error.name not in LEFT_OUT:
                raise
            left_out.append(name)
    return left_out
