"""JAX twins of closed forms and of rules: for `jax.grad`, `jax.jit` and `jax.vmap`.

Branches of a function on traced values of JAX: the function runs once per path, and conditions select the result.

1. The function runs with `Value` objects that wrap arrays. Where a value decides a branch, the run takes one side and
   records the condition.
2. It runs again with the last condition reversed that has an untried side, until both sides of each condition were
   taken. The runs are the leaves of a tree of conditions.
3. Each path runs once more on input whose slopes are zero where its conditions do not hold.
4. The conditions at which paths separate select the results.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import types
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from hopflow.checks import instance
from hopflow.functions import maximum, minimum, where
from responsefn.closed_forms.functions import lambert_w, solve_plateau
from responsefn.response import Response
from responsefn.rules.base import WindowRule

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RuleTwin", "rule_twin", "twin"]

BUILT_IN = {"min": min, "max": max, "int": int}
"""Builtins that are replaced in JAX."""


def twin(response: Response) -> Callable[..., Any]:
    """Return the rate of a rule or law as a JAX function ``f(p, rtt, **parameters)``.

    It is generated from the SymPy expression of the response. It switches JAX to 64 bits
    (``jax_enable_x64``) for the process. Input is not checked.

    Parameters
    ----------
    response
        A rule or law with a closed form.

    Returns
    -------
    A function of the loss event rate, the round-trip time in s and, by name, the parameters of the
    equation (``a``, ``b``, ``t_RTO``, ``C``, ...), with the defaults of ``response``; arrays
    broadcast. It is differentiable in all arguments, and NaN outside of the range of the closed form.

    Examples
    --------
    >>> import jax
    >>> from responsefn import AIMD, twin
    >>> slope = jax.grad(twin(AIMD()), argnums=0)(0.01, 0.1)
    >>> round(float(slope), 3)
    -6123.724
    """
    import jax
    import jax.numpy as jnp
    import sympy as sp

    instance("response", response, Response, "a rule or law, such as Reno() or TFRC()")
    form = response.closed_form()  # raises TypeError first when there is none
    expression = form.conditional_rate
    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
    symbols = sorted(expression.free_symbols, key=str)
    names = [str(symbol) for symbol in symbols]
    functions = {"expm1": jnp.expm1, "log1p": jnp.log1p, "Heaviside": jnp.heaviside}
    same = {where: jnp.where, maximum: jnp.maximum, minimum: jnp.minimum, math: jnp}
    functions["LambertW"] = _in_jax(lambert_w, same, {})
    functions["PlateauRatio"] = _in_jax(solve_plateau, same, {})
    compute = sp.lambdify(symbols, expression, modules=[functions, "jax"], cse=True)

    def rate(p: Any, rtt: Any, **parameters: Any) -> Any:
        values = response.bindings(rtt) | {"p": p, "R": rtt} | parameters
        if unknown := set(parameters) - set(names):
            raise TypeError(f"{response!r} has no parameter {unknown.pop()!r} in its equation")
        arrays = (jnp.asarray(values[name], dtype=float) for name in names)
        return compute(*jnp.broadcast_arrays(*arrays))

    return rate


class RuleTwin(NamedTuple):
    """Update functions of a rule in JAX; arguments are the state, the parameters and the event.

    Examples
    --------
    >>> from responsefn.results import RuleTwin
    >>> RuleTwin._fields
    ('on_ack', 'on_loss', 'on_timeout')
    """

    on_ack: Callable[..., Any]
    on_loss: Callable[..., Any]
    on_timeout: Callable[..., Any]


def rule_twin(rule: WindowRule) -> RuleTwin:
    """Return the three functions of a rule in JAX: the same code with JAX's functions for its global names.

    It switches JAX to 64 bits (``jax_enable_x64``) for the process. At the kinks of a rule, such as a maximum or a
    change of mode, derivatives are one-sided. Branches on traced values are evaluated on both sides and selected by
    their conditions, for at most 1000 combinations.

    Parameters
    ----------
    rule
        A window rule, written as described in `WindowRule`.

    Examples
    --------
    >>> import jax
    >>> from responsefn import Reno, rule_twin
    >>> rule, ack = Reno(), rule_twin(Reno()).on_ack
    >>> def after(w): return ack(rule.State(w, 2.0), rule.params, None).cwnd
    >>> float(after(10.0)), float(jax.grad(after)(10.0))
    (10.1, 0.99)
    """
    import jax

    instance("rule", rule, WindowRule, "a window rule, such as Reno()")
    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
    translated: dict[Any, Any] = {}
    same = _jax_functions()
    functions = (_in_jax(getattr(rule, name), same, translated) for name in RuleTwin._fields)
    return RuleTwin(*map(all_branches, functions))


def _jax_functions() -> dict[Any, Any]:
    """Return JAX's functions on traced values by the functions that rules use."""
    import jax.numpy as jnp

    low, high = on_values(_reduce_with(jnp.minimum), min), on_values(_reduce_with(jnp.maximum), max)
    same: dict[Any, Any] = {
        where: on_values(jnp.where, where),
        maximum: high,
        minimum: low,
        min: low,
        max: high,
    }
    same[int] = on_values(lambda value: jnp.asarray(value, dtype=int), int)
    return same | {math: Functions(jnp, math)}


def _in_jax(function: Any, same: dict[Any, Any], translated: dict[Any, Any]) -> Any:
    """Return a function of a rule with the replacements of ``same`` for its global and closed-over names."""
    import jax.numpy as jnp

    def translate(value: Any) -> Any:
        if isinstance(value, types.FunctionType) and value not in same:
            return _in_jax(value, same, translated)
        if isinstance(value, tuple) and all(isinstance(item, (int, float)) for item in value):
            return Table(jnp.asarray(value), value)
        try:
            return same.get(value, value)
        except TypeError:  # not hashable
            return value

    function = inspect.unwrap(function)
    if function not in translated:
        code, names = function.__code__, BUILT_IN | function.__globals__
        scope = {name: translate(names[name]) for name in code.co_names if name in names}
        cells = tuple(types.CellType(translate(c.cell_contents)) for c in function.__closure__ or ())
        scope["__builtins__"] = function.__globals__["__builtins__"]
        translated[function] = types.FunctionType(code, scope, function.__name__, function.__defaults__, cells)
    return translated[function]


def _reduce_with(function: Any) -> Any:
    """Extend a function of two arguments to several, as Python's min and max."""
    return lambda *values: functools.reduce(function, values)


# Branches on traced values

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
