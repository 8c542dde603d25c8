"""The best value of a parameter of a chain, among given ones or in an interval.

Among given values every chain is solved, and the bounds of the objective say whether the best one is
certain. In an interval the derivative of `Stationary.sensitivity` is followed from the best points
of a grid (sequential least squares; D. Kraft, DFVLR-FB 88-28, 1988).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import format_value, number, unwrap_scalar
from hopflow.parameters import sweep_values
from hopflow.progress import progress_bar
from hopflow.results import Result, figure
from hopflow.sweeps.grid import axis
from markov.driver import stationary
from markov.models.rules import scope_of_bound
from markov.selections import as_chain
from markov.sensitivities.model_parameters import parameters_of
from markov.sensitivities.results import NoDerivativeError

if TYPE_CHECKING:
    import xarray as xr

    from markov.methods.solution import Method
    from markov.proofs.bounded import Bounded
    from markov.results.stationary_results import Stationary

__all__ = ["Best", "best"]

GRID = 9
"""Points of an interval that are tried before the derivative is followed."""
STARTS = 2
"""How many of them it is followed from."""
GEOMETRIC = 20.0
"""Ratio of the ends of an interval from which its grid is geometric."""

INSIDE = 1e-9
"""How far inside of a limit a search stays, relative to it."""

Limits = Mapping[str, tuple[float | None, float | None]]


class _Point(NamedTuple):
    value: Any
    answer: Stationary
    objective: Bounded
    limited: tuple[Bounded, ...]
    allowed: bool


@dataclass(frozen=True, repr=False, eq=False)
class Best(Result):
    """The best value of a parameter, with the chain's answer there.

    Attributes
    ----------
    parameter, of
        Names of the parameter and of the measure.
    value
        Of the parameter.
    objective
        The measure there, `Bounded`, in its unit.
    answer
        The `Stationary` distribution there.
    certain
        Whether the bounds of the measures exclude every other value that was tried. In an interval it
        is False: what lies between the points tried is not excluded.
    rivals
        The other values that the bounds do not exclude.
    table
        An `xarray.Dataset` over the values tried: the measure with ``lower`` and ``upper`` bound,
        the measures of the limits, and ``allowed``.

    Examples
    --------
    >>> from markov import PauseTandem, best
    >>> found = best(PauseTandem(), "high_threshold", among=[15, 18], maximize="throughput")
    >>> found.value, found.rivals, found.table.allowed.values.tolist()
    (18, (), [True, True])
    """

    parameter: str
    of: str
    value: Any
    objective: Bounded
    answer: Stationary
    certain: bool
    rivals: tuple[Any, ...]
    table: xr.Dataset

    def to_xarray(self) -> xr.Dataset:
        """Return the table: the measures of every value that was tried."""
        return self.table

    def summary(self) -> dict[str, object]:
        """Return the best value, the measure there, and what else may be best."""
        limits = {
            str(name): f"{float(self.table[name][self._place]):.6g}"
            for name in self.table.data_vars
            if name not in (self.of, "lower", "upper", "allowed")
        }
        return {
            self.parameter: self.value,
            self.of: f"{self.objective.value:.9g} +- {self.objective.error:.1e}",
            **limits,
            "certain": self.certain,
            **scope_of_bound(self.answer.chain.model),
            "not excluded": ", ".join(map(str, self.rivals)) or "no other value that was tried",
            "values tried": f"{self.table.sizes[self.parameter]}, {int(self.table.allowed.sum())} allowed",
        }

    @property
    def _place(self) -> int:
        return list(self.table[self.parameter].to_numpy()).index(self.value)

    def plot(self, ax: Any = None) -> Any:
        """Draw the measure over the values tried, open where a limit forbids them; return the Axes."""
        if ax is None:
            _, ax = figure()
        x, y = self.table[self.parameter].to_numpy(), self.table[self.of].to_numpy()
        allowed = self.table.allowed.to_numpy()
        ax.plot(x, y, "-", lw=1, color="0.6")
        ax.plot(x[allowed], y[allowed], "o", label="allowed")
        if not allowed.all():
            ax.plot(x[~allowed], y[~allowed], "o", mfc="none", label="a limit forbids it")
        ax.plot([self.value], [self.objective.value], "*", ms=14, label="best")
        units = self.table[self.of].attrs.get("units", "")
        ax.set(xlabel=self.parameter, ylabel=f"{self.of} ({units})" if units else self.of)
        ax.legend(frameon=False)
        return ax


def best(
    model: Any,
    parameter: str,
    *,
    among: Iterable[Any] | None = None,
    between: tuple[float, float] | None = None,
    maximize: str | None = None,
    minimize: str | None = None,
    subject_to: Limits | None = None,
    method: Method | None = None,
) -> Best:
    """Return the value of a parameter at which a measure is largest, or smallest.

    Parameters
    ----------
    model
        A `ChainModel`, or what `explore` found, with parameters.
    parameter
        Name of one of them.
    among
        The values to try, each of them; strings such as ``"40ms"`` for a parameter with a unit.
    between
        In place of them, the ends of an interval of a parameter that does not change the states. A
        local optimum is found: the best of two searches that begin at the best of nine points.
    maximize, minimize
        Name of a label or reward, one of the two; of one for each queue an entry,
        ``"loss_rate[0]"`` as in Python.
    subject_to
        The least and the most that other measures may be, None where there is no limit:
        ``{"pause_fraction": (None, 0.1)}``.
    method
        As for `stationary`.

    Returns
    -------
    Best

    Raises
    ------
    ValueError
        For an unknown parameter or measure, or limits that no value meets; the message has the value
        that comes nearest.
    ConvergenceError, NotSolvedError
        When a chain is not solved.

    Examples
    --------
    >>> from markov import PauseTandem, best
    >>> found = best(PauseTandem(), "high_threshold", among=range(11, 21), maximize="throughput")
    >>> found.value, found.certain
    (18, True)

    With at most 5 % of the time paused:

    >>> limit = {"pause_fraction": (None, 0.05)}
    >>> best(
    ...     PauseTandem(), "high_threshold", among=range(11, 21), maximize="throughput", subject_to=limit
    ... ).value
    20
    """
    sign, of = _direction(maximize, minimize)
    limits = _limits(subject_to)
    base = _base(model)
    if (among is None) == (between is None):
        raise ValueError("among, between: one of the two is expected")

    def at(value: Any) -> _Point:
        answer = stationary(base.replace(**{parameter: value}), method)
        limited = tuple(_bound(answer, name) for name in limits)
        allowed = all(map(_within, limited, limits.values()))
        return _Point(value, answer, _bound(answer, of), limited, allowed)

    _known(base, parameter)
    if among is not None:
        points = [at(value) for value in progress_bar(_values(base, parameter, among), desc="best")]
    else:
        ends = _interval(base, parameter, between)
        points = _searched(at, parameter, of, sign, limits, ends)
    found = _result(points, parameter, of, sign, limits, enumerated=among is not None)
    if unit := sweep_values(base, parameter, ()).unit:
        found.table[parameter].attrs["units"] = unit
    return found


def _values(base: Any, parameter: str, among: Any) -> list[Any]:
    """Return the values to try, each of which the model takes."""
    if isinstance(among, (str, bytes)) or not isinstance(unwrap_scalar(among), Iterable):
        raise ValueError(f"among = {format_value(among)}: values to try are expected")  # noqa: TRY004
    values = list(among)
    if not values:
        raise ValueError("among: at least one value is expected")
    for n, value in enumerate(values):
        try:
            base.replace(**{parameter: value})
        except (ValueError, TypeError) as error:
            raise type(error)(f"among[{n}] = {format_value(value)}: {error}") from None
    return sweep_values(base, parameter, values).values


def _result(points: list[_Point], parameter: str, of: str, sign: float, limits: Limits, *, enumerated: bool) -> Best:
    allowed = [point for point in points if point.allowed]
    if not allowed:
        near = min(points, key=lambda point: _excess(point, limits))
        said = ", ".join(f"{name} = {found.value:.6g}" for name, found in zip(limits, near.limited, strict=True))
        raise ValueError(
            f"subject_to = {dict(limits)!r}: no value that was tried meets it; nearest is "
            f"{parameter} = {near.value!r} with {said}"
        )
    top = max(allowed, key=lambda point: sign * point.objective.value)
    least = min(sign * top.objective.lower, sign * top.objective.upper)
    rivals = tuple(
        point.value
        for point in allowed
        if point is not top and max(sign * point.objective.lower, sign * point.objective.upper) >= least
    )
    return Best(
        parameter=parameter,
        of=of,
        value=top.value,
        objective=top.objective,
        answer=top.answer,
        certain=enumerated
        and not rivals
        and math.isfinite(top.objective.error)
        and all(_clear(point, limits) for point in points),
        rivals=rivals,
        table=_table(points, parameter, of, limits),
    )


def _table(points: list[_Point], parameter: str, of: str, limits: Limits) -> xr.Dataset:
    import xarray as xr

    bounds = [point.objective for point in points]
    units = points[0].answer.measures[_entry(of)[0]].attrs
    columns: dict[str, Any] = {of: (parameter, [b.value for b in bounds], units)}
    columns["lower"] = parameter, [b.lower for b in bounds], units
    columns["upper"] = parameter, [b.upper for b in bounds], units
    for k, name in enumerate(limits):
        if name != of:
            about = points[0].answer.measures[_entry(name)[0]].attrs
            columns[name] = parameter, [point.limited[k].value for point in points], about
    columns["allowed"] = parameter, [point.allowed for point in points]
    values = axis([point.value for point in points])
    return xr.Dataset(columns, coords={parameter: (parameter, values)})


def _searched(
    at: Callable[[Any], _Point],
    parameter: str,
    of: str,
    sign: float,
    limits: Limits,
    interval: tuple[float, float],
) -> list[_Point]:
    """Return the points of a grid and of searches that begin at the best of them, ascending."""
    from scipy import optimize

    search: Any = optimize.minimize  # its stubs want more than it takes

    low, high = interval
    width = high - low
    spread = np.geomspace if low > 0.0 and high / low >= GEOMETRIC else np.linspace
    tried = {float(value): at(float(value)) for value in spread(low, high, GRID)}

    def point(x: Any) -> _Point:
        value = min(max(low + width * float(x[0]), low), high)
        if value not in tried:
            tried[value] = at(value)
        return tried[value]

    def slope(x: Any, name: str) -> float:
        """Return a direction of search: at a kink the mean of both sides."""
        measure, entry = _entry(name)
        try:
            sides = [point(x).answer.sensitivity(parameter, of=measure)]
        except NoDerivativeError as error:
            sides = [found for found in (error.left, error.right) if found is not None]
        each = [found[entry or 0] if isinstance(found, list) else found for found in sides]
        return width * sum(found.derivative for found in each) / max(len(each), 1)

    def condition(k: int, name: str, side: float, end: float) -> dict[str, Any]:
        """Return that a measure is within a limit, by a little."""
        size = abs(end) or 1.0
        return {
            "type": "ineq",
            "fun": lambda x: side * (point(x).limited[k].value - end) / size - INSIDE,
            "jac": lambda x: [side * slope(x, name) / size],
        }

    order = sorted(tried.values(), key=lambda p: (not p.allowed, -sign * p.objective.value))
    size = max(abs(p.objective.value) for p in order) or 1.0
    for start in order[:STARTS]:
        search(
            lambda x: -sign * point(x).objective.value / size,
            [(start.value - low) / width],
            jac=lambda x: [-sign * slope(x, of) / size],
            bounds=[(0.0, 1.0)],
            constraints=[
                condition(k, name, side, end)
                for k, (name, ends) in enumerate(limits.items())
                for side, end in zip((1.0, -1.0), ends, strict=True)
                if end is not None
            ],
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 40},
        )
    return [tried[value] for value in sorted(tried)]


def _direction(maximize: str | None, minimize: str | None) -> tuple[float, str]:
    if (maximize is None) == (minimize is None):
        raise ValueError("maximize, minimize: one of the two is expected")
    of = maximize if minimize is None else minimize
    name = "maximize" if minimize is None else "minimize"
    if not isinstance(of, str):
        raise ValueError(f"{name} = {of!r}: the name of a measure is expected")  # noqa: TRY004
    return (1.0 if minimize is None else -1.0), of


def _limits(subject_to: Any) -> Limits:
    if subject_to is None:
        return {}
    if not isinstance(subject_to, Mapping):
        said = "must name measures and their (least, most)"
        raise ValueError(f"subject_to = {subject_to!r}: {said}")  # noqa: TRY004
    for name, ends in subject_to.items():
        if not isinstance(ends, (tuple, list)) or len(ends) != 2:
            raise ValueError(f"subject_to[{name!r}] = {ends!r}: must be (least, most)")
        known = [float(number(f"subject_to[{name!r}]", end)) for end in ends if end is not None]
        if not known or known != sorted(known):
            raise ValueError(f"subject_to[{name!r}] = {ends!r}: must have least <= most, not both None")
    return dict(subject_to)


def _interval(base: Any, parameter: str, between: Any) -> tuple[float, float]:
    if not isinstance(between, Sequence) or isinstance(between, str) or len(between) != 2:
        raise ValueError(f"between = {between!r}: must be the two ends of an interval")
    ends = sweep_values(base, parameter, between).values
    low, high = (float(number("between", end)) for end in ends)
    if not low < high:
        raise ValueError(f"between = {between!r}: the first end must be below the second")
    return low, high


def _base(model: Any) -> Any:
    known = hasattr(model, "replace") and hasattr(model, "params")
    base = model if known else as_chain(model).model
    if base is None:
        raise ValueError(f"model = {model!r}: a generator has no parameters; give rules")
    return base


def _known(model: Any, parameter: Any) -> None:
    names = parameters_of(model)
    if not isinstance(parameter, str) or parameter not in names:
        known = ", ".join(names) or "none"
        raise ValueError(f"parameter = {format_value(parameter)}: must be one of {known}")


def _entry(name: str) -> tuple[str, int | None]:
    match = re.fullmatch(r"(.+)\[(\d+)\]", name)
    return (match[1], int(match[2])) if match else (name, None)


def _bound(answer: Stationary, name: str) -> Bounded:
    measure, entry = _entry(name)
    found = answer.bound(measure)
    if not isinstance(found, list):
        if entry is not None:
            raise ValueError(f"{name!r}: {measure} is one number, without entries")
        return found
    if entry is None or entry >= len(found):
        entries = ", ".join(f"{measure}[{k}]" for k in range(len(found)))
        raise ValueError(f"{name!r}: must be one of {entries}")
    return found[entry]


def _within(found: Bounded, ends: tuple[float | None, float | None]) -> bool:
    least, most = ends
    return (least is None or found.value >= least) and (most is None or found.value <= most)


def _clear(point: _Point, limits: Limits) -> bool:
    """Return whether the bounds leave no doubt on which side of each limit a point is."""
    return not any(
        end is not None and found.lower < end < found.upper
        for found, ends in zip(point.limited, limits.values(), strict=True)
        for end in ends
    )


def _excess(point: _Point, limits: Limits) -> float:
    """Return how far a point is outside of the limits, relative to them."""
    beyond = 0.0
    for found, (least, most) in zip(point.limited, limits.values(), strict=True):
        for side, end in ((1.0, least), (-1.0, most)):
            if end is not None:
                beyond += max(0.0, side * (end - found.value)) / (abs(end) or 1.0)
    return beyond
