"""Watchdogs of ports (rows of `layouts.watchdogs`): the compiled engine and the oracle declare the same storms and drop the same packets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import CBR, PFC, RED, Flow, Link, Packets, Pause, Scenario
from dfcmodel.lossless import Watchdog, watch_packets
from responsefn import NewReno
from tests.oracles.engines import plain_engines

NODES = [("a", "s"), ("b", "s"), ("s", "t"), ("t", "x"), ("t", "y")]
BACK = [(to, of) for of, to in NODES]


def tree(rule: Any, rng: np.random.Generator) -> Scenario:
    """Return two switches with hosts at both sides, and flows of two classes over them."""
    links = [Link(*way, 2e3, 1e-3, 300.0, rule) for way in (*NODES, *BACK)]
    flows = [
        Flow(
            f"{n}",
            (host, "s", "t", "xy"[n % 2]),
            NewReno() if n % 3 == 0 else CBR(float(rng.uniform(300.0, 1500.0))),
            64.0,
            float(rng.uniform(0.0, 0.02)),
            priority=3 * (n % 2),
            host="unshaped",
        )
        for n, host in enumerate("abab")
    ]
    return Scenario("tree", links, flows, duration=0.6)


RULES = {
    "pause": Pause(high=20, low=10),
    "quanta": Pause(high=20, low=10, quanta=40),
    "pause red": Pause(high=20, low=10, manager=RED(low=4.0, high=12.0, weight=0.05)),
    "pfc": PFC((0, 3), xoff=8, xon=4, headroom=20),
    "pfc of one class": PFC((3,), xoff=8, xon=4, headroom=20),
    "pfc of a switch": PFC((0, 3), xoff=8, xon=4, headroom=20, counts="switch"),
    "acks in class": PFC((0, 3), xoff=8, xon=4, headroom=20, acks="class"),
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", RULES)
def test_both_engines_declare_the_same_storms(name: str, seed: int) -> None:
    """Faults that end at two ports, random polls, losses at random; every record is equal."""
    rng = np.random.default_rng(seed)
    scenario = tree(RULES[name], rng)
    begin = np.sort(rng.uniform(0.05, 0.5, 6)).reshape(3, 2)
    port = "t->y" if name == "pfc of one class" else "t->x"  # only flows to y are in class 3
    storms = {port: begin.tolist(), "s->t": [(0.2, 0.2 + float(rng.uniform(0.03, 0.1)))]}
    dog = Watchdog(*(float(t) for t in rng.uniform(2e-3, 8e-3) * np.array([1.0, 2.0, 3.0])), 0.6)
    given = {"storms": storms, "method": Packets(seed=seed, loss={"s->t": 0.01})}
    ours = watch_packets(scenario, dog, **given)
    with plain_engines():
        theirs = watch_packets(scenario, dog, **given)
    assert len(ours.alarms) > 1
    assert sum(alarm.dropped for alarm in ours.alarms) > 10
    np.testing.assert_equal([vars(a) for a in ours.alarms], [vars(a) for a in theirs.alarms])
    assert ours.missed == theirs.missed
    for field in ("delivered", "lost", "queued", "peak_queue", "dropped", "inside", "remaining"):
        np.testing.assert_array_equal(getattr(ours.run, field), getattr(theirs.run, field), field)
    assert ours.run.imbalance.max() == 0.0


@pytest.mark.parametrize(("acks", "lost"), [("control", False), ("class", True)])
def test_acks_of_the_control_class_pass_a_watchdog(acks: str, lost: bool) -> None:
    """It drops what is paused: the class of the data, and ACKs where they are in the class of their flow."""
    scenario = tree(replace(RULES["pfc"], acks=acks), np.random.default_rng(3))
    back = Flow("back", ("x", "t", "s", "a"), CBR(300.0), host="unshaped")
    scenario = replace(scenario, flows=(*scenario.flows, back))
    storms = {"s->a": [(0.1, 0.3)]}
    seen = watch_packets(scenario, Watchdog(5e-3, 1e-2, 2e-2), storms=storms, links="t->s")
    assert [alarm.priority for alarm in seen.alarms] == [0]
    own = seen.run.dropped[seen.run.dropped["ack"] == 1]
    assert (own["packets"].sum() > 0) == lost
    assert seen.alarms[0].dropped > 30
