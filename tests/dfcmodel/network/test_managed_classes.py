"""Queue managers of one class under PFC: ECN for the lossless class alone, as RoCE fabrics have it; both levels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    PFC,
    PIE,
    RED,
    CoDel,
    Flow,
    Fluid,
    Link,
    Packets,
    Scenario,
    StepMarking,
    load_scenario,
    save_scenario,
    simulate,
)
from responsefn import DCTCP, NewReno

RULE = PFC(classes=(3,), xoff=60.0, xon=30.0, manager=StepMarking(20.0), managed=3)
ROCE, TCP = DCTCP(), NewReno()
METHODS = pytest.mark.parametrize("method", [Fluid(), Packets(seed=1)], ids=["fluid", "packets"])


def fabric(rule: PFC = RULE, storage=ROCE, web=TCP, *, senders: int = 2) -> Scenario:
    """Return senders of class 3 and one of class 0 over a switch to one host."""
    links = [Link(f"h{n}", "sw", 1e4, 5e-5, 2e3, rule) for n in range(senders + 1)]
    links.append(Link("sw", "x", 1e4, 5e-5, 2e3, rule))
    flows = [
        Flow(f"{n}", (f"h{n}", "sw", "x"), storage, 400.0, priority=3, host="unshaped")
        for n in range(senders)
    ]
    flows.append(Flow("web", (f"h{senders}", "sw", "x"), web, 400.0, host="unshaped"))
    return Scenario("fabric", links, flows, duration=1.0, min_rto=0.01)


def class_queue(run, late: float = 0.5) -> float:
    """Mean queue of the switch after a time."""
    at = list(run.scenario.senders).index("sw")
    return float(run.queued[at, run.time > late].mean())


@METHODS
def test_marks_keep_the_lossless_class_below_the_pause(method) -> None:
    """DCTCP settles at the threshold of the marks, and nobody is paused; without marks pauses hold it at xoff."""
    quiet = CBR(100.0)
    marked = simulate(fabric(web=quiet), method)
    assert marked.lost.sum() == 0.0
    table = marked.pauses()
    assert not (table["begin"].values > 0.3).any()
    assert 10.0 < class_queue(marked) < 45.0
    bare = simulate(fabric(replace(RULE, manager=None, managed=None), web=quiet), method)
    assert class_queue(bare) > class_queue(marked) + 20.0
    assert len(bare.pauses()["begin"]) > 10


@METHODS
def test_the_manager_sees_only_its_class(method) -> None:
    """Many packets of class 0 wait; class 3 alone is short, so that none of its packets is marked or dropped."""
    full = fabric(storage=CBR(1e3), web=CBR(2e4), rule=replace(RULE, manager=RED(5.0, 15.0)))
    run = simulate(replace(full, duration=0.3), method)
    assert run.lost[:2].sum() == 0.0
    web = run.lost[2].sum()
    every = replace(RULE, manager=RED(5.0, 15.0), managed=None)
    links = tuple(replace(link, discipline=every) for link in full.links)
    both = simulate(replace(full, links=links, duration=0.3), method)
    assert both.lost[:2].sum() > 0.0  # RED sees all that waits, and drops of all
    assert both.lost[2].sum() > web


@METHODS
def test_a_class_that_never_comes_has_a_manager_that_never_acts(method) -> None:
    plain = simulate(fabric(replace(RULE, manager=None, managed=None)), method, duration=0.1)
    other = simulate(fabric(replace(RULE, managed=5)), method, duration=0.1)
    np.testing.assert_array_equal(plain.delivered, other.delivered)


def test_what_is_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="managed = 8"):
        PFC(manager=StepMarking(), managed=8)
    with pytest.raises(ValueError, match="managed = 3: must be None where manager is None"):
        PFC(managed=3)
    for several in ({3: StepMarking(20.0), 0: RED()}, (StepMarking(20.0), RED())):
        with pytest.raises(
            TypeError, match="one queue manager: a link has one, of the class managed="
        ):
            PFC(manager=several)
    for manager in (CoDel(), PIE()):
        scenario = fabric(replace(RULE, manager=manager))
        with pytest.raises(ValueError, match="managed of link h0->sw = 3"):
            simulate(scenario, Packets())
        assert simulate(scenario, duration=0.05, level="fluid").status.ok
    path = tmp_path / "fabric.toml"
    save_scenario(fabric(), path)
    assert load_scenario(path) == fabric()
