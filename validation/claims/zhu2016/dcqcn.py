"""The fixed point of DCQCN and its stability (E01 to E04, E07)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from responsefn import DCQCN
from validation.claims import fabric_runs
from validation.claims.effect_statements import Curve, Effects, Statement
from validation.judgements.keeping import kept
from validation.networks.further_seeds import CASE, over_seeds
from validation.statistics import of_runs

if TYPE_CHECKING:
    from dfcmodel import Scenario

C = fabric_runs.line(40)
BOTTLENECK = "switch->receiver"
NUMBERS = (2, 10, 64)
ON_THE_RAMP = (2, 4, 8, 10)
"""Numbers of flows whose fixed point lies on the ramp."""
FORMULA = (2, 4, 8, 16, 32, 64)
SLOWER = 1e6
"""Factor by which a rate step is made so small that the closed form is exact."""
SHORT_DELAY, LONG_DELAY = 4e-6, 85e-6
"""Round-trip times, s."""
GRID = np.geomspace(1e-6, 0.5, 400)
"""Probabilities of a mark among which fixed points are sought."""
SAMPLE = 2e-5


def fixed_points(count: int, rule: DCQCN = fabric_runs.ROCE) -> list[float]:
    """Return the probabilities of a mark at which the model's rate C / count is at rest."""
    drift = rule.drift(np.full(GRID.shape, C / count), GRID)
    ends = np.nonzero(np.diff(drift))[0]

    def at(x: float) -> float:
        return float(np.log(rule.rate(np.exp(x)) / (C / count)))

    return [float(np.exp(brentq(at, np.log(GRID[n]), np.log(GRID[n + 1])))) for n in ends]


def approximation(count: int, rule: DCQCN = fabric_runs.ROCE) -> float:
    """Return eq. (14) of the paper."""
    q = rule.params
    rounds = 1.0 / q.counter + count / (q.timer * C)
    return float(np.cbrt(q.additive * count**2 * rounds**2 / (q.alpha_timer * C**2)))


def queue_of(p: float) -> float:
    """Return the queue at which the ramp marks with this probability, packets."""
    low, high, most = (fabric_runs.MARKS.numbers(fabric_runs.PACKET)[name] for name in ("low", "high", "max_p"))
    return float(low + p / most * (high - low))


def over_a_link(count: int, rtt: float, end: float, rule: Any, begins: list[float], **options: Any) -> Scenario:
    """Return flows over a link with this round-trip time; ``options``: of `fabric_runs.star`."""
    lines = fabric_runs.Lines(delay=rtt / 4.0)
    return fabric_runs.star(count, fabric_runs.ROCE, rule, end, lines=lines, begins=begins, **options)


def run(count: int, rtt: float, seed: int, end: float, after: float, rule: Any = fabric_runs.MARKS) -> fabric_runs.Run:
    """Return flows over a link at packet level."""
    scenario = over_a_link(count, rtt, end, rule, fabric_runs.starts(count, seed))
    return fabric_runs.packets(scenario, seed, after, SAMPLE)


def expected(count: int, rtt: float, end: float, after: float, rule: Any = fabric_runs.MARKS) -> fabric_runs.Run:
    """Return the same in the paper's fluid; flows start a tenth of a millisecond after each other."""
    begins = [1e-4 * n for n in range(count)]
    scenario = over_a_link(count, rtt, end, rule, begins, host="unshaped")
    return fabric_runs.fluid(scenario, after, SAMPLE, marks="expected")


class Seen(NamedTuple):
    """What claims use of a run: rates over C / N, mean and standard deviation of the queue over time, packets."""

    rates: list[float]
    mean: float
    deviation: float


def _seen(run: fabric_runs.Run, count: int) -> Seen:
    queue = run.queue(BOTTLENECK)
    return Seen((run.rates * count / C).tolist(), float(queue.mean()), float(queue.std()))


@over_seeds(fabric_runs.SEEDS)
def seen(seed: int, count: int, rtt: float, at: str = "departure") -> Seen:
    """Return what was seen from 30 to 40 ms at packet level; marks are made ``at`` departure or arrival."""
    return _seen(run(count, rtt, seed, 0.04, 0.03, replace(fabric_runs.MARKS, at=at)), count)


@kept
def seen_in_fluid(count: int, rtt: float, most: float = fabric_runs.MARKS.max_p) -> list[Seen]:
    """Return the same of the paper's fluid, one run; ``most`` is P_max of the ramp."""
    return [_seen(expected(count, rtt, 0.04, 0.03, replace(fabric_runs.MARKS, max_p=most)), count)]


@fabric_runs.on_fabrics("E01", cases=(CASE,), equal=0.1)
def fixed_point() -> Effects:
    """Count the fixed points of the model, and measure the rates of flows."""
    own, model = (
        [[each.rates for each in of(count, SHORT_DELAY)] for count in NUMBERS[:2]] for of in (seen, seen_in_fluid)
    )
    single = [len(fixed_points(count)) for count in NUMBERS]
    return Effects(
        {
            "unique": Statement(model=fabric_runs.exact(*(1.5 - n if n else -1.0 for n in single))),
            "equal": Statement(
                model=tuple(e for each in model for e in fabric_runs.deviations(each, 1.0)),
                level=tuple(e for each in own for e in fabric_runs.deviations(each, 1.0)),
                equal=True,
            ),
        },
        {
            f"{count} flows": Curve(
                list(range(1, count + 1)),
                model=model[n][0],
                level=[of_runs(each) for each in np.transpose(own[n])],
            )
            for n, count in enumerate(NUMBERS[:2])
        },
        ("flow", "rate over C / N"),
        values={"single": single},
    )  # fmt: skip


