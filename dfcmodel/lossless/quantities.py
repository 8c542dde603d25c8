"""Rates, lengths, sizes and durations of a port, with their units, in bits and bit times.

A bit time is the time of one bit at the port's rate. All delays of a link are whole bit times, as in
IEEE 802.3; what is no whole number is rounded up, so that sums and comparisons are exact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from hopflow.checks import one_number
from hopflow.units import quantity

__all__ = [
    "LONGEST_CABLE",
    "QUANTUM",
    "RESPONSE_QUANTA",
    "Given",
    "bit_rate",
    "bit_times",
    "both_ends",
    "frame_size",
    "metres",
    "response_time",
    "size_in_bytes",
]

Given = str | float
"""A number with its unit as text, or a number in SI units where that is unambiguous."""

QUANTUM = 512
"""Bits of a pause quantum (IEEE 802.3, 31B.2)."""
LONGEST_CABLE = 100e3
"""Metres; a longer cable is refused."""
RESPONSE_QUANTA = {
    100e6: 1, 1e9: 2, 10e9: 67, 25e9: 80, 40e9: 118, 50e9: 147, 100e9: 394, 200e9: 453, 400e9: 905,
    800e9: 905,
}  # fmt: skip
"""IEEE 802.3, 31B.3.7, as listed in SONiC's buffer_headroom_mellanox.lua: pause quanta after which a
peer of this rate (b/s) has stopped to begin frames, at the latest."""

_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
_LENGTHS = {"m": 1.0, "km": 1e3, "ft": 0.3048}
_SIZES = {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "KiB": 1024.0, "MiB": 1048576.0}


def _parsed(name: str, text: str, units: dict[str, float], example: str) -> float:
    """Return the number of a text in units of 1; ValueError with the units allowed."""
    found = re.fullmatch(_NUMBER + r"(\S+)", text.strip())
    if not found or found.group(2) not in units:
        allowed = ", ".join(units)
        raise ValueError(f"{name} = {text!r}: must be a number and one of {allowed}: {example!r}")
    return float(found.group(1)) * units[found.group(2)]


def bit_rate(name: str, value: Given) -> int:
    """Return a rate in b/s, 1 Mb/s to 10 Tb/s, from a text such as ``400Gbps``.

    >>> bit_rate("rate", "400Gbps")
    400000000000
    """
    if not isinstance(value, str) or "packet" in value:
        raise ValueError(
            f"{name} = {value!r}: must be a text in bits per second, such as '400Gbps'"
        )
    found = quantity(name, value, "rate", packet_size=0.125)
    return round(one_number(name, found, at_least=1e6, at_most=1e13, hint="in b/s"))


def metres(name: str, value: Given) -> float:
    """Return a length in m, from a text such as ``300m`` or ``2km``.

    >>> metres("cable", "2km")
    2000.0
    """
    if not isinstance(value, str):
        msg = f"{name} = {value!r}: must be a text with its unit, such as '300m' or '2km'"
        raise ValueError(msg)  # noqa: TRY004
    found = _parsed(name, value, _LENGTHS, "300m")
    hint = f"in m; pause needs headroom in proportion, {LONGEST_CABLE / 1e3:g} km are the limit"
    return one_number(name, found, at_least=0.0, at_most=LONGEST_CABLE, hint=hint)


def size_in_bytes(name: str, value: Given) -> float:
    """Return a size in bytes, from a number or a text such as ``9216 B`` or ``19 KiB``."""
    if isinstance(value, str):
        value = _parsed(name, value, _SIZES, "9216 B")
    return one_number(name, value, at_least=0.0, hint="in bytes")


def frame_size(name: str, value: Given, *, least: int = 64) -> int:
    """Return the size of a frame in bytes, from destination address to check sequence."""
    found = size_in_bytes(name, value)
    hint = "in bytes, from the destination address to the frame check sequence"
    one_number(name, found, at_least=least, at_most=65535, hint=hint)
    if found != int(found):
        raise ValueError(f"{name} = {value!r}: must be a whole number of bytes")
    return int(found)


def bit_times(name: str, value: Given, rate: int) -> int:
    """Return a duration in bit times of a rate, rounded up.

    Parameters
    ----------
    name
        The parameter's name in the message.
    value
        Seconds, or a text: a time (``1.2 us``), pause quanta (``905 quanta``), or what passes at
        line rate meanwhile (``820 B``, ``0.8 KiB``, ``6560 bits``).
    rate
        In b/s.

    >>> bit_times("response", "905 quanta", 400_000_000_000)
    463360
    """
    if not isinstance(value, str):
        seconds = one_number(
            name, value, at_least=0.0, at_most=1.0, hint="in s, or a text: '1.2 us'"
        )
        return _whole_bits(seconds * rate)
    sizes = {"quanta": 512.0, "quantum": 512.0, "bits": 1.0, "bit": 1.0}
    sizes |= {unit: 8.0 * factor for unit, factor in _SIZES.items()}
    found = re.fullmatch(_NUMBER + r"(\S+)", value.strip())
    if found and found.group(2) in sizes:
        bits = float(found.group(1)) * sizes[found.group(2)]
        return _whole_bits(one_number(name, bits, at_least=0.0, at_most=float(rate)))
    try:
        seconds = quantity(name, value, "time")
    except ValueError:
        allowed = "s, ms, us, ns, quanta, bits, B, kB, KiB"
        raise ValueError(f"{name} = {value!r}: must be a number and one of {allowed}") from None
    one_number(name, seconds, at_least=0.0, at_most=1.0, hint="in s")
    return _whole_bits(seconds * rate)


def _whole_bits(bits: float) -> int:
    """Round up, but for what rounding errors of a product leave above a whole number."""
    return math.ceil(bits - 1e-9 * max(1.0, bits))


def both_ends(
    name: str, given: Given | tuple[Given, Given], read: Callable[[str, Given], float]
) -> tuple[float, float]:
    """Return the low and the high end of an input: twice the same where it is no pair."""
    if not isinstance(given, tuple):
        value = read(name, given)
        return value, value
    if len(given) != 2:
        raise ValueError(f"{name} = {given!r}: a range is a pair of its low and its high end")
    low, high = (read(name, end) for end in given)
    if low > high:
        raise ValueError(f"{name} = {given!r}: the low end of a range comes first")
    return low, high


def response_time(
    rate: int, given: Given | tuple[Given, Given] | None, *, measured: bool
) -> tuple[float, float]:
    """Return the bit times after which the peer has stopped to begin frames: low and high end.

    Parameters
    ----------
    rate
        In b/s.
    given
        A duration (`bit_times`), a pair of them, or None for the standard's value.
    measured
        Whether a value below the standard's is known to hold for this peer.

    Raises
    ------
    ValueError
        For a rate that the table does not have, or a value below the standard's, which nobody but
        the peer's maker promises.
    """
    quanta = RESPONSE_QUANTA.get(float(rate))
    if given is None:
        if quanta is None:
            known = ", ".join(f"{known / 1e9:g}" for known in RESPONSE_QUANTA)
            hint = f"IEEE 802.3 31B.3.7 is known at {known} Gb/s, must be given elsewhere"
            raise ValueError(f"response at {rate / 1e9:g} Gb/s: {hint}")
        return QUANTUM * quanta, QUANTUM * quanta
    low, high = both_ends("response", given, lambda name, value: bit_times(name, value, rate))
    if quanta is not None and not measured and high < QUANTUM * quanta:
        standard = f"{quanta} quanta, {QUANTUM * quanta / rate * 1e9:.4g} ns"
        hint = "pass response_measured=True where the peer's data sheet or a measurement says so"
        msg = f"a peer at {rate / 1e9:g} Gb/s may take {standard} (IEEE 802.3 31B.3.7)"
        raise ValueError(f"response = {given!r}: {msg}; {hint}")
    return low, high
