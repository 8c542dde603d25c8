"""Requirements of the draft on BBR for changing, aggregating, policing and reordering paths, and for ProbeRTT."""

from __future__ import annotations

import math

import numpy as np

from dfcmodel.sharing.bbr_checks import BANDWIDTH_TOLERANCE, Check, about, goes, holds
from dfcmodel.sharing.bbr_observations import Observation

__all__ = [
    "cruise_with_aggregation",
    "empty_path",
    "no_probe_rtt_after_idle",
    "policer",
    "probe_rtt",
    "probe_rtt_startup",
    "spurious_recovery",
    "spurious_timeout",
    "startup_with_aggregation",
    "sub_packet",
    "ten_times_less",
    "ten_times_more",
]


EMPTY_PATH_SHARE = 0.95
"""Share of an empty path: ngtcp2 1.24.0 gets 0.80 without the draft's line of July 2026, and 0.97 with it."""


def empty_path(run: Observation) -> list[Check]:
    """Return the checks that alone BBR fills the path, and its bandwidth does not fall in CRUISE."""
    share = run.rate(0, len(run.time) - 1) / run.path.rate
    falls = [1.0 - run.max_bw[end - 1] / run.max_bw[begin] for begin, end in run.spells("CRUISE") if end - begin > 1]
    fall = max(falls, default=math.nan)
    return [
        holds("delivery rate at least 95 % of the path's", share >= EMPTY_PATH_SHARE, f"{share:.1%}"),
        holds("BBR.max_bw falls by at most 2 % in CRUISE", fall <= BANDWIDTH_TOLERANCE, f"by {fall:.1%}"),
    ]


def probe_rtt(run: Observation) -> list[Check]:
    """Return the checks that PROBE_RTT begins after its interval, with half of the product, and lasts 200 ms."""
    begin, end = run.spell("PROBE_RTT")
    stamp = run.probe_rtt_min_stamp[begin - 1]
    lasted, window = run.time[end] - run.time[begin], run.cwnd[begin:end].min()
    limit = max(4.0, 0.5 * run.max_bw[begin] * run.min_rtt[begin])
    after = run.mode_at(end)
    return [
        about("time since probe_rtt_min_stamp, s,", float(run.time[begin] - stamp), 5.0, 0.03),
        holds("window half of the product", window <= limit + 1.0, f"{window:.0f} of {limit:.0f}"),
        holds("at least 200 ms and a round trip", lasted >= 0.2, f"{lasted:.2f} s"),
        holds("back to PROBE_BW", after in ("DOWN", "CRUISE"), after),
    ]


def no_probe_rtt_after_idle(run: Observation) -> list[Check]:
    """Return the checks that after an idle time longer than the interval no PROBE_RTT begins."""
    idle = np.flatnonzero(run.time > 9.0)[0]
    after = run.mode[idle:]
    return [
        holds("in PROBE_BW before", 2.0 <= run.mode[idle - 1] <= 5.0, run.mode_at(idle - 1)),
        holds("nothing in flight for 5 s", run.in_flight[idle - 1] == 0.0),
        holds("it sends again", run.delivered[-1] > run.delivered[idle]),
        holds("no PROBE_RTT in the next second", not (after == 6.0).any()),
    ]


def probe_rtt_startup(run: Observation) -> list[Check]:
    """Return the checks that PROBE_RTT in STARTUP ends in STARTUP."""
    begin, end = run.spell("PROBE_RTT")
    return [
        holds("not full_bw_reached", run.full_bw_reached[begin] == 0.0),
        holds(
            "at least 200 ms",
            run.time[end] - run.time[begin] >= 0.2,
            f"{run.time[end] - run.time[begin]:.2f} s",
        ),
        goes(run, end, "STARTUP"),
    ]


def startup_with_aggregation(run: Observation) -> list[Check]:
    """Return the checks that with aggregated ACKs STARTUP finds the bandwidth, with a window above two products."""
    n = run.spell("STARTUP")[1]
    extra = run.extra_acked
    later = slice(n, n + 30)
    widest = float(run.cwnd[later].max())
    return [
        holds("extra_acked above 0", extra[later].max() > 1.0, f"{extra[later].max():.0f} packets"),
        holds("cwnd above 2 BDP", widest > 2.0 * run.path.product, f"{widest:.0f} of {2 * run.path.product:.0f}"),
        holds(
            "BBR.max_bw at the exit at least 90 %", run.max_bw[n] >= 0.9 * run.path.rate,
            f"{run.max_bw[n] / run.path.rate:.0%}",
        ),
    ]  # fmt: skip


def cruise_with_aggregation(run: Observation) -> list[Check]:
    """Return the checks that with aggregated ACKs CRUISE keeps the link busy."""
    run.spell("CRUISE", ends=False)
    begin, end = max(run.spells("CRUISE"), key=lambda spell: spell[1] - spell[0])
    extra = run.extra_acked[begin:end]
    window = float(np.median(run.cwnd[begin:end]))
    return [
        holds("extra_acked above 0", extra.min() > 1.0, f"{extra.min():.0f} to {extra.max():.0f}"),
        holds("cwnd above 2 BDP", window > 2.0 * run.path.product, f"{window:.0f} of {2 * run.path.product:.0f}"),
        about("delivery rate, packets/s,", run.rate(begin, end - 1), run.path.rate, 0.05),
    ]  # fmt: skip


