"""The measures of a model over ranges of its parameters."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopflow.grids import Grid, Row, source_of
from hopflow.parameters import canonical_text, swept
from hopflow.sweeping import over_grid
from markov.chains import MarkovChain
from markov.driver import stationary
from markov.generators.building import build_chains
from markov.models.rules import ChainModel

if TYPE_CHECKING:
    import xarray as xr

    from markov.methods.solution import Method

__all__ = ["sweep"]


def sweep(
    model: Any,
    *,
    method: Method | None = None,
    executor: Executor | None = None,
    store: str | Path | None = None,
    **parameters: Any,
) -> xr.Dataset:
    """Return the measures of a model at every combination of some parameters' values.

    Chains whose transitions join the same states share their structure. Work of more than a second
    shows a progress bar on terminals.

    Parameters
    ----------
    model
        A `ChainModel`; all other parameters are those of this model.
    method
        As for `stationary`.
    executor
        Any `concurrent.futures.Executor`, such as a ``ProcessPoolExecutor`` or Dask's
        ``client.get_executor()``; None: this process. What a worker that died had in hand is run
        again. A process chooses methods and kernels by their predicted costs, loading included, so
        that results may differ by rounding, within their error bounds.
    store
        A ``.zarr`` folder or a ``.nc`` file (with ``pip install hopflow[scale]``): results stream into
        it, and the same call after an interruption computes what is missing.
    **parameters
        The values of each parameter, one dimension of the result each, in the given order. Strings such as
        ``"40ms"`` are numbers in the parameter's unit there.

    Returns
    -------
    xarray.Dataset
        The model's measures, and ``residual`` and ``error_bound`` (total variation), over the swept
        parameters. Values that are no numbers (rates of several TCP states, say) are objects, in a
        store their texts.

    Raises
    ------
    ValueError
        For an unknown parameter, one without values, or a value that the model refuses; for a store of
        another sweep.
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
    if not isinstance(model, ChainModel):
        msg = "must be a ChainModel, whose parameters are swept"
        raise ValueError(f"model = {model!r}: {msg}")  # noqa: TRY004
    grid = _grid(model, Grid(parameters, dict).values)
    for _ in grid:  # each model checks its parameters
        pass
    about = {"model": canonical_text(model)}
    if store is not None:
        about |= {"method": repr(method), "rules": source_of(type(model))}
    rows = functools.partial(_rows, method=method)
    return over_grid(rows, grid, about=about, executor=executor, store=store)


def _grid(model: ChainModel, parameters: Mapping[str, list[Any]]) -> Grid[ChainModel]:
    """Return the models at all combinations of values, with units."""
    for name in parameters:
        if name not in model.params._fields:
            known = ", ".join(model.params._fields)
            raise ValueError(f"{name}: {type(model).__name__} has no such parameter, but {known}")
    each = {name: swept(model, name, values) for name, values in parameters.items()}
    return Grid(
        {name: given.values for name, given in each.items()},
        lambda point: model.replace(**point),
        {name: given.unit for name, given in each.items() if given.unit},
    )


def _rows(models: Sequence[ChainModel], method: Method | None) -> Iterator[Row]:
    """Yield the measures of models, which share what they can."""
    chain: MarkovChain | None = None
    for each, built in zip(models, build_chains(models), strict=True):
        before, chain = chain, MarkovChain.of_built(each, built)
        if before is not None:
            chain.take_over(before)
        answer = stationary(chain, method)
        found = answer.measures.assign(
            residual=((), answer.residual, {"units": "1"}),
            error_bound=((), answer.error_bound, {"units": "1"}),
        )
        yield Row(_plain(found.data_vars), _plain(found.coords))


def _plain(variables: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return dimensions, values and attributes of variables by name."""
    return {
        name: (each.dims, each.to_numpy()[()], dict(each.attrs)) for name, each in variables.items()
    }