@fabric_runs.on_fabrics("E02", equal=0.2)
def closed_form() -> Effects:
    """Compare the paper's closed form with the exact fixed point."""
    solved = [fixed_points(count)[0] for count in FORMULA]
    closed = [approximation(count) for count in FORMULA]
    ratios = [p / q for p, q in zip(solved, closed, strict=True)]
    count, slow = (
        FORMULA[-1],
        DCQCN(**{**fabric_runs.ROCE.params._asdict(), "additive": fabric_runs.ROCE.additive / SLOWER}),
    )
    return Effects(
        {"formula": Statement(model=fabric_runs.exact(*(each - 1.0 for each in ratios)), equal=True)},
        {
            "exact fixed point": Curve(FORMULA, model=solved),
            "eq. (14)": Curve(FORMULA, model=closed),
        },
        ("flows", "probability of a mark"),
        log="xy",
        values={
            "ratios": ratios,
            "small": fixed_points(count, slow)[0] / approximation(count, slow),
        },
    )


@fabric_runs.on_fabrics("E03", cases=(CASE,), equal=0.2)
def queue_by_flows() -> Effects:
    """Measure the queue by the number of flows."""
    runs = fabric_runs.common(*(seen(count, SHORT_DELAY) for count in ON_THE_RAMP))
    own = np.array([[each.mean for each in of_count] for of_count in runs]).T
    model = [queue_of(fixed_points(count)[0]) for count in ON_THE_RAMP]
    return Effects(
        {
            "grows": Statement(model=fabric_runs.steps([model]), level=fabric_runs.steps(own)),
            "value": Statement(level=fabric_runs.deviations(own[:, 1:], np.array(model[1:])), equal=True),
        },
        {"queue": Curve(ON_THE_RAMP, model=model, level=[of_runs(each) for each in own.T])},
        ("flows", "queue (packets)"),
    )


STEEP = 0.1
"""P_max of a ramp on which the fixed point of sixty-four flows lies."""
CASES = ((10, SHORT_DELAY), (2, LONG_DELAY), (10, LONG_DELAY), (64, LONG_DELAY))


def _ratio(one: Any, other: Any) -> Any:
    """Return the ratio of runs less one; a model's is exact."""
    return fabric_runs.gain(one, other) if len(one) > 1 else fabric_runs.exact(one[0] / other[0] - 1.0)[0]


@fabric_runs.on_fabrics("E04", cases=(CASE,), least=0.2)
def stability() -> Effects:
    """Measure how much the queue swings by delay and number of flows."""

    def decisions(found: Any) -> dict[str, Any]:
        mean, deviation = np.array(found)[:, :, 0], np.array(found)[:, :, 1]
        relative = deviation / np.maximum(mean, 1e-9)
        near, few, ten, many = range(len(CASES))
        return {
            "delay": fabric_runs.over(_ratio(relative[ten], relative[near])),
            "few": fabric_runs.over(_ratio(deviation[ten], deviation[few])),
            "many": fabric_runs.over(_ratio(relative[ten], relative[many])),
        }

    own, model = (
        [[(each.mean, each.deviation) for each in runs] for runs in fabric_runs.common(*(of(*case) for case in CASES))]
        for of in (seen, seen_in_fluid)
    )
    levels, models = decisions(own), decisions(model)
    ten, many = (
        each[0].deviation / each[0].mean for each in (seen_in_fluid(10, LONG_DELAY), seen_in_fluid(64, LONG_DELAY))
    )
    steep = seen_in_fluid(64, LONG_DELAY, STEEP)[0]
    names = [f"N = {count}, {1e6 * rtt:g} us" for count, rtt in CASES]
    return Effects(
        {key: Statement(model=models[key], level=levels[key]) for key in levels},
        {
            what: Curve(
                names,
                model=[each[0][k] for each in model],
                level=[of_runs([one[k] for one in each]) for each in own],
            )
            for k, what in enumerate(("mean queue", "standard deviation"))
        },
        ("flows and delay", "queue (packets)"),
        values={"many": ten / many - 1.0, "steep": ten / (steep.deviation / steep.mean) - 1.0},
    )


@fabric_runs.on_fabrics("E07", cases=(CASE,), least=0.1)
def place_of_marks() -> Effects:
    """Measure how much the queue varies with marks at arrival and at departure."""
    places = "departure", "arrival"
    runs = fabric_runs.common(*(seen(10, SHORT_DELAY, at) for at in places))
    found = {at: np.array([(each.mean, each.deviation) for each in own]) for at, own in zip(places, runs, strict=True)}
    relative = {at: each[:, 1] / each[:, 0] for at, each in found.items()}
    return Effects(
        {"varies": Statement(level=fabric_runs.over(fabric_runs.gain(relative["arrival"], relative["departure"])))},
        {
            what: Curve(list(found), level=[of_runs(each[:, k]) for each in found.values()])
            for k, what in enumerate(("mean queue", "standard deviation"))
        },
        ("marks at", "queue (packets)"),
    )
