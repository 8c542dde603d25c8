"""States just before a loss, near where it is expected, with which numerical cycles begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from responsefn.responses.dynamics import Dynamics

    Floats = NDArray[np.float64]

__all__ = ["begin_at_peak"]


def begin_at_peak(
    rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None, given: Floats | None = None
) -> Floats:
    """Return states just before a loss near where it is expected, shape (entries, fields).

    That is at the peaks given, in packets, otherwise at `_expected_peaks`.
    Estimates of the rate are what it is there: from 0 they would hold the window at its least for some cycles,
    which are alike although nothing is at rest.
    """
    peaks = _expected_peaks(rule, p, rtt, bandwidth) if given is None else given
    rtts = np.broadcast_to(rtt, peaks.shape).ravel()
    starts = np.array([tuple(rule.start(float(r), bandwidth)) for r in rtts], dtype=np.float64)
    fields = rule.State._fields
    starts = starts.reshape(len(rtts), len(fields))
    starts[:, fields.index("cwnd")] = np.maximum(1.0, peaks.ravel())
    for n in (fields.index(name) for name in rule.rate_estimates):
        starts[:, n] = starts[:, fields.index("cwnd")] / rtts
    if "ssthresh" in fields:
        starts[:, fields.index("ssthresh")] = 2.0
    return starts


def _expected_peaks(rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None) -> Floats:
    """Return the peak that the rule expects (``expected_peak``), that of its closed form, or that of Reno, and not above twice what the path holds."""
    from responsefn.responses.equations import formula_of

    formula = formula_of(rule)
    if hasattr(rule, "expected_peak"):
        peaks = np.asarray(rule.expected_peak(p + 0.0 * rtt, rtt + 0.0 * p))
    elif formula is None:
        peaks = np.sqrt(8 / (3 * p)) + 0.0 * rtt
    else:
        window = formula.code("peak_window") or formula.code("mean_window")
        peaks = rule.value_of(window, p=p, R=rtt) + 0.0 * p * rtt
    return peaks if bandwidth is None else np.minimum(peaks, 2 * bandwidth * rtt)
