"""Equations of rules and laws as text, LaTeX and a table in HTML."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from hopflow.public_names import left_out
from hopflow.results import grid_html

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["domain_of", "equation_of", "formula_of", "table_of"]


class Entry(Protocol):
    """Attributes of a rule or law that describe it; see `responsefn.response.Response`."""

    @property
    def capacity(self) -> str:
        """Whether the rate depends on the capacity."""

    @property
    def dynamics(self) -> str:
        """Dynamics in LaTeX."""

    @property
    def solved_by(self) -> str:
        """Method for the rate without a formula."""

    @property
    def domain(self) -> tuple[float, float]:
        """Smallest and largest loss event rate."""

    def formula(self) -> Formula | None:
        """Return the closed form, or None."""

    def bindings(self, rtt: Any) -> dict[str, Any]:
        """Return the numbers for the parameters' symbols."""

    def cite(self) -> str:
        """Return the source."""

    def __hash__(self) -> int: ...


DIGITS, MAX_SHOWN_OPERATIONS = 5, 100
"""Digits of numbers in displayed equations; operations above which an equation is long."""
_FORMULA = '<div style="max-width:30em;overflow-x:auto">\\({}\\)</div>'
"""Formula in HTML; a long formula scrolls."""


@lru_cache(maxsize=1024)
def formula_of(response: Entry) -> Formula | None:
    """Return ``response.formula()``, derived once for equal objects."""
    try:
        return response.formula()
    except ImportError as error:
        raise left_out(error, "closed forms of responses") from None


def equation_of(entry: Entry, *, latex: bool = False) -> str:
    """Return the rate in packets/s as text or LaTeX; rules without a formula give their dynamics in LaTeX.

    A long formula is shown for the parameters of the entry, a short one for all.

    Examples
    --------
    >>> from responsefn import Mathis
    >>> equation_of(Mathis())
    'sqrt(6)/(2*R*sqrt(b)*sqrt(p))'
    """
    formula = formula_of(entry)
    if formula is None:
        if not latex:
            return entry.solved_by
        how = entry.solved_by
        return rf"\text{{{how}: }} {entry.dynamics}" if entry.dynamics else rf"\text{{{how}}}"
    import sympy as sp

    rate = formula.rate
    if sp.count_ops(rate) > MAX_SHOWN_OPERATIONS:
        numbers = entry.bindings(sp.Symbol("R", positive=True))
        rate = rate.subs({x: numbers.get(str(x), x) for x in rate.free_symbols})
    rate = rate.xreplace({x: sp.Float(x, DIGITS) for x in rate.atoms(sp.Float)})
    return str(sp.latex(rate) if latex else rate)


def domain_of(entry: Entry) -> str:
    """Return the loss event rates for which a response is meant, as text."""
    low, high = entry.domain
    return f"p <= {high:g}" if low == 0.0 else f"{low:g} <= p <= {high:g}"


def table_of(entries: Iterable[Entry], caption: str = "") -> str:
    """Return name, equation, capacity, domain and source of each entry as a table in HTML."""
    from markupsafe import Markup

    titles = ("name", "T in packets/s", "capacity", "domain", "source")
    code, formula = Markup("<code>{}</code>"), Markup(_FORMULA)
    rows = [
        (
            code.format(repr(entry)),
            formula.format(equation_of(entry, latex=True)),
            entry.capacity,
            domain_of(entry),
            entry.cite(),
        )
        for entry in entries
    ]
    return grid_html(caption, titles, rows)
