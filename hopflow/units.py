"""Units at the edge: inside hopflow everything is in seconds, packets and packets per second.

`mbps` and its like take a number or an array and return the same; `quantity` reads a text with a
unit, `readable` says in which unit a number is best shown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeVar

from hopflow.checks import number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Number = TypeVar("Number", float, NDArray[np.float64])

__all__ = ["gbps", "mbps", "ms", "quantity", "readable", "to_mbps", "us"]

PACKET_SIZE = 1500
"""Bytes of a packet on the wire where nothing else is said."""

Kind = Literal["rate", "time", "amount"]

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}
PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
FORMS = {
    "rate": "packets/s, b/s, kb/s, Mb/s, Gb/s or Tb/s (also bps, kbps, Mbps, ...)",
    "time": "s, ms, us, ns or min",
    "amount": "packets, B, kB, MB or GB",
}
BARE = {"rate": "packets/s", "time": "s", "amount": "packets"}
SHOWN = {
    "bit/s": ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}
SHOWN["byte"] = SHOWN["bytes"]


def mbps(rate: Number, packet_size: float = PACKET_SIZE) -> Number:
    """Convert Mb/s (10^6 bits per second) to packets/s for packets of ``packet_size`` bytes.

    >>> mbps(370)
    30833.333333333332
    """
    number("rate", rate, at_least=0.0)
    number("packet_size", packet_size, above=0.0)
    return rate * 1e6 / (8.0 * packet_size)


def gbps(rate: Number, packet_size: float = PACKET_SIZE) -> Number:
    """Convert Gb/s to packets/s; see `mbps`."""
    number("rate", rate, at_least=0.0)
    return mbps(1000.0 * rate, packet_size)


def to_mbps(rate: Number, packet_size: float = PACKET_SIZE) -> Number:
    """Convert packets/s to Mb/s; the inverse of `mbps`."""
    number("rate", rate, at_least=0.0)
    number("packet_size", packet_size, above=0.0)
    return rate * 8.0 * packet_size / 1e6


def ms(time: Number) -> Number:
    """Convert milliseconds to seconds."""
    number("time", time, at_least=0.0)
    return time * 1e-3


def us(time: Number) -> Number:
    """Convert microseconds to seconds."""
    number("time", time, at_least=0.0)
    return time * 1e-6


def quantity(
    name: str, text: str, kind: Kind, packet_size: float = PACKET_SIZE, *, bare: bool = False
) -> float:
    """Return a number with a unit, such as ``1.5 Mb/s``, ``40ms`` or ``9 kB``, in hopflow's units.

    Rates are counted in bits, amounts in bytes (so that a rate in MB/s or a buffer in kb, which may
    be a slip, is refused), both or in packets; the case of k, M, G and T does not matter.

    Parameters
    ----------
    name
        The parameter's name in the message.
    text
        A number and a unit, with or without a space between them.
    kind
        What it is: the result is in packets/s (``rate``), s (``time``) or packets (``amount``).
    packet_size
        Bytes of a packet, where bits or bytes have to be counted in packets.
    bare
        Whether a number without a unit is allowed; it is in packets/s, s or packets.

    Raises
    ------
    ValueError
        Naming the parameter, the text and the forms allowed.

    >>> quantity("rate", "1.5 Gb/s", "rate")
    125000.0
    """
    number("packet_size", packet_size, above=0.0)
    found = re.fullmatch(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*)", text.strip())
    if found and (unit := _unit(kind, found.group(2), packet_size, bare)):
        return float(found.group(1)) * unit[0] / unit[1]
    alone = f", or a number alone, in {BARE[kind]}" if bare else ""
    raise ValueError(f"{name} = {text!r}: must be a number and a unit of {FORMS[kind]}{alone}")


def _unit(kind: Kind, unit: str, packet_size: float, bare: bool) -> tuple[float, float] | None:
    """Return numerator and denominator of a unit in packets/s, s or packets; None: no such unit.

    Both apart: so 1.5 Gb/s is rounded as `gbps` rounds it.
    """
    if not unit:
        return (1.0, 1.0) if bare else None
    if kind == "time":
        return (TIMES[unit], 1.0) if unit in TIMES else None
    ending, letter, bits = (r"(?:/s|ps)", "(?:b|bit)", 1.0) if kind == "rate" else ("", "B", 8.0)
    if re.fullmatch("packets?" + ending, unit):
        return 1.0, 1.0
    found = re.fullmatch(f"([kKmMgGtT]?){letter}{ending}", unit)
    return (bits * PREFIXES[found.group(1).lower()], 8.0 * packet_size) if found else None


def readable(unit: str, largest: float) -> tuple[float, str]:
    """Return a unit in which numbers up to ``largest`` are short, and what one of it is in ``unit``.

    Parameters
    ----------
    unit
        ``bit/s``, ``s`` and ``bytes`` have larger and smaller ones; any other stays, 1 is empty.
    largest
        The largest magnitude to be shown.

    >>> readable("bit/s", 3.7e8)
    (1000000.0, 'Mb/s')
    """
    if unit not in SHOWN:
        return 1.0, "" if unit == "1" else unit
    scales = SHOWN[unit]
    plain = next(pair for pair in scales if pair[0] == 1.0)
    return next((pair for pair in scales if largest >= pair[0]), scales[-1] if largest else plain)
