"""Rows of the engine's arrays that stand for what a plan does not have: the kernel finds in them that there is none."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfcmodel.network.callback_events import AGENT_EVENTS, LAW_EVENTS, PROGRAM_EVENTS
from dfcmodel.network.endpoints.receivers import MAX_OF_FLOW
from dfcmodel.network.queueing.programs import MOST_TELEMETRY
from dfcmodel.packets.kernel.layout import (
    AGENT,
    BACKFLOW,
    ELEMENT,
    FOLLOW,
    FOLLOWER,
    LAW,
    OWN,
    PROGRAM,
    QUEUE,
    STORM,
    WATCHDOG,
)

__all__ = ["absent_rows", "no_followers"]


def absent_rows() -> dict[str, Any]:
    """Return the arrays, by their names in the kernel, of a plan without any of these.

    They are queue managers called by address, switch programs, receiver agents, laws between the ends of links, with the
    addresses of their functions; elements of paths, backpressure, flows that wait for others, choices and failures of routes, watchdogs.
    """
    law = np.zeros(1, LAW)
    law["kind"] = -1
    return {
        "managers": np.zeros(1, dtype=np.uint64),
        "programs": np.zeros((1, len(PROGRAM_EVENTS)), dtype=np.uint64),
        "program": np.zeros(1, PROGRAM),
        "own": np.zeros(1, OWN),
        "rank": np.zeros(1),
        "program_queue": np.zeros(1, QUEUE),
        "trimmed": np.zeros(1, dtype=np.int32),
        "telemetry": np.zeros((1, 1, 1 + MOST_TELEMETRY)),
        "agents": np.zeros((1, len(AGENT_EVENTS)), dtype=np.uint64),
        "agent": np.zeros(1, AGENT),
        "agent_state": np.zeros((1, MAX_OF_FLOW)),
        "agent_sizes": np.zeros(1),
        "laws": np.zeros((1, len(LAW_EVENTS)), dtype=np.uint64),
        "law": law,
        "lawful": np.full(1, -1, dtype=np.int32),
        "element": np.zeros(1, ELEMENT),
        "steps": np.zeros((1, 2)),
        "chain": np.full(1, -1, dtype=np.int64),
        "chain_of": np.zeros(1, dtype=np.int64),
        "rated": np.zeros(1, dtype=np.int64),
        "backflow": np.zeros(1, BACKFLOW),
        **no_followers(),
        "choice": np.zeros((1, 2), dtype=np.int32),
        "candidates": np.zeros(0, dtype=np.int32),
        "down": np.zeros((0, 2)),
        "downs": np.zeros((1, 2), dtype=np.int64),
        "epochs": np.zeros(0),
        "routes": np.zeros((1, 1, 2), dtype=np.int32),
        "turns": np.zeros(0, dtype=np.int32),
        "watchdog": np.zeros(1, WATCHDOG),
        "detected": np.zeros(1, STORM),
    }


def no_followers() -> dict[str, Any]:
    """Return the arrays, by their names in both kernels, of a plan whose flows wait for none."""
    return {"follow": np.zeros(0, FOLLOW), "followers": np.zeros(0, FOLLOWER)}
