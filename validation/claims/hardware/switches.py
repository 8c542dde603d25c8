"""The queue of a real switch under Linux's Reno and CUBIC against the saw tooth (S07).

Source of the measurements: Spang, Arslan and McKeown 2021, see ``published/SOURCES.md``.
"""

from __future__ import annotations

import pandas as pd

from validation.claims.effect_claims import Curve, Effects, Statement, effects
from validation.records import rows
from validation.statistics import Estimate
from validation.verdicts import Verdict

TABLE = "spang2021_queue_depths.csv"
LINK, PACKET, RTT = 10e9, 9000, 1e-3
"""Rate of the link in bit/s, bytes of a packet, the delay added at the sender in s."""
LONGER = 1.2e-3
"""A round-trip time with the hosts' own delay, s, for the experiment."""
CUTS = {"reno": 0.5, "cubic": 0.3}
"""Part of the window given up at a loss (RFC 5681, RFC 9438)."""
NAMES = {"reno": "Reno", "cubic": "CUBIC"}
FEW, MANY = 1, 64
SHALLOW = 20.0
"""Buffers in packets below which depths of a few packets cannot be distinguished."""


def trough(buffer: float, cut: float, rtt: float = RTT) -> float:
    """Return the queue after a flow has cut its window at a full buffer, packets.

    The window of C + B packets, C the bandwidth-delay product, falls to (1 - b)(C + B); what is more
    than C of it stays in the queue.
    """
    product = LINK * rtt / (8 * PACKET)
    return max(0.0, (1.0 - cut) * (product + buffer) - product)


@effects("S07", cases=(), equal=True)
def queue_depths() -> Effects:
    """Measure the lowest per cent of the queue, and how many flows raise it."""
    table = pd.DataFrame(rows(TABLE))
    table = table.astype({name: float for name in table.columns if name != "algorithm"})

    def depths(rule: str, number: float, column: str) -> pd.Series[float]:
        chosen = table[(table["algorithm"] == rule) & (table["flows"] == number)]
        return chosen.set_index("buffer")[column]

    found: dict[str, dict[float, float]] = {
        rule: dict(depths(rule, FEW, "depth_p01")) for rule in CUTS
    }

    def apart(rtt: float) -> list[float]:
        return [
            (low - trough(size, CUTS[rule], rtt)) / size
            for rule, sizes in found.items()
            for size, low in sizes.items()
            if size >= SHALLOW
        ]

    raised = []
    for rule in CUTS:
        one, many = (depths(rule, number, "depth_p05") for number in (FEW, MANY))
        gain = ((many - one) / one.index.to_numpy()).dropna()
        raised += gain[gain.index >= SHALLOW].tolist()
    return Effects(
        {
            "trough": Statement(
                tuple(Estimate(e, 0.0) for e in apart(RTT)), Verdict.NOT_APPLICABLE, equal=True
            ),
            "flows": Statement(
                tuple(Estimate(e, 0.0) for e in raised), Verdict.NOT_APPLICABLE
            ),
        },
        {
            NAMES[rule]: Curve(
                list(sizes),
                [Estimate(low, 0.0) for low in sizes.values()],
                [trough(size, CUTS[rule]) for size in sizes],
            )
            for rule, sizes in found.items()
        },
        ("buffer (packets)", "lowest per cent of the queue, one flow (packets)"),
        values={
            "largest": max(map(abs, apart(RTT))), "longer": max(map(abs, apart(LONGER))),
            "least": min(raised), "most": max(raised), "runs": len(apart(RTT)),
        },
    )  # fmt: skip
