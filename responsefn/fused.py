"""Compiled kernels of closed forms, generated from their SymPy expressions: no temporaries, no checks.

For many values at one round-trip time. `Response.rate` and `invert` are the safe way; these are the
fast one, and tests hold them to the same numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import one_number
from hopflow.kernels import build
from responsefn import templates
from responsefn.responses import Response, round_trip

if TYPE_CHECKING:
    from collections.abc import Callable

    import sympy
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Fused", "fused"]


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

    return str(Printer({"fully_qualified_modules": True}).doprint(sp.sympify(expression)))


def _snippets(outputs: dict[str, sympy.Expr]) -> tuple[list[str], dict[str, str]]:
    """Return the names of the constants, and the statements before and inside of the loop."""
    import sympy as sp

    from responsefn.symbolic import p

    symbols = {str(s) for e in outputs.values() for s in e.free_symbols if s != p}
    constants = sorted(symbols)
    names = sp.numbered_symbols("x_")
    steps, results = sp.cse([sp.factor_terms(e) for e in outputs.values()], names)
    before = [f"{name} = constants[{n}]" for n, name in enumerate(constants)]
    inside, moving = [], {p}
    for name, value in steps:
        if value.free_symbols & moving:
            moving.add(name)
            inside.append(f"{name} = {_text(value)}")
        else:
            before.append(f"{name} = {_text(value)}")
    for name, value in zip(outputs, results, strict=True):
        inside.append(f"{name} = {_text(value)}")
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
    _kernel: Callable[..., Any]
    _constants: Floats
    _inverse: Callable[..., Any]
    _inverse_constants: Floats

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
        self._kernel(p, self._constants, out)
        return out

    def invert(self, rate: Floats, out: Floats | None = None) -> Floats:
        """Return loss event rates for rates in packets/s, by Newton's method on logarithms.

        Parameters
        ----------
        rate
            float64, contiguous, shape (n,): not checked.
        out
            Where they go; NaN where no p below 0.999 gives the rate.
        """
        out = np.empty_like(rate) if out is None else out
        self._inverse(rate, self._inverse_constants, self.rtt, out)
        return out


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
    from responsefn.symbolic import log_slope

    rtt = float(round_trip(one_number("rtt", rtt), unit_check))
    expression = response.expression
    values = response.bindings(rtt) | {"R": rtt}

    def made(template: Callable[..., Any], outputs: dict[str, Any]) -> tuple[Any, Floats]:
        names, snippets = _snippets(outputs)
        numbers = np.array([float(values[name]) for name in names] or [math.nan])
        return build(template, snippets=snippets), numbers

    kernel, constants = made(templates.evaluate_all, {"value": expression})
    inverse, inverse_constants = made(
        templates.invert_all, {"value": expression, "slope": log_slope(expression)}
    )
    return Fused(response, rtt, kernel, constants, inverse, inverse_constants)
