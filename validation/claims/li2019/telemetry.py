"""HPCC beside DCQCN, and beside other reactions to the same telemetry (H01 to H05)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dfcmodel import INT, Scenario
from responsefn import HPCC
from validation.claims import fabric_runs
from validation.claims.effect_statements import Curve, Effects, Statement
from validation.judgements.keeping import kept
from validation.networks.further_seeds import CASE, LATER, over_seeds
from validation.statistics import difference, of_runs

C = fabric_runs.line(100)
DELAY = 2.1e-6
"""Of each link, s: a round trip of 8.4 us, and the transmissions."""
BASE = 9e-6
WINDOW = C * BASE
"""Packets in flight that fill the link."""
ETA = 0.95
SENDERS = 16
BOTTLENECK = "switch->receiver"
SAMPLE = 1e-5
SETTLED_FROM = 0.1
"""From when DCQCN's queue is counted in a reading, s: its rates rise for tens of milliseconds."""


class PerAck(HPCC):
    """HPCC that answers each ACK from its present window: it has no reference window."""

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:  # noqa: ARG004
        """Average the load, and change the window, at each ACK."""
        if s.span == 0.0:
            return s
        part = min(s.span, q.base_rtt) / q.base_rtt
        load = (1.0 - part) * s.load + part * s.max_load
        window = s.window + q.additive
        if load >= q.eta:
            window = s.window * q.eta / load + q.additive
        window = min(window, s.line_rate * q.base_rtt)
        return s._replace(rate=window / q.base_rtt, window=window, load=load, max_load=0.0, span=0.0)


