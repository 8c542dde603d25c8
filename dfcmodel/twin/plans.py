"""Constants of the JAX model: time step, delays in steps, feedback clocks, paths of the flows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dfcmodel.network.disciplines import Pause
from dfcmodel.network.flows import CBR
from dfcmodel.theory.clocks import tick_phases
from dfcmodel.theory.law import law_of
from hopflow.checks import number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dfcmodel.network.networks import Scenario

__all__ = ["Shape", "TwinPlan", "common_pause", "plan_of"]


class TwinPlan(NamedTuple):
    """F flows on a chain of L links; times in steps."""

    step: float  # s
    periods: NDArray[np.int64]  # (L,) the links' delays
    entry: NDArray[np.int64]  # (F,) first link
    last: NDArray[np.int64]  # (F,)
    start: NDArray[np.int64]  # (F,)
    ack_delay: NDArray[np.int64]  # (F,)
    host: NDArray[np.int64]  # (F,) 0 shaped, 1 unshaped, 2 direct
    constant: NDArray[np.bool_]  # (F,) constant-rate sources
    increase: NDArray[np.float64]  # (F,) packets per round trip, of the windows
    # diffusion-type flow control
    feedback_phase: NDArray[np.int64]  # (L,) step of its period of feedback to a node
    host_phase: NDArray[np.int64]  # (F,) the same for a shaped host
    # pause
    pauses: NDArray[np.bool_]  # (L,) whether a link's queue pauses the previous link
    pause_delay: NDArray[np.int64]  # (L,) until that takes effect
    host_delay: NDArray[np.int64]  # (F,) until it takes effect at the flow's host


class Shape(NamedTuple):
    """Static arguments of the compiled loop."""

    pause: bool  # IEEE 802.3x; otherwise DFC
    oldest: int  # steps since the oldest pause message that may still count
    slots: int  # steps of the longest link
    acks: int  # steps of the longest delay of an acknowledgement
    steps: int  # in all
    every: int  # in a sample; the last one may have fewer
    smoothing: float


def common_pause(scenario: Scenario) -> Pause | None:
    """Return the common `Pause` of all links; None if they have a common DFC.

    Raises
    ------
    ValueError
        If links are not one chain, differ, or have another discipline.
    """
    links = scenario.links
    for one, next_ in itertools.pairwise(links):
        if one.target != next_.source:
            raise ValueError(f"links: must be one chain, but {one.name} leads to {next_.name}")
    rule = links[0].discipline
    if not isinstance(rule, Pause):
        for flow in range(len(scenario.flows)):
            law_of(scenario, flow)
        return None
    for link in links:
        if (link.rate, link.buffer, link.discipline) != (links[0].rate, links[0].buffer, rule):
            msg = f"must be equal, but differ between {links[0].name} and {link.name}"
            raise ValueError(f"rate, buffer, discipline: {msg}")
    if rule.manager is not None:
        raise ValueError(
            f"manager = {rule.manager!r}: must be None, the twin has no losses and no marks"
        )
    if rule.storm is not None:
        raise ValueError(f"storm = {rule.storm:g}: must be None, the twin has no faults")
    if rule.quanta is not None:
        raise ValueError(f"quanta = {rule.quanta}: must be None (ON and OFF messages)")
    return rule


def plan_of(
    scenario: Scenario, step: float, rng: int = 0, phases: ArrayLike | None = None
) -> TwinPlan:
    """Return the plan of a scenario for a time step.

    Parameters
    ----------
    scenario
        A chain, see `Twin`.
    step
        Time step in s.
    rng
        Seed of random feedback phases, drawn as by `simulate`.
    phases
        Phases of the nodes' clocks in steps, the receiver's last, shape (L + 1,); None: those of the
        scenario.
    """
    links, flows = scenario.links, scenario.flows
    periods = np.array([round(link.delay / step) for link in links])
    paths = [scenario.path_index(flow) for flow in flows]
    entry = np.array([path[0] for path in paths])
    first = periods[entry]
    rule = common_pause(scenario)
    feedback_phase, host_phase = np.zeros_like(periods), np.zeros_like(first)
    if phases is not None:
        most = np.concatenate([periods[:1], periods])
        given = number("phases", phases, at_least=0.0).astype(int)
        if given.shape != most.shape or (given >= most).any():
            raise ValueError(f"phases = {phases!r}: must be below {most.tolist()}")
        feedback_phase, host_phase = given[1:], given[entry] % first
    elif rule is None and not law_of(scenario).synchronous:
        drawn = tick_phases(scenario, rng)
        feedback_phase = np.array(
            [int(drawn[n.target] * d) for n, d in zip(links, periods, strict=True)]
        )
        nodes = [flow.path[0] for flow in flows]
        host_phase = np.array([int(drawn[n] * d) for n, d in zip(nodes, first, strict=True)])
    direct = np.array([flow.host == "direct" for flow in flows])
    signalling = 0 if rule is None else round(rule.signalling / step)
    follows = {next_ for path in paths for next_ in path[1:]}
    return TwinPlan(
        step=step,
        periods=periods,
        entry=entry,
        last=np.array([path[-1] for path in paths]),
        start=np.array([round(flow.start / step) for flow in flows]),
        ack_delay=np.array([sum(periods[list(path)]) for path in paths]) + first * ~direct,
        host=np.array([("shaped", "unshaped", "direct").index(flow.host) for flow in flows]),
        constant=np.array([isinstance(flow.source, CBR) for flow in flows]),
        increase=np.array(
            [float(getattr(getattr(flow.source, "params", None), "a", 1.0)) for flow in flows]
        ),
        feedback_phase=feedback_phase,
        host_phase=host_phase,
        pauses=np.array([n in follows for n in range(len(links))]),
        pause_delay=np.roll(periods, 1) + signalling,
        host_delay=first + signalling,
    )
