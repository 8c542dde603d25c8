"""Hopflow's packages, with checks for user files that shadow them and distributions that overwrite them."""

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
"""Dependencies that the light installation (requirements-light.txt) does without, by module."""
PACKAGES = ("dfcmodel", "markov", "responsefn", "validation")
MARK = '__distribution__ = "hopflow"'
"""Line in the ``__init__.py`` of each package."""


def package(name: str) -> ModuleType:
    """Import one of hopflow's packages.

    Raises
    ------
    ImportError
        If a module of the same name, such as ``markov.py`` beside a user's script, shadows it, or another distribution
        has overwritten it.
    """
    check_packages(name)
    return importlib.import_module(name)


def check_packages(*names: str) -> None:
    """Raise ImportError, with the file or the distribution, if another module shadows or overwrites a package.

    Examples
    --------
    >>> check_packages("markov", "responsefn")
    """
    for name in names:
        spec = find_spec(name)
        if spec is not None and (spec.origin is None or Path(spec.origin).parents[1] != ROOT):
            origin = spec.origin or ", ".join(spec.submodule_search_locations or ())
            message = f"{name} is {origin}, which hides hopflow's package of that name: rename it"
            raise ImportError(message, name=name, path=origin)
        if message := _overwrite_message(name):
            raise ImportError(message, name=name)


def left_out(error: ImportError, what: str) -> ImportError:
    """Return an ImportError with a hint for a module that the light installation lacks; return other errors unchanged.

    Examples
    --------
    >>> left_out(ModuleNotFoundError("No module named 'sympy'", name="sympy"), "closed forms")
    ImportError('closed forms need SymPy, which the light installation leaves out: `pip install sympy` adds it')
    """
    name = (error.name or "").partition(".")[0]
    if name not in LEFT_OUT:
        return error
    message = f"{what} need {LEFT_OUT[name]}, which the light installation leaves out: `pip install {name}` adds it"
    return ImportError(message, name=name)


def warn_of_others() -> None:
    """Warn of each package that another distribution has overwritten or removed."""
    for message in filter(None, map(_overwrite_message, PACKAGES)):
        warnings.warn(message, stacklevel=3)


def _overwrite_message(name: str) -> str:
    """Return the message for a package whose ``__init__.py`` is not hopflow's; "" if it is."""
    path = ROOT / name / "__init__.py"
    if path.is_file() and MARK in path.read_text(encoding="utf-8", errors="replace"):
        return ""
    repair = "pip install --force-reinstall --no-deps hopflow"
    owners = _owners(f"{name}/__init__.py")
    if not owners:
        fault = "is not hopflow's" if path.is_file() else "is missing"
        return f"{path} {fault}: repair it by `{repair}`"
    names = " and ".join(map(repr, owners))
    first = f"the distribution {names} has a package {name}, too, and has overwritten hopflow's"
    return (
        f"{first}: repair it by `pip uninstall {' '.join(owners)}`, then `{repair}`, and use them in environments apart"
    )


def _owners(file: str) -> list[str]:
    """Return the other distributions that installed a file."""
    from importlib.metadata import distributions

    owners = {
        distribution.metadata["Name"]
        for distribution in distributions()
        if any(str(path) == file for path in distribution.files or ())
    }
    return sorted(owners - {"hopflow"})
