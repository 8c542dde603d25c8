"""One step of each window rule as its source states it, with the source's numbers: against it the rules are tested.

Functions take the state, the time and the round-trip time, and return the fields that change. ``if`` stands where the
sources have it; numbers are not the parameters of the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from responsefn.rules.highspeed_tcp import DECREASES, WINDOWS

__all__ = ["ACKS", "LOSSES", "TIMEOUTS"]
Step = Callable[[Any, float, float], dict[str, float]]


def slow(s: Any) -> bool:
    return bool(s.cwnd < s.ssthresh)


def after(kept: float) -> dict[str, float]:
    """RFC 5681, eq. 4 and Sect. 3.2: at least two segments of ssthresh."""
    return {"cwnd": max(kept, 1.0), "ssthresh": max(kept, 2.0)}


def reno(s: Any, time: float, rtt: float) -> dict[str, float]:
    """RFC 5681, Sect. 3.1."""
    return {"cwnd": s.cwnd + (1.0 if slow(s) else 1.0 / s.cwnd)}


def halve(s: Any, time: float, rtt: float) -> dict[str, float]:
    return after(s.cwnd / 2.0)


def restart(s: Any, time: float, rtt: float) -> dict[str, float]:
    """RFC 5681, Sect. 3.1: the loss window is one segment."""
    return {"cwnd": 1.0, "ssthresh": max(s.cwnd / 2.0, 2.0)}


def highspeed(s: Any, time: float, rtt: float) -> dict[str, float]:
    """RFC 3649, Sect. 5: p(w) = 0.078 / w^1.2, a(w) = w^2 p(w) 2 b(w) / (2 - b(w))."""
    w, b = s.cwnd, highspeed_b(s.cwnd)
    a = max(1.0, w**2 * 0.078 / w**1.2 * 2.0 * b / (2.0 - b)) if w > 38.0 else 1.0
    return {"cwnd": w + (1.0 if slow(s) else a / w)}


def highspeed_b(w: float) -> float:
    """RFC 3649, Sect. 5: (High_Decrease - 0.5) (log w - log W) / (log W_1 - log W) + 0.5."""
    if w <= 38.0:
        return 0.5
    w = min(w, float(WINDOWS[-1]))
    return (0.1 - 0.5) * (math.log(w) - math.log(38.0)) / (math.log(83000.0) - math.log(38.0)) + 0.5


def highspeed_table(s: Any, time: float, rtt: float) -> dict[str, float]:
    """RFC 3649, Appendix B, as tcp_highspeed.c uses it: the first row that is not below the window."""
    row = next((n for n, w in enumerate(WINDOWS) if w >= s.cwnd), len(WINDOWS) - 1)
    return {"cwnd": s.cwnd + (1.0 if slow(s) else (row + 1.0) / s.cwnd)}


def highspeed_table_loss(s: Any, time: float, rtt: float) -> dict[str, float]:
    row = next((n for n, w in enumerate(WINDOWS) if w >= s.cwnd), len(WINDOWS) - 1)
    return after((1.0 - DECREASES[row] / 256.0) * s.cwnd)


def scalable(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Kelly 2003, Sect. 3: 0.01 per ACK above the legacy window of 16."""
    if slow(s):
        return {"cwnd": s.cwnd + 1.0}
    return {"cwnd": s.cwnd + (0.01 if s.cwnd > 16.0 else 1.0 / s.cwnd)}


