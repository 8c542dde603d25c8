"""When a sender lets go what it may send: at once, or after random waits, as ``packet_jitter`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracles.fluid.drops import RandomNumbers

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RandomWaits"]


class RandomWaits:
    """A sender that may send waits a random time, then sends all that it may by then (``overhead_`` of ns-2).

    Packets that come meanwhile go with the one that began the wait; the next wait begins with the next packet.

    Parameters
    ----------
    start, jitter
        When it begins, and its longest wait, in steps.
    slowest
        Longest time between two packets, in steps.
    seed
        Of its random numbers.
    """

    def __init__(self, start: float, jitter: float, slowest: float, seed: int) -> None:
        self.jitter, self.slowest = jitter, max(jitter, slowest)
        self.begin = self.end = start
        self.waited = 0.0
        self.random = RandomNumbers(seed)

    def released(self, k: int, emitted: Sequence[float]) -> float:
        """Return what has been let go by step k, of what was emitted by each step."""
        while self.end <= k:
            self.wait_again(_at(emitted, k) - _at(emitted, k - 1))
        delay = max(self.waited, k - self.begin)
        whole = int(delay)
        late, early = _at(emitted, k - whole), _at(emitted, k - whole - 1)
        return late - (delay - whole) * (late - early)

    def wait_again(self, rate: float) -> None:
        """Begin the next wait, with the next packet of a sender of ``rate`` packets per step."""
        spacing = min(1.0 / rate, self.slowest) if rate > 0.0 else self.slowest
        self.waited = (self.end - self.begin) % spacing
        self.begin = self.end + spacing - self.waited
        self.end = self.begin + self.jitter * self.random()


def _at(emitted: Sequence[float], k: int) -> float:
    """Return what was emitted by step k, nothing before the first."""
    return emitted[k] if k >= 0 else 0.0
