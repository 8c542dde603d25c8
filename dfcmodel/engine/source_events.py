"""Events of the senders' rules as the engine calls them: those of window rules, marks, and rate rules.

An event applies a rule's function to a flow's record, ``w``: its state from w[0] on (of a rate rule the rate
stands instead of the window), its parameters from w[16] on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dfcmodel.engine.kernel.records import (
    EVENTS,
    ON_ACK,
    ON_FEEDBACK,
    ON_LOSS,
    ON_MARK,
    ON_MARKED_WINDOW,
    ON_SINGLE_ACK,
    ON_TIME,
)
from responsefn import Elapsed, Feedback, RateRule
from responsefn.responses.rule_events import RuleSignature, event_of, events_of
from responsefn.rules.base import answers_marks

__all__ = ["source_events_of"]


def source_events_of(signatures: tuple[RuleSignature, ...], *, compiled: bool = True) -> Any:
    """Return the events of window and rate rules: addresses, or Python functions; 0 for none.

    Parameters
    ----------
    signatures
        Classes of rules and the names of their parameters (`responsefn.responses.rule_events`).
    compiled
        False returns plain Python functions, which take a flow's record.

    Returns
    -------
    numpy.ndarray
        Shape (rules, `kernel.records.EVENTS`); at least one row.
    """
    shape = (max(1, len(signatures)), EVENTS)
    table = np.empty(shape, dtype=np.uint64 if compiled else object)
    table.fill(0)
    for row, signature in zip(table, signatures, strict=False):
        rule = signature[0]
        if issubclass(rule, RateRule):
            row[ON_FEEDBACK] = event_of(signature, rule.on_feedback, Feedback._fields, compiled)
            row[ON_TIME] = event_of(signature, rule.on_time, Elapsed._fields, compiled)
            continue
        row[:ON_MARK] = events_of((signature,), compiled=compiled)[0]
        row[ON_MARKED_WINDOW] = row[ON_LOSS]
        row[ON_SINGLE_ACK] = events_of((signature,), several=False, compiled=compiled)[0, ON_ACK]
        if rule.signal == "mark":
            row[ON_LOSS] = event_of(signature, rule.on_drop, Feedback._fields, compiled)
        if answers_marks(rule):
            row[ON_MARK] = event_of(signature, rule.on_mark, Feedback._fields, compiled)
    return table
