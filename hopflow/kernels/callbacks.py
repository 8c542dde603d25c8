"""Functions of users' rules as C callbacks: machine code that a compiled package calls by address."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hopflow.kernels.loading import import_text
from hopflow.kernels.module import Module, callback

__all__ = ["build_callbacks"]

_REMEMBERED = 256
_built: dict[Any, tuple[dict[str, Any], Module]] = {}
_lock = threading.RLock()


def build_callbacks(
    functions: Mapping[str, Callable[..., Any]],
    tuples: Mapping[str, Sequence[str]],
    adapters: Mapping[str, str],
    signature: str,
    *,
    compiled: bool = True,
    floats: bool = False,
) -> dict[str, Any]:
    """Return callbacks that apply plain functions of a rule to an array of numbers.

    Like `build`, the module is named by the hash of the text of the functions, of all that they call
    and of the constants that they name: an edited one is compiled again, so that no outdated one is used.

    Parameters
    ----------
    functions
        Plain functions by the name under which the adapters call them.
    tuples
        NamedTuple types that the module defines, name to field names; ``State`` is that of states
        which the functions update with ``_replace``.
    adapters
        Name to the text of a function ``def name(...)`` of ``signature``, which calls ``functions``.
    signature
        Numba's C signature of the adapters.
    compiled
        False returns plain Python functions.
    floats
        Whether all fields of ``State`` are floats, so that whole numbers may be written without a point.

    Returns
    -------
    dict
        By name of the adapter: an object with ``address``, or the Python function.

    Raises
    ------
    KernelError
        Naming the file and line of the rule that cannot be compiled.
    """
    key = (
        tuple(functions.items()),
        tuple((name, tuple(fields)) for name, fields in tuples.items()),
        tuple(adapters.items()),
        signature,
        compiled,
        floats,
    )
    with _lock:  # also because Python 3.11 does not parse in several threads at once
        if key in _built and _built[key][1].is_current():
            return _built[key][0]
        types = {name: tuple(fields) for name, fields in tuples.items()}
        module = Module(types, set(adapters), floats=floats)
        for name, function in functions.items():
            module.add(name, function, "State")
        for name, text in adapters.items():
            module.add_text(name, text, callback(signature))
        loaded = import_text(module, compiled=compiled)
        found = {name: getattr(loaded, name) for name in adapters}
        _built[key] = found, module
        while len(_built) > _REMEMBERED:
            _built.pop(next(iter(_built)), None)
        return found
