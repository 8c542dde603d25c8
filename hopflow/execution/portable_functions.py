"""Functions of users that can be pickled: by their name where they have one, otherwise by their code."""

from __future__ import annotations

import importlib
import types
from typing import Any

__all__ = ["portable"]


def portable(value: Any) -> Any:
    """Return a function in a form that can be pickled, and any other value as it is.

    A function at the top level of an imported module is pickled by its name. Other functions, such as those of a notebook,
    lambdas and functions within functions, are pickled by their code, as Dask does.

    Examples
    --------
    >>> import pickle
    >>> pickle.loads(pickle.dumps(portable(lambda x: x + 1)))(2)
    3
    """
    if not isinstance(value, types.FunctionType) or _has_name(value):
        return value
    return _ByCode(value)


def _has_name(function: types.FunctionType) -> bool:
    """Return whether a process that imports the function's module finds it there."""
    if function.__module__ in (None, "__main__"):
        return False
    try:
        found: Any = importlib.import_module(function.__module__)
        for name in function.__qualname__.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError):
        return False
    return found is function


class _ByCode:
    """A function that is pickled by its code, and comes back as itself."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle

        return _function_of, (cloudpickle.dumps(self.function),)


def _function_of(code: bytes) -> Any:
    import pickle

    return pickle.loads(code)
