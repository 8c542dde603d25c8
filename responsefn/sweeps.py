"""Responses over ranges of loss rates, round-trip times and parameters of rules, for `hopflow.sweep`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hopflow.parameters import canonical_text
from hopflow.sweeps.grid import Row
from hopflow.units import quantities_of
from responsefn.response import Response

__all__ = ["SETTINGS", "about", "rows", "units", "validate", "variant"]

SETTINGS: Mapping[str, str | None] = {"p": "share", "rtt": "time", "bandwidth": "rate"}
DEFAULT_RTT = 0.1
"""Default round-trip time in s, as in `curve`."""


def units(thing: Response) -> dict[str, str | None]:
    """Return the dimensions of a rule's parameters by name; None without a unit."""
    declared = quantities_of(type(thing))
    return {name: declared.get(name) for name in thing.params._fields}


def variant(thing: Response, **changes: Any) -> Response:
    """Return a rule with other parameters."""
    return thing.replace(**changes)


def about(thing: Response) -> dict[str, str]:
    """Return the rule as text."""
    return {"rule": canonical_text(thing)}


def validate(things: Iterable[Response], points: Sequence[Any]) -> dict[str, Any]:
    """Construct every rule, and check that the sweep sets a loss rate."""
    if "p" not in points[0].settings:
        raise ValueError("p: must be given, the loss event rates at which the rule is evaluated")
    for _ in things:
        pass
    return {}


def rows(things: Sequence[Response], settings: Sequence[Mapping[str, Any]], options: object) -> Iterator[Row]:
    """Yield the rate of each rule."""
    for rule, point in zip(things, settings, strict=True):
        path = {"rtt": DEFAULT_RTT, **point}
        rate = rule.rate(path.pop("p"), path.pop("rtt"), **path)
        yield Row({"rate": ((), rate, {"units": "packets/s"})}, {})
