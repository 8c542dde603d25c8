"""The window rules of a scenario, spliced into the templates of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dfcmodel.engine.kernel import (
    burst_losses,
    columns,
    dfc_per_flow,
    dfc_per_input,
    drops,
    endpoints,
    loop,
    loss_records,
    queues,
    shared_queues,
    tcp_receiver,
    tcp_sender,
)
from hopflow.kernels import build

if TYPE_CHECKING:
    from dfcmodel.engine.sender_tables import Kind

__all__ = ["splice"]

HELPERS = (
    tcp_sender.on_grid,
    tcp_sender.emit,
    tcp_sender.measure,
    tcp_sender.flow_on,
    tcp_sender.send,
    tcp_receiver.date,
    tcp_receiver.repair,
    tcp_receiver.receive,
    tcp_receiver.keep_up,
    loss_records.book,
    loss_records.reach,
    loss_records.take,
    loss_records.look_back,
    endpoints.reset_path,
    endpoints.finish,
    endpoints.take_in,
    endpoints.step_ends,
    dfc_per_flow.learn,
    dfc_per_flow.ideal,
    dfc_per_flow.inform,
    dfc_per_flow.part_of,
    dfc_per_flow.hear,
    dfc_per_flow.tell,
    dfc_per_flow.pause,
    dfc_per_input.share,
    dfc_per_input.exchange,
    queues.serve_one,
    queues.crowd,
    queues.serve_runs,
    queues.divide,
    queues.in_order,
    queues.serve,
    burst_losses.book_bursts,
    drops.drop_early,
    drops.drop_tail,
    shared_queues.serve_shared,
    loop.note,
)
"""Templates that the loop calls, in the order of their dependence."""


def splice(
    template: Callable[..., Any], kinds: tuple[Kind, ...], *, compiled: bool = True
) -> Callable[..., Any]:
    """Return a template of this package with the events of the window rules spliced in."""
    events = ("on_ack", "on_loss", "on_timeout")
    tuples: dict[str, Any] = {"Event": ("time", "rtt")}
    first = columns.TCP_COLUMNS + max(len(rule.State._fields) for rule, _ in kinds)
    for n, (rule, names) in enumerate(kinds):
        tuples[f"R{n}State"] = rule.State._fields
        tuples[f"R{n}Params"] = names
    before = HELPERS[: HELPERS.index(template)] if template in HELPERS else HELPERS
    return build(
        template,
        helpers=before,
        functions={
            f"R{n}{event}": getattr(rule, event)
            for n, (rule, _) in enumerate(kinds)
            for event in events
        },
        snippets={event: _snippet(kinds, first, event) for event in events},
        tuples=tuples,
        compiled=compiled,
    )


def _snippet(kinds: tuple[Kind, ...], params: int, event: str) -> str:
    """Return the if-chain over window rules that applies ``event`` to the flow's window.

    ``amount`` ACKs move the state by that multiple of what one ACK does, except for fields that
    the rule sets outright; a field that an ACK does not change stays, also where it is infinite.
    """
    text = []
    for n, (rule, names) in enumerate(kinds):
        fields = rule.State._fields
        own = [f"tcp[f, {columns.TCP_COLUMNS + w}]" for w in range(len(fields))]
        given = [f"tcp[f, {params + p}]" for p in range(len(names))]
        text += [
            f"{'elif' if n else 'if'} tcp[f, {columns.KIND}] == {n}:",
            f"    old = R{n}State({', '.join(own)},)",
            f"    q = R{n}Params({', '.join(given)},)",
            f"    new = R{n}{event}(old, q, Event(now, tcp[f, {columns.RTT}]))",
        ]
        for place, name in zip(own, fields, strict=True):
            value = f"new.{name}"
            if event == "on_ack" and name not in rule.assigned:
                change = f"old.{name} + amount * (new.{name} - old.{name})"
                value = f"{change} if new.{name} != old.{name} else old.{name}"
            text.append(f"    {place} = {value}")
    return "\n".join(text) or "pass"
