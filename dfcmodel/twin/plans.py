"""What is fixed in a twin of the fluid engine: the step, delays in steps, clocks, who is where."""

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

__all__ = ["Shape", "TwinPlan", "alike", "plan_of"]


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
    hears: NDArray[np.int64]  # (L,) when a link's node hears, in the link's period
    host_hears: NDArray[np.int64]  # (F,) and a shaped host, in the period of its first link
    # pause
    pauses: NDArray[np.bool_]  # (L,) whether a link's queue pauses the link before it
    pause_delay: NDArray[np.int64]  # (L,) after which that one stops
    host_delay: NDArray[np.int64]  # (F,) and a host at the flow's first link


class Shape(NamedTuple):
    """What the compiled loop depends on beside the shapes of its arguments."""

    pause: bool  # IEEE 802.3x; otherwise DFC
    oldest: int  # steps since the oldest pause message that may still count
    slots: int  # steps of the longest link
    acks: int  # steps of the longest way back
    samples: int
    every: int
    smoothing: float


def alike(scenario: Scenario) -> Pause | None:
    """Return the `Pause` that all links have; None where all have one DFC.

    Raises
    ------
    ValueError
        Where links are not one chain, or differ, or have another discipline.
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
            msg = f"must be alike, but differ between {links[0].name} and {link.name}"
            raise ValueError(f"rate, buffer, discipline: {msg}")
    if rule.quanta is not None:
        raise ValueError(f"quanta = {rule.quanta}: must be None, ON and OFF messages")
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
        In s.
    rng
        Seed of the feedback phases where they are random, drawn as `simulate` does.
    phases
        Of the nodes' clocks in steps, the receiver's last, shape (L + 1,); None: by the scenario.
    """
    links, flows = scenario.links, scenario.flows
    periods = np.array([round(link.delay / step) for link in links])
    paths = [scenario.path_index(flow) for flow in flows]
    entry = np.array([path[0] for path in paths])
    first = periods[entry]
    rule = alike(scenario)
    hears, host_hears = np.zeros_like(periods), np.zeros_like(first)
    if phases is not None:
        most = np.concatenate([periods[:1], periods])
        given = number("phases", phases, at_least=0.0).astype(int)
        if given.shape != most.shape or (given >= most).any():
            raise ValueError(f"phases = {phases!r}: must be below {most.tolist()}")
        hears, host_hears = given[1:], given[entry] % first
    elif rule is None and not law_of(scenario).synchronous:
        drawn = tick_phases(scenario, rng)
        hears = np.array([int(drawn[n.target] * d) for n, d in zip(links, periods, strict=True)])
        nodes = [flow.path[0] for flow in flows]
        host_hears = np.array([int(drawn[n] * d) for n, d in zip(nodes, first, strict=True)])
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
        hears=hears,
        host_hears=host_hears,
        pauses=np.array([n in follows for n in range(len(links))]),
        pause_delay=np.roll(periods, 1) + signalling,
        host_delay=first + signalling,
    )
