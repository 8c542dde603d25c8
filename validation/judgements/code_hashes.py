"""Hashes of the code that a module runs: its own, and that of all modules which it uses.

What is used is read from the import statements: a name imported from a package stands for the module
that defines it, not for all that the package imports. Comments, the wording of docstrings, blank lines
and assertions do not count; tables beside a module do.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import json
import platform
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hopflow.kernels import cache

ROOT = Path(__file__).parents[2]
PACKAGES = ("hopflow", "dfcmodel", "markov", "responsefn", "validation")
"""The packages of this distribution."""
TABLES = ("*.csv", "*.toml")


class _Source(NamedTuple):
    """What the text of a module says.

    Attributes
    ----------
    code
        The hash of its code.
    imports
        Modules of our packages and relative ones, as written, with the names imported from each; none: itself.
    strings
        Texts that name a module or a package, which is imported, compiled or read, or a file beside it.
    defined
        Names that it defines itself.
    """

    code: str
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    strings: tuple[str, ...]
    defined: frozenset[str]


def hashes_of_code(groups: Iterable[Iterable[str]]) -> list[str]:
    """Return, for each group of modules, the hash of their code and of all that they use, in these packages.

    Examples
    --------
    >>> from validation.judgements.code_hashes import hashes_of_code
    >>> units, checks = hashes_of_code([["hopflow.units"], ["hopflow.checks"]])
    >>> units == checks
    False
    """
    hashes = []
    for modules in groups:
        digest = hashlib.sha256()
        for name in sorted(frozenset().union(*map(modules_used, modules))):
            digest.update(f"{name} {_own_hash(name)}\n".encode())
        hashes.append(digest.hexdigest())
    _remember()
    return hashes


@functools.cache
def modules_used(module: str) -> frozenset[str]:
    """Return the modules that a module uses, directly or not, with itself and the packages above it.

    Raises
    ------
    ValueError
        When it is none of the packages' modules.

    Examples
    --------
    >>> from validation.judgements.code_hashes import modules_used
    >>> used = modules_used("validation.claims.yang2001.load")
    >>> "dfcmodel.packets.kernel.loop" in used, "markov.phases.fitting" in used
    (True, False)
    """
    if _file(module) is None:
        raise ValueError(f"module = {module!r}: must be one of {', '.join(PACKAGES)}")
    found: set[str] = set()
    waiting = [module]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += _imports(name)
    parts = (name.split(".") for name in found)
    return frozenset(found | {".".join(part[:n]) for part in parts for n in range(1, len(part))})


@functools.cache
def _file(name: str) -> Path | None:
    """Return the file of a module or package; None: there is none."""
    base = ROOT.joinpath(*name.split("."))
    places = (base / "__init__.py", base.with_suffix(".py"))
    known = name.partition(".")[0] in PACKAGES
    return next((place for place in places if known and place.is_file()), None)


@functools.cache
def _source(name: str) -> _Source:
    """Return what a module's text says, kept by the hash of the text: reading all takes seconds."""
    file = _file(name)
    assert file is not None
    return _read(file)


def _read(file: Path) -> _Source:
    """Return what the text of a file says."""
    text = file.read_bytes()
    raw = hashlib.sha256(text).hexdigest()
    if raw not in _known():
        _known()[raw] = _parsed(text)
        _changed.add(raw)
    return _known()[raw]


def _parsed(text: bytes) -> _Source:
    tree = ast.parse(text)
    code = compile(tree, "", "exec", dont_inherit=True, optimize=2)
    imports: list[tuple[str, tuple[str, ...]]] = []
    strings: set[str] = set()
    waiting: list[Any] = [tree]
    while waiting:  # `ast.walk`, in a quarter of its time
        node = waiting.pop()
        kind = type(node)
        if kind is list:
            waiting += node
        elif kind is ast.Constant:
            strings |= {node.value} if isinstance(node.value, str) and _is_name(node.value) else set()
        elif kind is ast.ImportFrom:
            names = tuple(alias.name for alias in node.names)
            imports.append(("." * node.level + (node.module or ""), names))
        elif kind is ast.Import:
            imports += [(alias.name, ()) for alias in node.names]
        else:
            waiting += [getattr(node, name) for name in getattr(node, "_fields", ())]
    return _Source(
        hashlib.sha256(repr(_bare(code)).encode()).hexdigest(),
        tuple(each for each in imports if each[0].partition(".")[0] in ("", *PACKAGES)),
        tuple(sorted(strings)),
        frozenset(each for node in tree.body for each in _names_of(node)),
    )


