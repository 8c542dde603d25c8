"""Text descriptions of the loss recoveries of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopflow.checks import first_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dfcmodel.network.flows import Flow

__all__ = ["by_recovery", "recoveries_differ", "repairs_of"]

MAX_NAMES = 3
"""Maximum number of names per recovery."""


def recoveries_differ(recoveries: Iterable[str]) -> bool:
    """Return whether loss recoveries, apart from empty strings, are different.

    >>> recoveries_differ(["sack", "", "sack"]), recoveries_differ(["sack", "newreno"])
    (False, True)
    """
    return len({recovery for recovery in recoveries if recovery}) > 1


def repairs_of(flows: Iterable[Flow], recoveries: Sequence[str]) -> str:
    """Return a string with each recovery and the names of its flows; "" if all recoveries are equal."""
    if not recoveries_differ(recoveries):
        return ""
    return by_recovery((flow.name for flow in flows), recoveries)


def by_recovery(names: Iterable[str], recoveries: Iterable[str]) -> str:
    """Return a string with each recovery and the names of its flows or rules; empty recoveries are omitted.

    >>> by_recovery(["a", "b", "c"], ["sack", "newreno", ""])
    'sack: a; newreno: b'
    """
    names_by_kind: dict[str, list[str]] = {}
    for name, recovery in zip(names, recoveries, strict=True):
        if recovery:
            names_by_kind.setdefault(recovery, []).append(name)
    return "; ".join(f"{kind}: {first_of(members, MAX_NAMES)}" for kind, members in names_by_kind.items())
