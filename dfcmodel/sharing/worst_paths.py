"""Search for the delay of a path, within a bound, that hurts a rule most; measurement with fresh seeds, and replay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dfcmodel.network.elements.delays import DelayTrace
from dfcmodel.network.endpoints.native_rules import full_name
from dfcmodel.network.flows import random_starts
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.simulation import plan_scenario, trajectory
from dfcmodel.sharing.bottlenecks import Bottleneck, recoveries_among, validate_rules
from hopflow.checks import choice, count_of, instance, integer, one_number, seed_number
from hopflow.fork_safety import cached_property
from hopflow.intervals import half_width, prediction_half_width, spawn_seeds
from hopflow.progress import progress_bar
from hopflow.results import Described, Result, figure
from hopflow.units import WholeWithUnit, WithUnit, quantities
from responsefn import WindowRule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario

    Floats = NDArray[np.float64]

__all__ = ["JitteredPath", "WorstCase", "worst_case"]

LINK = "in->out"
SAMPLES = 200
WARM_UP_PART = 0.4
"""Unmeasured part at the beginning of a run."""
SHARE, UTILISATION = "share", "utilisation"


@quantities(bandwidth="rate", rtt="time", buffer="amount", bound="time", duration="time")
@dataclass(frozen=True)
class JitteredPath(Described):
    """A bottleneck on which one flow's acknowledgements have a delay up to a bound, besides queueing.

    Parameters
    ----------
    bandwidth
        Rate of the bottleneck, packets/s, > 0.
    rtt
        Propagation there and back, s, > 0.
    buffer
        Packets that wait in the queue.
    bound
        Largest delay besides queueing, s, at least 0.
    duration
        Simulated time, s; the first two fifths are not measured.

    Raises
    ------
    ValueError
        For a bound outside 0 to 10 s, and a path that `Bottleneck` refuses.

    Examples
    --------
    >>> from dfcmodel import JitteredPath
    >>> JitteredPath("12Mbps", "40ms", buffer=200, bound="10ms").bound
    0.01
    """

    bandwidth: WithUnit
    rtt: WithUnit
    buffer: WholeWithUnit
    bound: WithUnit
    duration: WithUnit = 20.0

    def __post_init__(self) -> None:
        one_number("bound", self.bound, at_least=0.0, at_most=10.0, hint="in s")
        one_number("duration", self.duration, above=0.0, hint="in s")
        object.__setattr__(self, "buffer", self.bottleneck.buffer)

    @property
    def bottleneck(self) -> Bottleneck:
        """The bottleneck of the path, which validates the other parameters."""
        warm_up = WARM_UP_PART * self.duration
        return Bottleneck(self.bandwidth, self.rtt, self.buffer, duration=self.duration, warm_up=warm_up)

    def scenario(self, rule: WindowRule, trace: DelayTrace | None, flows: int = 2) -> Scenario:
        """Return the scenario of ``flows`` flows of a rule; the first one's ACKs have the delays of ``trace``."""
        scenario = self.bottleneck.scenario([rule] * flows)
        return replace(scenario, elements=() if trace is None else (trace,))


