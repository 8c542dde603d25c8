"""What models compute for claims, kept on disk: once for all processes, and for later calls.

A result is kept under the hash of everything that it is made from: the arguments of the function, the
sources of the models and of all claims, and the versions of Python and of the libraries. There is
nothing to invalidate.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import inspect
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import dfcmodel
import hopflow
import markov
import responsefn
from hopflow.kernels.loading import folder as cache_folder

__all__ = ["forget", "hash_of", "kept", "read", "sources", "sources_of_models", "write"]

P = ParamSpec("P")
T = TypeVar("T")

CLAIMS = Path(__file__).parent / "claims"
LIBRARIES = ("numpy", "scipy", "numba", "pandas", "matplotlib")
PATTERNS = ("*.py", "*.md", "*.csv", "*.toml")
_memory: dict[str, Any] = {}


def kept(function: Callable[P, T]) -> Callable[P, T]:
    """Keep what a function returns, in the process and on disk.

    For functions of the models alone: what depends on bundled data, which tests change, is not for
    it. Arguments are told apart by their ``repr``.

    Examples
    --------
    >>> from validation.keeping import kept
    >>> @kept
    ... def square(x):
    ...     return x * x
    >>> square(3), square(x=3)
    (9, 9)
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        asked = f"{function.__module__}.{function.__qualname__}{tuple(bound.arguments.values())!r}"
        if " at 0x" in asked:
            raise TypeError(f"{asked}: an argument has no repr that tells it apart")
        if asked not in _memory:
            _memory[asked] = _of_disk(function, asked, bound)
        found: T = _memory[asked]
        return found

    return call


def _of_disk(function: Callable[..., T], asked: str, arguments: inspect.BoundArguments) -> T | None:
    name = f"{function.__name__}-{hashlib.sha256(asked.encode()).hexdigest()[:20]}.pickle"
    if (found := read(_folder() / name)) is None:
        found = function(*arguments.args, **arguments.kwargs)
        with contextlib.suppress(OSError):  # without it, it is computed again
            write(_folder() / name, found)
    return found  # type: ignore[no-any-return]


def read(place: Path) -> Any:
    """Return what was written to a file; None if it is not there, incomplete or of other classes."""
    try:
        return pickle.loads(place.read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError, TypeError):
        return None


def write(place: Path, found: object) -> None:
    """Write a result to a file in one step."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
        pickle.dump(found, file)
    Path(file.name).replace(place)


def forget() -> None:
    """Remove all results from the disk and from this process."""
    _memory.clear()
    shutil.rmtree(_folder().parent, ignore_errors=True)


def _folder() -> Path:
    """Return the folder of the results of these sources; where it is new, those of others go."""
    folder = cache_folder() / "computed" / _sources_of_claims()[:20]
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        for other in folder.parent.iterdir():
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
    return folder


def sources(folder: Path) -> list[Path]:
    """Return the files of a folder that results are made from: all but those of the command line."""
    found = (path for pattern in PATTERNS for path in folder.rglob(pattern))
    return sorted(path for path in found if path.name != "_cli.py")


def hash_of(files: Iterable[Path]) -> str:
    """Return the hash of the names and contents of files."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


@functools.cache
def sources_of_models() -> str:
    """Return the hash of the models' sources, and of the versions of Python and the libraries."""
    versions = [sys.version, *(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)]
    packages = (hopflow, dfcmodel, markov, responsefn)
    files = (path for each in packages for path in sources(Path(str(each.__file__)).parent))
    return hashlib.sha256(" ".join([*versions, hash_of(files)]).encode()).hexdigest()


@functools.cache
def _sources_of_claims() -> str:
    claims = hash_of(sorted(CLAIMS.rglob("*.py")))
    return hashlib.sha256(f"{sources_of_models()} {claims}".encode()).hexdigest()
