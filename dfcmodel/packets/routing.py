"""Where switches choose the next hop of a packet, and where times to live are over, by hops of a plan."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["EXPIRES", "choices_of", "routing_ports"]

EXPIRES: tuple[int, ...] = (-1,)
"""The choices where a time to live is over."""


def choices_of(plan: Any) -> dict[int, tuple[int, ...]]:
    """Return the rows of the other hops among which a switch chooses, by that of the packet's path; EXPIRES: it is dropped.

    A choice is among the links that continue what paths of a flow have in common up to there. Of the paths that go on over a link path k gets
    that of number k, modulo how many there are: with the first one for all, switches behind would prefer its links at ties.
    """
    found: dict[int, tuple[int, ...]] = {}
    table, spraying = plan.scenario.table, plan.spraying
    chooses = spraying is not None and plan.method.spraying == "least queue"
    limited = np.flatnonzero(table.given("ttl")).tolist()
    starts = plan.hops.row[plan.hops.begins & ~plan.hops.is_ack]
    for f in limited:
        links, ttl = len(table.paths[f]) - 1, int(table.columns["ttl"][f])
        if ttl < links:
            found[int(starts[f]) + int(plan.forward.counts[f]) - links + ttl] = EXPIRES
    if spraying is None or not chooses:
        return found
    for f in np.flatnonzero(spraying.count > 0).tolist():
        ways = [spraying.way_of(f, k) for k in range(int(spraying.count[f]))]
        paths = [plan.forward[way] for way in ways]
        onwards: dict[tuple[int, ...], dict[int, list[int]]] = {}
        for way, path in zip(ways, paths, strict=True):
            for d in range(1, len(path)):
                rows = onwards.setdefault(path[:d], {}).setdefault(path[d], [])
                rows.append(int(starts[way]) + d)
        for k, (way, path) in enumerate(zip(ways, paths, strict=True)):
            for d in range(1, len(path)):
                ports = onwards[path[:d]]
                if len(ports) > 1:
                    others = (rows[k % len(rows)] for port, rows in ports.items() if port != path[d])
                    found[int(starts[way]) + d] = tuple(others)
    return found


def routing_ports(plan: Any) -> dict[int, tuple[int, ...]]:
    """Return the ports at which choices are made, or times to live are over, each with those that are processed with it.

    Raises
    ------
    ValueError
        For a port with DFC, whose rates are those of paths.
    """
    choices = plan.choices
    port_of = dict(zip(plan.hops.row.tolist(), plan.hops.port.tolist(), strict=True))
    alone: set[int] = set()
    together: set[int] = set()
    for row, others in choices.items():
        if others is EXPIRES:
            alone.add(port_of[row])
        else:
            together.update(port_of[other] for other in (row, *others))
    for p in sorted(alone | together):
        if plan.ports[p].discipline.diffuses:
            msg = "must not be DFC, whose rates are those of paths, where packets are routed"
            raise ValueError(f"discipline of link {plan.ports[p].name}: {msg}")
    by_node: dict[object, set[int]] = {}
    for p in sorted(together):
        by_node.setdefault(plan.ports[p].source, set()).update((p, *plan.counting[p]))
    found = {p: tuple(sorted(plan.counting[p])) for p in alone}
    for group in by_node.values():
        found |= dict.fromkeys(sorted(group), tuple(sorted(group)))
    return found
