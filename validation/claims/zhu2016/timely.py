"""TIMELY's many fixed points, and the one of its patch (E05, E06)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dfcmodel import FIFO, Scenario
from responsefn import TIMELY, PatchedTIMELY
from validation.claims import fabric_runs
from validation.claims.effect_statements import Curve, Effects, Statement
from validation.judgements.keeping import kept
from validation.statistics import Estimate, difference, of_runs

C = fabric_runs.line(10)
BASE = 20e-6
"""Round-trip time without queues and transmissions, s."""
TRANSMISSIONS = 2.0
"""Packets whose transmission a round-trip time has, besides the queue."""
SAMPLE = 1e-4
NUMBERS = (2, 4, 8)
BOTTLENECK = "switch->receiver"


RULES = {"TIMELY": (TIMELY, 0.8), "patched": (PatchedTIMELY, 0.008)}
"""Each with its multiplicative decrease."""


def begun(kind: str, part: float) -> TIMELY:
    """Return TIMELY, or its patch, that begins at a part of the line's rate; packets of 1000 bytes."""
    rule, beta = RULES[kind]
    return rule(delta=10e6 / 8000.0, beta=beta, segment=16.0, start_part=part)


def two(kind: str, parts: tuple[float, float], end: float, seed: int) -> Scenario:
    """Return two flows that begin at these parts of the link."""
    sources = [begun(kind, part) for part in parts]
    return fabric_runs.star(
        2,
        sources,
        FIFO(),
        end,
        lines=fabric_runs.Lines(C, BASE / 4.0),
        begins=fabric_runs.starts(2, seed),
    )


def _run(level: str, scenario: Scenario, after: float, seed: int) -> fabric_runs.Run:
    return (
        fabric_runs.packets(scenario, seed, after, SAMPLE)
        if level == "packets"
        else fabric_runs.fluid(scenario, after, SAMPLE)
    )


def _seeds(level: str) -> tuple[int, ...]:
    return fabric_runs.SEVEN_SEEDS if level == "packets" else fabric_runs.SEEDS[:1]


@kept
def share_together() -> float:
    """Return the share of the first of two flows of TIMELY that begin alike, at the same time, in the fluid after `LATEST`."""
    scenario = two("TIMELY", (0.5, 0.5), LATEST + 0.02, fabric_runs.SEEDS[0])
    flows = [replace(flow, start=0.0) for flow in scenario.flows]
    rates = fabric_runs.fluid(replace(scenario, flows=flows), LATEST, SAMPLE).rates
    return float(rates[0] / rates.sum())


@kept
def shares(level: str, kind: str, part: float, after: float) -> list[float]:
    """Return the share of the flow that begins at ``part`` of the link, the other one at the rest, over 20 ms, for each run."""
    found = []
    for seed in _seeds(level):
        run = _run(level, two(kind, (part, 1.0 - part), after + 0.02, seed), after, seed)
        found.append(float(run.rates[0] / run.rates.sum()))
    return found


EARLY, LATE, LATEST = 0.05, 0.2, 0.4
"""When shares of TIMELY, of its patch, and of TIMELY in the reading of the end are measured, s."""


def _apart(shares_of_runs: list[float]) -> Estimate:
    """Return how far the share of a flow is from one half, whichever flow has more, in the mean over the runs."""
    distances = np.abs(np.array(shares_of_runs) - 0.5)
    return of_runs(distances) if len(distances) > 1 else fabric_runs.exact(*distances)[0]


def _advantage(shares_of_runs: list[float]) -> Any:
    """Return the share of the first flow less that of the other one, for each run."""
    return 2.0 * np.array(shares_of_runs) - 1.0


def _faster(after: float) -> Statement:
    """Return the statement that the flow that begins faster has more of the link, in the fluid for either order of the flows."""
    first, second = (shares("fluid", "TIMELY", part, after) for part in (0.7, 0.3))
    return Statement(
        model=fabric_runs.over(*fabric_runs.exact(*_advantage(first), *-_advantage(second))),
        level=fabric_runs.over(of_runs(_advantage(shares("packets", "TIMELY", 0.7, after)))),
    )


