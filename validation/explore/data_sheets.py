"""What the data sheet of a switch says, as knobs, and the parts of an answer as bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from validation.explore.views import Bars, Knob

if TYPE_CHECKING:
    from dfcmodel.lossless.paused.headroom_items import Item
    from dfcmodel.lossless.quantities import Given

RATES = (
    "1Gbps", "10Gbps", "25Gbps", "40Gbps", "50Gbps", "100Gbps", "200Gbps", "400Gbps", "800Gbps",
)  # fmt: skip
CABLES = (
    "1m", "3m", "5m", "10m", "20m", "40m", "100m", "300m", "500m", "1km", "2km", "10km", "40km",
)  # fmt: skip
SHARES = {"none, all have the MTU": 0.0, "half of the frames": 0.5, "any sizes": 1.0}
RESPONSES = {"maximum of IEEE 802.3": None} | {
    f"{each}, measured": each for each in ("2us", "1.2us", "800ns", "400ns", "200ns")
}
CELLS = (80, 96, 144, 192, 208, 254, 256, 288)
"""Bytes of buffer cells."""


def words(name: str, label: str, texts: Iterable[str], start: str) -> Knob:
    """Return a knob of texts that mean themselves, on a scale; others may be typed."""
    return Knob(name, label, {text: text for text in texts}, start, free=str)


def sizes(name: str, label: str, values: Iterable[int], start: str, *, without: str = "") -> Knob:
    """Return a knob of sizes in bytes; others may be typed. ``without`` is the text of None, where that is allowed."""
    options: dict[str, Any] = {without: None} if without else {}
    options |= {f"{size} B": size for size in values}
    return Knob(name, label, options, start, slider=False, free=str)


MTU = sizes("mtu", "Largest frame of the port", (4200, 9100, 9216, 9600), "9216 B")
LINK = (
    words("rate", "Line rate", RATES, "400Gbps"),
    words("cable", "Cable", CABLES, "300m"),
    Knob("small", "Frames that may be small", SHARES, "none, all have the MTU", slider=False),
    MTU,
)
"""The knobs of a link, without the largest frame of its lossless class."""
RESPONSE = Knob("response", "Response time of the peer", RESPONSES, "maximum of IEEE 802.3", slider=False)


@dataclass(frozen=True)
class LinkSheet:
    """The values of the knobs of a link, and its largest lossless frame."""

    rate: str
    cable: str
    small: float
    mtu: Given
    lossless: Given


def item_bars(title: str, x: str, items: Sequence[Item]) -> Bars:
    """Return the parts of a number of bytes in kB, with their shares."""
    return Bars(
        title, x, tuple(item.name for item in items), np.array([item.bytes[1] / 1e3 for item in items]),
        tuple(f"{item.share:.1%}" if any(item.bytes) else "" for item in items),
    )  # fmt: skip
