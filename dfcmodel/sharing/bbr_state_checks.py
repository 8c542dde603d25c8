"""Requirements of the draft on BBR for its table of states (Sect. 5.6.1), beside the test cases of its appendix."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.sharing.bbr_checks import BANDWIDTH_TOLERANCE, Check, about, holds
from dfcmodel.sharing.bbr_observations import MODES, SAMPLES_PER_ROUND_TRIP, Observation

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "fast_pacing",
    "longterm_growth",
    "pacing_gains",
    "probe_interval",
    "probe_rounds",
    "rounds",
    "short_term_bounds",
    "short_term_decreases",
    "startup_pacing",
    "volume_caps",
    "window_after_probe_rtt",
    "window_after_timeout",
    "window_gains",
]

STARTUP_GAIN = 2.77
PACING_GAINS = {"DRAIN": 0.5, "DOWN": 0.9, "CRUISE": 1.0, "REFILL": 1.0, "UP": 1.25, "PROBE_RTT": 1.0}
"""Pacing over bandwidth, in STARTUP and by other states (Sect. 5.6.1)."""
WINDOW_GAINS = {"STARTUP": 2.0, "DRAIN": 2.0, "DOWN": 2.0, "CRUISE": 2.0, "REFILL": 2.0, "UP": 2.25}
"""Windows over the bandwidth-delay product by states (Sect. 5.6.1); that of PROBE_RTT is case 10's."""
GAIN_TOLERANCE = 0.01
"""Relative, for rates that are intervals between packets in whole units of a clock; BBRv1's gain is 4 % higher."""
WINDOW_TOLERANCE = 0.05
"""Relative: an ACK of two packets, and the two in UP, of windows of 80, and the bandwidth's 2 %."""
HEADROOM = 0.15
"""Part of the longer-term bound that stays free in CRUISE and PROBE_RTT (Sect. 2.8)."""
BETA = 0.7
"""Smallest factor of short-term bounds in a round trip with losses (Sect. 2.10 and 5.5.10.3)."""
ROUNDING = 0.01
"""Packets."""
ROUND_TRIPS_TO_REPAIR = 8
"""After the first ACK that follows a timeout: few packets are lost, so that their repair takes half of these."""
ROUND_TRIPS = 10
"""Round trips of the path in which those of BBR are counted: own choice, with a full buffer one takes two of these."""
RESTORED = 0.9
"""Smallest part of the saved window once it is restored: own choice, since the bandwidth has changed a little."""
LONGTERM_GROWTH, LONGTERM_STEPS = 1.1, 2.0
"""Largest growth of inflight_longterm over that of the draft, and packets beyond it: a sample is a tenth of a round
trip; an increase, and one that was nearly due when the slope rose."""
PROBE_WAIT = 3.0
"""Largest time from the beginning of DOWN to a probe, s (Sect. 5.3.3.8.3)."""

MAX_PROBE_ROUNDS = 63.0
"""Largest number of round trips between probes, those of Reno for a loss rate of 1e-3 (Sect. 5.3.3.8.2)."""


def startup_pacing(run: Observation) -> list[Check]:
    """Return the checks that at STARTUP's end the pacing rate, which never fell, is gain times bandwidth, less 1 %."""
    last = run.spell("STARTUP")[1] - 1
    return [about("pacing over bandwidth in STARTUP", _pacing_over_bandwidth(run, last), STARTUP_GAIN, GAIN_TOLERANCE)]


def pacing_gains(run: Observation) -> list[Check]:
    """Return the checks that in each other state the pacing rate is its gain times the bandwidth, less 1 %."""
    return [_pacing_gain(run, mode) for mode in PACING_GAINS]


def fast_pacing(run: Observation) -> list[Check]:
    """Return the checks that bandwidth and pacing rates are those of a path of more than 2^31 bytes/s."""
    bandwidth = float(run.max_bw[run.spell("STARTUP")[1]])
    return [
        about("BBR.max_bw after STARTUP, packets/s,", bandwidth, run.path.rate, BANDWIDTH_TOLERANCE),
        *startup_pacing(run),
        *(_pacing_gain(run, mode) for mode in ("DRAIN", "CRUISE")),
    ]


