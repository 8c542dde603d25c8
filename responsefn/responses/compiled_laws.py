"""Compiled kernels of closed forms, generated from their SymPy expressions: no temporaries, no checks.

For many values at one round-trip time. `Response.rate` and `invert` are the safe way; these are the
fast one, and tests hold them to the same numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import one_number
from hopflow.kernels import build
from responsefn.responses import law_kernels as law_templates
from responsefn.responses.base import Response, round_trip
from responsefn.responses.inverse import SMALLEST_P, invert
from responsefn.responses.lambert import lambert_w

if TYPE_CHECKING:
    from collections.abc import Mapping

    import sympy
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Fused", "fused"]

CELLS = 1024
"""Of the table from which the inverse starts: 16 KB, which stay in the fastest cache."""


def _text(expression: sympy.Expr) -> str:
    """Return an expression as Python, quarter powers by square roots."""
    import sympy as sp
    from sympy.printing.pycode import PythonCodePrinter

    class Printer(PythonCodePrinter):  # type: ignore[misc]
        def _print_Pow(self, node: sp.Pow, rational: bool = False, **_: Any) -> str:
            base, exponent = node.as_base_exp()
            quarters = 4 * exponent
            if (quarters.is_Integer and not exponent.is_Integer) or exponent.is_Integer:
                inner = self._print(base)
                whole, rest = divmod(abs(int(quarters)), 4)
                factors = [f"({inner})"] * whole
                if rest in (2, 3):
                    factors.append(f"math.sqrt({inner})")
                if rest in (1, 3):
                    factors.append(f"math.sqrt(math.sqrt({inner}))")
                product = "*".join(factors)
                return f"(1.0/({product}))" if quarters < 0 else f"({product})"
            return str(super()._print_Pow(node, rational=rational))

        def _print_LambertW(self, node: sp.LambertW) -> str:
            return f"{lambert_w.__name__}({self._print(node.args[0])})"

    return str(Printer({"fully_qualified_modules": True}).doprint(sp.sympify(expression)))


@cache
def _snippets(expression: sympy.Expr) -> tuple[list[str], dict[str, str]]:
    """Return the names of the constants, and the statements before and inside of the loop."""
    import sympy as sp

    from responsefn.responses.symbolic import p

    constants = sorted(str(symbol) for symbol in expression.free_symbols if symbol != p)
    steps, (result,) = sp.cse([sp.factor_terms(expression)], sp.numbered_symbols("x_"))
    before = [f"{name} = constants[{n}]" for n, name in enumerate(constants)]
    inside, moving = [], {p}
    for name, value in steps:
        if value.free_symbols & moving:
            moving.add(name)
            inside.append(f"{name} = {_text(value)}")
        else:
            before.append(f"{name} = {_text(value)}")
    inside.append(f"value = {_text(result)}")
    return constants, {"before": "\n".join(before), "inside": "\n".join(inside)}


@dataclass(frozen=True)
class Fused:
    """A closed form, compiled for one round-trip time.

    Attributes
    ----------
    response, rtt
        What it is of.
    """

    response: Response
    rtt: float
    _code: Mapping[str, str]
    _constants: Floats

    def __call__(self, p: Floats, out: Floats | None = None) -> Floats:
        """Return rates in packets/s for loss event rates that are taken as they are.

        Parameters
        ----------
        p
            float64, contiguous, shape (n,), 0 < p <= 1: not checked.
        out
            Where they go, shape (n,); None makes a new array.
        """
        out = np.empty_like(p) if out is None else out
        build(law_templates.evaluate_all, snippets=self._code, helpers=(lambert_w,))(
            p, self._constants, out
        )
        return out

    def invert(self, rate: Floats, out: Floats | None = None) -> Floats:
        """Return loss event rates for rates in packets/s.

        Parameters
        ----------
        rate
            float64, contiguous, shape (n,): not checked.
        out
            Where they go; NaN where no p in 1e-12..1 gives the rate.
        """
        out = np.empty_like(rate) if out is None else out
        kernel = build(law_templates.invert_all, snippets=self._code, helpers=(lambert_w,))
        kernel(rate, self._constants, *self._table, out)
        return out

    @cached_property
    def _table(self) -> tuple[Floats, float, float]:
        """Log p and its change per step of log rate, shape (nodes, 2); the first log rate, 1/step."""
        ends = np.array([1.0, SMALLEST_P])
        law, rtt = self.response, self.rtt
        first, last = np.log(law.rate(ends, rtt, unit_check=False))
        step = (last - first) / CELLS
        rates = np.exp(first + step * np.arange(CELLS + 1))
        p = np.asarray(invert(law, rates, rtt, unit_check=False))
        slope = np.asarray(law.elasticity(p, rtt, unit_check=False))
        return np.stack([np.log(p), step / slope], axis=1), float(first), float(1.0 / step)


def fused(response: Response, rtt: float, *, unit_check: bool = True) -> Fused:
    """Return the closed form of a rule or law as compiled kernels for one round-trip time.

    Parameters
    ----------
    response
        A rule or law with a closed form.
    rtt
        Round-trip time in s.
    unit_check
        Whether to refuse an ``rtt`` of 30 s or more.

    Examples
    --------
    >>> import numpy as np
    >>> from responsefn import TFRC, fused
    >>> float(fused(TFRC(), rtt=0.1)(np.array([0.01])).round(3)[0])
    112.332
    """
    rtt = float(round_trip(one_number("rtt", rtt), unit_check))
    names, code = _snippets(response.expression)
    values = response.bindings(rtt) | {"R": rtt}
    numbers = np.array([float(values[name]) for name in names] or [math.nan])
    return Fused(response, rtt, code, numbers)
