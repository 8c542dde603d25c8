"""Fabrics of leaves and one spine, in which each flow has one path: RoCE at line rate under PFC."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from validation.generate.cases import Case
from validation.generate.htsim.inputs import TABLES, calls, read, simulated_seconds
from validation.generate.htsim.program import Htsim

__all__ = ["CASES"]

LEAVES, HOSTS = 4, 8
"""32 hosts."""
LONG_PACKETS, SHORT_PACKETS = 489, 62
"""Packets of 4096 bytes: 2 MB and 254 kB."""

Flows = list[tuple[int, int, int]]
"""Sources, targets and packets. All flows start at 0: htsim's program for RoCE reads other starts and ignores them."""


def _run(name: str, flows: Flows, end: float, **fabric: Any) -> dict[str, Any]:
    """Return a run; all links have 100 Gb/s, which is what htsim lets one spine have."""
    one = {
        "leaves": LEAVES,
        "spines": 1,
        "hosts": HOSTS,
        "access": 100e9,
        "trunk": 100e9,
        "xoff": 20,
        "xon": 10,
    }
    return {"run": name, "flows": flows, "end": end, **one, **fabric}


def _to(target: int, sources: Iterable[int], packets: int = LONG_PACKETS) -> Flows:
    return [(source, target, packets) for source in sources]


def _shifted(by: int, within: int) -> Flows:
    """Return a permutation: each host sends to the one ``by`` places on among ``within`` hosts."""
    hosts = range(LEAVES * HOSTS)
    return [(h, h - h % within + (h + by) % within, LONG_PACKETS) for h in hosts]


def _all_to_all(hosts: int, packets: int) -> Flows:
    return [(a, b, packets) for a in range(hosts) for b in range(hosts) if a != b]


def _random(seed: int, flows: int, *, apart: bool = False) -> Flows:
    """Return flows between hosts drawn at random, with Pareto sizes; ``apart``: none sends and receives."""
    draw, found, total = random.Random(seed), dict[tuple[int, int], int](), LEAVES * HOSTS
    while len(found) < flows:
        source, target = draw.sample(range(total), 2)
        if apart:
            source, target = source // 2, total // 2 + target // 2
        found.setdefault((source, target), min(2000, int(10 * draw.paretovariate(1.1))))
    return [(*pair, packets) for pair, packets in found.items()]


CASES = (
    Case(
        name="htsim/roce",
        title="Flows of RoCE at line rate with go-back-N under PFC, 32 hosts at 4 leaves and one spine",
        claims=(),
        program=Htsim(),
        parameters={
            "size of the packets": (4096, "bytes"),
            "delay of each link": (1e-6, "s"),
            "buffer of each queue": (1000, "packets"),
            "recovery": ("go-back-N, an ACK per packet", ""),
        },
        tables=TABLES,
        runs=[
            _run("incast of 4 in a leaf", _to(0, range(1, 5)), 0.01),
            _run("incast of 16 through the spine", _to(0, range(8, 24)), 0.02),
            _run("incast of 31", _to(0, range(1, 32)), 0.03),
            _run(
                "two incasts and a flow beside them",
                [*_to(0, range(8, 16)), *_to(1, range(16, 24)), *_to(2, [24])],
                0.02,
            ),
            _run("permutation between leaves", _shifted(8, 32), 0.01),
            _run("permutation of hosts with a leaf each", _shifted(8, 32), 0.01, leaves=32, hosts=1),
            _run("permutation within leaves", _shifted(1, 8), 0.01),
            _run("all-to-all of 16", _all_to_all(16, SHORT_PACKETS), 0.01),
            _run("all-to-all of 32, four packets each", _all_to_all(32, 4), 0.01),
            _run(
                "four sizes to one host",
                [flow for n, h in enumerate((24, 16, 8, 1)) for flow in _to(0, [h], 100 * 2**n)],
                0.01,
            ),
            _run("60 random flows", _random(1, 60), 0.02),
            _run("200 random flows", _random(2, 200), 0.02),
            _run("60 random flows, receivers send nothing", _random(3, 60, apart=True), 0.02),
            _run("200 random flows, receivers send nothing", _random(4, 200, apart=True), 0.02),
            _run(
                "16 to 16, four packets each",
                [(a, b, 4) for a in range(16) for b in range(16, 32)],
                0.01,
            ),
        ],
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=(
            "One spine, so that each flow has one path: what differs is not the hash of routes.",
            "No switch takes time, and no two flows are between the same hosts.",
            "A packet has a header of 64 bytes besides its 4096 (rocepacket.h). All flows start at 0.",
        ),
    ),
)