def _pacing_gain(run: Observation, mode: str) -> Check:
    """Return the check that the median of the pacing rate in a state is its gain times the bandwidth, less 1 %."""
    ratios = [_pacing_over_bandwidth(run, n) for n in np.flatnonzero(_in(run, mode)).tolist()]
    value = float(np.median(ratios)) if ratios else math.nan
    return about(f"pacing over bandwidth in {mode}", value, PACING_GAINS[mode], GAIN_TOLERANCE)


def window_gains(run: Observation) -> list[Check]:
    """Return the checks that without losses the largest window of each state is its gain times the product.

    The bound of the window has extra_acked as well, and two packets in UP. In STARTUP an ACK may exceed it.
    """
    checks = [holds("without losses", run.lost[-1] == 0.0, f"{run.lost[-1]:.0f} lost")]
    product = np.minimum(run.max_bw, run.bw_shortterm) * np.where(np.isfinite(run.min_rtt), run.min_rtt, 0.0)
    for mode, gain in WINDOW_GAINS.items():
        inside = _in(run, mode)
        bound = float((gain * product + run.extra_acked)[inside].max(initial=0.0))
        largest = float(run.cwnd[inside].max(initial=0.0))
        checks.append(about(f"largest window in {mode}, packets,", largest, bound or math.nan, WINDOW_TOLERANCE))
    return checks


def _pacing_over_bandwidth(run: Observation, n: int) -> float:
    """Return the pacing rate over the bandwidth less 1 % (Sect. 5.6.2) at sample n."""
    bandwidth = 0.99 * min(run.max_bw[n], run.bw_shortterm[n])
    return float(run.pacing_rate[n] / bandwidth) if bandwidth > 0.0 else math.inf


def volume_caps(run: Observation) -> list[Check]:
    """Return the checks that the window is at most the bounds of its state and at least four packets."""
    bound = run.inflight_longterm
    less = np.where(np.isfinite(bound), np.maximum(np.minimum(bound - 1.0, (1.0 - HEADROOM) * bound), 4.0), np.inf)
    lowest = float(bound.min())  # losses come with the product, and a full buffer, in flight
    checks = [
        holds("inflight_longterm is known", np.isfinite(lowest)),
        holds(
            "it is at least the product", lowest >= run.path.product, f"{lowest:.1f} of {run.path.product:.0f} packets"
        ),
    ]
    caps = dict.fromkeys(("DOWN", "REFILL", "UP"), bound) | dict.fromkeys(("CRUISE", "PROBE_RTT"), less)
    for mode, cap in caps.items():
        limit = np.maximum(np.minimum(cap, run.inflight_shortterm), 4.0)
        above = (run.mode == MODES.index(mode)) & (run.cwnd > limit + ROUNDING)
        lasting = np.flatnonzero(above[1:] & above[:-1])  # a loss may lower a bound before an ACK sets the window
        text = f"{run.cwnd[lasting[0]]:.1f} of {limit[lasting[0]]:.1f} packets" if len(lasting) else ""
        checks.append(holds(f"cwnd within its bounds in {mode}", not len(lasting), text))
    return checks


def short_term_bounds(run: Observation) -> list[Check]:
    """Return the checks that losses lower short-term bounds, but not while BBR probes for bandwidth.

    A probe and the end of PROBE_RTT reset them.
    """
    finite = np.isfinite(run.bw_shortterm) | np.isfinite(run.inflight_shortterm)
    checks = [
        holds("losses in STARTUP", run.lost[run.spell("STARTUP")[1] - 1] > 0.0),
        holds("losses lower them in DOWN or CRUISE", (finite & _in(run, "DOWN", "CRUISE")).any()),
    ]
    for mode in ("STARTUP", "REFILL", "UP"):
        number = int((finite & _in(run, mode)).sum())
        checks.append(holds(f"infinite in {mode}", not number, f"finite in {number} samples" if number else ""))
    lasting = [end for _, end in run.spells("PROBE_RTT") if end < len(finite) and finite[end]]
    text = f"finite at {run.time[lasting[0]]:.2f} s" if lasting else ""
    return [*checks, holds("infinite after PROBE_RTT", not lasting, text)]


