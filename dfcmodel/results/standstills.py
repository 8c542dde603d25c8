"""Deadlocks at the end of a run: queues that wait for each other for ever, or that have not moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.frame_sizes import HEADER
from dfcmodel.network.queueing.class_pauses import ALL, CONTROL
from dfcmodel.network.queueing.pause_responses import QUANTUM
from dfcmodel.network.run_tables import LAST_PART
from dfcmodel.results.records import samples_until
from hopflow.checks import first_of

if TYPE_CHECKING:
    from collections.abc import Container

    from dfcmodel.results.records import Records

__all__ = ["PauseDeadlock", "deadlock_of", "lanes_of", "link_name", "pausers_of"]

Lane = tuple[int, int]
"""A queue that can be paused separately: the index of its link (-1 - flow: an access link) and its class; ALL: the only
queue of the link."""
MAX_NAMES = 6
"""Links that a description names."""


@dataclass(frozen=True)
class PauseDeadlock:
    """Links that are stopped for ever because they wait for each other, and since when, s.

    Attributes
    ----------
    cycle
        Names of links that pause each other in a circle, each paused by the next and the last by the first; empty:
        nothing has moved in the last quarter of the run, and no circle is known.
    since
        Time at which the last link of the circle stopped, s.
    stuck
        Names of all stopped links, with the circle.
    """

    cycle: tuple[str, ...]
    since: float
    stuck: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.cycle:
            return f"no cycle known: nothing has left {first_of(self.stuck, MAX_NAMES)} in the last quarter of the run"
        text = f"{', '.join(self.cycle)}: each is paused by the next since {self.since:g} s"
        others = [name for name in self.stuck if name not in self.cycle]
        return f"{text}; stuck behind them: {first_of(others, MAX_NAMES)}" if others else text


def deadlock_of(run: Records) -> PauseDeadlock | None:
    """Return the deadlock at the end of a run; None without one, or if waiting packets were not recorded.

    A queue is stuck for ever if it is paused, and more packets in stuck queues than the threshold of the pause keep it
    paused. The algorithm computes the largest set of such queues by removing others (Coffman et al. 1971, with queues
    as processes). If there were too many pauses to record, or if thresholds do not determine their ends, progress
    decides: packets wait at paused links, and none has left any of them in the last part of the run, which is longer
    than quanta and messages delay them.
    """
    if run.remaining is None or not len(run.remaining):
        return None
    lasting_pauses = pausers_of(run)
    waiting = _WaitingPackets.of(run)
    stuck = lasting_pauses
    while True:
        holding = {lane: [pause for pause in by if waiting.stuck_holders(pause, stuck)] for lane, by in stuck.items()}
        remaining = {lane: pauses for lane, pauses in holding.items() if pauses}
        if len(remaining) == len(stuck):
            break
        stuck = remaining
    return _cyclic_deadlock(waiting, remaining) if remaining else _standstill(run, lasting_pauses)


def pausers_of(run: Records) -> dict[Lane, list[Any]]:
    """Return pauses that last at the end of a run, rows of `PAUSED`, by the queue that they stop; {} if not recorded.

    Empty queues are left out.
    """
    lasting_pauses: dict[Lane, list[Any]] = {}
    if run.paused is None or run.remaining is None:
        return lasting_pauses
    lanes = dict.fromkeys(lanes_of(run))
    for pause in run.paused[np.isinf(run.paused["end"]) & (run.paused["resumed"] == 0)]:
        link, priority = int(pause["link"]), int(pause["priority"])
        for lane in lanes:
            if lane[0] == link and (priority == ALL or lane[1] in (ALL, priority)):
                lasting_pauses.setdefault(lane, []).append(pause)
    return lasting_pauses


def lanes_of(run: Records) -> list[Lane]:
    """Return the queue, (link, class), of the packets in each row of `Records.remaining`."""
    assert run.remaining is not None
    rows = run.remaining
    return [
        (n, _class_of(run, n, f, is_ack == 1))
        for n, f, is_ack in zip(*(rows[name].tolist() for name in ("link", "flow", "ack")), strict=True)
    ]


def _class_of(run: Records, n: int, f: int, is_ack: bool) -> int:
    """Return the class in which packets, or ACKs, of flow f wait at link n; ALL at a link without classes."""
    if n < 0:
        return run.scenario.flows[f].priority
    rule: Any = run.scenario.links[n].discipline
    if rule.pauses == "flow":
        return CONTROL if is_ack else f
    if rule.queue_per == "class":
        return CONTROL if is_ack and rule.acks == "control" else run.scenario.flows[f].priority
    return ALL


@dataclass(frozen=True)
class _WaitingPackets:
    """Packets that wait at the end of a run: rows of `WAITING`, their queues, and the classes of their flows."""

    run: Records
    rows: Any
    lanes: list[Lane]
    priorities: Any

    @classmethod
    def of(cls, run: Records) -> _WaitingPackets:
        """Return the packets that wait at the end of a run, which must have recorded them."""
        assert run.remaining is not None
        priorities = run.scenario.table.numbers("priority").astype(np.int64)
        return cls(run, run.remaining, lanes_of(run), priorities[run.remaining["flow"]])

    def stuck_holders(self, pause: Any, stuck: Container[Lane]) -> set[Lane]:
        """Return the stuck queues whose packets keep a pause in effect; empty if they are too few for that."""
        by, scenario = int(pause["by"]), self.run.scenario
        rule: Any = scenario.links[by].discipline
        if rule.queue_per == "class":
            ingress = int(pause["link"]), int(pause["priority"])
            low = rule.resumes_at(scenario.rooms_once(by).get(ingress, 0.0))
            counted = np.isin(self.rows["link"], scenario.count_group(by))
            counted &= (self.rows["via"] == pause["link"]) & (self.priorities == pause["priority"])
            counted &= (self.rows["ack"] == 0) | (rule.acks == "class")
        elif rule.pauses == "flow":
            low = 0.0  # its threshold depends on other queues; a pause lasts as long as it is exceeded
            counted = (self.rows["link"] == by) & (self.rows["flow"] == pause["priority"])
            counted &= self.rows["ack"] == 0
        else:
            low = rule.low if rule.paused_rate == 0.0 else np.inf
            counted = self.rows["link"] == by
        rows = [n for n in np.flatnonzero(counted).tolist() if self.lanes[n] in stuck]
        acks = (rule.queue_per == "class") & (self.rows["ack"][rows] == 1)  # they are counted in bytes
        sizes = np.where(acks, HEADER / scenario.packet_size, 1.0)
        packets = float((self.rows["packets"][rows] * sizes).sum())
        return {self.lanes[n] for n in rows} if packets > low else set()


def _cyclic_deadlock(waiting: _WaitingPackets, stuck: dict[Lane, list[Any]]) -> PauseDeadlock:
    """Return the deadlock of stuck queues, each with its pauses; it has the cycle of queues that is found first."""
    import networkx as nx

    run = waiting.run
    begins: dict[tuple[Lane, Lane], float] = {}
    for lane, pauses in sorted(stuck.items(), key=lambda pair: pair[0]):
        for pause in pauses:
            for other in sorted(waiting.stuck_holders(pause, stuck)):
                begins[lane, other] = min(float(pause["begin"]), begins.get((lane, other), np.inf))
    cycle = nx.find_cycle(nx.DiGraph(list(begins)))
    first = min(range(len(cycle)), key=lambda n: cycle[n][0])
    edges = [*cycle[first:], *cycle[:first]]
    links = sorted({link for link, _ in stuck}, key=_link_order)
    return PauseDeadlock(
        tuple(link_name(run, link) for (link, _), _ in edges),
        max(begins[edge] for edge in edges),
        tuple(link_name(run, link) for link in links),
    )


def _standstill(run: Records, lasting_pauses: dict[Lane, list[Any]]) -> PauseDeadlock | None:
    """Return a deadlock without a known cycle if pauses alone stopped all in a run's last part; None if unknown."""
    assert run.remaining is not None
    delivers = run.delivered[:, -1] > run.delivered[:, _reference_sample(run)]
    moves = delivers.any() or not (run.remaining["still"] == 1).all()
    if moves or (run.paused is not None and not lasting_pauses):
        return None
    reference = float(run.time[_reference_sample(run)])
    if run.paused is not None and ((run.paused["fault"] == 1) & (run.paused["end"] > reference)).any():
        return None  # a fault stood in the way, at the end or in the last part of the run
    end = float(run.time[-1])
    if end - reference <= _longest_wait(run) or any(_can_end(link.discipline, end) for link in run.scenario.links):
        return None
    begins = [float(pause["begin"]) for by in lasting_pauses.values() for pause in by]
    since = max(begins, default=(1.0 - LAST_PART) * float(run.time[-1]))
    links = sorted({n for n, _ in lanes_of(run)}, key=_link_order)
    return PauseDeadlock((), since, tuple(link_name(run, n) for n in links))


