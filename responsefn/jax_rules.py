"""JAX twins of closed forms and of rules: for `jax.grad`, `jax.jit` and `jax.vmap`."""

from __future__ import annotations

import functools
import inspect
import math
import types
from typing import TYPE_CHECKING, Any, NamedTuple

from hopflow.checks import instance
from hopflow.functions import maximum, minimum, where
from responsefn.closed_forms.lambert import lambert_w
from responsefn.closed_forms.plateau_ratio import solve_plateau
from responsefn.response import Response
from responsefn.rules.base import WindowRule
from responsefn.traced_branches import Functions, Table, all_branches, on_values

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
