"""BBR of the IETF draft (version 3): a model of the path from deliveries and losses."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import extends, param
from hopflow.tcp_constants import INITIAL_WINDOW
from responsefn.response import Reference
from responsefn.rules.deliveries.bbr_model import (
    aggregation,
    congestion_signals,
    control,
    full_pipe,
    note_losses,
    probing_cycle,
    round_trip_time,
)
from responsefn.rules.deliveries.delivery_rule import DeliveryRule
from responsefn.rules.deliveries.probe_rtt import BBRState

__all__ = ["BBR"]


class BBR(DeliveryRule):
    r"""BBR version 3 (draft-ietf-ccwg-bbr): paces at the measured bandwidth, and limits the packets in flight.

    The bandwidth is the largest delivery rate of two probing cycles, the round-trip time the minimum of
    ``min_rtt_window``. Startup doubles the rate each round trip until it stops growing or losses are many. Then cycles
    of a lower rate, cruising, refilling and probing above follow. Losses above ``loss_threshold`` of the packets in
    flight during a probe limit these packets (inflight_longterm). Other rounds with losses reduce short-term bounds by
    ``beta``. Twice in ten seconds the packets in flight are halved for 200 ms to measure the round-trip time.

    It has no response to a loss rate: below ``loss_threshold`` per round trip its rate is the bandwidth. The draft's
    rules for offloads and spurious losses are omitted, since the packet level has neither, and there are no actions at
    the time of sending. `conformance` runs the draft's test cases.

    Parameters
    ----------
    loss_threshold
        Fraction of the packets of a round trip, 0 < loss_threshold < 1 (LossThresh).
    beta
        Factor of short-term bounds in a round trip with losses, 0 < beta < 1.
    headroom
        Fraction of the longer-term bound that stays free while cruising, 0 <= headroom < 1.
    startup_gain, drain_gain, down_gain, up_gain
        Pacing over bandwidth in these states.
    cwnd_gain
        Window over the bandwidth-delay product; a quarter more while probing.
    margin
        Fraction by which pacing is below the bandwidth.
    min_rtt_window, probe_rtt_interval, probe_rtt_duration
        Times in s.
    extra_acked_rounds
        Round trips of the filter for the largest aggregation of acknowledgements, which is added to the window
        (ExtraAckedFilterLen, the draft's by default); 0: no estimate, which the draft does not have.

    Examples
    --------
    >>> from responsefn import BBR
    >>> BBR().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: BBR(): has no response function of a loss rate: it does not respond to loss below ...
    """

    @extends(BBRState)
    class State(NamedTuple):
        """Window in packets, pacing in packets/s, and the draft's variables under its names (Sect. 2).

        mode: state; bw_now, bw_before: max_bw filter of this and the last cycle; limited_until: app_limited;
        recovering: whether loss recovery was on; round_lost, recovery_round: for the end of Startup by loss.
        """

        pacing_rate: float = 2.77 * INITIAL_WINDOW / 1e-3
        bw_now: float = 0.0
        bw_before: float = 0.0
        bw_shortterm: float = math.inf
        inflight_shortterm: float = math.inf
        inflight_longterm: float = math.inf
        probe_rtt_min_delay: float = math.inf
        probe_rtt_min_stamp: float = 0.0
        full_bw_now: float = 0.0
        full_bw_reached: float = 0.0
        drain_start_round: float = 0.0
        bw_probe_wait: float = 0.0
        rounds_since_probe_up: float = 0.0
        bw_probe_up_rounds: float = 0.0
        bw_probe_up_acked: float = 0.0
        probe_up_acked_per_inc: float = math.inf
        ack_phase: float = 0.0
        is_bw_probe_sample: float = 0.0
        prev_probe_too_high: float = 0.0
        prev_probe_precautionary: float = 0.0
        loss_round_delivered: float = 0.0
        loss_round_start: float = 0.0
        is_loss_in_round: float = 0.0
        bw_latest: float = 0.0
        inflight_latest: float = 0.0
        round_lost: float = 0.0
        round_delivered: float = 0.0
        recovery_round: float = 0.0
        extra_acked_round: float = 0.0

    class Params(NamedTuple):
        """Thresholds and gains; times in s."""

        loss_threshold: float = param(
            0.02,
            "share",
            above=0.0,
            below=1.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.8: LossThresh = 2 %",
        )
        beta: float = param(
            0.7,
            above=0.0,
            below=1.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.8: Beta = 0.7",
        )
        headroom: float = param(
            0.15,
            at_least=0.0,
            below=1.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.8: Headroom = 0.15",
        )
        startup_gain: float = param(
            2.77,
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.5: StartupPacingGain = 2.77",
        )
        drain_gain: float = param(
            0.5,
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.5: DrainPacingGain = 0.5",
        )
        down_gain: float = param(
            0.9,
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 5.3.3.1: pacing_gain of 0.90 in ProbeBW_DOWN",
        )
        up_gain: float = param(
            1.25,
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 5.3.3.5: pacing_gain of 1.25 in ProbeBW_UP",
        )
        cwnd_gain: float = param(
            2.0,
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.6: DefaultCwndGain = 2",
        )
        margin: float = param(
            0.01,
            at_least=0.0,
            below=1.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.5: PacingMarginPercent = 1",
        )
        min_rtt_window: float = param(
            10.0,
            "time",
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.16.1: MinRTTFilterLen = 10 s",
        )
        probe_rtt_interval: float = param(
            5.0,
            "time",
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.16.2: ProbeRTTInterval = 5 s",
        )
        probe_rtt_duration: float = param(
            0.2,
            "time",
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.16.2: ProbeRTTDuration = 200 ms",
        )
        extra_acked_rounds: float = param(
            10.0,
            at_least=0.0,
            at_most=1000000.0,
            source="draft-ietf-ccwg-bbr, Sect. 5.5.9: ExtraAckedFilterLen = 10 round trips",
        )

    reference = Reference(
        "N. Cardwell et al., BBR congestion control, draft-ietf-ccwg-bbr, version 3 of the algorithm "
        "(the working group's copy of 3 August 2026), Sect. 4 and 5",
        "primary",
    )
    why_no_rate: ClassVar[str] = "it does not respond to loss below its threshold"
    dynamics: ClassVar[str] = (
        r"\text{pacing} = g \max B,\ W \le 2 \max B \min R,\ B = \Delta\text{delivered} / \Delta t"
    )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Save the window, and go on with one packet (Sect. 5.6.4.4)."""
        return s._replace(cwnd=1.0, prior_cwnd=max(s.prior_cwnd, s.cwnd), recovering=1.0)

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Update the model and the state, then pacing and window (Sect. 5.2.3)."""
        rate = 0.0
        if e.acked > 0.0 and e.interval > 0.0 and e.interval >= s.min_rtt:
            rate = (e.delivered - e.prior_delivered) / e.interval
        s = note_losses(s, q, e)
        s = congestion_signals(s, q, e, rate)
        s = aggregation(s, q, e)
        s = full_pipe(s, q, e, rate)
        s = probing_cycle(s, q, e, rate)
        s = round_trip_time(s, q, e)
        if s.loss_round_start > 0.0:  # AdvanceLatestDeliverySignals
            s = s._replace(bw_latest=rate, inflight_latest=e.delivered - e.prior_delivered)
        return control(s, q, e)
