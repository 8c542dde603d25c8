"""Congestion notifications in results, beside those that a receiver of DCQCN sends for the marks of a trace."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dfcmodel as dfc
from responsefn import DCQCN, FixedRate

INTERVAL = DCQCN().params.notification


def star(remembers: int = 1, **options: object) -> dfc.Scenario:
    """Return two senders with DCQCN and one at a constant rate through a link that marks."""
    ends = [*((each, "s") for each in "abc"), ("s", "d")]
    marks = dfc.RampMarking(5.0, 20.0, 0.2)
    rule = DCQCN(remembers=remembers, additive=1e5)
    links = [dfc.Link(*each, 2e6, 1e-6, 1000, marks if each[1] == "d" else dfc.FIFO()) for each in ends]
    rules = {"a": rule, "b": rule, "c": FixedRate(1e5)}
    flows = [dfc.Flow(each, (each, "s", "d"), rule, host="nic") for each, rule in rules.items()]
    return dfc.Scenario("star", links, flows, duration=20e-3, **options)


def notifications_for(times: np.ndarray, remembers: int) -> int:
    """Return how many notifications a receiver sends that sees marks at these times: at most one per interval.

    One that remembers sends what a mark within the interval asks for at its end.
    """
    count, last, waits = 0, -math.inf, False
    for time in times:
        if waits and time >= last + INTERVAL:
            count, last, waits = count + 1, last + INTERVAL, False
        if time >= last + INTERVAL:
            count, last = count + 1, time
        else:
            waits = bool(remembers)
    return count + waits


@pytest.mark.parametrize("remembers", [0, 1])
def test_as_many_as_the_receivers_rule_sends_for_the_marks(remembers: int) -> None:
    trace = dfc.trace_packets(star(remembers), ["s->a", "s->b"], dfc.Packets(seed=1))
    events, found = trace.events, trace.run.notifications
    for f in range(2):
        own = events[(events["flow"] == f) & events["marked"] & (events["received"] < 20e-3)]
        marked = own["received"]
        expected = notifications_for(marked, remembers)
        if remembers:  # one that waits comes with the next event of the sender
            assert 0.95 * expected <= found[f] <= expected
        else:
            assert found[f] == expected
        assert found[f] > 30
    assert found[2] == 0


def test_results_have_them() -> None:
    run = dfc.simulate(star(), dfc.Packets(seed=1), sample=20e-3)
    own = run.to_xarray()["notifications"]
    assert own.dims == ("flow",)
    assert own.values.tolist() == run.notifications.tolist()
    least, most = sorted(run.notifications[:2].tolist())
    row = f"{run.notifications.sum()}, to 2 flows, {least} to {most} each"
    assert run.summary()["congestion notifications"] == row
    axes = run.plot_notifications()
    assert sorted(bar.get_height() for bar in axes.patches) == [0, least, most]
    assert str(run.notifications.sum()) in axes.get_title()
    many = dfc.ensemble(star(), runs=2, level="packets", jitter=1e-6)
    assert many.to_xarray()["notifications"].sizes == {"run": 2, "flow": 3}


def test_the_fluid_counts_them_where_it_draws_marks() -> None:
    run = dfc.simulate(star(), dfc.Fluid(), sample=20e-3)
    ratio = run.notifications[:2].sum() / dfc.simulate(star(), dfc.Packets(seed=1)).notifications[:2].sum()
    assert 0.7 < ratio < 1.4
    assert dfc.simulate(star(), dfc.Fluid(marks="expected")).notifications is None


def test_there_are_none_where_no_rule_counts_them() -> None:
    scenario = star()
    flows = [dfc.Flow(flow.name, flow.path, FixedRate(1e5), host="nic") for flow in scenario.flows]
    run = dfc.simulate(dfc.Scenario("blind", scenario.links, flows, duration=1e-3), dfc.Packets(seed=1))
    assert run.notifications is None
    assert "notifications" not in run.to_xarray()
    assert "congestion notifications" not in run.summary()
    with pytest.raises(ValueError, match="notifications of 'blind': no flow has a rule that"):
        run.plot_notifications()
