"""The best value of a parameter of a chain, from a list of values or in an interval.

For a list of values every chain is solved, and the bounds of the objective decide whether the best value is
certain. In an interval searches follow the derivative of `Stationary.sensitivity` from the best points
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
from hopflow.results import Result, figure, names_beside
from hopflow.sweeps.grid import axis
from markov.driver import stationary
from markov.models.measures import MEASURE
from markov.models.rules import scope_of_bound
from markov.selections import as_any_chain
from markov.sensitivities.model_parameters import parameters_of
from markov.sensitivities.results import NoDerivativeError

if TYPE_CHECKING:
    import xarray as xr

    from markov.methods.solution import Method
    from markov.proofs.bounded import Bounded
    from markov.results.stationary_results import Stationary

__all__ = ["Best", "best"]

GRID_POINTS = 9
"""Points of an interval that are tried before the searches."""
SEARCHES = 2
"""Number of searches, from the best points of the grid."""
MIN_RATIO_FOR_GEOMETRIC_GRID = 20.0
"""Ratio of the ends of an interval from which its grid is geometric."""

BOUND_VARIABLES = ("lower", "upper", "allowed")
"""Variables of a table besides measures."""
LIMIT_MARGIN = 1e-9
"""Distance of a search from a limit, relative to it."""

Limits = Mapping[str, tuple[float | None, float | None]]


class _Point(NamedTuple):
    """One value of the parameter that was tried: its answer, objective, limited measures, and whether limits hold."""

    value: Any
    answer: Stationary
    objective: Bounded
    measures: tuple[Bounded, ...]
    allowed: bool

    def excess(self, limits: Limits) -> float:
        """Return the sum over all limits of the relative amount by which measures violate them."""
        total = 0.0
        for measure, (low, high) in zip(self.measures, limits.values(), strict=True):
            for side, limit in ((1.0, low), (-1.0, high)):
                if limit is not None:
                    total += max(0.0, side * (limit - measure.value)) / (abs(limit) or 1.0)
        return total

    def is_clear(self, limits: Limits) -> bool:
        """Return whether the error bounds of the measures decide for every limit whether it holds."""
        return not any(
            limit is not None and measure.lower < limit < measure.upper
            for measure, pair in zip(self.measures, limits.values(), strict=True)
            for limit in pair
        )


@dataclass(frozen=True, repr=False, eq=False)
class Best(Result):
    """Result of `best`: the best value of a parameter, with the stationary distribution for it.

    Attributes
    ----------
    parameter, of
        Names of the parameter and of the measure.
    value
        Best value of the parameter.
    objective
        The measure for this value, `Bounded`, in its unit.
    answer
        The `Stationary` distribution for this value.
    certain
        Whether the bounds of the measures exclude every other value that was tried. In an interval it
        is False, since values between the points are not excluded.
    rivals
        The other values that the bounds do not exclude.
    table
        An `xarray.Dataset` over the values tried: the measure with ``lower`` and ``upper`` bound,
        the measures of the limits, and ``allowed``. A measure with one of these names, or with that of the parameter,
        is called such as ``lower (measure)``.

    Examples
    --------
    >>> from markov import PauseTandem, best
    >>> optimum = best(PauseTandem(), "high_threshold", among=[15, 18], maximize="throughput")
    >>> optimum.value, optimum.rivals, optimum.table.allowed.values.tolist()
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
        """Return the table of the measures over all values tried, as a data set."""
        return self.table

    def summary(self) -> dict[str, object]:
        """Return the rows of a printed summary: best value, measures, and other values that may be best."""
        row = list(self.table[self.parameter].to_numpy()).index(self.value)
        objective = f"{self.objective.value:.9g} +- {self.objective.error:.1e}"
        measures = {
            str(name): objective if name == self._of_variable else f"{float(self.table[name][row]):.6g}"
            for name in self.table.data_vars
            if name not in BOUND_VARIABLES
        }
        rows: dict[str, object] = {
            "certain": self.certain,
            **scope_of_bound(self.answer.chain.model),
            "not excluded": ", ".join(map(str, self.rivals)) or "no other value that was tried",
            "values tried": f"{self.table.sizes[self.parameter]}, {int(self.table.allowed.sum())} allowed",
        }
        names = names_beside(measures, rows, MEASURE)
        parameter = names_beside([self.parameter], {*rows, *names.values()}, "parameter")[self.parameter]
        return {parameter: self.value, **{names[name]: text for name, text in measures.items()}, **rows}

    @property
    def _of_variable(self) -> str:
        """The name of the measure that is optimized in the table."""
        return _variables([self.of], self.parameter)[self.of]

    def plot(self, ax: Any = None) -> Any:
        """Draw the measure over the values tried, open if a limit forbids them; return the Axes."""
        if ax is None:
            _, ax = figure()
        x, y = self.table[self.parameter].to_numpy(), self.table[self._of_variable].to_numpy()
        allowed = self.table.allowed.to_numpy()
        ax.plot(x, y, "-", lw=1, color="0.6")
        ax.plot(x[allowed], y[allowed], "o", label="allowed")
        if not allowed.all():
            ax.plot(x[~allowed], y[~allowed], "o", mfc="none", label="a limit forbids it")
        ax.plot([self.value], [self.objective.value], "*", ms=14, label="best")
        units = self.table[self._of_variable].attrs.get("units", "")
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
        A `ChainModel`, or a result of `explore`, with parameters.
    parameter
        Name of a parameter.
    among
        All values to try; strings such as ``"40ms"`` for a parameter with a unit.
    between
        Instead of ``among``, the ends of an interval of a parameter that does not change the states. The
        result is a local optimum: the best of two searches, which begin at the best of nine points.
    maximize, minimize
        Name of a label or reward, one of the two. For a measure by queue an entry,
        ``"loss_rate[0]"`` as in Python.
    subject_to
        Minimum and maximum of other measures, None for no limit:
        ``{"pause_fraction": (None, 0.1)}``.
    method
        As for `stationary`.

    Returns
    -------
    Best

    Raises
    ------
    ValueError
        For an unknown parameter or measure, or limits that no value meets; the message has the nearest value.
    ConvergenceError, NotSolvedError
        If a chain is not solved.

    Examples
    --------
    >>> from markov import PauseTandem, best
    >>> optimum = best(PauseTandem(), "high_threshold", among=range(11, 21), maximize="throughput")
    >>> optimum.value, optimum.certain
    (18, True)

    With at most 5 % of the time paused:

    >>> limit = {"pause_fraction": (None, 0.05)}
    >>> best(
    ...     PauseTandem(), "high_threshold", among=range(11, 21), maximize="throughput", subject_to=limit
    ... ).value
    20
    """
    if (maximize is None) == (minimize is None):
        raise ValueError("maximize, minimize: one of the two is expected")
    of, sign = (maximize, 1.0) if minimize is None else (minimize, -1.0)
    if not isinstance(of, str):
        direction = "maximize" if minimize is None else "minimize"
        raise ValueError(f"{direction} = {of!r}: the name of a measure is expected")  # noqa: TRY004
    limits = _limits(subject_to)
    base: Any = model if hasattr(model, "replace") and hasattr(model, "params") else as_any_chain(model).model
    if base is None:
        raise ValueError(f"model = {model!r}: a generator has no parameters; give rules")
    if (among is None) == (between is None):
        raise ValueError("among, between: one of the two is expected")
    names = parameters_of(base)
    untyped: Any = parameter
    if not isinstance(untyped, str) or untyped not in names:
        raise ValueError(f"parameter = {format_value(parameter)}: must be one of {', '.join(names) or 'none'}")

    def solve(value: Any) -> _Point:
        """Return the point of one value of the parameter, with a new solution of the chain."""
        answer = stationary(base.replace(**{parameter: value}), method)
        measures = tuple(_bounded_measure(answer, name) for name in limits)
        allowed = all(
            (low is None or measure.value >= low) and (high is None or measure.value <= high)
            for measure, (low, high) in zip(measures, limits.values(), strict=True)
        )
        return _Point(value, answer, _bounded_measure(answer, of), measures, allowed)

    if among is not None:
        points = [solve(value) for value in progress_bar(_values_to_try(base, parameter, among), desc="best")]
    else:
        interval = _interval(base, parameter, between)
        points = _search(solve, parameter, of, sign, limits, interval)
    allowed_points = [point for point in points if point.allowed]
    if not allowed_points:
        nearest = min(points, key=lambda point: point.excess(limits))
        values = ", ".join(f"{name} = {m.value:.6g}" for name, m in zip(limits, nearest.measures, strict=True))
        raise ValueError(
            f"subject_to = {dict(limits)!r}: no value that was tried meets it; nearest is "
            f"{parameter} = {nearest.value!r} with {values}"
        )
    optimum = max(allowed_points, key=lambda point: sign * point.objective.value)
    worst_case = min(sign * optimum.objective.lower, sign * optimum.objective.upper)
    rivals = tuple(
        point.value
        for point in allowed_points
        if point is not optimum and max(sign * point.objective.lower, sign * point.objective.upper) >= worst_case
    )
    table = _table(points, parameter, of, limits)
    if unit := sweep_values(base, parameter, ()).unit:
        table[parameter].attrs["units"] = unit
    return Best(
        parameter=parameter,
        of=of,
        value=optimum.value,
        objective=optimum.objective,
        answer=optimum.answer,
        certain=among is not None
        and not rivals
        and math.isfinite(optimum.objective.error)
        and all(point.is_clear(limits) for point in points),
        rivals=rivals,
        table=table,
    )


def _values_to_try(base: Any, parameter: str, among: Any) -> list[Any]:
    """Return the values to try in the parameter's unit; ValueError for one that the model refuses."""
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


