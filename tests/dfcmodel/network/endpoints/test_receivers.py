"""Receiver agents: what one must be, where it cannot be used, and pulls of packets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel import simulate
from dfcmodel.lossless import leaf_spine
from responsefn import DCQCN, Reno
from tests.dfcmodel.packets.conftest import plan_of
from tests.oracles.engines import ENGINES, NAMES, equal_records

LINKS = [dfc.Link("a", "s", 1e6, 1e-5, 50), dfc.Link("s", "b", 1e6, 1e-5, 50)]


@dataclass(frozen=True)
class Plain(dfc.ReceiverAgent):
    """Acknowledges each packet."""

    field: str = "timer"
    value: float = math.inf

    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0)


@dataclass(frozen=True)
class Late(Plain):
    """Answers what cannot be."""

    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0, timer=e.time + 1e-6)

    @staticmethod
    def on_timer(s, q, e):
        return s._replace(timer=e.time)


@dataclass(frozen=True)
class Half(Plain):
    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0, credits=0.5 if e.number == 3.0 else 0.0)


def scenario(receiver: dfc.ReceiverAgent | None = None, source: object = None) -> dfc.Scenario:
    flow = dfc.Flow("one", ("a", "s", "b"), source or DCQCN(), size=10, receiver=receiver)  # type: ignore[arg-type]
    return dfc.Scenario("pull", LINKS, [flow], duration=0.01)


def test_what_an_agent_must_be() -> None:
    with pytest.raises(TypeError, match="State of Short has the fields ack, must begin with ack, "):
        type("Short", (dfc.ReceiverAgent,), {"State": NamedTuple("State", [("ack", float)])})
    with pytest.raises(TypeError, match=r"of_flow of Odd = \('slot',\): must be the last fields"):
        type("Odd", (dfc.ReceiverAgent,), {"of_flow": ("slot",)})
    for wrong in (0.0, 1.5, math.nan, -math.inf):
        with pytest.raises(ValueError, match="unsolicited = "):
            Plain(unsolicited=wrong)


def test_where_an_agent_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"receiver of flow 'one' = .*: must be None for Reno"):
        scenario(Plain(), Reno())
    with pytest.raises(ValueError, match=r"receiver of flow 'one' = None: must be a receiver agent"):
        scenario(None, dfc.Credited())
    with pytest.raises(ValueError, match=r"must be a ReceiverAgent, or None; write Plain\(\)"):
        scenario(Plain)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"receiver of flow 'one' = Plain.*use method=Packets\(\)"):
        simulate(scenario(Plain()), dfc.Fluid())
    with pytest.raises(ValueError, match="recovery of flow 'one' = 'none': must be 'go-back-n'"):
        simulate(scenario(Plain()), dfc.Packets(recovery="none"))
    with pytest.raises(ValueError, match="no response function"):
        dfc.Credited().rate(0.01)


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (Late(), r"pull, on_timer of the receiver of flow 'one': timer = .* s: must be after it"),
        (Half(), r"pull, on_packet of the receiver of flow 'one': credits = 0.5: must be a whole"),
    ],
    ids=["timer", "credits"],
)
def test_an_answer_that_cannot_be_ends_the_run(agent: dfc.ReceiverAgent, message: str, simulate: Any) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(scenario(agent), dfc.Packets())


def test_what_an_agent_sees() -> None:
    fields = [
        "time",
        "flow",
        "number",
        "expected",
        "marked",
        "size",
        "delivered",
        "sent",
        "packet_time",
        "trimmed",
    ]
    assert list(dfc.ReceivedPacket._fields) == fields


# Receivers that pull packets.

RATE = 1e6


def incast(flows: int, receiver: dfc.RCCC, discipline: Any = None, **given: Any) -> dfc.Scenario:
    """Return flows to one receiver."""
    links = [dfc.Link(f"h{n}", "s", RATE, 2e-6, 1000) for n in range(flows)]
    links.append(dfc.Link("s", "d", RATE, 2e-6, 4000, discipline or dfc.FIFO()))
    given = {"size": 400, "host": "nic", "receiver": receiver} | given
    senders = [dfc.Flow(f"{n}", (f"h{n}", "s", "d"), dfc.Credited(), **given) for n in range(flows)]
    return dfc.Scenario("incast", links, senders, duration=0.05, packet_size=4096.0, min_rto=10e-3)


def run_of(scenario: dfc.Scenario, **method: Any) -> Any:
    return simulate(scenario, dfc.Packets(seed=1, recovery="selective", **method), sample=1e-5)


@pytest.mark.parametrize("flows", [8, 16, 32])
def test_an_incast_has_equal_shares_without_loss_and_a_queue_that_drains_at_what_is_not_granted(
    flows: int,
) -> None:
    """First packets wait, less those that leave as they come; pulls leave 1 - ``pull_rate`` of the link to them."""
    receiver = dfc.RCCC(unsolicited=8, pull_rate=0.9)
    run = run_of(incast(flows, receiver))
    queue = run.queued[run.scenario.senders.index("s")]
    assert run.lost.sum() == 0
    assert run.peak_queue.max() == 8 * flows - 7
    half = run.time <= 0.5 * flows * 400 / RATE
    assert np.ptp(run.delivered[:, half][:, -1]) <= receiver.unsolicited
    drained = (run.time > 3e-5) & (queue > 8)
    assert np.polyfit(run.time[drained], queue[drained], 1)[0] == pytest.approx(-0.1 * RATE, rel=0.1)
    empty = run.time[queue < 2][1]
    assert queue[half & (run.time > empty)].max(initial=0) <= 4


def test_a_pull_rate_of_one_uses_the_whole_link() -> None:
    scenario = incast(16, dfc.RCCC(pull_rate=1.0))
    assert run_of(scenario).finished.max() == pytest.approx(dfc.completion_bounds(scenario).job)


@pytest.mark.parametrize("flows", [8, 32])
def test_pulls_as_those_of_ndp_complete_an_incast_with_trimming_at_its_bound(flows: int) -> None:
    """Each packet that was cut is sent again once, and no timer expires."""
    scenario = incast(flows, dfc.RCCC(unsolicited=20, credit_per_pull=1, pull_rate=1.0), dfc.Trimming())
    run = run_of(scenario)
    assert set(run.drops().cause.values.tolist()) == {"trimmed"}
    assert run.emitted.sum() == flows * 400 + run.lost.sum()
    assert run.timeouts.sum() == 0
    assert run.finished.max() < 1.01 * dfc.completion_bounds(scenario).job


def test_credits_that_are_granted_before_packet_0_arrives_come_to_the_sender() -> None:
    """Of sprayed flows another packet may arrive first: credits of its pull were lost, and the flow waited for a timer."""
    cable = dfc.Cable("100Gbps", "200m")
    fabric = dfc.Fabric(leaf_spine(4, 4, hosts=4), cable, cable, "400kB", 4096, dfc.Trimming())
    ends = [(3, 10), (5, 4), (6, 5), (8, 0), (10, 2), (11, 13), (12, 11)]
    sources, targets = ([fabric.hosts[pair[n]] for pair in ends] for n in (0, 1))
    receiver = dfc.RCCC(unsolicited=43, credit_per_pull=1, pull_rate=1.0)
    options = {"links": fabric.links, "routes": "spray", "options": dfc.FlowOptions(receiver=receiver)}
    flows = dfc.flows_from(sources, targets, sizes=100, source=dfc.Credited(), **options)
    scenario = fabric.scenario("pulls", flows, duration=1e-4, min_rto=1e-3)
    run = dfc.simulate(scenario, dfc.Packets(seed=1, recovery=dfc.SelectiveRepair(reordering=64)))
    assert run.timeouts.sum() == 0
    assert run.finished.max() < 1.1 * dfc.completion_bounds(scenario).job


def test_granted_packets_that_have_not_come_are_bounded() -> None:
    """A host that sends to two receivers collects no credits of both: they would come at once when one transfer ends."""
    links = [dfc.Link("h", "s", RATE, 2e-6, 1000), dfc.Link("g", "s", RATE, 2e-6, 1000)]
    links += [dfc.Link("s", end, RATE, 2e-6, 1000) for end in ("d", "e")]
    ways = [("h", "d", 800), ("h", "e", 400), ("g", "d", 400)]
    flows = [
        dfc.Flow(
            f"{n}",
            (a, "s", b),
            dfc.Credited(),
            size=size,
            host="nic",
            receiver=dfc.RCCC(unsolicited=12),
        )
        for n, (a, b, size) in enumerate(ways)
    ]
    run = run_of(dfc.Scenario("two", links, flows, duration=0.01, packet_size=4096.0, min_rto=10e-3))
    assert run.lost.sum() == 0
    assert run.peak_queue.max() <= 24
    assert np.isfinite(run.finished).all()


HTSIM = {2: 333.019, 8: 1326.61, 31: 5134.49}
"""When the last of N transfers of 500 packets is complete, us: uet-htsim at commit 40ccb05, ``htsim_uec -receiver_cc_only -mtu 4096
-linkspeed 100000 -q 8 -ecn 8 8 -paths 16 -sack_threshold 4000`` on two leaves of 32 hosts, all of them at the first one."""


@pytest.mark.parametrize("flows", HTSIM)
def test_incasts_are_complete_when_those_of_the_consortiums_simulator_are(flows: int) -> None:
    """Within 0.3 %. Its window is 1.5 products of 116,640 bytes; its times end with the last ACK, after 2 us."""
    rate = 1e11 / 8 / 4096
    links = [dfc.Link(f"h{n}", "s", rate, 1e-6, 1000) for n in range(flows)]
    links.append(dfc.Link("s", "d", rate, 1e-6, 2000, dfc.Trimming()))
    window = round(1.5 * 116640 / 4096)
    senders = [
        dfc.Flow(
            f"{n}",
            (f"h{n}", "s", "d"),
            dfc.Credited(),
            size=500,
            host="nic",
            receiver=dfc.RCCC(unsolicited=window),
        )
        for n in range(flows)
    ]
    run = run_of(dfc.Scenario("htsim", links, senders, duration=0.02, packet_size=4096.0, min_rto=4e-3))
    assert 1e6 * run.finished.max() + 2.0 == pytest.approx(HTSIM[flows], rel=3e-3)


@pytest.mark.parametrize("receiver", [dfc.RCCC(), dfc.RCCC(6, 2, 0.5)])
def test_both_engines_agree(receiver: dfc.RCCC) -> None:
    scenario = incast(4, receiver, dfc.Trimming(limit=4), size=60)
    run = equal_records(plan_of(scenario, dfc.Packets(seed=2, recovery="selective", loss={"s->d": 0.02})))
    assert (run.imbalance == 0.0).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("unsolicited", 0), ("credit_per_pull", 17), ("credit_per_pull", 1.5), ("pull_rate", 1.01)],
)
def test_parameters_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name} = "):
        dfc.RCCC(**{name: value})
