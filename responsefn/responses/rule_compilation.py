"""Window rules put into the loops of one flow, which are compiled with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopflow.kernels import build, is_built
from responsefn.responses import rule_kernels as templates
from responsefn.responses.rule_checks import EVENTS, check_dynamics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from responsefn.responses.dynamics import Dynamics

__all__ = ["RECORD", "SUMS", "Kind", "compile_rule", "kind_of", "numbers_of"]  # fmt: skip

SUMS = 6
"""Rows of `rule_kernels.simulate`'s lanes before those of the state."""
RECORD = 5
"""Entries of the record of a wrong window before the state (`rule_checks.raise_wrong`)."""
Kind = tuple[type[Any], tuple[str, ...]]
"""A class of rules and its numeric parameters: what a kernel is made of."""


def numbers_of(rule: Dynamics) -> dict[str, float]:
    """Return the parameters that a rule's dynamics can use: the numbers among them."""
    numbers = {
        name: float(value)
        for name, value in rule.params._asdict().items()
        if isinstance(value, (int, float))
    }
    return numbers or {"unused": 0.0}


def kind_of(rule: Dynamics) -> Kind:
    """Return the class and the names of the numeric parameters of a rule."""
    return type(rule), tuple(numbers_of(rule))


def compile_rule(
    template: Callable[..., Any],
    rule: Dynamics,
    *,
    move: Callable[..., Any] = templates.block,
    width: int = 1,
    compiled: bool = True,
) -> Callable[..., Any]:
    """Return a template of this package with the functions of a rule in it.

    In the template ``load()`` becomes ``s = State(...)`` and ``q = Params(...)``, from row ``i`` of
    the array ``starts`` and from the array ``params``; ``take()`` and ``put()`` read and write the
    state of lane ``i`` of ``width``; ``move()`` takes the step ``move``, which is `ack` or `block`;
    ``advance()`` moves the state ``s`` by ``k`` ACKs of which each adds ``more``, to what one ACK makes
    ``new`` in the fields that are set outright; ``jump()`` changes the window by ``further``;
    ``report()`` records the wrong window of ``s`` that ``event`` made of the state ``old``.

    Raises
    ------
    RuleError
        Where the rule cannot be run (`rule_checks.check_dynamics`).
    KernelError
        Naming the file and the line of the rule that cannot be compiled.
    """
    check_dynamics(rule)
    return build(template, compiled=compiled, **_parts(rule, move, width))


def is_compiled(template: Callable[..., Any], rule: Dynamics) -> bool:
    """Return whether `compile_rule` finds its machine code in the cache folder."""
    check_dynamics(rule)
    return is_built(template, **_parts(rule, templates.block, 1))


def _parts(rule: Dynamics, move: Callable[..., Any], width: int) -> dict[str, Any]:
    fields, names = rule.State._fields, tuple(numbers_of(rule))
    moved = ", ".join(
        f"new.{name}" if name in rule.assigned else f"s.{name} + k * more.{name}" for name in fields
    )
    jumped = ", ".join(
        "max(1.0, s.cwnd + further)" if name == "cwnd" else f"s.{name}" for name in fields
    )
    places = [f"lanes[{(SUMS + n) * width} + i]" for n in range(len(fields))]
    parameters = f"q = Params({', '.join(f'params[{n}]' for n in range(len(names)))},)"
    return {
        "functions": {event: getattr(rule, event) for event in EVENTS[:2]},
        "changes": {"change": "on_ack"},
        "helpers": (templates.doubling, move),
        "snippets": {
            "parameters": parameters,
            "layout": f"width = {width}",
            "load": _tuple("s", "State", (f"starts[i, {n}]" for n in range(len(fields))))
            + "\n"
            + parameters,
            "take": _tuple("s", "State", places),
            "put": "\n".join(f"{at} = s.{name}" for at, name in zip(places, fields, strict=True)),
            "move": f"s, k, cwnd, lag = {move.__name__}(s, q, now, rtt, service, left)",
            "advance": f"s = State({moved},)",
            "jump": f"s = State({jumped},)",
            "report": _report("event", "0", [f"old.{name}" for name in fields], "r"),
        },
        "tuples": {"State": fields, "Params": names, "Event": ("time", "rtt")},
    }


def _tuple(name: str, kind: str, values: Iterable[str]) -> str:
    return f"{name} = {kind}({', '.join(values)},)"


def _report(event: str, rule: str, state: Sequence[str], rtt: str) -> str:
    """Return the statements that record a wrong window."""
    first = (event, rule, "now", rtt, "s.cwnd")
    return "\n".join(f"wrong[{n}] = {value}" for n, value in enumerate((*first, *state)))
