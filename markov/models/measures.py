"""Performance measures: means of rewards and probabilities of labels over a distribution of states."""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hopflow.checks import dimensions, format_value
from hopflow.labels import aligned
from markov.models.functions import Mean, name_of, numbers_of, values_of
from markov.models.state_tables import StateBlocks, StateTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

__all__ = ["MEASURE_KINDS", "Mean", "Measure", "chosen", "functionals", "measured", "measures_of", "unknown_measure"]

Measure = tuple[tuple[str, ...], Any, dict[str, Any]]
"""A performance measure as xarray takes it: dimensions, values, attributes."""
MEASURE_KINDS = ("labels", "rewards")
"""Methods of a model that return measures by name, each a function of one state; a later kind replaces equal names."""


def unknown_measure(name: str, measures: Iterable[str]) -> KeyError:
    """Return the error for a name that is no measure of a model."""
    return KeyError(f"measure = {name!r}: must be one of {', '.join(map(repr, measures)) or 'none'}")


class Measurable(Protocol):
    """Interface of a model for measures."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    def symbols(self) -> Any:
        """Return the parameters as labels and rewards see them."""
        ...

    def function_of_state(self, kind: str, q: Any) -> Callable[[Any, Any], Any]:
        """Return ``labels`` or ``rewards`` as a function of the state and the parameters."""
        ...

    def measures(self, pi: NDArray[np.float64], s: Any = None) -> dict[str, Measure]:
        """Return the measures of a distribution over states ``s``."""
        ...


def functionals(model: Measurable, states: Any) -> dict[str, Mean]:
    """Return a model's labels and rewards as functions on the states, by name.

    Parameters
    ----------
    model
        Its ``labels`` and ``rewards`` have the values of plain Python in each state.
    states
        A `StateTable`, or a ``State`` of arrays of shape (states,).

    Raises
    ------
    RuleError
        Naming the function, the state, the file and the line of an error.
    """
    table, values = StateTable.of(states), dict[str, Mean]()
    if table.cached is not None and id(model) in table.cached:
        return table.cached[id(model)]
    for kind in MEASURE_KINDS:
        function = model.function_of_state(kind, q := model.symbols())
        values |= values_of(function, q, table, f"{model.name}.{kind}")
    if table.cached is not None:
        table.cached[id(model)] = values
    return values


def chosen(measure: Any, model: Measurable | None, states: Any, over: NDArray[np.int64]) -> Mean:
    """Return the function whose mean, or pair whose ratio of means, is a measure, checked.

    Parameters
    ----------
    measure
        Name of a label or reward of the model; a function of the state; an array of shape (states,)
        or (..., states); or two such arrays, for the ratio of their means.
    model
        None for a chain from a matrix.
    states
        All states, as for `functionals`, or their names.
    over
        Numbers of the states over which the mean is taken.

    Raises
    ------
    ValueError
        For a name that is no label or reward, another shape, or values that are not finite.
    """
    table = StateTable.of(states)
    if isinstance(measure, str):
        if model is None:
            msg = "the chain is given by its matrix and has no measures; pass an array over its states"
            raise ValueError(f"measure = {measure!r}: {msg}")
        by_name = functionals(model, table)
        if measure not in by_name:
            names = ", ".join(map(repr, by_name)) or "none"
            msg = f"must be a label or reward of {model.name} ({names}), or an array over its states"
            raise ValueError(f"measure = {measure!r}: {msg}")
        mean = by_name[measure]
    elif callable(measure):
        mean = numbers_of(measure, table, f"measure = {name_of(measure)}")
    else:
        pair = isinstance(measure, tuple) and len(measure) == 2 and dimensions(measure[0]) != ()
        mean = Mean(*measure) if pair else Mean(measure)
    of, above = (
        None if part is None else _validate(_by_state(part, table), table.count, over, measure)
        for part in (mean.of, mean.over)
    )
    assert of is not None
    if above is not None and above.shape != of.shape:
        raise ValueError(f"measure: shapes {of.shape} and {above.shape} of a ratio differ")
    return mean._replace(of=of, over=above)


def _by_state(value: Any, table: StateTable) -> Any:
    """Return an array in the order of the states, if its labels are states."""
    return aligned("measure", value, table.plain()) if hasattr(value, "__array__") and np.ndim(value) else value


def _validate(value: Any, count: int, over: NDArray[np.int64], measure: Any) -> NDArray[np.float64]:
    """Return numbers over the states of a mean, shape (..., over)."""
    try:
        f = np.asarray(value)
        if f.dtype.kind == "c":
            raise TypeError
        f = f.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        message = "numbers over the states are expected"
        raise ValueError(f"measure = {format_value(measure)}: {message}") from None
    if f.ndim == 0 or f.shape[-1] != count:
        raise ValueError(f"measure has shape {f.shape}: must be ({count},), one number per state")
    finite = np.isfinite(f[..., over]).reshape(-1, len(over)).all(axis=0)
    if not finite.all():
        state = int(over[np.argmin(finite)])
        raise ValueError(f"measure is not finite in state number {state}, where the chain recurs")
    return f[..., over]


def measured(model: Measurable, pi: NDArray[np.float64], states: Any) -> dict[str, Measure]:
    """Return the measures of a distribution, shape (states,), over states as for `functionals`."""
    if isinstance(states, StateBlocks):
        return _measure_blocks(model, pi, states)
    return {name: (mean.dims, mean.value(pi), _units(mean)) for name, mean in functionals(model, states).items()}


def _measure_blocks(model: Measurable, pi: NDArray[np.float64], states: StateBlocks) -> dict[str, Measure]:
    sums: dict[str, tuple[Mean, list[Any]]] = {}
    begin = 0
    for block in states.blocks():
        part = pi[begin : begin + block.count]
        begin += block.count
        for name, mean in functionals(model, block).items():
            parts = [mean._replace(of=values).sum_of(part) for values in mean.parts()]
            before = sums[name][1] if name in sums else [0.0] * len(parts)
            total = [a + b for a, b in zip(before, parts, strict=True)]
            sums[name] = mean._replace(of=None, over=None), total
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            name: (
                mean.dims,
                total[0] if len(total) == 1 else np.divide(total[0], total[1]),
                _units(mean),
            )
            for name, (mean, total) in sums.items()
        }


def _units(mean: Mean) -> dict[str, str]:
    return {"units": mean.units} if mean.units else {}


def measures_of(model: Measurable, pi: NDArray[np.float64], states: StateTable | StateBlocks) -> dict[str, Measure]:
    """Return ``model.measures`` of a distribution over these states.

    A model whose ``measures`` takes the distribution alone reads the states from ``self.states()``, which then returns
    these instead of the states of its space.
    """
    s = states.arrays if isinstance(states, StateTable) else states
    try:
        inspect.signature(model.measures).bind(pi, s)
    except TypeError:
        model = copy.copy(model)
        object.__setattr__(model, "states", lambda: s)
        return model.measures(pi)
    return model.measures(pi, s)
