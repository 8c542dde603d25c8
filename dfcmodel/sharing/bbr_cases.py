"""The example test cases of the IETF draft on BBR, its appendix, as runs and checks.

Cases are in the order of the appendix (draft-ietf-ccwg-bbr, the working group's copy of 3 August 2026). If a case
changes the path as BBR enters a state, a first run determines the time; the second run is identical up to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.network.elements.delays import Aggregation, DelayTrace, Reordering
from dfcmodel.network.elements.losses import BurstLoss, Policer
from dfcmodel.network.elements.rates import RateTrace
from dfcmodel.network.endpoints.arrivals import Replay
from dfcmodel.sharing import bbr_checks, bbr_path_checks, bbr_state_checks
from dfcmodel.sharing.bbr_checks import Check
from dfcmodel.sharing.bbr_observations import LINK, Observation, Path, observe
from dfcmodel.sharing.timed_losses import TimedLoss

if TYPE_CHECKING:
    from responsefn import BBR

__all__ = ["CASES", "EMPTY_PATH", "FURTHER_CASES", "Case"]

NO_UNDO = "the packet level has no DSACK and BBR no undo (SaveStateUponLoss, HandleSpuriousLossDetection)"

SHARED_RUNS = 16
"""Runs that cases share, of the last seeds."""


@dataclass(frozen=True)
class Case:
    """A test case: a path, a function that runs a rule on it, and its checks (appendix of the BBR draft).

    Attributes
    ----------
    title
        Title in the appendix.
    run
        Function of a rule and a seed that returns an observation.
    check
        Function of an observation that returns the checks.
    deviation
        Reason of a known failure; "" if all checks should hold.
    source
        Document and section of a case beside the appendix; "": the appendix.
    """

    title: str
    run: Callable[[BBR, int], Observation]
    check: Callable[[Observation], list[Check]]
    deviation: str = ""
    source: str = ""


@lru_cache(maxsize=SHARED_RUNS)
def _run_shared_path(rule: BBR, path: Path, seed: int) -> Observation:
    """Run a rule on a path and return the observation; cached, because several cases use the same run."""
    return observe(rule, path, seed)


def _observe(rule: BBR, path: Path, seed: int) -> Observation:
    """Return a run on a path; if the path is `PLAIN` or `LIMITED`, or a shorter one, from a cached run."""
    for shared in (PLAIN, LIMITED):
        if path.duration <= shared.duration and replace(path, duration=shared.duration) == shared:
            run = _run_shared_path(rule, shared, seed)
            if run.timeouts == 0 or path == shared:
                return run.until(path.duration)
    return observe(rule, path, seed)


def _find_spell(path: Path, mode: str, index: int = 0) -> Callable[[BBR, int], tuple[float, Observation]]:
    """Return a function that runs a rule and returns the begin, s, of the index-th spell in ``mode`` and the run."""

    def find(rule: BBR, seed: int) -> tuple[float, Observation]:
        run = _observe(rule, path, seed)
        spells = run.spells(mode)
        if len(spells) <= index:
            raise ArithmeticError(f"{rule!r}: it was not in {mode} on {path!r}")
        return float(run.time[spells[index][0]]), run

    return find


def _on_path(path: Path) -> Callable[[BBR, int], Observation]:
    """Return a function (rule, seed) that runs a rule on a path."""
    return lambda rule, seed: _observe(rule, path, seed)


def _with_rate_drop(path: Path, mode: str, part: float) -> Callable[[BBR, int], Observation]:
    """Return a function that runs a rule; as BBR enters ``mode``, the path's rate falls to ``part`` of it."""

    def run(rule: BBR, seed: int) -> Observation:
        at, _ = _find_spell(path, mode)(rule, seed)
        trace = RateTrace(LINK, (0.0, at), (path.rate, part * path.rate))
        return observe(rule, replace(path, elements=(*path.elements, trace), duration=at + 6.0), seed)

    return run


