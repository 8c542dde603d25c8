"""How probable it is that a headroom pool overflows in packet runs: importance splitting of the runs.

The pool holds what waits above the pause thresholds of its ports. Fixed-effort splitting (M. J. J. Garvels,
PhD thesis, Univ. of Twente, 2000, Ch. 2) copies the state of runs that have reached a level, and lets the
copies go on with other random numbers, as many from each level as from the one before. Levels but the last count
what is on its way to a port as well: it decides what the pool will hold, and copies cannot change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.pools.pool_overflows import OverflowEstimate
from dfcmodel.network.class_pauses import PFC
from dfcmodel.network.disciplines import Pause
from dfcmodel.network.networks import Scenario
from dfcmodel.packets.engine import PacketRun, begin_run
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.simulation import plan_scenario
from hopflow.checks import choice, instance, listed, one_number, random_generator, whole
from hopflow.progress import progress_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Plan

    Floats = NDArray[np.float64]

__all__ = ["PausedPackets", "split_packets"]


def split_packets(
    scenario: Scenario,
    size: float,
    *,
    within: float,
    sample: float | None = None,
    links: Iterable[str] | str | None = None,
    levels: int = 6,
    paths: int = 100,
    replications: int = 10,
    method: Packets | None = None,
    rng: Any = None,
) -> OverflowEstimate:
    """Return the probability that the packets above pause thresholds exceed a pool, however rare.

    It is that of runs of a scenario packet by packet, which begin at time 0 with an empty network. Thresholds,
    pauses and their delays are those of the scenario; its links must have the buffer for what the pool
    cannot hold, for nothing is dropped when the pool overflows.

    Parameters
    ----------
    scenario
        With links under `Pause` or `PFC`, and something random, such as `OnOff` sources.
    size
        Packets that the pool can hold.
    within
        s.
    sample
        The pool is looked at every ``sample`` s, of which ``within`` must be a multiple; None: a hundredth.
        Overflows between these times are not seen.
    links
        Names of the links whose thresholds count; None: all with Pause or PFC.
    levels
        Levels of the pool at which runs are split, 1 to 1000, equally spaced up to ``size``; 1: no splitting,
        plain Monte Carlo of ``paths`` times ``replications`` runs.
    paths
        Runs from each level, 10 to 1e6.
    replications
        Independent estimates, 5 to 10,000. The interval is Student's, made of them.
    method
        None: ``Packets()``. Its seed has no meaning here.
    rng
        Seed or generator.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.

    Examples
    --------
    >>> from dfcmodel import Flow, Link, OnOff, Pause, Scenario
    >>> from dfcmodel.lossless import split_packets
    >>> rule = Pause(high=5, low=2)
    >>> port = Link(1, 2, rate=1e4, delay=1e-3, buffer=500, discipline=rule)
    >>> bursts = OnOff(rate=1e4, on=2e-3, off=8e-3, random=True)
    >>> flows = [Flow(f"f{n}", (1, 2), bursts, host="unshaped") for n in range(4)]
    >>> one = Scenario("port", [port], flows, duration=0.1)
    >>> found = split_packets(one, 20, within=0.02, levels=3, paths=20, replications=5, rng=1)
    >>> found.interval[0] <= found.probability <= found.interval[1]
    True
    """
    instance("scenario", scenario, Scenario)
    method = Packets() if method is None else instance("method", method, Packets)
    if method.is_ns2 or method.backend != "numba":
        raise ValueError(f'method = {method!r}: must have convention="standard", backend="numba"')
    size = one_number("size", size, above=0.0, hint="in packets")
    within = one_number("within", within, at_least=1e-9, at_most=1e5, hint="in s")
    step = within / 100 if sample is None else one_number("sample", sample, above=0.0, hint="in s")
    ports = _ports(scenario, links)
    levels = whole("levels", levels, 1, 1000)
    paths = whole("paths", paths, 10, 10**6)
    replications = whole("replications", replications, 5, 10_000)
    draw = random_generator("rng", rng)
    plan = plan_scenario(scenario, method, duration=within, sample=step)
    if plan.every != 1 or abs(plan.sample / step - 1.0) > 1e-9:
        raise ValueError(f"sample = {sample!r}: within = {within:g} s must be a multiple of it")
    steps = size * np.arange(1, levels + 1) / levels
    seeds = draw.integers(2**63, size=replications)
    bar = progress_bar(seeds.tolist(), desc="replications")
    found = [_one_estimate(plan, ports, steps, paths, seed) for seed in bar]
    return OverflowEstimate(np.array(found), steps, within)


class PausedPackets:
    """What waits above the pause thresholds of some ports: one of a port with `Pause`, with `PFC` one per ingress and class.

    Parameters
    ----------
    run
        Any run of the plan.
    ports
        Indices of the links.
    """

    def __init__(self, run: PacketRun, ports: list[int]) -> None:
        unit, feeder, hop = (run.layout.arrays[name] for name in ("unit", "feeder", "hop"))
        rules = [run.plan.ports[p].discipline for p in ports]
        by_class = np.array([isinstance(rule, PFC) for rule in rules])
        self.ports = np.array(ports)[~by_class]
        self.high = unit["high"][self.ports]
        counted = np.isin(hop["port"], np.array(ports)[by_class])
        rows, place = np.unique(hop["ingress"][counted], return_index=True)
        lossless = feeder["priority"][rows] >= 0
        self.rows = rows[lossless]
        self.xoff = unit["high"][hop["port"][counted][place[lossless]]]

    def count(self, run: PacketRun) -> float:
        """Return the packets, as a run stands."""
        return self._above(run, np.zeros(len(self.ports)))

    def due(self, run: PacketRun) -> float:
        """Return the same with what is on its way to the ports with `Pause`; at least `count`."""
        return self._above(run, run.layout.arrays["unit"]["count"][self.ports])

    def _above(self, run: PacketRun, more: NDArray[Any]) -> float:
        port = run.layout.arrays["unit"][self.ports]
        above = np.maximum(0.0, port["waiting"] + port["held"] + more - self.high).sum()
        ingress = run.layout.arrays["feeder"]["count"][self.rows]
        return float(above + np.maximum(0.0, ingress - self.xoff).sum())


def _one_estimate(plan: Plan, ports: list[int], levels: Floats, paths: int, seed: int) -> float:
    """Return one estimate; again with larger arrays, and the same random numbers, if they were too small."""
    spare = 1
    while (found := _product(begin_run(plan, spare), ports, levels, paths, seed)) is None:
        spare *= 4
    return found


def _product(
    first: PacketRun, ports: list[int], levels: Floats, paths: int, seed: int
) -> float | None:
    """Return the product over the levels of the fractions of runs that reach them; None: no room."""
    draw = np.random.default_rng(seed)
    pool = PausedPackets(first, ports)
    begins, product = [first], 1.0
    stages = [(pool.due, level) for level in levels[:-1]]
    for measure, level in [*stages, (pool.count, levels[-1])]:
        hits = []
        for n in np.resize(draw.permutation(len(begins)), paths).tolist():
            run = begins[n].fork(draw)
            reached = _reaches(run, measure, level)
            if reached is None:
                return None
            if reached:
                hits.append(run)
        product *= len(hits) / paths
        if not hits:
            return 0.0
        begins = hits
    return product


def _reaches(run: PacketRun, measure: Callable[[PacketRun], float], level: float) -> bool | None:
    """Run until a measure is above a level; False: it was not by the end, None: no room in the arrays."""
    while measure(run) <= level:
        if run.done == run.plan.samples:
            return False
        if not run.advance(run.done + 1):
            return None
    return True


def _ports(scenario: Scenario, links: Iterable[str] | str | None) -> list[int]:
    """Return the indices of the links whose thresholds count, checked."""
    pausing = [link.name for link in scenario.links if isinstance(link.discipline, (Pause, PFC))]
    if not pausing:
        raise ValueError(f"scenario {scenario.name!r}: must have a link with Pause or PFC")
    given = [links] if isinstance(links, str) else links
    chosen = pausing if given is None else listed("links", given, str, "the name of a link")
    if not chosen:
        raise ValueError(f"links = {links!r}: must name at least one of {', '.join(pausing)}")
    names = [link.name for link in scenario.links]
    return [names.index(choice("links", name, pausing)) for name in dict.fromkeys(chosen)]
