"""Performance measures: means of rewards and probabilities of labels over a distribution of states."""

from __future__ import annotations

import copy
import inspect
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from hopflow.checks import dimensions, shown
from hopflow.errors import RuleError, failed_rule, place_of
from markov.models.signatures import two_arguments

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Mean", "Measure", "StateBlocks", "chosen", "functionals", "measured", "measures_of"]

Measure = tuple[tuple[str, ...], Any, dict[str, Any]]
"""A performance measure as xarray takes it: dimensions, values, attributes."""


_compared: weakref.WeakSet[types.CodeType] = weakref.WeakSet()


class Mean(NamedTuple):
    """A measure that is a mean of numbers over the states, or a ratio of two such means.

    Attributes
    ----------
    of
        The numbers, shape (..., states).
    over
        Of the mean to divide by, of the same shape; None: the mean itself.
    dims, units
        Names of the leading dimensions; units of the measure.

    Examples
    --------
    >>> import numpy as np
    >>> from markov import Mean
    >>> waiting = Mean(np.array([0.0, 1.0, 2.0]), over=np.array([1.0, 1.0, 0.0]), units="s")
    >>> float(waiting.value(np.array([0.5, 0.25, 0.25])))
    1.0
    """

    of: Any
    over: Any = None
    dims: tuple[str, ...] = ()
    units: str = ""

    def value(self, pi: NDArray[np.float64]) -> Any:
        """Return the measure under a distribution, shape (states,); NaN where it is 0 / 0."""
        above = _mean(self.of, pi)
        if self.over is None:
            return above
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.divide(above, _mean(self.over, pi))


def _mean(values: Any, pi: NDArray[np.float64]) -> Any:
    found = np.einsum("...x,x->...", values, pi)
    return found if found.ndim else float(found)