class PerRoundTrip(HPCC):
    """HPCC that changes its window once per round trip, by the telemetry of one ACK."""

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Average the load at each ACK, and change the window once per round trip."""
        if s.span == 0.0:
            return s
        part = min(s.span, q.base_rtt) / q.base_rtt
        load = (1.0 - part) * s.load + part * s.max_load
        s = s._replace(load=load, max_load=0.0, span=0.0)
        if e.time - e.rtt <= s.updated:
            return s
        window = s.window + q.additive
        if load >= q.eta:
            window = s.window * q.eta / load + q.additive
        window = min(window, s.line_rate * q.base_rtt)
        return s._replace(rate=window / q.base_rtt, window=window, updated=e.time)


RULES = {
    "HPCC": HPCC(base_rtt=BASE),
    "each ACK": PerAck(base_rtt=BASE),
    "each round trip": PerRoundTrip(base_rtt=BASE),
    "DCQCN": fabric_runs.ROCE,
}


def hpcc(additive: float) -> HPCC:
    """Return HPCC with another additive step, packets."""
    return HPCC(base_rtt=BASE, additive=additive)


def scenario(rules: Sequence[Any], end: float, begins: Sequence[float], **options: Any) -> Scenario:
    """Return senders with these rules over one switch, with telemetry or the marks of DCQCN."""
    switch = fabric_runs.MARKS if any(rule is fabric_runs.ROCE for rule in rules) else INT()
    given = {"lines": fabric_runs.Lines(C, DELAY), "begins": begins, **options}
    return fabric_runs.star(len(rules), list(rules), switch, end, **given)


def incast(name: str, seed: int, end: float, after: float) -> fabric_runs.Run:
    """Return an incast of a rule."""
    begins = fabric_runs.starts(SENDERS, seed)
    return fabric_runs.packets(scenario([RULES[name]] * SENDERS, end, begins), seed, after, SAMPLE)


@kept
def late_queues(name: str) -> list[float]:
    """Return the mean queue of an incast from 0.5 to 3 ms in parts of the window, for each run."""
    runs = (incast(name, seed, 3e-3, 5e-4) for seed in fabric_runs.SEEDS)
    return [float(run.queue(BOTTLENECK).mean() / WINDOW) for run in runs]


@kept
def settled_queues_of_dcqcn() -> list[float]:
    """Return the same with DCQCN from `SETTLED_FROM` on, for 20 ms."""
    runs = (incast("DCQCN", seed, SETTLED_FROM + 0.02, SETTLED_FROM) for seed in fabric_runs.SEEDS)
    return [float(run.queue(BOTTLENECK).mean() / WINDOW) for run in runs]


@fabric_runs.on_fabrics("H01", least=0.1)
def incast_queue() -> Effects:
    """Measure the queue of an incast with HPCC and with DCQCN."""
    found = {name: np.array(late_queues(name)) for name in ("HPCC", "DCQCN")}
    own = of_runs(found["HPCC"])
    settled = np.array(settled_queues_of_dcqcn())
    shorter, settled_shorter = (fabric_runs.gain(each, found["HPCC"]) for each in (found["DCQCN"], settled))
    empty = Statement(level=fabric_runs.under(own))
    return Effects(
        {"empty": empty, "shorter": Statement(level=(shorter,))},
        {"incast": Curve(list(found), level=[of_runs(each) for each in found.values()])},
        ("rule", "queue over the link's window"),
        values={"settled": of_runs(settled)},
        readings={"DCQCN after 100 ms": {"empty": empty, "shorter": Statement(level=(settled_shorter,))}},
    )


@kept
def early(name: str, end: float = 3e-4) -> list[tuple[float, float]]:
    """Return packets delivered in the first ``end`` s of an incast, and the mean queue, for each run."""
    runs = (incast(name, seed, end, 0.0) for seed in fabric_runs.SEEDS)
    return [(float(run.records.delivered[:, -1].sum()), float(run.queue(BOTTLENECK).mean())) for run in runs]


REACTIONS = ("HPCC", "each ACK", "each round trip")


@fabric_runs.on_fabrics("H02", least=0.05)
def reactions() -> Effects:
    """Measure throughput and queue of the beginning of an incast by the reaction to telemetry."""
    found, longer = ({name: np.array(early(name, end)) for name in REACTIONS} for end in (3e-4, 1e-3))

    def statements(found: dict[str, Any]) -> dict[str, Statement]:
        own, ack, trip = found.values()
        return {
            "throughput": Statement(level=fabric_runs.over(fabric_runs.gain(own[:, 0], ack[:, 0]))),
            "queue": Statement(level=fabric_runs.over(fabric_runs.gain(trip[:, 1], own[:, 1]))),
        }

    return Effects(
        statements(found),
        {
            what: Curve(list(found), level=[of_runs(each[:, k]) for each in found.values()])
            for k, what in enumerate(("packets delivered", "mean queue"))
        },
        ("reaction to", "packets"),
        readings={"the first millisecond": statements(longer)},
    )


LEAVES, UNTIL = 2e-3, 4e-3
"""When the short flow stops, and until when the long one is followed, s."""


@kept
def recoveries(name: str) -> list[tuple[float, float]]:
    """Return the long flow's rate over eta times the link from 10 to 30 round trips after the short one's end, and over the link in 2 ms."""
    found = []
    for seed in fabric_runs.SEEDS:
        begins = [0.0, 1e-3 + fabric_runs.starts(1, seed)[0]]
        one = scenario([RULES[name]] * 2, UNTIL, begins)
        short = replace(one.flows[1], stop=LEAVES)
        run = fabric_runs.packets(replace(one, flows=[one.flows[0], short]), seed, LEAVES, SAMPLE)
        time, own = run.records.time, run.records.delivered[0]
        at = np.interp([LEAVES + 10 * BASE, LEAVES + 30 * BASE, LEAVES, UNTIL], time, own)
        found.append(
            (
                float((at[1] - at[0]) / (20 * BASE * ETA * C)),
                float((at[3] - at[2]) / (UNTIL - LEAVES) / C),
            )
        )
    return found


@fabric_runs.on_fabrics("H03", least=0.1, also={"target": 0.9})
def recovery() -> Effects:
    """Measure how soon a flow has the link again after another one has left."""
    found = {name: np.array(recoveries(name)) for name in ("HPCC", "DCQCN")}
    early_rate = of_runs(found["HPCC"][:, 0])
    slower = difference(of_runs(found["HPCC"][:, 1]), of_runs(found["DCQCN"][:, 1]))
    return Effects(
        {
            "fast": Statement(level=fabric_runs.over(early_rate, threshold="target")),
            "slow": Statement(level=fabric_runs.over(slower)),
        },
        {
            what: Curve(list(found), level=[of_runs(each[:, k]) for each in found.values()])
            for k, what in enumerate(("10 to 30 round trips after, over eta", "2 ms after"))
        },
        ("rule", "rate over the link's"),
    )


@over_seeds(fabric_runs.SEEDS)
def shares(seed: int) -> list[float]:
    """Return the rates of four flows over their mean, which start 0.2 ms after each other, from 5 to 7 ms after the last start."""
    return _shares(seed, 5.6e-3, 7.6e-3)


@over_seeds(fabric_runs.SEEDS)
def late_shares(seed: int) -> list[float]:
    """Return the same from 50 to 70 ms after the last start."""
    return _shares(seed, 5.06e-2, 7.06e-2)


def _shares(seed: int, after: float, end: float) -> list[float]:
    begins = [2e-4 * n + start for n, start in enumerate(fabric_runs.starts(4, seed))]
    run = fabric_runs.packets(scenario([RULES["HPCC"]] * 4, end, begins), seed, after, SAMPLE)
    relative: list[float] = (run.rates / run.rates.mean()).tolist()
    return relative


@fabric_runs.on_fabrics("H04", cases=(CASE, LATER), equal=0.1)
def fair_shares() -> Effects:
    """Measure the shares of four flows of HPCC."""
    found, late = np.array(shares()), np.array(late_shares())
    return Effects(
        {"fair": Statement(level=fabric_runs.deviations(found, 1.0), equal=True)},
        {
            name: Curve([1, 2, 3, 4], level=[of_runs(each) for each in runs.T])
            for name, runs in (("HPCC", found), ("HPCC after 50 ms", late))
        },
        ("flow", "rate over the mean"),
        readings={"after 50 ms": {"fair": Statement(level=fabric_runs.deviations(late, 1.0), equal=True)}},
    )


PARTS = (0.5, 3.0)
"""N W_AI over (1 - eta) times the window of the link."""


def load(part: float) -> float:
    """Return the load at the fixed point, U = eta / (1 - W_AI / W), of N windows W that fill the link at a load of 1.

    From W = W_c eta / U + W_AI with W_c = W; U is the sum of the windows over that of the link.
    """
    return ETA + part * (1.0 - ETA)


@kept
def queues(part: float, after: float = 2e-3) -> list[float]:
    """Return the mean queue in parts of the window during 2 ms, for each run."""
    rule = hpcc(part * (1.0 - ETA) * WINDOW / SENDERS)
    found = []
    for seed in fabric_runs.SEEDS:
        one = scenario([rule] * SENDERS, after + 2e-3, fabric_runs.starts(SENDERS, seed))
        found.append(float(fabric_runs.packets(one, seed, after, SAMPLE).queue(BOTTLENECK).mean() / WINDOW))
    return found


@fabric_runs.on_fabrics("H05", least=0.05)
def additive_step() -> Effects:
    """Measure the queue of HPCC below and above the rule for its additive step."""
    found, late = ([queues(part, after) for part in PARTS] for after in (2e-3, 2e-2))
    loads = [load(part) for part in PARTS]

    def statements(found: list[list[float]]) -> dict[str, Statement]:
        low, high = found
        return {
            "below": Statement(model=fabric_runs.exact(1.0 - loads[0]), level=fabric_runs.under(of_runs(low))),
            "above": Statement(
                model=fabric_runs.exact(loads[1] - 1.0),
                level=fabric_runs.over(fabric_runs.gain(high, low)),
            ),
        }

    return Effects(
        statements(found),
        {
            "queue": Curve(PARTS, level=[of_runs(each) for each in found]),
            "load of the fixed point less one": Curve(PARTS, model=[each - 1.0 for each in loads]),
        },
        ("N W_AI over (1 - eta) of the window", "part of the link's window"),
        readings={"20 to 22 ms": statements(late)},
    )