def bic(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Xu et al. 2004, Sect. III: half the distance to the last peak within 0.01 and 32; the mirror image above."""
    if slow(s):
        return {"cwnd": s.cwnd + 1.0}
    if s.cwnd < 14.0:
        return {"cwnd": s.cwnd + 1.0 / s.cwnd}
    distance = (s.peak - s.cwnd) / 2.0 if s.cwnd < s.peak else s.cwnd - s.peak
    return {"cwnd": s.cwnd + min(max(distance, 0.01), 32.0) / s.cwnd}


def bic_loss(s: Any, time: float, rtt: float) -> dict[str, float]:
    peak = s.cwnd * (2.0 - 0.125) / 2.0 if s.cwnd < s.peak else s.cwnd
    return {**after(s.cwnd / 2.0 if s.cwnd < 14.0 else 0.875 * s.cwnd), "peak": peak}


def cubic(s: Any, time: float, rtt: float) -> dict[str, float]:
    """RFC 9438, Sect. 4.2 to 4.4, with W_est and the target one round trip ahead."""
    if slow(s):
        grown = s.cwnd + 1.0
        # Sect. 4.8: the epoch begins when slow start ends without a loss: K = 0, W_max the window
        return {"cwnd": grown, "reno": grown, "peak": s.cwnd, "plateau": 0.0, "since": time}
    curve = 0.4 * (time + rtt - s.since - s.plateau) ** 3 + s.peak
    target = min(max(curve, s.cwnd), 1.5 * s.cwnd)
    alpha = 3.0 * (1.0 - 0.7) / (1.0 + 0.7) if s.reno < s.ssthresh / 0.7 else 1.0
    estimate = s.reno + alpha / s.cwnd
    return {"cwnd": max(s.cwnd + (target - s.cwnd) / s.cwnd, estimate), "reno": estimate}


def cubic_loss(s: Any, time: float, rtt: float) -> dict[str, float]:
    """RFC 9438, Sect. 4.6 with Figure 5, and eq. 2: K = cbrt((W_max - cwnd_epoch) / C)."""
    kept = max(0.7 * s.cwnd, 2.0)
    plateau = (max(s.cwnd - kept, 0.0) / 0.4) ** (1.0 / 3.0)
    return {**after(kept), "peak": s.cwnd, "plateau": plateau, "since": time, "reno": kept}


def cubic_fast_loss(s: Any, time: float, rtt: float) -> dict[str, float]:
    """RFC 9438, Sect. 4.7: W_max = cwnd (1 + beta) / 2 where the window did not come back to W_max."""
    peak = s.cwnd * (1.0 + 0.7) / 2.0 if s.cwnd < s.peak else s.cwnd
    plateau = (max(peak - max(0.7 * s.cwnd, 2.0), 0.0) / 0.4) ** (1.0 / 3.0)
    return {**cubic_loss(s, time, rtt), "peak": peak, "plateau": plateau}


def illinois_delay(s: Any, rtt: float) -> tuple[float, float]:
    base = min(s.base_rtt, rtt)
    return rtt - base, max(s.top_rtt, rtt) - base


def illinois(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Liu et al. 2008, eq. 1: 10 up to d_1 = 0.01 d_m, k_1 / (k_2 + d) above, 0.3 at d_m; Reno below 15 packets."""
    delay, most = illinois_delay(s, rtt)
    first = 0.01 * most
    k_1 = (most - first) * 0.3 * 10.0 / (10.0 - 0.3)
    k_2 = (most - first) * 0.3 / (10.0 - 0.3) - first
    alpha = 10.0 if delay <= first else k_1 / (k_2 + delay)
    step = 1.0 if slow(s) else (1.0 if s.cwnd < 15.0 else alpha) / s.cwnd
    return {"cwnd": s.cwnd + step, "base_rtt": min(s.base_rtt, rtt), "top_rtt": max(s.top_rtt, rtt)}


def illinois_loss(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Liu et al. 2008, eq. 1: 1/8 up to d_2 = 0.1 d_m, 1/2 from d_3 = 0.8 d_m, k_3 + k_4 d between."""
    delay, most = illinois_delay(s, rtt)
    second, third = 0.1 * most, 0.8 * most
    if delay <= second:
        beta = 0.125
    elif delay >= third:
        beta = 0.5
    else:
        beta = 0.125 + (0.5 - 0.125) * (delay - second) / (third - second)
    kept = (1.0 - (0.5 if s.cwnd < 15.0 else beta)) * s.cwnd
    return {**after(kept), "base_rtt": min(s.base_rtt, rtt), "top_rtt": max(s.top_rtt, rtt)}


def htcp(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Leith and Shorten 2004: 1 + 10 (t - 1) + ((t - 1) / 2)^2 from 1 s on, times 2 (1 - beta)."""
    since = time if slow(s) else s.since
    late = time - since - 1.0
    alpha = 1.0 if late <= 0.0 else 1.0 + 10.0 * late + (late / 2.0) ** 2
    step = 1.0 if slow(s) else 2.0 * (1.0 - s.beta) * alpha / s.cwnd
    return {
        "cwnd": s.cwnd + step, "since": since, "base_rtt": min(s.base_rtt, rtt), "top_rtt": max(s.top_rtt, rtt),
    }  # fmt: skip


def htcp_loss(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Leith and Shorten 2004: beta = RTT_min / RTT_max within 0.5 and 0.8."""
    beta = min(max(min(s.base_rtt, rtt) / max(s.top_rtt, rtt), 0.5), 0.8)
    return {**after(beta * s.cwnd), "since": time, "top_rtt": 0.0, "beta": beta}


def waiting(s: Any, rtt: float) -> float:
    """Brakmo and Peterson 1995: (expected - actual) BaseRTT."""
    base = min(s.base_rtt, rtt)
    return (s.cwnd / base - s.cwnd / rtt) * base


def vegas(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Brakmo and Peterson 1995, Sect. 3.2: one packet per round trip, between 2 and 4.

    Slow start does not begin again where the window shrinks below the threshold (our own).
    """
    diff = waiting(s, rtt)
    change = 1.0 if diff < 2.0 else -1.0 if diff > 4.0 else 0.0
    grown = max(s.cwnd + (1.0 if slow(s) else change / s.cwnd), 1.0)
    return {
        "cwnd": grown,
        "ssthresh": s.ssthresh if slow(s) else min(s.ssthresh, grown),
        "base_rtt": min(s.base_rtt, rtt),
    }


def vegas_of_ns2(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Brakmo and Peterson 1995, Sect. 3.3, with ns-2's 1, 3 and 1: growth in every other round trip of slow start.

    Two round trips are a pair of 1.75 here, of which the first half of one grows: the rule has no ACK numbers.
    """
    mean = s.mean_rtt + (rtt - s.mean_rtt) / s.cwnd if s.mean_rtt > 0.0 else rtt
    base = min(s.base_rtt, rtt)
    diff = s.cwnd * (mean - base) / mean
    turn = time + 1.75 * rtt if time > s.turn else s.turn
    threshold = min(s.ssthresh, s.cwnd) if diff > 1.0 else s.ssthresh
    if s.cwnd < threshold:
        grown = s.cwnd + (1.0 if turn - time > 1.75 / 2.0 * rtt else 0.0)
    else:
        grown = s.cwnd + (1.0 if diff < 1.0 else -1.0 if diff > 3.0 else 0.0) / s.cwnd
        threshold = min(threshold, max(grown, 2.0))
    return {
        "cwnd": max(grown, 2.0),
        "ssthresh": threshold,
        "base_rtt": base,
        "mean_rtt": mean,
        "turn": turn,
    }


def fast(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Wei et al. 2006, eq. 1, in parts of a window: min(2 w, (1 - gamma) w + gamma (base / rtt w + alpha))."""
    base = min(s.base_rtt, rtt)
    following = min(2.0 * s.cwnd, 0.5 * s.cwnd + 0.5 * (base / rtt * s.cwnd + 100.0))
    step = 1.0 if slow(s) else (following - s.cwnd) / s.cwnd
    grown = max(s.cwnd + step, 1.0)
    return {
        "cwnd": grown,
        "ssthresh": s.ssthresh if slow(s) else min(s.ssthresh, grown),
        "base_rtt": base,
    }


def westwood(s: Any, time: float, rtt: float) -> dict[str, float]:
    """TCPW-RE: Reno's growth; the estimate moves by an eighth per round trip."""
    return {
        **reno(s, time, rtt),
        "base_rtt": min(s.base_rtt, rtt),
        "estimate": s.estimate + (s.cwnd / rtt - s.estimate) / (8.0 * s.cwnd),
    }


def westwood_loss(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Casetti et al. 2001: ssthresh = BWE RTT_min, at least 2; cwnd no more than that."""
    held = max(s.estimate * min(s.base_rtt, rtt), 2.0)
    return {"cwnd": min(s.cwnd, held), "ssthresh": held}


def westwood_timeout(s: Any, time: float, rtt: float) -> dict[str, float]:
    return {"cwnd": 1.0, "ssthresh": max(s.estimate * s.base_rtt, 2.0)}


def compound(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Tan et al. 2006, eq. 3 to 5: alpha = 1/8, k = 3/4, gamma = 30, zeta = 1; dwnd is not below 0."""
    base, dwnd = min(s.base_rtt, rtt), s.cwnd - s.loss_window
    diff = waiting(s, rtt)
    if slow(s):
        return {"cwnd": s.cwnd + 1.0, "loss_window": s.loss_window + 1.0, "base_rtt": base}
    change = max(s.cwnd**0.75 / 8.0 - 1.0, 0.0) if diff < 30.0 else -diff
    change = max(change, -dwnd)
    reno_part = 1.0 / s.cwnd
    return {
        "cwnd": s.cwnd + reno_part + change / s.cwnd, "loss_window": s.loss_window + reno_part,
        "base_rtt": base,
    }  # fmt: skip


def compound_loss(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Tan et al. 2006, eq. 4: the sum loses a half; its loss-based part halves."""
    kept = max(s.cwnd / 2.0, 1.0)
    return {**after(s.cwnd / 2.0), "loss_window": min(s.loss_window / 2.0, kept)}


def adaptive_level(s: Any, rtt: float) -> float:
    base = min(s.base_rtt, rtt)
    congested = s.loss_rtt if s.loss_rtt > 0.0 else 2.0 * base
    return min((rtt - base) / max(congested - base, 1e-9 * rtt), 1.0)


def adaptive_reno(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Shimonishi and Murase 2005: W_inc(c) = W e^(-10 c) + b c + g, with W_inc(1) = 1 and a mean of 1 over c."""
    base, rate = min(s.base_rtt, rtt), max(s.top_rate, s.cwnd / rtt)
    most, e = rate * 8.0 * 1500.0 / 10e6, math.exp(-10.0)
    # b + g = 1 - W e and b / 2 + g = 1 - W (1 - e) / 10
    slope = 2.0 * ((1.0 - most * e) - (1.0 - most * (1.0 - e) / 10.0))
    offset = 1.0 - most * e - slope
    c = adaptive_level(s, rtt)
    growth = most * math.exp(-10.0 * c) + slope * c + offset
    part = s.base_window + (1.0 if slow(s) else 1.0 / s.cwnd)
    probe = max(s.cwnd - s.base_window + (0.0 if slow(s) else growth / s.cwnd), 0.0)
    return {"cwnd": part + probe, "base_window": part, "base_rtt": base, "top_rate": rate}


def adaptive_reno_loss(s: Any, time: float, rtt: float) -> dict[str, float]:
    """Shimonishi and Murase 2005: 1 / (1 + c) of the window; RTT_cong averages with a half."""
    kept = s.cwnd / (1.0 + adaptive_level(s, rtt))
    seen = (s.loss_rtt + rtt) / 2.0 if s.loss_rtt > 0.0 else rtt
    return {
        **after(kept),
        "base_window": max(kept, 1.0),
        "base_rtt": min(s.base_rtt, rtt),
        "loss_rtt": seen,
    }


def fusion(s: Any, time: float, rtt: float) -> dict[str, float]:
    """kaneko2007, slides: B D_min up below alpha = RE D_min, alpha - N above 3 alpha; never below Reno."""
    base, rate = min(s.base_rtt, rtt), max(s.top_rate, s.cwnd / rtt)
    alpha, diff = s.estimate * 1e-3, waiting(s, rtt)
    change = rate * 1e-3 if diff < alpha else alpha - diff if diff > 3.0 * alpha else 0.0
    other = s.reno + (1.0 if slow(s) else 1.0 / s.cwnd)
    grown = s.cwnd + (1.0 if slow(s) else change / s.cwnd)
    estimate = s.estimate + (s.cwnd / rtt - s.estimate) / (8.0 * s.cwnd)
    return {
        "cwnd": max(grown, other), "reno": other, "base_rtt": base, "top_rate": rate, "estimate": estimate,
    }  # fmt: skip


def fusion_loss(s: Any, time: float, rtt: float) -> dict[str, float]:
    """kaneko2007, slides: max(RTT_min / RTT, 1/2); Reno's halves."""
    base = min(s.base_rtt, rtt)
    kept = max(base / rtt, 0.5) * s.cwnd
    return {**after(kept), "base_rtt": base, "reno": max(min(max(kept, 1.0), s.reno / 2.0), 1.0)}


def dctcp(s: Any, time: float, rtt: float) -> dict[str, float]:
    """RFC 8257, Sect. 3.3: alpha (1 - g) per window without marks."""
    return {
        **reno(s, time, rtt),
        "alpha": s.alpha - s.alpha / (16.0 * s.cwnd),
        "since": s.since + 1.0,
    }


def dctcp_mark(s: Any, time: float, rtt: float) -> dict[str, float]:
    """RFC 8257, Sect. 3.3: g / W more of alpha for a mark; cwnd (1 - alpha / 2), once per window."""
    alpha = min(s.alpha + 1.0 / (16.0 * s.cwnd), 1.0)
    if s.since < s.cwnd:
        return {
            "alpha": alpha,
            "ssthresh": min(s.ssthresh, max(s.cwnd, 2.0)),
            "cwnd": max(s.cwnd, 1.0),
        }
    return {**after((1.0 - alpha / 2.0) * s.cwnd), "alpha": alpha, "since": 0.0}


def also(step: Step, **fields: float) -> Step:
    """Return a step that sets fields too."""
    return lambda s, time, rtt: {**step(s, time, rtt), **fields}


def cubic_timeout(s: Any, time: float, rtt: float) -> dict[str, float]:
    """RFC 9438, Sect. 4.8: ssthresh is beta of the window."""
    return {"cwnd": 1.0, "ssthresh": max(0.7 * s.cwnd, 2.0), "reno": 1.0}


def bic_timeout(s: Any, time: float, rtt: float) -> dict[str, float]:
    return {**restart(s, time, rtt), "peak": s.cwnd}


ACKS: dict[str, Step] = {
    "Tahoe()": reno, "Reno()": reno, "NewReno()": reno, "AIMD()": reno, "HSTCP(form='cycle')": highspeed,
    "HSTCP(table=1)": highspeed_table, "Scalable()": scalable, "BIC()": bic, "CUBIC()": cubic,
    "HTCP()": htcp, "Relentless()": reno, "DCTCP()": dctcp, "Illinois()": illinois, "CTCP()": compound,
    "Vegas()": vegas, "NS2Vegas()": vegas_of_ns2, "CUBIC(fast_convergence=1)": cubic, "Westwood()": westwood, "FAST()": fast, "ARENO()": adaptive_reno, "Fusion()": fusion,
}  # fmt: skip
LOSSES: dict[str, Step] = {
    "Tahoe()": restart, "Reno()": halve, "NewReno()": halve, "AIMD()": halve,
    "HSTCP(form='cycle')": lambda s, time, rtt: after((1.0 - highspeed_b(s.cwnd)) * s.cwnd),
    "HSTCP(table=1)": highspeed_table_loss,
    "Scalable()": lambda s, time, rtt: after((0.5 if s.cwnd < 16.0 else 0.875) * s.cwnd),
    "BIC()": bic_loss, "CUBIC()": cubic_loss, "HTCP()": htcp_loss,
    "Relentless()": lambda s, time, rtt: after(s.cwnd - 1.0),
    "DCTCP()": dctcp_mark, "Illinois()": illinois_loss, "CTCP()": compound_loss, "Vegas()": halve,
    "NS2Vegas()": halve, "CUBIC(fast_convergence=1)": cubic_fast_loss,
    "Westwood()": westwood_loss, "FAST()": halve, "ARENO()": adaptive_reno_loss, "Fusion()": fusion_loss,
}  # fmt: skip
TIMEOUTS: dict[str, Step] = {
    **dict.fromkeys(ACKS, restart),
    "BIC()": bic_timeout, "CUBIC()": cubic_timeout, "CUBIC(fast_convergence=1)": cubic_timeout, "HTCP()": also(restart, top_rtt=0.0),
    "DCTCP()": also(restart, since=0.0), "CTCP()": also(restart, loss_window=1.0),
    "Westwood()": westwood_timeout, "ARENO()": also(restart, base_window=1.0), "Fusion()": also(restart, reno=1.0),
}  # fmt: skip
