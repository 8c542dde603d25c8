"""Performance measures: means of rewards and probabilities of labels over a distribution of states."""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hopflow.checks import dimensions, format_value
from hopflow.errors import RuleError
from hopflow.labels import aligned
from markov.models.functions import Mean, evaluate_mapping, evaluate_number, name_of
from markov.models.state_tables import StateBlocks, StateTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

__all__ = [
    "COMPONENT",
    "MEASURE",
    "MEASURE_KINDS",
    "Mean",
    "Measure",
    "default_measures",
    "functionals",
    "measures_of",
    "resolve_function",
    "resolve_measure",
    "unknown_measure",
]

Measure = tuple[tuple[str, ...], Any, dict[str, Any]]
"""A performance measure as xarray takes it: dimensions, values, attributes."""
MEASURE, COMPONENT = "measure", "component"
"""Behind the name of a label or reward, or of a component of the state, that a number of a result has too."""
MEASURE_KINDS = ("labels", "rewards")
"""Methods of a model that return measures by name, each a function of one state."""


def unknown_measure(name: str, measures: Iterable[str]) -> KeyError:
    """Return the KeyError for a name that is none of a model's ``measures``, which the message lists."""
    return KeyError(f"measure = {name!r}: must be one of {', '.join(map(repr, measures)) or 'none'}")


class Measurable(Protocol):
    """Interface of a model whose labels and rewards can be evaluated."""

    @property
    def name(self) -> str:
        """Name of the model in messages."""
        ...

    def symbols(self) -> Any:
        """Return the parameters that labels and rewards take as ``q``."""
        ...

    def function_of_state(self, kind: str, q: Any) -> Callable[[Any, Any], Any]:
        """Return ``labels`` or ``rewards``, by ``kind``, as a function of the state and the parameters ``q``."""
        ...

    def measures(self, pi: NDArray[np.float64], s: Any = None) -> dict[str, Measure]:
        """Return the measures, by name, of a distribution ``pi`` over the states ``s``."""
        ...


def functionals(model: Measurable, states: Any) -> dict[str, Mean]:
    """Return {name: `Mean` of its values in all states} of a model's labels and rewards.

    Parameters
    ----------
    model
        The ``labels`` and ``rewards`` have the values of plain Python in each state.
    states
        A `StateTable`, or a ``State`` of arrays of shape (states,).

    Raises
    ------
    RuleError
        Naming the function, the state, the file and the line of an error, or a name that a label and a reward have.
    """
    table, values = StateTable.of(states), dict[str, Mean]()
    if table.cached is not None and id(model) in table.cached:
        return table.cached[id(model)]
    for kind in MEASURE_KINDS:
        function = model.function_of_state(kind, q := model.symbols())
        named = evaluate_mapping(function, q, table, f"{model.name}.{kind}")
        for name in filter(values.__contains__, named):
            raise RuleError(f"{model.name}: {name!r} is the name of a label and of a reward: give one another name")
        values |= named
    if table.cached is not None:
        table.cached[id(model)] = values
    return values


def resolve_measure(measure: Any, model: Measurable | None, states: Any, over: NDArray[np.int64]) -> Mean:
    """Return a measure, specified by name, function or array, as a validated `Mean` over the states ``over``.

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
        mean = evaluate_number(measure, table, f"measure = {name_of(measure)}")
    else:
        pair = isinstance(measure, tuple) and len(measure) == 2 and dimensions(measure[0]) != ()
        mean = Mean(*measure) if pair else Mean(measure)
    of, above = (
        None if part is None else _validate_numbers(_in_order_of_states(part, table), table.count, over, measure)
        for part in (mean.of, mean.over)
    )
    assert of is not None
    if above is not None and above.shape != of.shape:
        raise ValueError(f"measure: shapes {of.shape} and {above.shape} of a ratio differ")
    return mean._replace(of=of, over=above)


def resolve_function(
    measure: Any, model: Measurable | None, states: Any, over: NDArray[np.int64], name: str = "measure"
) -> NDArray[np.float64]:
    """Return a measure that is the mean of one function of the state as its values in the states ``over``.

    Arguments and errors are those of `resolve_measure`. ValueError, which names the parameter ``name``, for a ratio of
    means and for several numbers per state.
    """
    mean = resolve_measure(measure, model, states, over)
    if mean.over is not None or mean.of.ndim != 1:
        raise ValueError(f"{name} = {measure!r}: must be one number for each state")
    f: NDArray[np.float64] = mean.of
    return f


def _in_order_of_states(value: Any, table: StateTable) -> Any:
    """Return an array sorted into the order of the states if its labels are states; otherwise unchanged."""
    return aligned("measure", value, table.plain()) if hasattr(value, "__array__") and np.ndim(value) else value


def _validate_numbers(value: Any, count: int, over: NDArray[np.int64], measure: Any) -> NDArray[np.float64]:
    """Return an array over ``count`` states at the states ``over``; ValueError unless its numbers are finite."""
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


def default_measures(model: Measurable, pi: NDArray[np.float64], states: Any) -> dict[str, Measure]:
    """Return {name: (dims, value, attributes)} of a model's labels and rewards under distribution ``pi``."""
    if not isinstance(states, StateBlocks):
        means = functionals(model, states).items()
        return {name: (mean.dims, mean.value(pi), _unit_attributes(mean)) for name, mean in means}
    # sums over the blocks of a large chain
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
                _unit_attributes(mean),
            )
            for name, (mean, total) in sums.items()
        }


def _unit_attributes(mean: Mean) -> dict[str, str]:
    """Return the attribute ``units`` of a measure as a dict, which is empty without units."""
    return {"units": mean.units} if mean.units else {}


def measures_of(model: Measurable, pi: NDArray[np.float64], states: StateTable | StateBlocks) -> dict[str, Measure]:
    """Return the result of ``model.measures`` for a distribution ``pi`` over ``states``, by name.

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
