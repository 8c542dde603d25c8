"""Lazy public names of packages, listed in stubs, and names that have moved.

``moved_names.toml`` beside this file lists the moved names.
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

__all__ = ["attach", "collect", "has_moved", "load_moved", "new_locations"]

Attached = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


@functools.cache
def new_locations(package: str) -> dict[str, tuple[str, str]]:
    """Return the new module and the new import of each name that left a package, by name.

    >>> new_locations("markov")["Stationary"]
    ('markov.results', 'from markov.results import Stationary')
    """
    table = tomllib.loads(Path(__file__).with_name("moved_names.toml").read_text(encoding="utf-8"))
    replacements: dict[str, tuple[str, str]] = {}
    for module, names in table["moved"].get(package, {}).items():
        replacements |= {name: (module, f"from {module} import {name}") for name in names.split()}
    for name, entry in table["replaced"].get(package, {}).items():
        replacements[name] = entry["module"], entry["write"]
    return replacements


def has_moved(package: str, name: str) -> bool:
    """Return whether a name has moved from a package to another module."""
    return name in new_locations(package)


def load_moved(package: str, name: str, *, shown: str = "", stacklevel: int = 3) -> Any:
    """Return an object by its name in the last release, with a deprecation warning.

    Parameters
    ----------
    package, name
        Old package and name; see `new_locations`.
    shown
        Package in the warning; "": ``package``.
    stacklevel
        As for `warnings.warn`: 3 is the caller of the function that calls this one.

    Raises
    ------
    AttributeError
        If the package had no such name.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as messages:
    ...     warnings.simplefilter("always")
    ...     load_moved("markov", "Stationary").__name__
    'Stationary'
    >>> print(messages[0].message)
    markov.Stationary is deprecated and will be removed in the next release; write from markov.results import Stationary
    """
    if not has_moved(package, name):
        raise AttributeError(f"module {shown or package!r} has no attribute {name!r}")
    from hopflow.naming.deprecations import warn_deprecated

    module, new = new_locations(package)[name]
    warn_deprecated(f"{shown or package}.{name}", new, stacklevel=stacklevel + 1)
    return getattr(importlib.import_module(module), name)


def attach(package: str, file: str, *submodules: str, start: Callable[[], object] | None = None) -> Attached:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are loaded on first use.

    Moved names are supported, with a warning.

    Parameters
    ----------
    package, file
        ``__name__`` and ``__file__``. The stub beside the file imports the names.
    submodules
        Modules that the stub imports: attributes of the package, but not in ``__all__``.
    start
        Function called before a name is loaded.
    """
    load, _, names = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        if start is not None and name in names:
            start()
        return load(name) if name in names else load_moved(package, name)

    return get, names.copy, [name for name in names if name not in submodules]


def collect(package: str, file: str) -> Attached:
    """Return the result of `attach` for a package whose stub imports names from parent packages too."""
    modules: dict[str, str] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            modules |= dict.fromkeys((alias.name for alias in node.names), module)

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(modules[name]), name)

    names = sorted(modules)
    return get, names.copy, names
