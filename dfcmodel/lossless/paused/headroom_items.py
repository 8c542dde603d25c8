"""The components of a headroom and of the minimum xon, with formula and source; sensitivities."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dfcmodel.lossless.paused.worst_cases import largest_burst, largest_drain
from dfcmodel.lossless.quantities import FIBRE, PREAMBLE

if TYPE_CHECKING:
    from dfcmodel.lossless.paused.paused_links import PausedLink
    from dfcmodel.lossless.paused.worst_cases import Burst

__all__ = [
    "Item",
    "Sensitivity",
    "item_rows",
    "items_of",
    "resume_drain",
    "resume_items_of",
    "sensitivities_of",
    "size_text",
]

SOURCES = {
    "frame leaving the receiver": ("mtu + 20 B", "IEEE 802.3 4.2.3.2: frames are not interrupted"),
    "pause frames of other classes": ("(classes - 1) 84 B", "one PFC frame each, not merged"),
    "own pause frame": ("84 B", "a pause frame of the class that still waits"),
    "own resume frame": ("84 B", "a resume frame of the class that still waits"),
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
    "resume frame": ("72 B", "IEEE 802.3 Annex 31B: a pause frame of zero quanta"),
    "first frame of the sender": ("lossless_mtu + 8 B", "forwarded once it is complete"),
    "preambles, gaps and phase": ("- 20 B per frame, and the rest", "IEEE 802.3 3.2, 4.4.2"),
    "rounding to cells": ("cells x cell - bytes of frames", "the receiver's buffer manager"),
}


@dataclass(frozen=True)
class Item:
    """A component of the headroom, or of the minimum xon: bytes and cells, with formula and source.

    Parameters
    ----------
    name, formula, source
        Name, formula, and source of the formula.
    bytes
        Bytes of buffer at the low and at the high end of the inputs; the items add up to the
        headroom (to the minimum xon).
    cells
        The same in cells of the buffer, not rounded; None if bytes are counted.
    share
        Fraction of the headroom (of the minimum xon) at the high end.
    """

    name: str
    formula: str
    source: str
    bytes: tuple[float, float]
    cells: tuple[float, float] | None
    share: float


@dataclass(frozen=True)
class Sensitivity:
    """Change of the headroom with one input: bytes per unit of it, and over its range.

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
    """Return the components of a headroom, from links and bursts at the low and the high end of the inputs."""
    return _items(links, bursts, _parts)


def resume_items_of(links: tuple[PausedLink, PausedLink], drains: tuple[Burst, Burst]) -> tuple[Item, ...]:
    """Return the components of the minimum xon, from links and drains at the low and the high end of the inputs."""
    return _items(links, drains, _resume_parts)


def resume_drain(link: PausedLink) -> Burst:
    """Return the largest departures from a resume until the first frame after it is received.

    >>> from dfcmodel.lossless import PausedLink
    >>> resume_drain(PausedLink(10**10, 9216, 2300, response=512 * 67)).cells  # bytes, because cell=1
    16100
    """
    return largest_drain(link, link.window + PREAMBLE + 8 * link.lossless_mtu)


def sensitivities_of(low: PausedLink, high: PausedLink, metres: float) -> tuple[Sensitivity, ...]:
    """Return the sensitivity of the headroom to each input; ``metres`` is the longest cable."""
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
    sensitivities = [Sensitivity(name, unit, slope, _swing(low, high, name)) for name, (unit, slope) in slopes.items()]
    swing = _swing(low, high, "small_packets")
    slope = swing / (high.small_packets - low.small_packets or 1.0)
    return (*sensitivities, Sensitivity("small_packets", "1", slope, swing))


def _swing(low: PausedLink, high: PausedLink, name: str) -> int:
    """Return the bytes of headroom saved if the input ``name`` is at its low end."""
    less = dataclasses.replace(high, **{name: getattr(low, name)})
    return (largest_burst(high).cells - largest_burst(less).cells) * high.cell


def _items(
    links: tuple[PausedLink, PausedLink],
    bursts: tuple[Burst, Burst],
    parts_of: Callable[[PausedLink], dict[str, float]],
) -> tuple[Item, ...]:
    """Return the components of bursts at the low and high end; ``parts_of`` returns the bytes of a link by cause."""
    low, high = (_complete(parts_of(link), link, burst) for link, burst in zip(links, bursts, strict=True))
    cell, total = links[1].cell, bursts[1].cells * links[1].cell
    return tuple(
        Item(
            name, *SOURCES[name], (low[name], high[name]),
            (low[name] / cell, high[name] / cell) if cell > 1 else None, high[name] / total,
        )
        for name in high
    )  # fmt: skip


def _parts(link: PausedLink) -> dict[str, float]:
    """Return the bytes that arrive at line rate after the threshold is crossed, by cause."""
    parts = {name: bits / 8 for name, bits in link.delays.items()}
    return parts | {"frame leaving the sender": float(link.lossless_mtu)}


def _resume_parts(link: PausedLink) -> dict[str, float]:
    """Return the bytes that depart at line rate before the first arrival after a resume, by cause."""
    renamed = {"pause frame": "resume frame", "own resume frame": "own pause frame"}
    parts = {renamed.get(name, name): bits / 8 for name, bits in link.delays.items()}
    return parts | {"first frame of the sender": PREAMBLE / 8 + link.lossless_mtu}


def _complete(parts: dict[str, float], link: PausedLink, burst: Burst) -> dict[str, float]:
    """Return ``parts``, completed in place by overheads and rounding to sum to the burst's cells, in bytes."""
    parts["preambles, gaps and phase"] = burst.frame_bytes - sum(parts.values())
    parts["rounding to cells"] = float(burst.cells * link.cell - burst.frame_bytes)
    return parts


def _per_bit(link: PausedLink) -> float:
    """Return the bytes of buffer per bit time of a longer window."""
    longer = dataclasses.replace(link, cable=link.cable + 40_000_000)
    cells = largest_burst(longer).cells - largest_burst(link).cells
    return cells * link.cell / (longer.window - link.window)


def item_rows(items: tuple[Item, ...], prefix: str) -> dict[str, object]:
    """Return the components that are not 0 as strings: bytes, share and source, by name after ``prefix``."""
    rows: dict[str, object] = {}
    for item in items:
        if any(item.bytes):
            low, high = (f"{value:,.0f}" for value in item.bytes)
            amount = high if low == high else f"{low} to {high}"
            rows[prefix + item.name] = f"{amount} B, {item.share:.1%} ({item.source})"
    return rows


def size_text(size: int | tuple[int, int], cells: int | tuple[int, int] | None) -> str:
    """Return bytes and cells, each a number or a pair (low, high), as a string."""
    values = size if isinstance(size, tuple) else (size,)
    text = " to ".join(f"{value:,}" for value in values) + " B"
    if cells is not None:
        counts = cells if isinstance(cells, tuple) else (cells,)
        text += " (" + " to ".join(f"{value:,}" for value in counts) + " cells)"
    return text
