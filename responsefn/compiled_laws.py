"""Compiled kernels of closed forms, generated from their Python code: no temporaries, no checks.

They evaluate many values at one round-trip time, faster than `Response.rate` and `invert`, and without
their checks. Tests compare both.
"""
# mypy: disable-error-code="name-defined"
# ruff: noqa: F821, F841

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import instance, one_number
from hopflow.fork_safety import cached_property
from hopflow.kernels import make_kernel
from hopflow.units import WithUnit, quantities
from responsefn.closed_forms.functions import excess, lambert_w, solve_plateau
from responsefn.inputs import round_trip, spread
from responsefn.inverse import SMALLEST_P, invert_closed_form
from responsefn.response import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from responsefn.closed_forms.printed import Statements

    Floats = NDArray[np.float64]

__all__ = ["Fused", "fused"]

HELPERS = (lambert_w, excess, solve_plateau)
TABLE_CELLS = 1024
"""Cells of the table of starting values of the inverse: 16 KB, which fit the first-level cache."""


def _snippets(code: Statements) -> dict[str, str]:
    """Return the statements before and inside of the loop."""
    before = [f"{name} = constants[{n}]" for n, name in enumerate(code.constants)]
    return {"before": "\n".join([*before, *code.before]), "inside": "\n".join(code.inside)}


@dataclass(frozen=True)
class Fused:
    """A closed form, compiled for one round-trip time.

    Attributes
    ----------
    response, rtt
        The rule or law, and the round-trip time in s.

    Examples
    --------
    >>> import numpy as np
    >>> from responsefn import Reno, fused
    >>> law = fused(Reno(), rtt=0.1)
    >>> law.invert(law(np.array([1e-3, 1e-2]))).round(9)
    array([0.001, 0.01 ])
    """

    response: Response
    rtt: float
    _code: Mapping[str, str]
    _constants: Floats
    _plain_code: Mapping[str, str]
    _plain_constants: Floats

    def __call__(self, p: Floats, out: Floats | None = None) -> Floats:
        """Return rates in packets/s, NaN where the closed form does not hold.

        Loss event rates are not checked.

        Parameters
        ----------
        p
            float64, contiguous, shape (n,), 0 < p <= 1: not checked.
        out
            Array for the result, shape (n,); None: a new array.
        """
        out = np.empty_like(p) if out is None else out
        make_kernel(evaluate_all, snippets=self._code, helpers=HELPERS)(p, self._constants, out)
        return out

    @quantities(rate="rate")
    def invert(self, rate: Floats, out: Floats | None = None) -> Floats:
        """Return loss event rates for rates in packets/s.

        Parameters
        ----------
        rate
            float64, contiguous, shape (n,): not checked.
        out
            Array for the result; NaN for a rate without a p in 1e-12..1 at which the closed form holds. Of
            several ranges of such p, the lowest is used.
        """
        out = np.empty_like(rate) if out is None else out
        kernel = make_kernel(invert_all, snippets=self._plain_code, helpers=HELPERS)
        kernel(rate, self._plain_constants, *self._table, out)
        return out

    @cached_property
    def _table(self) -> tuple[Floats, float, float]:
        """Log p and its change per step of log rate, shape (nodes, 2); the first log rate, 1/step."""
        law, rtt = self.response, self.rtt
        p_range = np.array(_range(law, rtt))[::-1]
        first, last = np.log(law.value_of(law._code("rate"), p=p_range, R=rtt))
        step = (last - first) / TABLE_CELLS
        rates = np.exp(first + step * np.arange(TABLE_CELLS + 1))
        p = np.clip(invert_closed_form(law, rates, np.full(rates.shape, rtt)), p_range[1], p_range[0])
        slope = spread(law.value_of(law._code("log_slope"), p=p, R=rtt), p.shape)
        return np.stack([np.log(p), step / slope], axis=1), float(first), float(1.0 / step)


