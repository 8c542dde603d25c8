"""Signals to rules: marks, congestion notifications (CNPs), which their states count, and telemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from responsefn.event_reads import use_of_field
from responsefn.rules.rates.rate_rule import Feedback, RateRule, notifications_place, sees_telemetry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.endpoints.sources import Source
    from dfcmodel.network.flows import Flows

__all__ = ["follows_telemetry", "needs_marks", "notifications_of"]

FEEDBACK = (("on_feedback", Feedback._fields),)
"""Function of rate rules that gets marks, with the fields of its event."""
FIRST = 2
"""Index in a rule's state of the first number in ``rule_state`` of the engines' records."""


def needs_marks(source: Source) -> bool:
    """Return whether a source is a window rule for congestion marks, or a rate rule that reads marks.

    >>> from responsefn import DCQCN, DCTCP, HPCC, Reno
    >>> [needs_marks(rule) for rule in (DCQCN(), DCTCP(), HPCC(), Reno())]
    [True, True, False, False]
    """
    if not isinstance(source, RateRule):
        return getattr(source, "signal", "loss") == "mark"
    return notifications_place(type(source)) > 0 or bool(use_of_field(type(source), "marks", FEEDBACK))


def follows_telemetry(source: Source) -> bool:
    """Return whether a source is a rule that reads the telemetry of links.

    >>> from responsefn import DCQCN, HPCC
    >>> [follows_telemetry(rule) for rule in (DCQCN(), HPCC())]
    [False, True]
    """
    return sees_telemetry(type(source))


def notifications_of(flows: Flows, rules: NDArray[Any], row: NDArray[np.integer]) -> NDArray[np.int64] | None:
    """Return each flow's congestion notifications, (F,), at ``row`` of ``rules``; 0: has no counter; None: no flow has.

    Parameters
    ----------
    flows
        The flows whose rules have run.
    rules
        Records of rules at the end of a run, with the fields ``ssthresh``, the second number of a state, and
        ``rule_state``.
    row
        The record of each flow, shape (F,).

    Examples
    --------
    >>> import numpy as np
    >>> from dfcmodel import CBR, Flow
    >>> from dfcmodel.network.flows import Flows
    >>> from responsefn import DCQCN
    >>> flows = Flows.of([Flow("a", (1, 2), CBR(5.0)), Flow("b", (1, 2), DCQCN())])
    >>> rules = np.zeros(1, [("ssthresh", float), ("rule_state", float, (14,))])
    >>> rules["rule_state"][0, 10] = 3.0
    >>> notifications_of(flows, rules, np.array([-1, 0])).tolist()
    [0, 3]
    """
    counter = flows.each("source", lambda source: notifications_place(type(source)))
    counting = np.flatnonzero(counter)
    if not len(counting):
        return None
    counts = np.zeros(len(flows), dtype=np.int64)
    row, counter = row[counting], counter[counting]
    is_second = counter < FIRST
    counts[counting] = np.where(is_second, rules["ssthresh"][row], rules["rule_state"][row, counter - FIRST])
    return counts