def sub_packet(run: Observation) -> list[Check]:
    """Return the checks that a product below a packet leaves a window of four and the rate of the path."""
    half = len(run.time) // 2
    return [
        holds("in PROBE_BW", 2.0 <= run.mode[half] <= 5.0, run.mode_at(half)),
        holds("cwnd at least 4", run.cwnd.min() >= 4.0, f"{run.cwnd.min():.0f}"),
        about("delivery rate, packets/s,", run.rate(half, len(run.time) - 1), run.path.rate, 0.05),
        about(
            "median pacing rate, packets/s,",
            float(np.median(run.pacing_rate[half:])),
            run.path.rate,
            0.1,
        ),
    ]


def ten_times_more(run: Observation) -> list[Check]:
    """Return the checks that the estimate follows a tenfold increase of the bandwidth."""
    change = 4.0
    reached = np.flatnonzero((run.time > change) & (run.max_bw >= 0.9 * run.path.rate))
    rounds = (run.time[reached[0]] - change) / run.path.rtt if len(reached) else math.inf
    up = [(b, e) for b, e in run.spells("UP") if run.time[b] > change]
    steps = [float(run.bw_probe_up_rounds[b:e].max() - run.bw_probe_up_rounds[b]) for b, e in up]
    return [
        holds("inflight_longterm is known", np.isfinite(run.inflight_longterm[run.time < change][-1])),
        holds(
            "steps double in some round of UP",
            max(steps, default=0.0) >= 1.0,
            f"{max(steps, default=0):.0f} times",
        ),
        holds("the full bandwidth within 400 round trips", rounds <= 400.0, f"{rounds:.0f}"),
    ]


def ten_times_less(run: Observation) -> list[Check]:
    """Return the checks that the estimate follows a decrease of the bandwidth to a tenth."""
    change, slow = 4.0, 0.1 * run.path.rate
    after = run.time > change
    short = np.flatnonzero(after & (run.bw_shortterm < 0.5 * run.path.rate))
    low = np.flatnonzero(after & (run.max_bw <= 1.1 * slow))
    down = [b for b, _ in run.spells("DOWN") if run.time[b] > change]
    cycles = sum(run.time[b] < run.time[low[0]] for b in down) if len(low) else math.inf
    before = run.round_count[run.time <= change][-1]
    rounds = run.round_count[short[0]] - before if len(short) else math.inf
    return [
        holds("losses", run.lost[-1] > 0.0, f"{run.lost[-1]:.0f}"),
        holds("bw_shortterm halves within 20 of its round trips", rounds <= 20.0, f"{rounds:.0f}"),
        holds("max_bw is the new rate within 3 cycles", cycles <= 3, f"{cycles}"),
    ]


def policer(run: Observation) -> list[Check]:
    """Return the checks that behind a policer the rate is the token rate, with few losses."""
    half = len(run.time) // 2
    tokens = 0.5 * run.path.rate
    lost, arrived = run.lost[-1] - run.lost[half], run.delivered[-1] - run.delivered[half]
    dropped = np.flatnonzero((run.lost > 0) & np.isfinite(run.bw_shortterm))
    return [
        holds(
            "losses lower bw_shortterm and inflight_shortterm",
            len(dropped) and np.isfinite(run.inflight_shortterm[dropped[0]]),
        ),
        about("delivery rate of the second half, packets/s,", run.rate(half, len(run.time) - 1), tokens, 0.15),
        holds(
            "losses of the second half at most 10 %, half of a probe's", lost <= 0.1 * (lost + arrived),
            f"{lost / (lost + arrived):.1%}",
        ),
    ]  # fmt: skip


def spurious_recovery(run: Observation) -> list[Check]:
    """Return the checks that a recovery caused by reordering is undone."""
    entered = np.flatnonzero(np.diff(run.recovering) > 0.0)
    lowered = np.isfinite(run.bw_shortterm) | np.isfinite(run.inflight_longterm)
    return [
        holds("fast recovery by reordering alone", len(entered), f"{len(entered)} times"),
        holds(
            "what was saved is restored",
            not lowered.any(),
            "bounds stay lowered" if lowered.any() else "",
        ),
    ]


def spurious_timeout(run: Observation) -> list[Check]:
    """Return the checks that a timeout caused by a delay is undone."""
    before = np.flatnonzero(run.time < 4.0)[-1]
    after = np.flatnonzero(run.time > 6.2)[0]
    same = run.cwnd[after] >= 0.9 * run.cwnd[before] and run.mode[after] == run.mode[before]
    return [
        holds("a timeout by delay alone", run.timeouts, f"{run.timeouts}"),
        holds("what was saved is restored", same, f"{run.mode_at(before)}, later {run.mode_at(after)}"),
    ]
