"""The pseudocode of draft-ietf-ccwg-bbr, statement by statement with its names: against it `BBR` is tested.

Numbers are those of the draft, not the parameters of the rule. What the draft has for offloading, idle applications and
spurious losses is not here, as it is not in the rule. The largest aggregation of ten rounds is kept in two halves of five.
"""

from __future__ import annotations

from math import floor, inf
from typing import Any

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(7)
INIT, REFILLING, STARTING, FEEDBACK, STOPPING = range(5)
PROBE_BW = (DOWN, CRUISE, REFILL, UP)


class DraftBBR:
    """The draft's variables, as attributes; a call of ``on_ack`` is BBRUpdateOnACK after losses were handled."""

    def __init__(self, state: dict[str, float]) -> None:
        vars(self).update(state)
        self.variables = tuple(state)
        self.set_send_quantum()  # of the ACK before

    # Sect. 5.5, model of the path

    @property
    def max_bw(self) -> float:
        return max(self.bw_now, self.bw_before)

    @property
    def bw(self) -> float:  # BBRBoundBWForModel
        return min(self.max_bw, self.bw_shortterm)

    def bdp_multiple(self, gain: float) -> float:  # BBRBDPMultiple
        return 10.0 if self.min_rtt == inf else gain * self.bw * self.min_rtt

    def max_inflight(self, gain: float, extra_acked: float = 0.0) -> float:  # BBRInflight, BBRQuantizationBudget
        found = max(self.bdp_multiple(gain) + extra_acked, self.send_quantum, 4.0)
        return found + 2.0 if self.mode == UP else found

    def cruise_inflight(self) -> float:  # BBRInflight(BBR.max_bw, 1.0) of IsTimeToCruise
        product = 10.0 if self.min_rtt == inf else self.max_bw * self.min_rtt
        return max(product, self.send_quantum, 4.0)

    def inflight_with_headroom(self) -> float:
        if self.inflight_longterm == inf:
            return inf
        headroom = max(1.0, 0.15 * self.inflight_longterm)
        return max(self.inflight_longterm - headroom, 4.0)

    def target_inflight(self) -> float:
        return min(self.bdp_multiple(1.0), self.cwnd)

    # Sect. 5.3.3, ProbeBW

    def start_round(self, e: Any) -> None:
        self.next_round_delivered = e.delivered

    def start_probe_down(self, e: Any) -> None:
        self.is_loss_in_round, self.bw_latest, self.inflight_latest = (
            0.0,
            0.0,
            0.0,
        )  # ResetCongestionSignals
        self.probe_up_acked_per_inc = inf
        # PickProbeWait: 0 or 1 rounds, 2 to 3 s; one random number of 0 to 1 gives both
        self.rounds_since_probe_up = 1.0 if e.random < 0.5 else 0.0
        self.bw_probe_wait = 2.0 + (2.0 * e.random - floor(2.0 * e.random))
        self.cycle_stamp = e.time
        self.ack_phase = STOPPING
        self.start_round(e)
        self.mode = DOWN

    def start_probe_refill(self, e: Any) -> None:
        self.bw_shortterm = self.inflight_shortterm = inf  # ResetShortTermModel
        self.bw_probe_up_rounds = self.bw_probe_up_acked = 0.0
        self.prev_probe_precautionary = 0.0
        self.ack_phase = REFILLING
        self.start_round(e)
        self.mode = REFILL

    def raise_inflight_longterm_slope(self) -> None:
        growth_this_round = 2.0**self.bw_probe_up_rounds
        self.bw_probe_up_rounds = min(self.bw_probe_up_rounds + 1.0, 30.0)
        self.probe_up_acked_per_inc = max(self.cwnd / growth_this_round, 1.0)

    def start_probe_up(self, e: Any, rate: float) -> None:
        self.ack_phase = STARTING
        self.start_round(e)
        self.full_bw_now, self.full_bw_count, self.full_bw = (
            0.0,
            0.0,
            rate,
        )  # ResetFullBW, full_bw = delivery_rate
        self.is_bw_probe_sample = 1.0
        self.mode = UP
        self.raise_inflight_longterm_slope()

    # Sect. 5.5.10, losses

    def handle_lost_packet(self, e: Any) -> None:
        if e.lost == 0.0:
            return
        if not self.is_loss_in_round:  # NoteLoss
            self.loss_round_delivered = e.delivered
        self.is_loss_in_round = 1.0
        self.round_lost += e.lost
        if not self.is_bw_probe_sample:
            return
        if e.lost_with > e.lost_in_flight * 0.02:  # IsInflightTooHigh
            inflight_prev, lost_prev = e.lost_in_flight - 1.0, e.lost_with - 1.0
            lost_prefix = (0.02 * inflight_prev - lost_prev) / (1.0 - 0.02)
            self.handle_inflight_too_high(e, inflight_prev + lost_prefix)

    def handle_inflight_too_high(self, e: Any, inflight: float) -> None:
        self.prev_probe_too_high, self.is_bw_probe_sample = 1.0, 0.0
        if e.prior_delivered > self.limited_until:
            self.inflight_longterm = max(inflight, self.target_inflight() * 0.7)
        if self.mode == UP:
            self.start_probe_down(e)

    def update_congestion_signals(self, e: Any, rate: float) -> None:
        # UpdateLatestDeliverySignals; Linux returns before it for `rs->interval_us <= 0 || !rs->acked_sacked`
        is_sample = e.interval > 0.0 and e.acked > 0.0
        self.loss_round_start = 0.0
        self.bw_latest = max(self.bw_latest, rate)
        self.inflight_latest = max(self.inflight_latest, e.delivered - e.prior_delivered)
        if is_sample and e.prior_delivered >= self.loss_round_delivered:
            self.loss_round_delivered = e.delivered
            self.loss_round_start = 1.0
        # UpdateRound, by packet.delivered of an acknowledged packet
        self.round_start = 0.0
        if is_sample and e.prior_delivered >= self.next_round_delivered:
            self.start_round(e)
            self.round_count += 1.0
            self.rounds_since_probe_up += 1.0
            self.round_start = 1.0
        # UpdateMaxBw
        app_limited = e.prior_delivered <= self.limited_until
        if rate >= self.max_bw or not app_limited:
            self.bw_now = max(self.bw_now, rate)
        if not self.loss_round_start:
            return
        # AdaptLowerBoundsFromCongestion
        if self.is_loss_in_round and self.mode not in (STARTUP, REFILL, UP):
            if self.bw_shortterm == inf:
                self.bw_shortterm = self.max_bw
            if self.inflight_shortterm == inf:
                self.inflight_shortterm = self.cwnd
            self.bw_shortterm = max(self.bw_latest, 0.7 * self.bw_shortterm)
            self.inflight_shortterm = max(self.inflight_latest, 0.7 * self.inflight_shortterm)
        self.is_loss_in_round = 0.0

    def update_ack_aggregation(self, e: Any) -> None:  # Sect. 5.5.9
        interval = e.time - self.extra_acked_start
        expected_delivered = self.bw * interval
        if self.extra_acked_delivered <= expected_delivered:
            self.extra_acked_delivered, self.extra_acked_start = 0.0, e.time
            expected_delivered = 0.0
        self.extra_acked_delivered += e.acked
        extra = min(self.extra_acked_delivered - expected_delivered, self.cwnd)
        filter_len = 5.0 if self.full_bw_reached else 1.0
        if self.round_count - self.extra_acked_round >= filter_len:
            self.extra_acked_before, self.extra_acked_now = self.extra_acked_now, extra
            self.extra_acked_round = self.round_count
        else:
            self.extra_acked_now = max(self.extra_acked_now, extra)

    # Sect. 5.3.1 and 5.3.2, Startup and Drain

    def check_full_bw_reached(self, e: Any, rate: float) -> None:
        if self.full_bw_now or not self.round_start or e.prior_delivered <= self.limited_until:
            return
        if rate >= self.full_bw * 1.25:
            self.full_bw_count, self.full_bw = 0.0, rate
            return
        self.full_bw_count += 1.0
        self.full_bw_now = float(self.full_bw_count >= 3.0)
        if self.full_bw_now:
            self.full_bw_reached = 1.0

    def check_startup_high_loss(self, e: Any) -> None:
        """Six losses, and 2 % of a round, in the second round or later of a recovery (Sect. 5.3.1.3)."""
        if not self.round_start:
            return
        sent = self.round_lost + e.delivered - self.round_delivered
        late = e.recovering > 0.0 and self.round_count > self.recovery_round
        many = self.round_lost >= 6.0 and self.round_lost > 0.02 * sent
        if self.mode == STARTUP and not self.full_bw_reached and late and many:
            self.full_bw_reached = self.full_bw_now = 1.0
            self.inflight_longterm = max(self.max_bw * self.min_rtt, self.inflight_latest)
        self.round_lost, self.round_delivered = 0.0, e.delivered

    def check_drain(self, e: Any) -> None:
        if self.mode == STARTUP and self.full_bw_reached:
            self.mode, self.drain_start_round = DRAIN, self.round_count
        if self.mode == DRAIN and (
            e.in_flight <= self.max_inflight(1.0) or self.round_count > self.drain_start_round + 3.0
        ):
            self.start_probe_down(e)

    # Sect. 5.3.3.6, the cycle of ProbeBW

    def adapt_long_term_model(self, e: Any) -> bool:
        """Return whether Refill began, which ends the update."""
        if self.ack_phase == STARTING and self.round_start:
            self.ack_phase = FEEDBACK
        if self.ack_phase == STOPPING and self.round_start:
            self.is_bw_probe_sample, self.ack_phase = 0.0, INIT
            if self.mode in PROBE_BW:
                if e.prior_delivered > self.limited_until:  # AdvanceMaxBwFilter
                    self.bw_before, self.bw_now = self.bw_now, 0.0
                if self.prev_probe_precautionary and not self.prev_probe_too_high:
                    self.start_probe_refill(e)
                    return True
        if e.lost_since > e.sent_in_flight * 0.02 or self.inflight_longterm == inf:
            return False
        self.inflight_longterm = max(self.inflight_longterm, e.sent_in_flight)
        if self.mode == UP:
            self.probe_inflight_longterm_upward(e)
        return False

    def is_cwnd_limited(self, e: Any) -> bool:
        return bool(e.in_flight + e.acked + e.lost >= floor(self.cwnd))

    def probe_inflight_longterm_upward(self, e: Any) -> None:
        if not self.is_cwnd_limited(e) or self.cwnd < self.inflight_longterm:
            return
        self.bw_probe_up_acked += e.acked
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc:
            delta = floor(self.bw_probe_up_acked / self.probe_up_acked_per_inc)
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc
            self.inflight_longterm += delta
        if self.round_start:
            self.raise_inflight_longterm_slope()

    def update_probe_bw_cycle_phase(self, e: Any, rate: float) -> None:
        if not self.full_bw_reached:
            return
        if self.adapt_long_term_model(e) or self.mode not in PROBE_BW:
            return
        if self.mode in (DOWN, CRUISE):
            reno_rounds = min(self.target_inflight(), 63.0)
            if e.time > self.cycle_stamp + self.bw_probe_wait or self.rounds_since_probe_up >= reno_rounds:
                self.start_probe_refill(e)
            elif (
                self.mode == DOWN
                and e.in_flight <= self.inflight_with_headroom()
                and e.in_flight <= self.cruise_inflight()
            ):
                self.mode = CRUISE
        elif self.mode == REFILL:
            if self.round_start:
                self.start_probe_up(e, rate)
        elif self.prev_probe_too_high and e.in_flight >= self.inflight_longterm:
            self.prev_probe_precautionary, self.prev_probe_too_high = 1.0, 0.0
            self.start_probe_down(e)
        elif self.is_cwnd_limited(e) and self.cwnd >= self.inflight_longterm:
            self.full_bw_now, self.full_bw_count, self.full_bw = 0.0, 0.0, rate
        elif self.full_bw_now:
            self.prev_probe_too_high = 0.0
            self.start_probe_down(e)

    # Sect. 5.3.4, ProbeRTT

    def update_min_rtt(self, e: Any) -> bool:
        """Return whether it is time for ProbeRTT."""
        if self.min_rtt == inf:  # InitPacingRate
            self.pacing_rate = 2.77 * 10.0 / e.rtt
        expired = bool(e.time > self.probe_rtt_min_stamp + 5.0)
        if e.rtt < self.probe_rtt_min_delay or expired:
            self.probe_rtt_min_delay, self.probe_rtt_min_stamp = e.rtt, e.time
        if self.probe_rtt_min_delay < self.min_rtt or e.time > self.min_rtt_stamp + 10.0:
            self.min_rtt, self.min_rtt_stamp = self.probe_rtt_min_delay, self.probe_rtt_min_stamp
        return expired

    def probe_rtt_cwnd(self) -> float:
        return max(self.bdp_multiple(0.5), 4.0)

    def save_cwnd(self, recovering: float) -> float:
        if not recovering and self.mode != PROBE_RTT:
            return self.cwnd
        return max(self.prior_cwnd, self.cwnd)

    def check_probe_rtt(self, e: Any, expired: bool) -> None:
        if self.mode != PROBE_RTT and expired:
            self.prior_cwnd = self.save_cwnd(self.recovering)
            self.mode = PROBE_RTT
            self.probe_rtt_done_stamp = 0.0
            self.ack_phase = STOPPING
            self.start_round(e)
        if self.mode != PROBE_RTT:
            return
        self.limited_until = e.delivered + e.in_flight  # MarkConnectionAppLimited
        if self.probe_rtt_done_stamp == 0.0:
            if e.in_flight <= self.probe_rtt_cwnd():
                self.probe_rtt_done_stamp = e.time + 0.2
                self.probe_rtt_round_done = 0.0
                self.start_round(e)
            return
        if self.round_start:
            self.probe_rtt_round_done = 1.0
        if self.probe_rtt_round_done and e.time > self.probe_rtt_done_stamp:
            self.probe_rtt_min_stamp = e.time
            self.cwnd = max(self.cwnd, self.prior_cwnd)  # RestoreCwnd
            self.bw_shortterm = self.inflight_shortterm = inf
            if self.full_bw_reached:
                self.start_probe_down(e)
                self.mode = CRUISE
            else:
                self.mode = STARTUP

    # Sect. 5.6, control

    def set_pacing_rate(self) -> None:
        gain = {STARTUP: 2.77, DRAIN: 0.5, DOWN: 0.9, UP: 1.25}.get(int(self.mode), 1.0)
        rate = gain * self.bw * (100.0 - 1.0) / 100.0
        if rate > 0.0 and (self.full_bw_reached or rate > self.pacing_rate):
            self.pacing_rate = rate

    def set_send_quantum(self) -> None:
        self.send_quantum = max(min(self.pacing_rate * 0.001, 43.0), 2.0)  # 64 KB

    def set_cwnd(self, e: Any) -> None:
        if e.recovering and not self.recovering:
            self.prior_cwnd = self.save_cwnd(0.0)
            self.recovery_round = self.round_count
        elif self.recovering and not e.recovering:
            self.cwnd = max(self.cwnd, self.prior_cwnd)
        extra_acked = max(self.extra_acked_now, self.extra_acked_before)
        largest = self.max_inflight(2.25 if self.mode == UP else 2.0, extra_acked)  # UpdateMaxInflight
        if self.full_bw_reached:
            self.cwnd = min(self.cwnd + e.acked, largest)
        elif self.cwnd < largest or e.delivered < 10.0:
            self.cwnd += e.acked
        self.cwnd = max(self.cwnd, 4.0)
        if self.mode == PROBE_RTT:
            self.cwnd = min(self.cwnd, self.probe_rtt_cwnd())
        cap = inf  # BoundCwndForModel
        if self.mode in PROBE_BW and self.mode != CRUISE:
            cap = self.inflight_longterm
        elif self.mode in (PROBE_RTT, CRUISE):
            cap = self.inflight_with_headroom()
        self.cwnd = min(self.cwnd, max(min(cap, self.inflight_shortterm), 4.0))
        self.recovering = e.recovering

    def on_ack(self, e: Any) -> dict[str, float]:
        """Return the variables after an ACK."""
        rate = 0.0
        if e.acked > 0.0 and e.interval > 0.0 and e.interval >= self.min_rtt:
            rate = (e.delivered - e.prior_delivered) / e.interval
        self.handle_lost_packet(e)
        self.update_congestion_signals(e, rate)
        self.update_ack_aggregation(e)
        self.check_full_bw_reached(e, rate)
        self.check_startup_high_loss(e)
        self.check_drain(e)
        self.update_probe_bw_cycle_phase(e, rate)
        self.check_probe_rtt(e, self.update_min_rtt(e))
        if self.loss_round_start:  # AdvanceLatestDeliverySignals
            self.bw_latest, self.inflight_latest = rate, e.delivered - e.prior_delivered
        self.set_pacing_rate()
        self.set_send_quantum()
        self.set_cwnd(e)
        return {name: float(getattr(self, name)) for name in self.variables}
