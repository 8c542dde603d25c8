"""What queue managers drop and mark of a step's arrivals before the queue, said naively."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.oracles.fluid.drops import draw
from tests.oracles.fluid.lines import floor

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dfcmodel import QueueManager
    from dfcmodel.network.queueing.disciplines import Arrivals

    Floats = NDArray[np.float64]

__all__ = ["ManagedLink"]


class ManagedLink:
    """A queue manager at a link.

    Parameters
    ----------
    manager, packet_size
        The manager, and bytes of a packet.
    buffer
        Of the link, packets: no more is ever due.
    hears
        Whether each flow reacts to marks; what would be marked of the others is dropped.
    quantum
        Packets: amounts are multiples of it.
    """

    def __init__(
        self,
        manager: QueueManager,
        packet_size: float,
        buffer: float,
        hears: NDArray[np.bool_],
        quantum: float,
    ) -> None:
        self.manager, self.buffer, self.hears, self.quantum = manager, buffer, hears, quantum
        self.late = manager.at == "departure"
        self.state: Any = manager.State()
        self.numbers = SimpleNamespace(**manager.numbers(packet_size))
        self.due = {"drop": 0.0, "mark": 0.0}  # asked for, and not a whole packet yet
        self.owed = {name: np.zeros(len(hears)) for name in self.due}  # and have not come yet

    def manage(self, seen: Arrivals, came: Floats, random: Callable[[], float]) -> tuple[Floats, Floats]:
        """Return what is dropped and what is marked of what came; whole packets are drawn in proportion to it."""
        self.state = self.manager.on_step(self.state, self.numbers, seen)
        if seen.arrivals <= 0.0:
            return np.zeros_like(came), np.zeros_like(came)
        if seen.arrivals in (self.state.drop, self.state.mark):
            marks = self.hears & (self.state.drop < seen.arrivals)
            self.owed["mark"][marks] = came[marks]
            if not self.late:
                self.owed["drop"][~marks] = came[~marks]
            self.due = dict.fromkeys(self.due, 0.0)
        elif self.manager.fractional:
            self.owed["mark"][self.hears] += self.state.mark * (came / seen.arrivals)[self.hears]
        else:
            self.draw(seen.arrivals, came, random)
        drops = floor(np.minimum(came, self.owed["drop"]), self.quantum)
        marked = np.minimum(came - drops, self.owed["mark"])
        self.owed["drop"] -= drops
        self.owed["mark"] -= marked
        return drops, marked

    def draw(self, arrivals: float, came: Floats, random: Callable[[], float]) -> None:
        """Draw the flows of the packets that are due."""
        for what in self.due:
            asked = getattr(self.state, what)
            self.due[what] = min(self.buffer + arrivals, self.due[what] + asked)
        for what in self.due:
            while self.due[what] >= 1.0:
                n = draw(came, random())
                marks = what == "mark" and self.hears[n]
                if marks or not self.late:
                    self.owed["mark" if marks else "drop"][n] += 1.0
                self.due[what] -= 1.0
