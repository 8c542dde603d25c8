"""Measured loss event rates, round-trip times and rates, and readers: ``ss -ti`` and qlog."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import file_path, one_number
from hopflow.units import quantities
from responsefn.metrics.tfrc_loss_intervals import loss_events

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Samples", "events_of", "read_qlog", "read_ss"]

UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
ADDRESS = re.compile(r"(\S+:\w+)\s+(\S+:\w+)\s*")


@dataclass(frozen=True, eq=False)
class Samples:
    """Measurements of n connections.

    Attributes
    ----------
    names
        Which connections, n of them.
    p
        Loss rate, shape (n,): what each reader counts.
    rtt
        Mean round-trip time in s, shape (n,).
    rate
        Packets/s, shape (n,).
    packets
        On which p rests, shape (n,).

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> Samples(("a",), 0.01 * one, 0.1 * one, 120.0 * one, 5000.0 * one).to_pandas().p.item()
    0.01
    """

    names: tuple[str, ...]
    p: Floats
    rtt: Floats
    rate: Floats
    packets: Floats

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns p, rtt, rate and packets over the names."""
        import pandas as pd

        columns = {"p": self.p, "rtt": self.rtt, "rate": self.rate, "packets": self.packets}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="connection"))


def read_ss(source: str | Path) -> Samples:
    """Read the output of ``ss -ti`` (tcp_info of Linux), one connection after the other.

    p is the part of data segments that were sent again, retransmissions over ``data_segs_out``: an
    upper bound of the loss event rate, since a loss event may cost several. The rate is
    ``delivery_rate`` over the MSS, the round-trip time the smoothed one. Connections without data,
    without a round-trip time or without a delivery rate are left out; no retransmission is p = 0.

    Parameters
    ----------
    source
        A path, or the text itself.

    Raises
    ------
    ValueError
        Where nothing in it is a connection with these fields.

    Examples
    --------
    >>> text = '''ESTAB 0 0 10.0.0.1:22 10.0.0.2:41000
    ...     cubic rto:228 rtt:25.5/1.2 mss:1448 cwnd:40 retrans:0/12 data_segs_out:40000
    ...     delivery_rate 17.4Mbps'''
    >>> found = read_ss(text)
    >>> print(found.names[0], found.p[0], round(found.rtt[0], 4), round(found.rate[0]))
    10.0.0.1:22 > 10.0.0.2:41000 0.0003 0.0255 1502
    """
    text = _text(source)
    names, rows = [], []
    for block in re.split(r"\n(?=\S)", text):
        address = ADDRESS.search(block)
        numbers = {
            "rtt": re.search(r"\brtt:([\d.]+)/", block),
            "mss": re.search(r"\bmss:(\d+)", block),
            "sent": re.search(r"\bdata_segs_out:(\d+)", block),
            "rate": re.search(r"\bdelivery_rate ([\d.]+)([KMG]?)bps", block),
        }
        if address is None or any(found is None for found in numbers.values()):
            continue
        found = {name: match for name, match in numbers.items() if match is not None}
        again = re.search(r"\bretrans:\d+/(\d+)", block)
        sent, mss = float(found["sent"][1]), float(found["mss"][1])
        if sent == 0.0:
            continue
        bits = float(found["rate"][1]) * UNITS[found["rate"][2]]
        lost = float(again[1]) if again else 0.0
        names.append(f"{address[1]} > {address[2]}")
        rows.append((lost / sent, 1e-3 * float(found["rtt"][1]), bits / (8.0 * mss), sent))
    if not rows:
        raise ValueError(
            "source: no connection with rtt, mss, data_segs_out and delivery_rate in it"
        )
    return Samples(tuple(names), *np.array(rows).T)


@quantities(packet_size="size")
def read_qlog(source: str | Path, packet_size: float | None = None) -> Samples:
    """Read a qlog trace of a QUIC sender, as JSON or as a sequence of JSON records.

    Of the events ``packet_sent``, ``packet_lost`` and ``metrics_updated`` (of any category): p is loss
    events per packet sent, where losses of packets sent within a round trip are one event
    (`loss_events`); the round-trip time is the mean of ``smoothed_rtt``; the rate is packets sent over
    the time from the first to the last.

    Parameters
    ----------
    source
        A path, or the text itself.
    packet_size
        In bytes: the rate is then that of the bytes sent, in packets of this size.

    Raises
    ------
    ValueError
        Where no packets, times or round-trip times are in it.

    Examples
    --------
    >>> sent = [{"name": "transport:packet_sent", "time": 10.0 * n,
    ...          "data": {"header": {"packet_number": n}}} for n in range(101)]
    >>> lost = [{"name": "recovery:packet_lost", "time": 600.0, "data": {"header": {"packet_number": n}}}
    ...         for n in (50, 51)]
    >>> rtt = [{"name": "recovery:metrics_updated", "time": 5.0, "data": {"smoothed_rtt": 40.0}}]
    >>> found = read_qlog(json.dumps({"traces": [{"events": sent + lost + rtt}]}))
    >>> print(round(found.p[0], 4), found.rtt[0], round(found.rate[0], 3))
    0.0099 0.04 101.0
    """
    if packet_size is not None:
        packet_size = one_number("packet_size", packet_size, above=0.0)
    names, rows = [], []
    for number, events in enumerate(events_of(source), 1):
        when: dict[tuple[str, int], float] = {}
        lost, trips, size = [], [], 0.0
        for event in events:
            kind, data = str(event.get("name", "")).rpartition(":")[2], event.get("data", {})
            header = data.get("header", {})
            key = (str(header.get("packet_type", "")), int(header.get("packet_number", -1)))
            if kind == "packet_sent":
                when[key] = 1e-3 * float(event["time"])
                size += float(data.get("raw", {}).get("length", 0.0))
            elif kind == "packet_lost":
                lost.append(key)
            elif kind == "metrics_updated" and "smoothed_rtt" in data:
                trips.append(1e-3 * float(data["smoothed_rtt"]))
        if len(when) < 2 or not trips:
            continue
        rtt, times = float(np.mean(trips)), np.array(sorted(when.values()))
        gone = sorted({key for key in lost if key in when}, key=lambda key: when[key])
        began = loss_events(range(len(gone)), [when[key] for key in gone], rtt, unit_check=False)
        packets = len(when) if packet_size is None else size / packet_size
        names.append(f"trace {number}")
        rows.append((len(began) / len(when), rtt, packets / (times[-1] - times[0]), len(when)))
    if not rows:
        raise ValueError("source: no trace with packet_sent and metrics_updated events in it")
    return Samples(tuple(names), *np.array(rows).T)


def events_of(source: str | Path) -> Iterable[list[dict[str, Any]]]:
    """Return the events of each trace of a qlog file or of its text."""
    return _traces(_text(source))


def _traces(text: str) -> Iterable[list[dict[str, Any]]]:
    """Return the events of each trace of JSON or of a sequence (RFC 7464) or lines of JSON."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        lines = [line for line in re.split(r"[\x1e\n]+", text) if line.strip()]
        try:
            records = [json.loads(line) for line in lines]
        except json.JSONDecodeError as error:
            raise ValueError(f"source: no JSON, {error}") from None
        return [[record for record in records if "time" in record]]
    if "name" in whole:  # a sequence of one record
        return [[whole]]
    return [trace.get("events", []) for trace in whole.get("traces", [whole])]


def _text(source: str | Path) -> str:
    if not isinstance(source, str) or ("\n" not in source and "{" not in source):
        return file_path("source", source).read_text(encoding="utf-8")
    return source
