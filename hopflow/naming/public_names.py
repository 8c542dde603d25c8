"""Public names of packages: loaded on first use from the modules that a stub names, and names that have moved.

``moved_names.toml`` beside this file has the names that have moved.
"""

from __future__ import annotations

import ast
import functools
import importlib
import tomllib
from collections.abc import Callable
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import lazy_loader

__all__ = ["attach", "collect", "has_moved", "moved", "moved_names"]

Attached = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


@functools.cache
def moved_names(package: str) -> dict[str, tuple[str, str]]:
    """Return the module of each name that a package had, and what to write, by the old name.

    >>> moved_names("markov")["Stationary"]
    ('markov.results', 'from markov.results import Stationary')
    """
    table = tomllib.loads(Path(__file__).with_name("moved_names.toml").read_text(encoding="utf-8"))
    found: dict[str, tuple[str, str]] = {}
    for module, names in table["moved"].get(package, {}).items():
        found |= {name: (module, f"from {module} import {name}") for name in names.split()}
    for name, entry in table["replaced"].get(package, {}).items():
        found[name] = entry["module"], entry["write"]
    return found


def has_moved(package: str, name: str) -> bool:
    """Return whether a package had a name that is elsewhere now."""
    return name in moved_names(package)


def moved(package: str, name: str, *, shown: str = "", stacklevel: int = 3) -> Any:
    """Return an object by a name that a package had in the last release, and warn.

    Parameters
    ----------
    package, name
        Of `moved_names`.
    shown
        The package that the warning names; "": ``package``.
    stacklevel
        As for `warnings.warn`: 3 is the caller of the function that calls this one.

    Raises
    ------
    AttributeError
        If the package had no such name.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     moved("markov", "Stationary").__name__
    'Stationary'
    >>> print(said[0].message)
    markov.Stationary is deprecated and will be removed in the next release; write from markov.results import Stationary
    """
    if not has_moved(package, name):
        raise AttributeError(f"module {shown or package!r} has no attribute {name!r}")
    from hopflow.naming.deprecations import warn_deprecated

    module, new = moved_names(package)[name]
    warn_deprecated(f"{shown or package}.{name}", new, stacklevel=stacklevel + 1)
    return getattr(importlib.import_module(module), name)


def attach(
    package: str, file: str, *submodules: str, start: Callable[[], object] | None = None
) -> Attached:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are loaded on first use.

    Names that have moved are found too, with a warning.

    Parameters
    ----------
    package, file
        ``__name__`` and ``__file__``. The stub beside the file imports the names.
    submodules
        Modules that the stub imports. They can be reached by their name, and are not in ``__all__``.
    start
        What is called before a name is loaded.
    """
    load, _, names = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        if start is not None and name in names:
            start()
        return load(name) if name in names else moved(package, name)

    return get, names.copy, [each for each in names if each not in submodules]


def collect(package: str, file: str) -> Attached:
    """Return what `attach` returns, of a package whose stub imports names from packages above it, too."""
    places: dict[str, str] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            places |= dict.fromkeys((each.name for each in node.names), module)

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(places[name]), name)

    names = sorted(places)
    return get, names.copy, names
