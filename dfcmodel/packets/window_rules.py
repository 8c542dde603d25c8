"""Window rules in the compiled engine: signatures, and generated source code for their events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from responsefn import NewReno, Reno, Tahoe, WindowRule
from responsefn.responses.rule_compilation import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dfcmodel.network.networks import Scenario

__all__ = ["EVENTS", "RuleSignature", "event_source", "rule_signatures", "signature_of"]

RuleSignature = tuple[type[WindowRule], tuple[str, ...]]
"""A class of window rules and the names of its numeric parameters; they determine the kernel."""
STANDARD: tuple[WindowRule, ...] = (Tahoe(), Reno(), NewReno())
"""Rules that share one kernel, so that most scenarios need no further compilation."""
EVENTS = ("on_ack", "on_loss", "on_timeout")


def signature_of(rule: WindowRule) -> RuleSignature:
    """Return a rule's class and the names of its numeric parameters."""
    return type(rule), tuple(numbers_of(rule))


def rule_signatures(
    scenario: Scenario, further: Iterable[WindowRule] = ()
) -> tuple[RuleSignature, ...]:
    """Return the rule signatures of the kernel: the standard ones if they suffice, else its own."""
    standard = [signature_of(rule) for rule in STANDARD]
    own = {signature_of(f.source) for f in scenario.flows if isinstance(f.source, WindowRule)}
    own |= {signature_of(rule) for rule in further}
    if own <= set(standard):
        return tuple(standard)
    return tuple(sorted(own, key=lambda kind: (kind[0].__module__, kind[0].__qualname__, kind[1])))


def event_source(signatures: tuple[RuleSignature, ...], event: str) -> str:
    """Return the if-chain over window rules that applies ``event`` to the state of flow f."""
    fields = max(len(rule.State._fields) for rule, _ in signatures)
    text = []
    for n, (rule, names) in enumerate(signatures):
        state = rule.State._fields
        own = [f"rule[f, {w}]" for w in range(len(state))]
        given = [f"rule[f, {fields + p}]" for p in range(len(names))]
        text += [
            f"{'elif' if n else 'if'} flow[f].kind == {n}:",
            f"    old = R{n}State({', '.join(own)},)",
            f"    q = R{n}Params({', '.join(given)},)",
            f"    new = R{n}{event}(old, q, Event(now, flow[f].rtt))",
        ]
        text += [f"    {place} = new.{name}" for place, name in zip(own, state, strict=True)]
    return "\n".join(text) or "pass"