def longterm_growth(run: Observation) -> list[Check]:
    """Return the checks that in UP inflight_longterm grows by 1, 2, 4, ... packets per window, by the rounds of UP."""
    most, excess, text = 0.0, 0.0, ""
    for begin, end in run.spells("UP"):
        bound, rounds = run.inflight_longterm[begin:end], run.bw_probe_up_rounds[begin:end]
        if not np.isfinite(bound).all():
            continue
        most = max(most, float(bound[-1] / bound[0]))
        edges = [0, *(np.flatnonzero(np.diff(rounds)) + 1).tolist(), len(rounds) - 1]
        for first, last in pairwise(edges):
            windows = (run.delivered[begin + last] - run.delivered[begin + first]) / run.cwnd[begin + first]
            growth, expected = float(bound[last] - bound[first]), float(2.0 ** (rounds[first] - 1.0) * windows)
            if growth - LONGTERM_GROWTH * expected - LONGTERM_STEPS > excess:
                excess = growth - LONGTERM_GROWTH * expected - LONGTERM_STEPS
                text = f"by {growth:.0f} for {expected:.0f} packets from {run.time[begin + first]:.2f} s on"
    return [
        holds("inflight_longterm doubles in some UP", most >= 2.0, f"{most:.1f} times"),
        holds("it grows no faster than the draft says", excess == 0.0, text),
    ]


def short_term_decreases(run: Observation) -> list[Check]:
    """Return the checks that a round trip with losses leaves at least Beta of each short-term bound.

    A bound begins from the largest bandwidth or the window. Beginnings within a state count, since a change of the
    state changes the window.
    """
    checks = []
    stays = run.mode[1:] == run.mode[:-1]
    for name, origin in (("bw_shortterm", "max_bw"), ("inflight_shortterm", "cwnd")):
        bound = getattr(run, name)
        before, after = np.isfinite(bound[:-1]), np.isfinite(bound[1:])
        falls = before & after
        lowest = float((bound[1:][falls] / bound[:-1][falls]).min(initial=np.inf))
        begins = ~before & after & stays
        least = float((bound[1:][begins] / getattr(run, origin)[:-1][begins]).min(initial=np.inf))
        limit = BETA * (1.0 - GAIN_TOLERANCE)
        checks += [
            holds(f"{name} falls", lowest < 1.0, f"to {lowest:.3f}"),
            holds(f"{name} to no less than {BETA:g}", lowest >= limit, f"{lowest:.3f}"),
            holds(f"{name} begins at no less than {BETA:g} of {origin}", limit <= least < np.inf, f"{least:.3f}"),
        ]
    return checks


def probe_interval(run: Observation) -> list[Check]:
    """Return the checks that a bandwidth probe begins 2 to 3 s after the last one, or after PROBE_RTT."""
    waits = [float(run.time[probe] - run.time[begin]) for begin, probe in _waits(run)]
    late = [wait for wait in waits if not 2.0 <= wait <= PROBE_WAIT + 2.0 * run.path.rtt]
    return [
        holds("REFILL follows", waits, f"{len(waits)} times"),
        holds("after 2 to 3 s, and a round trip", not late, ", ".join(f"{wait:.2f} s" for wait in late or waits)),
    ]


