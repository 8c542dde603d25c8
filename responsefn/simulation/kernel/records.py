"""The state of a run: one record per flow, and one of the path."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "FLOW",
    "MAX_PARAMETERS",
    "MAX_STATE",
    "ON_ACK",
    "ON_LOSS",
    "ON_TIMEOUT",
    "PATH",
    "RECORD",
    "Network",
]

ON_ACK, ON_LOSS, ON_TIMEOUT = 0, 1, 2
"""Events of a window rule: columns of ``events``."""
MAX_STATE, MAX_PARAMETERS = 16, 16
"""Numbers that a window rule may have; see `responsefn.responses.rule_events`."""
RECORD = 5
"""Entries of the record of a wrong window before the state (`rule_checks.raise_wrong`)."""


def _fields(kind: type[Any], names: str) -> list[tuple[str, type[Any]]]:
    return [(name, kind) for name in names.split()]


FLOW = np.dtype(
    [
        *_fields(
            np.int64,
            "rule sent refused lost acked loss_events timeouts head tail recover after flight alive",
        ),
        *_fields(np.float64, "base_rtt due last latest srtt variance timer waited area peaks"),
        ("cwnd", np.float64),
        ("ssthresh", np.float64),
        ("rule_state", np.float64, (MAX_STATE - 2,)),
        ("parameters", np.float64, (MAX_PARAMETERS,)),
    ]
)
"""A flow.

rule: its row of events; sent: packets, and the place of the next one in its order of sending, by which its
ring goes; refused: by the full queue; lost: at random, behind the queue; loss_events: calls of
``on_loss`` and ``on_timeout``; head: place of the packet whose ACK is next; tail: what was sent before is
known to be delivered or lost; recover: losses before this place belong to an event already
punished; after: packets from tail to head that were delivered; flight: packets that the sender takes
for on their way; alive: packets whose ACKs will come.

base_rtt: propagation and processing, s; due: when it acts next, last: when it acted last, s; latest: last
ACK on its way, s; srtt (0: none yet), variance, timer: RFC 6298, s; waited: sum of its packets' waits in the
queue, s; area: integral of the window, packets s; peaks: sum of the windows before loss
events, packets.

cwnd, ssthresh, rule_state: the state of the window rule; parameters: of the rule. They stand one after
the other: its events get the place of cwnd.
"""

PATH = np.dtype(
    [
        *_fields(np.float64, "service buffer processing most least_timer least largest free"),
        *_fields(np.int64, "taken losses seed"),
    ]
)
"""The path: s per packet, packets that wait at most, longest random processing time in s, largest
window, least timer in s, limits of a window; free: when the server has sent what it holds, s; taken: packets
that it took, losses: how many of them were lost, seed: of the processing times.
"""


class Network(NamedTuple):
    """Flows on their path.

    Attributes
    ----------
    events
        Addresses of the events of each rule.
    flow, path
        Records of `FLOW`, one for each flow, and one of `PATH`.
    lost_at
        Which packets of the server get lost.
    sent_at, back_at
        The rings of the flows.
    wrong
        The record of a window that cannot be.
    """

    events: Any
    flow: Any
    path: Any
    lost_at: Any
    sent_at: Any
    back_at: Any
    wrong: Any