def _can_end(rule: Any, end: float) -> bool:
    """Return whether a standstill may be no deadlock: pauses let packets pass, or a storm began before ``end``, s."""
    storm = getattr(rule, "storm", None)
    return getattr(rule, "paused_rate", 0.0) > 0.0 or (storm is not None and storm < end)


def _longest_wait(run: Records) -> float:
    """Return a bound on the time, s, for which quanta, or messages on their way, stop a link without a full queue.

    It is that of the longest delay and the slowest link.
    """
    links = run.scenario.link_table.kinds
    delay, packet = max(link.delay for link in links), max(1.0 / link.rate for link in links)
    quantum = QUANTUM / (8.0 * run.scenario.packet_size) * packet
    waits = (
        getattr(link.discipline, "signalling", 0.0) + quantum * (getattr(link.discipline, "quanta", None) or 0)
        for link in links
    )
    return float(2.0 * (delay + packet) + max(waits))


def _reference_sample(run: Records) -> int:
    """Return the index of the last sample before the last part, `LAST_PART`, of a run."""
    return max(0, int(samples_until(run.time, (1.0 - LAST_PART) * run.time[-1:])[0]) - 1)


def _link_order(n: int) -> tuple[bool, int]:
    """Return a sort key for link n: access links (-1 - flow) come last."""
    return n < 0, abs(n)


def link_name(run: Records, n: int) -> str:
    """Return the name of link n, or of the access link of a host (-1 - flow)."""
    scenario = run.scenario
    return scenario.links[n].name if n >= 0 else f"host of {scenario.flows[-1 - n].name}"
