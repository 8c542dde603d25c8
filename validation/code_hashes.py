"""Hashes of the code that a module runs: its own, and that of all modules which it uses.

What is used is read from the import statements: a name imported from a package stands for the module
that defines it, not for all that the package imports. Comments, the wording of docstrings, blank lines
and assertions do not count; tables beside a module do.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import re
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path

from hopflow.kernels.loading import folder as cache_folder
from validation import pickles

__all__ = ["hash_of_code", "modules_used"]

ROOT = Path(__file__).parents[1]
PACKAGES = ("hopflow", "dfcmodel", "markov", "responsefn", "validation")
TABLES = ("*.csv", "*.toml")
LOADED_ON_USE = "_LOADED_ON_USE"
"""The table of a package's names that `markov` imports when they are asked for."""
_OURS = rf"(?:{'|'.join(PACKAGES)})\b[\w.]*"
FROM = re.compile(
    rf"^[ \t]*from[ \t]+({_OURS}|\.[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]+)", re.MULTILINE
)
IMPORT = re.compile(rf"^[ \t]*import[ \t]+({_OURS})", re.MULTILINE)
NAMED = re.compile(rf"[\"']((?:{'|'.join(PACKAGES)})\.[\w.]+)[\"']")
"""A module or package named in a string, which is imported, compiled or read by its name."""
BESIDE = re.compile(r"[\"'](\w+)\.py[\"']")
"""A file of the same folder that is read."""
EXAMPLE = re.compile(r"^[ \t]*(?:>>>|\.\.\.) .*$", re.MULTILINE)


def hash_of_code(modules: Iterable[str]) -> str:
    """Return the hash of the code of some modules and of all that they use, in these packages.

    Examples
    --------
    >>> from validation.code_hashes import hash_of_code
    >>> hash_of_code(["hopflow.units"]) == hash_of_code(["hopflow.checks"])
    False
    """
    digest = hashlib.sha256()
    for name in sorted(frozenset().union(*map(modules_used, modules))):
        digest.update(f"{name} {_own_hash(name)}\n".encode())
    _remember()
    return digest.hexdigest()


@functools.cache
def modules_used(module: str) -> frozenset[str]:
    """Return the modules that a module uses, directly or not, with itself and the packages above it.

    Raises
    ------
    ValueError
        When it is none of the packages' modules.

    Examples
    --------
    >>> from validation.code_hashes import modules_used
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


def _file(name: str) -> Path | None:
    """Return the file of a module or package; None: there is none."""
    base = ROOT.joinpath(*name.split("."))
    places = (base / "__init__.py", base.with_suffix(".py"))
    known = name.partition(".")[0] in PACKAGES
    return next((place for place in places if known and place.is_file()), None)


@functools.cache
def _text(name: str) -> str:
    file = _file(name)
    assert file is not None
    return file.read_text(encoding="utf-8")


@functools.cache
def _imports(name: str) -> frozenset[str]:
    """Return the modules that define what a module imports or names."""
    found: set[str] = set()
    for source, names in _statements(name):
        found |= frozenset().union(*(_defined_in(source, each) for each in names))
    text = EXAMPLE.sub("", _text(name))
    found |= {match[1] for match in IMPORT.finditer(text)}
    found |= frozenset().union(*(_whole(match[1]) for match in NAMED.finditer(text)))
    package = name if _is_package(name) else name.rpartition(".")[0]
    found |= {f"{package}.{match[1]}" for match in BESIDE.finditer(text)}
    return frozenset(each for each in found if _file(each))


def _statements(name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the modules of the statements ``from module import names``, and the names."""
    for match in FROM.finditer(_text(name)):
        listed = re.sub(r"#.*", "", match[2]).strip("() \t\n")
        names = [each.split()[0] for each in listed.split(",") if each.strip()]
        package = name if _is_package(name) else name.rpartition(".")[0]
        yield f"{package}{match[1]}".rstrip(".") if match[1].startswith(".") else match[1], names


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
def _defined_in(source: str, name: str) -> frozenset[str]:
    """Return the modules that define a name imported from a module."""
    if _file(f"{source}.{name}"):
        return frozenset({f"{source}.{name}"})
    if not _is_package(source):
        return frozenset({source})
    for module, names in _statements(source):
        if name in names:
            return _defined_in(module, name)
    for module, offered in _on_use(source).items():
        if name in offered:
            return _defined_in(f"{source}.{module}", name)
    if re.search(rf"^(?:def |class |){re.escape(name)}\b", _text(source), re.MULTILINE):
        return frozenset({source})
    return frozenset().union(*map(_whole, PACKAGES))  # by the package's own `__getattr__`


def _on_use(package: str) -> dict[str, tuple[str, ...]]:
    """Return the names that a package imports when they are asked for, by module."""
    match = re.search(rf"^{LOADED_ON_USE} = (\{{.*?^\}})", _text(package), re.MULTILINE | re.DOTALL)
    found: dict[str, tuple[str, ...]] = ast.literal_eval(match[1]) if match else {}
    return found


@functools.cache
def _own_hash(name: str) -> str:
    """Return the hash of a module's own code and of the tables in its folder."""
    file, text = _file(name), _text(name)
    assert file is not None
    raw = hashlib.sha256(text.encode()).hexdigest()
    if raw not in _known():
        code = compile(text, "", "exec", dont_inherit=True, optimize=2)
        _known()[raw] = hashlib.sha256(repr(_bare(code)).encode()).hexdigest()
        _changed.add(raw)
    tables = sorted(path for pattern in TABLES for path in file.parent.glob(pattern))
    return " ".join([_known()[raw], *(hashlib.sha256(t.read_bytes()).hexdigest() for t in tables)])


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


# Hashes of code by those of the text: compiling every module takes a second.
_changed: set[str] = set()


@functools.cache
def _known() -> dict[str, str]:
    found = pickles.read(_place())
    return found if isinstance(found, dict) else {}


def _place() -> Path:
    how = hashlib.sha256(f"{sys.version} {_text(__name__)}".encode()).hexdigest()[:20]
    return cache_folder() / f"code_hashes-{how}.pickle"


def _remember() -> None:
    """Keep new hashes, with those of other processes, for later ones."""
    if _changed:
        _known().update(pickles.read(_place()) or {})
        pickles.write(_place(), _known())
        _changed.clear()
