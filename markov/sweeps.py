"""The measures of a model over ranges of its parameters."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.progress import progress_bar
from markov.chains import MarkovChain
from markov.driver import stationary
from markov.generators.building import build_chains
from markov.models.rules import ChainModel

if TYPE_CHECKING:
    import xarray as xr

    from markov.methods.solution import Method

__all__ = ["sweep"]


def sweep(model: Any, *, method: Method | None = None, **parameters: Any) -> xr.Dataset:
    """Return the measures of a model at every combination of some parameters' values.

    Chains whose transitions join the same states share their structure. Work of more than a second
    shows a progress bar on terminals.

    Parameters
    ----------
    model
        A `ChainModel`; all other parameters are those of this model.
    method
        As for `stationary`.
    **parameters
        The values of each parameter, one dimension of the result each, in the given order.

    Returns
    -------
    xarray.Dataset
        The model's measures, and ``residual`` and ``error_bound`` (total variation), over the swept
        parameters. Values that are no numbers (rates of several TCP states, say) are objects.

    Raises
    ------
    ValueError
        For an unknown parameter, one without values, or a value that the model refuses.
    NotSolvedError
        When a solution fails.

    Examples
    --------
    The threshold of the most throughput at each round-trip time, of two:

    >>> from markov import PauseTandem, sweep
    >>> data = sweep(PauseTandem(), high_threshold=[15, 18], rtt=[1.0, 2.0])
    >>> data.throughput.idxmax("high_threshold").values.tolist()
    [18.0, 18.0]
    """
    import xarray as xr

    if not isinstance(model, ChainModel):
        msg = "must be a ChainModel, whose parameters are swept"
        raise ValueError(f"model = {model!r}: {msg}")  # noqa: TRY004
    for name, given in parameters.items():
        if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
            msg = "values to sweep over are expected"
            raise ValueError(f"{name} = {given!r}: {msg}")  # noqa: TRY004
    values = {name: list(given) for name, given in parameters.items()}
    for name, given in values.items():
        if name not in model.params._fields:
            known = ", ".join(model.params._fields)
            raise ValueError(f"{name}: {type(model).__name__} has no such parameter, but {known}")
        if not given:
            raise ValueError(f"{name} = {given!r}: at least one value is expected")
    shape = tuple(map(len, values.values()))
    models = [
        model.replace(**dict(zip(values, point, strict=True)))
        for point in itertools.product(*values.values())
    ]
    collected: dict[Any, list[Any]] = {}
    form: dict[Any, tuple[tuple[Any, ...], dict[str, Any]]] = {}
    chain: MarkovChain | None = None
    coords: dict[Any, Any] = {}
    series = zip(models, build_chains(models), strict=True)
    for each, built in progress_bar(series, desc="sweep", total=len(models)):
        before, chain = chain, MarkovChain.of_built(each, built)
        if before is not None:
            chain.take_over(before)
        answer = stationary(chain, method)
        found = answer.measures.assign(
            residual=((), answer.residual, {"units": "1"}),
            error_bound=((), answer.error_bound, {"units": "1"}),
        )
        coords = coords or {**found.coords}
        for key, measure in found.data_vars.items():
            collected.setdefault(key, []).append(measure.to_numpy()[()])
            form[key] = measure.dims, measure.attrs
    swept = {
        name: (
            (*values, *form[name][0]),
            np.reshape(column, (*shape, *np.shape(column[0]))),
            form[name][1],
        )
        for name, column in collected.items()
    }
    axes = {name: (name, _axis(given)) for name, given in values.items()}
    return xr.Dataset(swept, coords={**coords, **axes}, attrs={"model": repr(model)})


def _axis(values: list[Any]) -> Any:
    """Return values as a coordinate: numbers and text as they are, tuples and None as objects."""
    if all(isinstance(value, (int, float, str, np.number)) for value in values):
        return values
    axis = np.empty(len(values), dtype=object)
    axis[:] = values
    return axis
