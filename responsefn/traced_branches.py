"""Branches of a function on traced values of JAX: the function runs once per path, and conditions select the result.

1. The function runs with `Value` objects that wrap arrays. Where a value decides a branch, the run takes one side and
   records the condition.
2. It runs again with the last condition reversed that has an untried side, until both sides of each condition were
   taken. The runs are the leaves of a tree of conditions.
3. Each path runs once more on input whose slopes are zero where its conditions do not hold.
4. The conditions at which paths separate select the results.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

__all__ = ["Functions", "Table", "Value", "all_branches", "array_of", "on_values"]

MAX_PATHS, MAX_CONDITIONS = 1000, 200
"""Maximum number of combinations of branches, and of conditions of one combination."""


class Path:
    """Conditions of one run of a function: it takes ``sides`` first, and then the true side."""

    def __init__(self, sides: tuple[bool, ...]) -> None:
        self.sides = list(sides)
        self.conditions: list[Any] = []

    def side(self, condition: Any) -> bool:
        """Return the side that the run takes at its next condition.

        Raises
        ------
        ValueError
            For more than `MAX_CONDITIONS`: a loop whose end depends on traced values has no last one.
        """
        index = len(self.conditions)
        if index == MAX_CONDITIONS:
            raise ValueError(f"more than {MAX_CONDITIONS} conditions in a row: a loop may not end by a traced value")
        self.conditions.append(condition)
        if index == len(self.sides):
            self.sides.append(True)
        return self.sides[index]


PATH: ContextVar[Path | None] = ContextVar("path", default=None)
"""Path of the current run."""


class Value:
    """A traced array, whose truth is a condition of the path."""

    __array_ufunc__ = None  # so that NumPy leaves its operations to those below
    __hash__ = object.__hash__

    def __init__(self, array: Any) -> None:
        self.array = array

    def __bool__(self) -> bool:
        """Return the side that the path takes."""
        path = PATH.get()
        return bool(self.array) if path is None else path.side(self.array)


def on_values(function: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` for values, and ``plain`` for Python's numbers."""

    def evaluate(*arguments: Any) -> Any:
        if all(isinstance(argument, (int, float)) for argument in arguments):
            return plain(*arguments)
        return Value(function(*map(array_of, arguments)))

    return evaluate


def array_of(traced: Any) -> Any:
    """Return the array of a value; return any other object unchanged."""
    return traced.array if isinstance(traced, Value) else traced


class Functions:
    """Functions of a module of JAX, on values, under the names of a module of Python; numbers are Python's."""

    def __init__(self, module: Any, plain: Any) -> None:
        self.module, self.plain = module, plain

    def __getattr__(self, name: str) -> Any:
        """Return a function or a number of the module."""
        plain = getattr(self.plain, name)
        return on_values(getattr(self.module, name), plain) if callable(plain) else plain


class Table:
    """Tuple of numbers that a traced value can index."""

    def __init__(self, array: Any, numbers: tuple[float, ...]) -> None:
        self.array, self.numbers = array, numbers

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Any:
        """Return the number at an index."""
        return on_values(self.array.__getitem__, self.numbers.__getitem__)(index)


def power(base: Any, exponent: Any) -> Any:
    """Return a power; the slope of a root at 0 is 0, as of max(0, x) ** (1 / 3) below 0."""
    import jax.numpy as jnp

    if isinstance(exponent, (int, float)) and 0.0 < exponent < 1.0:
        zero = base == 0.0
        return jnp.where(zero, 0.0, jnp.where(zero, 1.0, base) ** exponent)
    return base**exponent


UNARY = ("neg", "pos", "abs", "invert")
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def _add_operators() -> None:
    """Add the operators of arrays to `Value`."""
    for name in (*UNARY, *BINARY, *COMPARISONS):
        function = power if name == "pow" else getattr(operator, name)
        method = f"__{name.rstrip('_')}__"
        setattr(Value, method, on_values(function, function))
        if name in BINARY:

            def reverse(one: Any, other: Any, function: Any = function) -> Any:
                return function(other, one)

            setattr(Value, f"__r{name.rstrip('_')}__", on_values(reverse, reverse))


_add_operators()


def all_branches(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of traced states that evaluates both sides of each branch.

    Raises
    ------
    ValueError
        For more than `MAX_PATHS` combinations of branches.
    """

    def evaluate(s: Any, q: Any, e: Any) -> Any:
        sides: tuple[bool, ...] | None = ()
        leaves: list[tuple[Path, Any]] = []
        while sides is not None:
            if len(leaves) == MAX_PATHS:
                name = getattr(function, "__name__", "function")
                raise ValueError(f"{name}: more than {MAX_PATHS} combinations of branches")
            path, result = _run_path(function, sides, (s, q, e))
            if path.sides:
                on_path = functools.reduce(
                    operator.and_,
                    (c if side else ~c for c, side in zip(path.conditions, path.sides, strict=True)),
                )
                result = _run_path(function, sides, tuple(_without_slope(g, on_path) for g in (s, q, e)))[1]
            leaves.append((path, result))
            sides = _next(path.sides)
        return _select_leaf(leaves, 0)

    return evaluate


def _run_path(function: Callable[..., Any], sides: tuple[bool, ...], arguments: tuple[Any, ...]) -> tuple[Path, Any]:
    """Run a function that takes these sides first; return its path and its arrays."""
    import jax

    path = Path(sides)
    before = PATH.set(path)
    try:
        result = function(*map(_wrap_arrays, arguments))
    finally:
        PATH.reset(before)
    return path, jax.tree.map(array_of, result, is_leaf=lambda leaf: isinstance(leaf, Value))


def _without_slope(arrays: Any, on_path: Any) -> Any:
    """Return arrays with zero slope off the path, where the slopes of its results may be NaN."""
    import jax
    import jax.numpy as jnp

    if arrays is None:
        return None
    return type(arrays)(
        *(
            jnp.where(on_path, array, jax.lax.stop_gradient(array)) if hasattr(array, "dtype") else array
            for array in arrays
        )
    )


def _wrap_arrays(arrays: Any) -> Any:
    """Return a state, parameters or an event with its arrays wrapped in `Value`; None for None."""
    if arrays is None:
        return None
    return type(arrays)(*(Value(array) if hasattr(array, "dtype") else array for array in arrays))


def _next(sides: list[bool]) -> tuple[bool, ...] | None:
    """Return the sides of the next run: the last true one becomes false; None after the last run."""
    while sides and not sides[-1]:
        sides = sides[:-1]
    return (*sides[:-1], False) if sides else None


def _select_leaf(leaves: list[tuple[Path, Any]], depth: int) -> Any:
    """Return the result of paths that are identical up to a depth, selected by the condition there."""
    import jax
    import jax.numpy as jnp

    path, result = leaves[0]
    if len(leaves) == 1:
        return result
    groups = ([leaf for leaf in leaves if leaf[0].sides[depth] is side] for side in (True, False))
    one, other = (_select_leaf(group, depth + 1) for group in groups)
    return jax.tree.map(functools.partial(jnp.where, path.conditions[depth]), one, other)
