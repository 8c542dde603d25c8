"""Constants of the JAX model: queues along the paths, delays in steps, feedback clocks, pauses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.engine.settings import ROUNDING, integer_and_fraction, nearest_steps
from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.network.flows import SYN_WITH_DATA
from dfcmodel.network.level_options import TWIN, levels_of, refuse_flow_options
from dfcmodel.network.queueing.disciplines import dfc_of
from dfcmodel.theory.clocks import tick_phases
from hopflow.checks import number
from responsefn import AIMD, NewReno, Reno, Tahoe

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dfcmodel.network.networks import Scenario

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Shape", "TwinPlan", "check_scenario", "plan_of", "shape_of"]


class TwinPlan(NamedTuple):
    """Constants of a scenario for the loop, in steps: F flows over L links, C queues, each of a flow at a link."""

    step: float  # s
    flow_of: Ints  # (C,)
    link_of: Ints  # (C,)
    before: Ints  # (C,) the queue before on the path, -1: the host
    after: Ints  # (C,) the next queue, -1: the receiver
    buffer_of: Ints  # (C,) representative of the queues with the same buffer
    bounded: NDArray[np.bool_]  # (C,) whether the buffer is bounded: interfaces of hosts drop nothing
    lag: Ints  # (C,) whole steps to the next queue or the receiver
    part: Floats  # (C,) of a step's departures that arrive a step later
    delay: Floats  # (L,) of the links
    first: Ints  # (F,) queue
    last: Ints  # (F,)
    access_lag: Ints  # (F,) from the host to its first queue
    access_part: Floats  # (F,)
    start: Ints  # (F,)
    ack_delay: Ints  # (F,)
    host: Ints  # (F,) 0 shaped, 1 unshaped, 2 direct
    constant: NDArray[np.bool_]  # (F,) constant-rate sources
    increase: Floats  # (F,) packets per round trip, of the windows
    # diffusion-type flow control
    diffuses: NDArray[np.bool_]  # (L,)
    periods: Ints  # (L,) of feedback
    feedback_phase: Ints  # (L,) step of its period of feedback to a node
    host_phase: Ints  # (F,) the same for a shaped host
    # P pairs of a pausing queue and a paused link or host
    pausing: Ints  # (P,) link
    paused: Ints  # (P,) link, or L + flow for a host
    wait: Ints  # (P,) whole steps until a pause takes effect
    wait_part: Floats  # (P,) and the part of a step beyond


class Shape(NamedTuple):
    """Static arguments of the compiled loop: features of the links, and lengths of memories and of the run."""

    diffuses: bool  # links with DFC
    in_order: bool  # links that serve flows in order of arrival
    pauses: bool  # IEEE 802.3x
    oldest: int  # steps since the oldest pause message that may still count
    slots: int  # steps that the wires remember
    acks: int  # steps of the longest delay of an acknowledgement
    waiting: int  # steps for which orders of arrival are remembered
    steps: int  # in all
    every: int  # in a sample; the last one may have fewer
    smoothing: float


def check_scenario(scenario: Scenario) -> None:
    """Raise ValueError or TypeError for parts of a scenario that the twin does not support.

    Raises
    ------
    ValueError
        For a discipline, or one of its options, that the twin does not have.
    TypeError
        For a source that is not smooth.
    """
    for element in scenario.all_elements:
        msg = "the twin has no elements of paths; use simulate"
        raise ValueError(f"elements: {type(element).__name__} at {element.link}: {msg}")
    for link in scenario.links:
        rule: Any = link.discipline
        if TWIN not in levels_of(type(rule)):
            msg = "must be DFC, FIFO or Pause, the twin has no other"
            raise ValueError(f"discipline of link {link.name} = {rule!r}: {msg}")
        if rule.diffuses and rule.queue_per != "flow":
            raise ValueError(f"per of link {link.name} = {rule.queue_per!r}: must be 'flow'")
        if rule.pauses == "link":
            if rule.manager is not None:
                msg = "must be None, the twin has no losses and no marks"
                raise ValueError(f"manager of link {link.name} = {rule.manager!r}: {msg}")
            if rule.storm is not None:
                msg = "must be None, the twin has no faults"
                raise ValueError(f"storm = {rule.storm:g} of link {link.name}: {msg}")
            if rule.quanta is not None:
                msg = "must be None (ON and OFF messages)"
                raise ValueError(f"quanta = {rule.quanta} of link {link.name}: {msg}")
    for flow in scenario.flows:
        if type(flow.source) not in (CBR, AIMD, Reno, NewReno, Tahoe):
            kinds = "CBR, AIMD, Reno, NewReno or Tahoe"
            raise TypeError(f"source of flow {flow.name!r} = {flow.source!r}: must be {kinds}")
        if flow.handshake == SYN_WITH_DATA:
            msg = "must be True or False, the twin has no SYN with data"
            raise ValueError(f"handshake of flow {flow.name!r} = {flow.handshake!r}: {msg}")
        refuse_flow_options(flow, TWIN)


def plan_of(scenario: Scenario, step: float, seed: int = 0, phases: ArrayLike | None = None) -> TwinPlan:
    """Return the constants of a scenario for a time step, s; ``phases``: of the nodes' feedback, steps, None: drawn.

    Parameters
    ----------
    scenario
        Scenario that `check_scenario` has accepted.
    step
        Time step in s.
    seed
        Seed of random feedback phases, drawn as by `simulate`.
    phases
        Phases of the nodes' clocks in steps, in the order of ``scenario.nodes``; None: as in the scenario.
    """
    links, flows = scenario.links, scenario.flows
    delay = np.array([_delay_in_steps(link, step) for link in links])
    paths = [scenario.path_index(flow) for flow in flows]
    queues = [(f, n) for f, path in enumerate(paths) for n in path]
    number_of = {queue: c for c, queue in enumerate(queues)}
    flow_of, link_of = np.array(queues, dtype=np.int64).T
    stops = np.cumsum([len(path) for path in paths])
    first, last = stops - [len(path) for path in paths], stops - 1
    before, after = np.arange(len(queues)) - 1, np.arange(len(queues)) + 1
    before[first], after[last] = -1, -1
    groups = {n: number_of[f, n] for f, n in reversed(queues)}
    starts = np.array([flow.start for flow in flows]) + scenario.handshake_times()
    direct = np.array([scenario.enters_at_once(flow) for flow in flows])
    access = np.where(direct, 0.0, delay[link_of[first]])
    forward = delay[link_of].astype(float)
    back = np.array([delay[list(path)].sum() for path in paths]) + access
    ack_steps = np.maximum(1, np.floor(back + ROUNDING)).astype(np.int64)
    forward[last] += np.maximum(0.0, back - ack_steps)  # the remaining part of a step, as in the engine
    lag, part = integer_and_fraction(forward)
    access_lag, access_part = integer_and_fraction(access)
    periods = np.maximum(1, np.round(delay)).astype(np.int64)
    feedback_phase, host_phase = _phases(scenario, periods, link_of[first], seed, phases)
    return TwinPlan(
        step=step,
        flow_of=flow_of,
        link_of=link_of,
        before=before,
        after=after,
        buffer_of=np.array([groups[n] if links[n].shared else c for c, (_, n) in enumerate(queues)]),
        bounded=np.array([n not in scenario.interfaces for n in link_of.tolist()]),
        lag=lag,
        part=part,
        delay=delay,
        first=first,
        last=last,
        access_lag=access_lag,
        access_part=access_part,
        start=np.array([round(start / step) for start in starts.tolist()]),
        ack_delay=ack_steps,
        host=np.where(direct, 2, [int(scenario.host_of(flow) != "shaped") for flow in flows]),
        constant=np.array([isinstance(flow.source, CBR) for flow in flows]),
        increase=np.array([float(getattr(getattr(flow.source, "params", None), "a", 1.0)) for flow in flows]),
        diffuses=np.array([link.discipline.diffuses for link in links]),
        periods=periods,
        feedback_phase=feedback_phase,
        host_phase=host_phase,
        **_pauses(scenario, delay, step),
    )


def shape_of(scenario: Scenario, plan: TwinPlan, steps: int, every: int, smoothing: float) -> Shape:
    """Return the static arguments of a run of ``steps`` steps, with a sample per ``every`` steps."""
    pauses = len(plan.pausing) > 0
    used = np.unique(plan.link_of).tolist()
    in_order = [n for n in used if not scenario.links[n].discipline.diffuses]
    times = (scenario.room_of(n) / scenario.links[n].rate for n in in_order)
    longest = min(max(times, default=0.0) / plan.step, steps)  # interfaces have room without bound
    waiting = steps + 1 if pauses else min(steps + 1, math.ceil(longest) + 4)
    return Shape(
        diffuses=bool(plan.diffuses[plan.link_of].any()),
        in_order=bool(in_order),
        pauses=pauses,
        oldest=int(plan.wait.max(initial=0)) + 2,
        slots=int(max(plan.lag.max(), plan.access_lag.max())) + 2,
        acks=int(plan.ack_delay.max()),
        waiting=waiting,
        steps=steps,
        every=every,
        smoothing=smoothing,
    )


def _delay_in_steps(link: Any, step: float) -> float:
    """Return a link's delay in steps; a whole number with DFC, whose feedback period it is."""
    if link.discipline.diffuses:
        return nearest_steps(f"delay of link {link.name}", link.delay, step)
    delay = float(link.delay / step)
    rounded = max(1, round(delay))
    return rounded if abs(delay - rounded) < ROUNDING else delay


