"""How flows repair losses, in words: by name where they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dfcmodel.network.flows import Flow

__all__ = ["by_recovery", "recoveries_differ", "repairs_of"]

MAX_NAMES = 3
"""Names of flows or rules for each recovery."""


def recoveries_differ(recoveries: Iterable[str]) -> bool:
    """Return whether flows repair losses in different ways.

    >>> recoveries_differ(["sack", "", "sack"]), recoveries_differ(["sack", "newreno"])
    (False, True)
    """
    return len({each for each in recoveries if each}) > 1


def repairs_of(flows: Iterable[Flow], recoveries: Sequence[str]) -> str:
    """Return how flows repair losses where they differ, by their names; "" where they do not."""
    if not recoveries_differ(recoveries):
        return ""
    return by_recovery((flow.name for flow in flows), recoveries)


def by_recovery(names: Iterable[str], recoveries: Iterable[str]) -> str:
    """Return which flows or rules repair losses in which way, those without a window left out.

    >>> by_recovery(["a", "b", "c"], ["sack", "newreno", ""])
    'sack: a; newreno: b'
    """
    found: dict[str, list[str]] = {}
    for name, recovery in zip(names, recoveries, strict=True):
        if recovery:
            found.setdefault(recovery, []).append(name)
    return "; ".join(f"{kind}: {_some(own)}" for kind, own in found.items())


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} others" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
