"""Traces of delivery opportunities, as the link emulator Mahimahi reads them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from dfcmodel.network.path_elements import RateTrace
from hopflow.checks import file_path, one_number
from hopflow.units import WithUnit, quantities

__all__ = ["read_mahimahi"]

OPPORTUNITY = 1504.0
"""Bytes of a delivery opportunity in Mahimahi (Netravali et al. 2015): a packet of 1500 bytes and its framing."""


@quantities(bin="time", packet_size="size")
def read_mahimahi(
    path: str | Path, link: str, *, bin: WithUnit = 0.02, packet_size: WithUnit = 1500.0
) -> RateTrace:
    r"""Return the rates of a link over time from a file of delivery opportunities.

    Each line of the file is a time in whole milliseconds at which a packet of at most 1504 bytes may leave; equal
    times are several packets. The trace repeats after its last time. The opportunities of a bin become an even rate: with small
    bins packets leave when they would in Mahimahi, to a bin. Unlike there, an opportunity that is not used is not lost within its bin.

    Parameters
    ----------
    path
        The file.
    link
        Name of the link, whose rate must be at least that of the fullest bin.
    bin
        Length of a bin in s, at least 1e-6; that of the last one is what is left.
    packet_size
        Bytes of a packet of the scenario: smaller ones use an opportunity in part.

    Raises
    ------
    ValueError
        For lines that are no times in order, and files without opportunities after 0 ms.
    OSError
        Where the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dfcmodel import read_mahimahi
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "link.trace")
    ...     _ = file.write_text("1\n2\n3\n10\n20\n")
    ...     trace = read_mahimahi(file, "a->b", bin="10ms", packet_size=1504)
    >>> trace.rates, trace.period
    ((400.0, 100.0), 0.02)
    """
    bin = one_number("bin", bin, at_least=1e-6, hint="in s")
    packet_size = one_number("packet_size", packet_size, above=0.0, hint="in bytes")
    times: list[int] = []
    for n, line in enumerate(file_path("path", path).read_text(encoding="ascii").splitlines(), 1):
        text = line.split("#")[0].strip()
        if not text:
            continue
        if not text.isdigit() or (times and int(text) < times[-1]):
            least = times[-1] if times else 0
            msg = f"must be a whole number of milliseconds, at least {least}"
            raise ValueError(f"path = {str(path)!r}, line {n}, {text!r}: {msg}")
        times.append(int(text))
    if not times or times[-1] == 0:
        raise ValueError(f"path = {str(path)!r}: must have a time above 0 ms")
    period = times[-1] / 1000.0
    bins = math.ceil(period / bin * (1.0 - 1e-12))
    ends = np.append(np.arange(1, bins) * bin, period)
    # an opportunity at time t belongs to the bin that ends at t or after it
    row = np.searchsorted(ends * 1000.0 * (1.0 + 1e-12), np.array(times))
    counts = np.bincount(row, minlength=bins)
    starts = np.append(0.0, ends[:-1])
    rates = counts * (OPPORTUNITY / packet_size) / (ends - starts)
    return RateTrace(link, tuple(starts.tolist()), tuple(rates.tolist()), period)