def _phases(scenario: Scenario, periods: Ints, entry: Ints, seed: int, phases: ArrayLike | None) -> tuple[Ints, Ints]:
    """Return the feedback phases of links' target nodes, (L,), and of shaped hosts, (F,), in steps, given or drawn."""
    links, first = scenario.links, periods[entry]
    if phases is not None:
        periods_of: dict[Any, int] = {}
        for end in ("target", "source"):  # the period of an input link, otherwise of an output link
            for link, period in zip(links, periods.tolist(), strict=True):
                periods_of.setdefault(getattr(link, end), period)
        bounds = np.array([periods_of[node] for node in scenario.nodes])
        values = number("phases", phases, at_least=0.0).astype(int)
        if values.shape != bounds.shape or (values >= bounds).any():
            raise ValueError(f"phases = {phases!r}: must be below {bounds.tolist()}")
        at = dict(zip(scenario.nodes, values, strict=True))
        hosts = [at[flow.path[0]] for flow in scenario.flows]
        return np.array([at[link.target] for link in links]) % periods, np.array(hosts) % first
    drawn = tick_phases(scenario, seed)
    random = [(law := dfc_of(n.discipline)) is not None and law.phases == "random" for n in links]
    feedback = np.array([int(drawn[n.target] * d) for n, d in zip(links, periods, strict=True)])
    hosts = [int(drawn[f.path[0]] * d) for f, d in zip(scenario.flows, first, strict=True)]
    return np.where(random, feedback, 0), np.where(np.array(random)[entry], np.array(hosts), 0)


def _pauses(scenario: Scenario, delay: Floats, step: float) -> dict[str, Any]:
    """Return pairs of a pausing link and a paused link (host: L + flow) with delays, steps, by field of `TwinPlan`."""
    rows = []
    for n, link in enumerate(scenario.links):
        rule: Any = link.discipline
        if rule.pauses != "link":
            continue
        for u in scenario.feeders(n):
            if u < 0 and scenario.enters_at_once(scenario.flows[-1 - u]):
                continue
            wait = max(1.0, delay[u if u >= 0 else n] + rule.signalling / step)
            rows.append((n, u if u >= 0 else len(scenario.links) - 1 - u, wait))
    pausing, paused, waits = np.array(rows).reshape(-1, 3).T
    wait, part = integer_and_fraction(waits)
    return {
        "pausing": pausing.astype(np.int64),
        "paused": paused.astype(np.int64),
        "wait": wait,
        "wait_part": part,
    }
