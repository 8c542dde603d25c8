"""The compiled engine: lays a plan out, splices its window rules in, runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.sender_tables import kinds_of
from dfcmodel.packets.kernel import boxes, early, lanes, loop, ports, selective, senders, sources, timers
from dfcmodel.packets.layouts import lay_out
from dfcmodel.packets.records import Records
from hopflow.kernels import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from dfcmodel.engine.sender_tables import Kind
    from dfcmodel.packets.plans import Plan

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
"""Templates that the loop calls, in the order of their dependence."""
EVENTS = ("on_ack", "on_loss", "on_timeout")


def run_engine(plan: Plan, *, compiled: bool = True) -> Records:
    """Run a plan from t = 0 and return its records.

    Raises
    ------
    MemoryError
        When more packets are on their way than was foreseen.
    """
    kinds = kinds_of(plan.scenario)
    layout = lay_out(plan, kinds)
    records = Records(plan)
    rows = records.rows()
    kernel = _spliced(kinds, compiled)
    done = kernel(
        *layout.arrays.values(), *rows, layout.ahead, records.scale, plan.sample, 0, plan.samples
    )
    if done < plan.samples:
        place = f"{plan.scenario.name}, t = {done * plan.sample:g} s"
        raise MemoryError(f"{place}: more packets are on their way than the links and windows hold")
    records.take_in(layout.arrays)
    return records


def _spliced(kinds: tuple[Kind, ...], compiled: bool) -> Callable[..., Any]:
    """Return the loop with window rules spliced in."""
    tuples: dict[str, Any] = {"Event": ("time", "rtt")}
    fields = max([len(rule.State._fields) for rule, _ in kinds], default=2)
    for n, (rule, names) in enumerate(kinds):
        tuples[f"R{n}State"] = rule.State._fields
        tuples[f"R{n}Params"] = names
    return build(
        loop.run,
        helpers=HELPERS,
        functions={
            f"R{n}{event}": getattr(rule, event)
            for n, (rule, _) in enumerate(kinds)
            for event in EVENTS
        },
        snippets={event: _snippet(kinds, fields, event) for event in EVENTS},
        tuples=tuples,
        compiled=compiled,
    )


def _snippet(kinds: tuple[Kind, ...], params: int, event: str) -> str:
    """Return the if-chain over window rules that applies ``event`` to the state of flow f."""
    text = []
    for n, (rule, names) in enumerate(kinds):
        state = rule.State._fields
        own = [f"rule[f, {w}]" for w in range(len(state))]
        given = [f"rule[f, {params + p}]" for p in range(len(names))]
        text += [
            f"{'elif' if n else 'if'} flow[f].kind == {n}:",
            f"    old = R{n}State({', '.join(own)},)",
            f"    q = R{n}Params({', '.join(given)},)",
            f"    new = R{n}{event}(old, q, Event(now, flow[f].rtt))",
        ]
        text += [f"    {place} = new.{name}" for place, name in zip(own, state, strict=True)]
    return "\n".join(text) or "pass"