class Measurable(Protocol):
    """Interface of a model for measures, in addition to ``labels`` and ``rewards``."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    def symbols(self) -> Any:
        """Return the parameters as labels and rewards see them."""
        ...

    def measures(self, pi: NDArray[np.float64], s: Any = None) -> dict[str, Measure]:
        """Return the measures of a distribution over states ``s``."""
        ...


def functionals(model: Measurable, s: Any) -> dict[str, Mean]:
    """Return a model's labels and rewards as functions on the states, by name.

    Parameters
    ----------
    model
        Its ``labels`` and ``rewards`` are called with all states at once; state by state where that
        is not possible, or some states by themselves give something else.
    s
        The states, a ``State`` of arrays of shape (states,).

    Raises
    ------
    RuleError
        Naming the function, the state, the file and the line where it goes wrong.
    """
    found: dict[str, Mean] = {}
    for kind in ("labels", "rewards"):
        name = f"{model.name}.{kind}"
        found |= _over_states(two_arguments(getattr(model, kind), name), model.symbols(), name, s)
    return found


def chosen(measure: Any, model: Measurable | None, s: Any, over: NDArray[np.int64]) -> Mean:
    """Return the function whose mean, or pair whose ratio of means, is a measure, checked.

    Parameters
    ----------
    measure
        Name of a label or reward of the model; or an array of shape (states,) or (..., states); or
        two such arrays, for the ratio of their means.
    model
        None for a chain that is given by its matrix.
    s
        All states, as for `functionals`, or a sequence of as many.
    over
        Numbers of the states over which the mean is taken.

    Raises
    ------
    ValueError
        For a name that is no label or reward, another shape, or values that are not finite.
    """
    if isinstance(measure, str):
        if model is None:
            msg = "the chain is given by its matrix and has no measures; pass an array over its states"
            raise ValueError(f"measure = {measure!r}: {msg}")
        known = functionals(model, s)
        if measure not in known:
            names = ", ".join(map(repr, known)) or "none"
            msg = (
                f"must be a label or reward of {model.name} ({names}), or an array over its states"
            )
            raise ValueError(f"measure = {measure!r}: {msg}")
        mean = known[measure]
        count = mean.of.shape[-1]
    else:
        pair = isinstance(measure, tuple) and len(measure) == 2 and dimensions(measure[0]) != ()
        mean = Mean(*measure) if pair else Mean(measure)
        count = len(s) if model is None else len(_arrays(s)[0])
    of = _checked(mean.of, count, over, measure)
    above = None if mean.over is None else _checked(mean.over, count, over, measure)
    if above is not None and above.shape != of.shape:
        raise ValueError(f"measure: shapes {of.shape} and {above.shape} of a ratio differ")
    return mean._replace(of=of, over=above)


def _checked(value: Any, count: int, over: NDArray[np.int64], measure: Any) -> NDArray[np.float64]:
    """Return numbers over some of the states, shape (..., over)."""
    try:
        f = np.asarray(value)
        if f.dtype.kind == "c":
            raise TypeError
        f = f.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        said = "numbers over the states are expected"
        raise ValueError(f"measure = {shown(measure)}: {said}") from None
    if f.ndim == 0 or f.shape[-1] != count:
        raise ValueError(f"measure has shape {f.shape}: must be ({count},), one number per state")
    finite = np.isfinite(f[..., over]).reshape(-1, len(over)).all(axis=0)
    if not finite.all():
        state = int(over[np.argmin(finite)])
        raise ValueError(f"measure is not finite in state number {state}, where the chain recurs")
    return f[..., over]


class StateBlocks:
    """The states of a large chain, in blocks that fit into memory together with their measures.

    It stands for a ``State`` of arrays over all states: those are made when a field is asked for.

    Parameters
    ----------
    count
        Number of states.
    blocks
        Yields them as ``State`` of arrays, in order.
    whole
        Returns all of them as one.
    """

    def __init__(
        self, count: int, blocks: Callable[[], Iterator[Any]], whole: Callable[[], Any]
    ) -> None:
        self.count, self.blocks, self._whole = count, blocks, whole

    def __getattr__(self, name: str) -> Any:
        """Return a field of all states."""
        return getattr(self._whole(), name)

    def measured(self, model: Measurable, pi: NDArray[np.float64]) -> dict[str, Measure]:
        """Return the measures of a distribution, block by block."""
        sums: dict[str, tuple[Mean, Any, Any]] = {}
        begin = 0
        for s in self.blocks():
            part = pi[begin : begin + len(_arrays(s)[0])]
            begin += len(part)
            for name, mean in functionals(model, s).items():
                above = _mean(mean.of, part)
                below = None if mean.over is None else _mean(mean.over, part)
                if name in sums:
                    _, more, under = sums[name]
                    above = above + more
                    below = None if below is None else below + under
                sums[name] = mean._replace(of=None, over=None), above, below
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                name: (
                    mean.dims,
                    above if below is None else np.divide(above, below),
                    {"units": mean.units} if mean.units else {},
                )
                for name, (mean, above, below) in sums.items()
            }


def measured(model: Measurable, pi: NDArray[np.float64], s: Any) -> dict[str, Measure]:
    """Return the measures of a distribution, shape (states,), over states ``s``."""
    if isinstance(s, StateBlocks):
        return s.measured(model, pi)
    return {
        name: (mean.dims, mean.value(pi), {"units": mean.units} if mean.units else {})
        for name, mean in functionals(model, s).items()
    }


def measures_of(model: Measurable, pi: NDArray[np.float64], s: Any) -> dict[str, Measure]:
    """Return ``model.measures`` of a distribution over states ``s``.

    A model whose own ``measures`` takes the distribution alone finds these states where it looks for
    those of its space, in ``self.states()``.
    """
    try:
        inspect.signature(model.measures).bind(pi, s)
    except TypeError:
        model = copy.copy(model)
        object.__setattr__(model, "states", lambda: s)
        return model.measures(pi)
    return model.measures(pi, s)


def _over_states(function: Callable[[Any, Any], Any], q: Any, name: str, s: Any) -> dict[str, Mean]:
    """Return the values of a function of the state over many states, by name."""
    count = len(_arrays(s)[0])
    try:
        found = {k: _broadcast(v, count) for k, v in dict(function(s, q)).items()}
    except Exception:  # noqa: BLE001  # written for one state
        found = None
    if found is not None and _holds_for_one(function, q, s, found):
        return found
    rows = []
    for state in _each(s, count):
        try:
            rows.append({k: _of_one(v) for k, v in dict(function(state, q)).items()})
        except Exception as error:
            raise failed_rule(error, function, f"{name}: {state}") from error
    if any(row.keys() != rows[0].keys() for row in rows):
        msg = f"{name}: other names in other states"
        raise RuleError.at(place_of(function), msg, "give every name in every state")
    return {key: _stacked([row[key] for row in rows]) for key in rows[0]}


def _of_one(value: Any) -> float | Mean:
    """Return a label or reward of one state: plain numbers as they are, which is quicker."""
    return float(value) if type(value) in (bool, int, float) else _broadcast(value, 1)


def _holds_for_one(
    function: Callable[[Any, Any], Any], q: Any, s: Any, found: Mapping[str, Mean]
) -> bool:
    """Whether some states give the same values one by one, or cannot be evaluated one by one.

    A function that was found to do so is not asked again.
    """
    count, code = len(_arrays(s)[0]), getattr(inspect.unwrap(function), "__code__", None)
    if code in _compared:
        return True
    for x in sorted({0, count // 3, (2 * count) // 3, count - 1}):
        try:
            alone = {k: _broadcast(v, 1) for k, v in dict(function(_state(s, x), q)).items()}
        except Exception:  # noqa: BLE001, S112  # written for arrays
            continue
        if not _alike(found, alone, x):
            return False
    if code is not None:
        _compared.add(code)
    return True


def _broadcast(value: Any, count: int) -> Mean:
    """Return a label, a reward or a `Mean` as a `Mean` of arrays over so many states."""
    mean = value if isinstance(value, Mean) else Mean(value)

    def spread(part: Any) -> NDArray[np.float64]:
        array = np.asarray(part)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{part!r} is no number and no truth value")
        if array.ndim == len(mean.dims):  # the same in all states, or one state
            array = array[..., None]
        return np.broadcast_to(array.astype(float), (*array.shape[:-1], count))

    return mean._replace(of=spread(mean.of), over=None if mean.over is None else spread(mean.over))


def _alike(found: Mapping[str, Mean], alone: Mapping[str, Mean], x: int) -> bool:
    if found.keys() != alone.keys():
        return False
    for name, mean in alone.items():
        for one, many in ((mean.of, found[name].of), (mean.over, found[name].over)):
            if one is not None and not np.allclose(one[..., 0], many[..., x], rtol=1e-12, atol=0.0):
                return False
    return True


def _stacked(values: list[float | Mean]) -> Mean:
    plain = [value for value in values if isinstance(value, float)]
    if len(plain) == len(values):
        return Mean(np.array(plain))
    means = [value if isinstance(value, Mean) else _broadcast(value, 1) for value in values]
    of = np.concatenate([mean.of for mean in means], axis=-1)
    if means[0].over is None:
        return means[0]._replace(of=of)
    return means[0]._replace(of=of, over=np.concatenate([mean.over for mean in means], axis=-1))


def _arrays(s: Any) -> list[NDArray[Any]]:
    """Return the arrays in a ``State`` of them, vectors taken apart."""
    fields = s if isinstance(s, tuple) else (s,)
    return [a for field in fields for a in (field if isinstance(field, tuple) else (field,))]


def _state(s: Any, x: int) -> Any:
    """Return one of many states, with Python's numbers."""
    if not isinstance(s, tuple):
        return _item(s, x)
    values = [
        tuple(_item(a, x) for a in field) if isinstance(field, tuple) else _item(field, x)
        for field in s
    ]
    return type(s)(*values) if hasattr(s, "_fields") else tuple(values)


def _item(array: NDArray[Any], x: int) -> Any:
    value = array[x]
    return value.item() if isinstance(value, np.generic) else value


def _each(s: Any, count: int) -> Iterator[Any]:
    return (_state(s, x) for x in range(count))