def _variables(measures: Iterable[str], parameter: str) -> dict[str, str]:
    """Return the names of measures in the table of `Best`, by measure."""
    return names_beside(dict.fromkeys(measures), {parameter, *BOUND_VARIABLES}, MEASURE)


def _table(points: list[_Point], parameter: str, of: str, limits: Limits) -> xr.Dataset:
    """Return objective, its bounds, limited measures and ``allowed`` over the values of the parameter."""
    import xarray as xr

    bounds = [point.objective for point in points]
    units = points[0].answer.measures[_parse_entry(of)[0]].attrs
    names = _variables([of, *limits], parameter)
    columns: dict[str, Any] = {names[of]: (parameter, [b.value for b in bounds], units)}
    columns["lower"] = parameter, [b.lower for b in bounds], units
    columns["upper"] = parameter, [b.upper for b in bounds], units
    for k, name in enumerate(limits):
        if name != of:
            about = points[0].answer.measures[_parse_entry(name)[0]].attrs
            columns[names[name]] = parameter, [point.measures[k].value for point in points], about
    columns["allowed"] = parameter, [point.allowed for point in points]
    values = axis([point.value for point in points])
    return xr.Dataset(columns, coords={parameter: (parameter, values)})


def _search(
    solve: Callable[[Any], _Point],
    parameter: str,
    of: str,
    sign: float,
    limits: Limits,
    interval: tuple[float, float],
) -> list[_Point]:
    """Return points of a grid and of gradient searches from its best points, ascending by value.

    The searches have the interval scaled to 0 .. 1, and keep a small distance to the limits.
    """
    from scipy import optimize

    minimize: Any = optimize.minimize  # its stubs require more than it needs

    low, high = interval
    width = high - low
    spread = np.geomspace if low > 0.0 and high / low >= MIN_RATIO_FOR_GEOMETRIC_GRID else np.linspace
    tried = {float(value): solve(float(value)) for value in spread(low, high, GRID_POINTS)}

    def point(x: Any) -> _Point:
        """Return the point of x, a value scaled to 0 .. 1, solved at its first use."""
        value = min(max(low + width * float(x[0]), low), high)
        if value not in tried:
            tried[value] = solve(value)
        return tried[value]

    def slope(x: Any, name: str) -> float:
        """Return the derivative of a measure by the scaled value x; at a kink the mean of both sides."""
        measure, entry = _parse_entry(name)
        try:
            sides = [point(x).answer.sensitivity(parameter, of=measure)]
        except NoDerivativeError as error:
            sides = [side for side in (error.left, error.right) if side is not None]
        slopes = [side[entry or 0] if isinstance(side, list) else side for side in sides]
        return width * sum(sensitivity.derivative for sensitivity in slopes) / max(len(slopes), 1)

    def constraint(k: int, name: str, side: float, limit: float) -> dict[str, Any]:
        """Return the dict of a limit as an inequality constraint of SciPy's minimize."""
        size = abs(limit) or 1.0
        return {
            "type": "ineq",
            "fun": lambda x: side * (point(x).measures[k].value - limit) / size - LIMIT_MARGIN,
            "jac": lambda x: [side * slope(x, name) / size],
        }

    order = sorted(tried.values(), key=lambda p: (not p.allowed, -sign * p.objective.value))
    size = max(abs(p.objective.value) for p in order) or 1.0
    for start in order[:SEARCHES]:
        minimize(
            lambda x: -sign * point(x).objective.value / size,
            [(start.value - low) / width],
            jac=lambda x: [-sign * slope(x, of) / size],
            bounds=[(0.0, 1.0)],
            constraints=[
                constraint(k, name, side, limit)
                for k, (name, pair) in enumerate(limits.items())
                for side, limit in zip((1.0, -1.0), pair, strict=True)
                if limit is not None
            ],
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 40},
        )
    return [tried[value] for value in sorted(tried)]


