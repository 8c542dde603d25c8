"""Elements of paths in the reference engine: one class for each."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import dfcmodel as dfc
from dfcmodel.network.drop_causes import AT_RANDOM, BY_POLICER, BY_WATCHDOG

if TYPE_CHECKING:
    from collections.abc import Callable

    from dfcmodel.packets.plan import PacketPlan
    from tests.oracles.packets.receivers import Packet

__all__ = ["Paths", "RateOverTime"]

RELEASED = (1 << 23) - (1 << 20)
"""Smallest key of packets that an element passes on: after other arrivals, in the order of their places."""


class Passing:
    """An element that passes on or drops each packet when it comes."""

    def __init__(self, paths: Paths, p: int, given: Any) -> None:
        self.paths, self.p, self.given = paths, p, given
        self.last = -math.inf
        self.copies: list[tuple[float, Packet]] = []  # of the packet that came last, and when they go on

    def draw(self) -> float:
        """Return the next random number of the port."""
        return float(self.paths.simulation.draw(self.p))

    def take(self, packet: Packet, go_on: Callable[[float], bool]) -> bool:
        """Take a packet; return whether it goes on at once. ``go_on`` schedules it for a time."""
        now = self.paths.simulation.now
        time = self.release(packet, now)
        if time is None:
            return False
        if not getattr(self.given, "in_order", isinstance(self.given, dfc.Aggregation)):
            return time <= now or go_on(time)
        follows, self.last = self.last >= now, max(self.last, time)
        return not (time > now or follows) or go_on(self.last)

    def release(self, packet: Packet, now: float) -> float | None:
        """Return when a packet goes on; None: it was dropped."""
        raise NotImplementedError

    def lose(self, packet: Packet, cause: int) -> None:
        """Drop a packet."""
        self.paths.simulation.queues[self.p].drop(packet, cause=cause)


class Delaying(Passing):
    """A delay that is drawn, constant, or follows a trace."""

    def release(self, packet: Packet, now: float) -> float | None:
        """Return when a packet goes on."""
        given = self.given
        if isinstance(given, dfc.DelayTrace):
            time = now
            if given.period < math.inf:
                time = now - math.floor(now / given.period) * given.period
            return now + [d for t, d in zip(given.times, given.delays, strict=True) if t <= time][-1]
        return now + (given.bound if given.distribution == "constant" else given.bound * self.draw())


class Overtaken(Passing):
    """Single packets that are held."""

    def release(self, packet: Packet, now: float) -> float | None:
        """Return when a packet goes on."""
        return now + (self.given.delay if self.draw() < self.given.p else 0.0)


class Slots(Passing):
    """What comes goes on at multiples of an interval."""

    def release(self, packet: Packet, now: float) -> float | None:
        """Return when a packet goes on."""
        return max(now, math.ceil(now / self.given.interval) * self.given.interval)


class Tokens(Passing):
    """A token bucket."""

    def __init__(self, paths: Paths, p: int, given: Any) -> None:
        super().__init__(paths, p, given)
        self.tokens, self.counted = float(given.burst), 0.0

    def release(self, packet: Packet, now: float) -> float | None:
        """Take tokens, or drop the packet."""
        sizes = self.paths.simulation.plan.sizes
        need = float(sizes[packet.size] / sizes[0])
        more = (now - self.counted) * self.given.rate
        self.tokens, self.counted = min(self.given.burst, self.tokens + more), now
        if self.tokens + 1e-9 < need:
            return self.lose(packet, BY_POLICER)
        self.tokens -= need
        return now


class TwoStates(Passing):
    """The chain of Gilbert and Elliott."""

    bad = False

    def release(self, packet: Packet, now: float) -> float | None:
        """Change the state, then drop the packet or not."""
        given = self.given
        if self.draw() < (given.to_good if self.bad else given.to_bad):
            self.bad = not self.bad
        if self.draw() < (given.loss_bad if self.bad else given.loss_good):
            return self.lose(packet, AT_RANDOM)
        return now


class Counted(Passing):
    """Losses of each packet with a multiple of a number."""

    passed = 0

    def release(self, packet: Packet, now: float) -> float | None:
        """Drop the last of a period."""
        self.passed += 1
        if self.passed < self.given.every:
            return now
        self.passed = 0
        return self.lose(packet, AT_RANDOM)


class Called(Passing):
    """An element whose class has the function of its decision."""

    def __init__(self, paths: Paths, p: int, given: Any) -> None:
        super().__init__(paths, p, given)
        self.state, self.numbers = given.start(), SimpleNamespace(**given.numbers())

    def take(self, packet: Packet, go_on: Callable[[float], bool]) -> bool:
        """Take a packet; in order, its copies wait behind it."""
        passes = super().take(packet, go_on)
        if self.given.in_order:
            self.copies = [(self.last, copy) for _, copy in self.copies]
        return passes

    def release(self, packet: Packet, now: float) -> float | None:
        """Return when a packet goes on, with its copies."""
        if type(self.given).on_packet is dfc.PathElement.on_packet:
            return now
        cause = self.decide(self.given.on_packet, packet, now, 0.0)
        if cause is not None:
            return self.lose(packet, cause)
        time = max(now, getattr(self.state, "until", 0.0))
        self.copies = [(time, replace(packet)) for _ in range(int(getattr(self.state, "copies", 0.0)))]
        return time

    def decide(self, function: Callable[..., Any], packet: Packet, now: float, waited: float) -> int | None:
        """Call a function of the element for a packet, which it may mark; return the cause of a drop, or None."""
        simulation, given = self.paths.simulation, self.given
        size = float(simulation.plan.sizes[packet.size])
        draws = [self.draw() for _ in range(given.draws)] + [0.0] * (2 - given.draws)
        seen = dfc.PassingPacket(
            now, float(packet.flow), float(packet.number), float(simulation.plan.priorities[packet.flow]),
            float(packet.is_ack), float(packet.listens), float(packet.marked), size,
            size / float(simulation.plan.sizes[0]), float(simulation.queues[self.p].length()), *draws, waited,
        )  # fmt: skip
        optional = {name: 0.0 for name in ("until", "copies") if name in given.State._fields}
        state = self.state._replace(drop=0.0, mark=0.0, **optional)
        self.state = function(state, self.numbers, seen)
        if self.state.drop > 0.0:
            name = list(given.causes)[int(self.state.drop) - 1]
            return list(simulation.plan.scenario.drop_causes).index(name)
        packet.marked |= self.state.mark == 1.0 and packet.listens
        return None


class Batches(Passing):
    """What is collected goes on together."""

    def __init__(self, paths: Paths, p: int, given: Any) -> None:
        super().__init__(paths, p, given)
        self.held: list[Callable[[float], bool]] = []
        self.passed = 0

    def take(self, packet: Packet, go_on: Callable[[float], bool]) -> bool:
        """Collect a packet."""
        simulation = self.paths.simulation
        if not self.held:
            end = partial(self.end, self.passed)
            simulation.at(simulation.now + self.given.hold, RELEASED - 1, end)
        self.held.append(go_on)
        if len(self.held) >= self.given.count:
            self.pass_on()
        return False

    def end(self, number: int) -> None:
        """Pass on a batch at the end of its time."""
        if number == self.passed:
            self.pass_on()

    def pass_on(self) -> None:
        """Pass on all that was collected."""
        for go_on in self.held:
            go_on(self.paths.simulation.now)
        self.held.clear()
        self.passed += 1


KINDS: dict[type[dfc.PathElement], type[Passing]] = {
    dfc.Jitter: Delaying, dfc.DelayTrace: Delaying, dfc.Reordering: Overtaken, dfc.Policer: Tokens,
    dfc.BurstLoss: TwoStates,
    dfc.PeriodicLoss: Counted,
}  # fmt: skip


class Paths:
    """The elements of a plan's paths, in front of its queues."""

    def __init__(self, simulation: Any) -> None:
        self.simulation = simulation
        plan: PacketPlan = simulation.plan
        self.chains: dict[tuple[int, int, bool], int] = {}
        self.path = plan.path if plan.scenario.all_elements else None
        self.elements: dict[int, Passing] = {}
        if self.path is None:
            return
        hops = plan.hops
        for h, first in enumerate(self.path.first.tolist()):
            if first < 0:
                continue
            p = int(hops.port[h])
            self.chains[p, int(hops.flow[h]), bool(hops.is_ack[h])] = first
            for k in self.path.chains[first : self.path.chains.index(-1, first)]:
                if k not in self.elements:
                    given = self.path.elements[k]
                    self.elements[k] = self._of(given)(self, p, given)

    def _of(self, given: dfc.PathElement) -> type[Passing]:
        if isinstance(given, dfc.Aggregation):
            return Batches if given.interval is None else Slots
        return KINDS.get(type(given), Called)

    def arrive(self, p: int, packet: Packet) -> None:
        """Pass a packet that comes to a port through the elements there, then to the queue."""
        queue, first = self.simulation.queues[p], self.chains.get((p, packet.flow, packet.is_ack), -1)
        if first < 0:
            queue.arrive(packet)
        elif any(guard.takes(packet) for guard in queue.guards):
            queue.drop(packet, cause=BY_WATCHDOG)
        else:
            self.go_on(p, packet, first)

    def leave(self, p: int, packet: Packet, came: float) -> int | None:
        """Pass a packet that leaves a queue, where it came at time ``came``, through the elements; return why it is lost."""
        place = self.chains.get((p, packet.flow, packet.is_ack), -1)
        if place < 0:
            return None
        assert self.path is not None
        now = self.simulation.now
        while (k := self.path.chains[place]) >= 0:
            place += 1
            element = self.elements[k]
            if type(element.given).on_leaving is dfc.PathElement.on_leaving:
                continue
            assert isinstance(element, Called)
            cause = element.decide(element.given.on_leaving, packet, now, now - came)
            if cause is not None:
                return cause
        return None

    def state_of(self, k: int) -> Any:
        """Return the state of an element; one that no packet reaches has that at the start."""
        element = self.elements.get(k)
        return element.state if isinstance(element, Called) else self.simulation.plan.path.elements[k].start()

    def go_on(self, p: int, packet: Packet, place: int) -> None:
        """Pass a packet on from a place of its chain."""
        assert self.path is not None
        chains = self.path.chains
        while chains[place] >= 0:
            element = self.elements[chains[place]]
            place += 1
            passes = element.take(packet, partial(self.later, p, packet, place))
            for time, copy in element.copies:
                self.simulation.records.inside[copy.flow] += 1
                self.later(p, copy, place, time)
            element.copies.clear()
            if not passes:
                return
        self.simulation.queues[p].arrive(packet)

    def later(self, p: int, packet: Packet, place: int, time: float) -> bool:
        """Schedule that a packet goes on."""
        self.simulation.at(time, RELEASED + place, partial(self.go_on, p, packet, place))
        return False


class RateOverTime:
    """How long transmissions take over a link whose rate follows a trace."""

    def __init__(self, given: dfc.RateTrace, rate: float) -> None:
        self.given = given
        self.parts = [each / rate for each in given.rates]

    def further(self, begin: float, full: float) -> float:
        """Return by how much a transmission takes longer that would take ``full`` s at the rate of the link."""
        given, left, now, base = self.given, full, begin, 0.0
        if full == 0.0:
            return 0.0
        if given.period < math.inf:
            base = math.floor(begin / given.period) * given.period
        while True:
            ends = [*given.times[1:], given.period]
            for part, end in zip(self.parts, ends, strict=True):
                if now >= base + end:
                    continue
                if part > 0.0 and left <= (base + end - now) * part:
                    return max(0.0, now + left / part - begin - full)
                left -= (base + end - now) * part
                now = base + end
            base += given.period
