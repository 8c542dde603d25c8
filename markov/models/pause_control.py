"""Parameters that every pause chain has: thresholds, rates, the states of aggregate TCP.

Source: malhotra2005, Sect. III.A, whose symbols are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hopflow.checks import number, one_number, whole

UP, DOWN = 1, 2  # a link at its full rate, a paused one
ROOM = 8  # tuples of rates are as long as a multiple of this


def check_control(p: Any, smallest: int, why: str) -> None:
    """Check the parameters that every pause chain has: thresholds, rates, the round-trip time.

    ``smallest`` is the largest threshold that the buffers allow, and ``why`` says which that is.
    """
    high = whole("high_threshold", p.high_threshold, 1, smallest, why=why)
    if p.low_threshold is not None:
        whole("low_threshold", p.low_threshold, 1, high, why="at most the high threshold")
    one_number("link_rate", p.link_rate, above=0.0)
    one_number("paused_rate", p.paused_rate, at_least=0.0)
    one_number("bottleneck_rate", p.bottleneck_rate, above=0.0)
    rates = number("arrival_rates", p.arrival_rates, at_least=0.0)
    if rates.ndim != 1 or not np.any(rates > 0):
        msg = "must be one rate per TCP state, at least one of them > 0"
        raise ValueError(f"arrival_rates = {p.arrival_rates!r}: {msg}")
    one_number("rtt", p.rtt, above=0.0, hint="in seconds")


def with_room(rates: Any) -> tuple[float, ...]:
    """Return the rates of the TCP states, filled up with zeros to a multiple of eight.

    Kernels are compiled for the length of a tuple: up to eight states share one. No rule asks for a
    rate beyond the last state's.
    """
    return tuple(map(float, rates)) + (0.0,) * (-len(rates) % ROOM)


def control_symbols(p: Any) -> dict[str, Any]:
    """Return the shared parameters under the paper's symbols: T1, T2, mu1, mu2, nu, rates, N, 1/RTT."""
    return {
        "T1": int(p.high_threshold),
        "T2": int(p.high_threshold if p.low_threshold is None else p.low_threshold),
        "mu1": float(p.link_rate),
        "mu2": float(p.paused_rate),
        "nu": float(p.bottleneck_rate),
        "rates": with_room(p.arrival_rates),
        "N": len(p.arrival_rates),
        "recovery_rate": 1.0 / float(p.rtt),
    }
