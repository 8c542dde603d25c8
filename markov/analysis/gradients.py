"""A stationary measure as a function that JAX differentiates: by one solution of Poisson's equation.

The reverse of `stationary` is the transposed equation behind `Sensitivity`, so that the derivatives by all
parameters together cost about as much as the measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from hopflow.checks import choice, instance, one_number
from markov.driver import stationary
from markov.selections import as_chain
from markov.sensitivities.model_parameters import parameters_of

__all__ = ["differentiable"]


def differentiable(
    model: Any,
    of: str,
    *,
    tolerance: float = 1e-8,
    side: Literal["left", "right"] | None = None,
) -> Callable[[Mapping[str, Any]], Any]:
    """Return a measure of a model as a function of its parameters, for `jax.grad`.

    Parameters
    ----------
    model
        A `ChainModel`, a model from a file, or what `explore` returns.
    of
        Name of a label or reward of the model.
    tolerance
        Of the derivatives, as for `Stationary.sensitivity`.
    side
        ``"left"`` or ``"right"``: derivatives from below or above, which exist at kinks too.

    Returns
    -------
    callable
        From a mapping of names of parameters to numbers, or to arrays of shape (entries,) of those
        with several entries, to the measure: an array of shape () or, of a measure of each queue,
        (queues,). Other parameters are those of ``model``. It works under `jax.grad`, `jax.jit`,
        `jax.vmap` (one after the other) and `jax.jacrev`; derivatives are first ones only.

    Raises
    ------
    ValueError
        For an unknown measure or parameter, an array of another length; and, when derivatives are
        asked for, as `Stationary.sensitivity` does: `NoDerivativeError` at a kink. Under `jax.jit` JAX
        raises an error of its own that quotes it.

    Notes
    -----
    JAX is switched to 64 bits (``jax_enable_x64``) for the process.

    Examples
    --------
    >>> import jax
    >>> from markov import PauseTandem, differentiable
    >>> throughput = differentiable(PauseTandem(), of="throughput")
    >>> slope = jax.grad(throughput)({"bottleneck_rate": 15.0, "rtt": 1.0})
    >>> round(float(slope["bottleneck_rate"]), 4), round(float(slope["rtt"]), 4)
    (0.838, -2.2382)
    """
    import jax

    tolerance = one_number("tolerance", tolerance, above=0.0, below=1.0)
    instance("of", of, str, "the name of a label or reward")
    choice("side", side, (None, "left", "right"))
    how = {"of": of, "tolerance": tolerance, "side": side}
    chain = as_chain(model)
    model = chain.model
    if model is None:
        raise ValueError("model: it is given by its matrix and has no parameters")
    known = parameters_of(model)
    try:
        shape = np.shape(stationary(chain)[of])
    except KeyError as error:
        raise ValueError(*error.args) from None
    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]

    result: Any = jax.ShapeDtypeStruct

    def value(parameters: Mapping[str, Any]) -> Any:
        return np.asarray(stationary(_changed(model, parameters))[of], dtype=np.float64)

    def value_and_slopes(parameters: Mapping[str, Any]) -> Any:
        answer = stationary(_changed(model, parameters))
        slopes = {name: _slopes(answer, name, np.shape(at), how, shape) for name, at in parameters.items()}
        return np.asarray(answer[of], dtype=np.float64), slopes

    def shapes(parameters: Mapping[str, Any]) -> Any:
        return {name: result(shape + np.shape(at), np.float64) for name, at in parameters.items()}

    whole = result(shape, np.float64)

    @jax.custom_vjp
    def measure(parameters: Any) -> Any:
        return _run(value, whole, parameters)

    def forward(parameters: Any) -> Any:
        return _run(value_and_slopes, (whole, shapes(parameters)), parameters)

    def backward(slopes: Any, cotangent: Any) -> Any:
        axes = len(shape)
        return ({name: jax.numpy.tensordot(cotangent, s, axes) for name, s in slopes.items()},)

    measure.defvjp(forward, backward)

    def checked(parameters: Mapping[str, Any]) -> Any:
        given = {name: jax.numpy.asarray(at, dtype=np.float64) for name, at in parameters.items()}
        for name, at in given.items():
            _check(name, at.shape, known)
        return measure(given)

    return checked


def _run(function: Callable[[Any], Any], shapes: Any, parameters: Any) -> Any:
    """Call a function of concrete parameters; while JAX traces, leave the call to the computation."""
    import jax

    if any(isinstance(at, jax.core.Tracer) for at in parameters.values()):
        return jax.pure_callback(function, shapes, parameters, vmap_method="sequential")
    return jax.tree.map(jax.numpy.asarray, function(parameters))


def _check(name: str, shape: tuple[int, ...], known: Mapping[str, Any]) -> None:
    if name not in known:
        raise ValueError(f"parameter = {name!r}: must be one of {', '.join(known) or 'none'}")
    expected = np.shape(known[name])
    if shape != expected:
        raise ValueError(f"{name}: an array of shape {expected} is expected, not of {shape}")


def _changed(model: Any, parameters: Mapping[str, Any]) -> Any:
    return model.replace(**{name: _python(at) for name, at in parameters.items()})


def _python(at: Any) -> Any:
    found = np.asarray(at).tolist()
    return tuple(found) if isinstance(found, list) else found


def _slopes(
    answer: Any,
    name: str,
    entries: tuple[int, ...],
    how: Mapping[str, Any],
    shape: tuple[int, ...],
) -> Any:
    """Return the derivatives by one parameter, of shape ``shape + entries``."""
    names = [f"{name}[{k}]" for k in range(entries[0])] if entries else [name]
    found = []
    for each in names:
        slopes = answer.sensitivity(each, **how)
        rows = slopes if isinstance(slopes, list) else [slopes]
        found.append([row.derivative for row in rows])
    return np.array(found).T.reshape(shape + entries)