@quantities(rtt="time")
def fused(response: Response, rtt: WithUnit, *, unit_check: bool = True) -> Fused:
    """Return the closed form of a rule or law as compiled kernels for one round-trip time.

    Parameters
    ----------
    response
        A rule or law with a closed form.
    rtt
        Round-trip time in s.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more.

    Examples
    --------
    >>> import numpy as np
    >>> from responsefn import TFRC, fused
    >>> float(fused(TFRC(), rtt=0.1)(np.array([0.01])).round(3)[0])
    112.332
    """
    rtt = one_number("rtt", round_trip(rtt, unit_check))
    instance("response", response, Response, "a rule or law, such as Reno() or TFRC()")
    values = response.bindings(rtt) | {"R": rtt}

    def kernel_arguments(name: str) -> tuple[Mapping[str, str], Floats]:
        code = response._code(name).plain()
        constants = [float(values[name]) for name in code.constants]
        return _snippets(code), np.array(constants or [math.nan])

    return Fused(response, rtt, *kernel_arguments("conditional_rate"), *kernel_arguments("rate"))


def _range(law: Response, rtt: float) -> tuple[float, float]:
    """Return the lowest range of p in which the closed form holds; bisection finds its ends."""
    p = np.geomspace(SMALLEST_P, 1.0, 241)
    holds = law.closed_form_holds(p, rtt)
    first = int(np.argmax(holds))
    after = np.flatnonzero(~holds[first:])
    last = first + int(after[0]) - 1 if after.size else len(p) - 1
    low = p[0] if first == 0 else _border(law, rtt, p[first], p[first - 1])
    high = 1.0 if last == len(p) - 1 else _border(law, rtt, p[last], p[last + 1])
    return float(low), float(high)


def _border(law: Response, rtt: float, inside: float, outside: float) -> float:
    while abs(outside / inside - 1.0) > 1e-15:
        middle = math.sqrt(inside * outside)
        if middle in (inside, outside):
            break
        if law.closed_form_holds(middle, rtt):
            inside = middle
        else:
            outside = middle
    return inside


# Templates of loops over a closed form; they run only compiled.


def evaluate_all(p_values: Floats, constants: Floats, out: Floats) -> None:
    """Template: ``before()`` computes the terms without p, ``inside()`` sets ``value``."""
    before()
    for n in range(p_values.shape[0]):
        p = p_values[n]
        inside()
        out[n] = value


def invert_all(rates: Floats, constants: Floats, table: Floats, first: float, per_step: float, out: Floats) -> None:
    """Template: interpolate p in a table of log p over log rate, and correct it by the slope.

    The rows of ``table``, at even steps from ``first`` on, are log p and its change per step. Away from
    kinks the cubic interpolation is accurate, and the second evaluation only confirms the first.
    Elsewhere the secant of the last two points replaces the slope.
    """
    before()
    cells = table.shape[0] - 1
    for n in range(rates.shape[0]):
        rate = rates[n]
        at = (math.log(rate) - first) * per_step
        root = math.nan
        if -1e-9 < at < cells + 1e-9:  # the rates at the ends are inside
            k = min(int(max(at, 0.0)), cells - 1)
            t = at - k
            low = table[k, 1]
            rise = table[k + 1, 0] - table[k, 0]
            bend = 3.0 * rise - 2.0 * low - table[k + 1, 1]
            twist = low + table[k + 1, 1] - 2.0 * rise
            p = min(1.0, math.exp(table[k, 0] + t * (low + t * (bend + t * twist))))
            slope = (low + t * (2.0 * bend + t * 3.0 * twist)) * per_step  # of log p over log rate
            last = 0.0
            step = 0.0
            for _ in range(60):
                inside()
                excess = value / rate - 1.0
                if abs(step) > 1e-6:
                    slope = -step / (excess - last)
                last = excess
                step = slope * excess
                p = min(1.0, p - p * step)
                if abs(step) < 1e-12:
                    root = p
                    break
        out[n] = root
