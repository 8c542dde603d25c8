"""Where the trace of an implementation of BBR leaves the IETF draft (draft-ietf-ccwg-bbr)."""

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
"""States that may follow one (Sect. 5.3); a state that an ACK enters and leaves at once may be missing from a trace."""
SLOWER = (("STARTUP", "DRAIN"), ("UP", "DOWN"))
FASTER = (("REFILL", "UP"),)
"""States at whose change the pacing rate falls or rises, by the gains (Sect. 5.3): how far depends on the bandwidth then."""
PART = 0.05
"""By which a time or a window may differ: traces are sampled."""
MIN_PIPE_CWND = 4.0
"""BBR.MinPipeCwnd, packets."""
PROBE_RTT_TIME, PROBE_RTT_INTERVAL = 0.2, 5.0
LONGEST_WAIT = 3.0
"""s after which the bandwidth is probed again (Sect. 5.3.3)."""
QUANTUM = 3.0
"""Packets by which windows may be larger for what is sent together."""


class TraceCheck(NamedTuple):
    """One expectation of a state in a trace.

    Attributes
    ----------
    time
        When the state begins, s.
    mode
        The state.
    expected, happened
        What the draft says, and what the trace has.
    holds
        Whether that is as expected.

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
    """What the draft says of each state of a trace, and what happened.

    Attributes
    ----------
    trace
        That was checked.
    checks
        In the order of the states.

    Examples
    --------
    >>> from dfcmodel import conformance, read_qlog_trace
    >>> text = '''{"time": 0, "name": "recovery:congestion_state_updated", "data": {"new": "startup"}}
    ... {"time": 90, "name": "recovery:congestion_state_updated", "data": {"new": "up"}}'''
    >>> found = conformance(read_qlog_trace(text))
    >>> [(d.time, d.expected, d.happened) for d in found.deviations]
    [(0.0, 'STARTUP is followed by DRAIN or PROBE_RTT', 'by UP')]
    """

    trace: QlogTrace
    checks: tuple[TraceCheck, ...]

    @property
    def deviations(self) -> tuple[TraceCheck, ...]:
        """The checks that do not hold."""
        return tuple(check for check in self.checks if not check.holds)

    @property
    def table(self) -> pd.DataFrame:
        """A row per check: time, mode, expected, happened, holds."""
        import pandas as pd

        return pd.DataFrame(list(self.checks), columns=list(TraceCheck._fields))

    def to_xarray(self) -> Any:
        """Return the table over ``row`` as a Dataset."""
        return self.table.rename_axis("row").to_xarray()

    def summary(self) -> dict[str, object]:
        """Return how many checks hold, and each deviation with its time."""
        rows: dict[str, object] = {
            "states": len(self.trace.modes),
            "checks": f"{len(self.checks) - len(self.deviations)} of {len(self.checks)} hold",
        }
        for n, each in enumerate(self.deviations, 1):
            rows[f"deviation {n}"] = f"{each.mode} at {each.time:.3f} s: {each.expected}: {each.happened}"
        return rows

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the states over time, with marks where a check does not hold; return the Axes."""
        axes: Axes = figure(8.0, 2.4)[1] if ax is None else ax
        for mode, begin, end, _ in self.trace.spells():
            axes.broken_barh([(begin, end - begin)], (MODES.index(mode) - 0.4, 0.8), color="C0")
        wrong = [(each.time, MODES.index(each.mode)) for each in self.deviations]
        if wrong:
            axes.plot(*np.transpose(wrong), "x", color="C3", label="deviates")
            axes.legend(fontsize=7)
        axes.set_yticks(range(len(MODES)), MODES, fontsize=7)
        axes.set(xlabel="time (s)")
        return axes


