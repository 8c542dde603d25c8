"""Rules and laws fitted to measured loss event rates, round-trip times and rates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hopflow.checks import count_of, format_value
from hopflow.intervals import t_quantile
from hopflow.results import Result, figure, names_beside
from hopflow.units import WithUnit, quantities
from responsefn.diagnostics import quiet
from responsefn.inputs import (
    capacity,
    loss_rate,
    packet_rate,
    round_trip,
    same_shape,
)
from responsefn.response import Response

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Fit", "fit"]

MIN_SINGULAR_RATIO = 1e-6
"""Ratio of the smallest to the largest singular value below which parameters are not identifiable."""
SMALLEST_PARAMETER, LARGEST_PARAMETER = 1e-9, 1e9
"""Factors from a parameter's value within which its limits are searched; a parameter without a limit there has none."""
LIMIT_PRECISION = 1e-12
"""Relative distance between an accepted and a refused value at which the bisection ends."""


@dataclass(frozen=True, repr=False, eq=False)
class Fit(Result):
    """A rule or law whose parameters were fitted.

    Attributes
    ----------
    rule
        The fitted rule or law.
    intervals
        95 % interval of each fitted parameter, by name, within the limits of the rule.
    spread
        Standard deviation of log rate about the fit: 0.1 is 10 %.
    p, rtt, rate
        The data: loss event rates, s, packets/s, shape (n,).

    Examples
    --------
    >>> from responsefn import AIMD, fit
    >>> estimate = fit(AIMD(b=0.5), [1e-4, 1e-3, 1e-2], 0.1, [1225.0, 387.0, 122.0], by="a")
    >>> round(estimate.rule.a, 2)
    1.0
    """

    rule: Response
    intervals: dict[str, tuple[float, float]]
    spread: float
    p: Floats
    rtt: Floats
    rate: Floats
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "p": ("observation",), "rtt": ("observation",), "rate": ("observation",),
    }  # fmt: skip

    def summary(self) -> dict[str, object]:
        """Return the rule, its intervals and the spread."""
        before: dict[str, object] = {"rule": repr(self.rule), "points": len(self.p)}
        after: dict[str, object] = {"spread": f"{100 * self.spread:.2g} % of the rate"}
        names = names_beside(self.intervals, {*before, *after}, "parameter")
        values = self.rule.params._asdict()
        intervals = self.intervals.items()
        fitted = {names[n]: f"{values[n]:.4g} ({low:.4g} .. {high:.4g}, 95 %)" for n, (low, high) in intervals}
        return {**before, **fitted, **after}

    @quiet()
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw measured over fitted rates against p; return the Axes."""
        axes: Axes = figure()[1] if ax is None else ax
        fitted = np.asarray(self.rule.rate(self.p, self.rtt, unit_check=False))
        axes.semilogx(self.p, self.rate / fitted, "o")
        axes.axhline(1.0, color="0.7", zorder=0)
        values = self.rule.params._asdict()
        fitted_values = ", ".join(f"{name} = {values[name]:.4g}" for name in self.intervals)
        title = f"{type(self.rule).__name__}: {fitted_values}"
        axes.set(xlabel="loss event rate p", ylabel="measured / fitted rate", title=title)
        return axes


@quantities(rtt="time", rate="rate", bandwidth="rate", p="share")
@quiet()
def fit(
    rule: type[Response] | Response,
    p: ArrayLike,
    rtt: ArrayLike,
    rate: ArrayLike,
    by: str | Iterable[str] | None = None,
    bandwidth: WithUnit | None = None,
    *,
    unit_check: bool = True,
) -> Fit:
    """Fit the parameters of a rule or law to measured rates.

    The fit is least squares in log rate over the logarithms of the parameters. Intervals follow from the curvature and
    the spread, with Student's t and n less the number of parameters as degrees of freedom. They are clipped to the
    limits of the rule, which does not change their coverage.

    Parameters
    ----------
    rule
        A class, such as ``AIMD``, or an instance whose other parameters are fixed.
    p, rtt, rate
        Loss event rates, round-trip times in s, packets/s, shapes that broadcast to (n,).
    by
        Names of the parameters to fit, positive numbers; None for all of them.
    bandwidth
        Capacity in packets/s, for rules that depend on the queue.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more, and rates above 1e7 packets/s.

    Raises
    ------
    TypeError
        If ``rule`` is no rule or law.
    ValueError
        For an invalid parameter, a rule without a response function, fewer points than parameters plus one, or
        parameters that the data do not identify.

    Examples
    --------
    >>> import numpy as np
    >>> from responsefn import AIMD, fit
    >>> p = np.geomspace(1e-4, 1e-2, 20)
    >>> noise = np.exp(0.05 * np.random.default_rng(1).standard_normal(20))
    >>> estimate = fit(AIMD(b=0.25), p, 0.1, noise * AIMD(0.7, 0.25).rate(p, 0.1), by="a")
    >>> low, high = estimate.intervals["a"]
    >>> bool(low < 0.7 < high), round(estimate.spread, 2)
    (True, 0.03)
    """
    from scipy.optimize import least_squares

    start = rule() if isinstance(rule, type) else rule
    if not isinstance(start, Response):
        raise TypeError(f"rule = {rule!r}: must be a rule or law, such as AIMD or TFRC()")
    if bandwidth is not None:
        bandwidth = capacity(bandwidth, unit_check)
    p, rtt = loss_rate(p), round_trip(rtt, unit_check)
    rate = packet_rate("rate", rate, unit_check)
    shape = same_shape(p=p, rtt=rtt, rate=rate)
    p, rtt, rate = (np.broadcast_to(array, shape).ravel() for array in (p, rtt, rate))
    names = _parameters_to_fit(start, by)
    degrees_of_freedom = len(p) - len(names)
    if degrees_of_freedom < 1:
        raise ValueError(
            f"rate has {count_of(len(p), 'point')}: must be more than the {count_of(len(names), 'parameter')}, "
            f"by = {', '.join(names)}"
        )
    log_rate = np.log(rate)

    def rule_at(x: Floats) -> Response:
        return start.replace(**dict(zip(names, map(float, np.exp(x)), strict=True)))

    def residual(x: Floats) -> Any:
        try:
            rates = rule_at(x).rate(p, rtt, bandwidth, unit_check=False)
        except ValueError:  # outside of the limits of the rule
            return np.full(len(p), 1e3)
        return np.log(rates) - log_rate

    start.rate(p, rtt, bandwidth, unit_check=False)  # raises for a rule without a response function
    begin = np.log([start.params._asdict()[name] for name in names])
    solution = least_squares(residual, begin, x_scale="jac", xtol=1e-12, ftol=1e-12)
    slopes = np.asarray(solution.jac)
    values = np.linalg.svd(slopes, compute_uv=False)
    if values[-1] < MIN_SINGULAR_RATIO * max(values[0], 1.0):
        raise ValueError(
            f"by = {', '.join(names)}: these p, rtt and rate do not determine the parameters; name fewer "
            "in by=, or give rates nearer to those of the rule"
        )
    spread = math.sqrt(2.0 * solution.cost / degrees_of_freedom)
    half_widths = t_quantile(degrees_of_freedom) * spread * np.sqrt(np.diag(np.linalg.inv(slopes.T @ slopes)))
    fitted = rule_at(solution.x)
    intervals = {
        name: tuple(np.clip(np.exp([x - half, x + half]), *_limits(fitted, name)).tolist())
        for name, x, half in zip(names, solution.x, half_widths, strict=True)
    }
    return Fit(fitted, intervals, spread, p, rtt, rate)


def _limits(rule: Response, name: str) -> tuple[float, float]:
    """Return the lower and upper limit of a parameter, 0 and inf where it is unlimited.

    A rule refuses values outside of its limits, so bisection finds them.
    """
    inside = float(rule.params._asdict()[name])

    def accepts(value: float) -> bool:
        try:
            rule.replace(**{name: value})
        except ValueError:
            return False
        return True

    def limit(far: float) -> float:
        near = inside
        while abs(far / near - 1.0) > LIMIT_PRECISION:
            middle = math.sqrt(near * far)
            near, far = (middle, far) if accepts(middle) else (near, middle)
        return float(f"{far:.9g}")

    low, high = inside * SMALLEST_PARAMETER, inside * LARGEST_PARAMETER
    return 0.0 if accepts(low) else limit(low), math.inf if accepts(high) else limit(high)


def _parameters_to_fit(start: Response, by: str | Iterable[str] | None) -> list[str]:
    numbers = {
        name: value for name, value in start.params._asdict().items() if isinstance(value, (int, float)) and value > 0
    }
    flags = [name for name in numbers if isinstance(start.Params._field_defaults.get(name), int)]
    if not numbers:
        raise ValueError(f"rule = {start!r}: has no parameter to fit, a number above 0")
    if by is None:
        names = [name for name in numbers if name not in flags]
    else:
        requested: Any = by
        is_list = isinstance(requested, Iterable) and not isinstance(requested, str)
        names = list(requested) if is_list else [requested]
        for name in names:
            if isinstance(name, str) and name in start.params._fields and name not in numbers:
                value, kind = start.params._asdict()[name], type(start).__name__
                raise ValueError(
                    f"by = {name!r}: {name} = {value!r} in {start!r}: must be a number above 0 to begin with, "
                    f"such as fit({kind}({name}=0.5), ...)"
                )
    if not names or not all(isinstance(name, str) and name in numbers for name in names):
        raise ValueError(f"by = {format_value(by)}: must be one or more of {', '.join(numbers)}")
    return names
