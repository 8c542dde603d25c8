"""Repairs of rate rules and headers: the compiled engine and the oracle, bit for bit; what they cost and refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from responsefn import DCQCN, TIMELY, NewReno, RateRule
from tests.oracles.engines import plan_scenario, run_engine
from tests.oracles.packets.receivers import Packet
from tests.oracles.packets.repairs import Selective
from tests.oracles.packets.simulation import Simulation, run_reference

# Selective repair in the reference engine: equal to the compiled one, and each part of it alone.

RATE = 1e6


def incast(seed: int) -> dfc.Scenario:
    """Return 2 to 4 senders into a link with a small buffer, at rates of rules and one with a window."""
    rng = np.random.default_rng([78, seed])
    n = int(rng.integers(2, 5))
    links = [dfc.Link(f"s{k}", "x", RATE, 2e-6 * rng.uniform(0.5, 2.0), 500) for k in range(n)]
    rule = dfc.RampMarking(2, 10, 0.1)
    links += [dfc.Link("x", "d", RATE * rng.uniform(0.5, 1.5), 3e-6, int(rng.integers(3, 40)), rule)]
    sources = [DCQCN(), TIMELY(), NewReno()]
    flows = [
        dfc.Flow(
            str(k),
            (f"s{k}", "x", "d"),
            sources[k % 3],
            max_window=float(rng.integers(1, 100)),
            start=float(rng.uniform(0.0, 1e-5)),
            size=float(rng.integers(20, 250)),
            host=["nic", "direct", "unshaped"][rng.integers(3)],
            stop=float(rng.choice([np.inf, 1e-4])),
        )
        for k in range(n)
    ]
    return dfc.Scenario("incast", links, flows, duration=0.1, min_rto=float(10 ** rng.uniform(-4, -3)))


@pytest.mark.parametrize("selective", [True, False])
@pytest.mark.parametrize("loss", [None, 0.02, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_both_engines_agree(seed: int, loss: float | None, selective: bool) -> None:
    """Of selective repair, and of go-back-N."""
    scenario = incast(seed)
    repair = dfc.SelectiveRepair(rto_low=scenario.min_rto / (1 + seed), few=4 * seed, reordering=3 * (seed % 3))
    losses = None if loss is None else {"x->d": loss}
    method = dfc.Packets(seed=seed, loss=losses, recovery=repair if selective else None)
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=0.01)
    found, wanted = run_engine(plan), run_reference(plan)
    for name in ("finished", "timeouts", "loss_events", "total", "peak", "emitted", "delivered"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    np.testing.assert_array_equal(found.lost[:-1], wanted.lost[:-1])
    rated = [f for f, flow in enumerate(scenario.flows) if not isinstance(flow.source, NewReno)]
    assert np.isfinite(found.finished[rated]).all()
    assert (found.total <= [flow.size for flow in scenario.flows]).all()


def sender() -> Selective:
    """Return a sender that has sent ten packets."""
    links = [dfc.Link("a", "b", RATE, 1e-5, 50)]
    scenario = dfc.Scenario("one", links, [dfc.Flow("a", ("a", "b"), DCQCN())], duration=1.0)
    plan = plan_scenario(scenario, dfc.Packets(recovery=dfc.SelectiveRepair(rto_low=0.01)), duration=1.0, sample=0.1)
    one = Simulation(plan).senders[0]
    assert isinstance(one, Selective)
    one.sent = one.most = 10
    one.simulation = SimpleNamespace(now=0.0, plan=plan, wake=lambda *_: None)  # no events are due
    return one


def test_what_is_missing_before_a_packet_is_sent_again_once() -> None:
    one = sender()
    one.acknowledge(Packet(0, 1, 0.0, is_ack=True, sack=5))
    assert [one.take_next() for _ in range(4)] == [2, 3, 4, 10]
    one.acknowledge(Packet(0, 1, 0.0, is_ack=True, sack=7))
    assert [one.take_next() for _ in range(2)] == [6, 11]
    assert (one.loss_events, one.acked) == (1, 2)


def test_the_receiver_delivers_in_order_and_names_what_came_out_of_order() -> None:
    one = sender()
    found = [one.take(Packet(0, number, 0.0)) for number in (0, 2, 3, 2, 1)]
    assert [came for came, _ in found] == [1, 0, 0, 0, 3]
    assert [told["sack"] for _, told in found] == [-1, 2, 3, 2, -1]
    assert [told["number"] for _, told in found] == [0, 0, 0, 0, 3]


def test_a_timeout_repairs_what_is_missing_below_the_last_packet_that_came() -> None:
    one = sender()
    one.acknowledge(Packet(0, 1, 0.0, is_ack=True, sack=4))
    assert [one.take_next() for _ in range(2)] == [2, 3]
    one.simulation.now = 0.2
    one.expire()
    assert sorted(one.again) == [2, 3]
    one.acknowledge(Packet(0, 4, 0.0, is_ack=True))
    one.simulation.now = 1.0
    one.expire()
    assert sorted(one.again) == [5, 6, 7, 8, 9]
    assert one.timeouts == 2


# Headers without payload at receivers: agents see them, and selective repair sends the packet again at once.


@dataclass(frozen=True)
class Asking(dfc.ReceiverAgent):
    """Ask for each packet of which the header alone has come; a credit for whatever comes."""

    unsolicited: float = 8.0

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Answer a packet, or a header."""
        if e.trimmed == 1.0:
            return s._replace(nack=e.number, credits=1.0)
        return s._replace(ack=1.0, credits=1.0)


