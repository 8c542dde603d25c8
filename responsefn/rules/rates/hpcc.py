"""HPCC: a rate from the telemetry that switches write into packets."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import param
from hopflow.units import PacketUnits, readable_text
from responsefn.response import Reference
from responsefn.rules.rates.rate_rule import NoLossRate

__all__ = ["HPCC"]


class HPCC(NoLossRate):
    r"""HPCC, high precision congestion control (Li et al. 2019, Algorithm 1).

    Each ACK carries the telemetry of the links on the path. It gives the normalized bytes in flight of a link,
    u = min(q, q') / (B T) + (rate sent) / B, with the queues q and q' at this and the previous packet and the capacity
    B. The load U is an average of the largest u, over about a base round trip T. The window is W = W_c eta / U + W_AI
    if U is at least eta, or after ``max_stage`` additive steps. Otherwise W = W_c + W_AI. The reference window W_c
    becomes W once per round trip, so that one overload reduces the window once.

    The sender limits the packets in flight to W, and paces them at R = W / T (Sect. 3.2). W is at most the window at
    the rate of the first link, where a flow begins. T is the same for all flows, as in the paper.

    N flows over a bottleneck converge to equal rates and to a load of eta / (1 - W_AI / W), the utilization without a
    queue.

    The defaults are the paper's (Sect. 5.1). W_AI is 80 bytes, which a network converts to its packets. Outside of a
    network packets have 1000 bytes. A path without telemetry is refused, see `SwitchProgram.telemetry` in dfcmodel. The
    telemetry of a link has the bytes sent, the bytes in the queue, and the capacity in bytes/s (``dfcmodel.INT``). The
    rule is for flows on one path: with sprayed packets, consecutive records belong to different links.

    Parameters
    ----------
    base_rtt
        T: the longest round-trip time of the network without queues, s, below 5. None: the network determines it as the
        maximum over its flows with HPCC (`Scenario.packet_rtts` in dfcmodel). Needed outside of a network.
    eta
        Target of the load, 0 < eta < 1.
    max_stage
        Additive steps in a row, >= 0.
    additive
        W_AI: additive increase of the window in packets.

    Examples
    --------
    >>> from responsefn import HPCC, Feedback
    >>> rule = HPCC(base_rtt=1e-5)
    >>> state = rule.start(line_rate=1e7)  # 100 packets in flight
    >>> load = HPCC.telemetry_event()(1e-4, 0.0, 1e-5, 1e5, 9e4, 1e10, 0.0, 9e4, 1e10)
    >>> state = rule.on_telemetry(state, rule.params, load)  # 90 packets wait, 100 are sent
    >>> state = rule.on_feedback(state, rule.params, Feedback(time=1e-4, rtt=2e-5, acks=1.0, marks=0.0))
    >>> round(state.rate / 1e7, 3)
    0.501
    """

    class State(NamedTuple):
        """Rates in packets/s; windows in packets; the load; times in s.

        window: W; reference: W_c; load: U; stage: additive steps in a row; updated: time of the last change of W_c;
        max_load, span: the largest u of this acknowledgement and its interval.
        """

        rate: float = math.inf
        line_rate: float = math.inf
        window: float = math.inf
        reference: float = math.inf
        load: float = 1.0
        stage: float = 0.0
        updated: float = -math.inf
        max_load: float = 0.0
        span: float = 0.0

    class Params(NamedTuple):
        """Time in s, target, steps, packets."""

        base_rtt: float | None = param(
            None,
            "time",
            above=0.0,
            below=5.0,
            source="own choice: from the network; Li et al. 2019, Sect. 5.1 has T = 13 us",
        )
        eta: float = param(
            0.95,
            above=0.0,
            below=1.0,
            source="Li et al. 2019, Sect. 5.1: eta = 95 %",
        )
        max_stage: int = param(
            5,
            at_least=0.0,
            source="Li et al. 2019, Sect. 5.1: maxStage = 5",
        )
        additive: float = param(
            PacketUnits(80.0 / 1000.0, 1000.0),
            "amount",
            above=0.0,
            source="Li et al. 2019, Sect. 5.1: W_AI = 80 bytes, packets of 1000 bytes",
        )

    reference = Reference(
        "Y. Li et al., HPCC: high precision congestion control, SIGCOMM 2019, Algorithm 1",
        "primary",
        "10.1145/3341302.3342085",
    )
    follows = "the telemetry of links"
    telemetry = ("sent", "queue", "capacity")
    dynamics: ClassVar[str] = r"W \gets W_c \eta / U + W_{AI},\ R = W / T"

    def start(self, line_rate: float) -> Any:
        """Return the state of a new sender, which sends at ``line_rate`` in packets/s."""
        if self.params.base_rtt is None:
            msg = "must be given outside of a network, in s; a scenario determines it"
            raise ValueError(f"base_rtt of {self!r} = None: {msg}")
        window = line_rate * self.params.base_rtt
        return super().start(line_rate)._replace(window=window, reference=window)

    def path_mismatch(self, line_rate: float, rtt: float) -> str:
        """Name a base round-trip time whose window cannot fill the path, or an increase of more than a window."""
        q = self.params
        if q.base_rtt < q.eta * rtt:
            part = q.base_rtt / rtt
            return (
                f"base_rtt = {readable_text(q.base_rtt, 's')} is below the round-trip time without queues, "
                f"{readable_text(rtt, 's')}, so that windows hold rates below {part:.0%} of the link"
            )
        window = line_rate * q.base_rtt
        if q.additive >= window:
            return (
                f"additive = {q.additive:g} packets is not below the window at the rate of the link, {window:.4g} "
                "packets: a number is in packets, bytes are a string such as '80B'"
            )
        return ""

    @staticmethod
    def on_telemetry(s: Any, q: Any, e: Any) -> Any:
        """Update the largest load of the links (MeasureInflight, lines 3 to 8)."""
        queue, sent = min(e.queue, e.last_queue), e.sent - e.last_sent
        load = queue / (e.capacity * q.base_rtt) + sent / (e.interval * e.capacity)
        return s._replace(max_load=load, span=e.interval) if load > s.max_load else s

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Average the load, and set window and rate (lines 9 to 10, ComputeWind, NewACK)."""
        if s.span == 0.0:
            return s
        part = min(s.span, q.base_rtt) / q.base_rtt
        load = (1.0 - part) * s.load + part * s.max_load
        stage = s.stage
        if load >= q.eta or stage >= q.max_stage:
            window = s.reference * q.eta / load + q.additive
            stage = 0.0
        else:
            window = s.reference + q.additive
            stage = stage + 1.0
        window = min(window, s.line_rate * q.base_rtt)
        s = s._replace(rate=window / q.base_rtt, window=window, load=load, max_load=0.0, span=0.0)
        if e.time - e.rtt > s.updated:  # the packet was sent after the last update
            return s._replace(reference=window, stage=stage, updated=e.time)
        return s
