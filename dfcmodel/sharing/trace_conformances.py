"""Deviations of the trace of an implementation of BBR from the IETF draft (draft-ietf-ccwg-bbr)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.sharing.bbr_observations import MODES
from dfcmodel.sharing.qlog_traces import QlogTrace
from hopflow.results import Result, figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["TraceCheck", "TraceConformance", "check_trace"]

FOLLOWERS = {
    "STARTUP": ("DRAIN", "PROBE_RTT"),
    "DRAIN": ("DOWN", "CRUISE", "REFILL", "PROBE_RTT"),
    "DOWN": ("CRUISE", "REFILL", "PROBE_RTT"),
    "CRUISE": ("REFILL", "PROBE_RTT"),
    "REFILL": ("UP", "PROBE_RTT"),
    "UP": ("DOWN", "CRUISE", "PROBE_RTT"),
    "PROBE_RTT": ("STARTUP", "DOWN", "CRUISE"),
}
"""Possible successors of each state (Sect. 5.3). A trace may lack a state that one ACK enters and leaves."""
SLOWING_CHANGES = (("STARTUP", "DRAIN"), ("UP", "DOWN"))
ACCELERATING_CHANGES = (("REFILL", "UP"),)
"""Changes of the state with a lower or higher pacing rate, by the gains (Sect. 5.3); the ratio depends on the
bandwidth."""
TOLERANCE = 0.05
"""Relative tolerance of times and windows: traces are sampled."""
MIN_PIPE_CWND = 4.0
"""BBR.MinPipeCwnd, packets."""
PROBE_RTT_TIME, PROBE_RTT_INTERVAL = 0.2, 5.0
MAX_PROBE_INTERVAL = 3.0
"""Largest time between two probes of the bandwidth, s (Sect. 5.3.3)."""
BURST_PACKETS = 3.0
"""Tolerance of windows for bursts, packets."""


class TraceCheck(NamedTuple):
    """A requirement on a state at a time, s, of a trace, the value there, and whether it meets the requirement.

    Attributes
    ----------
    time
        Begin of the state, s.
    mode
        The state.
    expected, happened
        Requirement of the draft, and value in the trace.
    holds
        Whether the trace meets the requirement.

    Examples
    --------
    >>> from dfcmodel.results import TraceCheck
    >>> TraceCheck(0.0, "DRAIN", "at least 4 packets", "2", False).holds
    False
    """

    time: float
    mode: str
    expected: str
    happened: str
    holds: bool


@dataclass(frozen=True, repr=False, eq=False)
class TraceConformance(Result):
    """Checks of all states of a trace against the draft, as `conformance` returns them.

    Attributes
    ----------
    trace
        The checked trace.
    checks
        Checks in the order of the states.

    Examples
    --------
    >>> from dfcmodel import conformance, read_qlog_trace
    >>> text = '''{"time": 0, "name": "recovery:congestion_state_updated", "data": {"new": "startup"}}
    ... {"time": 90, "name": "recovery:congestion_state_updated", "data": {"new": "up"}}'''
    >>> result = conformance(read_qlog_trace(text))
    >>> [(d.time, d.expected, d.happened) for d in result.deviations]
    [(0.0, 'STARTUP is followed by DRAIN or PROBE_RTT', 'by UP')]
    """

    trace: QlogTrace
    checks: tuple[TraceCheck, ...]

    @property
    def deviations(self) -> tuple[TraceCheck, ...]:
        """Checks that failed, in the order of the trace."""
        return tuple(check for check in self.checks if not check.holds)

    @property
    def table(self) -> pd.DataFrame:
        """Table with a row per check: time, mode, expected, happened, holds."""
        import pandas as pd

        return pd.DataFrame(list(self.checks), columns=list(TraceCheck._fields))

    def to_xarray(self) -> Any:
        """Return the table of checks as an xarray Dataset over ``row``."""
        return self.table.rename_axis("row").to_xarray()

    def summary(self) -> dict[str, object]:
        """Return, by name, the number of states, and as texts how many checks hold and each deviation with its time."""
        rows: dict[str, object] = {
            "states": len(self.trace.modes),
            "checks": f"{len(self.checks) - len(self.deviations)} of {len(self.checks)} hold",
        }
        for n, check in enumerate(self.deviations, 1):
            rows[f"deviation {n}"] = f"{check.mode} at {check.time:.3f} s: {check.expected}: {check.happened}"
        return rows

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the states over time with marks at failed checks; return the Axes."""
        axes: Axes = figure(8.0, 2.4)[1] if ax is None else ax
        for mode, begin, end, _ in self.trace.spells():
            axes.broken_barh([(begin, end - begin)], (MODES.index(mode) - 0.4, 0.8), color="C0")
        wrong = [(check.time, MODES.index(check.mode)) for check in self.deviations]
        if wrong:
            axes.plot(*np.transpose(wrong), "x", color="C3", label="deviates")
            axes.legend(fontsize=7)
        axes.set_yticks(range(len(MODES)), MODES, fontsize=7)
        axes.set(xlabel="time (s)")
        return axes


