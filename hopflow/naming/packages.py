"""Hopflow's packages: files of a user that hide them, and other distributions that overwrite them."""

from __future__ import annotations

import importlib
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

__all__ = [
    "LEFT_OUT",
    "PACKAGES",
    "ROOT",
    "check_packages",
    "left_out",
    "package",
    "warn_of_others",
]

ROOT = Path(__file__).parents[2]
LEFT_OUT = {"jax": "JAX", "networkx": "networkx", "sympy": "SymPy"}
"""Dependencies without which the light installation (requirements-light.txt) works, by their modules."""
PACKAGES = ("dfcmodel", "markov", "responsefn", "validation")
MARK = '__distribution__ = "hopflow"'
"""A line of the ``__init__.py`` of each package."""


def package(name: str) -> ModuleType:
    """Import one of hopflow's packages.

    Raises
    ------
    ImportError
        Where a module of the same name, such as a user's ``markov.py`` beside his script, hides it, or another distribution
        has overwritten it.
    """
    check_packages(name)
    return importlib.import_module(name)


def check_packages(*names: str) -> None:
    """Raise ImportError, which names the file or the distribution, where another module hides one of the packages.

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
        if said := _overwritten(name):
            raise ImportError(said, name=name)


def left_out(error: ImportError, what: str) -> ImportError:
    """Return what to raise where a module is missing that the light installation leaves out; any other error as it is.

    Examples
    --------
    >>> left_out(ModuleNotFoundError("No module named 'sympy'", name="sympy"), "closed forms")
    ImportError('closed forms need SymPy, which the light installation leaves out: `pip install sympy` adds it')
    """
    name = (error.name or "").partition(".")[0]
    if name not in LEFT_OUT:
        return error
    said = f"{what} need {LEFT_OUT[name]}, which the light installation leaves out: `pip install {name}` adds it"
    return ImportError(said, name=name)


def warn_of_others() -> None:
    """Warn of each package that another distribution has overwritten or removed."""
    for said in filter(None, map(_overwritten, PACKAGES)):
        warnings.warn(said, stacklevel=3)


def _overwritten(name: str) -> str:
    """Return what to say of a package whose first file is not hopflow's; "" if it is."""
    path = ROOT / name / "__init__.py"
    if path.is_file() and MARK in path.read_text(encoding="utf-8", errors="replace"):
        return ""
    repair = "pip install --force-reinstall --no-deps hopflow"
    owners = _owners(f"{name}/__init__.py")
    if not owners:
        what = "is not hopflow's" if path.is_file() else "is missing"
        return f"{path} {what}: repair it by `{repair}`"
    named = " and ".join(map(repr, owners))
    first = f"the distribution {named} has a package {name}, too, and has overwritten hopflow's"
    return f"{first}: repair it by `pip uninstall {' '.join(owners)}`, then `{repair}`, and use them in environments apart"


def _owners(file: str) -> list[str]:
    """Return the other distributions that installed a file."""
    from importlib.metadata import distributions

    found = {
        each.metadata["Name"]
        for each in distributions()
        if any(str(path) == file for path in each.files or ())
    }
    return sorted(found - {"hopflow"})