def probe_rounds(run: Observation) -> list[Check]:
    """Return the checks that a bandwidth probe begins after as many round trips as the product has packets, up to 63.

    The count begins at 0 or 1, at random, and an ACK may begin a round trip within the first sample.
    """
    waits = [float(run.round_count[probe] - run.round_count[begin]) for begin, probe in _waits(run)]
    limits = [min(float(run.max_bw[probe] * run.min_rtt[probe]), MAX_PROBE_ROUNDS) for _, probe in _waits(run)]
    wrong = [rounds for rounds, limit in zip(waits, limits, strict=True) if not abs(rounds - limit) <= 2.0]
    shown = ", ".join(f"{rounds:.0f}" for rounds in wrong or waits)
    return [
        holds("REFILL follows", waits, f"{len(waits)} times"),
        holds(f"after {min(limits, default=math.nan):.0f} round trips, two more or less", not wrong, shown),
    ]


def _waits(run: Observation) -> list[tuple[int, int]]:
    """Return the samples at which each wait for a bandwidth probe begins, in DOWN or after PROBE_RTT, and ends."""
    starts = [begin for begin, _ in run.spells("DOWN")] + [end for _, end in run.spells("PROBE_RTT")]
    waits = []
    for probe, _ in run.spells("REFILL"):
        before = [start for start in starts if start < probe]
        waits += [(max(before), probe)] if before else []
    return waits


def rounds(run: Observation) -> list[Check]:
    """Return the checks that packet-timed round trips go on, each at least as long as the path's RTT."""
    span = ROUND_TRIPS * SAMPLES_PER_ROUND_TRIP
    counts = run.round_count[span:] - run.round_count[:-span]
    least, largest = int(np.argmin(counts)), int(np.argmax(counts))
    return [
        holds(f"some in {ROUND_TRIPS} of the path", counts[least] >= 1.0, _trips(run, counts, least)),
        holds(f"no more than {ROUND_TRIPS + 1}", counts[largest] <= ROUND_TRIPS + 1.0, _trips(run, counts, largest)),
    ]


def _trips(run: Observation, counts: NDArray[np.float64], n: int) -> str:
    """Return the round trips counted from sample n on, as a text."""
    return f"{counts[n]:.0f} from {run.time[n]:.2f} s on"


def window_after_probe_rtt(run: Observation) -> list[Check]:
    """Return the checks that the end of PROBE_RTT restores the window from before it, up to two products."""
    begin, end = run.spell("PROBE_RTT")
    before = min(float(run.cwnd[begin - 1]), 2.0 * run.max_bw[begin] * run.min_rtt[begin])
    text = f"{run.cwnd[end]:.0f} of {before:.0f} packets"
    return [holds("90 % of the window before", run.cwnd[end] >= RESTORED * before, text)]


def window_after_timeout(run: Observation) -> list[Check]:
    """Return the checks that the end of a timeout's recovery restores the window from before it."""
    lowest = int(np.argmin(np.where(run.time > 0.5 * run.path.duration, run.cwnd, np.inf)))
    before = float(run.cwnd[np.flatnonzero(run.time <= 0.5 * run.path.duration)[-1]])
    delivered = np.flatnonzero((run.delivered > run.delivered[lowest]) & (run.time > run.time[lowest]))
    repaired = run.time[delivered[:1]] + ROUND_TRIPS_TO_REPAIR * run.path.rtt
    later = np.flatnonzero(run.time > repaired) if len(repaired) else np.zeros(0, int)
    after = float(run.cwnd[later[0]]) if len(later) else 0.0
    return [
        holds("a timeout", run.timeouts, f"{run.timeouts}"),
        holds("the window falls to at most four packets", run.cwnd[lowest] <= 4.0, f"{run.cwnd[lowest]:.0f}"),
        holds("then 90 % of the window before", after >= RESTORED * before, f"{after:.0f} of {before:.0f} packets"),
    ]


def _in(run: Observation, *modes: str) -> NDArray[np.bool_]:
    """Return which samples are in one of several states, (S,)."""
    result: NDArray[np.bool_] = np.isin(run.mode, [MODES.index(mode) for mode in modes])
    return result