def check_trace(trace: QlogTrace) -> TraceConformance:
    """Check each state of a trace against the draft, as far as the trace has the variables."""
    spells = list(trace.spells())
    results = list[TraceCheck]()
    probe_rtt, down = 0.0, None
    followers = [*trace.modes[1:], ""]
    for n, (mode, begin, end, rows) in enumerate(spells):
        checks = [*_check_window(trace, mode, rows), *_check_duration(trace, spells[n], followers[n])]
        if followers[n]:
            checks += _check_change(trace, *spells[n : n + 2])
        results += [TraceCheck(begin, mode, *check) for check in checks]
        if mode == "PROBE_RTT":
            holds = begin - probe_rtt >= (1.0 - TOLERANCE) * PROBE_RTT_INTERVAL
            expected = f"at least {PROBE_RTT_INTERVAL:g} s after the last one, or the start"
            results.append(TraceCheck(begin, mode, expected, f"{begin - probe_rtt:.2f} s", holds))
            probe_rtt, down = end, None
        elif mode == "DOWN" or (mode == "CRUISE" and down is None):
            down = begin
        elif mode == "REFILL" and down is not None:
            results += [TraceCheck(down, "DOWN", *check) for check in _check_probe_interval(trace, down, begin)]
            down = None
    return TraceConformance(trace, tuple(results))


def _check_window(trace: QlogTrace, mode: str, rows: slice) -> Iterator[tuple[str, str, bool]]:
    """Yield the checks of the window at the end of a spell in PROBE_RTT; nothing for other states."""
    cwnd = trace.cwnd[rows][-1:]
    if mode != "PROBE_RTT" or np.isnan(cwnd).any() or not len(cwnd):
        return
    window = float(cwnd[0])
    yield (
        f"window of at least {MIN_PIPE_CWND:g} packets",
        f"{window:.4g}",
        window >= MIN_PIPE_CWND - 1e-6,
    )
    product = float(trace.pacing_rate[rows][-1] / 0.99 * trace.min_rtt[rows][-1])
    if not np.isnan(product):
        limit = max(MIN_PIPE_CWND, 0.5 * product) * (1.0 + TOLERANCE) + BURST_PACKETS
        yield "window of half of the product", f"{window:.4g} of {limit:.4g} packets", window <= limit


def _check_duration(
    trace: QlogTrace, spell: tuple[str, float, float, slice], follower: str
) -> Iterator[tuple[str, str, bool]]:
    """Yield the checks of the duration of a state; nothing if ``follower`` is "", because the trace ends in it."""
    mode, begin, end, rows = spell
    if not follower:
        return
    duration = end - begin
    if mode == "PROBE_RTT":
        holds = duration >= (1.0 - TOLERANCE) * PROBE_RTT_TIME
        yield f"at least {PROBE_RTT_TIME:g} s", f"{duration:.3f} s", holds
    trip = _last_min_rtt(trace, rows)
    if mode == "REFILL" and trip is not None and follower != "PROBE_RTT":
        yield "a round trip", f"{duration:.4g} s of {trip:.4g} s", duration >= 0.85 * trip


def _check_change(
    trace: QlogTrace, spell: tuple[str, float, float, slice], after: tuple[str, float, float, slice]
) -> Iterator[tuple[str, str, bool]]:
    """Yield the checks of the state that follows ``spell`` and of the change of the pacing rate."""
    (mode, _, _, rows), (follower, _, _, next_rows) = spell, after
    allowed = FOLLOWERS[mode]
    texts = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
    yield f"{mode} is followed by {texts}", f"by {follower}", follower in allowed
    rates = trace.pacing_rate[rows][-1:], trace.pacing_rate[next_rows][:1]
    change = (mode, follower)
    if change not in (*SLOWING_CHANGES, *ACCELERATING_CHANGES) or not all(len(r) and r[0] > 0.0 for r in rates):
        return
    quotient = float(rates[1][0] / rates[0][0])
    holds, how = (quotient < 1.0, "slower") if change in SLOWING_CHANGES else (quotient > 1.0, "faster")
    yield f"{follower} paces {how} than {mode}", f"{quotient:.3g} of its rate", holds


def _check_probe_interval(trace: QlogTrace, begin: float, end: float) -> Iterator[tuple[str, str, bool]]:
    """Yield the check of the time, s, between two probes; nothing if ACKs stopped between them."""
    first, last = np.searchsorted(trace.time, [begin, end])
    rows = slice(int(first), int(last))
    with np.errstate(invalid="ignore"):
        stopped = (trace.in_flight[rows] == 0.0) | (trace.cwnd[rows] < MIN_PIPE_CWND)
    if not stopped.any():
        holds = end - begin <= (1.0 + TOLERANCE) * MAX_PROBE_INTERVAL + 2.0 * (_last_min_rtt(trace, rows) or 0.0)
        yield f"at most {MAX_PROBE_INTERVAL:g} s until the next probe", f"{end - begin:.2f} s", holds


def _last_min_rtt(trace: QlogTrace, rows: slice) -> float | None:
    """Return the last minimum round-trip time in the rows, s; None if the trace has none."""
    values = trace.min_rtt[rows]
    values = values[~np.isnan(values)]
    return float(values[-1]) if len(values) else None
