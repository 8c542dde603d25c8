"""Pickling of user functions: by name if importable, otherwise by code."""

from __future__ import annotations

import importlib
import types
from typing import Any

__all__ = ["portable"]


def portable(value: Any) -> Any:
    """Return a function in a form that can be pickled; return other values unchanged.

    A function at the top level of an imported module is pickled by its name. Functions of a notebook, lambdas
    and nested functions are pickled by their code, as in Dask.

    Examples
    --------
    >>> import pickle
    >>> pickle.loads(pickle.dumps(portable(lambda x: x + 1)))(2)
    3
    """
    if not isinstance(value, types.FunctionType) or _is_importable(value):
        return value
    return _ByCode(value)


def _is_importable(function: types.FunctionType) -> bool:
    """Return whether another process can import the function by its module and name."""
    if function.__module__ in (None, "__main__"):
        return False
    try:
        target: Any = importlib.import_module(function.__module__)
        for name in function.__qualname__.split("."):
            target = getattr(target, name)
    except (ImportError, AttributeError):
        return False
    return target is function


class _ByCode:
    """A function that is pickled by its code and unpickled as a plain function."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle

        return _load, (cloudpickle.dumps(self.function),)


def _load(code: bytes) -> Any:
    import pickle

    return pickle.loads(code)
