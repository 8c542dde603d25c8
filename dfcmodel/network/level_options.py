"""Refusals of disciplines and options of flows that a level does not run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from dfcmodel.network.flows import Flow
from dfcmodel.network.queueing.disciplines import BOTH_LEVELS, Discipline

if TYPE_CHECKING:
    from dfcmodel.network.links import Link

__all__ = ["refuse_discipline", "refuse_flow_options"]

METHODS = {"fluid": "Fluid()", "packets": "Packets()"}
"""Method of each level."""


def refuse_discipline(link: Link, level: str) -> NoReturn:
    """Raise ValueError for the discipline of a link that a level does not run."""
    kind = type(link.discipline)
    bases = "QueueManager" if level == "fluid" else "QueueManager, LinkLaw and SwitchProgram"
    kinds = {
        rule
        for rule in _kinds(Discipline)
        if level in rule.levels and not rule.subclasses_run_at and rule.__module__.startswith("dfcmodel.")
    }
    names = ", ".join(sorted((discipline.__name__ for discipline in kinds), key=str.lower))
    msg = f"method={METHODS[level]} runs {names} and subclasses of {bases}, not {kind.__name__}"
    others = [METHODS[other] for other in sorted(BOTH_LEVELS) if other in kind.levels]
    hint = f"use method={others[0]}" if others else "no level runs it"
    raise ValueError(f"discipline of link {link.name}: {msg}; {hint}")


def _kinds(kind: type[Discipline]) -> Iterator[type[Discipline]]:
    """Yield all loaded subclasses of a class, recursively."""
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _kinds(subclass)


def refuse_flow_options(flow: Flow, reasons: Mapping[str, str]) -> None:
    """Raise ValueError with its reason for the first option in ``reasons`` that is not the default."""
    usual = _usual_options()
    for option, reason in reasons.items():
        value = getattr(flow, option)
        if value != usual[option]:
            shown = f"{value:g}" if isinstance(value, (int, float)) else repr(value)
            raise ValueError(f"{option} of flow {flow.name!r} = {shown}: {reason}")


@cache
def _usual_options() -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(Flow)}
