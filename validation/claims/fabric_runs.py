"""What claims on fabrics share: how they are registered, their links and rules, and what they read from a run.

No runs of other simulators are bundled for them: hopflow's models and its own packet level judge, each by itself. Runs at packet level
differ in their seed and in the starts of their flows, which are drawn within `SPREAD`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel import PFC, Flow, Fluid, Link, Packets, RampMarking, Scenario, simulate
from hopflow import gbps, mbps
from responsefn import DCQCN
from validation.checks import Check
from validation.claims.effect_claims import effects, judging
from validation.claims.effect_statements import Effects, Estimates, beyond
from validation.judgements.verdicts import Verdict
from validation.statistics import Estimate, combine, mostly, of_runs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dfcmodel.results import Trajectory

PACKET = 1000.0
"""Bytes of a packet of data."""
SEEDS = (101, 102, 103, 104)
"""Of the runs at packet level, one for each: drawn after durations and numbers of runs were settled with other seeds."""
SEVEN_SEEDS = tuple(range(101, 108))
"""The same where runs may come out equal, which seven decide by their signs."""
SIX_SEEDS, EIGHT_SEEDS = tuple(range(101, 107)), tuple(range(101, 109))
"""The same where four runs leave a statement open that a few more decide."""
SETTLED, WHEN_SETTLED = (0.15, 0.1), "100 to 150 ms"
"""End and begin of what is counted of flows of DCQCN that have settled, s, and the name of this reading: rates rise for tens of milliseconds."""
SPREAD = 1e-5
"""Time within which flows start that start together, s."""
MARKS = RampMarking("5 kB", "200 kB", 0.01)
"""Of DCQCN's switch, as published."""
ROCE = DCQCN(counter=10e6 / PACKET, additive=mbps(40, PACKET), hyper=mbps(400, PACKET))
"""DCQCN as published, in packets of `PACKET` bytes."""

Decision = Callable[[Mapping[str, float]], Estimates]
"""Quantities at given thresholds, all of which are positive if a statement holds."""


def on_fabrics(
    id: str, *, cases: tuple[str, ...] = (), **thresholds: Any
) -> Callable[[Callable[..., Effects]], Check[Effects]]:
    """Register the function below as the measurement of a claim on fabrics.

    Parameters
    ----------
    id
        As in ``published/fabric_claims.csv``.
    cases
        The bundled cases that it uses: `validation.networks.further_seeds.CASE`, or none.
    **thresholds
        ``equal``, ``least`` and ``also``, as of `effects`.
    """

    def register(measure: Callable[..., Effects]) -> Check[Effects]:
        check = effects(id, cases=cases, **thresholds)(measure)
        judges = judging(check.thresholds())

        def in_readings(found: Effects, **given: float) -> dict[str, dict[str, Verdict]]:
            return {
                name: judges.packet_level(replace(found, statements=each), **given)
                for name, each in found.readings.items()
            }

        vars(in_readings)["__signature__"] = vars(judges.packet_level)["__signature__"]
        check.level_in_readings(in_readings)
        return check

    return register


def line(gigabits: float, packet_size: float = PACKET) -> float:
    """Return the rate of a link of so many Gb/s in packets/s."""
    return float(gbps(gigabits, packet_size))


def pfc(xoff: float = 300.0, **options: Any) -> PFC:
    """Return priority-based flow control of class 0 as switches count it, with ``xon`` 20 packets below ``xoff``."""
    return PFC((0,), **{"xoff": xoff, "xon": max(xoff - 20.0, 0.5 * xoff), "counts": "switch", **options})


def starts(count: int, seed: int) -> list[float]:
    """Return the starts of flows that start together, s."""
    drawn: list[float] = np.random.default_rng(seed).uniform(0.0, SPREAD, count).tolist()
    return drawn


class Run(NamedTuple):
    """What claims read from a run: the records, from which sample on, and the links in their order."""

    records: Trajectory
    first: int
    links: tuple[str, ...]

    @property
    def rates(self) -> Any:
        """Rates at the receivers in packets/s, shape (flows,)."""
        time, delivered = self.records.time[self.first :], self.records.delivered[:, self.first :]
        return (delivered[:, -1] - delivered[:, 0]) / (time[-1] - time[0])

    def queue(self, link: str) -> Any:
        """Packets that wait for a link by its name, shape (samples,)."""
        return self.records.queued[self.links.index(link), self.first :]


