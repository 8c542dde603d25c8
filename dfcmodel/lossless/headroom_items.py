"""The components of a headroom, with formula and source, and its sensitivity to each input."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dfcmodel.lossless.worst_cases import largest_burst

if TYPE_CHECKING:
    from dfcmodel.lossless.paused_links import PausedLink
    from dfcmodel.lossless.worst_cases import Burst

__all__ = ["FIBRE", "Item", "Sensitivity", "items_of", "sensitivities_of"]

FIBRE = 2e8
"""Metres per second: 5 ns/m."""

SOURCES = {
    "frame leaving the receiver": ("mtu + 20 B", "IEEE 802.3 4.2.3.2: frames are not interrupted"),
    "pause frames of other classes": ("(classes - 1) 84 B", "one PFC frame each, not merged"),
    "pause frame": ("72 B", "IEEE 802.3 Annex 31B, preamble included"),
    "pipeline": ("rate x pipeline / 8", "data sheet of the receiver"),
    "interface": ("rate x interface / 8", "IEEE 802.3, delay of MAC and PHY; data sheet"),
    "gearbox": ("2 rate x gearbox / 8", "data sheet of retimer or gearbox"),
    "cable": ("2 rate x cable / velocity / 8", "propagation, both ways"),
    "response": ("512 b x quanta / 8", "IEEE 802.3 31B.3.7, measured at the peer's port"),
    "frame leaving the sender": (
        "lossless_mtu",
        "IEEE 802.3 31B.3.7: a started frame is completed",
    ),
    "preambles, gaps and phase": ("- 20 B per frame, and the rest", "IEEE 802.3 3.2, 4.4.2"),
    "rounding to cells": ("cells x cell - bytes of frames", "the receiver's buffer manager"),
}


@dataclass(frozen=True)
class Item:
    """A component of the headroom.

    Parameters
    ----------
    name, formula, source
        Name, formula, and source of the formula.
    bytes
        Bytes of buffer at the low and at the high end of the inputs; the items add up to the
        headroom.
    share
        Fraction of the headroom at the high end.
    """

    name: str
    formula: str
    source: str
    bytes: tuple[float, float]
    share: float


@dataclass(frozen=True)
class Sensitivity:
    """Sensitivity of the headroom to one input.

    Parameters
    ----------
    name, unit
        Name and unit of the input.
    per_unit
        Bytes of headroom per unit of the input.
    swing
        Bytes saved if the input is at the low end of its range instead of the high end.
    """

    name: str
    unit: str
    per_unit: float
    swing: int


def items_of(links: tuple[PausedLink, PausedLink], bursts: tuple[Burst, Burst]) -> tuple[Item, ...]:
    """Return the components of a headroom, from the links at both ends of the inputs."""
    low, high = (_parts(*pair) for pair in zip(links, bursts, strict=True))
    whole = bursts[1].cells * links[1].cell
    return tuple(
        Item(name, *SOURCES[name], (low[name], high[name]), high[name] / whole) for name in high
    )


def sensitivities_of(low: PausedLink, high: PausedLink, metres: float) -> tuple[Sensitivity, ...]:
    """Return the sensitivity to each input; ``metres`` is the length of the cable at the high end."""
    per_bit, bit_time = _per_bit(high), high.rate * 1e-9
    trip = high.cable / metres if metres else high.rate / FIBRE
    slopes = {
        "cable": ("m", per_bit * 2 * trip),
        "response": ("ns", per_bit * bit_time),
        "interface": ("ns", per_bit * bit_time),
        "gearbox": ("ns", per_bit * 2 * bit_time),
        "pipeline": ("ns", per_bit * bit_time),
        "mtu": ("B", per_bit * 8.0),
    }
    found = [
        Sensitivity(name, unit, slope, _swing(low, high, name))
        for name, (unit, slope) in slopes.items()
    ]
    swing = _swing(low, high, "small_packets")
    slope = swing / (high.small_packets - low.small_packets or 1.0)
    return (*found, Sensitivity("small_packets", "1", slope, swing))


def _swing(low: PausedLink, high: PausedLink, name: str) -> int:
    """Return the bytes saved if one input is at its low end."""
    less = dataclasses.replace(high, **{name: getattr(low, name)})
    return (largest_burst(high).cells - largest_burst(less).cells) * high.cell


def _parts(link: PausedLink, burst: Burst) -> dict[str, float]:
    """Return the bytes of buffer of each component; they add up to the burst's cells."""
    parts = {name: bits / 8 for name, bits in link.delays.items()}
    parts["frame leaving the sender"] = float(link.lossless_mtu)
    parts["preambles, gaps and phase"] = burst.frame_bytes - sum(parts.values())
    parts["rounding to cells"] = float(burst.cells * link.cell - burst.frame_bytes)
    return parts


def _per_bit(link: PausedLink) -> float:
    """Return the bytes of buffer per bit time of window, in the limit of long windows."""
    longer = dataclasses.replace(link, cable=link.cable + 40_000_000)
    more = largest_burst(longer).cells - largest_burst(link).cells
    return more * link.cell / (longer.window - link.window)