@dataclass(frozen=True, repr=False, eq=False)
class WorstCase(Result):
    """Delays of ACKs over time that hurt a rule most among all delays that were tried.

    It is a one-sided bound: another delay within the bound may hurt more. The search compares single runs, and the
    lowest is low by chance as well. Its result is therefore measured again with R seeds that the search did not use.

    Attributes
    ----------
    rule, path, measure
        Arguments of the search.
    trace
        The delay of the first flow's acknowledgements, `DelayTrace`; None: none hurts more than no delay.
    fresh, fresh_without
        The measure with this delay, and without delay, in runs with the same fresh seeds, (R,).
    tried
        The measure of each delay that was tried, in order, one run each, (N,).
    seed
        Seed from which the seeds of the search and of the fresh runs are spawned.

    Examples
    --------
    >>> from dfcmodel import JitteredPath, worst_case
    >>> from responsefn import FAST
    >>> path = JitteredPath(1000.0, 0.05, buffer=500, bound=0.02)
    >>> result = worst_case(FAST(), path, runs=8)
    >>> bool(result.value < result.without)
    True
    """

    rule: WindowRule
    path: JitteredPath
    measure: str
    trace: DelayTrace | None
    fresh: Floats = field(repr=False)
    fresh_without: Floats = field(repr=False)
    tried: Floats = field(repr=False)
    seed: int = 0
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "fresh": ("run",), "fresh_without": ("run",), "tried": ("trial",),
    }  # fmt: skip
    ROW_DIMENSIONS: ClassVar[tuple[str, ...]] = ("run",)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled result, also of a release whose ``value`` and ``without`` were single runs."""
        if "fresh" not in state:
            singles = {name: np.array([state[old]]) for name, old in (("fresh", "value"), ("fresh_without", "without"))}
            state = {name: value for name, value in state.items() if name not in ("value", "without")} | singles
        self.__dict__.update(state)

    @property
    def value(self) -> float:
        """Mean of the measure over the fresh seeds with the worst delay."""
        return float(self.fresh.mean())

    @property
    def value_half_width(self) -> float:
        """Half width of the 95 % interval of `value` over the fresh seeds; NaN for one seed."""
        return float(half_width(self.fresh))

    @property
    def value_prediction_half_width(self) -> float:
        """Half width of the 95 % interval of one further run with the delay; NaN for one seed."""
        return float(prediction_half_width(self.fresh))

    @property
    def without(self) -> float:
        """Mean of the measure over the fresh seeds without any delay."""
        return float(self.fresh_without.mean())

    @property
    def without_half_width(self) -> float:
        """Half width of the 95 % interval of `without` over the fresh seeds; NaN for one seed."""
        return float(half_width(self.fresh_without))

    @property
    def without_prediction_half_width(self) -> float:
        """Half width of the 95 % interval of one further run without any delay; NaN for one seed."""
        return float(prediction_half_width(self.fresh_without))

    @cached_property
    def verdict(self) -> str:
        """Verdict as text: whether the delay hurts, by the interval of the difference over the fresh seeds.

        ``"hurts"``: the interval is below 0. ``"does not hurt"``: it is above, or no delay hurt more in the search.
        ``"inconclusive"``: it contains 0, or there is one seed.
        """
        if self.trace is None:
            return "does not hurt"
        difference = self.fresh - self.fresh_without
        half = float(half_width(difference))
        if difference.mean() + half < 0.0:
            return "hurts"
        return "does not hurt" if difference.mean() - half > 0.0 else "inconclusive"

    def replay(self) -> Any:
        """Return the run with the worst delay and the first fresh seed again, as a `Trajectory`."""
        seed = int(_fresh_seeds(self.seed, 1)[0])
        return _run_measure(self.rule, self.path, self.measure, self.trace, seed)[0]

    def summary(self) -> dict[str, object]:
        """Return texts by name: the measure with and without the delay, the verdict and the delay."""
        shown = "none" if self.trace is None else _delay_text(self.trace)
        return {
            "rule": full_name(self.rule),
            "measure": self.measure,
            "worst": _range_text(self.fresh, self.measure),
            "without delay": _range_text(self.fresh_without, self.measure),
            "verdict": f"{self.verdict}, by the difference over {count_of(len(self.fresh), 'fresh seed')}",
            "delay": shown,
            "tried": f"{len(self.tried)} delays of at most {1e3 * self.path.bound:g} ms, one run each",
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates of the flows, and the delay behind them; return the Axes."""
        axes: Axes = figure()[1] if ax is None else ax
        run = self.replay()
        names = [flow.name for flow in run.scenario.flows]
        for name, rate in zip(names, np.diff(run.delivered, axis=1), strict=True):
            axes.plot(run.time[1:], rate / np.diff(run.time), label=f"flow {name}")
        if self.trace is not None:
            other = axes.twinx()
            end = self.path.duration
            other.step([*self.trace.times, end], [*self.trace.delays, self.trace.delays[-1]],
                       where="post", color="0.6", linewidth=0.8)  # fmt: skip
            other.set_ylabel("delay of flow 1 (s)")
        axes.set(xlabel="time (s)", ylabel="rate (packets/s)", title=str(self.rule))
        axes.legend()
        return axes


