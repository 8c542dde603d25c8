"""Elements of paths in the arrays of the compiled engine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.callback_events import Signature, element_events_of, signature_of
from dfcmodel.network.elements.delays import Aggregation, DelayTrace
from dfcmodel.network.elements.rates import RateTrace
from dfcmodel.packets.kernel.layout import ELEMENT, ELEMENTS_LEAVING, HAS_ELEMENTS, PASSING, VARIES
from dfcmodel.packets.kernel.links.path_elements import BATCH, DELAYS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.elements.base import PathElement
    from dfcmodel.packets.plan import PacketPlan

__all__ = ["element_signatures", "lay_out_elements"]


def element_signatures(plan: PacketPlan) -> tuple[Signature, ...]:
    """Return the distinct signatures of the elements of a plan whose functions the engine calls."""
    return tuple(dict.fromkeys(signature_of(element) for element in plan.path.elements if not _is_built_in(element)))


def _is_built_in(element: PathElement) -> bool:
    """Return whether the engine runs an element without a call: a trace, or batches of a number of packets."""
    return isinstance(element, (DelayTrace, RateTrace)) or (isinstance(element, Aggregation) and bool(element.count))


def lay_out_elements(plan: PacketPlan, port_rows: NDArray[Any], hops: int) -> dict[str, Any]:
    """Return arrays of elements, by name, for ``hops`` rows of hops; set effects of ``port_rows``, in place.

    Parameters
    ----------
    plan, port_rows
        The plan, and the rows of its ports, which are changed in place.
    hops
        Number of rows of the table of hops.
    """
    path, steps = plan.path, list[Any]()
    element = np.zeros(len(path.elements), ELEMENT)
    element["period"] = math.inf
    causes, signatures = list(plan.scenario.drop_causes), element_signatures(plan)
    addresses = element_events_of(signatures)
    for row, it in zip(element, path.elements, strict=True):
        row["in_order"] = it.in_order
        row["last"] = 0.0 if isinstance(it, RateTrace) else -math.inf
        row["until"] = row["copies"] = -1
        if isinstance(it, (DelayTrace, RateTrace)):
            row["kind"] = DELAYS
            values = np.array(it.delays if isinstance(it, DelayTrace) else it.rates)
            if isinstance(it, RateTrace):
                n = plan.scenario.link_table.names.index(it.link)
                values = values / plan.scenario.links[n].rate
            row["row"], row["rows"], row["period"] = len(steps), len(it.times), it.period
            steps += list(zip(it.times, values.tolist(), strict=True))
        elif isinstance(it, Aggregation) and it.count:
            row["kind"], row["parameters"][:2] = BATCH, (it.count, it.hold)
        else:
            state, names, numbers = it.start(), it.State._fields, list(it.numbers().values())
            row["event"], row["leaving"] = addresses[signatures.index(signature_of(it))]
            row["drop"], row["mark"] = state[:2]
            row["state"][: len(state) - 2] = state[2:]
            row["parameters"][: len(numbers)] = numbers
            row["until"], row["copies"] = (names.index(n) - 2 if n in names else -1 for n in ("until", "copies"))
            row["hold"], row["draws"], row["cause_count"] = it.largest_hold, it.draws, len(it.causes)
            row["causes"][: len(it.causes)] = [causes.index(name) for name in it.causes]
    last = len(path.chains)  # the last place ends a chain: that of hops without elements
    passing = np.zeros(hops, PASSING)
    passing["chain"] = last
    passing["chain"][plan.hops.row] = np.where(path.first >= 0, path.first, last)
    passing["priority"][plan.hops.row] = plan.priorities[plan.hops.flow]
    rated = np.flatnonzero(path.rates >= 0)
    port_rows["effects"][rated] |= VARIES
    port_rows["effects"][np.unique(plan.hops.port[path.first >= 0])] |= HAS_ELEMENTS
    leaving = np.zeros(last + 1, dtype=np.bool_)  # whether an element from this place of its chain on acts on them
    for place, k in reversed([*enumerate(path.chains)]):
        leaving[place] = k >= 0 and (path.elements[k].acts_on_leaving() or leaving[place + 1])
    port_rows["effects"][np.unique(plan.hops.port[leaving[path.first]])] |= ELEMENTS_LEAVING
    return {
        "element": element,
        "steps": np.array(steps if steps else [(0.0, 0.0)]),
        "chain": np.array([*path.chains, -1], dtype=np.int64),
        "passing": passing,
        "rated": np.maximum(path.rates, 0),
    }
