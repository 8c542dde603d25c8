"""The fixed point of DCQCN and its stability (E01 to E04, E07)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from dfcmodel import RampMarking
from responsefn import DCQCN
from validation.claims import fabric_runs
from validation.claims.effect_statements import Curve, Effects, Statement
from validation.judgements.keeping import kept
from validation.networks.further_seeds import CASE, LATER, over_seeds
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
EXTENDED, WHEN_EXTENDED = RampMarking("5 kB", "1955 kB", 0.1), "ramp extended at its slope"
"""A ramp of the published slope on which the fixed points of all numbers of flows lie, and the name of this reading."""
FAIRNESS_TIMES = (0.5, 0.1)
"""End and begin of what is counted of the rates of one run in packets, s."""
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
def seen_in_fluid(count: int, rtt: float) -> list[Seen]:
    """Return the same of the paper's fluid, one run."""
    return [_seen(expected(count, rtt, 0.04, 0.03), count)]


def _ramp(at: str, extended: bool) -> RampMarking:
    return replace(EXTENDED if extended else fabric_runs.MARKS, at=at)


@over_seeds(fabric_runs.EIGHT_SEEDS)
def settled(seed: int, count: int, rtt: float, at: str = "departure", extended: bool = False) -> Seen:
    """Return what was seen at `fabric_runs.SETTLED` at packet level, with the published ramp or the extended one."""
    return _seen(run(count, rtt, seed, *fabric_runs.SETTLED, _ramp(at, extended)), count)


@kept
def settled_in_fluid(count: int, rtt: float, extended: bool = False) -> list[Seen]:
    """Return the same of the paper's fluid, one run."""
    return [_seen(expected(count, rtt, *fabric_runs.SETTLED, _ramp("departure", extended)), count)]


@over_seeds(fabric_runs.SEEDS)
def long_rates(seed: int, count: int) -> list[float]:
    """Return the rates of the flows of a run over C / N at `FAIRNESS_TIMES`."""
    rates: list[float] = (run(count, SHORT_DELAY, seed, *FAIRNESS_TIMES).rates * count / C).tolist()
    return rates


def _scatter(rates: Sequence[float]) -> float:
    return float(np.std(rates))


