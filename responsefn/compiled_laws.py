"""Compiled kernels of closed forms, generated from their Python code: no temporaries, no checks.

For many values at one round-trip time. `Response.rate` and `invert` are the safe way; these are the
fast one, and tests hold them to the same numbers.
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
from responsefn.closed_forms.lambert import lambert_w
from responsefn.closed_forms.plateau_ratio import excess, solve_plateau
from responsefn.inputs import round_trip, spread
from responsefn.inverse import SMALLEST_P, closed_root
from responsefn.response import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from responsefn.closed_forms.evaluation import Statements

    Floats = NDArray[np.float64]

__all__ = ["Fused", "fused"]

HELPERS = (lambert_w, excess, solve_plateau)
CELLS = 1024
"""Of the table from which the inverse starts: 16 KB, which stay in the fastest cache."""


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
        What it is of.

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

        Loss event rates are taken as they are.

        Parameters
        ----------
        p
            float64, contiguous, shape (n,), 0 < p <= 1: not checked.
        out
            Where they go, shape (n,); None makes a new array.
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
            Where they go; NaN where no p in 1e-12..1 at which the closed form holds gives the
            rate: of several ranges of p the one that begins lowest.
        """
        out = np.empty_like(rate) if out is None else out
        kernel = make_kernel(invert_all, snippets=self._plain_code, helpers=HELPERS)
        kernel(rate, self._plain_constants, *self._table, out)
        return out

    @cached_property
    def _table(self) -> tuple[Floats, float, float]:
        """Log p and its change per step of log rate, shape (nodes, 2); the first log rate, 1/step."""
        law, rtt = self.response, self.rtt
        ends = np.array(_range(law, rtt))[::-1]
        first, last = np.log(law.value_of(law._code("rate"), p=ends, R=rtt))
        step = (last - first) / CELLS
        rates = np.exp(first + step * np.arange(CELLS + 1))
        p = np.clip(closed_root(law, rates, np.full(rates.shape, rtt)), ends[1], ends[0])
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

    def compiled(name: str) -> tuple[Mapping[str, str], Floats]:
        code = response._code(name).plain()
        constants = [float(values[name]) for name in code.constants]
        return _snippets(code), np.array(constants or [math.nan])

    return Fused(response, rtt, *compiled("conditional_rate"), *compiled("rate"))


def _range(law: Response, rtt: float) -> tuple[float, float]:
    """Return the lowest range of p in which the closed form holds, by bisection of its ends."""
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


def invert_all(
    rates: Floats, constants: Floats, table: Floats, first: float, per_step: float, out: Floats
) -> None:
    """Template: p from a cubic in a table of log p over log rate, then corrected by its slope there.

    The rows of ``table``, at even steps from ``first`` on, are log p and its change per step. Where
    the cubic is as good as it is away from kinks, the second evaluation only confirms the first;
    elsewhere the slope becomes that of the last two points.
    """
    before()
    cells = table.shape[0] - 1
    for n in range(rates.shape[0]):
        rate = rates[n]
        at = (math.log(rate) - first) * per_step
        found = math.nan
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
                    found = p
                    break
        out[n] = found
