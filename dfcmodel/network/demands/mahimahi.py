"""Traces of delivery opportunities in the format of the link emulator Mahimahi."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from dfcmodel.network.demands.flow_files import read_text
from dfcmodel.network.elements.rates import RateTrace
from hopflow.checks import one_number
from hopflow.units import PacketUnits, WithUnit, quantities

__all__ = ["read_mahimahi"]

OPPORTUNITY, FRAMING = 1504.0, 4.0
"""Bytes of a delivery opportunity in Mahimahi (Netravali et al. 2015), and of its TUN device's header per packet."""
MAX_BYTES = 16 * 2**20
"""Largest file: about four million opportunities."""
MAX_BINS = 1_000_000
"""Largest number of bins of a trace: more than five hours of 20 ms."""


@quantities(bin="time", packet_size="size")
def read_mahimahi(path: str | Path, link: str, *, bin: WithUnit = 0.02, packet_size: WithUnit = 1500.0) -> RateTrace:
    r"""Return the rates of a link, means over ``bin`` s, from a file of delivery opportunities.

    Each line of the file is a time in whole milliseconds at which 1504 bytes may leave: one packet of 1500 bytes and
    the 4 bytes that Mahimahi's device puts before each packet. Equal times are several opportunities. Empty lines and
    comments after ``#`` are skipped. The trace repeats after its last time. The opportunities of a bin become an even
    rate: with small bins packets leave at the times of Mahimahi, up to a bin. Unlike in Mahimahi, an unused opportunity
    is not lost within its bin.

    Parameters
    ----------
    path
        The file, of at most 16 MiB.
    link
        Name of the link, whose rate must be at least the rate of the fullest bin.
    bin
        Length of a bin in s, at least 1e-6, such that there are at most a million; the last bin has the remaining
        length.
    packet_size
        Bytes of a packet, for the ``rates`` of the result. A `Scenario` converts these to its packets: an
        opportunity carries 1504 / (packet size + 4) of them.

    Raises
    ------
    ValueError
        For lines that are not times in order, files without opportunities after 0 ms, more than a million bins, and
        files that are too large or not UTF-8.
    OSError
        When the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dfcmodel import read_mahimahi
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "link.trace")
    ...     _ = file.write_text("1\n2\n3\n10\n20\n")
    ...     trace = read_mahimahi(file, "a->b", bin="10ms")
    >>> trace.rates, trace.period
    ((400.0, 100.0), 0.02)
    """
    bin = one_number("bin", bin, at_least=1e-6, hint="in s")
    packet_size = one_number("packet_size", packet_size, above=0.0, hint="in bytes")
    times: list[int] = []
    for n, line in enumerate(read_text(path, MAX_BYTES).splitlines(), 1):
        text = line.split("#")[0].strip()
        if not text:
            continue
        if not re.fullmatch("[0-9]{1,18}", text) or (times and int(text) < times[-1]):
            earliest = times[-1] if times else 0
            msg = f"must be a whole number of milliseconds, at least {earliest} and below 10^18"
            raise ValueError(f"path = {str(path)!r}, line {n}, {text[:40]!r}: {msg}")
        times.append(int(text))
    if not times or times[-1] == 0:
        raise ValueError(f"path = {str(path)!r}: must have a time above 0 ms")
    period = times[-1] / 1000.0
    bins = math.ceil(period / bin * (1.0 - 1e-12))
    if bins > MAX_BINS:
        longer = f"{period / MAX_BINS:.3g} s"
        msg = f"{bins:.3g} bins of {bin:g} s, must be at most {MAX_BINS}: give bin of at least {longer}"
        raise ValueError(f"path = {str(path)!r}, a trace of {period:g} s: {msg}")
    edges = np.append(np.arange(1, bins) * bin, period)
    # an opportunity at time t belongs to the first bin whose end is t or later
    row = np.searchsorted(edges * 1000.0 * (1.0 + 1e-12), np.array(times))
    counts = np.bincount(row, minlength=bins)
    starts = np.append(0.0, edges[:-1])
    in_bytes = (counts * OPPORTUNITY / (edges - starts)).tolist()
    rates = [PacketUnits(n / (packet_size + FRAMING), packet_size, n, FRAMING) for n in in_bytes]
    return RateTrace(link, tuple(starts.tolist()), tuple(rates), period)
