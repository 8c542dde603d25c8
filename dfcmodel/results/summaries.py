"""The rows of a run's summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.flows import HOSTS
from dfcmodel.network.queueing.pause_responses import ROUNDING, rate_in_table
from dfcmodel.results.completions.slowdown_groups import transferred_packets
from dfcmodel.results.completions.unfinished import describe_unfinished
from dfcmodel.results.flow_recoveries import recoveries_differ
from dfcmodel.results.limits import messages_by_topic
from dfcmodel.results.loss_summaries import largest_queue, losses_text
from hopflow.checks import count_of, first_of
from hopflow.results import names_beside
from hopflow.units import readable_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dfcmodel.network.flows import Flow
    from dfcmodel.network.networks import Scenario

__all__ = ["first_flows", "response_substitutes", "summary_rows"]

ABOUT_LEVELS: list[Callable[[Any], str]] = []
"""Functions that return a line on both levels for the summary of a fluid run. `dfcmodel.simulation` adds one."""
MAX_ROWS = 10
"""Largest number of flows that a table lists."""


def first_flows(scenarios: Iterable[Scenario]) -> list[str]:
    """Return the distinct names of flows of the scenarios, in order, at most `MAX_ROWS`."""
    names = (flow.name for scenario in scenarios for flow in scenario.flows)
    return list(dict.fromkeys(names))[:MAX_ROWS]


def _source(flow: Flow, recovery: str, *, differ: bool) -> str:
    """Return the class name of a flow's source; with the recovery if the method sets it or recoveries differ."""
    name = type(flow.source).__name__
    of_rule = getattr(flow.source, "recovery", recovery)
    differs = recovery not in ("", of_rule) or (differ and recovery)
    return f"{name} with recovery {recovery!r}" if differs else name


def response_substitutes(scenario: Scenario) -> dict[float, float]:
    """Return link rates without a response time of their own, b/s, with the rate whose time is assumed, b/s.

    Examples
    --------
    >>> from dfcmodel import CBR, PFC, Flow, Scenario, chain
    >>> from hopflow import gbps
    >>> links = chain(3, rate=gbps(24), delay=1e-6, buffer=500, discipline=PFC(counts="switch"))
    >>> response_substitutes(Scenario("odd rate", links, [Flow("a", (1, 2, 3), CBR(1e6))]))
    {24000000000.0: 25000000000.0}
    """
    rates: dict[float, float] = {}
    for n, link in enumerate(scenario.links):
        if getattr(link.discipline, "headroom", 0.0) is not None:
            continue
        for u, _, _ in scenario.ingress(n):
            bits = 8.0 * scenario.packet_size * scenario.feeding(u).rate
            listed = float(rate_in_table(bits))
            if abs(bits - listed) > ROUNDING * listed:
                rates[float(f"{bits:.12g}")] = listed
    return dict(sorted(rates.items()))


def _about_responses(assumed: dict[float, float]) -> str:
    """Return a line on rates without a response time of their own; ``assumed`` maps them to other rates, b/s."""
    pairs = [f"{_gbps(rate)} as {_gbps(listed)}" for rate, listed in assumed.items()]
    return f"IEEE 802.3 has no response time for these rates: {first_of(pairs, 3)}"


def _gbps(bits: float) -> str:
    """Return a rate in b/s as a string in Gb/s."""
    return f"{bits / 1e9:.4g} Gb/s"


def level_of(run: Any) -> str:
    """Return "fluid" or "packets", or with ``level="auto"`` the chosen level and the reason."""
    return run.choice or ("fluid" if run.step else "packets")


def summary_rows(run: Any) -> dict[str, object]:
    """Return the rows of `Trajectory.summary`, texts or objects with a text, by name.

    A flow with the name of another row has a row such as ``step (flow)``.
    """
    scenario = run.scenario
    before: dict[str, object] = {
        "level": "; ".join([level_of(run), *(about(run) for about in ABOUT_LEVELS if run.step)]),
        "status": run.status,
        "scenario": f"{scenario.name}, {count_of(len(scenario.nodes), 'node')}, "
        f"{count_of(len(scenario.flows), 'flow')}, {_about_hosts(scenario)}",
    }
    rows = dict[str, object]()
    if line := describe_unfinished(run, run.unfinished):
        rows["unfinished"] = line
    rows |= _about_pauses(run)
    if run.notifications is not None:
        counts = run.notifications[run.notifications > 0]
        extremes = f", {counts.min()} to {counts.max()} each" if len(counts) else ""
        rows["congestion notifications"] = f"{counts.sum()}, to {count_of(len(counts), 'flow')}{extremes}"
    if losses := run.lossless_losses:
        more = f"; and at {count_of(len(losses) - 1, 'other place')}" if len(losses) > 1 else ""
        rows["lost in a lossless class"] = f"{losses[0]}{more}"
    if losses_by_node := losses_text(run):
        rows["lost at"] = losses_by_node
    if assumed := response_substitutes(scenario):
        rows["headroom of PFC"] = _about_responses(assumed)
    rows["largest queue"] = largest_queue(run)
    rows["imbalance"] = f"{run.imbalance.max():.1e} of the packets emitted"
    took = f"{run.time[-1]:g} s simulated in {run.seconds:.2f} s"
    rows |= {"step": f"{run.step:g} s, {took}"} if run.step else {"packet by packet": took}
    if run.step_error is not None:
        rows["error from the step"] = f"{run.step_error:.2g} of the path's rate, estimated"
    for topic, message in messages_by_topic(run.limits).items():
        rows[f"limit, {topic}"] = f"{message}; compare with packets" if run.step else message
    flows = _about_flows(run)
    names = names_beside(flows, {*before, *rows}, "flow")
    return {**before, **{names[name]: text for name, text in flows.items()}, **rows}


