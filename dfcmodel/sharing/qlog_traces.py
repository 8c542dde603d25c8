"""Traces of BBR's states and variables as qlog (draft-ietf-quic-qlog-quic-events), written and read."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.sharing.bbr_observations import MODES, Observation
from hopflow.checks import file_path, format_value, instance, one_number
from hopflow.results import ByValue
from hopflow.units import WithUnit, quantities
from hopflow.whole_files import replacing
from responsefn.measurements.qlog_events import METRICS as METRICS_UPDATED
from responsefn.measurements.qlog_events import PARAMETERS, STATE, Event, Qlog, doubt_units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["METRICS", "QlogTrace", "read_qlog_trace", "write_qlog"]

METRICS = ("cwnd", "in_flight", "pacing_rate", "min_rtt")
"""Variables of a trace, by the names of `QlogTrace`."""
BITS, MILLISECONDS = 8.0, 1e3


@dataclass(frozen=True, eq=False)
class QlogTrace(ByValue):
    """States and variables of BBR over time, in packets, packets/s and s, as read from a qlog file.

    Attributes
    ----------
    modes
        States in their order: ``"STARTUP"``, ``"DRAIN"``, ``"DOWN"``, ``"CRUISE"``, ``"REFILL"``, ``"UP"``,
        ``"PROBE_RTT"``.
    begins
        Begin of each state, s since the first event, shape (M,).
    time
        Times of the metrics, s, shape (S,).
    cwnd, in_flight, pacing_rate, min_rtt
        Packets, packets, packets/s, s, each of shape (S,): the last value up to that time; nan before the first.
    end
        Time of the last event, s.

    Examples
    --------
    >>> from dfcmodel import read_qlog_trace
    >>> text = '''{"traces": [{"events": [
    ...     {"time": 0, "name": "recovery:congestion_state_updated", "data": {"new": "startup"}},
    ...     {"time": 80, "name": "recovery:congestion_state_updated", "data": {"new": "drain"}}]}]}'''
    >>> trace = read_qlog_trace(text, packet_size=1200)
    >>> trace.modes, trace.begins[1].item()
    (('STARTUP', 'DRAIN'), 0.08)
    """

    modes: tuple[str, ...]
    begins: Floats
    time: Floats = field(repr=False)
    cwnd: Floats = field(repr=False)
    in_flight: Floats = field(repr=False)
    pacing_rate: Floats = field(repr=False)
    min_rtt: Floats = field(repr=False)
    end: float = 0.0

    def spells(self) -> Iterator[tuple[str, float, float, slice]]:
        """Yield each state with its begin and end, s, and the slice of the samples in it."""
        stops = [*self.begins[1:].tolist(), self.end]
        for mode, begin, end in zip(self.modes, self.begins.tolist(), stops, strict=True):
            rows = np.searchsorted(self.time, [begin, end])
            yield mode, begin, end, slice(int(rows[0]), int(rows[1]))


@quantities(packet_size="size")
def write_qlog(trace: Observation, file: str | Path, packet_size: WithUnit = 1500.0) -> None:
    """Write BBR's states and variables in a run as a qlog file with one trace.

    Parameters
    ----------
    trace
        The trace of a case of `conformance`, ``cases[n].trace``.
    file
        Path; an existing file is replaced.
    packet_size
        Bytes per packet.

    Raises
    ------
    TypeError, ValueError
        For another trace, no path, or a size that is not a number above 0.

    Examples
    --------
    >>> from dfcmodel import conformance, read_qlog_trace, write_qlog
    >>> from responsefn import BBR
    >>> run = conformance(BBR(), cases=(1,)).cases[0].trace
    >>> write_qlog(run, "bbr.qlog")  # doctest: +SKIP
    >>> conformance(read_qlog_trace("bbr.qlog"))  # doctest: +SKIP
    """
    instance("trace", trace, Observation, "the trace of a case of conformance()")
    size = one_number("packet_size", packet_size, above=0.0)
    content = {
        "qlog_format": "JSON",
        "qlog_version": "0.3",
        "traces": [
            {
                "title": "BBR",
                "vantage_point": {"type": "client"},
                "common_fields": {"time_format": "relative", "reference_time": 0},
                "events": list(_events(trace, size)),
            }
        ],
    }
    with replacing(file_path("file", file)) as scratch:
        scratch.write_text(json.dumps(content, indent=0), encoding="utf-8")


def _events(run: Observation, size: float) -> Iterator[dict[str, Any]]:
    """Yield qlog events of a run, as dictionaries: the packet size, changes of the state, and variables at samples."""
    yield {"time": 0.0, "name": "recovery:parameters_set", "data": {"max_datagram_size": size}}
    modes = run.state["mode"].astype(int)
    before = -1
    for n, time in enumerate((run.time * MILLISECONDS).tolist()):
        if modes[n] != before:
            data = {"old": MODES[before].lower()} if n else {}
            yield {
                "time": time,
                "name": f"recovery:{STATE}",
                "data": {**data, "new": MODES[modes[n]].lower()},
            }
            before = modes[n]
        data = {
            "congestion_window": run.state["cwnd"][n] * size,
            "bytes_in_flight": run.in_flight[n] * size,
            "pacing_rate": run.state["pacing_rate"][n] * size * BITS,
        }
        if math.isfinite(run.state["min_rtt"][n]):
            data["min_rtt"] = run.state["min_rtt"][n] * MILLISECONDS
        yield {
            "time": time,
            "name": f"recovery:{METRICS_UPDATED}",
            "data": {k: float(v) for k, v in data.items()},
        }


@quantities(packet_size="size")
def read_qlog_trace(source: str | Path, packet_size: WithUnit | None = None, *, skip: Iterable[str] = ()) -> QlogTrace:
    """Return BBR's states and variables in the first trace of a qlog file that has them.

    Reads the events ``congestion_state_updated``, ``recovery_metrics_updated`` and ``recovery_parameters_set``, also by
    their names in older drafts, as JSON or as a sequence of JSON records. Times are converted by ``time_format`` and
    ``time_units``. States are named as in the draft, in upper or lower case, with or without ``bbr`` and
    ``probe_bw`` in front. Other events and fields of the drafts are skipped; unknown events and fields are refused.
    Loss rates and round-trip times of any sender: `responsefn.read_qlog`.

    Parameters
    ----------
    source
        A path, or the text itself, at most 64 MiB.
    packet_size
        Bytes per packet; None: ``max_datagram_size`` of the trace.
    skip
        Names of further events and fields to skip, as the error message has them.

    Warns
    -----
    UserWarning
        For round-trip times that differ from the times to ACKs and losses by a factor of at least 100, as if in another
        unit.

    Raises
    ------
    ValueError
        For unknown events, fields, formats and versions; for a trace without states, with a state that is not BBR's,
        with states of several connections, an impossible number, no packet size, or decreasing times.

    Examples
    --------
    >>> from dfcmodel import read_qlog_trace
    >>> text = '{"time": 5, "name": "recovery:congestion_state_updated", "data": {"new": "ProbeBW_Up"}}'
    >>> read_qlog_trace(text, packet_size=1200).modes
    ('UP',)
    """
    size = None if packet_size is None else one_number("packet_size", packet_size, above=0.0)
    qlog = Qlog(source, skip)
    for events in qlog.traces():
        connections = {event.connection for event in events if event.kind == STATE}
        if len(connections) > 1:
            names = ", ".join(sorted(connections))
            reason = "states of more than one connection; write a trace for each"
            raise qlog.error(events[0].location, f"{names}: {reason}")
        if connections:
            if remark := doubt_units(event for event in events if event.connection in connections):
                warnings.warn(f"{qlog.name}: {remark}", stacklevel=3)
            kinds = (STATE, METRICS_UPDATED, PARAMETERS)
            relevant = [e for e in events if e.kind in kinds and e.connection in connections]
            return _trace(qlog, relevant, size)
    raise qlog.error("", "must have a trace with congestion_state_updated events")


def _trace(qlog: Qlog, events: Iterable[Event], size: float | None) -> QlogTrace:
    """Return the trace of qlog events; ``size``, bytes per packet, None: from the events. Falling times are errors."""
    modes, begins, time = list[str](), list[float](), list[float]()
    rows = list[dict[str, float]]()
    last: dict[str, float] = dict.fromkeys(METRICS, math.nan)
    start = before = -math.inf
    for event in events:
        now, data = event.time, event.data
        if now < before:
            msg = "times must not decrease"
            reason = f"the event at {now:g} s follows one at {before:g} s: {msg}"
            raise qlog.error(event.location, reason)
        before = now
        start = now if start == -math.inf else start
        if event.kind == PARAMETERS:
            size = data.get("max_datagram_size") if size is None else size
        elif event.kind == STATE:
            mode = _mode(qlog, event)
            if not modes or modes[-1] != mode:
                modes.append(mode)
                begins.append(now - start)
        else:
            last = {**last, **_metrics(data, size)}
            time.append(now - start)
            rows.append(last)
    metrics = {name: np.array([row[name] for row in rows]) for name in METRICS}
    return QlogTrace(tuple(modes), np.array(begins), np.array(time), **metrics, end=before - start)


def _metrics(data: dict[str, Any], size: float | None) -> dict[str, float]:
    """Return the variables that an event has, by name, in packets, packets/s and s; ``size`` is bytes per packet."""
    metrics = {}
    names = {"congestion_window": "cwnd", "bytes_in_flight": "in_flight", "pacing_rate": "pacing_rate"}  # fmt: skip
    for name, metric in names.items():
        if name in data:
            if size is None:
                msg = "must be given: the trace has no max_datagram_size"
                raise ValueError(f"packet_size = None: {msg}")
            metrics[metric] = data[name] / size
    if "pacing_rate" in metrics:
        metrics["pacing_rate"] /= BITS
    if "min_rtt" in data:
        metrics["min_rtt"] = data["min_rtt"]
    return metrics


def _mode(qlog: Qlog, event: Event) -> str:
    """Return the state of the draft for the name in an event, in any spelling; an error for an unknown name."""
    name = event.data.get("new")
    text = "".join(c for c in str(name).upper() if c.isalpha())
    for word in ("BBR", "PROBEBW", "PROBE"):
        text = text.removeprefix(word) if text != "PROBERTT" else text
    for mode in MODES:
        if text in (mode.replace("_", ""), mode.replace("PROBE_", "")):
            return mode
    names = ", ".join(MODES)
    reason = f"new = {format_value(name)} of congestion_state_updated: must be one of {names}"
    raise qlog.error(event.location, reason)