def _with_limited_application(path: Path, mode: str, rate: float, length: float) -> Callable[..., Observation]:
    """Return a function that runs a rule; from ``mode`` on, its application sends at ``rate`` for ``length`` s."""

    def run(rule: BBR, seed: int, burst: bool = False) -> Observation:
        at, first = _find_spell(path, mode)(rule, seed)
        sent = int(first.emitted[first.time <= at][-1])
        times = at + np.arange(1, int(length * rate)) / rate
        arrivals = Replay((0.0, *times.tolist()), (sent, *[1] * len(times)))
        burst_flow = (at + path.rtt, at + 2.0 * path.rtt, 12.0 * path.rate) if burst else None
        return observe(rule, replace(path, arrivals=arrivals, burst=burst_flow, duration=at + length), seed)

    return run


def _regular_arrivals(rate: float, length: float) -> Replay:
    """Return arrivals of packets at a constant rate, packets/s, for ``length`` s."""
    times = np.arange(int(length * rate)) / rate
    return Replay(tuple(times.tolist()), 1)


BEYOND_32_BITS = Path(rate=100_000.0, rtt=0.02, buffer=2000, duration=30.0)
"""Delivers 2^32 bytes in packets of 1500 bytes."""
FAST = Path(rate=1_600_000.0, rtt=0.002, buffer=6400, duration=0.15)
"""More than 2^31 bytes/s in packets of 1500 bytes, and in STARTUP a pacing rate of more than 2^32. A clock in ns / 1024
per byte has such rates within 0.7 %."""
PLAIN, DISTANT = Path(), Path(rtt=0.1, buffer=400, duration=12.0)
FALLING = replace(DISTANT, elements=(DelayTrace(LINK, (0.0, 3.0), (1e-3, 0.0)),))
"""The minimum delay falls by 1 % in CRUISE, so that PROBE_RTT is not due in the observed DOWN."""
SHALLOW = Path(buffer=15, duration=20.0)
POLICED = replace(PLAIN, elements=(Policer(LINK, 500.0, 100.0),), duration=20.0)
LIMITED = Path(rtt=0.1, buffer=400, arrivals=_regular_arrivals(300.0, 10.0), duration=8.0)


def _with_rate_step(path: Path, rates: tuple[float, float]) -> Callable[[BBR, int], Observation]:
    """Return a function that runs a rule on a path whose rate changes from ``rates[0]`` to ``rates[1]`` after 4 s."""
    return _on_path(replace(path, elements=(RateTrace(LINK, (0.0, 4.0), rates),)))


def _run_with_timeout(rule: BBR, seed: int) -> Observation:
    """Return a run whose application sends a packet per round trip from 2 s on, all lost from 2.5 to 3 s."""
    start = 2.0
    sent = int(_observe(rule, replace(PLAIN, duration=start), seed).emitted[-1])
    times = start + PLAIN.rtt * np.arange(1, 80)
    arrivals = Replay((0.0, *times.tolist()), (sent, *[1] * len(times)))
    loss = TimedLoss(LINK, probability=1.0, begin=start + 0.5, end=start + 1.0)
    return observe(rule, replace(PLAIN, arrivals=arrivals, elements=(loss,), duration=2.0 * start + 0.8), seed)


def _run_idle(rule: BBR, seed: int) -> Observation:
    """Run a rule whose application is idle for 6 s, and return the run."""
    at, first = 3.0, _observe(rule, replace(PLAIN, duration=3.0), seed)
    arrivals = Replay((0.0, 6.0 + at), (int(first.emitted[-1]), 20_000))
    return observe(rule, replace(PLAIN, arrivals=arrivals, duration=10.0), seed)


