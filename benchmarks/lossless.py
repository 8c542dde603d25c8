"""Headrooms per minute, shared pools of 64 ports with 8 classes, deadlock of 1,024 switches; seconds of CPU time.

Beside them: SONiC's formula, which is no worst case, and cycles of buffers by networkx, which lists the paths.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import networkx as nx

from benchmarks.timing import Row, compare
from dfcmodel import headroom
from dfcmodel.lossless import (
    PausedGroups,
    buffer_cycles,
    dragonfly,
    fat_tree,
    headroom_pool,
    leaf_spine,
    longest_blocking,
    overflow,
    torus,
    worst_demand,
)
from dfcmodel.lossless.paused.published import sonic_xoff
from dfcmodel.lossless.results import HeadroomPool

GIGABITS = (10, 25, 100, 200, 400)
RATES = tuple(f"{rate}Gbps" for rate in GIGABITS)
CELLS = (None, 144, 192, 256)
SHARES = (0.0, 0.5, 1.0)
CONFIGURATIONS = 1200


def rows() -> list[Row]:
    """Return the time of many headrooms, and those of the questions about a pool."""
    found = compare(
        f"{CONFIGURATIONS} headrooms",
        {"headroom(...).bytes": headrooms, "SONiC's formula": formulas},
        rounds=5,
        clock=time.process_time,
    )
    found = [replace(row, note=per_minute(row.seconds)) for row in found]
    pool = shared_pool()
    questions: dict[str, Callable[[], object]] = {
        "worst_demand, no limit": lambda: worst_demand(pool),
        "worst_demand, blocked 20 us": lambda: worst_demand(pool, blocked="20 us"),
        "longest_blocking": lambda: longest_blocking(pool),
        "overflow": lambda: overflow(pool, PausedGroups(0.01)).least_size(1e-9),
    }
    task = "a pool of 64 ports x 8 classes"
    found += compare(task, questions, rounds=3, clock=time.process_time)
    task = "deadlock by all shortest paths, 1,024 switches"
    found += compare(task, fabrics(), rounds=3, note=cycle, clock=time.process_time)
    for name, graph in {"fat tree, 8 ports": fat_tree(8), "torus, 8 x 8": torus([8, 8])}.items():
        ways: dict[str, Callable[[], object]] = {
            "buffer_cycles": partial(first_cycle, graph),
            "networkx": partial(cycle_by_networkx, graph),
        }
        task = f"deadlock by all shortest paths, {name}"
        found += compare(task, ways, rounds=5, note=cycle, clock=time.process_time)
    return found


def fabrics() -> dict[str, Callable[[], object]]:
    """Return the search for cycles of buffers in networks of about 1,024 switches."""
    failed = leaf_spine(992, 32)
    failed.remove_edges_from([(("leaf", 0), ("spine", 0)), (("spine", 0), ("leaf", 0))])
    networks = {
        "torus, 32 x 32": torus([32, 32]),
        "dragonfly, 16 x 4": dragonfly(16, 4),
        "fat tree, 28 ports": fat_tree(28),
        "leaf-spine, 992 x 32, one link failed": failed,
    }
    return {name: partial(first_cycle, graph) for name, graph in networks.items()}


def first_cycle(graph: Any) -> list[Any] | None:
    """Return a minimal cycle of buffers, None where there is none."""
    return next(buffer_cycles(graph), None)


def cycle_by_networkx(graph: Any) -> list[Any] | None:
    """Return a cycle of buffers by the functions of networkx for paths and cycles."""
    ends = [node for node, hosts in graph.nodes(data="hosts") if hosts] or list(graph)
    waits: nx.DiGraph[Any] = nx.DiGraph()
    for a, b in itertools.permutations(ends, 2):
        for path in nx.all_shortest_paths(graph, a, b):
            nx.add_path(waits, itertools.pairwise(path))
    try:
        return list(nx.find_cycle(waits))
    except nx.NetworkXNoCycle:
        return None


def cycle(_name: str, found: object) -> str:
    """Return whether there is a cycle."""
    return f"a cycle of {len(found)} buffers" if isinstance(found, list) else "free"


def per_minute(seconds: float) -> str:
    """Return how many configurations a minute has."""
    return f"{60.0 * CONFIGURATIONS / seconds:,.0f} configurations per minute"


def formulas() -> float:
    """Return the sum of SONiC's formula over the same rates, cables and cells."""
    total = 0.0
    for k in range(CONFIGURATIONS):
        rate, length = GIGABITS[k % 5] * 1e9, 1.0 + 7 * k % 30_000
        total += sum(sonic_xoff(rate, length, cell=CELLS[k % 4] or 192).values())
    return total


def headrooms() -> int:
    """Return the sum of the headrooms of different configurations, each computed alone."""
    total = 0
    for k in range(CONFIGURATIONS):
        size = headroom(
            RATES[k % 5],
            f"{1 + 7 * k % 30_000}m",
            9216,
            4096,
            CELLS[k % 4],
            small_packets=SHARES[k % 3],
        ).bytes
        assert isinstance(size, int)
        total += size
    return total


def shared_pool() -> HeadroomPool:
    """Return a pool of 64 ports of 400 Gb/s with 8 classes each, and dynamic thresholds."""
    port = headroom("400Gbps", "300m", 9216, 4096, 192, classes=8)
    return headroom_pool(port, 64, size="40 MB", shared="60 MB", alpha=0.125)
