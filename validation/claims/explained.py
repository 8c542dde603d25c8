"""The scenarios of claims that run at both levels, and what `dfcmodel.explain` compares on them.

``hopflow explain D05`` computes one; ``python -m validation.generate packets/explained-claims`` bundles all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dfcmodel import Flow, Fluid, Packets, takano2006
from dfcmodel.results import Trajectory
from hopflow.checks import choice
from responsefn import Reno
from validation.claims.kaneko2007 import several_hops
from validation.claims.malhotra2005 import level
from validation.claims.takano2006 import queues, studies, unequal_delays

__all__ = ["SCENARIOS", "arguments"]

SPREAD = 3.0
"""Of the unequal delays, the smaller one of the claim."""
SHORT, WARM, END = 0.1, 50.0, 150.0
"""TCP over pause: round-trip time, warm-up and end in s, shorter than the runs that are judged."""


def efficiency_of_the_target(run: Trajectory) -> float:
    """Return the target's mean efficiency from the start of the background flow on."""
    return float(run.mean_efficiency(studies.START)[0])


def swing_of_the_target(run: Trajectory) -> float:
    """Return the standard deviation of its efficiency over time, over the mean."""
    late = run.efficiency.to_numpy()[0, run.time > studies.START]
    return float(late.std() / late.mean())


def share_of_node_15(run: Trajectory) -> float:
    """Return node 15's part of all packets stored after 0.1 s."""
    return queues.of_run(run).share_of_merge


def least_at_node_15(run: Trajectory) -> float:
    """Return the packets at node 15 when it was emptiest after it had been full."""
    return queues.of_run(run).left


def late_efficiency_of_the_target(run: Trajectory) -> float:
    """Return the target's mean efficiency in the second half of the run."""
    return float(run.mean_efficiency(unequal_delays.SINCE)[0])


def goodput(run: Trajectory) -> float:
    """Return the goodput of all flows after the warm-up, packets/s."""
    late = run.time > WARM
    return float(np.ptp(run.delivered[:, late], axis=1).sum() / np.ptp(run.time[late]))


def over_one_link(run: Trajectory) -> float:
    """Return the mean part of a link that the flows over one link have."""
    return _part(run, 1)


def over_three_links(run: Trajectory) -> float:
    """Return the mean part of a link that the flows over three links have."""
    return _part(run, several_hops.HOPS)


def _part(run: Trajectory, hops: int) -> float:
    ends = [several_hops.BEGIN, several_hops.END]
    flows = (2 * hops - 2, 2 * hops - 1)
    sent = sum(np.diff(np.interp(ends, run.time, run.delivered[f]))[0] for f in flows)
    return float(sent) / 2 / (ends[1] - ends[0]) / run.scenario.links[0].rate


def _without_dfc(name: str) -> dict[str, Any]:
    scenario = takano2006(name, dfc=False)
    link = scenario.links[0]
    steps = min(studies.STEPS, int(link.delay * link.rate))
    measures = (efficiency_of_the_target, swing_of_the_target, "losses")
    return {"scenario": scenario, "measures": measures, "jitter": studies.SPREAD,
            "fluid": Fluid(steps_per_delay=steps)}  # fmt: skip


def _queues_without_dfc() -> dict[str, Any]:
    measures = (share_of_node_15, least_at_node_15, "losses")
    return {"scenario": takano2006("4", dfc=False), "measures": measures, "duration": 0.5,
            "jitter": studies.SPREAD}  # fmt: skip


def _unequal_delays() -> dict[str, Any]:
    scenario, steps = unequal_delays.network(SPREAD, seed=1)
    return {"scenario": scenario, "measures": (late_efficiency_of_the_target, "losses"),
            "duration": unequal_delays.END, "jitter": 20e-6,
            "fluid": Fluid(steps_per_delay=steps)}  # fmt: skip


def _parking_lot() -> dict[str, Any]:
    flows = 2 * several_hops.HOPS
    return {"scenario": several_hops.lot("reno", 0, np.zeros(flows)),
            "measures": (over_one_link, over_three_links, "losses"), "jitter": 0.1,
            "fluid": Fluid(recovery="sack"), "packets": Packets(recovery="sack")}  # fmt: skip


def _over_pause() -> dict[str, Any]:
    flow = Flow("", level.PATH, Reno(), level.WINDOW)
    return {"scenario": level.two_bridges(level.Bridges(SHORT), END, 0, flow),
            "measures": (goodput, "losses", "paused"), "jitter": 1.0, "duration": END}  # fmt: skip


SCENARIOS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "D04": lambda: _without_dfc("1"),
    "D05": lambda: _without_dfc("2"),
    "D06": lambda: _without_dfc("3"),
    "D10": _queues_without_dfc,
    "D18": _unequal_delays,
    "K10": _parking_lot,
    "M14": _over_pause,
}
"""By claim: the arguments of `dfcmodel.explain`."""


def arguments(id: str) -> dict[str, Any]:
    """Return the arguments of `dfcmodel.explain` for a claim, except runs and seed.

    Raises
    ------
    ValueError
        For a claim without a scenario at both levels.

    Examples
    --------
    >>> arguments("D05")["scenario"].name
    'takano2006/2'
    """
    return SCENARIOS[choice("claim", id, SCENARIOS)]()
