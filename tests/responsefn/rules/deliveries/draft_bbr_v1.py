"""BBR version 1 as draft-cardwell-iccrg-bbr-congestion-control-00 and Linux have it: against it `BBRv1` is tested.

Statements of the draft's Sect. 4 under its names, and Linux's lib/win_minmax.c. Numbers are those of the draft.
"""

from __future__ import annotations

from math import floor, inf, log
from typing import Any

STARTUP, DRAIN, PROBE_BW, PROBE_RTT = range(4)
CYCLE = (1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
HIGH_GAIN = 2.0 / log(2.0)


class DraftBBRv1:
    """The draft's variables, as attributes; a call of ``on_ack`` is BBRUpdateOnACK."""

    def __init__(self, state: dict[str, float]) -> None:
        vars(self).update(state)

    def running_max(self, rate: float) -> None:
        """minmax_running_max and minmax_subwin_update of Linux, over ten rounds."""
        now = self.round_count
        s = [
            (self.best, self.best_round),
            (self.second, self.second_round),
            (self.third, self.third_round),
        ]
        new = (rate, now)
        if rate >= s[0][0] or now - s[2][1] > 10.0:
            s = [new, new, new]
        else:
            if rate >= s[1][0]:
                s[1] = s[2] = new
            elif rate >= s[2][0]:
                s[2] = new
            passed = now - s[0][1]
            if passed > 10.0:
                s = [s[1], s[2], new]
                if now - s[0][1] > 10.0:
                    s = [s[1], s[2], new]
            elif s[1][1] == s[0][1] and passed > 10.0 / 4.0:
                s[1] = s[2] = new
            elif s[2][1] == s[1][1] and now - s[1][1] > 10.0 / 2.0:
                s[2] = new
        (
            (self.best, self.best_round),
            (self.second, self.second_round),
            (self.third, self.third_round),
        ) = s

    def inflight(self, gain: float) -> float:
        if self.min_rtt == inf:
            return 10.0
        return gain * self.best * self.min_rtt + 3.0

    @property
    def pacing_gain(self) -> float:
        gains = {STARTUP: HIGH_GAIN, DRAIN: 1.0 / HIGH_GAIN, PROBE_RTT: 1.0}
        return gains.get(int(self.mode), CYCLE[int(self.cycle_index)])

    def update_btl_bw(self, e: Any, rate: float) -> None:
        self.round_start = 0.0
        if e.acked > 0.0 and e.interval > 0.0 and e.prior_delivered >= self.next_round_delivered:
            self.next_round_delivered = e.delivered
            self.round_count += 1.0
            self.round_start = 1.0
            self.conserving = 0.0
        app_limited = e.prior_delivered <= self.limited_until
        if rate > 0.0 and (rate >= self.best or not app_limited):
            self.running_max(rate)

    def check_cycle_phase(self, e: Any) -> None:
        if self.mode != PROBE_BW:
            return
        full_length = e.time - self.cycle_stamp > self.min_rtt
        prior_inflight, gain = e.in_flight + e.acked + e.lost, self.pacing_gain
        if gain == 1.0:
            following = full_length
        elif gain > 1.0:
            following = full_length and (e.lost > 0.0 or prior_inflight >= self.inflight(gain))
        else:
            following = full_length or prior_inflight <= self.inflight(1.0)
        if following:  # AdvanceCyclePhase
            self.cycle_stamp = e.time
            self.cycle_index = float((int(self.cycle_index) + 1) % 8)

    def enter_probe_bw(self, e: Any) -> None:
        """Linux: cycle_idx = 7 - random below 7, and then the next phase; any but that of 3/4."""
        self.mode = PROBE_BW
        part = floor(7.0 * e.random)
        self.cycle_index = float([0, 2, 3, 4, 5, 6, 7][part])
        self.cycle_stamp = e.time

    def check_full_pipe(self, e: Any) -> None:
        if self.filled_pipe or not self.round_start or e.prior_delivered <= self.limited_until:
            return
        if self.best >= self.full_bw * 1.25:
            self.full_bw, self.full_bw_count = self.best, 0.0
            return
        self.full_bw_count += 1.0
        if self.full_bw_count >= 3.0:
            self.filled_pipe = 1.0

    def check_drain(self, e: Any) -> None:
        if self.mode == STARTUP and self.filled_pipe:
            self.mode = DRAIN
        if self.mode == DRAIN and e.in_flight <= self.inflight(1.0):
            self.enter_probe_bw(e)

    def update_rt_prop(self, e: Any) -> None:
        expired = e.time > self.min_rtt_stamp + 10.0
        if self.min_rtt == inf:
            self.pacing_rate = HIGH_GAIN * 10.0 / e.rtt
        if e.rtt <= self.min_rtt or expired:
            self.min_rtt, self.min_rtt_stamp = e.rtt, e.time
        if self.mode != PROBE_RTT and expired:
            self.prior_cwnd = max(self.prior_cwnd, self.cwnd) if self.recovering else self.cwnd
            self.mode, self.probe_rtt_done_stamp = PROBE_RTT, 0.0
        if self.mode == PROBE_RTT:
            self.handle_probe_rtt(e)

    def handle_probe_rtt(self, e: Any) -> None:
        self.limited_until = e.delivered + e.in_flight
        if self.probe_rtt_done_stamp == 0.0:
            if e.in_flight <= 4.0:
                self.probe_rtt_done_stamp = e.time + 0.2
                self.probe_rtt_round_done = 0.0
                self.next_round_delivered = e.delivered
            return
        if self.round_start:
            self.probe_rtt_round_done = 1.0
        if self.probe_rtt_round_done and e.time > self.probe_rtt_done_stamp:
            self.min_rtt_stamp = e.time
            self.cwnd = max(self.cwnd, self.prior_cwnd)
            if self.filled_pipe:
                self.enter_probe_bw(e)
            else:
                self.mode = STARTUP

    def set_pacing_rate(self) -> None:
        rate = self.pacing_gain * self.best
        if rate > 0.0 and (self.filled_pipe or rate > self.pacing_rate):
            self.pacing_rate = rate

    def set_cwnd(self, e: Any) -> None:
        if e.recovering and not self.recovering:  # Sect. 4.2.3.4
            self.prior_cwnd = max(self.prior_cwnd, self.cwnd) if self.mode == PROBE_RTT else self.cwnd
            self.cwnd = e.in_flight + max(e.acked, 1.0)
            self.conserving = 1.0
            self.next_round_delivered = e.delivered
        elif self.recovering and not e.recovering:
            self.conserving = 0.0
            self.cwnd = max(self.cwnd, self.prior_cwnd)
        self.recovering = e.recovering
        if e.lost > 0.0:
            self.cwnd = max(self.cwnd - e.lost, 1.0)
        if self.conserving:
            self.cwnd = max(self.cwnd, e.in_flight + e.acked)
        else:
            target = self.inflight(HIGH_GAIN if self.mode in (STARTUP, DRAIN) else 2.0)
            if self.filled_pipe:
                self.cwnd = min(self.cwnd + e.acked, target)
            elif self.cwnd < target or e.delivered < 10.0:
                self.cwnd += e.acked
            self.cwnd = max(self.cwnd, 4.0)
        if self.mode == PROBE_RTT:
            self.cwnd = min(self.cwnd, 4.0)

    def on_ack(self, e: Any) -> dict[str, float]:
        """Return the variables after an ACK."""
        rate = 0.0
        if e.acked > 0.0 and e.interval > 0.0 and e.interval >= self.min_rtt:
            rate = (e.delivered - e.prior_delivered) / e.interval
        self.update_btl_bw(e, rate)
        self.check_cycle_phase(e)
        self.check_full_pipe(e)
        self.check_drain(e)
        self.update_rt_prop(e)
        self.set_pacing_rate()
        self.set_cwnd(e)
        return {name: float(value) for name, value in vars(self).items()}
