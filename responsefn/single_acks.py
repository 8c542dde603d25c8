"""Check whether a fluid may process several ACKs of a rule at once, or must process each ACK."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import engine
from responsefn.cycles import KERNEL
from responsefn.dynamics import Event
from responsefn.rule_events import (
    MAX_PARAMETERS,
    events_of,
    numbers_of,
    parameters_at,
    signature_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from responsefn.dynamics import Dynamics

__all__ = ["acts_on_single_acks"]

MIN_STEPS, ACK_PIECE = 8.0, 0.25
"""A fluid processes at most an eighth of a window at once; in short steps pieces of an ACK, here quarters."""
WINDOWS, SMALLEST_WINDOW = 6, 16.0
"""Number of compared windows, and the smallest in packets.

In smaller windows a piece of an ACK is a considerable part of the window."""
ROUNDS, MIN_ACKS, MAX_ACKS = 8.0, 4000.0, 100_000.0
"""Windows of ACKs that are followed after a loss, and their limits in ACKs."""
LOSS_TIME = 100.0
"""Time of the loss in s."""
PAUSES = (1.5, 40.0)
"""Seconds after the loss at which another round trip is followed, for timers of the rule."""
WINDOW_TOLERANCES = (0.05, 0.2, 0.2)
"""Tolerated difference of windows as a part of their change, after a loss and after each pause, when windows may grow
by half in a round trip."""
CYCLES = {100.0: 12, 300.0: 12, 1e3: 12, 3e3: 12, 1e4: 6, 3e4: 3, 1e5: 2}
"""Number of loss cycles that are compared, by their ACKs."""
GRID_PER_OCTAVE = 8
"""Values of round-trip times, rates, windows and steps in a factor of two: 9 % apart."""
TIME_TOLERANCE = 0.005
"""Relative difference of the times of the same cycles up to which several ACKs may be taken at once."""


@lru_cache(maxsize=512)
def acts_on_single_acks(rule: Dynamics, rtt: float, bandwidth: float | None, largest: float, steps: float) -> bool:
    """Return whether a rule needs each ACK: by its flag, or since several ACKs at once give other windows or times.

    Windows are compared after a loss and some time later, up to the ``largest`` one; times over loss cycles of 100
    to 100,000 packets, which may differ by 0.5 %. Paths that differ by a few per cent are compared as one, by
    `GRID_PER_OCTAVE` values in a factor of two: both must agree at the round-trip time below and above, with the
    nearest rate, the next larger window and the next smaller number of steps. Flows on equal paths, and further runs,
    have the answer at once.

    Parameters
    ----------
    rule
        Window rule.
    rtt, bandwidth
        Round-trip time without queue in s, and packets/s, None for a path that never queues.
    largest
        Largest window in packets.
    steps
        Steps of the fluid in a round trip, each with this fraction of a window.
    """
    if rule.counts_acks:
        return True
    rate = None if bandwidth is None else _to_grid(bandwidth, round)
    window = _to_grid(largest, math.ceil)
    part = max(MIN_STEPS, _to_grid(steps, math.floor))
    rtts = {_to_grid(rtt, math.floor), _to_grid(rtt, math.ceil)}
    return not all(_agrees(rule, grid_rtt, rate, window, part) for grid_rtt in sorted(rtts))


def _to_grid(value: float, rounding: Callable[[float], int]) -> float:
    """Return one of `GRID_PER_OCTAVE` values in each factor of two."""
    if not 0.0 < value < math.inf:
        return value
    return float(2.0 ** (rounding(GRID_PER_OCTAVE * math.log2(value)) / GRID_PER_OCTAVE))


@lru_cache(maxsize=512)
def _agrees(rule: Dynamics, rtt: float, bandwidth: float | None, largest: float, part: float) -> bool:
    """Return whether several ACKs at once, ``part`` of a window, give the windows and times of single ACKs."""
    signature = (signature_of(rule),)
    on_ack, on_loss = events_of(signature, several=False)[0][:2]
    functions = np.array([on_ack, events_of(signature, several=True)[0][0], on_loss], np.uint64)
    path = rtt, 0.0 if bandwidth is None else 1.0 / bandwidth

    def differences(samples: list[tuple[Any, float, float, int]], parts: list[float]) -> Any:
        """Return the differences from each sample: state, time, ACKs and cycles."""
        states, times, counts, cycles = map(np.array, zip(*samples, strict=True))
        room = np.zeros(states.shape[1]), np.zeros(states.shape[1])
        out = np.zeros((len(states), len(parts)))
        run = engine(KERNEL, "single_acks")
        run((states, times, counts, cycles), path, np.array(parts), functions, room, out)
        return out

    # 1. Windows after a loss, and after some time without one.
    samples = []
    for window in np.geomspace(SMALLEST_WINDOW, max(2.0 * SMALLEST_WINDOW, largest), WINDOWS):
        numbers, cwnd = _after_loss(rule, rtt, bandwidth, float(window))
        rounds = min(MAX_ACKS, max(MIN_ACKS, ROUNDS * cwnd))
        samples.append((numbers, LOSS_TIME, rounds, 0))
        samples += [(numbers, LOSS_TIME + pause, cwnd, 0) for pause in PAUSES]
    tolerances = np.tile(WINDOW_TOLERANCES, WINDOWS)[:, None]
    if not (differences(samples, [part, ACK_PIECE]) <= tolerances).all():
        return False
    # 2. Durations of loss cycles of which Reno's window is at most the largest.
    peaks = {count: math.sqrt(8.0 * count / 3.0) for count in CYCLES}
    counts = [count for count in CYCLES if peaks[count] <= largest] or [min(CYCLES)]
    samples = [
        (_after_loss(rule, rtt, bandwidth, peaks[count])[0], LOSS_TIME, count, CYCLES[count]) for count in counts
    ]
    return bool((differences(samples, [part]) <= TIME_TOLERANCE).all())


def _after_loss(rule: Dynamics, rtt: float, bandwidth: float | None, window: float) -> tuple[Any, float]:
    """Return state and parameters after a loss at ``window`` packets, and the window then."""
    first = parameters_at(type(rule))
    state = rule.start(rtt, bandwidth)._replace(cwnd=float(window))
    if "ssthresh" in state._fields:
        state = state._replace(ssthresh=2.0)
    state = rule.on_loss(state, rule.params, Event(LOSS_TIME, rtt))
    numbers = np.zeros(first + MAX_PARAMETERS)
    numbers[: len(state)] = state
    params = list(numbers_of(rule).values())
    numbers[first : first + len(params)] = params
    return numbers, float(state.cwnd)
