"""Dynamics, equations, labels and references of responses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import responsefn
from responsefn import (
    AIMD,
    BBR,
    CUBIC,
    DCQCN,
    HTCP,
    TFRC,
    TIMELY,
    Mathis,
    Reno,
    WindowRule,
    catalogue,
    friendliness,
    invert,
)
from responsefn.responses.cycles import solve
from responsefn.responses.dynamics import Cycle, Event
from responsefn.responses.equations import domain_of, equation_of, formula_of, table_of

# Dynamics, labels and references of responses.

# What responses need of a rule: every rule of the catalogue has it, and so may any other class.


@pytest.mark.parametrize("rule", catalogue("rule").entries, ids=repr)
def test_events_bring_a_rule_from_state_to_state(rule):
    state = rule.start(0.1, 1000.0)._replace(cwnd=50.0, ssthresh=2.0)
    for event in (rule.on_ack, rule.on_loss, rule.on_timeout):
        after = event(state, rule.params, Event(time=1.0, rtt=0.12))
        assert type(after) is rule.State
        assert 1.0 <= after.cwnd <= 60.0


def test_a_cycle_is_one_shape_and_its_rate_is_packets_over_duration():
    p = np.array([[1e-4], [1e-3]])
    cycle = solve(Reno(), p, np.array([0.05, 0.1, 0.2]), None)
    assert isinstance(cycle, Cycle)
    assert cycle.rate.shape == cycle.period.shape == (2, 3)
    np.testing.assert_allclose(cycle.rate * cycle.duration * p, 1.0, rtol=1e-12)


# Labels in, labels out.

ASKS = [
    Reno().rate,
    CUBIC().elasticity,
    CUBIC().mean_window,
    CUBIC().peak_window,
    lambda p, rtt: friendliness(CUBIC(), p, rtt),
    lambda p, rtt: invert(TFRC(), TFRC().rate(p, rtt), rtt),
]


@pytest.mark.parametrize("ask", ASKS, ids=range(len(ASKS)))
def test_labels_survive(ask):
    values, rtt = np.array([1e-4, 1e-3, 1e-2]), 0.1
    bare = np.asarray(ask(values, rtt))
    series = pd.Series(values, index=["a", "b", "c"])
    pd.testing.assert_series_equal(ask(series, rtt), pd.Series(bare, index=series.index))
    frame = pd.DataFrame({"x": values, "y": values})
    assert list(ask(frame, rtt).columns) == ["x", "y"]
    masked = ask(np.ma.array(values, mask=[0, 1, 0]), rtt)
    np.testing.assert_array_equal(masked.mask, [False, True, False])
    np.testing.assert_array_equal(masked.compressed(), bare[[0, 2]])
    array = xr.DataArray(values, dims="p", coords={"p": values})
    trips = xr.DataArray([0.05, 0.1], dims="rtt")
    found = ask(array, trips)
    assert set(found.dims) == {"p", "rtt"}
    np.testing.assert_allclose(found.isel(rtt=1).to_numpy(), bare)


def test_two_different_indices_are_refused():
    p = pd.Series([0.01, 0.02], index=[0, 1])
    with pytest.raises(ValueError, match="must have the same labels"):
        Reno().rate(p, pd.Series([0.1, 0.2], index=[1, 2]))


# Every entry has a source.


@pytest.mark.parametrize("entry", responsefn.catalogue().entries, ids=repr)
def test_every_entry_has_a_source(entry):
    text = entry.cite()
    assert "source: " in text
    if "RFC" in text or "SIGCOMM" in text or "INFOCOM" in text:
        assert "doi:10." in text


# Equations as text and as tables, for entries with and without a closed form.


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