def check_trace(trace: QlogTrace) -> TraceConformance:
    """Return what the draft says of each state of a trace and what happened, as far as the trace has the variables."""
    spells = list(trace.spells())
    found = list[TraceCheck]()
    probe_rtt, down = 0.0, None
    followers = [*trace.modes[1:], ""]
    for n, (mode, begin, end, rows) in enumerate(spells):
        checks = [*_of_state(trace, mode, rows), *_of_time(trace, spells[n], followers[n])]
        if followers[n]:
            checks += _of_change(trace, *spells[n : n + 2])
        found += [TraceCheck(begin, mode, *check) for check in checks]
        if mode == "PROBE_RTT":
            late = begin - probe_rtt >= (1.0 - PART) * PROBE_RTT_INTERVAL
            what = f"at least {PROBE_RTT_INTERVAL:g} s after the last one, or the start"
            found.append(TraceCheck(begin, mode, what, f"{begin - probe_rtt:.2f} s", late))
            probe_rtt, down = end, None
        elif mode == "DOWN" or (mode == "CRUISE" and down is None):
            down = begin
        elif mode == "REFILL" and down is not None:
            found += [TraceCheck(down, "DOWN", *check) for check in _waited(trace, down, begin)]
            down = None
    return TraceConformance(trace, tuple(found))


def _of_state(trace: QlogTrace, mode: str, rows: slice) -> Iterator[tuple[str, str, bool]]:
    """Yield the checks of the window in PROBE_RTT: elsewhere a timeout may leave less than the least of the draft."""
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
        most = max(MIN_PIPE_CWND, 0.5 * product) * (1.0 + PART) + QUANTUM
        yield "window of half of the product", f"{window:.4g} of {most:.4g} packets", window <= most


def _of_time(
    trace: QlogTrace, spell: tuple[str, float, float, slice], follower: str
) -> Iterator[tuple[str, str, bool]]:
    """Yield the checks of how long a state lasts, unless the trace ends in it."""
    mode, begin, end, rows = spell
    if not follower:
        return
    took = end - begin
    if mode == "PROBE_RTT":
        holds = took >= (1.0 - PART) * PROBE_RTT_TIME
        yield f"at least {PROBE_RTT_TIME:g} s", f"{took:.3f} s", holds
    trip = _min_rtt(trace, rows)
    if mode == "REFILL" and trip is not None and follower != "PROBE_RTT":
        yield "a round trip", f"{took:.4g} s of {trip:.4g} s", took >= 0.85 * trip


def _of_change(
    trace: QlogTrace, spell: tuple[str, float, float, slice], after: tuple[str, float, float, slice]
) -> Iterator[tuple[str, str, bool]]:
    """Yield the checks of which state follows, and of the pacing rate there."""
    (mode, _, _, rows), (follower, _, _, next_rows) = spell, after
    allowed = FOLLOWERS[mode]
    texts = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
    yield f"{mode} is followed by {texts}", f"by {follower}", follower in allowed
    rates = trace.pacing_rate[rows][-1:], trace.pacing_rate[next_rows][:1]
    change = (mode, follower)
    if change not in (*SLOWER, *FASTER) or not all(len(r) and r[0] > 0.0 for r in rates):
        return
    quotient = float(rates[1][0] / rates[0][0])
    holds, how = (quotient < 1.0, "slower") if change in SLOWER else (quotient > 1.0, "faster")
    yield f"{follower} paces {how} than {mode}", f"{quotient:.3g} of its rate", holds


def _waited(trace: QlogTrace, begin: float, end: float) -> Iterator[tuple[str, str, bool]]:
    """Yield the check of the time from the end of a probe to the next one, where ACKs came all the time."""
    first, last = np.searchsorted(trace.time, [begin, end])
    rows = slice(int(first), int(last))
    with np.errstate(invalid="ignore"):
        stopped = (trace.in_flight[rows] == 0.0) | (trace.cwnd[rows] < MIN_PIPE_CWND)
    if not stopped.any():
        holds = end - begin <= (1.0 + PART) * LONGEST_WAIT + 2.0 * (_min_rtt(trace, rows) or 0.0)
        yield f"at most {LONGEST_WAIT:g} s until the next probe", f"{end - begin:.2f} s", holds


def _min_rtt(trace: QlogTrace, rows: slice) -> float | None:
    """Return the least round trip in a state, s; None: the trace does not have it."""
    found = trace.min_rtt[rows]
    found = found[~np.isnan(found)]
    return float(found[-1]) if len(found) else None
