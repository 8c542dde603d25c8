"""Steps of rules that are not in `published_steps`: losses and timeouts of modules of Linux, QUIC and deliveries, and ACKs.

Functions take the state, the time and the round-trip time, and return the fields that change, by the integers of the
sources. On a timeout Linux sets ssthresh as at a loss (tcp_enter_loss), then the module resets its own fields.
"""

from __future__ import annotations

import math
from typing import Any

from responsefn.rules.highspeed_tcp import DECREASES, WINDOWS
from tests.responsefn.rules.published_steps import Step, after, also, halve, restart

__all__ = ["ACKS", "FIRST_STATES", "LOSSES", "TIMEOUTS"]
Fields = dict[str, float]


def packets(s: Any) -> int:
    """snd_cwnd."""
    return int(s.cwnd + 1e-9)


def both(window: float) -> Fields:
    """Return window and threshold, at least two packets."""
    return {"cwnd": max(window, 2.0), "ssthresh": max(window, 2.0)}


def unchanged(s: Any, time: float, rtt: float) -> Fields:
    return {}


def one_packet(s: Any, time: float, rtt: float) -> Fields:
    return {"cwnd": 1.0}


def halve_packets(s: Any, time: float, rtt: float) -> Fields:
    """tcp_reno_ssthresh."""
    return both(packets(s) >> 1)


def halve_to_two(s: Any, time: float, rtt: float) -> Fields:
    """RFC 9002, Sect. 7.3.2: half, at least kMinimumWindow."""
    return both(s.cwnd / 2.0)


