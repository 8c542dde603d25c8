"""Published headroom formulas and values of vendors, split into components.

Sources: SONiC is ``sonic-net/sonic-swss`` (``cfgmgr/buffer_headroom_mellanox.lua``, pull request
3235) and ``sonic-net/sonic-buildimage`` (``platform/mellanox/asic_table.j2`` and the
``pg_profile_lookup.ini`` of the devices named); Cisco is white paper C11-542809 on priority flow
control; mlxsw is Linux commit d81a6bdb87ce. docs/headroom-published.md compares them with
`headroom`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = [
    "SN4280",
    "SN5610N",
    "SONIC_PAIRS",
    "PublishedPair",
    "SonicFormula",
    "mlxsw_size",
    "sonic_xoff",
    "white_paper_xoff",
]

KIB = 1024.0
MAC_PHY = 0.8 * KIB
"""Bytes, ``mac_phy_delay`` of all Spectrum chips in SONiC."""
SONIC_VELOCITY = 1.98e8
TILE = 120e-9
"""Additional delay of Spectrum-4 and 5 in SONiC, s: rate / 1000 * 120 / 8 bytes, rate in Mb/s."""


@dataclass(frozen=True)
class PublishedPair:
    """Headroom by SONiC's formula and by the vendor's tool (sonic-swss pull request 3235).

    Parameters
    ----------
    rate, cable
        Line rate in b/s and length in m; the MTU is 9100 B, that of RDMA 1024 B, and half of the
        packets are small.
    xoff
        Bytes by SONiC's formula.
    tool
        KiB by the vendor's tool, as printed.
    tile
        Whether the chip has the additional 120 ns of Spectrum-4.
    """

    rate: float
    cable: float
    xoff: int
    tool: float
    tile: bool


SONIC_PAIRS = (
    PublishedPair(400e9, 300.0, 272384, 265.76, False),
    PublishedPair(100e9, 40.0, 51200, 49.62, False),
    PublishedPair(800e9, 300.0, 474112, 463.01, True),
    PublishedPair(200e9, 40.0, 65536, 63.88, True),
)

SN4280: dict[tuple[float, float], int] = {
    (rate * 1e9, cable): xoff
    for cable, row in {
        5.0: (16384, 17408, 19456, 21504, 37888, 43008, 73728),
        40.0: (16384, 18432, 21504, 23552, 43008, 51200, 91136),
        300.0: (19456, 26624, 34816, 40960, 75776, 118784, 225280),
        1500.0: (35840, 65536, 96256, 117760, 230400, 427008, 427008),
        2000.0: (41984, 80896, 121856, 149504, 293888, 555008, 555008),
    }.items()
    for rate, xoff in zip((10, 25, 40, 50, 100, 200, 400), row, strict=True)
}
"""Bytes of xoff by rate (b/s) and cable (m), Mellanox-SN4280-O28 (Spectrum-3)."""

SN5610N: dict[tuple[float, float], int] = {
    (rate * 1e9, cable): xoff
    for cable, row in {
        5.0: (20480, 21504, 24576, 26624, 44032, 50176, 86016, 95232),
        40.0: (20480, 22528, 25600, 28672, 49152, 60416, 104448, 132096),
        300.0: (23552, 30720, 39936, 46080, 83968, 130048, 243712, 411648),
        1000.0: (24576, 46080, 68608, 83968, 168960, 308224, 610304, 1153024),
    }.items()
    for rate, xoff in zip((10, 25, 40, 50, 100, 200, 400, 800), row, strict=True)
}
"""Bytes of xoff by rate (b/s) and cable (m), Mellanox-SN5610N-C256S2 (Spectrum-4)."""


@dataclass(frozen=True)
class SonicFormula:
    """Constants of a version of SONiC's formula.

    Parameters
    ----------
    kilo
        Divisor of Mb/s times ns for the cable in the Lua file: 1000 since pull request 3235 was merged (commit
        3943093d4, 2024-09-10), 1024 from the first version (2cab51d11, 2020-12-15) until then.
    whole_factor
        Whether the factor of cells per 64 bytes is rounded up to a whole number, as since the same pull request.
    """

    kilo: float = 1000.0
    whole_factor: bool = True


SONIC_QUANTA = {
    100e6: 1, 1e9: 2, 10e9: 67, 25e9: 80, 40e9: 118, 50e9: 147, 100e9: 394, 200e9: 453, 400e9: 905,
    800e9: 905,
}  # fmt: skip
"""Response times of the Lua file in pause quanta by line rate, b/s."""
MERGED = SonicFormula()
"""Since pull request 3235."""


def sonic_xoff(
    rate: float,
    cable: float,
    *,
    mtu: float = 9100.0,
    lossless_mtu: float = 1024.0,
    small_percentage: float = 50.0,
    cell: float = 192.0,
    tile: bool = False,
    formula: SonicFormula = MERGED,
) -> dict[str, float]:
    """Return the components of SONiC's xoff in bytes at a rate of its table; their sum is xoff before rounding to KiB.

    Parameters
    ----------
    rate, cable
        Line rate in b/s, one of `SONIC_QUANTA`, and length in m.
    mtu, lossless_mtu
        Largest frames of the port and of RDMA in bytes.
    small_percentage
        ``small_packet_percentage``, converted to a fraction of bytes as in the formula.
    cell
        Buffer cell in bytes.
    tile
        Whether the 120 ns of Spectrum-4 are added.
    formula
        The version of the Lua file.

    Raises
    ------
    ValueError
        For a rate that the formula has no response time for.

    >>> round(sum(sonic_xoff(400e9, 300.0).values()))
    271991
    """
    if rate not in SONIC_QUANTA:
        rates = ", ".join(f"{known:g}" for known in sorted(SONIC_QUANTA))
        raise ValueError(f"rate = {rate!r}: must be one of {rates} b/s")
    factor = cell / 64.0 if cell > 128.0 else 2.0 * cell / (1.0 + cell)
    factor = math.ceil(factor) if formula.whole_factor else factor
    mean = (small_percentage * 64.0 + (100.0 - small_percentage) * lossless_mtu) / 100.0
    occupancy = 1.0 + 64.0 / mean * (factor - 1.0)
    parts = {
        "frame leaving the receiver": mtu,
        "interface": MAC_PHY + (rate * TILE / 8.0 if tile else 0.0),
        "cable": 2.0 * cable / SONIC_VELOCITY * rate / 8.0 * 1000.0 / formula.kilo,
        "response": 64.0 * SONIC_QUANTA[rate],
        "frame leaving the sender": lossless_mtu,
    }
    delayed = sum(parts.values()) - lossless_mtu
    return {**parts, "rounding to cells": (occupancy - 1.0) * delayed}


def white_paper_xoff(rate: float, cable: float, mtu: float, lossless_mtu: float) -> dict[str, float]:
    """Return the components of the headroom by Cisco's white paper C11-542809, in bytes.

    Parameters
    ----------
    rate, cable
        Line rate in b/s and length in m; 65 % of the speed of light, 513 ns per 100 m.
    mtu, lossless_mtu
        Largest frames of the receiver (any class) and the sender (the paused class) in bytes.

    >>> parts = white_paper_xoff(10e9, 100.0, 9216.0, 2240.0)
    >>> round(parts["cable"] / 2), parts["response"]
    (641, 3840.0)
    """
    return {
        "frame leaving the receiver": mtu,
        "cable": 2.0 * cable * 5.13e-9 * rate / 8.0,
        "response": 64.0 * 60.0,
        "frame leaving the sender": lossless_mtu,
    }


def mlxsw_size(delay: float, mtu: float, cell: float = 96.0) -> float:
    """Return the headroom of Linux's mlxsw in bytes: ``delay``, bytes, times a cell factor, plus one MTU.

    Parameters
    ----------
    delay
        Delay as configured by the user, in bytes at line rate.
    mtu, cell
        Largest frame and buffer cell in bytes; the factor is that of packets one byte larger than a
        cell.

    >>> round(mlxsw_size(10_000.0, 1500.0))
    21294
    """
    return 2.0 * cell / (1.0 + cell) * delay + mtu