def packets(scenario: Scenario, seed: int, after: float, sample: float, **options: Any) -> Run:
    """Return a run at packet level; what it had before ``after`` s is not counted."""
    run = simulate(scenario, Packets(seed=seed, **options), sample=sample)
    return _read(scenario, run, after)


def fluid(scenario: Scenario, after: float, sample: float, **options: Any) -> Run:
    """Return a run of the fluid; what it had before ``after`` s is not counted."""
    run = simulate(scenario, Fluid(**options), sample=sample)
    return _read(scenario, run, after)


def _read(scenario: Scenario, run: Trajectory, after: float) -> Run:
    names = tuple(link.name for link in scenario.links)
    return Run(run, int(np.searchsorted(run.time, after)), names)


class Lines(NamedTuple):
    """The rate of links in packets/s, and their delay in s."""

    rate: float = line(40)
    delay: float = 1e-6


LINES = Lines()


def paths_scenario(
    paths: Sequence[Sequence[str]],
    sources: Sequence[Any],
    rule: Any,
    duration: float,
    *,
    lines: Lines = LINES,
    begins: Sequence[float] | None = None,
    **options: Any,
) -> Scenario:
    """Return flows of network interfaces along given paths, on the links that these need.

    Parameters
    ----------
    paths
        Of the flows.
    sources
        One for each path.
    rule
        Discipline of all links.
    duration
        s.
    lines
        All links.
    begins
        Starts of the flows, s; None: all at 0.
    **options
        Of `Flow`, for all flows.
    """
    ends = dict.fromkeys(pair for path in paths for pair in itertools.pairwise(path))
    links = [Link(*pair, *lines, 5000, rule) for pair in ends]
    given = {"host": "nic", **options}
    flows = [
        Flow(str(n), tuple(path), source, start=start, **given)
        for n, (path, source, start) in enumerate(zip(paths, sources, begins or [0.0] * len(paths), strict=True), 1)
    ]
    return Scenario("fabric", links, flows, duration=duration, packet_size=PACKET, min_rto=1e-3)


def star(count: int, source: Any, rule: Any, duration: float, **options: Any) -> Scenario:
    """Return flows from as many hosts over one switch to one receiver (`paths_scenario`); ``source`` may be a list of them."""
    paths = [(f"h{n}", "switch", "receiver") for n in range(1, count + 1)]
    sources = source if isinstance(source, list) else [source] * count
    return paths_scenario(paths, sources, rule, duration, **options)


def exact(*values: float) -> Estimates:
    """Return numbers without an error: those of a model."""
    return tuple(Estimate(float(value), 0.0) for value in values)


def gain(larger: ArrayLike, smaller: ArrayLike) -> Estimate:
    """Return the ratio of pairs of runs less one, in the mean over the pairs."""
    return of_runs(np.asarray(larger) / np.asarray(smaller) - 1.0)


def common(*runs: Sequence[Any]) -> list[Sequence[Any]]:
    """Return lists over seeds, of the seeds that all have: settings have as many as their own statements need."""
    fewest = min(map(len, runs))
    return [each[:fewest] for each in runs]


def deviations(values: Any, expected: Any) -> Estimates:
    """Return the relative deviations of runs from a number, shape (runs,) or (runs, quantities), each in their mean."""
    relative = np.asarray(values, dtype=np.float64) / expected - 1.0
    columns = relative.reshape(len(relative), -1).T
    return tuple(of_runs(each) if len(each) > 1 else exact(*each)[0] for each in columns)


def steps(values: Any) -> Estimates:
    """Return the differences of neighbours of runs, shape (runs, quantities), each in its mean."""
    differences = np.diff(np.asarray(values, dtype=np.float64), axis=1).T
    return tuple(of_runs(each) if len(each) > 1 else exact(*each)[0] for each in differences)


def over(*estimates: Estimate, threshold: str = "least", sign: float = 1.0) -> Decision:
    """Return the decision whether quantities are above a threshold; with ``sign`` -1 above its negative."""
    return lambda given: tuple(beyond(e, sign * given[threshold]) for e in estimates)


def in_most_runs(holds: Sequence[bool]) -> Callable[[Mapping[str, float]], Verdict]:
    """Return the decision whether independent runs hold, by an exact binomial test (`mostly`)."""
    return lambda given: mostly(holds, given["level"])


def under(*estimates: Estimate, threshold: str = "least") -> Decision:
    """Return the decision whether quantities are below a threshold."""
    return lambda given: tuple(combine((Estimate(given[threshold], 0.0), e), (1.0, -1.0)) for e in estimates)
