"""malhotra2005 in ns-3: TCP over two bridges at RTTs of 10 and 20 s, with seeds for intervals of 1 %.

At such RTTs a seed scatters by 15 percentage points and more, for losses come in patterns that last
for many RTTs; the half-width of a gain falls below one point with some ten times the seeds of
``tcp-rtt-think``. Everything else is as there.
"""

from __future__ import annotations

from dataclasses import replace

from validation.generate import ns3_pause_tcp
from validation.generate.cases import Case

SEEDS = {10.0: 600, 20.0: 1100}
BASE = next(case for case in ns3_pause_tcp.CASES if case.name == "malhotra2005/tcp-rtt-think")


def _case(rtt: float, seeds: int) -> Case:
    points = [point for point in BASE.runs[0]["points"] if point["rtt"] == rtt]
    return replace(
        BASE,
        name=f"malhotra2005/tcp-rtt-{rtt:g}-think",
        title=f"TCP Reno over two bridges, one second of think time: RTT {rtt:g} s, {seeds} seeds",
        parameters={**BASE.parameters, "seeds": (seeds, "1")},
        runs=[{"seed": seed, "points": points} for seed in range(1, seeds + 1)],
        sources=(*BASE.sources, "validation/generate/ns3_pause_tcp_long.py"),
    )


CASES = tuple(_case(rtt, seeds) for rtt, seeds in SEEDS.items())