def bic(s: Any, time: float, rtt: float) -> Fields:
    """bictcp_recalc_ssthresh of tcp_bic.c: beta = 819, low_window = 14."""
    w = packets(s)
    peak = w * (1024 + 819) // 2048 if w < s.peak else w
    return {**both(w >> 1 if w <= 14 else w * 819 // 1024), "peak": peak}


def old_bic(s: Any, time: float, rtt: float) -> Fields:
    """The same with fractions of packets."""
    w = s.cwnd
    peak = w * (1024 + 819) / 2048 if w < s.peak else w
    return {**after(w / 2.0 if w <= 14 else w * 819 / 1024), "peak": peak}


def cubic(s: Any, time: float, rtt: float) -> Fields:
    """cubictcp_recalc_ssthresh of tcp_cubic.c: beta = 717; no epoch has begun."""
    w = packets(s)
    peak = w * (1024 + 717) // 2048 if w < s.peak else w
    return {**both(w * 717 // 1024), "peak": peak, "since": -1.0, "since_growth": 0.0}


def old_cubic(s: Any, time: float, rtt: float) -> Fields:
    """bictcp_recalc_ssthresh of version 2.1, beta = 819, and the curve of bictcp_update: bic_scale = 41."""
    w = s.cwnd
    peak = w * (1024 + 819) / 2048 if w < s.peak else w
    window = max(w * 819 / 1024, 1.0)
    plateau = (max(peak - window, 0.0) * 1024 / 410) ** (1 / 3)
    return {**after(w * 819 / 1024), "peak": peak, "plateau": plateau, "since": time, "reno": window}


def chromium(s: Any, time: float, rtt: float) -> Fields:
    """CongestionWindowAfterPacketLoss of cubic_bytes.cc for two connections; a packet less than the peak is lower."""
    peak = s.cwnd * (1 + 0.85) / 2 if s.cwnd + 1 < s.peak else s.cwnd
    return {**both(s.cwnd * (1 + 0.7) / 2), "peak": peak, "since": -1.0}


def chromium_timeout(s: Any, time: float, rtt: float) -> Fields:
    """OnRetransmissionTimeout of tcp_cubic_sender_bytes.cc."""
    return {"cwnd": 2.0, "ssthresh": max(s.cwnd / 2, 2.0), "peak": 0.0, "since": -1.0, "left": 0.0}


def highspeed(s: Any, time: float, rtt: float) -> Fields:
    """hstcp_ssthresh; in slow start the row is that of the last ACK above it."""
    w = packets(s)
    row = next((n for n, limit in enumerate(WINDOWS) if limit >= w), len(WINDOWS) - 1)
    row = int(s.row) if s.cwnd < s.ssthresh else row
    return both(w - (w * int(DECREASES[row]) >> 8))


def htcp_beta(s: Any, beta: float) -> Fields:
    """htcp_beta_update: the delays count after two cycles whose throughputs differ by at most a fifth."""
    steady = 4 * s.last_top_throughput <= 5 * s.top_throughput <= 6 * s.last_top_throughput
    return {
        "beta": beta if steady and s.steady else 0.5,
        "steady": float(steady),
        "last_top_throughput": s.top_throughput,
    }


def htcp(s: Any, time: float, rtt: float) -> Fields:
    """htcp_recalc_ssthresh with HZ = 250: 128ths of jiffies within 64 and 102, and 95 % of the delay is kept."""
    base, top = min(s.base_rtt, rtt), max(s.top_rtt, rtt)
    ticks = math.ceil(250 * base - 1e-9)
    beta = min(max(ticks * 128 // math.ceil(250 * top - 1e-9), 64), 102) if ticks > 3 else 64
    fields = htcp_beta(s, beta / 128)
    kept = base + 0.95 * (top - base)
    return {**fields, **both(packets(s) * int(128 * fields["beta"]) >> 7), "since": -1.0, "top_rtt": kept}


def old_htcp(s: Any, time: float, rtt: float) -> Fields:
    fields = htcp_beta(s, min(max(min(s.base_rtt, rtt) / max(s.top_rtt, rtt), 0.5), 0.8))
    return {**fields, **after(fields["beta"] * s.cwnd), "since": time, "top_rtt": rtt}


def illinois(s: Any, time: float, rtt: float) -> Fields:
    """tcp_illinois_ssthresh: b in 64ths."""
    w = packets(s)
    return both(w - (w * int(64 * s.b) >> 6))


def scalable(s: Any, time: float, rtt: float) -> Fields:
    """tcp_scalable_ssthresh."""
    return both(packets(s) - (packets(s) >> 3))


def veno(s: Any, time: float, rtt: float) -> Fields:
    """tcp_veno_ssthresh: fewer than 3 packets wait, or not."""
    return both(packets(s) * 4 // 5 if s.waiting < 3.0 else packets(s) >> 1)


def vegas(s: Any, time: float, rtt: float) -> Fields:
    """tcp_reno_ssthresh, and vegas_enable when the recovery ends."""
    window = halve_packets(s, time, rtt)
    return {**window, "round_min_rtt": math.inf, "samples": 0.0, "left": window["cwnd"] + 1.0}


def yeah(s: Any, time: float, rtt: float) -> Fields:
    """tcp_yeah_ssthresh: RHO = 16 round trips, DELTA = 3."""
    w = packets(s)
    half = max(w >> 1, 2)
    reduction = max(min(s.queue, half), w >> 3) if s.long_rounds < 16 else half
    window = both(w - reduction)
    reno = max(int(s.reno) >> 1, 2)
    rounds = {"round_min_rtt": math.inf, "samples": 0.0, "left": window["cwnd"] + 1.0}
    return {**window, **rounds, "reno": reno, "short_rounds": 0.0}


NV_RESET = dict.fromkeys(("mean_rtt", "top_rate", "acks", "rounds", "left", "grows", "clear"), 0.0)


def nv(s: Any, time: float, rtt: float) -> Fields:
    """tcpnv_recalc_ssthresh, tcpnv_reset and nv_allow_cwnd_growth of tcp_nv.c."""
    window = both(packets(s) * 819 >> 10)
    return {**NV_RESET, **window, "begun": window["cwnd"]}


def nv_timeout(s: Any, time: float, rtt: float) -> Fields:
    """cwnd_growth_factor falls below zero, down to -8."""
    speed = min(s.speed, 0.0)
    return {**nv(s, time, rtt), "cwnd": 1.0, "begun": 1.0, "speed": speed - 1.0 if speed > -8.0 else speed}


def westwood_plus(s: Any, time: float, rtt: float) -> Fields:
    """Half until the first ACK after the recovery."""
    return {**halve_to_two(s, time, rtt), "halved": 1.0}


def westwood_plus_timeout(s: Any, time: float, rtt: float) -> Fields:
    """tcp_westwood_bw_rttmin."""
    threshold = max(s.estimate * s.base_rtt, 2.0)
    return {"cwnd": 1.0, "ssthresh": threshold, "halved": 0.0}


def cdg(s: Any, time: float, rtt: float) -> Fields:
    """tcp_cdg_ssthresh: a cut that has begun is completed, a loss leaves half or half of the shadow window."""
    if s.reduced == 1.0:
        return {"cwnd": s.ssthresh, "reduced": 2.0}
    shadow = min(int(s.shadow / 2.0 + 1e-9), packets(s))
    return {**both(max(shadow, packets(s) >> 1)), "shadow": shadow, "reduced": 2.0}


def ledbat(s: Any, time: float, rtt: float) -> Fields:
    """RFC 6817, Sect. 2.4.2: cwnd = min(cwnd, max(cwnd/2, MIN_CWND * MSS)) with MIN_CWND = 2."""
    return {"cwnd": min(s.cwnd, max(s.cwnd / 2.0, 2.0))}


def ledbatpp(s: Any, time: float, rtt: float) -> Fields:
    """draft-irtf-iccrg-ledbat-plus-plus-01, Sect. 4.4: a slowdown after 2 round trips, or 9 times the last one's time."""
    phases = {
        0.0: {"phase": 1.0, "until": time + 2.0 * rtt},
        3.0: {"phase": 1.0, "until": time + 9.0 * (time - s.began)},
    }
    return {**ledbat(s, time, rtt), **phases.get(s.phase, {})}


def ledbatpp_timeout(s: Any, time: float, rtt: float) -> Fields:
    return {"cwnd": 1.0, "ssthresh": max(s.cwnd / 2.0, 2.0), "phase": 3.0, "began": time}


def swift_window(s: Any, window: float) -> Fields:
    """Less than a packet is one packet at a lower rate."""
    window = max(window, 0.001)
    return {
        "cwnd": max(window, 1.0),
        "window": window,
        "pacing_rate": window / s.rtt if window < 1.0 and s.rtt else 1e12,
    }


def swift(s: Any, time: float, rtt: float) -> Fields:
    """Kumar et al. 2020, Algorithm 1: half, if the last decrease is a round trip ago."""
    return {"fell": time, **swift_window(s, s.window / 2.0)} if time - s.fell >= rtt else {}


def swift_timeout(s: Any, time: float, rtt: float) -> Fields:
    """The third timeout in a row leaves the minimum window."""
    window = s.window / 2.0 if s.timeouts < 2 else 0.0
    return {"fell": time, "timeouts": s.timeouts + 1.0, **swift_window(s, window)}


def vivace_timeout(s: Any, time: float, rtt: float) -> Fields:
    """Own choice: half of the rate, and a new probe; intervals without utility are dropped."""
    rate = max(s.target / 2.0, 10.0)
    intervals = {"now_end": 0.0, "last_open": 0.0, "old_open": 0.0}
    return {"target": rate, "pacing_rate": rate, "mode": 1.0, "probe": 0.0, **intervals}


def veno_ack(s: Any, time: float, rtt: float) -> Fields:
    """tcp_veno_cong_avoid: twice the packets that wait, of which 6 are many."""
    w, base = packets(s), min(s.base_rtt, rtt)
    twice = 2 * w - int(2 * w * base / rtt + 1e-9)
    step = 1.0 if s.cwnd < s.ssthresh else 1.0 / w if twice < 6 else 0.5 / (w + 1)
    return {"cwnd": s.cwnd + step, "base_rtt": base, "waiting": twice / 2}


def yeah_ack(s: Any, time: float, rtt: float) -> Fields:
    """tcp_yeah_cong_avoid: ALPHA = 80, PHY = 8, ZETA = 50."""
    w = packets(s)
    step = 1.0 if s.cwnd < s.ssthresh else 1.0 / (w if s.long_rounds else min(w, 100))
    fields = {"cwnd": s.cwnd + step, "base_rtt": min(s.base_rtt, rtt), "round_min_rtt": min(s.round_min_rtt, rtt)}
    fields |= {"samples": s.samples + 1.0, "left": s.left - 1.0}
    if fields["left"] > 0.0:
        return fields
    if fields["samples"] > 2.0:
        now, late = int(fields["cwnd"] + 1e-9), fields["round_min_rtt"] - fields["base_rtt"]
        queue = int(now * late / fields["round_min_rtt"] + 1e-9)
        if queue > 80 or late > fields["base_rtt"] / 8.0:
            if queue > 80 and now > s.reno:
                fields["cwnd"] = fields["ssthresh"] = max(now - min(queue, now >> 1), s.reno)
            reno = s.reno + 1.0 if s.reno > 2.0 else max(int(fields["cwnd"]) >> 1, 2)
            fields |= {"reno": reno, "long_rounds": s.long_rounds + 1.0}
        else:
            forgets = s.short_rounds + 1.0 > 50.0
            fields |= {"long_rounds": 0.0, "short_rounds": 0.0 if forgets else s.short_rounds + 1.0}
            fields |= {"reno": 2.0} if forgets else {}
        fields["queue"] = float(queue)
    return fields | {"round_min_rtt": math.inf, "samples": 0.0, "left": float(w)}


def vegas_ack(s: Any, time: float, rtt: float) -> Fields:
    """tcp_vegas_cong_avoid: alpha = 2, beta = 4, gamma = 1, once per round trip of more than two samples."""
    w, slow, base, least = packets(s), s.cwnd < s.ssthresh, min(s.base_rtt, rtt), min(s.round_min_rtt, rtt)
    cwnd, ssthresh = s.cwnd + 1.0 if slow else s.cwnd, s.ssthresh
    if s.left > 1.0:
        return {
            "cwnd": max(cwnd, 2.0),
            "base_rtt": base,
            "round_min_rtt": least,
            "samples": s.samples + 1.0,
            "left": s.left - 1.0,
        }
    if s.samples + 1.0 <= 2.0:
        cwnd = cwnd if slow else s.cwnd + 1.0 / w
    else:
        diff = int(w * (least - base) / base)
        if slow and diff > 1:
            cwnd = float(min(w, int(w * base / least) + 1))
        elif not slow:
            cwnd += 1.0 if diff < 2 else -1.0 if diff > 4 else 0.0
        if diff > (1 if slow else 4):
            ssthresh = min(ssthresh, cwnd)
        cwnd = max(cwnd, 2.0)
        ssthresh = max(ssthresh, (int(cwnd) >> 1) + (int(cwnd) >> 2))
    return {
        "cwnd": cwnd, "ssthresh": ssthresh, "base_rtt": base, "round_min_rtt": math.inf, "samples": 0.0, "left": float(w),
    }  # fmt: skip


def nv_ack(s: Any, time: float, rtt: float) -> Fields:
    """tcpnv_acked and tcpnv_cong_avoid; one call per time, as the module is called once for each ACK."""
    fields = s._asdict()
    if time > s.last:
        mean, base = ((s.mean_rtt + rtt) / 2.0, s.base_rtt) if s.mean_rtt else (rtt, 2.0 * rtt)
        base, following = min(base, mean), min(s.next_rtt, mean)
        renewal = s.renewal if s.renewal < math.inf else time + 2.0
        if time >= renewal:
            base, following, renewal = following, math.inf, time + 5.0
        fields |= {"mean_rtt": mean, "base_rtt": base, "next_rtt": following, "renewal": renewal, "last": time}
        fields |= {"top_rate": max(s.top_rate, s.begun / mean), "acks": s.acks + 1.0}
    fields["left"] -= 1.0
    if fields["left"] <= 0.0:
        w, decides = packets(s), False
        fields["rounds"] += 1.0
        most = int(fields["top_rate"] * fields["base_rtt"] + 1e-9) + 10
        if w > most and fields["rounds"] >= 2.0:
            decides = fields["acks"] >= (30.0 if s.ssthresh == math.inf else 60.0)
            if decides:
                down = max(2, (w - most) * 38 >> 7) if w - most > 2 else w - most
                fields |= {"cwnd": float(max(w - down, 2)), "ssthresh": float(most), "grows": 0.0, "clear": 0.0}
                fields["speed"] = min(s.speed, 0.0)
            elif s.ssthresh < math.inf and fields["rounds"] > 10.0:
                fields["grows"] = 0.0
        elif w <= most - 2 and fields["acks"] >= 20.0:
            decides, raised = True, s.speed < 0.0 and s.clear + 1.0 > 8.0
            fields |= {
                "grows": 1.0,
                "clear": 0.0 if raised else s.clear + 1.0,
                "speed": s.speed + (1.0 if raised else 0.0),
            }
        if decides:
            fields |= {"acks": 0.0, "rounds": 0.0, "top_rate": 0.0}
        fields |= {"left": float(w), "begun": float(w)}
    if fields["grows"]:
        slow = fields["cwnd"] < fields["ssthresh"]
        fields["cwnd"] += 1.0 if slow else 1.0 / max(4.0, int(fields["cwnd"] + 1e-9) * 2.0 ** -fields["speed"])
    return fields


def htcp_ack(s: Any, time: float, rtt: float) -> Fields:
    """htcp_alpha_update with HZ = 250 and rtt scaling, and measure_achieved_throughput."""
    since, base, now = time if s.since < 0.0 else s.since, min(s.base_rtt, rtt), s.cwnd / rtt
    late = max(time - since - 1.0, 0.0)
    scale = min(max(8 * 250 // (10 * math.ceil(250 * base - 1e-9)), 4), 80)
    alpha = 2.0 * (1.0 - s.beta) * max(8 * (1 + int(10.0 * late + (late / 2.0) ** 2)) // scale, 1)
    step = 1.0 if s.cwnd < s.ssthresh else 1.0 / (math.ceil(packets(s) / alpha) + 1)
    throughput = now if time - since <= 4.0 * base else s.throughput + (now - s.throughput) / 4.0 / s.cwnd
    return {
        "cwnd": s.cwnd + step, "since": since, "base_rtt": base, "top_rtt": max(s.top_rtt, rtt), "throughput": throughput,
        "top_throughput": now if time - since <= 4.0 * base else max(s.top_throughput, throughput),
    }  # fmt: skip


def limited_ack(s: Any, time: float, rtt: float) -> Fields:
    """RFC 3742, Sect. 2: max_ssthresh = 100."""
    if s.cwnd >= s.ssthresh:
        return {"cwnd": s.cwnd + 1.0 / s.cwnd}
    return {"cwnd": s.cwnd + (1.0 if s.cwnd <= 100.0 else 1.0 / int(s.cwnd / 50.0))}


def hystart_ack(s: Any, time: float, rtt: float) -> Fields:
    """RFC 9406, Sect. 4.2 and 4.3: 8 samples, 4 to 16 ms, an eighth; a quarter of the growth for 5 rounds."""
    if s.ssthresh < math.inf:
        return {"cwnd": s.cwnd + (1.0 if s.cwnd < s.ssthresh else 1.0 / s.cwnd)}
    sampled, current = s.samples + 1.0, min(s.round_min_rtt, rtt)
    fields = {
        "cwnd": s.cwnd + (0.25 if s.rounds else 1.0),
        "rounds": s.rounds,
        "baseline": s.baseline,
        "samples": sampled,
    }
    threshold = max(4e-3, min(s.last_round_min_rtt / 8.0, 16e-3))
    if sampled >= 8.0 and s.rounds and current < s.baseline:
        fields |= {"rounds": 0.0, "baseline": math.inf}
    elif sampled >= 8.0 and not s.rounds and current >= s.last_round_min_rtt + threshold:
        fields |= {"rounds": 1.0, "baseline": current}
    fields |= {"left": (s.left or float(int(s.cwnd))) - 1.0, "round_min_rtt": current}
    if fields["left"] <= 0.0:
        fields |= {
            "last_round_min_rtt": current,
            "round_min_rtt": math.inf,
            "samples": 0.0,
            "left": float(int(fields["cwnd"])),
        }
        if fields["rounds"] >= 5.0:
            fields["ssthresh"] = fields["cwnd"]
        elif fields["rounds"]:
            fields["rounds"] += 1.0
    return fields


OLD = "kernel='2.6.22'"
ACKS: dict[str, Step] = {
    "LinuxVeno()": veno_ack, "LinuxYeAH()": yeah_ack, "LinuxVegas()": vegas_ack, "LinuxNV()": nv_ack,
    "LinuxHTCP()": htcp_ack, "limited_slow_start(Reno())": limited_ack, "hystart(Reno())": hystart_ack,
}  # fmt: skip
LOSSES: dict[str, Step] = {
    "ABE()": lambda s, time, rtt: after(0.8 * s.cwnd),  # RFC 8511: a mark
    "QUICNewReno()": halve_to_two, "ChromiumCUBIC()": chromium,
    "LinuxBIC()": bic, f"LinuxBIC({OLD})": old_bic, "LinuxCUBIC()": cubic, f"LinuxCUBIC({OLD})": old_cubic,
    "LinuxHSTCP()": highspeed, "LinuxHTCP()": htcp, f"LinuxHTCP({OLD})": old_htcp, "LinuxHybla()": halve_packets,
    "LinuxIllinois()": illinois, f"LinuxIllinois({OLD})": lambda s, time, rtt: after((1.0 - s.b) * s.cwnd),
    "LinuxLP()": halve_packets, "LinuxNV()": nv, "LinuxScalable()": scalable,
    f"LinuxScalable({OLD})": lambda s, time, rtt: after(s.cwnd * 7 / 8), "LinuxVegas()": vegas,
    f"LinuxVegas({OLD})": also(halve, round_min_rtt=math.inf, samples=0.0, left=0.0), "LinuxVeno()": veno,
    "WestwoodPlus()": westwood_plus, "LinuxYeAH()": yeah, "LinuxCDG()": cdg, "LEDBAT()": ledbat,
    "LEDBATpp()": ledbatpp, "Prague()": halve_to_two, "SEARCH()": halve_to_two, "Swift()": swift,
    "Allegro()": unchanged, "Copa()": unchanged, "NSCC()": unchanged, "Vivace()": unchanged,
}  # fmt: skip
TIMEOUTS: dict[str, Step] = {
    "ABE()": restart, "QUICNewReno()": also(halve_to_two, cwnd=2.0), "ChromiumCUBIC()": chromium_timeout,
    "LinuxBIC()": also(bic, cwnd=1.0, peak=0.0), "LinuxCUBIC()": also(cubic, cwnd=1.0, peak=0.0, base_rtt=math.inf, left=0.0, hystart_exit=0.0),
    f"LinuxCUBIC({OLD})": lambda s, time, rtt: {
        "cwnd": 1.0, "ssthresh": max(s.cwnd * 819 / 1024, 2.0), "peak": 0.0, "plateau": 0.0, "base_rtt": math.inf, "reno": 1.0},
    "LinuxHSTCP()": also(highspeed, cwnd=1.0), "LinuxHybla()": restart, "LinuxLP()": restart,
    "LinuxIllinois()": also(illinois, cwnd=1.0, left=0.0, samples=0.0, total=0.0, a=1.0, b=0.5, above=0.0, low=0.0),
    "LinuxNV()": nv_timeout, "LinuxScalable()": also(scalable, cwnd=1.0), "LinuxVegas()": restart, f"LinuxVegas({OLD})": restart,
    "LinuxVeno()": also(veno, cwnd=1.0), "WestwoodPlus()": westwood_plus_timeout, "LinuxYeAH()": also(yeah, cwnd=1.0, left=0.0),
    "LinuxCDG()": also(cdg, cwnd=1.0, reduced=0.0, left=0.0), "LEDBAT()": one_packet, "LEDBATpp()": ledbatpp_timeout,
    "Prague()": also(halve_to_two, cwnd=1.0), "SEARCH()": also(halve_to_two, cwnd=1.0), "Swift()": swift_timeout,
    "Allegro()": lambda s, time, rtt: {"cwnd": 4.0, "mode": 1.0, "sending": -1.0},
    "Copa()": lambda s, time, rtt: {"cwnd": 2.0, "slow": 1.0, "velocity": 1.0, "same": 0.0}, "NSCC()": one_packet,
    "Vivace()": vivace_timeout,
    f"LinuxBIC({OLD})": also(old_bic, cwnd=1.0, peak=0.0), "LinuxHTCP()": also(htcp, cwnd=1.0),
    f"LinuxHTCP({OLD})": also(old_htcp, cwnd=1.0),
    f"LinuxScalable({OLD})": also(lambda s, time, rtt: after(s.cwnd * 7 / 8), cwnd=1.0),
    f"LinuxIllinois({OLD})": also(lambda s, time, rtt: after((1.0 - s.b) * s.cwnd), cwnd=1.0, a=1.0, b=0.5, above=0.0, low=0.0),
}  # fmt: skip
FIRST_STATES: dict[str, dict[str, float]] = {
    "ARENO()": {"base_window": 1.0}, "BIC()": {"peak": 1e9},  # above all windows: no fast convergence at the first loss
    "CTCP()": {"loss_window": 1.0}, "CUBIC()": {"reno": 1.0}, "DCTCP()": {"alpha": 1.0}, "Fusion()": {"reno": 1.0},
    "QUICNewReno()": {"cwnd": 10.0}, "ChromiumCUBIC()": {"cwnd": 10.0, "since": -1.0, "reno": 1.0}, "HTCP()": {"beta": 0.5},
    "LinuxCUBIC()": {"since": -1.0, "reno": 1.0}, f"LinuxCUBIC({OLD})": {"reno": 1.0}, "LinuxHTCP()": {"beta": 0.5},
    f"LinuxHTCP({OLD})": {"beta": 0.5}, "LinuxIllinois()": {"a": 10.0, "b": 0.5}, f"LinuxIllinois({OLD})": {"a": 10.0, "b": 0.5},
    "LinuxLP()": {"owd_min": 2.0**32 - 1.0, "last_cut": -1.0}, "LinuxYeAH()": {"reno": 2.0},
    "LinuxNV()": {"renewal": math.inf, "begun": 1.0, "last": -math.inf, "grows": 1.0},
    "LinuxCDG()": {"round_start": -1.0, "last_ack": -1.0}, "SEARCH()": {"cwnd": 10.0},
    "Allegro()": {
        "cwnd": 10.0, "pacing_rate": 512 * 1024 / 1500, "target": 512 * 1024 / 1500, "before": 512 * 1024 / 1500, "steps": 1.0,
        "decision": 1.0, "sending": -1.0, "u_0": -math.inf},
    "Copa()": {
        "cwnd": 10.0, "pacing_rate": 1e9, "velocity": 1.0, "slow": 1.0, **dict.fromkeys(("begun", "quarter", "second"), -math.inf),
        **{f"{name}_{n}": math.inf for name, count in (("now", 4), ("base", 10), ("low", 5)) for n in range(1, count + 1)}},
    "LEDBAT()": {"cwnd": 2.0}, "LEDBATpp()": {"cwnd": 2.0, "until": math.inf},
    "NSCC()": {"adjusted": -math.inf, "decreased": -math.inf}, "Prague()": {"cwnd": 10.0, "pacing_rate": 20.0 / 1e-3, "alpha": 1.0},
    "Swift()": {"cwnd": 10.0, "window": 10.0, "pacing_rate": 1e12, "fell": -math.inf},
    "hystart(Reno())": {"last_round_min_rtt": math.inf, "baseline": math.inf},
    "Vivace()": {
        "cwnd": 1e6, "pacing_rate": 5 * 2**20 / 12000, "amplifier": 10.0, "bound": 0.1, "rate": -1.0,
        "now_probe": -1.0, "last_probe": -1.0, "old_probe": -1.0},
}  # fmt: skip
"""State of a new connection. Other windows are one packet, thresholds and minima infinite, and other fields 0."""
for _rule in ("LEDBAT()", "LEDBATpp()"):
    FIRST_STATES[_rule] |= {
        f"{name}{n}": math.inf for name in ("last", "base") for n in ("", *(f"_{k}" for k in range(2, 11)))
    }
