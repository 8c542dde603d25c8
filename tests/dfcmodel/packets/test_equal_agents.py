"""Receiver agents in both engines: the built-in receivers written as agents, and credits at the rate of a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import dfcmodel as dfc
from hopflow.parameters import extends
from responsefn import DCQCN, TIMELY, NewReno
from tests.oracles.engines import plan_scenario, run_engine, run_reference

RATE = 1e6
COLUMNS = ("finished", "timeouts", "loss_events", "total", "peak", "emitted", "inside", "delivered")


@dataclass(frozen=True)
class InOrder(dfc.ReceiverAgent):
    """Go-back-N's receiver: the first packet beyond a gap asks for the missing one."""

    @extends(dfc.ReceiverAgent.State)
    class State(NamedTuple):
        """The answer, and for which packet the last gap was."""

        missing: float = -1.0

    of_flow = ("missing",)

    @staticmethod
    def on_packet(s, q, e):
        s = s._replace(ack=1.0, mark=e.marked)
        if e.number < e.expected or s.missing == e.expected:
            return s
        return s._replace(nack=e.expected, missing=e.expected)


@dataclass(frozen=True)
class Echo(dfc.ReceiverAgent):
    """The receiver of selective repair: the engine tells which packet came out of order."""

    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0, mark=e.marked)


@dataclass(frozen=True)
class NotificationPoint(InOrder):
    """DCQCN's: one notification per interval; marks within it are answered at its end, or ignored."""

    @extends(InOrder.State)
    class State(NamedTuple):
        """The answer, the gap, and when the next notification may be sent."""

        free_at: float = 0.0
        waiting: float = 0.0

    of_flow = ("missing", "free_at", "waiting")
    interval: float = 50e-6
    remembers: float = 1.0

    @staticmethod
    def on_packet(s, q, e):
        s = s._replace(ack=1.0)
        if e.number >= e.expected and s.missing != e.expected:
            s = s._replace(nack=e.expected, missing=e.expected)
        if e.marked == 0.0:
            return s
        if e.time < s.free_at:
            return s._replace(waiting=1.0, timer=s.free_at) if q.remembers > 0.0 else s
        return s._replace(mark=1.0, free_at=e.time + q.interval)

    @staticmethod
    def on_timer(s, q, e):
        return s._replace(mark=1.0, waiting=0.0, free_at=e.time + q.interval)


@dataclass(frozen=True)
class PacedCredits(dfc.ReceiverAgent):
    """A credit per packet time of the last link, to the flows of a node in turn (Cho et al. 2017, ExpressPass)."""

    @extends(dfc.ReceiverAgent.State)
    class State(NamedTuple):
        """The answer, the next free time of the node, and how many packets the flow may have sent."""

        slot: float = 0.0
        granted: float = 0.0

    of_flow = ("granted",)
    unsolicited: float = 1.0

    @staticmethod
    def on_packet(s, q, e):
        s = s._replace(ack=1.0)
        if s.granted > 0.0 or e.size <= q.unsolicited:
            return s
        slot = max(e.time, s.slot)
        return s._replace(granted=q.unsolicited, timer=slot, slot=slot + e.packet_time)

    @staticmethod
    def on_timer(s, q, e):
        s = s._replace(credits=1.0, granted=s.granted + 1.0)
        if s.granted >= e.size:
            return s
        return s._replace(timer=s.slot, slot=s.slot + e.packet_time)


def incast(seed: int, receiver: dfc.ReceiverAgent | None, credited: bool = False) -> dfc.Scenario:
    """Return 2 to 5 senders into a small buffer, one with a window that no agent answers."""
    rng = np.random.default_rng([79, seed])
    n = int(rng.integers(2, 6))
    links = [dfc.Link(f"s{k}", "x", RATE, 2e-6 * rng.uniform(0.5, 2.0), 500) for k in range(n)]
    room = int(rng.integers(3, 40))
    links.append(dfc.Link("x", "d", RATE * rng.uniform(0.5, 1.5), 3e-6, room, dfc.RampMarking(2, 10, 0.1)))
    flows = []
    for k in range(n):
        source: Any = [DCQCN(), TIMELY(), NewReno()][k % 3]
        if credited and k % 3 < 2:
            source = dfc.Credited()
        flows.append(
            dfc.Flow(
                f"{k}",
                (f"s{k}", "x", "d"),
                source,
                max_window=200.0,
                start=float(rng.uniform(0.0, 1e-5)),
                size=float(rng.integers(1, 200)),
                host=["nic", "direct", "unshaped"][rng.integers(3)],
                receiver=receiver if k % 3 < 2 else None,
            )
        )
    return dfc.Scenario("incast", links, flows, duration=0.05, min_rto=float(10 ** rng.uniform(-4, -3)))


def both(scenario: dfc.Scenario, method: dfc.Packets) -> Any:
    """Return the records of the compiled engine, after a comparison with the reference engine."""
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=0.01)
    found, wanted = run_engine(plan), run_reference(plan)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    np.testing.assert_array_equal(found.lost[:-1], wanted.lost[:-1])
    return found


@pytest.mark.parametrize("loss", [None, {"x->d": 0.1}], ids=["buffer", "random"])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("agent", "recovery"), [(InOrder(), "go-back-n"), (Echo(), "selective")], ids=lambda x: str(x))
def test_a_receiver_written_as_an_agent_gives_the_bits_of_the_built_in_one(
    agent: dfc.ReceiverAgent, recovery: str, seed: int, loss: dict[str, float] | None
) -> None:
    method = dfc.Packets(seed=seed, loss=loss, recovery=recovery)
    found = both(incast(seed, agent), method)
    plain = both(incast(seed, None), method)
    for name in (*COLUMNS, "carried"):
        np.testing.assert_array_equal(getattr(found, name), getattr(plain, name), err_msg=name)


