"""Compilation of the kernel: the window rules of a scenario inserted into the engine's templates."""

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
    from dfcmodel.engine.sender_tables import RuleSignature

__all__ = ["compile_template"]

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
"""Templates called by the loop, each after those that it calls."""


def compile_template(
    template: Callable[..., Any], signatures: tuple[RuleSignature, ...], *, compiled: bool = True
) -> Callable[..., Any]:
    """Return a template of the kernel with the events of the window rules inserted.

    Parameters
    ----------
    template
        A function of `dfcmodel.engine.kernel`.
    signatures
        Window rules, in the order of their numbers in the sender table.
    compiled
        False returns plain Python: slow, for tests.

    Raises
    ------
    KernelError
        Naming the file and the line of a rule that cannot be compiled.
    """
    events = ("on_ack", "on_loss", "on_timeout")
    tuples: dict[str, Any] = {"Event": ("time", "rtt")}
    first = columns.TCP_COLUMNS + max(len(rule.State._fields) for rule, _ in signatures)
    for n, (rule, names) in enumerate(signatures):
        tuples[f"R{n}State"] = rule.State._fields
        tuples[f"R{n}Params"] = names
    before = HELPERS[: HELPERS.index(template)] if template in HELPERS else HELPERS
    return build(
        template,
        helpers=before,
        functions={
            f"R{n}{event}": getattr(rule, event)
            for n, (rule, _) in enumerate(signatures)
            for event in events
        },
        snippets={event: _snippet(signatures, first, event) for event in events},
        tuples=tuples,
        compiled=compiled,
    )


def _snippet(signatures: tuple[RuleSignature, ...], params: int, event: str) -> str:
    """Return the if-chain over window rules that applies ``event`` to the flow's window.

    ``amount`` ACKs change the state by that multiple of the change due to one ACK, except for fields
    that the rule assigns outright; a field that an ACK leaves unchanged stays so even if infinite.
    """
    text = []
    for n, (rule, names) in enumerate(signatures):
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