def _further(same: list[float], different: list[float]) -> fabric_runs.Decision:
    """Return the decision whether flows that begin apart end up further apart than flows that begin alike."""
    return fabric_runs.over(difference(_apart(different), _apart(same)))


@fabric_runs.on_fabrics("E05", equal=0.1, least=0.1)
def many_fixed_points() -> Effects:
    """Measure shares by the rates at which flows begin, with TIMELY and with its patch."""
    found = {
        level: {
            "TIMELY, 5 and 5": shares(level, "TIMELY", 0.5, EARLY),
            "TIMELY, 7 and 3": shares(level, "TIMELY", 0.7, EARLY),
            "patched, 7 and 3": shares(level, "patched", 0.7, LATE),
        }
        for level in ("fluid", "packets")
    }
    own, model = found["packets"], found["fluid"]
    same, different, patched = own
    late, late_packets = (
        [shares(level, "TIMELY", part, LATEST) for part in (0.5, 0.7)] for level in ("fluid", "packets")
    )
    equal = Statement(
        model=fabric_runs.exact(2.0 * model[patched][0] - 1.0),
        level=fabric_runs.deviations(own[patched], 0.5),
        equal=True,
    )
    return Effects(
        {
            "depend": Statement(
                model=_further(model[same], model[different]),
                level=_further(own[same], own[different]),
            ),
            "patched": equal,
            "faster": _faster(EARLY),
        },
        {
            "first flow": Curve(
                list(own),
                model=[each[0] for each in model.values()],
                level=[of_runs(each) for each in own.values()],
            )
        },
        ("rule and first rates in Gb/s", "share of the first flow"),
        values={
            "late": [each[0] for each in late],
            "late_packets": of_runs(late_packets[1]),
            "late_alike": [min(late_packets[0]), max(late_packets[0])],
            "drawn": _apart(late[0]).value,
            "together": abs(share_together() - 0.5),
        },
        readings={
            "shares after 400 ms": {
                "depend": Statement(model=_further(*late), level=_further(*late_packets)),
                "patched": equal,
                "faster": _faster(LATEST),
            }
        },
    )


@kept
def patched_queues(level: str) -> list[list[float]]:
    """Return the mean queue from 0.1 to 0.13 s, a list over the numbers of flows for each run, packets."""
    found = []
    for seed in _seeds(level):
        own = []
        for count in NUMBERS:
            scenario = fabric_runs.star(
                count,
                begun("patched", 1.0 / count),
                FIFO(),
                0.13,
                lines=fabric_runs.Lines(C, BASE / 4.0),
                begins=fabric_runs.starts(count, seed),
            )
            own.append(float(_run(level, scenario, 0.1, seed).queue(BOTTLENECK).mean()))
        found.append(own)
    return found


def formula(count: int) -> float:
    """Return the round-trip time of the fixed point, s (eq. 31 of the paper, with the round trip in place of the queue's delay)."""
    q = begun("patched", 1.0).params
    return float(q.t_low * (1.0 + count * q.delta / (q.beta * C)))


@fabric_runs.on_fabrics("E06", equal=0.1)
def patched_fixed_point() -> Effects:
    """Measure patched TIMELY's queue by the number of flows."""
    own, model = np.array(patched_queues("packets")), np.array(patched_queues("fluid"))
    wanted = np.array([formula(count) for count in NUMBERS])

    def rtt(queue: Any, transmissions: float) -> Any:
        return BASE + (queue + transmissions) / C

    return Effects(
        {
            "value": Statement(
                model=fabric_runs.deviations(rtt(model, 0.0), wanted),
                level=fabric_runs.deviations(rtt(own, TRANSMISSIONS), wanted),
                equal=True,
            ),
            "grows": Statement(model=fabric_runs.steps(model), level=fabric_runs.steps(own)),
        },
        {
            "fixed point": Curve(NUMBERS, model=((wanted - BASE) * C).tolist()),
            "runs": Curve(NUMBERS, model=model[0].tolist(), level=[of_runs(each) for each in own.T]),
        },
        ("flows", "queue (packets)"),
    )