@pytest.mark.parametrize("loss", [None, {"x->d": 0.1}], ids=["buffer", "random"])
@pytest.mark.parametrize("agent", [PacedCredits(), PacedCredits(unsolicited=5.0)], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_both_engines_take_credits_in_the_same_way(
    seed: int, agent: dfc.ReceiverAgent, loss: dict[str, float] | None
) -> None:
    """A lost packet leaves one credit too few, as nobody gives another one: the last packets go by timeouts."""
    repair = dfc.SelectiveRepair(rto_low=1e-4)
    found = both(incast(seed, agent, True), dfc.Packets(seed=seed, loss=loss, recovery=repair))
    rated = [f for f in range(len(found.finished)) if f % 3 < 2]
    assert np.isfinite(found.finished[rated]).all()


def test_credits_paced_by_the_receiver_fill_the_link_without_a_loss() -> None:
    """32 senders of 2 MB at 100 Gb/s into 40 packets: beyond the packets alone a round trip and the last hop."""
    rate = 100e9 / 8000.0
    links = [dfc.Link(f"s{k}", "x", rate, 1e-6, 100) for k in range(32)]
    links.append(dfc.Link("x", "d", rate, 1e-6, 40))
    flows = [
        dfc.Flow(f"{k}", (f"s{k}", "x", "d"), dfc.Credited(), size=2000, receiver=PacedCredits()) for k in range(32)
    ]
    scenario = dfc.Scenario("pull", links, flows, duration=0.01, packet_size=1000.0)
    run = dfc.simulate(scenario, dfc.Packets(seed=1))
    assert run.lost.sum() == 0.0
    assert run.timeouts.sum() == 0
    round_trip = 4e-6 + 2.0 / rate + 2 * 64.0 / 1000.0 / rate
    assert 64_000 / rate < run.finished.max() < 64_000 / rate + round_trip
    assert run.finished.max() - run.finished.min() < 1000.0 / rate  # in turn: they end together


@pytest.mark.slow
@pytest.mark.parametrize(("remembers", "queue"), [(1.0, 81.0), (0.0, 141.0)])
def test_a_notification_point_at_the_receiver_holds_the_published_queue(remembers: float, queue: float) -> None:
    """Ten DCQCN senders as in `tests/dfcmodel/network/queueing/test_managers.py`, where the sender keeps the interval."""
    rate = 40e9 / 8000.0
    links = [dfc.Link(f"s{k}", "x", rate, 1e-6, 4000) for k in range(10)]
    links.append(dfc.Link("x", "d", rate, 1e-6, 4000, dfc.RampMarking(5.0, 200.0, 0.01)))
    rule = DCQCN(counter=1e4, additive=40e6 / 8000, hyper=400e6 / 8000, notification=1e-9)
    agent = NotificationPoint(remembers=remembers)
    flows = [dfc.Flow(f"{k}", (f"s{k}", "x", "d"), rule, host="nic", receiver=agent) for k in range(10)]
    scenario = dfc.Scenario("ten", links, flows, duration=0.2, packet_size=1000.0)
    run = dfc.simulate(scenario, dfc.Packets(seed=1), sample=1e-4)
    late = run.time > 0.04
    assert run.queued[scenario.senders.index("x"), late].mean() == pytest.approx(queue, rel=0.1)


def test_agents_of_one_node_share_a_state_and_flows_have_their_own() -> None:
    """Two flows of one agent to a node have slots one after the other, to two nodes at the same times."""
    links = [dfc.Link(n, "x", RATE, 1e-6, 50) for n in "ab"]
    links += [dfc.Link("x", n, RATE, 1e-6, 50) for n in "cd"]

    def ends(nodes: str) -> Any:
        flows = [
            dfc.Flow(n, (n, "x", to), dfc.Credited(), size=100, receiver=PacedCredits())
            for n, to in zip("ab", nodes, strict=True)
        ]
        scenario = dfc.Scenario("shared", links, flows, duration=0.01)
        return both(scenario, dfc.Packets(seed=1)).finished

    apart, together = ends("cd"), ends("cc")
    assert apart[0] == apart[1] == pytest.approx(together.max() / 2.0, rel=0.05)
    assert together.max() == pytest.approx(200 / RATE, rel=0.05)


@dataclass(frozen=True)
class AsksAgain(dfc.ReceiverAgent):
    """Asks once for a packet that is on its way."""

    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0, nack=e.number + 20.0 if e.number == 30.0 else -1.0)


@pytest.mark.parametrize(("recovery", "repeated"), [("selective", 1), ("go-back-n", 23)])
def test_a_packet_that_is_asked_for_is_sent_again(recovery: str, repeated: int) -> None:
    """With go-back-N from 50 on: the answer to 30 is back after 30 + 2 + 40 + 0.13 packet times, when 72 leaves."""
    links = [dfc.Link("a", "s", RATE, 10e-6, 50), dfc.Link("s", "b", RATE, 10e-6, 50)]
    flow = dfc.Flow("one", ("a", "s", "b"), dfc.Credited(), size=100, host="nic", receiver=AsksAgain())
    found = both(dfc.Scenario("again", links, [flow], duration=0.01), dfc.Packets(recovery=recovery))
    assert (found.emitted[0], found.total[0], found.timeouts[0]) == (100 + repeated, 100, 0)
    assert found.loss_events[0] == 1
