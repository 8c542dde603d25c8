"""Equations as text and as tables, for entries with and without a closed form."""

from __future__ import annotations

import pytest

from responsefn import AIMD, BBR, DCQCN, HTCP, TIMELY, Mathis, Reno, WindowRule
from responsefn.responses.equations import domain_of, equation_of, formula_of, table_of


class Plain(Reno):
    """A user's rule, which states no source."""

    reference = None


@pytest.mark.parametrize(("rule", "source"), [(Reno(), "RFC 5681"), (Plain(), "no source stated")])
def test_a_rule_shows_its_equation_and_source_in_notebooks(rule: WindowRule, source: str) -> None:
    page = rule._repr_html_()
    assert page == table_of([rule])
    assert f"<code>{rule!r}</code>" in page
    assert r"\sqrt" in page
    assert source in page
    assert "<caption>" not in page


@pytest.mark.parametrize(
    ("entry", "how"),
    [(HTCP(), "numerical cycle"), (DCQCN(), "fixed point"), (TIMELY(), "none"), (BBR(), "none")],
)
def test_without_a_formula_it_says_what_finds_the_rate(entry, how: str) -> None:
    assert formula_of(entry) is None
    assert equation_of(entry) == how
    assert equation_of(entry, latex=True).startswith(rf"\text{{{how}: }}")


def test_formulas_are_derived_once_and_domains_are_texts() -> None:
    assert formula_of(AIMD(0.2, 0.125)) is formula_of(AIMD(0.2, 0.125))
    assert equation_of(Mathis()) == "sqrt(6)/(2*R*sqrt(b)*sqrt(p))"
    assert domain_of(HTCP()) == "p <= 0.02"