def _range_text(values: Floats, measure: str) -> str:
    """Return the mean over seeds with its 95 % interval and that of a further run as text; for one run its value."""
    mean = float(values.mean())
    if len(values) == 1:
        return f"{mean:.3g}"
    single = float(prediction_half_width(values))
    low, high = max(0.0, mean - single), min(0.5 if measure == SHARE else 1.0, mean + single)
    return f"{mean:.3g} ± {half_width(values):.2g}, single runs {low:.3g} to {high:.3g}"


def _delay_text(trace: DelayTrace) -> str:
    """Return the first eight delays, ms, of a trace with their times as a string."""
    steps = zip(trace.times[:8], trace.delays[:8], strict=True)
    text = ", ".join(f"{1e3 * delay:.3g} ms from {time:.3g} s" for time, delay in steps)
    return text + (", ..." if len(trace.times) > 8 else "")


def worst_case(
    rule: WindowRule,
    path: JitteredPath,
    measure: str = SHARE,
    *,
    runs: int = 60,
    seed: int | np.random.Generator = 0,
    repeats: int = 16,
) -> WorstCase:
    """Search for delays of ACKs within a bound that hurt a rule most, at packet level; return `WorstCase`.

    The acknowledgements of one flow have a piecewise constant delay from 0 to the bound, and stay in order. The search
    first tries shapes that mislead senders (Arun et al. 2022): a constant delay; a delay that is absent for a round
    trip, so that the minimum round-trip time is wrong afterwards; the opposite; and alternations. Then it changes
    random pieces of the best delay and accepts changes that hurt more. The worst delay and no delay are measured with
    fresh seeds.

    Parameters
    ----------
    rule
        The rule of all flows.
    path
        The bottleneck and the bound.
    measure
        ``"share"``: the smaller share of two flows of the rule, one of which has the delay. ``"utilisation"``: of one
        flow alone, which has it.
    runs
        Number of tried delays, one run each, all with the same seed.
    seed
        Integer >= 0 or a `numpy.random.Generator`, from which the seeds of the search and of the fresh runs are
        spawned.
    repeats
        Number of fresh seeds with which the worst delay and no delay are measured; one has no interval. If one run in
        eight has another share, the interval of five seeds covers in 66 % of cases only, that of sixteen in 93 %.

    Raises
    ------
    TypeError, ValueError
        Naming the parameter, its value and the allowed values.

    References
    ----------
    Arun, Alizadeh, Balakrishnan, Starvation in end-to-end congestion control, SIGCOMM 2022.

    Examples
    --------
    >>> from dfcmodel import JitteredPath, worst_case
    >>> from responsefn import NewReno
    >>> path = JitteredPath(1000.0, 0.04, buffer=40, bound=0.01)
    >>> result = worst_case(NewReno(), path, "utilisation", runs=4)
    >>> len(result.tried)
    4
    """
    (chosen,) = validate_rules((rule,))
    instance("path", path, JitteredPath, "a JitteredPath(...)")
    choice("measure", measure, (SHARE, UTILISATION))
    runs = integer("runs", runs, 1, 100_000)
    repeats = integer("repeats", repeats, 1, 10_000)
    seed = seed_number("seed", seed)
    search_seed = int(spawn_seeds(seed, 1)[0])

    def cost(trace: DelayTrace | None, seed: int = search_seed) -> float:
        return _run_measure(chosen, path, measure, trace, seed)[1]

    without = cost(None)
    best, lowest, tried = None, without, []
    search = _search(path, np.random.default_rng(search_seed), lambda: best)
    for _ in progress_bar(range(runs), desc=repr(chosen), unit="run"):
        trace = next(search)
        value = cost(trace)
        tried.append(value)
        if value < lowest:
            best, lowest = trace, value
    fresh_seeds = _fresh_seeds(seed, repeats)
    fresh_without = np.array([cost(None, fresh) for fresh in fresh_seeds])
    fresh = fresh_without if best is None else np.array([cost(best, fresh) for fresh in fresh_seeds])
    return WorstCase(chosen, path, measure, best, fresh, fresh_without, np.array(tried), seed)


