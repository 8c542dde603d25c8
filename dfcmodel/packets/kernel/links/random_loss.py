"""Packets of data that a link loses at random as they arrive."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from ..random_numbers import uniform

__all__ = ["is_lost_at_random"]


@inlined
def is_lost_at_random(net: Any, senders: Any, p: int, e: int) -> bool:
    """Draw whether the link of port p, which has LOSES, loses arriving packet e; never ACKs, which draw no number.

    Callers read LOSES, so that ports without losses read nothing else.
    """
    it = net.packet[e]
    return bool(it.hop < senders.flow[it.flow].turn and uniform(net.stream, p) < net.fault[p].loss)