def _about_hosts(scenario: Scenario) -> str:
    """Return the kinds of the flows' hosts as a string, with the numbers of flows if there are several."""
    counts = {kind: int(scenario.host_is(kind).sum()) for kind in HOSTS}
    used = {kind: count for kind, count in counts.items() if count}
    if len(used) == 1:
        return f"host {next(iter(used))!r}"
    return "hosts " + ", ".join(f"{kind!r} of {count_of(n, 'flow')}" for kind, n in used.items())


def _about_flows(run: Any) -> dict[str, object]:
    """Return a text for each of the first flows, transfer time or mean goodput, and one for the others, by name."""
    flows = run.scenario.flows
    recoveries = run.recoveries or [""] * len(flows)
    differ = recoveries_differ(recoveries)
    may_be_marks = bool(run.scenario.by_link(lambda link: link.discipline.may_mark).any())
    event = "loss or mark event" if may_be_marks else "loss event"
    lost, took = run.lost_by_flow, run.finished - run.started
    goodput = run.mean_goodput()
    means = run.mean_efficiency() if run.scenario.has_efficiency else None
    packets = transferred_packets(run)
    rows: dict[str, object] = {}
    for f, flow in enumerate(flows[:MAX_ROWS]):
        achieved = (
            _goodput(run.scenario, f, goodput[f])
            + ("" if means is None else f", efficiency {means[f]:.3f} of the path's bandwidth-delay product")
            if np.isnan(took[f])
            else f"{packets[f]:g} packets in {readable_text(took[f], 's')}"
        )
        rows[f"{flow.name}"] = (
            f"{_source(flow, recoveries[f], differ=differ)}: {achieved}, lost {lost[f]:.0f} packets, "
            f"{count_of(run.loss_events[f], event)}, "
            f"{'' if run.marks is None else count_of(run.marks[f], 'mark') + ', '}"
            f"{count_of(run.timeouts[f], 'timeout')}"
        )
    if len(flows) > MAX_ROWS:
        complete = not np.isnan(took[MAX_ROWS:]).any()
        low, median, high = np.quantile((took if complete else goodput)[MAX_ROWS:], (0, 0.5, 1))
        achieved = (
            f"complete in {readable_text(low, 's')} to {readable_text(high, 's')}, median {readable_text(median, 's')}"
            if complete
            else f"goodput {low:.4g} to {high:.4g}, median {median:.4g} packets/s"
        )
        rows[count_of(len(flows) - MAX_ROWS, "other flow")] = (
            f"{achieved}, lost {lost[MAX_ROWS:].sum():.0f} packets, "
            f"{count_of(run.timeouts[MAX_ROWS:].sum(), 'timeout')}"
        )
    return rows


def _goodput(scenario: Scenario, f: int, value: float) -> str:
    """Return a goodput of flow f, packets/s, as a string, also in bits/s and as part of its path's slowest rate."""
    part = value / scenario.slowest_rates[f]
    bits = readable_text(8.0 * scenario.packet_size * value, "bit/s")
    return f"goodput {value:.4g} packets/s ({bits}, {part:.3f} of the slowest link)"


def _about_pauses(run: Any) -> dict[str, object]:
    """Return the deadlock, the storm, and a text on number and longest chain of pauses, by name; {} without pauses."""
    from dfcmodel.results.pauses import chain_of_pauses

    if run.paused is None or not len(run.paused):
        return {}
    rows: dict[str, object] = {} if run.deadlock is None else {"deadlock": run.deadlock}
    rows |= {} if run.storm is None else {"storm": run.storm}
    links, spread = len(set(run.paused["link"].tolist())), chain_of_pauses(run)
    faults = int(run.paused["fault"].sum())
    by_faults = f", {faults} by faults" if faults else ""
    chain = f"longest chain at a time: {', '.join(spread)}"
    rows["pauses"] = f"{len(run.paused)}{by_faults}, on {count_of(links, 'link')}; {chain}"
    return rows
