"""A stationary measure as a function that JAX differentiates, by one solution of Poisson's equation.

The reverse mode of `stationary` is the transposed equation of `Sensitivity`, so that the derivatives by all
parameters together cost about as much as the measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from hopflow.parameters import param, validate_parameters
from markov.driver import stationary
from markov.selections import as_chain
from markov.sensitivities.model_parameters import parameters_of

__all__ = ["differentiable"]


@validate_parameters
def differentiable(
    model: Any,
    of: str = param(hint="the name of a label or reward"),
    *,
    tolerance: float = param(1e-8, above=0.0, below=1.0),
    side: Literal["left", "right"] | None = param(None, choices=(None, "left", "right")),
) -> Callable[[Mapping[str, Any]], Any]:
    """Return a measure of a model as a function of its parameters, for `jax.grad`.

    Parameters
    ----------
    model
        A `ChainModel`, a model from a file, or a result of `explore`.
    of
        Name of a label or reward of the model.
    tolerance
        Tolerance of the derivatives, as for `Stationary.sensitivity`.
    side
        ``"left"`` or ``"right"``: derivatives from below or above, which exist also at kinks.

    Returns
    -------
    callable
        Takes a mapping from names of parameters to numbers, or to arrays of shape (entries,) for parameters
        with several entries, and returns the measure: an array of shape (), or of shape (queues,) for a measure by
        queue. Other parameters have their values in ``model``. It works under `jax.grad`, `jax.jit`,
        `jax.vmap` (sequentially) and `jax.jacrev`, for first derivatives only.

    Raises
    ------
    ValueError
        For an unknown measure or parameter, and an array of another length; from derivatives as
        `Stationary.sensitivity`: `NoDerivativeError` at a kink. Under `jax.jit` JAX raises another error, which quotes
        it.

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

    options = {"of": of, "tolerance": tolerance, "side": side}
    chain = as_chain(model)
    model = chain.model
    if model is None:
        raise ValueError("model: it is given by its matrix and has no parameters")
    defaults = parameters_of(model)
    try:
        shape = np.shape(stationary(chain)[of])
    except KeyError as error:
        raise ValueError(*error.args) from None
    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]

    array_type: Any = jax.ShapeDtypeStruct

    def solve(parameters: Mapping[str, Any]) -> Any:
        """Return the stationary distribution of the model with these values of parameters."""
        values = {name: np.asarray(value).tolist() for name, value in parameters.items()}
        return stationary(model.replace(**{n: tuple(v) if isinstance(v, list) else v for n, v in values.items()}))

    def evaluate(parameters: Mapping[str, Any]) -> Any:
        """Return the measure of the model with these values of parameters, as an array."""
        return np.asarray(solve(parameters)[of], dtype=np.float64)

    def evaluate_with_slopes(parameters: Mapping[str, Any]) -> Any:
        """Return the measure and its derivatives by parameter, arrays by name."""
        answer = solve(parameters)
        slopes = {name: _slopes(answer, name, np.shape(value), options, shape) for name, value in parameters.items()}
        return np.asarray(answer[of], dtype=np.float64), slopes

    measure_type = array_type(shape, np.float64)

    @jax.custom_vjp
    def measure(parameters: Any) -> Any:
        """Return the measure as a JAX value; `forward` and `backward` are its derivative rule."""
        return _call(evaluate, measure_type, parameters)

    def forward(parameters: Any) -> Any:
        """Return the measure, and the derivatives that `backward` takes."""
        slope_types = {name: array_type(shape + np.shape(value), np.float64) for name, value in parameters.items()}
        return _call(evaluate_with_slopes, (measure_type, slope_types), parameters)

    def backward(slopes: Any, cotangent: Any) -> Any:
        """Return the product of the cotangent with the derivatives, by parameter."""
        axes = len(shape)
        return ({name: jax.numpy.tensordot(cotangent, s, axes) for name, s in slopes.items()},)

    measure.defvjp(forward, backward)

    def measure_of(parameters: Mapping[str, Any]) -> Any:
        """Return the measure after validating names and shapes of the parameters."""
        arrays = {name: jax.numpy.asarray(value, dtype=np.float64) for name, value in parameters.items()}
        for name, array in arrays.items():
            if name not in defaults:
                raise ValueError(f"parameter = {name!r}: must be one of {', '.join(defaults) or 'none'}")
            expected = np.shape(defaults[name])
            if array.shape != expected:
                raise ValueError(f"{name}: an array of shape {expected} is expected, not of {array.shape}")
        return measure(arrays)

    return measure_of


def _call(function: Callable[[Any], Any], types: Any, parameters: Any) -> Any:
    """Return ``function(parameters)``; while JAX traces, a callback of result ``types`` in its computation."""
    import jax

    if any(isinstance(value, jax.core.Tracer) for value in parameters.values()):
        return jax.pure_callback(function, types, parameters, vmap_method="sequential")
    return jax.tree.map(jax.numpy.asarray, function(parameters))


def _slopes(
    answer: Any,
    name: str,
    entries: tuple[int, ...],
    options: Mapping[str, Any],
    shape: tuple[int, ...],
) -> Any:
    """Return the derivatives of a measure by the parameter ``name``, of shape ``shape + entries``."""
    derivatives = []
    for entry in [f"{name}[{k}]" for k in range(entries[0])] if entries else [name]:
        slopes = answer.sensitivity(entry, **options)
        derivatives.append([slope.derivative for slope in (slopes if isinstance(slopes, list) else [slopes])])
    return np.array(derivatives).T.reshape(shape + entries)