@fabric_runs.on_fabrics("E01", cases=(CASE, LATER), equal=0.1)
def fixed_point() -> Effects:
    """Count the fixed points of the model, and measure the rates of flows."""
    own, model = (
        [[each.rates for each in of(count, SHORT_DELAY)] for count in NUMBERS[:2]] for of in (seen, seen_in_fluid)
    )
    scatter = [of_runs([_scatter(rates) for rates in long_rates(count)]) for count in NUMBERS[:2]]
    scatter_of_fluid = [_scatter(settled_in_fluid(count, SHORT_DELAY)[0].rates) for count in NUMBERS[:2]]
    probabilities = [fixed_points(count) for count in NUMBERS]
    single = [len(each) for each in probabilities]
    return Effects(
        {
            "unique": Statement(model=fabric_runs.exact(*(1.5 - n if n else -1.0 for n in single))),
            "equal": Statement(
                model=tuple(e for each in model for e in fabric_runs.deviations(each, 1.0)),
                level=tuple(e for each in own for e in fabric_runs.deviations(each, 1.0)),
                equal=True,
            ),
            "fair": Statement(
                model=fabric_runs.under(*fabric_runs.exact(*scatter_of_fluid), threshold="margin"),
                level=fabric_runs.under(*scatter, threshold="margin"),
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
        values={
            "single": single,
            "most_marks": probabilities[-1][0],
            "scatter": scatter,
            "scatter_of_fluid": scatter_of_fluid,
        },
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


@fabric_runs.on_fabrics("E03", cases=(CASE, LATER), equal=0.2)
def queue_by_flows() -> Effects:
    """Measure the queue by the number of flows."""

    def means(runs: Sequence[Sequence[Seen]]) -> Any:
        return np.array([[each.mean for each in of_count] for of_count in fabric_runs.common(*runs)]).T

    early = means([seen(count, SHORT_DELAY) for count in ON_THE_RAMP])
    own = means([settled(count, SHORT_DELAY) for count in ON_THE_RAMP])
    extended = means([settled(count, SHORT_DELAY, "departure", True, base=fabric_runs.SEEDS) for count in ON_THE_RAMP])
    model = [queue_of(fixed_points(count)[0]) for count in ON_THE_RAMP]

    def grows(own: Any) -> Statement:
        return Statement(model=fabric_runs.steps([model]), level=fabric_runs.steps(own))

    def fixed(own: Any) -> Statement:
        return Statement(level=fabric_runs.deviations(own, np.array(model)), equal=True)

    return Effects(
        {
            "grows": grows(early),
            "value": Statement(level=fabric_runs.deviations(early[:, 1:], np.array(model[1:])), equal=True),
            "rises": grows(own),
            "fixed": fixed(own),
        },
        {
            "published ramp": Curve(ON_THE_RAMP, model=model, level=[of_runs(each) for each in own.T]),
            WHEN_EXTENDED: Curve(ON_THE_RAMP, level=[of_runs(each) for each in extended.T]),
        },
        ("flows", "queue (packets)"),
        values={
            "last": of_runs(own[:, -1] - own[:, -2]),
            "last_extended": of_runs(extended[:, -1] - extended[:, -2]),
        },
        readings={WHEN_EXTENDED: {"rises": grows(extended), "fixed": fixed(extended)}},
    )


CASES = ((10, SHORT_DELAY), (2, LONG_DELAY), (10, LONG_DELAY), (64, LONG_DELAY))
STANDARD_DEVIATION = "standard deviation, not over the mean"
"""The reading in which a queue oscillates more that has the larger amplitude, however long it is."""


def _ratio(one: Any, other: Any) -> Any:
    """Return the ratio of runs less one; a model's is exact."""
    return fabric_runs.gain(one, other) if len(one) > 1 else fabric_runs.exact(one[0] / other[0] - 1.0)[0]


class Swings(NamedTuple):
    """Mean and standard deviation of the queue in `CASES`, shape (cases, runs)."""

    mean: Any
    deviation: Any

    @classmethod
    def of(cls, runs: Sequence[Sequence[Seen]]) -> Swings:
        """Return those of the seeds that all cases have."""
        both = np.array([[(each.mean, each.deviation) for each in own] for own in fabric_runs.common(*runs)])
        return cls(both[:, :, 0], both[:, :, 1])

    @property
    def relative(self) -> Any:
        """Standard deviation over the mean."""
        return self.deviation / np.maximum(self.mean, 1e-9)


def _oscillations(size: Any) -> dict[str, fabric_runs.Decision]:
    """Return the decisions on the three statements of Figs. 3 to 5 by one measure of the oscillation, shape (cases, runs)."""
    near, few, ten, many = size
    pairs = {"longer_delay": (ten, near), "two_flows": (ten, few), "sixty_four": (ten, many)}
    return {key: fabric_runs.over(_ratio(*pair)) for key, pair in pairs.items()}


def _early(swings: Swings) -> dict[str, fabric_runs.Decision]:
    """Return the decisions on the statements as they were first, of two statistics."""
    relative, (_, few, ten, _) = _oscillations(swings.relative), swings.deviation
    return {
        "delay": relative["longer_delay"],
        "few": fabric_runs.over(_ratio(ten, few)),
        "many": relative["sixty_four"],
    }


@fabric_runs.on_fabrics("E04", cases=(CASE, LATER), least=0.2)
def stability() -> Effects:
    """Measure how much the queue swings by delay and number of flows."""
    early, early_model = (Swings.of([of(*case) for case in CASES]) for of in (seen, seen_in_fluid))
    own, extended = (
        Swings.of([settled(*case, "departure", ramp, base=seeds) for case in CASES])
        for ramp, seeds in ((False, fabric_runs.EIGHT_SEEDS), (True, fabric_runs.SEEDS))
    )
    model, extended_model = (Swings.of([settled_in_fluid(*case, ramp) for case in CASES]) for ramp in (False, True))

    def statements(model: dict[str, Any], own: dict[str, Any]) -> dict[str, Statement]:
        return {key: Statement(model=model[key], level=own[key]) for key in own}

    names = [f"N = {count}, {1e6 * rtt:g} us" for count, rtt in CASES]
    return Effects(
        statements(_early(early_model), _early(early))
        | statements(_oscillations(model.relative), _oscillations(own.relative)),
        {
            f"{what}{ramp}": Curve(
                names,
                model=getattr(of_model, field)[:, 0].tolist(),
                level=[of_runs(each) for each in getattr(of_packets, field)],
            )
            for ramp, of_model, of_packets in (("", model, own), (f", {WHEN_EXTENDED}", extended_model, extended))
            for field, what in (("mean", "mean queue"), ("deviation", "standard deviation"))
        },
        ("flows and delay", "queue (packets)"),
        values={
            "many": model.relative[-1, 0],
            "extended": extended_model.relative[-1, 0],
            "relative": [of_runs(each) for each in own.relative],
        },
        readings={
            STANDARD_DEVIATION: statements(_oscillations(model.deviation), _oscillations(own.deviation)),
            WHEN_EXTENDED: statements(_oscillations(extended_model.relative), _oscillations(extended.relative)),
        },
    )


@fabric_runs.on_fabrics("E07", cases=(CASE, LATER), least=0.1)
def place_of_marks() -> Effects:
    """Measure how much the queue varies with marks at arrival and at departure."""
    places = "departure", "arrival"

    def measured(runs: Sequence[Sequence[Seen]]) -> Any:
        return np.array([[(each.mean, each.deviation) for each in own] for own in fabric_runs.common(*runs)])

    def varies(found: Any) -> Statement:
        departure, arrival = found[:, :, 1] / found[:, :, 0]
        return Statement(level=fabric_runs.over(fabric_runs.gain(arrival, departure)))

    early = measured([seen(10, SHORT_DELAY, at) for at in places])
    late = measured([settled(10, SHORT_DELAY, at, base=fabric_runs.SEEDS) for at in places])
    return Effects(
        {"varies": varies(early)},
        {
            what: Curve(places, level=[of_runs(each[:, k]) for each in early])
            for k, what in enumerate(("mean queue", "standard deviation"))
        },
        ("marks at", "queue (packets)"),
        readings={fabric_runs.WHEN_SETTLED: {"varies": varies(late)}},
    )