def _fresh_seeds(seed: int, repeats: int) -> list[int]:
    """Return ``repeats`` seeds that the search for the worst delay does not use."""
    return [int(fresh) for fresh in spawn_seeds(seed, 1 + repeats)[1:]]


def _trace(times: Any, delays: Any) -> DelayTrace:
    """Return the delays, s, from times, s, on as an element for the acknowledgements of the first flow."""
    return DelayTrace(LINK, tuple(times), tuple(delays), flows=("1",), acks=True)


def _search(
    path: JitteredPath, rng: np.random.Generator, best: Callable[[], DelayTrace | None]
) -> Iterator[DelayTrace]:
    """Yield delays to try, infinitely many: first known shapes, then random changes of ``best()``, the best so far."""
    D, end, trip = path.bound, path.duration, 2.0 * path.rtt
    for begin in (0.0, 0.1 * end):  # absent or present for some round trips
        for inside, outside in ((0.0, D), (D, 0.0)):
            times = [0.0, begin, begin + trip] if begin > 0.0 else [0.0, trip]
            yield _trace(times, [outside] * (len(times) - 2) + [inside, outside])
    yield _trace([0.0], [D])
    for period in (2.0 * trip, 8.0 * trip):
        steps = np.arange(0.0, end, 0.5 * period)
        yield _trace(steps, D * (np.arange(len(steps)) % 2))
    while True:
        current = best() or _trace([0.0], [0.0])
        yield _mutate(current, path, rng)


def _mutate(trace: DelayTrace, path: JitteredPath, rng: np.random.Generator) -> DelayTrace:
    """Return a copy of a delay trace with a random delay in a random interval."""
    begin = float(rng.uniform(0.0, path.duration))
    length = float(path.rtt * math.exp(rng.uniform(0.0, math.log(0.5 * path.duration / path.rtt))))
    delay = path.bound * float(rng.choice([0.0, 1.0, rng.uniform()]))
    end = begin + length
    times, delays = np.array(trace.times), np.array(trace.delays)
    after = float(delays[np.searchsorted(times, end, side="right") - 1])
    unchanged = (times < begin) | (times > end)
    times = np.concatenate([times[unchanged], [begin, end]])
    delays = np.concatenate([delays[unchanged], [delay, after]])
    order = np.argsort(times, kind="stable")
    return _trace(times[order].tolist(), delays[order].tolist())


def _run_measure(
    rule: WindowRule, path: JitteredPath, measure: str, trace: DelayTrace | None, seed: int
) -> tuple[Any, float]:
    """Simulate a rule with a delay; return (run, utilisation of one flow, or smaller share of two; see ``measure``)."""
    scenario = path.scenario(rule, trace, 2 if measure == SHARE else 1)
    starts = random_starts(scenario.table, path.rtt, np.random.default_rng(seed))
    recovery = recoveries_among(scenario.flows, "sack")
    plan = plan_scenario(
        scenario, Packets(seed=seed, recovery=recovery), duration=path.duration,
        sample=path.duration / SAMPLES, starts=starts, packet_jitter=1.0 / path.bandwidth,
    )  # fmt: skip
    run = trajectory(plan, run_engine(plan), 0.0)
    rates = run.mean_goodput(run.time[round(WARM_UP_PART * SAMPLES)])
    if measure == UTILISATION:
        return run, float(rates[0] / path.bandwidth)
    return run, float(rates.min() / rates.sum()) if rates.any() else 0.0
