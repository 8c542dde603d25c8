"""Elements of paths in the arrays of the compiled engine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.path_elements import (
    Aggregation,
    BurstLoss,
    DelayTrace,
    Jitter,
    PathElement,
    PeriodicLoss,
    Policer,
    RateTrace,
    Reordering,
)
from dfcmodel.packets.kernel.layout import ELEMENT, VARIES
from dfcmodel.packets.kernel.links.path_elements import (
    BATCH,
    CONSTANT,
    DELAYS,
    HAS_ELEMENTS,
    OVERTAKEN,
    PERIODIC,
    SLOTS,
    STATES,
    TOKENS,
    UNIFORM,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["lay_out_elements"]


def lay_out_elements(plan: PacketPlan, port_rows: NDArray[Any], hops: int) -> dict[str, Any]:
    """Return the arrays of elements, and set what their ports have of them.

    Parameters
    ----------
    plan, port_rows
        Whose ports they are.
    hops
        Rows of the table of hops.
    """
    path, steps = plan.path, list[Any]()
    element = np.zeros(len(path.elements), ELEMENT)
    element["period"] = math.inf
    for row, given in zip(element, path.elements, strict=True):
        _write(row, given)
        if isinstance(given, (DelayTrace, RateTrace)):
            values = np.array(given.delays if isinstance(given, DelayTrace) else given.rates)
            if isinstance(given, RateTrace):
                n = plan.scenario.link_table.names.index(given.link)
                values = values / plan.scenario.links[n].rate
            row["row"], row["rows"], row["period"] = len(steps), len(given.times), given.period
            steps += list(zip(given.times, values.tolist(), strict=True))
    ends = len(path.chains)  # the last place ends a chain: that of hops without elements
    chain_of = np.full(hops, ends, dtype=np.int64)
    chain_of[plan.hops.row] = np.where(path.first >= 0, path.first, ends)
    rated = np.flatnonzero(path.rates >= 0)
    port_rows["faults"][rated] |= VARIES
    port_rows["plain"][:-1][path.at_ports(plan.hops.port)] = HAS_ELEMENTS
    return {
        "element": element,
        "steps": np.array(steps if steps else [(0.0, 0.0)]),
        "chain": np.array([*path.chains, -1], dtype=np.int64),
        "chain_of": chain_of,
        "rated": np.maximum(path.rates, 0),
    }


def _write(row: Any, given: PathElement) -> None:
    """Write the kind and the parameters of an element."""
    row["in_order"] = int(getattr(given, "in_order", False))
    row["last"] = -math.inf
    if isinstance(given, Jitter):
        row["kind"] = CONSTANT if given.distribution == "constant" else UNIFORM
        row["first"] = given.bound
    elif isinstance(given, DelayTrace):
        row["kind"] = DELAYS
    elif isinstance(given, Reordering):
        row["kind"], row["first"], row["second"] = OVERTAKEN, given.p, given.delay
    elif isinstance(given, Aggregation):
        row["kind"], row["second"] = BATCH, given.hold
        row["first"] = given.count or 0
        if given.interval is not None:
            row["kind"], row["first"], row["in_order"] = SLOTS, given.interval, 1
    elif isinstance(given, Policer):
        row["kind"], row["first"], row["second"] = TOKENS, given.rate, given.burst
        row["state"], row["last"] = given.burst, 0.0
    elif isinstance(given, BurstLoss):
        row["kind"], row["first"], row["second"] = STATES, given.to_bad, given.to_good
        row["third"], row["fourth"] = given.loss_bad, given.loss_good
    elif isinstance(given, PeriodicLoss):
        row["kind"], row["first"] = PERIODIC, given.every
    else:
        row["last"] = 0.0
