"""Events of the senders' rules as the engine calls them: those of window rules, marks, and rate rules.

An event applies a rule's function to a flow's record, ``w``: its state from w[0] on (of a rate rule the rate
is in the place of the window), its parameters from w[16] on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dfcmodel.engine.kernel.records import (
    EVENTS,
    MAX_STATE,
    ON_FEEDBACK,
    ON_LOSS,
    ON_MARK,
    ON_TIME,
)
from hopflow.kernels import build_callbacks
from responsefn import Elapsed, Feedback, RateRule
from responsefn.responses.rule_compilation import SIGNATURE
from responsefn.responses.rule_events import (
    RuleSignature,
    events_of,
    on_record,
    places,
)
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
            row[ON_FEEDBACK] = _event(signature, rule.on_feedback, Feedback._fields, compiled)
            row[ON_TIME] = _event(signature, rule.on_time, Elapsed._fields, compiled)
            continue
        row[:ON_MARK] = events_of((signature,), compiled=compiled)[0]
        if rule.signal == "mark":
            row[ON_LOSS] = _event(signature, rule.on_drop, Feedback._fields, compiled)
        if answers_marks(rule):
            row[ON_MARK] = _event(signature, rule.on_mark, Feedback._fields, compiled)
    return table


def _event(
    signature: RuleSignature, function: Callable[..., Any], fields: tuple[str, ...], compiled: bool
) -> Any:
    """Return an event that sees as many of four numbers as ``fields`` has names."""
    rule, names = signature
    state, params = rule.State._fields, places(MAX_STATE, len(names))
    seen = ", ".join(("time", "second", "third", "fourth")[: len(fields)])
    lines = [
        "def event(w, time, second, third, fourth):",
        f"    new = rule(State({places(0, len(state))}), Params({params}), Event({seen}))",
        *(f"    w[{n}] = new.{name}" for n, name in enumerate(state)),
    ]
    callback = build_callbacks(
        {"rule": function},
        {"State": state, "Params": names, "Event": fields},
        {"event": "\n".join(lines)},
        SIGNATURE,
        compiled=compiled,
    )["event"]
    return callback.address if compiled else on_record(callback)
