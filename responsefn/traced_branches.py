"""Branches of a function on values that JAX traces: each side is followed, and its result selected.

1. The function runs with values that stand for arrays. Where one of them decides a branch, the run takes one side and records
   the condition.
2. It runs again with the last condition that has another side the other way round, until both sides of each were taken: the
   leaves of a tree of conditions.
3. Each path runs once more on input that has slopes only where its conditions hold.
4. Results are selected by the conditions at which the paths part.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

__all__ = ["Functions", "Table", "Value", "all_branches", "array_of", "on_values"]

MAX_PATHS, MAX_CONDITIONS = 1000, 200
"""Combinations of branches that are followed, and conditions of one of them."""


class Path:
    """Conditions of one run of a function: those of the sides that are given, then true ones."""

    def __init__(self, sides: tuple[bool, ...]) -> None:
        self.sides = list(sides)
        self.conditions: list[Any] = []

    def side(self, condition: Any) -> bool:
        """Return which side the run takes at its next condition.

        Raises
        ------
        ValueError
            For more than `MAX_CONDITIONS`: a loop whose end depends on traced values has no last one.
        """
        place = len(self.conditions)
        if place == MAX_CONDITIONS:
            raise ValueError(
                f"more than {MAX_CONDITIONS} conditions in a row: a loop may not end by a traced value"
            )
        self.conditions.append(condition)
        if place == len(self.sides):
            self.sides.append(True)
        return self.sides[place]


PATH: ContextVar[Path | None] = ContextVar("path", default=None)
"""Of the run that is being made."""


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
    """Return a function of values; of Python's numbers alone it is ``plain``."""

    def applied(*given: Any) -> Any:
        if all(isinstance(each, (int, float)) for each in given):
            return plain(*given)
        return Value(function(*map(array_of, given)))

    return applied


def array_of(each: Any) -> Any:
    """Return the array of a value; anything else as it is."""
    return each.array if isinstance(each, Value) else each


class Functions:
    """The functions of a module of JAX, of values, for those of a module of Python; its numbers as they are."""

    def __init__(self, module: Any, plain: Any) -> None:
        self.module, self.plain = module, plain

    def __getattr__(self, name: str) -> Any:
        """Return a function or a number of the module."""
        plain = getattr(self.plain, name)
        return on_values(getattr(self.module, name), plain) if callable(plain) else plain


class Table:
    """Numbers in a row, one of which a value chooses."""

    def __init__(self, array: Any, numbers: tuple[float, ...]) -> None:
        self.array, self.numbers = array, numbers

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.numbers)

    def __getitem__(self, place: Any) -> Any:
        """Return the number at a place."""
        return on_values(self.array.__getitem__, self.numbers.__getitem__)(place)


def power(base: Any, exponent: Any) -> Any:
    """Return a power; the slope of a root at 0 is that of constant zeros, 0, as of max(0, x) ** (1 / 3) below 0."""
    import jax.numpy as jnp

    if isinstance(exponent, (int, float)) and 0.0 < exponent < 1.0:
        zero = base == 0.0
        return jnp.where(zero, 0.0, jnp.where(zero, 1.0, base) ** exponent)
    return base**exponent


UNARY = ("neg", "pos", "abs", "invert")
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def _add_operators() -> None:
    """Give `Value` the operators of arrays."""
    for name in (*UNARY, *BINARY, *COMPARISONS):
        function = power if name == "pow" else getattr(operator, name)
        method = f"__{name.rstrip('_')}__"
        setattr(Value, method, on_values(function, function))
        if name in BINARY:

            def turned(one: Any, other: Any, function: Any = function) -> Any:
                return function(other, one)

            setattr(Value, f"__r{name.rstrip('_')}__", on_values(turned, turned))


_add_operators()


def all_branches(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of traced states that follows both sides of each branch.

    Raises
    ------
    ValueError
        For more than `MAX_PATHS` combinations of branches.
    """

    def selected(s: Any, q: Any, e: Any) -> Any:
        sides: tuple[bool, ...] | None = ()
        leaves: list[tuple[Path, Any]] = []
        while sides is not None:
            if len(leaves) == MAX_PATHS:
                name = getattr(function, "__name__", "function")
                raise ValueError(f"{name}: more than {MAX_PATHS} combinations of branches")
            path, found = _followed(function, sides, (s, q, e))
            if path.sides:
                here = functools.reduce(
                    operator.and_,
                    (
                        c if side else ~c
                        for c, side in zip(path.conditions, path.sides, strict=True)
                    ),
                )
                found = _followed(
                    function, sides, tuple(_without_slope(g, here) for g in (s, q, e))
                )[1]
            leaves.append((path, found))
            sides = _next(path.sides)
        return _joined(leaves, 0)

    return selected


def _followed(
    function: Callable[..., Any], sides: tuple[bool, ...], given: tuple[Any, ...]
) -> tuple[Path, Any]:
    """Return the path of a run that begins with these sides, and the arrays that it returns."""
    import jax

    path = Path(sides)
    before = PATH.set(path)
    try:
        found = function(*map(_of_values, given))
    finally:
        PATH.reset(before)
    return path, jax.tree.map(array_of, found, is_leaf=lambda each: isinstance(each, Value))


def _without_slope(given: Any, here: Any) -> Any:
    """Return arrays whose slopes count only where a path is taken: elsewhere those of what it computes may be NaN."""
    import jax
    import jax.numpy as jnp

    if given is None:
        return None
    return type(given)(
        *(jnp.where(here, each, jax.lax.stop_gradient(each)) if hasattr(each, "dtype") else each
          for each in given)
    )  # fmt: skip


def _of_values(given: Any) -> Any:
    """Return a state, parameters or an event whose arrays are values; None stays."""
    if given is None:
        return None
    return type(given)(*(Value(each) if hasattr(each, "dtype") else each for each in given))


def _next(sides: list[bool]) -> tuple[bool, ...] | None:
    """Return the sides of the next run: the last true one becomes false; None after the last run."""
    while sides and not sides[-1]:
        sides = sides[:-1]
    return (*sides[:-1], False) if sides else None


def _joined(leaves: list[tuple[Path, Any]], depth: int) -> Any:
    """Return the result of paths that are the same up to a depth, selected by the condition there."""
    import jax
    import jax.numpy as jnp

    path, found = leaves[0]
    if len(leaves) == 1:
        return found
    groups = ([leaf for leaf in leaves if leaf[0].sides[depth] is side] for side in (True, False))
    one, other = (_joined(group, depth + 1) for group in groups)
    return jax.tree.map(functools.partial(jnp.where, path.conditions[depth]), one, other)
