"""The compiled engine: arrays of a plan, the loop, records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.flows import rules_of
from dfcmodel.network.manager_events import manager_events_of
from dfcmodel.packets.kernel.boxes import CROWDED, FAULT, SWITCHED
from dfcmodel.packets.kernel.layout import ON_ACK, ON_DELIVERY, ON_LOSS, ON_MARK, ON_TIMEOUT
from dfcmodel.packets.layouts.arrays import Layout, lay_out
from dfcmodel.packets.layouts.capacities import grow
from dfcmodel.packets.layouts.managers import called_managers
from dfcmodel.packets.plans import ENDLESS
from dfcmodel.packets.records import Records
from hopflow.kernels import loop_of
from responsefn import Delivery, DeliveryRule, Elapsed, Feedback, RateRule
from responsefn.responses.rule_events import (
    RuleSignature,
    delivery_event_of,
    event_of,
    events_of,
    signatures_of,
)
from responsefn.rules.base import answers_marks

if TYPE_CHECKING:
    from dfcmodel.packets.plans import Plan

__all__ = ["run_engine", "sender_events"]

KERNEL = "dfcmodel.packets.kernel"


def sender_events(signatures: tuple[RuleSignature, ...]) -> Any:
    """Return the addresses of the events of rules, shape (rules, 5).

    The columns are an ACK, a loss, a timeout, a mark, deliveries. A mark is `on_mark` of rules that have one, of
    others `on_loss`; a loss is `on_drop` of rules whose signal is a mark. Of a rate rule the first is
    `on_feedback`, the third `on_time`.
    """
    table = np.zeros((max(1, len(signatures)), 5), dtype=np.uint64)
    for row, signature in zip(table, signatures, strict=False):
        rule, seen = signature[0], Feedback._fields
        if issubclass(rule, RateRule):
            row[ON_ACK] = event_of(signature, rule.on_feedback, seen, True)
            row[ON_TIMEOUT] = event_of(signature, rule.on_time, Elapsed._fields, True)
            continue
        row[:ON_MARK] = events_of((signature,), several=False)[0]
        row[ON_MARK] = row[ON_LOSS]
        if issubclass(rule, DeliveryRule):
            row[ON_DELIVERY] = delivery_event_of(signature, Delivery._fields)
        if rule.signal == "mark":
            row[ON_LOSS] = event_of(signature, rule.on_drop, seen, True)
        if answers_marks(rule):
            row[ON_MARK] = event_of(signature, rule.on_mark, seen, True)
    return table


def run_engine(plan: Plan) -> Records:
    """Run a plan from t = 0 and return its records.

    Parameters
    ----------
    plan
        What to run.

    Raises
    ------
    MemoryError
        When there are more packets in the network than links and windows can hold.
    OverflowError
        When a flow sends more packets than there are sequence numbers, 2^31 - 2.
    """
    signatures = signatures_of(rules_of(plan.scenario.flows))
    events = sender_events(signatures)
    managers = manager_events_of(called_managers(plan))
    spare = 1
    while (found := _attempt(plan, lay_out(plan, signatures, spare), events, managers)) is None:
        spare *= 4
    return found


def _attempt(plan: Plan, layout: Layout, events: Any, managers: Any) -> Records | None:
    """Return the records of a run; None where more came in one window than its arrays had room for."""
    records, arrays = Records(plan), layout.arrays
    run, tally, done = loop_of(KERNEL), arrays["tally"], 0
    while done < plan.samples:
        done = run(
            events, managers, *arrays.values(), *records.rows(), layout.ahead, records.scale,
            plan.sample, done, plan.samples,
        )  # fmt: skip
        if tally[FAULT]:
            if tally[CROWDED] or len(arrays["element"]) < layout.most:
                return None
            place = f"{plan.scenario.name}, t = {done * plan.sample:g} s"
            msg = "more packets in the network than links and windows can hold"
            raise MemoryError(f"{place}: {msg}")
        records.take_switches(int(tally[SWITCHED]))
        tally[SWITCHED] = 0
        if tally[CROWDED]:
            grow(arrays, layout.most)
    _check_numbers(plan, arrays["flow"])
    records.take_in(arrays)
    return records


def _check_numbers(plan: Plan, flow: Any) -> None:
    """Raise OverflowError for a flow that has used up its sequence numbers."""
    for f in np.flatnonzero(np.maximum(flow["next"], flow["sent"]) >= ENDLESS):
        given = plan.scenario.flows[f]
        if given.size > ENDLESS:
            place = f"{plan.scenario.name}, flow {given.name!r}, before t = {plan.end:g} s"
            raise OverflowError(f"{place}: more than {ENDLESS} packets; shorten the run")
