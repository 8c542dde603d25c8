"""The JAX twin of a closed form: for `jax.grad`, `jax.jit` and `jax.vmap`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from responsefn.responses import Response

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["twin"]


def twin(response: Response) -> Callable[..., Any]:
    """Return the rate of a rule or law as a JAX function ``f(p, rtt, **parameters)``.

    It is generated from the same SymPy expression as everything else. It switches JAX to 64 bits
    (``jax_enable_x64``) for the process. Input is not checked.

    Parameters
    ----------
    response
        A rule or law with a closed form.

    Returns
    -------
    A function of the loss event rate, the round-trip time in s and, by name, the parameters of the
    equation (``a``, ``b``, ``t_RTO``, ``C``, ...), whose defaults are those of ``response``; arrays
    broadcast. All are differentiable.

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

    expression = response.expression  # raises TypeError first when there is none
    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
    symbols = sorted(expression.free_symbols, key=str)
    names = [str(symbol) for symbol in symbols]
    functions = {"expm1": jnp.expm1, "log1p": jnp.log1p, "Heaviside": jnp.heaviside}
    compute = sp.lambdify(symbols, expression, modules=[functions, "jax"], cse=True)

    def rate(p: Any, rtt: Any, **parameters: Any) -> Any:
        values = response.bindings(rtt) | {"p": p, "R": rtt} | parameters
        if unknown := set(parameters) - set(names):
            raise TypeError(f"{response!r} has no parameter {unknown.pop()!r} in its equation")
        return compute(*(jnp.asarray(values[name], dtype=float) for name in names))

    return rate
