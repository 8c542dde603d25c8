"""Rules of deliveries: both engines are equal, what a sample tells, what BBR does on a path of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import CBR, RED, DualPI2, Flow, Link, Packets, RampMarking, Scenario, simulate
from dfcmodel.recoveries import RackRecovery
from responsefn import (
    BBR,
    CUBIC,
    DCQCN,
    LEDBAT,
    NSCC,
    TIMELY,
    Allegro,
    BBRv1,
    Copa,
    NewReno,
    Prague,
    Swift,
    Vivace,
)
from tests.dfcmodel.packets.conftest import plan_of
from tests.oracles.engines import equal_records, plan_scenario

RATE, TRIP = 2000.0, 0.04
PATIENT = RackRecovery(reordering=4.0, reordering_seen=1.0)
"""Losses of sprayed flows: packets that are late by four round trips."""


def shared(rules: Any, buffer: float, duration: float, discipline: Any = None, **more: Any) -> Any:
    """Return flows with different rules over one link of 2000 packets/s and 40 ms."""
    link = Link("in", "out", RATE, 2e-3, buffer, *([discipline] if discipline else []))
    links = [link, *(Link(f"s{n}", "in", 10 * RATE, 18e-3, 1e4) for n in range(len(rules)))]
    flows = [Flow(f"{n}", (f"s{n}", "in", "out"), rule, 2000.0, start=0.03 * n, **more) for n, rule in enumerate(rules)]
    return Scenario("shared", tuple(links), tuple(flows), duration=duration)


@pytest.mark.parametrize(
    ("rules", "buffer", "discipline"),
    [
        ((BBR(), NewReno(), CUBIC()), 30.0, None),
        ((BBR(probe_rtt_interval=0.5, probe_rtt_duration=0.05), BBRv1(min_rtt_window=0.7)), 200.0, None),
        ((BBRv1(), NewReno(), LEDBAT(target=0.02)), 20.0, RED(low=5.0, high=15.0, ecn=True)),
        ((Prague(), Prague(virtual_rtt=0.0), CUBIC()), 200.0, DualPI2()),
        ((DCQCN(timer=2e-3, alpha_timer=2e-3, counter=300.0, notification=2e-3), NewReno()), 60.0,
         RampMarking(5.0, 40.0, 0.2)),
        pytest.param((Copa(), Copa(competitive=0), NewReno()), 60.0, None, marks=pytest.mark.slow),
        pytest.param((Swift(base_target=0.05, fs_range=0.05), TIMELY(t_low=0.05, t_high=0.1, min_rtt=0.04,
         delta=10.0)), 60.0, None, marks=pytest.mark.slow),
        ((NSCC(base_rtt=TRIP, bdp=80.0, target_qdelay=0.015), NSCC(base_rtt=TRIP, bdp=80.0, target_qdelay=0.01, qa_gate=0.0)),
         40.0, RampMarking(5.0, 30.0, 0.5)),
        ((Vivace(), Vivace(loss_weight=100.0, smoothed=1), NewReno()), 40.0, None),
        ((Allegro(), Allegro(threshold=0.02, step=0.02, doubling=0), Copa(voted=1)), 40.0, None),
    ],
    ids=["BBR", "ProbeRTT", "v1", "Prague", "DCQCN", "Copa", "Swift", "NSCC", "Vivace", "Allegro"],
)  # fmt: skip
@pytest.mark.parametrize("jitter", [0.0, 5e-4])
def test_senders_run_bit_equal_in_both_engines(rules: Any, buffer: float, discipline: Any, jitter: float) -> None:
    scenario = shared(rules, buffer, 1.5, discipline)
    # go-back-N at the rate of a link that is ten times as fast delivers nothing over a full queue
    kinds = {f"{n}": "none" if isinstance(r, TIMELY) else "sack" for n, r in enumerate(rules)}
    recovery = {name: kind for name, kind in kinds.items() if not isinstance(rules[int(name)], DCQCN)}
    plan = plan_of(scenario, Packets(seed=3, recovery=recovery, loss={"in->out": 2e-3}), jitter=jitter)
    run = equal_records(plan)
    assert (run.imbalance == 0.0).all()
    assert run.total.sum() > 750.0


@pytest.mark.parametrize("recovery", ["tahoe", "reno", "newreno", "sack"])
def test_paced_windows_run_bit_equal_in_both_engines(recovery: str) -> None:
    scenario = shared((NewReno(), CUBIC(), NewReno()), 20.0, 2.0, pacing=True, delayed_acks=True)
    for jitter in (0.0, 5e-4):
        plan = plan_of(scenario, Packets(seed=1, recovery=recovery), jitter=jitter)
        run = equal_records(plan)
        assert run.drops.sum() > 0


def test_pacing_keeps_slow_start_out_of_the_queue() -> None:
    """Up to a window of the product, 80 packets, bursts of slow start queue; paced packets do not."""
    peaks = []
    for pacing in (False, True):
        scenario = shared((NewReno(),), 1000.0, 0.22, pacing=pacing)
        peaks.append(simulate(scenario, method=Packets(seed=1)).peak_queue.max())
    assert peaks[1] < 0.25 * peaks[0]


@pytest.mark.parametrize("rule", [BBR(), BBRv1()])
def test_bbr_alone_fills_a_path_with_a_short_queue(rule: Any) -> None:
    """Rate, at most 3 % lost in ProbeRTT and cycles; queue below what a window of two products has."""
    run = simulate(shared((rule,), 400.0, 30.0), method=Packets(seed=1), sample=0.05)
    late = run.time > 5.0
    assert np.ptp(run.delivered[0, late]) / 24.95 > 0.95 * RATE
    assert np.median(run.queued.max(axis=0)[late]) < 20.0
    assert run.lost[..., late].sum() == 0


def test_bbr_does_not_respond_to_random_loss_and_newreno_does() -> None:
    """1 % of all packets: NewReno has about 1.22 / (RTT sqrt p) packets/s.

    Rounds with losses lower version 3's short-term bounds up to the next probe: it keeps three quarters.
    """
    rates = {}
    for rule in (BBR(), BBRv1(), NewReno()):
        method = Packets(seed=1, recovery="sack", loss={"in->out": 0.01})
        run = simulate(shared((rule,), 400.0, 30.0), method=method, sample=0.05)
        late = run.time > 5.0
        rates[repr(rule)] = np.ptp(run.delivered[0, late]) / 24.95
    assert rates["BBR()"] > 0.75 * RATE
    assert rates["BBRv1()"] > 0.85 * RATE
    assert rates["NewReno()"] == pytest.approx(1.22 / (TRIP * 0.1), rel=0.25)


def test_ledbat_keeps_its_target_alone_and_gives_way_to_newreno() -> None:
    """RFC 6817, 2.1: a queue of ``target``, 30 ms of 2000 packets/s, alone; little beside a loss-based flow."""
    alone = simulate(shared((LEDBAT(target=0.03),), 400.0, 30.0), method=Packets(seed=1), sample=0.05)
    assert alone.queued.max(axis=0)[alone.time > 15.0].mean() == pytest.approx(60.0, rel=0.1)
    both = shared((LEDBAT(target=0.03), NewReno()), 400.0, 60.0)
    run = simulate(both, method=Packets(seed=1, recovery="sack"), sample=0.05)
    got = np.ptp(run.delivered[:, run.time > 10.0], axis=1)
    assert got[0] < 0.1 * got.sum()


@pytest.mark.slow
@pytest.mark.parametrize(("flows", "delta"), [(1, 0.5), (1, 0.1), (4, 0.5)])
def test_copa_keeps_the_queue_that_its_paper_derives(flows: int, delta: float) -> None:
    """Arun and Balakrishnan 2018, Sect. 3: from 0 to 2.5 packets per flow over delta, every five round trips.

    Two packets more for whole ones and for flows that are not in step; the target is 1 / delta each.
    """
    rules = (Copa(delta=delta, competitive=0),) * flows
    run = simulate(shared(rules, 400.0, 30.0), method=Packets(seed=1), sample=0.002)
    late = run.time > 8.0
    queue = run.queued.max(axis=0)[late]
    got = np.ptp(run.delivered[:, late], axis=1)
    assert queue.min() <= 1.0
    assert queue.max() == pytest.approx(2.5 * flows / delta, abs=2.0)
    assert queue.mean() == pytest.approx(1.25 * flows / delta, rel=0.2)
    assert got.sum() > 0.99 * RATE * 22.0
    assert got.min() / got.max() > 0.9


@pytest.mark.slow
def test_copa_competes_with_a_sender_that_fills_the_queue() -> None:
    """Sect. 2.2: without the competitive mode little is left to it; with it a third here."""
    share = []
    for competitive in (0, 1):
        rules = (Copa(competitive=competitive), NewReno())
        run = simulate(shared(rules, 100.0, 30.0), method=Packets(seed=1, recovery="sack"))
        got = np.ptp(run.delivered[:, run.time > 8.0], axis=1)
        share.append(got[0] / got.sum())
    assert share[0] < 0.1
    assert 0.25 < share[1] < 0.75


def test_dcqcn_shares_a_marking_link_without_loss() -> None:
    """Zhu et al. 2015, Sect. 6: two senders at 10 Gb/s and 20 us, from line rate, end up alike.

    The fluid has 88.0 % of the link; 5 % for marks of single packets.
    """
    rate = 10e9 / 12000.0
    links = [Link("in", "out", rate, 5e-6, 4000.0, RampMarking())]
    links += [Link(f"s{n}", "in", rate, 5e-6, 4000.0) for n in range(2)]
    flows = [Flow(f"{n}", (f"s{n}", "in", "out"), DCQCN(), start=1e-3 * n) for n in range(2)]
    scenario = Scenario("DCQCN", tuple(links), tuple(flows), duration=0.2)
    packets = simulate(scenario, method=Packets(seed=1), sample=1e-3)
    fluid = simulate(scenario, sample=1e-3, level="fluid")
    got, expected = (np.ptp(run.delivered[:, run.time > 0.1], axis=1) for run in (packets, fluid))
    assert got.sum() == pytest.approx(expected.sum(), rel=0.05)
    assert got.min() / got.max() > 0.7
    assert packets.lost.sum() == 0


def test_deliveries_need_selective_acknowledgements() -> None:
    scenario = shared((BBR(),), 40.0, 0.1)
    with pytest.raises(ValueError, match="selective"):
        simulate(scenario, method=Packets(recovery="newreno"))
    with pytest.raises(ValueError, match="for packets"):
        simulate(scenario, level="fluid")
    with pytest.raises(ValueError, match="pacing"):
        simulate(
            replace(scenario, flows=(replace(scenario.flows[0], source=NewReno(), pacing=True),)),
            level="fluid",
        )


@pytest.mark.parametrize(("recovery", "jitter"), [(RackRecovery(), 0.0), (PATIENT, 5e-4)])
@pytest.mark.parametrize(
    ("rules", "buffer", "discipline"),
    [
        ((NSCC(base_rtt=TRIP, bdp=80.0, target_qdelay=0.015), NSCC(base_rtt=TRIP, bdp=80.0, target_qdelay=0.01)),
         40.0, RampMarking(5.0, 30.0, 0.5)),
        ((BBR(), Prague(virtual_rtt=0.0)), 30.0, None),
    ],
    ids=["NSCC", "BBR"],
)  # fmt: skip
def test_losses_by_time_of_rules_of_deliveries_are_equal_in_both_engines(
    rules: Any, buffer: float, discipline: Any, recovery: RackRecovery, jitter: float
) -> None:
    scenario = shared(rules, buffer, 0.8, discipline)
    method = Packets(seed=3, recovery=recovery, loss={"in->out": 0.02})
    run = equal_records(plan_of(scenario, method, jitter=jitter))
    assert (run.imbalance == 0.0).all()
    assert run.total.sum() > 200.0
    assert run.lost.sum() > 5.0


def sprayed(size: float = 400.0, **more: Any) -> Scenario:
    """Return two flows over two paths each, one of which others fill: packets overtake each other."""
    links = [Link(a, b, RATE, 5e-3, 400.0) for a, b in ("sa", "sb", "ad", "bd", "rs", "ts", "du", "dv")]
    flows = [
        Flow(f"{n}", (a, "s", "a", "d", b), NSCC(base_rtt=TRIP, bdp=80.0, target_qdelay=TRIP), size=size, host="nic",
             paths=((a, "s", "b", "d", b),), **more)
        for n, (a, b) in enumerate(("ru", "tv"))
    ]  # fmt: skip
    links.append(Link("x", "a", RATE, 1e-3, 400.0))
    flows.append(Flow("beside", ("x", "a", "d"), CBR(0.5 * RATE), size=200.0, host="direct"))
    return Scenario("sprayed", links, flows, duration=2.0, min_rto=0.5)


@pytest.mark.parametrize("loss", [0.0, 0.01])
@pytest.mark.parametrize("spraying", ["turns", "random"])
@pytest.mark.slow
def test_sprayed_flows_of_rules_of_deliveries_are_equal_in_both_engines(spraying: str, loss: float) -> None:
    method = Packets(seed=2, recovery={"0": PATIENT, "1": PATIENT}, spraying=spraying, loss={"s->b": loss})
    run = equal_records(plan_scenario(sprayed(), method, duration=2.0, sample=0.02, may_spray=True))
    assert (run.imbalance == 0.0).all()
    assert np.isfinite(run.finished[-3:]).all()  # those before only lend their paths


def test_packets_that_others_overtake_are_lost_only_beyond_the_reordering_window() -> None:
    """Nothing is lost; three later ACKs send packets again and cut the window, and late packets take longer than that."""
    times, again = [], []
    for recovery in ("sack", RackRecovery(reordering_seen=1.0), PATIENT):
        method = Packets(seed=2, recovery={"0": recovery, "1": recovery})
        run = simulate(sprayed(1500.0), method)
        assert run.lost.sum() == 0
        times.append(run.finished[:2].max())
        again.append(run.emitted[:2].sum() - 3000)
    assert again[2] <= 4  # a probe at each end
    assert min(again[:2]) > 100
    assert times[2] < times[0]
