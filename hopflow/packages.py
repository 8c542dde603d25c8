"""Hopflow's packages, and files of a user that hide them."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

__all__ = ["check_packages", "package"]

ROOT = Path(__file__).parents[1]


def package(name: str) -> ModuleType:
    """Import one of hopflow's packages.

    Raises
    ------
    ImportError
        Where a module of the same name, such as a user's ``markov.py`` beside his script, hides it.
    """
    check_packages(name)
    return importlib.import_module(name)


def check_packages(*names: str) -> None:
    """Raise ImportError, which names the file, where another module hides one of the packages.

    Examples
    --------
    >>> check_packages("markov", "responsefn")
    """
    for name in names:
        spec = find_spec(name)
        if spec is not None and (spec.origin is None or Path(spec.origin).parents[1] != ROOT):
            origin = spec.origin or ", ".join(spec.submodule_search_locations or ())
            said = f"{name} is {origin}, which hides hopflow's package of that name: rename it"
            raise ImportError(said, name=name, path=origin)
