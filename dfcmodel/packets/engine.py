"""The compiled engine: array layout of a plan, kernel compiled with its window rules, run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dfcmodel.packets.kernel import (
    boxes,
    early,
    lanes,
    loop,
    ports,
    selective,
    senders,
    sources,
    timers,
)
from dfcmodel.packets.layouts import lay_out
from dfcmodel.packets.records import Records
from dfcmodel.packets.window_rules import EVENTS, event_source, rule_signatures
from hopflow.kernels import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dfcmodel.packets.plans import Plan
    from dfcmodel.packets.window_rules import RuleSignature
    from responsefn import WindowRule

__all__ = ["run_engine"]

HELPERS = (
    boxes.take,
    boxes.release,
    boxes.push,
    boxes.least_time,
    timers.timeout_span,
    timers.measure,
    timers.back_off,
    timers.wake_at,
    timers.set_timer,
    selective.is_held,
    selective.hold,
    selective.clear,
    selective.note,
    selective.next_hole,
    senders.uniform,
    senders.output,
    senders.send,
    senders.send_selective,
    senders.grow,
    senders.forget,
    senders.advance,
    senders.partial_ack,
    senders.cut_back,
    senders.lose,
    senders.duplicate,
    senders.receive_selective,
    senders.receive,
    senders.expire,
    sources.span,
    sources.blind,
    sources.wake,
    sources.look_at_timers,
    early.chance_of,
    early.admit_early,
    ports.drop,
    ports.deliver,
    ports.report,
    ports.travel,
    lanes.send_message,
    lanes.watch,
    lanes.enter_lane,
    lanes.longest_lane,
    lanes.overflow,
    lanes.leave_lane,
    loop.handle,
    loop.turn_of,
    loop.look,
)
"""Templates called by the loop, each after those it calls."""


def run_engine(plan: Plan, *, rules: Iterable[WindowRule] = (), compiled: bool = True) -> Records:
    """Run a plan from t = 0 and return its records.

    ``rules`` are further rules of the kernel, so that several plans run with one compiled kernel.

    Raises
    ------
    MemoryError
        When the number of packets in the network exceeds the preallocated arrays.
    """
    signatures = rule_signatures(plan.scenario, rules)
    layout = lay_out(plan, signatures)
    records = Records(plan)
    rows = records.rows()
    kernel = _compiled_loop(signatures, compiled)
    done = kernel(
        *layout.arrays.values(), *rows, layout.ahead, records.scale, plan.sample, 0, plan.samples
    )
    if done < plan.samples:
        place = f"{plan.scenario.name}, t = {done * plan.sample:g} s"
        raise MemoryError(f"{place}: more packets in the network than links and windows can hold")
    records.take_in(layout.arrays)
    return records


def _compiled_loop(signatures: tuple[RuleSignature, ...], compiled: bool) -> Callable[..., Any]:
    """Return the loop compiled with the window rules."""
    tuples: dict[str, Any] = {"Event": ("time", "rtt")}
    for n, (rule, names) in enumerate(signatures):
        tuples[f"R{n}State"] = rule.State._fields
        tuples[f"R{n}Params"] = names
    return build(
        loop.run,
        helpers=HELPERS,
        functions={
            f"R{n}{event}": getattr(rule, event)
            for n, (rule, _) in enumerate(signatures)
            for event in EVENTS
        },
        snippets={event: event_source(signatures, event) for event in EVENTS},
        tuples=tuples,
        compiled=compiled,
    )