def incast_of_trimmed_headers(rule: RateRule, receiver: dfc.ReceiverAgent | None, hosts: int = 8) -> dfc.Scenario:
    links = [dfc.Link(f"h{n}", "switch", 1e6, 1e-6, 1000) for n in range(hosts)]
    links.append(dfc.Link("switch", "rack", 1e6, 1e-6, 500, dfc.Trimming()))
    flows = [
        dfc.Flow(
            str(n), (f"h{n}", "switch", "rack"), rule, size=50, host="nic", max_window=60,
            receiver=receiver,
        )
        for n in range(hosts)
    ]  # fmt: skip
    return dfc.Scenario("incast", links, flows, duration=0.02, packet_size=9000.0, min_rto=10e-3)


@pytest.mark.parametrize(("rule", "receiver"), [(DCQCN(), None), (dfc.Credited(), Asking())])
def test_each_packet_that_was_cut_is_sent_again_once_and_no_timer_expires(
    rule: RateRule, receiver: dfc.ReceiverAgent | None
) -> None:
    run = dfc.simulate(
        incast_of_trimmed_headers(rule, receiver),
        dfc.Packets(seed=1, recovery="selective"),
        sample=1e-3,
    )
    assert set(run.drops().cause.values.tolist()) == {"trimmed"}
    assert run.timeouts.sum() == 0
    assert run.emitted is not None
    assert run.emitted.sum() == 8 * 50 + run.lost.sum()
    assert np.isfinite(run.finished).all()


