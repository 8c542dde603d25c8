"""Repairs of senders at the rate of a rule: what is lost is sent again, and flows end."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dfcmodel import (
    FIFO,
    Flow,
    Link,
    Packets,
    RampMarking,
    Scenario,
    SelectiveRepair,
    simulate,
)
from responsefn import DCQCN, TIMELY, NewReno, RateRule
from tests.oracles.engines import plan_scenario, run_engine, run_reference

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


LOSSY = 30_000


@pytest.mark.parametrize("p", [1e-3, 1e-2])
def test_selective_repair_sends_only_what_was_lost(p: float) -> None:
    """1 / (1 - p) transmissions per packet, within four standard errors of the number of losses.

    With go-back-N each loss event that an ACK tells of costs what was sent in a round trip (the span of
    `test_a_lost_packet_costs_what_was_sent_in_a_round_trip`), but for the losses among it: a tenth covers these.
    """
    links = [Link("a", "s", RATE, 10e-6, 50), Link("s", "b", RATE, 10e-6, 50)]
    flow = Flow("a", ("a", "s", "b"), DCQCN(), size=LOSSY, host="nic")
    scenario = Scenario("lossy", links, [flow], duration=0.1, min_rto=2e-4)
    runs = [
        simulate(scenario, Packets(seed=1, loss={"s->b": p}, recovery=kind))
        for kind in ("selective", "go-back-n")
    ]
    sent = [float(run.emitted[0]) / LOSSY for run in runs]
    assert sent[0] == pytest.approx(1.0 / (1.0 - p), abs=4.0 * math.sqrt(p / LOSSY))
    assert runs[0].emitted[0] == LOSSY + runs[0].lost.sum()
    span = 1.0 + 2.0 + 4 * 10e-6 * RATE + 2 * 64.0 / 1500.0
    assert (sent[1] - 1.0) * LOSSY == pytest.approx(runs[1].loss_events[0] * (span + 1.0), rel=0.1)
    assert [run.recoveries for run in runs] == [("selective",), ("go-back-n",)]
    assert [float(run.delivered[0, -1]) for run in runs] == [LOSSY, LOSSY]


@pytest.mark.parametrize("rule", [DCQCN(), TIMELY()], ids=["DCQCN", "TIMELY"])
def test_an_incast_into_a_small_buffer_ends_earlier_than_with_go_back_n(rule: RateRule) -> None:
    """32 senders of 2 MB at 100 Gb/s, 400 kB, with IRN's bound and timeout; the link alone needs 5.12 ms."""
    rate = 100e9 / 8000.0
    links = [Link(f"s{k}", "x", rate, 1e-6, 100) for k in range(32)]
    links.append(Link("x", "d", rate, 1e-6, 400, RampMarking(50, 200, 0.1)))
    flows = [
        Flow(f"{k}", (f"s{k}", "x", "d"), rule, size=2000, host="nic", max_window=60.0)
        for k in range(32)
    ]
    scenario = Scenario("incast", links, flows, duration=0.02, packet_size=1000.0, min_rto=3.2e-4)
    ends = [
        simulate(scenario, Packets(seed=1, recovery=kind)).finished.max()
        for kind in ("selective", "go-back-n")
    ]
    assert 64_000 / rate < ends[0] < ends[1]


def test_packets_in_flight_are_bounded() -> None:
    """One at a time: a packet and its ACK of 64 bytes take a round trip, by which the next one waits."""
    scenario, _ = one_flow()
    flow = Flow("a", ("a", "s", "b"), DCQCN(), size=100, host="nic", max_window=1.0)
    alone = Scenario("one by one", scenario.links, [flow], duration=0.05)
    run = simulate(alone, Packets(seed=1, recovery="selective"))
    there, back = 2.0 / RATE + 2 * 10e-6, 2 * 64.0 / 1500.0 / RATE + 2 * 10e-6
    assert run.finished[0] == pytest.approx(100 * there + 99 * back, rel=1e-9)


@pytest.mark.parametrize(("few", "timeout"), [(3, 4e-4), (0, 1e-3)])
def test_few_packets_in_flight_have_the_short_timeout(few: int, timeout: float) -> None:
    links = [Link("a", "s", RATE, 10e-6, 50), Link("s", "b", RATE, 10e-6, 50)]
    flow = Flow("a", ("a", "s", "b"), DCQCN(), size=1, host="nic")
    repair = SelectiveRepair(rto_low=4e-4, rto_high=1e-3, few=few)
    method = Packets(seed=3, loss={"s->b": 0.9}, recovery={"a": repair})
    run = simulate(Scenario("single", links, [flow], duration=1.0), method)
    assert run.timeouts[0] == run.lost.sum() > 0
    there = 2.0 / RATE + 2 * 10e-6
    assert run.finished[0] == pytest.approx(run.timeouts[0] * timeout + there, rel=1e-9)


def test_repairs_out_of_range_are_named() -> None:
    with pytest.raises(ValueError, match=r"^rto_low = 0: must be"):
        SelectiveRepair(rto_low=0.0)
    with pytest.raises(ValueError, match=r"^few = -1: must be"):
        SelectiveRepair(few=-1)
    with pytest.raises(ValueError, match=r"^rto_low = 2: must be at most rto_high = 1"):
        SelectiveRepair(rto_low=2.0, rto_high=1.0)
    scenario, _ = one_flow()
    with pytest.raises(ValueError, match=r"^rto_low = 0.1: must be at most rto_high = 0.001"):
        simulate(scenario, Packets(recovery=SelectiveRepair(rto_low=0.1)))
    window = Flow("w", ("a", "s", "b"), NewReno())
    mixed = Scenario("mixed", scenario.links, [window], duration=0.05)
    with pytest.raises(ValueError, match="recovery of flow 'w' with NewReno"):
        simulate(mixed, Packets(recovery={"w": SelectiveRepair()}))
