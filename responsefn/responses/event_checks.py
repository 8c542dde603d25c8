"""Whether many ACKs of a rule can be taken at once, as a fluid does, or each must be an event of its own."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import engine
from responsefn.responses.dynamics import Event
from responsefn.responses.loss_cycles.cycle_loops import KERNEL
from responsefn.responses.rule_events import (
    MAX_PARAMETERS,
    events_of,
    numbers_of,
    parameters_at,
    signature_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from responsefn.responses.dynamics import Dynamics

__all__ = ["acts_on_single_acks"]

FEWEST_STEPS, PIECE = 8.0, 0.25
"""A fluid takes an eighth of a window at once at most; in short steps pieces of an ACK, here quarters."""
WINDOWS, SMALLEST = 6, 16.0
"""How many, from this one, in packets, to the largest one of a path. In smaller ones a piece of an ACK is a part of the window."""
ROUNDS, MIN_ACKS, MAX_ACKS = 8.0, 4000.0, 100_000.0
"""Windows of ACKs that are followed after a loss, and least and most ACKs."""
BEGIN = 100.0
"""When the loss is, in s."""
PAUSES = (1.5, 40.0)
"""Seconds after the loss at which another round trip is followed, whatever timers a rule has."""
DIFFERENCES = (0.05, 0.2, 0.2)
"""Part of the change of a window by which both may differ after a loss, and after each pause, when windows may grow
by half in a round trip."""
CYCLES = {100.0: 12, 300.0: 12, 1e3: 12, 3e3: 12, 1e4: 6, 3e4: 3, 1e5: 2}
"""Loss cycles that are compared, by their ACKs."""
GRADES = 8
"""Values of round-trip times, rates, windows and steps in a factor of two: 9 % apart."""
SAME_TIME = 0.005
"""Relative difference of the times of the same cycles up to which several ACKs may be taken at once."""


@lru_cache(maxsize=512)
def acts_on_single_acks(
    rule: Dynamics, rtt: float, bandwidth: float | None, largest: float, steps: float
) -> bool:
    """Return whether a rule must see each ACK: it says so, or several ACKs at once give other windows or times.

    Windows are compared after a loss and some time later, up to the ``largest`` one; times over loss cycles of 100
    to 100,000 packets, which may differ by 0.5 %. Paths that differ by a few per cent are compared as one, by `GRADES`
    values in a factor of two: both must agree at the round-trip time below and above, with the nearest rate, the
    largest window above and the steps below. Flows on equal paths, and further runs, have the answer at once.

    Parameters
    ----------
    rule
        Window rule.
    rtt, bandwidth
        Round-trip time without queue in s, and packets/s, None for a path that never queues.
    largest
        In packets.
    steps
        Of the fluid in a round trip: each takes this part of a window at once.
    """
    if rule.counts_acks:
        return True
    rate = None if bandwidth is None else _graded(bandwidth, round)
    window = _graded(largest, math.ceil)
    part = max(FEWEST_STEPS, _graded(steps, math.floor))
    times = {_graded(rtt, math.floor), _graded(rtt, math.ceil)}
    return not all(_agree(rule, time, rate, window, part) for time in sorted(times))


def _graded(value: float, rounded: Callable[[float], int]) -> float:
    """Return one of `GRADES` values in each factor of two."""
    if not 0.0 < value < math.inf:
        return value
    return float(2.0 ** (rounded(GRADES * math.log2(value)) / GRADES))


@lru_cache(maxsize=512)
def _agree(
    rule: Dynamics, rtt: float, bandwidth: float | None, largest: float, part: float
) -> bool:
    """Return whether several ACKs at once, ``part`` of a window, give the windows and times of single ones."""
    return _windows_agree(rule, rtt, bandwidth, largest, part) and _cycles_agree(
        rule, rtt, bandwidth, largest, part
    )


def _addresses(rule: Dynamics) -> Any:
    """Return the addresses of a rule's events: a single ACK, several at once, a loss; shape (3,)."""
    signature = (signature_of(rule),)
    single, several = (events_of(signature, several=many)[0] for many in (False, True))
    return np.array([single[0], several[0], single[1]], dtype=np.uint64)


def _service(bandwidth: float | None) -> float:
    """Return the time of a packet in s, 0 for a path that never queues."""
    return 0.0 if bandwidth is None else 1.0 / bandwidth


def _windows_agree(
    rule: Dynamics, rtt: float, bandwidth: float | None, largest: float, part: float
) -> bool:
    """Return whether windows after a loss, and some time later, grow by the same."""
    states, times, counts = _samples(rule, rtt, bandwidth, largest)
    events = _addresses(rule)
    parts = np.array([part, PIECE])
    out = np.zeros((len(states), len(parts)))
    one, many = np.zeros(states.shape[1]), np.zeros(states.shape[1])
    samples, path = (states, times, counts), (rtt, _service(bandwidth))
    functions = events[:1], events[1:2]
    engine(KERNEL, "events")(samples, path, parts, functions, (one, many), out)
    most = np.tile(DIFFERENCES, WINDOWS)[:, None]
    return bool((out <= most).all())


def _cycles_agree(
    rule: Dynamics, rtt: float, bandwidth: float | None, largest: float, part: float
) -> bool:
    """Return whether loss cycles take the same time, of windows up to ``largest`` packets."""
    counts = [count for count in CYCLES if _reno_window(count) <= largest] or [min(CYCLES)]
    states = np.array(
        [_after_loss(rule, rtt, bandwidth, _reno_window(count))[0] for count in counts]
    )
    out = np.zeros(len(states))
    one, many = np.zeros(states.shape[1]), np.zeros(states.shape[1])
    cycles = np.array([CYCLES[count] for count in counts])
    samples, path = (states, np.array(counts), cycles, out), (rtt, _service(bandwidth))
    engine(KERNEL, "event_cycles")(samples, BEGIN, path, _addresses(rule), part, (one, many))
    return bool((out <= SAME_TIME).all())


def _reno_window(packets: float) -> float:
    """Return Reno's window at a loss every so many packets: sqrt(8 n / 3)."""
    return math.sqrt(8.0 * packets / 3.0)


def _after_loss(
    rule: Dynamics, rtt: float, bandwidth: float | None, window: float
) -> tuple[Any, float]:
    """Return state and parameters after a loss at ``window`` packets, and the window then."""
    first = parameters_at(type(rule))
    state = rule.start(rtt, bandwidth)._replace(cwnd=float(window))
    if "ssthresh" in state._fields:
        state = state._replace(ssthresh=2.0)
    state = rule.on_loss(state, rule.params, Event(BEGIN, rtt))
    numbers = np.zeros(first + MAX_PARAMETERS)
    numbers[: len(state)] = state
    values = list(numbers_of(rule).values())
    numbers[first : first + len(values)] = values
    return numbers, float(state.cwnd)


def _samples(
    rule: Dynamics, rtt: float, bandwidth: float | None, largest: float
) -> tuple[Any, Any, Any]:
    """Return states with parameters, times in s, and the ACKs that follow."""
    states, times, counts = [], [], []
    for window in np.geomspace(SMALLEST, max(2.0 * SMALLEST, largest), WINDOWS):
        numbers, cwnd = _after_loss(rule, rtt, bandwidth, float(window))
        rounds = min(MAX_ACKS, max(MIN_ACKS, ROUNDS * cwnd))
        for pause, count in zip((0.0, *PAUSES), (rounds, *len(PAUSES) * (cwnd,)), strict=True):
            states.append(numbers)
            times.append(BEGIN + pause)
            counts.append(count)
    return np.array(states), np.array(times), np.array(counts)
