"""Response times of paused peers (IEEE 802.3, 31B.3.7), and the default headroom of a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.frame_sizes import BLOCK, HEADER, SHORTEST_FRAME
from dfcmodel.network.queueing.buffers import ByteBuffer
from hopflow.tcp_constants import MAX_SACK_BLOCKS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BITS_BESIDE_10GBASE_T",
    "QUANTUM",
    "RESPONSE_BITS",
    "ROUNDING",
    "default_headroom",
    "rate_in_table",
    "small_packet_factor",
]

QUANTUM = 512
"""Bits of a pause quantum (IEEE 802.3, 31B.2)."""
RESPONSE_BITS = {
    10e6: QUANTUM + 64, 100e6: QUANTUM + 64,
    **{rate: QUANTUM * quanta for rate, quanta in {
        1e9: 2, 10e9: 74, 25e9: 80, 40e9: 118, 50e9: 147, 100e9: 394, 200e9: 453, 400e9: 905, 800e9: 905,
    }.items()},
}  # fmt: skip
"""Longest time of a peer by line rate (b/s), in bit times at its port (MDI), until it starts no frame.

IEEE 802.3, 31B.3.7: up to 100 Gb/s in the words of 802.3ba-2010, of 25, 50 and from 200 Gb/s on as listed in SONiC's
buffer_headroom_mellanox.lua. At 10 Gb/s it is the time of 10GBASE-T; SONiC's list has 67 quanta, the mean of its time
and that of other ports, and at 100 Mb/s the quantum of an exposed MII.
"""
BITS_BESIDE_10GBASE_T = 60 * QUANTUM
"""The same of ports of 10 Gb/s other than 10GBASE-T."""
LISTED, BITS = np.array(list(RESPONSE_BITS)), np.array(list(RESPONSE_BITS.values()))
"""Rates and response times of `RESPONSE_BITS`, (N,) each."""
BESIDE_FRAMES = 20.0 + 72.0
"""Bytes of preamble and gap of the frame that delays the pause frame, and of the pause frame with its preamble."""
ACK_BYTES = (*(HEADER + BLOCK * n for n in range(MAX_SACK_BLOCKS)), SHORTEST_FRAME)
"""Bytes of ACKs with fewer than three SACK blocks, and of the shortest frame, with three."""
ROUNDING = 1e-9
"""Relative tolerance by which a rate equals a listed rate: rates are converted from packets/s."""


def rate_in_table(bits: Any) -> NDArray[np.float64]:
    """Return the listed rate, b/s, whose response time applies to each of ``bits``, rates in b/s; shape of ``bits``.

    It is the rate itself if listed, otherwise the next faster rate, or the fastest listed rate.

    Examples
    --------
    >>> rate_in_table([24e9, 25e9, 3.2e12]).tolist()
    [25000000000.0, 25000000000.0, 800000000000.0]
    """
    return np.asarray(LISTED[_rate_row(bits)])


def _rate_row(bits: Any) -> NDArray[np.int64]:
    """Return the index in `RESPONSE_BITS` of each rate that `rate_in_table` returns, shape of ``bits``."""
    at = (LISTED * (1.0 + ROUNDING)).searchsorted(bits)
    return np.asarray(np.minimum(at, len(LISTED) - 1))


def default_headroom(rate: Any, delay: Any, packet_size: float, signalling: float = 0.0) -> Any:
    """Return the packets that arrive over a paused link, ``rate`` packets/s, after a crossed threshold, at most.

    They are the components of `headroom` of a cable with the delay of the link, with ``signalling`` instead of its
    pipeline. Preambles and gaps are not subtracted: packets of a simulation have none, or have them in their size. A
    rate that the standard does not list takes the response time of the next faster rate, or of the fastest listed rate.

    Parameters
    ----------
    rate, delay
        Rate and delay of the paused link, packets/s and s.
    packet_size
        Bytes per packet.
    signalling
        Time to generate and act on a pause, s.

    Examples
    --------
    100 Gb/s over 100 m, in packets of 1500 bytes: 2 frames, 92 bytes, 12.5 kB on the cable, 394 quanta.

    >>> round(default_headroom(100e9 / 12e3, 0.5e-6, 1500.0) * 1500.0)
    40808
    >>> from dfcmodel import headroom
    >>> headroom("100Gbps", "100m", mtu=1500).bytes
    40296
    """
    bits = 8.0 * packet_size * rate
    row = _rate_row(bits)
    response = BITS[row] / LISTED[row]
    sent = rate * (2.0 * delay + signalling + response)
    headroom = 2.0 + BESIDE_FRAMES / packet_size + sent
    return headroom if np.ndim(headroom) else float(headroom)


def small_packet_factor(buffer: float | ByteBuffer, packet_size: float) -> float:
    """Return how many times as much buffer a byte of ACKs takes as a byte of full packets, by cells; at least 1.

    Examples
    --------
    >>> small_packet_factor(ByteBuffer("1 MB", cell=80), 1600.0), small_packet_factor(100.0, 1600.0)
    (2.0, 1.0)
    """
    if not isinstance(buffer, ByteBuffer):
        return 1.0
    full_packet = buffer.taken(packet_size) / packet_size
    return max(1.0, *(buffer.taken(size) / size / full_packet for size in ACK_BYTES))
