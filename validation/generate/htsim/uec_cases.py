"""Ultra Ethernet Transport on fabrics of leaves and spines: NSCC and RCCC, on one path and sprayed."""

from __future__ import annotations

import random
from typing import Any

from validation.generate.cases import Case
from validation.generate.htsim.program import Htsim
from validation.generate.htsim.uec_inputs import TABLES, calls, read, simulated_seconds

__all__ = ["CASES"]

LEAVES, HOSTS = 4, 8
"""32 hosts."""
LONG_PACKETS, SHORT_PACKETS = 489, 62
"""Packets of transfers."""

Flows = list[tuple[int, int, int, float]]
"""Sources, targets, packets and starts in s."""


def _run(name: str, flows: Flows, balancing: str = "one", control: str = "nscc", **given: Any) -> dict[str, Any]:
    """Return a run over links of 100 Gb/s and 1 us; marks and trimming as the program's defaults for them have it.

    NSCC has marks from a fifth to four fifths of a product of bandwidth and delay of 29 packets, and buffers in which nothing
    is lost; RCCC has buffers of one product, from which on packets are trimmed.
    """
    spines = 1 if balancing == "one" else HOSTS
    nscc = control == "nscc"
    one = {
        "leaves": LEAVES, "spines": spines, "hosts": HOSTS, "access": 100e9, "trunk": 100e9, "end": 0.02,
        "buffer": 1000 if nscc else 29, "low": 6 if nscc else 29, "high": 23 if nscc else 29,
    }  # fmt: skip
    return {
        "run": name, "flows": flows, "balancing": balancing, "control": control, **one, **given,
    }  # fmt: skip


def _to(target: int, sources: range, packets: int = LONG_PACKETS, gap: float = 0.0) -> Flows:
    """Return flows to one host that start a gap apart."""
    return [(source, target, packets, gap * n) for n, source in enumerate(sources)]


def _drawn(seed: int, flows: int) -> Flows:
    """Return flows between hosts drawn at random, with Pareto sizes and starts in the first 100 us."""
    draw, found = random.Random(seed), dict[tuple[int, int], tuple[int, float]]()
    while len(found) < flows:
        source, target = draw.sample(range(LEAVES * HOSTS), 2)
        size = min(2000, int(10 * draw.paretovariate(1.1)))
        found.setdefault((source, target), (size, 1e-6 * draw.randrange(100)))
    return [(*pair, *rest) for pair, rest in found.items()]


SHIFTED: Flows = [(h, (h + HOSTS) % (LEAVES * HOSTS), LONG_PACKETS, 0.0) for h in range(LEAVES * HOSTS)]
"""A permutation: each host sends to the one in its place at the next leaf."""
PAIRS: Flows = [(2 * a, 2 * b, SHORT_PACKETS, 0.0) for a in range(16) for b in range(16) if a != b]
"""An all-to-all of every second host."""
SIZES: Flows = [(h, 0, 100 * 2**n, 0.0) for n, h in enumerate((24, 16, 8, 1))]
INCAST = _to(0, range(8, 24))
RANDOM = _drawn(1, 60)

CASES = (
    Case(
        name="htsim/uec",
        title="Ultra Ethernet Transport, NSCC and RCCC, on one path and sprayed, 32 hosts at 4 leaves",
        claims=(),
        program=Htsim(
            tool="uet-htsim",
            name="htsim_uec",
            release="uet-htsim 40ccb0526bb6297eeb22ab33f9934fb35278dbaf",
            modules=("uec_cases", "uec_inputs", "inputs"),
        ),
        parameters={
            "size of the packets": (4096, "bytes"),
            "delay of each link": (1e-6, "s"),
            "seeds": ("1, 2, 3", ""),
            "ACKs": ("one per packet, selective", ""),
            "loss recovery": ("by the timer (NSCC), by NACKs of trimmed packets (RCCC)", ""),
        },
        tables=TABLES,
        runs=[
            _run("NSCC: incast of 7 in a leaf", _to(0, range(1, 8))),
            _run("NSCC: incast of 16", INCAST),
            _run(
                "NSCC: two incasts and a flow beside them",
                [*_to(0, range(8, 16)), *_to(1, range(16, 24)), (24, 2, LONG_PACKETS, 0.0)],
            ),
            _run("NSCC: permutation", SHIFTED),
            _run("NSCC: four sizes to one host", SIZES),
            _run("NSCC: 8 to one host, 40 us apart", _to(0, range(8, 16), gap=40e-6)),
            _run("NSCC: 60 random flows", RANDOM),
            _run("NSCC, hashed: permutation", SHIFTED, "hashed"),
            _run("NSCC, hashed: permutation, 4 spines", SHIFTED, "hashed", spines=4),
            _run("NSCC, hashed: incast of 16", INCAST, "hashed"),
            _run("NSCC, hashed: all-to-all of 16", PAIRS, "hashed"),
            _run("NSCC, hashed: 60 random flows", RANDOM, "hashed"),
            _run("NSCC, turns: permutation", SHIFTED, "turns"),
            _run("NSCC, turns: permutation, 4 spines", SHIFTED, "turns", spines=4),
            _run("NSCC, turns: incast of 16", INCAST, "turns"),
            _run("NSCC, turns: all-to-all of 16", PAIRS, "turns"),
            _run("NSCC, turns: 60 random flows", RANDOM, "turns"),
            _run("RCCC, hashed: permutation", SHIFTED, "hashed", "rccc"),
            _run("RCCC, hashed: incast of 16", INCAST, "hashed", "rccc"),
            _run("RCCC, hashed: incast of 31", _to(0, range(1, 32)), "hashed", "rccc"),
            _run("RCCC, hashed: all-to-all of 16", PAIRS, "hashed", "rccc"),
            _run("RCCC, hashed: 60 random flows", RANDOM, "hashed", "rccc"),
        ],
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=(
            "One spine: each flow has one path. Hashed: a packet has one of 64 entropies in turn, which switches hash over 8 spines.",
            "Turns: switches take spines in turn, whatever the flow. No switch takes time, and no two flows are between the same hosts.",
            "A packet of 4096 bytes has a header of 64 among them (uec.cpp). The program repeats with the same seed.",
        ),
    ),
)