CASES: tuple[Case, ...] = (
    Case("Exiting STARTUP on bandwidth plateau", _on_path(replace(PLAIN, duration=3.0)), bbr_checks.startup_plateau),
    Case("Exiting STARTUP on loss when application-limited",
         _on_path(Path(rate=2000.0, rtt=0.2, buffer=800, duration=5.0, arrivals=_regular_arrivals(600.0, 5.0),
                     elements=(BurstLoss(LINK, 0.1, 0.9),))), bbr_checks.startup_loss),
    Case("Exiting DRAIN based on inflight", _on_path(replace(PLAIN, duration=3.0)), bbr_checks.drain_inflight),
    Case("Exiting DRAIN based on time",
         _with_rate_drop(replace(PLAIN, duration=2.0), "DRAIN", 0.4), bbr_checks.drain_time),
    Case("Exiting PROBE_UP on bandwidth plateau", _on_path(PLAIN), bbr_checks.up_plateau),
    Case("Exiting PROBE_UP on loss when application-limited",
         lambda rule, seed: _with_limited_application(PLAIN, "UP", 800.0, 1.0)(rule, seed, True),
         bbr_checks.up_loss_limited),
    Case("Never exiting STARTUP when application-limited without loss", _on_path(LIMITED), bbr_checks.never_limited),
    Case("Exiting PROBE_DOWN on inflight", _on_path(replace(PLAIN, duration=4.0)), bbr_checks.probe_down_by_inflight),
    Case("Exiting PROBE_DOWN after max time", _with_rate_drop(FALLING, "DOWN", 0.7), bbr_checks.probe_down_by_time),
    Case("Entering and exiting PROBE_RTT", _on_path(PLAIN), bbr_path_checks.probe_rtt),
    Case("Skipping PROBE_RTT due to application-limited sending", _run_idle, bbr_path_checks.no_probe_rtt_after_idle),
    Case("STARTUP bandwidth with aggregation",
         _on_path(replace(PLAIN, elements=(Aggregation(LINK, interval=0.03),), duration=4.0)),
         bbr_path_checks.startup_with_aggregation),
    Case("Cruise bandwidth with aggregation",
         _on_path(replace(PLAIN, elements=(Aggregation(LINK, interval=0.03),), duration=8.0)),
         bbr_path_checks.cruise_with_aggregation),
    Case("Sub-packet bandwidth-delay products",
         _on_path(Path(rate=20.0, rtt=0.02, buffer=50, duration=16.0)), bbr_path_checks.sub_packet),
    Case("Increasing bandwidth 10x",
         _with_rate_step(Path(rate=5000.0, rtt=0.04, buffer=15, duration=24.0), (500.0, 5000.0)),
         bbr_path_checks.ten_times_more),
    Case("Decreasing bandwidth 10x",
         _with_rate_step(Path(rate=5000.0, rtt=0.04, buffer=200, duration=20.0), (5000.0, 500.0)),
         bbr_path_checks.ten_times_less),
    Case("Token bucket policers",
         _on_path(POLICED), bbr_path_checks.policer),
    Case("Spurious fast recovery",
         _on_path(replace(PLAIN, elements=(Reordering(LINK, 0.01, 0.01),), duration=6.0)),
         bbr_path_checks.spurious_recovery, NO_UNDO),
    Case("Spurious RTO recovery",
         _on_path(replace(PLAIN, elements=(DelayTrace(LINK, (0.0, 4.0, 5.5), (0.0, 1.5, 0.0)),), duration=8.0)),
         bbr_path_checks.spurious_timeout, NO_UNDO),
    Case("Entering and exiting PROBE_RTT during STARTUP", _on_path(LIMITED), bbr_path_checks.probe_rtt_startup),
    Case("Loss during PROBE_UP after inflight_longterm is set", _on_path(SHALLOW), bbr_checks.up_loss),
    Case("Application-limited sending during PROBE_REFILL",
         _with_limited_application(DISTANT, "REFILL", 300.0, 2.0), bbr_checks.refill_limited),
)  # fmt: skip
"""All cases, in the order of the appendix."""
EMPTY_PATH: Case = Case(
    "Share of an empty path",
    _on_path(Path(rate=2000.0, rtt=0.04, buffer=80, duration=30.0)),
    bbr_path_checks.empty_path,
    source="draft-ietf-ccwg-bbr, Sect. 5.3.3.6 as of 6 July 2026 (ack_phase, #114 of its repository)",
)
"""A case beside the appendix: a filter of the bandwidth that advances in each round forgets the rate of the path."""
FURTHER_CASES: tuple[Case, ...] = (
    EMPTY_PATH,
    Case("Pacing in STARTUP", _on_path(PLAIN), bbr_state_checks.startup_pacing,
         source="draft-ietf-ccwg-bbr, Sect. 5.6.1 and 5.6.2 (InitPacingRate, SetPacingRate)"),
    Case("Pacing in the other states", _on_path(PLAIN), bbr_state_checks.pacing_gains,
         source="draft-ietf-ccwg-bbr, Sect. 5.6.1 and 5.6.2"),
    Case("Bounds of the window", _on_path(SHALLOW), bbr_state_checks.volume_caps,
         source="draft-ietf-ccwg-bbr, Sect. 5.5.10.2 (InflightAtLoss), 5.6.1 and 5.6.4.7 (BoundCwndForModel)"),
    Case("Short-term bounds and probes for bandwidth", _on_path(SHALLOW), bbr_state_checks.short_term_bounds,
         source="draft-ietf-ccwg-bbr, Sect. 5.3.3, 5.3.4.4 and 5.5.10.3 (IsProbingBW, ResetShortTermModel)"),
    Case("Time between probes for bandwidth", _on_path(DISTANT), bbr_state_checks.probe_interval,
         source="draft-ietf-ccwg-bbr, Sect. 5.3.3.8.3 (PickProbeWait)"),
    Case("Round trips beyond 2^31 and 2^32 bytes", lambda rule, _: _run_shared_path(rule, BEYOND_32_BITS, 0),
         bbr_state_checks.rounds, source="draft-ietf-ccwg-bbr, Sect. 5.5.1 (BBR.round_count)"),
    Case("Window after a timeout", _run_with_timeout, bbr_state_checks.window_after_timeout,
         source="draft-ietf-ccwg-bbr, Sect. 5.6.4.4 (OnEnterRTO, RestoreCwnd)"),
    Case("Decreases of short-term bounds", _on_path(POLICED), bbr_state_checks.short_term_decreases,
         source="draft-ietf-ccwg-bbr, Sect. 5.5.10.3 (InitLowerBounds, LossLowerBounds)"),
    Case("Window after PROBE_RTT", _on_path(PLAIN), bbr_state_checks.window_after_probe_rtt,
         source="draft-ietf-ccwg-bbr, Sect. 5.3.4 (CheckProbeRTTDone) and 5.6.4.4 (RestoreCwnd)"),
    Case("Windows of the states", _on_path(PLAIN), bbr_state_checks.window_gains,
         source="draft-ietf-ccwg-bbr, Sect. 5.6.1, 5.6.4.2 (UpdateMaxInflight) and 5.6.4.6 (SetCwnd)"),
    Case("Round trips between probes for bandwidth", _on_path(PLAIN), bbr_state_checks.probe_rounds,
         source="draft-ietf-ccwg-bbr, Sect. 5.3.3.8 (IsRenoCoexistenceProbeTime)"),
    Case("Pacing beyond 2^31 and 2^32 bytes/s", lambda rule, _: _run_shared_path(rule, FAST, 0),
         bbr_state_checks.fast_pacing, source="draft-ietf-ccwg-bbr, Sect. 5.6.1 and 5.6.2 (SetPacingRate)"),
    Case("Growth of inflight_longterm in a probe",
         _with_rate_step(Path(rate=5000.0, rtt=0.04, buffer=15, duration=10.0), (500.0, 5000.0)),
         bbr_state_checks.longterm_growth,
         source="draft-ietf-ccwg-bbr, Sect. 5.3.3.5 and 5.3.3.9 (RaiseInflightLongtermSlope)"),
)  # fmt: skip
"""Cases beside the appendix: an empty path, the draft's table of states, and a long run, which is one for all seeds."""
