"""The settings that were run for each paper: a full product, or a Sobol sequence over ranges."""

from __future__ import annotations

import itertools

from validation.inference.parameters import Choice, Open, Range, Value, sobol

SEEDS = {"yang2001": 2001, "kaneko2007": 2007}
"""Of the scrambling of the Sobol sequences."""
DESIGNS = {"yang2001": 32, "kaneko2007": 32}
"""Settings of the Sobol sequences; zheng2002 has the full product of its alternatives."""

YANG2001: tuple[Open, ...] = (
    Range("buffer", 5, 50, "packets", "queue under FCFS and RED", whole=True),
    Range("window", 4, 64, "packets", "largest window of TCP", whole=True),
    Range("min_rto", 0.2, 1.0, "s", "least timeout of TCP"),
    Range("delay", 0.005, 0.1, "s", "propagation delay of the bottleneck"),
    Range("udp_rate", 224e3, 2e6, "bit/s", "rate of a UDP source"),
    Range("udp_packet", 210, 1000, "bytes", "packet of UDP", whole=True),
    Range("jitter", 0.01, 10, "s", "interval in which flows start"),
    Choice("random", (0, 1), "1", "random gaps between the packets of UDP"),
    Choice("agent", ("Agent/TCP", "Agent/TCP/Reno", "Agent/TCP/Newreno"), "", "TCP's recovery"),
    Choice("access", (10e6, 100e6), "bit/s", "rate of the other links"),
    Range("red_min", 2, 10, "packets", "lower threshold of RED; the upper one is three times that"),
    Range("sfq_limit", 8, 40, "packets", "queue under SFQ", whole=True),
    Choice("sfq_buckets", (16, 256), "1", "buckets of SFQ"),
    Range("drr_limit", 1500, 25000, "bytes", "queue under DRR", whole=True),
    Choice("drr_buckets", (10, 250), "1", "buckets of DRR"),
    Choice("drr_quantum", (250, 1000), "bytes", "quantum of DRR"),
    Range("check", 0.1, 1.0, "s", "cc: interval between looks for window cuts"),
    Range("hold", 0.25, 16, "s", "cc: time without a cut after which stopped flows send"),
    Choice("stop", ("top", "one"), "", "cc: a cut stops all lower levels, or one more"),
    Choice("acks", ("taken", "lost"), "", "acknowledgements that reach a stopped TCP sender"),
    Range("slot", 0.005, 0.04, "s", "ts: length of a slot"),
)

ZHENG2002: tuple[Open, ...] = (
    Choice("decrease", ("1-b", "b", "exchanged"), "", "factor kept: 1 - b, b, or a and b exchanged"),
    Choice("size", (500, 1000, 1500), "bytes", "packet"),
    Choice("low", (5, 15, 30), "packets", "RED's lower threshold; the upper is three times, the buffer six times that"),
    Choice("rto", (0.2, 1.0), "s", "least timeout of TCP"),
    Choice("window", (5, 20, 10000), "packets", "largest window of TCP, except in Fig. 3"),
)  # fmt: skip

KANEKO2007: tuple[Open, ...] = (
    Range("later", 0.1, 20, "s", "start of the second flow after the first"),
    Range("warm", 2, 60, "s", "time after the second start at which the measurement begins"),
    Range("measured", 20, 120, "s", "length of the measurement"),
    Range("slow_start", 0.1, 2, "1", "window at which slow start ends, over the flow's half of the BDP"),
    Choice("delayed", (0, 1), "1", "ACK of every second packet"),
    Choice("recovery", ("newreno", "sack"), "", "repair of losses"),
    Choice("rtt", (0.08, 0.0817), "s", "round-trip time without queues: in all, or beside 1.7 ms of the line"),
    Range("payload", 0.9, 1.0, "1", "printed bits over bits on the link", linear=True),
    Range("fusion_delay", 0.5e-3, 2e-3, "s", "Fusion: queueing delay that is resolved"),
    Choice("areno_inclusive", (0, 1), "1", "ARENO: Reno's packet is one of W_inc's"),
    Range("areno_memory", 0.5, 0.9, "1", "ARENO: memory of the round-trip time at losses", linear=True),
    Range("ctcp_gamma", 10, 60, "packets", "CTCP: queue at which the delay window shrinks"),
    Choice("hstcp_table", (0, 1), "1", "HSTCP: formula, or the table of RFC 3649"),
    Choice("bic_b", (0.125, 0.2), "1", "BIC: part of the window given up (article, Linux 2.6.15)"),
    Range("bic_largest", 16, 32, "packets", "BIC: largest growth in a round trip"),
    Choice("cubic_beta", (0.7, 0.8), "1", "CUBIC: part of the window kept (RFC 9438, Linux 2.6.15)"),
    Choice("cubic_fast", (0, 1), "1", "CUBIC: fast convergence"),
    Range("small_buffer", 10, 100, "packets", "queue of the slide on a small BDP of 50 packets", whole=True),
    Range("line_buffer", 80, 800, "packets", "queue of the slide on round-trip times; estimated there as 250", whole=True),
)  # fmt: skip

PARAMETERS: dict[str, tuple[Open, ...]] = {
    "zheng2002": ZHENG2002, "yang2001": YANG2001, "kaneko2007": KANEKO2007,
}  # fmt: skip
"""The open parameters of each paper."""


def settings(paper: str) -> list[dict[str, Value]]:
    """Return the settings that were run for a paper, in the order of their numbers from 1.

    Examples
    --------
    >>> from validation.inference.designs import settings
    >>> len(settings("zheng2002"))
    162
    """
    of = PARAMETERS[paper]
    if paper in SEEDS:
        return sobol(of, DESIGNS[paper], SEEDS[paper])
    names = [each.name for each in of]
    alternatives = [each.alternatives for each in of if isinstance(each, Choice)]
    return [dict(zip(names, each, strict=True)) for each in itertools.product(*alternatives)]
