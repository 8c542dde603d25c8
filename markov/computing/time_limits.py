"""A limit on the predicted duration of computations whose cost grows with the time of a transient."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from hopflow.kernels.stopwatch import Stopwatch

__all__ = ["MAX_SECONDS", "Prediction", "time_limit"]

MAX_SECONDS = 60.0
"""Default of ``max_seconds``, in s."""
FIRST_PREDICTION = 2.0
"""Time in s before the first prediction: earlier ones vary too much."""

_limit: ContextVar[float | None] = ContextVar("time_limit", default=None)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Refuse computations in the context that are predicted to take longer, in s."""
    token = _limit.set(seconds)
    try:
        yield
    finally:
        _limit.reset(token)


class Prediction:
    """Prediction of the duration of a sum of powers, from the time and the decay so far."""

    def __init__(self) -> None:
        self._watch, self._limit = Stopwatch(), _limit.get()
        self._before: dict[str, tuple[int, float]] = {}

    def check(self, done: int, remaining: float, decays: dict[str, tuple[float, float]]) -> None:
        """Raise ValueError if the remaining products are predicted to exceed the limit.

        Parameters
        ----------
        done
            Number of products so far.
        remaining
            Number of products at most.
        decays
            Distances that end the sum before, and the values below which they do so, by name.
        """
        if self._limit is None or (elapsed := self._watch.seconds()) < FIRST_PREDICTION:
            return
        for name, (distance, tolerance) in decays.items():
            steps, first = self._before.setdefault(name, (done, distance))
            if done > 2 * steps:
                self._before[name] = done, distance
            if done > steps and 0.0 < distance < first and tolerance > 0.0:
                per_step = math.log(first / distance) / (done - steps)
                remaining = min(remaining, max(math.log(distance / tolerance), 0.0) / per_step)
            else:
                return  # no decay yet
        seconds, limit = elapsed * (1.0 + remaining / done), self._limit
        if seconds > limit:
            duration = f"{seconds:.0f} s" if seconds < 1e4 else f"{seconds:.1e} s"
            products = f"{done + remaining:.1e} products of the jump matrix"
            message = f"about {duration} for {products}, more than max_seconds = {limit:g}"
            hint = f"max_seconds={1.2 * seconds:.2g} allows it"
            raise ValueError(f"{message}: the chain is not near its long-run distribution before; {hint}")
