"""Simulation of a scenario: checks the input, compiles a plan, runs the engine, returns a trajectory."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dfcmodel.engine.plan import compile_scenario
from dfcmodel.engine.run import advance, trajectory
from dfcmodel.engine.settings import double_steps
from dfcmodel.levels.choices import (
    LevelChoice,
    about_levels,
    check_cost,
    check_other_level,
    choose_level,
    warn_of_doubt,
)
from dfcmodel.methods import LEVELS, Fluid, Level, Packets
from dfcmodel.network.demands.offered_rates import source_rate
from dfcmodel.network.flows import random_starts
from dfcmodel.network.networks import Scenario, run_end
from dfcmodel.network.phase_effects import check_packet_jitter, packet_wait
from dfcmodel.network.queueing.disciplines import dfc_of
from dfcmodel.results.records import with_fields
from dfcmodel.results.summaries import ABOUT_LEVELS
from dfcmodel.results.trajectories import Trajectory
from dfcmodel.theory.stability import warn_if_unstable
from hopflow.checks import choice, instance, number, one_number, random_source, refuse_options
from hopflow.deprecations import accept_old_names, warn_deprecated
from hopflow.parameters import Options, param, validate_parameters
from hopflow.results import ConvergenceError
from hopflow.units import WithUnit, declares, in_units, quantities
from responsefn import RateRule, WindowRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["RunSettings", "method_of", "simulate"]

SHORT_STEPS, SHORT_PACKETS = 2e8, 5e7
"""Steps times flows, and packets times links, that take less than a minute at all costs of `check_cost`."""
MAX_RECORDED = 1e9
"""Largest product of samples and flows or links of a packet run: 8 GB for each recorded quantity."""
ABOUT_LEVELS.append(about_levels)


@declares(packet_jitter="time")
@validate_parameters
@dataclass(frozen=True, repr=False, kw_only=True)
class RunSettings(Options):
    """Options of `ensemble`: parameters of `simulate` that are the same in all runs, times in s.

    Parameters
    ----------
    duration
        Simulated time in s; None: the scenario's.
    sample
        Sampling interval of the records in s; None: 10 ms, or the duration if it is shorter.
    packet_jitter
        Largest random delay of a packet at its sender, as for `simulate`. Without it the spread between runs is smaller
        than that of a packet network.

    Examples
    --------
    >>> from dfcmodel import RunSettings
    >>> RunSettings(duration="200ms", packet_jitter="1pkt")
    RunSettings(duration=0.2, packet_jitter='1pkt')
    """

    duration: WithUnit | None = param(None, "time", above=0.0, hint="in s")
    sample: WithUnit | None = param(None, "time", above=0.0, hint="in s")
    packet_jitter: WithUnit | None = None

    def __post_init__(self) -> None:
        check_packet_jitter(self.packet_jitter)


@accept_old_names(rng="seed")
@declares(packet_jitter="time")
@quantities(duration="time", sample="time", jitter="time")
@refuse_options(
    max_cpu_time="is a setting of the level: simulate(scenario, Packets(max_cpu_time='10min')), "
    "or Fluid(max_cpu_time=...)"
)
def simulate(
    scenario: Scenario,
    method: Fluid | Packets | LevelChoice | None = None,
    *,
    level: Level | None = None,
    duration: float | str | None = None,
    sample: float | str | None = None,
    jitter: float | str = 0.0,
    packet_jitter: float | str | None = None,
    seed: np.random.Generator | int | None = 0,
) -> Trajectory:
    """Simulate a scenario as a fluid in discrete time, or packet by packet; return the run as a `Trajectory`.

    Times are numbers of seconds or texts such as ``"200ms"``.

    Parameters
    ----------
    scenario
        The scenario to simulate, for example ``takano2006("1")``.
    method
        The settings of a level, ``Fluid(...)`` or ``Packets(...)``, or the result of `choose_level`; None: the defaults
        of ``level``.
    level
        ``"fluid"``, ``"packets"``, or ``"auto"``: the choice of `choose_level` by measured errors and costs;
        ``choice`` of the result says which, and why, and a warning where it is known to be wrong or nothing is known.
        None: that of ``method``, or ``"auto"`` without one.
    duration
        Simulated time in s, rounded to a step; None is the scenario's.
    sample
        Sampling interval of the records in s, rounded to whole steps. None is 1 ms, or the step if
        that is longer. The last one ends with the run and may be shorter; where no 1st to 32nd part of
        a sample divides the duration, all samples of a packet-level run are a little shorter.
    jitter
        Upper end of the uniform distribution by which each flow's start is delayed, in s; a fluid
        resolves it within a step. With the same seed both levels have the same starts.
    packet_jitter
        Upper end of the uniform distribution by which a window-controlled sender delays each packet, in s, or in times
        of a packet on the slowest link that a flow crosses: ``"1pkt"``. Packets that come during a wait are sent at its
        end, in order (``overhead_`` in ns-2). A fluid resolves waits of many packets where its step is at most a third
        of ``packet_jitter``. With ``Packets(convention="ns2")`` the waits differ from ns-2's: runs agree in
        distribution. None: 0; with ``level="auto"`` that of `choose_level`, one packet time where packets may have
        phase effects.
    seed
        Seed or generator of the feedback phases, the jitters, on/off times, RED, and the rounding of
        fractional losses to whole packets.

    Returns
    -------
    Trajectory
        The records of the run; ``status`` says whether every packet is accounted for.

    Raises
    ------
    ValueError
        For a parameter out of range, and for a run that is predicted to take too long (``max_cpu_time`` of the level).
    ConvergenceError
        When ``Fluid(accuracy=...)`` would take a finer step than allowed; ``result`` is the finest run.
    ArithmeticError
        When a number becomes NaN; the message names the time and the queue or flow.

    Examples
    --------
    >>> from dfcmodel import simulate, takano2006
    >>> run = simulate(takano2006("1", tcp="newreno"), duration=0.1, level="fluid")
    >>> run.status.ok
    True
    >>> run.efficiency.sizes["time"]
    100
    """
    instance("scenario", scenario, Scenario)
    settings = method_of(level, method)
    seed = random_source("seed", seed)
    end = run_end(scenario, duration)
    chosen = choose_level(scenario, duration=end) if settings is None else settings
    if isinstance(chosen, LevelChoice):
        run = simulate(
            scenario, chosen.method, duration=end, sample=sample, jitter=jitter,
            packet_jitter=chosen.packet_jitter if packet_jitter is None else packet_jitter, seed=seed,
        )  # fmt: skip
        warn_of_doubt(scenario, chosen)
        return with_fields(run, choice=chosen.reason)
    max_delay = in_units("jitter", jitter, "time")
    max_delay = one_number("jitter", max_delay, at_least=0.0, at_most=end, hint=f"in s; duration = {end:g}")
    wait = 0.0 if packet_jitter is None else packet_wait(scenario, packet_jitter)
    wait = one_number("packet_jitter", wait, at_least=0.0, at_most=end, hint="in s")
    interval = None
    if sample is not None:
        interval = one_number("sample", in_units("sample", sample, "time"), above=0.0)
    times = _Times(end, interval, max_delay, wait)
    if chosen.max_cpu_time is not None or not _is_short(scenario, chosen, end):
        check_cost(scenario, chosen, end)
    try:
        if isinstance(chosen, Packets):
            return _simulate_packets(scenario, chosen, times, seed)
        if chosen.accuracy is not None:
            return _refine_to_accuracy(scenario, chosen, chosen.accuracy, times, seed)
        return _simulate_fluid(scenario, chosen, times, seed)
    except ValueError as error:
        check_other_level(scenario, chosen, error)
        raise


def method_of(
    level: Level | None,
    method: Fluid | Packets | LevelChoice | str | None,
    called: str = "simulate",
) -> Fluid | Packets | LevelChoice | None:
    """Return the settings of a level; None if `choose_level` has to choose the level. ``called`` is for errors.

    Parameters
    ----------
    level
        ``"fluid"``, ``"packets"`` or ``"auto"``; None: that of ``method``, or ``"auto"`` without one.
    method
        Settings of a level, the result of `choose_level`, or None for the level's defaults. ``"auto"`` is the former
        spelling of ``level="auto"``.
    called
        Name of the function for the messages.

    Raises
    ------
    TypeError, ValueError
        For an unknown level, an object that is no method, or a level and a method that differ.

    Examples
    --------
    >>> method_of("packets", None) == Packets(), method_of("auto", None), method_of(None, Fluid()) == Fluid()
    (True, None, True)
    """
    if isinstance(method, str):
        if method not in LEVELS:
            levels = ", ".join(map(repr, LEVELS))
            raise ValueError(f"method = {method!r}: must be Fluid(...), Packets(...) or None; level is one of {levels}")
        warn_deprecated(f"{called}(method={method!r})", f"{called}(level={method!r})", stacklevel=5)
        method, level = None, method if level is None else level
    if method is not None:
        kinds = (Fluid, Packets, LevelChoice)
        instance("method", method, kinds, "Fluid(...), Packets(...), what choose_level returns, or None")
    if level is None:
        return method
    choice("level", level, LEVELS)
    if level == "auto":
        if method is not None:
            raise ValueError(f"method = {method!r}: must be None with level='auto', which chooses it")
        return None
    kind = Fluid if level == "fluid" else Packets
    if method is None:
        return kind()
    if type(method) is not kind:
        raise ValueError(f"level = {level!r}: method = {method!r} is of the other level")
    return method


class _Times(NamedTuple):
    """Times of a run, s: its end, sampling interval (None: the level's), largest delays of starts and packets."""

    end: float
    sample: float | None
    jitter: float
    packet_jitter: float


def _is_short(scenario: Scenario, method: Fluid | Packets, duration: float) -> bool:
    """Return whether a run is certainly short: few steps times flows, or few packets even on full links.

    Packets of sources without feedback are assumed to cross all links.
    """
    if isinstance(method, Fluid):
        return duration / method.step_of(scenario) * len(scenario.table) <= SHORT_STEPS
    rates = float(scenario.link_table.rates.sum())
    if not scenario.table.of_kind(WindowRule, RateRule).all():
        rates += len(scenario.link_table) * float(np.nansum(scenario.table.each("source", source_rate)))
    return rates * duration <= SHORT_PACKETS


def _refine_to_accuracy(
    scenario: Scenario,
    method: Fluid,
    accuracy: float,
    times: _Times,
    seed: np.random.Generator | int | None,
) -> Trajectory:
    """Run the fluid with ever finer steps to an error of ``accuracy``; return the last run, else ConvergenceError."""
    random = np.random.default_rng(seed)

    def run(m: int) -> Trajectory:
        finer = replace(method, steps_per_delay=m, accuracy=None)
        return _simulate_fluid(scenario, finer, times, copy.deepcopy(random))

    def goodput(run: Trajectory) -> Floats:
        shares: Floats = run.mean_goodput() / scenario.slowest_rates
        return shares

    refined = double_steps(run, goodput, accuracy, method.steps_per_delay, method.most_steps_per_delay)
    result: Trajectory = replace(refined.run, step_error=refined.error, accuracy=accuracy)
    if refined.error > accuracy:
        error = ConvergenceError(result)
        message = f"{refined.steps_per_delay} steps per delay leave an estimated error of {refined.error:.2g}"
        hint = (
            "use a larger one or most_steps_per_delay. If check_step(scenario) says chaotic, a finer step loses other "
            "packets and is no more accurate: compare the means of ensemble(scenario)"
        )
        error.args = (f"accuracy = {accuracy:g} of {scenario.name!r}: {message} of the path's rate; {hint}",)
        raise error
    return result


def _simulate_fluid(
    scenario: Scenario,
    method: Fluid,
    times: _Times,
    seed: np.random.Generator | int | None,
) -> Trajectory:
    """Run the fluid, after checks of ``sample``, and return the run."""
    end, sample, jitter, packet_jitter = times
    h = method.step_of(scenario)
    one_number("duration", end, at_least=h, hint=f"in s; the step is {h:g} s")
    if sample is None:
        sample = min(max(1e-3, h), end)
    number("sample", sample, at_least=h, at_most=end, hint=f"in s; the step is {h:g} s")
    if any((dfc := dfc_of(link.discipline)) is not None and not dfc.is_stable for link in scenario.link_table.kinds):
        warn_if_unstable(scenario)
    random = np.random.default_rng(seed)
    starts = random_starts(scenario.table, jitter, random)
    plan = compile_scenario(scenario, method, random, duration=end, starts=starts, packet_jitter=packet_jitter)
    every = max(1, round(sample / h))
    steps = max(1, round(end / h))
    record = advance(plan, steps, every)
    run = trajectory(plan, record, starts, steps, every, packet_jitter)
    return run if plan.scenario is scenario else with_fields(run, scenario=scenario)


def _simulate_packets(
    scenario: Scenario,
    method: Packets,
    times: _Times,
    seed: np.random.Generator | int | None,
) -> Trajectory:
    """Check ``sample``, run the packet level and return the run; ``method.seed``, unless None, replaces ``seed``."""
    from dfcmodel.packets.simulation import simulate_packets

    end = times.end
    sample = min(1e-3, end) if times.sample is None else times.sample
    number("sample", sample, above=0.0, at_most=end, hint="in s, at most the duration")
    flows, links = len(scenario.table), len(scenario.link_table)
    smallest = end * (flows + links) / MAX_RECORDED
    if sample < smallest:
        amount = f"{end / sample:.2g} samples of {flows} flows and {links} links"
        raise ValueError(f"sample = {sample:g}: must be at least {smallest:.2g}, in s; {amount}")
    random = np.random.default_rng(seed if method.seed is None else method.seed)
    starts = random_starts(scenario.table, times.jitter, random) if times.jitter else None
    return simulate_packets(
        scenario, method.with_seed(random), duration=end, sample=sample, starts=starts,
        packet_jitter=times.packet_jitter,
    )  # fmt: skip
