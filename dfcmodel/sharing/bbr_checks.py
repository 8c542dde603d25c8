"""Requirements of the draft on BBR for its states: checks of the observations of test cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfcmodel.sharing.bbr_observations import Observation

__all__ = [
    "BANDWIDTH_TOLERANCE",
    "Check",
    "about",
    "drain_inflight",
    "drain_time",
    "goes",
    "holds",
    "never_limited",
    "probe_down_by_inflight",
    "probe_down_by_time",
    "probes",
    "refill_limited",
    "startup_loss",
    "startup_plateau",
    "up_loss",
    "up_loss_limited",
    "up_plateau",
]

BANDWIDTH_TOLERANCE = 0.02
"""Relative tolerance of the estimated bandwidth: the draft's example, 2 %."""


class Check(NamedTuple):
    """A requirement of a case as text, the result as text, and whether the result meets it."""

    expected: str
    happened: str
    holds: bool


def goes(run: Observation, n: int, successor: str) -> Check:
    """Return the check that the state that ends before sample n is followed by the state ``successor``."""
    mode = run.mode_at(n)
    return Check(f"{run.mode_at(n - 1)} is followed by {successor}", f"by {mode}", mode == successor)


def probes(run: Observation, n: int) -> Check:
    """Return the check that sample n begins DOWN, or CRUISE or REFILL, which one ACK reaches from DOWN."""
    mode = run.mode_at(n)
    expected = f"{run.mode_at(n - 1)} is followed by PROBE_BW"
    return Check(expected, f"by {mode}", mode in ("DOWN", "CRUISE", "REFILL"))


def about(what: str, value: float, target: float, part: float) -> Check:
    """Return the check that ``value`` is within the fraction ``part`` of ``target``; ``what`` names the value."""
    holds = abs(value - target) <= part * target
    return Check(f"{what} within {part:.0%} of {target:.5g}", f"{value:.5g}", bool(holds))


def holds(what: str, holds: object, happened: str = "") -> Check:
    """Return a check that passes if ``holds`` is true; its result is ``happened``, by default "yes" or "no"."""
    return Check(what, happened or ("yes" if holds else "no"), bool(holds))


def _paces(run: Observation, begin: int, end: int, gain: float) -> Check:
    """Return the check that the median pacing rate between two samples is ``gain`` times 0.99 of the bandwidth."""
    ratio = run.pacing_rate[begin:end] / (0.99 * np.minimum(run.max_bw, run.bw_shortterm)[begin:end])
    return about("pacing over bandwidth", float(np.median(ratio)), gain, 0.01)


def startup_plateau(run: Observation) -> list[Check]:
    """Return the checks that STARTUP ends three rounds after the rate has stopped growing, at the rate of the path."""
    n = run.spell("STARTUP")[1]
    return [
        about("BBR.max_bw at the exit, packets/s,", float(run.max_bw[n]), run.path.rate, BANDWIDTH_TOLERANCE),
        holds("full_bw_count 3", run.full_bw_count[n] == 3.0, f"{run.full_bw_count[n]:.0f}"),
        holds("full_bw_now and full_bw_reached", run.full_bw_now[n] and run.full_bw_reached[n]),
        holds("without loss", run.lost[n] == 0.0, f"{run.lost[n]:.0f} lost"),
        goes(run, n, "DRAIN"),
    ]


def startup_loss(run: Observation) -> list[Check]:
    """Return the checks that STARTUP ends by losses though the application limits the rate."""
    n = run.spell("STARTUP", ends=False)[1]
    if n >= len(run.time):
        return [holds("STARTUP ends", False)]
    part = run.lost[n] / (run.lost[n] + run.delivered[n])
    limited = run.max_bw[n] < 0.8 * run.path.rate
    return [
        holds("the application limits the rate", limited, f"{run.max_bw[n]:.4g} packets/s"),
        holds("losses above 2 %", part > 0.02, f"{part:.1%}"),
        holds("full_bw_now and full_bw_reached", run.full_bw_now[n] and run.full_bw_reached[n]),
        holds("no plateau", run.full_bw_count[n] < 3.0, f"full_bw_count {run.full_bw_count[n]:.0f}"),
        goes(run, n, "DRAIN"),
    ]


def drain_inflight(run: Observation) -> list[Check]:
    """Return the checks that DRAIN ends when the queue is gone."""
    begin, end = run.spell("DRAIN")
    rounds = run.round_count[end] - run.drain_start_round[end]
    target = float(max(run.max_bw[end] * run.min_rtt[end], 4.0))
    return [
        _paces(run, begin, end, 0.5),
        holds("at most 3 round trips", rounds <= 3.0, f"{rounds:.0f}"),
        holds("more than Inflight(1.0) until then", run.in_flight[end - 2] > target),
        holds(
            "in flight at most Inflight(1.0), and a sample's worth", run.in_flight[end] <= 1.1 * target,
            f"{run.in_flight[end]:.0f} of {target:.0f}",
        ),
        probes(run, end),
    ]  # fmt: skip