def _is_name(text: str) -> bool:
    """Return whether a text names a module of ours with its package, or a file of Python."""
    first, _, rest = text.partition(".")
    known = rest == "py" or (rest and first in PACKAGES)
    return bool(known) and all(part.isidentifier() for part in text.split("."))


def _names_of(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    for each in ast.walk(node) if isinstance(node, (ast.Assign, ast.AnnAssign)) else ():
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id


@functools.cache
def _imports(name: str) -> frozenset[str]:
    """Return the modules that define what a module imports or names."""
    found: set[str] = set()
    for module, names in _statements(name):
        found |= frozenset().union(*(_defined_in(module, each) for each in names))
        found |= set() if names else {module}
    for text in _source(name).strings:
        beside = text.endswith(".py")
        found |= {f"{_package(name)}.{text[:-3]}"} if beside else _whole(text)
    return frozenset(each for each in found if _file(each))


def _statements(name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the modules that a module imports, in full, and the names from each; none: itself."""
    imports = _source(name).imports
    stub = ROOT.joinpath(*name.split("."), "__init__.pyi")
    if stub.is_file():  # a package loads its names by its stub
        imports += tuple(each for each in _read(stub).imports if each[1] and "*" not in each[1])
    for module, names in imports:
        yield importlib.util.resolve_name(module, _package(name)), names


def _package(name: str) -> str:
    """Return the package that a module is in; a package is in itself."""
    return name if _is_package(name) else name.rpartition(".")[0]


def _is_package(name: str) -> bool:
    file = _file(name)
    return file is not None and file.name == "__init__.py"


def _whole(name: str) -> frozenset[str]:
    """Return a module, or all modules of a package."""
    if not _is_package(name):
        return frozenset({name})
    files = ROOT.joinpath(*name.split(".")).rglob("*.py")
    parts = (file.relative_to(ROOT).with_suffix("").parts for file in files)
    return frozenset(".".join(part).removesuffix(".__init__") for part in parts)


@functools.cache
def _defined_in(module: str, name: str) -> frozenset[str]:
    """Return the modules that define a name imported from a module."""
    if _file(f"{module}.{name}"):
        return frozenset({f"{module}.{name}"})
    if not _is_package(module) or name in _source(module).defined:
        return frozenset({module})
    for each, names in _statements(module):
        if name in names:
            return _defined_in(each, name)
    return frozenset().union(*map(_whole, PACKAGES))  # by the package's own `__getattr__`


@functools.cache
def _own_hash(name: str) -> str:
    """Return the hash of a module's own code and of the tables in its folder."""
    file = _file(name)
    assert file is not None
    tables = sorted(path for pattern in TABLES for path in file.parent.glob(pattern))
    hashes = (hashlib.sha256(table.read_bytes()).hexdigest() for table in tables)
    return " ".join([_source(name).code, *hashes])


def _bare(value: object) -> object:
    """Return code as values that are equal for equal code: without places in the file."""
    if isinstance(value, types.CodeType):
        consts = tuple(map(_bare, value.co_consts))
        names = value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars
        arguments = value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount
        rest = value.co_flags, value.co_exceptiontable
        return value.co_name, value.co_code, consts, names, arguments, rest
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    if isinstance(value, tuple):
        return tuple(map(_bare, value))
    return value


_changed: set[str] = set()
"""Hashes of texts that were read for the first time."""


@functools.cache
def _known() -> dict[str, _Source]:
    """Return the parsed modules by the hash of their text: those of the cache, and all that are read later."""
    return _cached()


def _cached() -> dict[str, _Source]:
    """Return the parsed modules of the cache; none where its entry is absent or damaged."""
    payload = cache.read(_entry())
    if payload is None:
        return {}
    return {raw: _from_json(*fields) for raw, fields in json.loads(payload).items()}


def _from_json(code: str, imports: list[Any], strings: list[str], defined: list[str]) -> _Source:
    """Return a parsed module of its JSON, which has lists for tuples and sets."""
    pairs = tuple((module, tuple(names)) for module, names in imports)
    return _Source(code, pairs, tuple(strings), frozenset(defined))


def _entry() -> str:
    """Return the name of the entry, with a hash of what determines how modules are parsed."""
    file = _file(__name__)
    assert file is not None
    parser = hashlib.sha256(platform.python_version().encode() + file.read_bytes()).hexdigest()
    return f"code_hashes-{parser[:20]}"


def _remember() -> None:
    """Write the parsed modules with those that other processes have written."""
    if _changed:
        _known().update(_cached())
        sources = {raw: (*source[:3], sorted(source.defined)) for raw, source in _known().items()}
        cache.write(_entry(), json.dumps(sources).encode())
        _changed.clear()
