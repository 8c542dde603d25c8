"""Public names: hopflow's packages, their names, loaded on first use, and names that have moved.

The names of a package are those that its stub ``__init__.pyi`` imports. ``moved_names.toml`` beside this file lists the
names that have moved. Files of users that shadow a package, and distributions that overwrite one, are reported.
"""

from __future__ import annotations

import ast
import functools
import importlib
import warnings
from collections.abc import Callable
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = [
    "LEFT_OUT",
    "PACKAGES",
    "ROOT",
    "attach",
    "check_packages",
    "left_out",
    "load_moved",
    "new_locations",
    "package",
    "public_modules",
    "read_stub",
    "warn_of_others",
]

ROOT = Path(__file__).parents[1]
LEFT_OUT = {"jax": "JAX", "networkx": "networkx", "sympy": "SymPy"}
"""Dependencies that the light installation (requirements-light.txt) does without, by module."""
PACKAGES = ("dfcmodel", "markov", "responsefn", "validation")
MARK = '__distribution__ = "hopflow"'
"""Line in the ``__init__.py`` of each package."""

Attached = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach(package: str, file: str, start: Callable[[], object] | None = None) -> Attached:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are loaded on first use.

    Submodules that the stub imports are attributes, but not in ``__all__``. Moved names are supported, with a warning.

    Parameters
    ----------
    package, file
        ``__name__`` and ``__file__``. The stub beside the file imports the names.
    start
        Function called before a name is loaded.
    """
    modules = read_stub(package, file)

    def get(name: str) -> Any:
        if name not in modules:
            return load_moved(package, name)
        if start is not None:
            start()
        if modules[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(modules[name]), name)

    names = sorted(modules)
    return get, names.copy, [name for name in names if modules[name] != package]


def read_stub(package: str, file: str) -> dict[str, str]:
    """Return the module of each name that a package's stub imports by name; for a submodule, the package.

    >>> import markov
    >>> names = read_stub("markov", markov.__file__)
    >>> names["stationary"], names["results"]
    ('markov.driver', 'markov')
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        alias.name: resolve_name("." * node.level + (node.module or ""), package)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name != "*"
    }


def public_modules() -> list[str]:
    """Return the modules that have public names: those with a stub.

    >>> public_modules()[:2]
    ['dfcmodel', 'dfcmodel.lossless']
    """
    stubs = [path for name in ("hopflow", *PACKAGES) for path in (ROOT / name).rglob("__init__.pyi")]
    return sorted(".".join(stub.parent.relative_to(ROOT).parts) for stub in stubs)


@functools.cache
def new_locations(package: str) -> dict[str, tuple[str, str]]:
    """Return the new module and the new import of each name that left a package, by name.

    >>> new_locations("markov")["Stationary"]
    ('markov.results', 'from markov.results import Stationary')
    """
    import tomllib

    table = tomllib.loads(Path(__file__).with_name("moved_names.toml").read_text(encoding="utf-8"))
    replacements: dict[str, tuple[str, str]] = {}
    for module, names in table["moved"].get(package, {}).items():
        replacements |= {name: (module, f"from {module} import {name}") for name in names.split()}
    for name, entry in table["replaced"].get(package, {}).items():
        replacements[name] = entry["module"], entry["write"]
    return replacements


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
    if name not in new_locations(package):
        raise AttributeError(f"module {shown or package!r} has no attribute {name!r}")
    from hopflow.deprecations import warn_deprecated

    module, new = new_locations(package)[name]
    warn_deprecated(f"{shown or package}.{name}", new, stacklevel=stacklevel + 1)
    return getattr(importlib.import_module(module), name)


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
