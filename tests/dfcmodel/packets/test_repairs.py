"""Go-back-N of senders at the rate of a rule: what is lost is sent again, and flows end."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dfcmodel import FIFO, Flow, Link, Packets, RampMarking, Scenario, simulate
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.reference import run_reference
from dfcmodel.packets.simulation import plan_scenario
from responsefn import DCQCN, TIMELY, NewReno

RATE = 1e6


def incast(seed: int) -> Scenario:
    """Return 2 to 5 senders of any kind into a link with a small buffer."""
    rng = np.random.default_rng([77, seed])
    n, rule = int(rng.integers(2, 6)), RampMarking(2, 10, 0.1) if rng.integers(2) else FIFO()
    links = [Link(f"s{k}", "x", RATE, 2e-6 * rng.uniform(0.5, 2.0), 500) for k in range(n)]
    links += [Link("x", "d", RATE * rng.uniform(0.5, 1.5), 3e-6, int(rng.integers(3, 40)), rule)]
    flows = [
        Flow(
            str(k),
            (f"s{k}", "x", "d"),
            [DCQCN(), TIMELY(), NewReno()][rng.integers(3)],
            max_window=64.0,
            start=float(rng.uniform(0.0, 1e-5)),
            size=float(rng.integers(50, 400)),
            host=[None, "nic", "unshaped"][rng.integers(3)],
        )
        for k in range(n)
    ]
    least = float(10.0 ** rng.uniform(-4.0, -2.7))
    return Scenario("incast", links, flows, duration=0.1, min_rto=least)


@pytest.mark.parametrize("loss", [None, {"x->d": 0.02}], ids=["buffer", "random"])
@pytest.mark.parametrize("seed", range(4))
def test_every_flow_ends_and_both_engines_agree(seed: int, loss: dict[str, float] | None) -> None:
    scenario, method = incast(seed), Packets(seed=seed, loss=loss)
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=0.01)
    found, wanted = run_engine(plan), run_reference(plan)
    assert np.isfinite(found.finished).all()
    for name in ("finished", "timeouts", "loss_events", "total", "peak"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    np.testing.assert_array_equal(found.lost[:-1], wanted.lost[:-1])
    sizes = [flow.size for flow in scenario.flows]
    np.testing.assert_array_equal(found.total, sizes)


def one_flow(**given: object) -> tuple[Scenario, Packets]:
    """Return a flow of 1000 packets at the rate of its link, of which one in a thousand is lost."""
    links = [Link("a", "s", RATE, 10e-6, 50), Link("s", "b", RATE, 10e-6, 50)]
    flow = Flow("a", ("a", "s", "b"), DCQCN(), size=1000, host="nic")
    scenario = Scenario("one", links, [flow], duration=0.05, min_rto=1e-3)
    return scenario, Packets(seed=1, loss={"s->b": 1e-3}, **given)  # type: ignore[arg-type]


def test_a_lost_packet_costs_what_was_sent_in_a_round_trip() -> None:
    run = simulate(*one_flow())
    assert run.lost.sum() == run.loss_events[0] == 1
    assert run.timeouts[0] == 0
    # from the begin of the lost packet to the ACK of the one after it, in packet times: two transmissions and four
    # delays of that one, which begins a packet later, and two transmissions of 64 bytes
    span = 1.0 + 2.0 + 4 * 10e-6 * RATE + 2 * 64.0 / 1500.0
    assert run.carried[0, 0] == 1000 + math.floor(span) + 1


def test_without_repair_what_is_lost_is_missing() -> None:
    scenario, method = one_flow(recovery="none")
    run = simulate(scenario, method)
    assert run.delivered[0, -1] == 999
    assert np.isnan(run.finished[0])
    assert run.recoveries == ("none",)
    assert simulate(*one_flow()).recoveries == ("go-back-n",)


def test_a_recovery_of_windows_is_not_for_rates() -> None:
    scenario, _ = one_flow()
    with pytest.raises(
        ValueError, match=r"recovery of flow 'a' with DCQCN.* = 'sack': must be one of 'go-back-n'"
    ):
        simulate(scenario, Packets(recovery={"a": "sack"}))
    simulate(
        scenario, Packets(recovery="sack"), duration=1e-4
    )  # for the flows with windows, of which there are none
