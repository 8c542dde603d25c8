"""Bytes that a row of a table needs: for the cable, the standard's response, equal frames and any frame sizes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from dfcmodel.lossless.audits.rate_lines import wire_bytes
from dfcmodel.lossless.paused.paused_links import PausedLink
from dfcmodel.lossless.paused.worst_cases import WIRE, largest_burst
from dfcmodel.lossless.quantities import FIBRE, RESPONSE_BITS, SMALLEST_FRAME, whole_bits

__all__ = ["Assumptions", "RowNeeds", "needs_of"]


@dataclass(frozen=True)
class Assumptions:
    """Assumptions of an audit about the port and its peer: frames and cell in bytes, delays.

    Parameters
    ----------
    mtu, lossless_mtu
        Bytes of the largest frame of any class and of the paused class.
    cell
        Bytes of a buffer cell; 1 counts bytes.
    delay
        Pipeline, interface and gearbox of the port together, s.
    response
        Response time of the peer, s; None: the maximum of IEEE 802.3 31B.3.7 at each rate.
    """

    mtu: int = 9216
    lossless_mtu: int = 9216
    cell: int = 1
    delay: float = 0.0
    response: float | None = None

    def link(self, rate: float, cable: float) -> PausedLink | None:
        """Return the link of a rate, b/s, and cable, m; None if ``response`` is None and IEEE has none for the rate."""
        bits = RESPONSE_BITS.get(rate) if self.response is None else whole_bits(self.response * rate)
        if bits is None:
            return None
        return PausedLink(
            int(rate), self.mtu, self.lossless_mtu, self.cell, 1.0,
            cable=whole_bits(cable / FIBRE * rate), response=bits, pipeline=whole_bits(self.delay * rate),
        )  # fmt: skip


@dataclass(frozen=True)
class RowNeeds:
    """Bytes above the threshold that a row needs under the assumptions of an audit.

    Parameters
    ----------
    cable
        Bytes on the cable in both directions, with preambles and gaps; nothing else is counted.
    stored
        Bytes that the buffer stores of them if all frames have ``lossless_mtu`` bytes.
    standard
        The same plus what is stored of the arrivals of the peer's response time; None if that is unknown.
    equal_frames
        The proved headroom where all frames have ``lossless_mtu`` bytes.
    any_sizes
        The proved headroom for any frame size.
    """

    cable: float
    stored: float
    standard: float | None
    equal_frames: int | None
    any_sizes: int | None


def needs_of(assumed: Assumptions, rate: float, cable: float) -> RowNeeds:
    """Return the bytes that a row of a rate in b/s and a cable in m needs.

    >>> needs = needs_of(Assumptions(cell=254), 400e9, 300.0)
    >>> needs.cable, round(needs.stored), round(needs.standard), needs.equal_frames, needs.any_sizes
    (150000.0, 149675, 207470, 230378, 666242)
    """
    link, wire = assumed.link(rate, cable), wire_bytes(rate, cable)
    stored = assumed.lossless_mtu / (assumed.lossless_mtu + WIRE)  # preambles and gaps take time, and no buffer
    if link is None:
        return RowNeeds(wire, wire * stored, None, None, None)
    return RowNeeds(
        wire, wire * stored, (wire + link.response / 8) * stored,
        covering(link, link.lossless_mtu), covering(link, SMALLEST_FRAME),
    )  # fmt: skip


def covering(link: PausedLink, smallest: int) -> int:
    """Return the proved headroom in bytes for frames of at least ``smallest`` bytes."""
    return largest_burst(dataclasses.replace(link, smallest=smallest)).cells * link.cell


def smallest_covered(link: PausedLink, xoff: int) -> int:
    """Return the smallest frame size in bytes for which ``xoff`` suffices; it must suffice for full frames."""
    low, high = SMALLEST_FRAME - 1, link.lossless_mtu
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if covering(link, middle) <= xoff else (middle, high)
    return high


def longest_response(link: PausedLink, xoff: int) -> float | None:
    """Return the longest response below the link's, s, that ``xoff`` bytes cover with equal frames; None: none."""
    equal = dataclasses.replace(link, smallest=link.lossless_mtu)
    low, high = -1, link.response
    while high - low > 1:
        middle = (low + high) // 2
        fits = largest_burst(dataclasses.replace(equal, response=middle)).cells * link.cell <= xoff
        low, high = (middle, high) if fits else (low, middle)
    return low / link.rate if low >= 0 else None