def _limits(subject_to: Any) -> Limits:
    """Return ``subject_to`` as a dict from measure names to (minimum, maximum); ValueError if it has another form."""
    if subject_to is None:
        return {}
    if not isinstance(subject_to, Mapping):
        expected = "must name measures and their (least, most)"
        raise ValueError(f"subject_to = {subject_to!r}: {expected}")  # noqa: TRY004
    for name, pair in subject_to.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"subject_to[{name!r}] = {pair!r}: must be (least, most)")
        numbers = [float(number(f"subject_to[{name!r}]", limit)) for limit in pair if limit is not None]
        if not numbers or numbers != sorted(numbers):
            raise ValueError(f"subject_to[{name!r}] = {pair!r}: must have least <= most, not both None")
    return dict(subject_to)


def _interval(base: Any, parameter: str, between: Any) -> tuple[float, float]:
    """Return both ends of ``between`` as floats in the parameter's unit; ValueError unless they ascend."""
    if not isinstance(between, Sequence) or isinstance(between, str) or len(between) != 2:
        raise ValueError(f"between = {between!r}: must be the two ends of an interval")
    low, high = (float(number("between", value)) for value in sweep_values(base, parameter, between).values)
    if not low < high:
        raise ValueError(f"between = {between!r}: the first end must be below the second")
    return low, high


def _parse_entry(name: str) -> tuple[str, int | None]:
    """Return name and index of a measure's entry such as ``"loss_rate[0]"``; None as index of a plain name."""
    match = re.fullmatch(r"(.+)\[(\d+)\]", name)
    return (match[1], int(match[2])) if match else (name, None)


def _bounded_measure(answer: Stationary, name: str) -> Bounded:
    """Return the mean of a measure, or of an entry such as ``"loss_rate[0]"``, with its bounds."""
    measure, entry = _parse_entry(name)
    bounds = answer.bound(measure)
    if not isinstance(bounds, list):
        if entry is not None:
            raise ValueError(f"{name!r}: {measure} is one number, without entries")
        return bounds
    if entry is None or entry >= len(bounds):
        entries = ", ".join(f"{measure}[{k}]" for k in range(len(bounds)))
        raise ValueError(f"{name!r}: must be one of {entries}")
    return bounds[entry]
