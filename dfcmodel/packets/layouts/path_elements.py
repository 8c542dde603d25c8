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
    for row, it in zip(element, path.elements, strict=True):
        _write(row, it)
        if isinstance(it, (DelayTrace, RateTrace)):
            values = np.array(it.delays if isinstance(it, DelayTrace) else it.rates)
            if isinstance(it, RateTrace):
                n = plan.scenario.link_table.names.index(it.link)
                values = values / plan.scenario.links[n].rate
            row["row"], row["rows"], row["period"] = len(steps), len(it.times), it.period
            steps += list(zip(it.times, values.tolist(), strict=True))
    last = len(path.chains)  # the last place ends a chain: that of hops without elements
    chain_of = np.full(hops, last, dtype=np.int64)
    chain_of[plan.hops.row] = np.where(path.first >= 0, path.first, last)
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


def _write(row: Any, element: PathElement) -> None:
    """Write the kind and the parameters of an element."""
    row["in_order"] = int(getattr(element, "in_order", False))
    row["last"] = -math.inf
    if isinstance(element, Jitter):
        row["kind"] = CONSTANT if element.distribution == "constant" else UNIFORM
        row["first"] = element.bound
    elif isinstance(element, DelayTrace):
        row["kind"] = DELAYS
    elif isinstance(element, Reordering):
        row["kind"], row["first"], row["second"] = OVERTAKEN, element.p, element.delay
    elif isinstance(element, Aggregation):
        row["kind"], row["second"] = BATCH, element.hold
        row["first"] = element.count or 0
        if element.interval is not None:
            row["kind"], row["first"], row["in_order"] = SLOTS, element.interval, 1
    elif isinstance(element, Policer):
        row["kind"], row["first"], row["second"] = TOKENS, element.rate, element.burst
        row["state"], row["last"] = element.burst, 0.0
    elif isinstance(element, BurstLoss):
        row["kind"], row["first"], row["second"] = STATES, element.to_bad, element.to_good
        row["third"], row["fourth"] = element.loss_bad, element.loss_good
    elif isinstance(element, PeriodicLoss):
        row["kind"], row["first"] = PERIODIC, element.every
    else:
        row["last"] = 0.0
