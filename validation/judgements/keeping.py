"""What models compute for claims, kept on disk: once for all processes, and for later calls.

A result is kept under the function and its arguments, with the hash of what else it is made from: the code
that its module uses (`validation.judgements.code_hashes`), and the versions of Python and of the libraries.
There is nothing to invalidate: after a change, what does not use the changed code is still there, and what
does is computed again and takes its place.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import inspect
import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from hopflow.kernels import cache
from validation.judgements import pickles
from validation.judgements.code_hashes import hashes_of_code

P = ParamSpec("P")
T = TypeVar("T")

LIBRARIES = ("numpy", "scipy", "numba", "pandas", "matplotlib")
FOLDER = "computed"
_memory: dict[str, Any] = {}


def kept(function: Callable[P, T]) -> Callable[P, T]:
    """Keep what a function returns, in the process and on disk.

    For functions of the models alone: what depends on bundled data, which tests change, is not for
    it. Arguments are told apart by their ``repr``.

    Examples
    --------
    >>> from validation.judgements.keeping import kept
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


class _Cached(NamedTuple):
    """A result on disk, which may be None."""

    result: Any


def _of_disk(function: Callable[..., T], asked: str, arguments: inspect.BoundArguments) -> T:
    digest = hashlib.sha256(asked.encode()).hexdigest()[:20]
    name, key = f"{FOLDER}/{function.__name__}-{digest}", _made_from(function.__module__)
    cached = pickles.read(name, key)
    if isinstance(cached, _Cached):
        return cached.result  # type: ignore[no-any-return]
    result = function(*arguments.args, **arguments.kwargs)
    pickles.write(name, key, _Cached(result))
    return result


def forget() -> None:
    """Remove all results from the disk and from this process."""
    _memory.clear()
    cache.clear(f"{FOLDER}/")


@functools.cache
def _made_from(module: str) -> str:
    """Return the hash of the code that a module uses, and of the versions."""
    (code,) = hashes_of_code([[module]])
    return hashlib.sha256(f"{versions()} {code}".encode()).hexdigest()


def hash_of(files: Iterable[Path]) -> str:
    """Return the hash of the names and contents of files."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


@functools.cache
def versions() -> str:
    """Return the versions of Python and of the libraries."""
    return " ".join(
        [
            platform.python_version(),
            *(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES),
        ]
    )