@pytest.mark.parametrize("recovery", ["selective", "go-back-n"])
@pytest.mark.parametrize(("rule", "receiver"), [(DCQCN(), None), (dfc.Credited(), Asking())])
def test_both_engines_agree_of_trimmed_headers(
    rule: RateRule, receiver: dfc.ReceiverAgent | None, recovery: str
) -> None:
    # with random losses as well, so that a header is not the only sign of one
    method = dfc.Packets(seed=3, recovery=recovery, loss={"switch->rack": 0.03})
    scenario = incast_of_trimmed_headers(rule, receiver, hosts=4)
    plans = (plan_scenario(scenario, method, duration=4e-3, sample=4e-4) for _ in range(2))
    found, wanted = run_engine(next(plans)), run_reference(next(plans))
    run = dfc.simulate(scenario, method, duration=4e-3, sample=4e-4)
    assert {"trimmed"} < set(run.drops().cause.values.tolist())
    for name in ("finished", "timeouts", "loss_events", "causes", "inside", "emitted"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    for name in ("delivered", "lost"):
        own, other = getattr(found, name)[:-1], getattr(wanted, name)[:-1]
        np.testing.assert_array_equal(own, other, err_msg=name)
    assert (found.imbalance == 0.0).all()


# Repairs of senders at the rate of a rule: what is lost is sent again, and flows end.


def one_flow(**given: object) -> tuple[dfc.Scenario, dfc.Packets]:
    """Return a flow of 1000 packets at the rate of its link, of which one in a thousand is lost."""
    links = [dfc.Link("a", "s", RATE, 10e-6, 50), dfc.Link("s", "b", RATE, 10e-6, 50)]
    flow = dfc.Flow("a", ("a", "s", "b"), DCQCN(), size=1000, host="nic")
    scenario = dfc.Scenario("one", links, [flow], duration=0.05, min_rto=1e-3)
    return scenario, dfc.Packets(seed=1, loss={"s->b": 1e-3}, **given)  # type: ignore[arg-type]


def test_a_lost_packet_costs_what_was_sent_in_a_round_trip() -> None:
    run = dfc.simulate(*one_flow())
    assert run.lost.sum() == run.loss_events[0] == 1
    assert run.timeouts[0] == 0
    # from the begin of the lost packet to the ACK of the one after it, in packet times: two transmissions and four
    # delays of that one, which begins a packet later, and two transmissions of 64 bytes
    span = 1.0 + 2.0 + 4 * 10e-6 * RATE + 2 * 64.0 / 1500.0
    assert run.carried[0, 0] == 1000 + math.floor(span) + 1


def test_without_repair_what_is_lost_is_missing() -> None:
    scenario, method = one_flow(recovery="none")
    run = dfc.simulate(scenario, method)
    assert run.delivered[0, -1] == 999
    assert np.isnan(run.finished[0])
    assert run.recoveries == ("none",)
    assert dfc.simulate(*one_flow()).recoveries == ("go-back-n",)


def test_a_recovery_of_windows_is_not_for_rates() -> None:
    scenario, _ = one_flow()
    with pytest.raises(ValueError, match=r"recovery of flow 'a' with DCQCN.* = 'sack': must be one of 'go-back-n'"):
        dfc.simulate(scenario, dfc.Packets(recovery={"a": "sack"}))
    dfc.simulate(
        scenario, dfc.Packets(recovery="sack"), duration=1e-4
    )  # for the flows with windows, of which there are none


LOSSY = 30_000


@pytest.mark.parametrize("p", [1e-3, 1e-2])
def test_selective_repair_sends_only_what_was_lost(p: float) -> None:
    """1 / (1 - p) transmissions per packet, within four standard errors of the number of losses.

    With go-back-N each loss event that an ACK tells of costs what was sent in a round trip (the span of
    `test_a_lost_packet_costs_what_was_sent_in_a_round_trip`), but for the losses among it: a tenth covers these.
    """
    links = [dfc.Link("a", "s", RATE, 10e-6, 50), dfc.Link("s", "b", RATE, 10e-6, 50)]
    flow = dfc.Flow("a", ("a", "s", "b"), DCQCN(), size=LOSSY, host="nic")
    scenario = dfc.Scenario("lossy", links, [flow], duration=0.1, min_rto=2e-4)
    runs = [
        dfc.simulate(scenario, dfc.Packets(seed=1, loss={"s->b": p}, recovery=kind))
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
    links = [dfc.Link(f"s{k}", "x", rate, 1e-6, 100) for k in range(32)]
    links.append(dfc.Link("x", "d", rate, 1e-6, 400, dfc.RampMarking(50, 200, 0.1)))
    flows = [dfc.Flow(f"{k}", (f"s{k}", "x", "d"), rule, size=2000, host="nic", max_window=60.0) for k in range(32)]
    scenario = dfc.Scenario("incast", links, flows, duration=0.02, packet_size=1000.0, min_rto=3.2e-4)
    ends = [
        dfc.simulate(scenario, dfc.Packets(seed=1, recovery=kind)).finished.max() for kind in ("selective", "go-back-n")
    ]
    assert 64_000 / rate < ends[0] < ends[1]


def test_packets_in_flight_are_bounded() -> None:
    """One at a time: a packet and its ACK of 64 bytes take a round trip, by which the next one waits."""
    scenario, _ = one_flow()
    flow = dfc.Flow("a", ("a", "s", "b"), DCQCN(), size=100, host="nic", max_window=1.0)
    alone = dfc.Scenario("one by one", scenario.links, [flow], duration=0.05)
    run = dfc.simulate(alone, dfc.Packets(seed=1, recovery="selective"))
    there, back = 2.0 / RATE + 2 * 10e-6, 2 * 64.0 / 1500.0 / RATE + 2 * 10e-6
    assert run.finished[0] == pytest.approx(100 * there + 99 * back, rel=1e-9)


@pytest.mark.parametrize(("few", "timeout"), [(3, 4e-4), (0, 1e-3)])
def test_few_packets_in_flight_have_the_short_timeout(few: int, timeout: float) -> None:
    links = [dfc.Link("a", "s", RATE, 10e-6, 50), dfc.Link("s", "b", RATE, 10e-6, 50)]
    flow = dfc.Flow("a", ("a", "s", "b"), DCQCN(), size=1, host="nic")
    repair = dfc.SelectiveRepair(rto_low=4e-4, rto_high=1e-3, few=few)
    method = dfc.Packets(seed=3, loss={"s->b": 0.9}, recovery={"a": repair})
    run = dfc.simulate(dfc.Scenario("single", links, [flow], duration=1.0), method)
    assert run.timeouts[0] == run.lost.sum() > 0
    there = 2.0 / RATE + 2 * 10e-6
    assert run.finished[0] == pytest.approx(run.timeouts[0] * timeout + there, rel=1e-9)


def test_repairs_out_of_range_are_named() -> None:
    with pytest.raises(ValueError, match=r"^rto_low = 0: must be"):
        dfc.SelectiveRepair(rto_low=0.0)
    with pytest.raises(ValueError, match=r"^few = -1: must be"):
        dfc.SelectiveRepair(few=-1)
    with pytest.raises(ValueError, match=r"^rto_low = 2: must be at most rto_high = 1"):
        dfc.SelectiveRepair(rto_low=2.0, rto_high=1.0)
    scenario, _ = one_flow()
    with pytest.raises(ValueError, match=r"^rto_low = 0.1: must be at most rto_high = 0.001"):
        dfc.simulate(scenario, dfc.Packets(recovery=dfc.SelectiveRepair(rto_low=0.1)))
    window = dfc.Flow("w", ("a", "s", "b"), NewReno())
    mixed = dfc.Scenario("mixed", scenario.links, [window], duration=0.05)
    with pytest.raises(ValueError, match="recovery of flow 'w' with NewReno"):
        dfc.simulate(mixed, dfc.Packets(recovery={"w": dfc.SelectiveRepair()}))