def drain_time(run: Observation) -> list[Check]:
    """Return the checks that DRAIN ends after three rounds with the queue still there."""
    begin, end = run.spell("DRAIN")
    target = float(max(run.max_bw[end] * run.min_rtt[end], 4.0))
    rounds = run.round_count[end] - run.drain_start_round[begin]
    return [
        holds("in flight above Inflight(1.0) throughout", (run.in_flight[begin:end] > target).all()),
        holds("after more than 3 round trips", 3.0 < rounds <= 5.0, f"{rounds:.0f}"),
        probes(run, end),
    ]


def up_plateau(run: Observation) -> list[Check]:
    """Return the checks that UP ends when the rate grows no more."""
    begin, end = run.spell("UP")
    return [
        holds("without loss", run.lost[end] == run.lost[begin]),
        holds("full_bw_now", run.full_bw_now[end] == 1.0),
        holds("full_bw_count 3", run.full_bw_count[end] == 3.0, f"{run.full_bw_count[end]:.0f}"),
        goes(run, end, "DOWN"),
    ]


def up_loss_limited(run: Observation) -> list[Check]:
    """Return the checks that UP ends by losses though the application limits the rate."""
    begin, end = run.spell("UP", ends=False)
    if end >= len(run.time):
        return [holds("UP ends", False)]
    rounds = run.round_count[end] - run.round_count[begin]
    return [
        holds(
            "losses",
            run.lost[end] > run.lost[begin],
            f"{run.lost[end] - run.lost[begin]:.0f} packets",
        ),
        holds("prev_probe_too_high", run.prev_probe_too_high[end] == 1.0),
        goes(run, end, "DOWN"),
        holds("within 4 round trips", rounds <= 4.0, f"{rounds:.0f}"),
    ]


def never_limited(run: Observation) -> list[Check]:
    """Return the checks that STARTUP goes on while the application limits the rate and nothing is lost."""
    others = sorted(set(run.sequence()) - {"STARTUP", "PROBE_RTT"})
    return [
        holds("STARTUP to the end, except for PROBE_RTT", not others, ", ".join(run.sequence()[:6])),
        holds("without loss", run.lost[-1] == 0.0),
        holds("not full_bw_reached", run.full_bw_reached[-1] == 0.0),
    ]


def probe_down_by_inflight(run: Observation) -> list[Check]:
    """Return the checks that DOWN ends in CRUISE when the queue is gone."""
    begin, end = run.spell("DOWN")
    limit = float(run.max_bw[end] * run.min_rtt[end])
    return [
        _paces(run, begin, end, 0.9),
        holds(
            "in flight at most Inflight(1.0), and a sample's worth", run.in_flight[end] <= 1.1 * limit,
            f"{run.in_flight[end]:.0f} of {limit:.0f}",
        ),
        goes(run, end, "CRUISE"),
    ]  # fmt: skip


def probe_down_by_time(run: Observation) -> list[Check]:
    """Return the checks that DOWN ends in REFILL when it is time to probe; ArithmeticError if DOWN does not end."""
    begin, end = run.spell("DOWN")
    lasted, wait = run.time[end] - run.time[begin], run.bw_probe_wait[begin]
    return [
        about("time in DOWN, s, bw_probe_wait", float(lasted), float(wait), 0.1),
        goes(run, end, "REFILL"),
    ]


def up_loss(run: Observation) -> list[Check]:
    """Return the checks that losses in UP lower the longer-term bound, if it is finite, and end UP."""
    for begin, end in run.spells("UP"):
        is_finite = np.isfinite(run.inflight_longterm[begin])
        if is_finite and end < len(run.time) and run.lost[end] > run.lost[begin]:
            before, after = run.inflight_longterm[end - 1], run.inflight_longterm[end]
            floor = 0.7 * min(run.max_bw[end] * run.min_rtt[end], run.cwnd[end - 1])
            return [
                holds("prev_probe_too_high", run.prev_probe_too_high[end] == 1.0),
                holds("inflight_longterm falls", after < before, f"{before:.0f} to {after:.0f}"),
                holds("not below BBR.Beta of the target", after >= 0.95 * floor, f"{after:.0f} of {floor:.0f}"),
                goes(run, end, "DOWN"),
            ]  # fmt: skip
    return [holds("losses in UP with a known inflight_longterm", False)]


def refill_limited(run: Observation) -> list[Check]:
    """Return the checks that samples that the application limits in REFILL do not change the bandwidth."""
    begin, end = run.spell("REFILL")
    rate = (run.emitted[end] - run.emitted[begin]) / (run.time[end] - run.time[begin])
    return [
        holds("the application limits the round", rate < 0.5 * run.path.rate, f"{rate:.4g} packets/s"),
        about("max_bw over REFILL, packets/s,", float(run.max_bw[end]), float(run.max_bw[begin]), 1e-9),
        goes(run, end, "UP"),
    ]
