"""Rates, lengths, sizes and durations of a port in bits and bit times, and sizes of Ethernet frames.

A bit time is the time of one bit at the port's rate. All delays of a link are whole bit times, as in
IEEE 802.3; fractions are rounded up, so that sums and comparisons are exact.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable

from dfcmodel.network.queueing.pause_responses import BITS_BESIDE_10GBASE_T, QUANTUM, RESPONSE_BITS
from hopflow.checks import format_value, one_number
from hopflow.units import NUMBER, PREFIX, PREFIXES, in_units, quantity

__all__ = [
    "FIBRE",
    "GAP",
    "LARGEST_FRAME",
    "LONGEST_CABLE",
    "MAX_RATE",
    "OVERHEAD",
    "PREAMBLE",
    "QUANTUM",
    "RESPONSE_BITS",
    "SMALLEST_FRAME",
    "Given",
    "Range",
    "bit_rate",
    "bit_times",
    "both_ends",
    "check_bare_time",
    "check_duration",
    "duration",
    "frame_size",
    "frames_and_cell",
    "metres",
    "other_ports",
    "range_ends",
    "response_time",
    "size_in_bytes",
    "velocity",
]

Given = str | float
"""A string with a number and its unit, or a number in SI units if that is unambiguous."""
Range = Given | tuple[Given, Given]
"""One value, or the low and the high end of a range."""

PREAMBLE = 64
"""Bits of preamble and start frame delimiter (IEEE 802.3, 3.2)."""
GAP = 96
"""Bits of the interpacket gap (IEEE 802.3, 4.4.2)."""
OVERHEAD = PREAMBLE + GAP
SMALLEST_FRAME = 64
"""Bytes (IEEE 802.3, 4.4.2)."""
LARGEST_FRAME = 65535
"""Upper limit of the size of a frame, bytes."""
FIBRE = 2e8
"""Signal velocity in m/s: 5 ns/m."""
LONGEST_CABLE = 200e3
"""Upper limit of the cable length, m."""
MAX_RATE = 10**13
"""Upper limit of a line rate, b/s."""

_DATA = re.compile(NUMBER + PREFIX + "(B|bits?)")


def _check_range(name: str, value: Given, number: float, low: float, high: float, allowed: str) -> float:
    """Return ``number``; ValueError, which quotes the input ``value``, unless it is in [low, high]."""
    if not low <= number <= high:
        raise ValueError(f"{name} = {format_value(value)}: must be {allowed}")
    return number


def bit_rate(name: str, value: Given) -> int:
    """Return a rate in b/s, 1 Mb/s to 10 Tb/s, from a number of b/s or a string such as ``400Gbps``.

    >>> bit_rate("rate", "400Gbps"), bit_rate("rate", 400e9)
    (400000000000, 400000000000)
    """
    hint = "in b/s, or a string: '400Gbps'"
    number = one_number(name, in_units(name, value, "bit_rate"), hint=hint)
    return round(_check_range(name, value, number, 1e6, MAX_RATE, "from 1 Mb/s to 10 Tb/s: '400Gbps'"))


def check_bare_time(name: str, value: object, time: float, maximum: float, unit: str, why: str = "") -> None:
    """Raise ValueError for a number without a unit that is a time above ``maximum``, s, and likely one in ``unit``."""
    if not isinstance(value, str) and time > maximum:
        hint = f"{why}write '{time:g} {unit}', or '{time:g} s'"
        raise ValueError(f"{name} = {time:g}: must be at most {maximum:g} s without a unit; {hint}")


def metres(name: str, value: Given) -> float:
    """Return a length in m, from a number of m or a string such as ``300m`` or ``2km``.

    >>> metres("cable", "2km"), metres("cable", 300)
    (2000.0, 300.0)
    """
    number = one_number(name, in_units(name, value, "length"), hint="in m, or a string: '300m'")
    allowed = f"from 0 m to {LONGEST_CABLE / 1e3:g} km; the headroom grows with the length"
    return _check_range(name, value, number, 0.0, LONGEST_CABLE, allowed)


def size_in_bytes(name: str, value: Given) -> float:
    """Return a size in bytes, from a number or a string such as ``9216 B`` or ``19 KiB``."""
    number = in_units(name, value, "size")
    if isinstance(value, str):
        return _check_range(name, value, number, 0.0, sys.float_info.max, "finite and not negative")
    return one_number(name, number, at_least=0.0, hint="in bytes, or a string: '9216 B'")


def frame_size(name: str, value: Given, *, minimum: int = 64) -> int:
    """Return the size of a frame in bytes, from destination address to check sequence, >= ``minimum``."""
    number = size_in_bytes(name, value)
    unit = "bytes, from the destination address to the frame check sequence"
    _check_range(name, value, number, minimum, LARGEST_FRAME, f"from {minimum} to {LARGEST_FRAME} {unit}")
    if number != int(number):
        raise ValueError(f"{name} = {value!r}: must be a whole number of bytes")
    return int(number)


def frames_and_cell(
    mtu: Given, lossless_mtu: Given | None, cell: Given | None, name: str = "cell"
) -> tuple[int, int, int]:
    """Return the largest frame of any class, that of the lossless class, and the cell (1: no cells), in bytes.

    A ``cell`` of a chip has 64 bytes to those of a frame. A ``credit`` may be less, a flit, or the buffer of a frame.

    >>> frames_and_cell(9216, None, "192 B"), frames_and_cell(2148, 1060, 2148, "credit")
    ((9216, 9216, 192), (2148, 1060, 2148))
    """
    largest = frame_size("mtu", mtu)
    largest_lossless = largest if lossless_mtu is None else frame_size("lossless_mtu", lossless_mtu)
    size = 1 if cell is None else frame_size(name, cell, minimum=1)
    if cell is not None and name == "cell" and not 64 <= size <= largest_lossless:
        allowed = f"must be None to count bytes, or 64..{largest_lossless}, the largest frame"
        raise ValueError(f"{name} = {cell!r}: {allowed}")
    return largest, largest_lossless, size


def bit_times(name: str, value: Given, rate: int) -> int:
    """Return a duration, in s or a string such as "1.2 us", in bit times of a rate in b/s, rounded up.

    Parameters
    ----------
    name
        Name of the parameter in error messages.
    value
        Seconds, or a string: a time (``1.2 us``), pause quanta (``905 quanta``), or an amount of
        data at line rate (``820 B``, ``0.8 KiB``, ``6560 bits``).
    rate
        Line rate in b/s.

    >>> bit_times("response", "905 quanta", 400_000_000_000)
    463360
    """
    if not isinstance(value, str):
        seconds = one_number(name, value, at_least=0.0, at_most=1.0, hint="in s, or a string: '1.2 us'")
        return whole_bits(seconds * rate)
    text = value.strip()
    if match := re.fullmatch(NUMBER + "(?:quanta|quantum)", text):
        bits = float(match[1]) * QUANTUM
    elif match := _DATA.fullmatch(text):
        bits = float(match[1]) * (8.0 if match[3] == "B" else 1.0) * PREFIXES[match[2].lower()]
    if match:
        return whole_bits(_check_range(name, value, bits, 0.0, rate, "from 0 to 1 s at line rate"))
    try:
        seconds = quantity(name, value, "time")
    except ValueError:
        allowed = "s, ms, us, ns, quanta, bits, B, kB, MB, KiB, MiB"
        raise ValueError(f"{name} = {value!r}: must be a number and one of {allowed}") from None
    return whole_bits(_check_range(name, value, seconds, 0.0, 1.0, "from 0 to 1 s") * rate)


def check_duration(name: str, value: Given) -> None:
    """Raise ValueError for a value that is no duration of `bit_times` at any rate.

    >>> check_duration("pipeline", float("nan"))
    Traceback (most recent call last):
    ...
    ValueError: pipeline = nan: must be a finite number >= 0 and <= 1; in s, or a string: '1.2 us'
    """
    bit_times(name, value, MAX_RATE)


def velocity(name: str, value: Given) -> float:
    """Return a signal velocity in m/s, 1e8 to 3e8."""
    return one_number(name, value, at_least=1e8, at_most=3e8, hint="in m/s: 2e8 is 5 ns/m")


def duration(name: str, value: Given) -> float:
    """Return a time in s, from a number of seconds or a string such as ``50 us``.

    >>> duration("blocked", "2 ms")
    0.002
    """
    if isinstance(value, str):
        seconds = quantity(name, value, "time")
        return _check_range(name, value, seconds, sys.float_info.min, 1e9, "above 0, at most 1e9 s")
    return one_number(name, value, above=0.0, at_most=1e9, hint="in s, or a string: '50 us'")


def whole_bits(bits: float) -> int:
    """Return a number of bits rounded up; rounding errors of about 1e-9 are ignored."""
    return math.ceil(bits - 1e-9 * max(1.0, bits))


def range_ends(name: str, bounds: Given | tuple[Given, Given]) -> tuple[Given, Given]:
    """Return the low and high end of an input as written; both are the value unless it is a pair."""
    if not isinstance(bounds, tuple):
        return bounds, bounds
    if len(bounds) != 2:
        raise ValueError(f"{name} = {format_value(bounds)}: a range must be a pair (low, high)")
    return bounds


def both_ends(
    name: str, bounds: Given | tuple[Given, Given], read: Callable[[str, Given], float]
) -> tuple[float, float]:
    """Return the low and high end of an input, each converted by ``read``; equal unless it is a pair."""
    low, high = (read(name, end) for end in range_ends(name, bounds))
    if low > high:
        raise ValueError(f"{name} = {bounds!r}: the low end of a range must come first")
    return low, high


def other_ports(rate: float, bits: float) -> str:
    """Return what to write behind a response of ``bits`` at a rate in b/s: the time of other ports, where it differs.

    Examples
    --------
    >>> other_ports(10e9, 74 * QUANTUM), other_ports(25e9, 80 * QUANTUM)
    (' with 10GBASE-T, and 3,072 ns with other ports', '')
    """
    if rate != 10e9 or bits != RESPONSE_BITS[rate]:
        return ""
    return f" with 10GBASE-T, and {BITS_BESIDE_10GBASE_T / rate * 1e9:,.0f} ns with other ports"


def response_time(rate: int, response: Given | tuple[Given, Given] | None, *, measured: bool) -> tuple[float, float]:
    """Return the low and high end, bit times, of the time after which a paused peer starts no frame.

    Parameters
    ----------
    rate
        Line rate in b/s.
    response
        A duration (`bit_times`), a pair of durations, or None for the standard's maximum.
    measured
        Whether a value below the standard's maximum is guaranteed for this peer.

    Raises
    ------
    ValueError
        For a rate that is not in the table, or a value below the standard's maximum without
        ``measured``.
    """
    standard = RESPONSE_BITS.get(float(rate))
    if response is None:
        if standard is None:
            rates = ", ".join(f"{speed / 1e9:g}" for speed in RESPONSE_BITS)
            hint = f"must be given; IEEE 802.3 31B.3.7 has values for a rate of {rates} Gb/s"
            if rate > max(RESPONSE_BITS):
                fastest = max(RESPONSE_BITS)
                time = RESPONSE_BITS[fastest] / fastest * 1e9
                hint += f"; '{time:.1f} ns' is the time of {fastest / 1e9:g} Gb/s, the fastest of them"
            raise ValueError(f"response at {rate / 1e9:g} Gb/s: {hint}")
        return standard, standard
    low, high = both_ends("response", response, lambda name, value: bit_times(name, value, rate))
    if standard is not None and not measured and high < standard:
        longest = f"{standard / QUANTUM:g} quanta, {standard / rate * 1e9:.4g} ns{other_ports(rate, standard)}"
        hint = "pass response_measured=True if the kind of port, a data sheet or a measurement guarantees it"
        msg = f"a peer at {rate / 1e9:g} Gb/s may take {longest} (IEEE 802.3 31B.3.7)"
        raise ValueError(f"response = {response!r}: {msg}; {hint}")
    return low, high
