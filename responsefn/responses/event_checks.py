"""Whether many ACKs of a rule can be taken at once, as a fluid does, or each must be an event of its own."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import loop_of
from responsefn.responses.cycle_loops import KERNEL
from responsefn.responses.dynamics import Event
from responsefn.responses.rule_compilation import numbers_of
from responsefn.responses.rule_events import (
    MAX_PARAMETERS,
    MAX_STATE,
    events_of,
    parameters_at,
    signature_of,
)

if TYPE_CHECKING:
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


@lru_cache(maxsize=512)
def acts_on_single_acks(
    rule: Dynamics, rtt: float, bandwidth: float | None, largest: float, steps: float
) -> bool:
    """Return whether a rule must see each ACK: it says so, or several ACKs at once give another window.

    From windows up to the ``largest`` one, in packets, after a loss and some time later.

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
    states, times, counts = _samples(rule, rtt, bandwidth, largest)
    signature = (signature_of(rule),)
    single, several = (
        events_of(signature, several=many)[0, :1].astype(np.uint64) for many in (False, True)
    )
    parts = np.array([max(FEWEST_STEPS, steps), PIECE])
    out = np.zeros((len(states), len(parts)))
    one, many = np.zeros(states.shape[1]), np.zeros(states.shape[1])
    service = 0.0 if bandwidth is None else 1.0 / bandwidth
    loop_of(KERNEL, "events")(
        states, times, rtt, service, counts, parts, single, several, one, many, out
    )
    most = np.tile(DIFFERENCES, WINDOWS)[:, None]
    return not bool((out <= most).all())


def _samples(
    rule: Dynamics, rtt: float, bandwidth: float | None, largest: float
) -> tuple[Any, Any, Any]:
    """Return states with parameters, times in s, and the ACKs that follow."""
    first = parameters_at(type(rule))
    states, times, counts = [], [], []
    for window in np.geomspace(SMALLEST, max(2.0 * SMALLEST, largest), WINDOWS):
        state = rule.start(rtt, bandwidth)._replace(cwnd=float(window))
        if "ssthresh" in state._fields:
            state = state._replace(ssthresh=2.0)
        state = rule.on_loss(state, rule.params, Event(BEGIN, rtt))
        numbers = np.zeros(first + MAX_PARAMETERS)
        numbers[: len(state)] = state
        values = list(numbers_of(rule).values())
        numbers[first : first + len(values)] = values
        rounds = min(MAX_ACKS, max(MIN_ACKS, ROUNDS * state.cwnd))
        for pause, count in zip(
            (0.0, *PAUSES), (rounds, *len(PAUSES) * (state.cwnd,)), strict=True
        ):
            states.append(numbers)
            times.append(BEGIN + pause)
            counts.append(count)
    assert first >= MAX_STATE
    return np.array(states), np.array(times), np.array(counts)
