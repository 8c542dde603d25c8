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

__all__ = ["refuse_discipline", "refuse_given"]

METHODS = {"fluid": "Fluid()", "packets": "Packets()"}
"""Methods of the levels."""


def refuse_discipline(link: Link, level: str) -> NoReturn:
    """Raise ValueError for the discipline of a link that a level would have to run as another one."""
    kind = type(link.discipline)
    own = "QueueManager" if level == "fluid" else "QueueManager, LinkLaw and SwitchProgram"
    known = {
        each
        for each in _kinds(Discipline)
        if level in each.levels and not each.subclasses_run_at and each.__module__.startswith("dfcmodel.")
    }
    names = ", ".join(sorted((each.__name__ for each in known), key=str.lower))
    msg = f"method={METHODS[level]} runs {names} and subclasses of {own}, not {kind.__name__}"
    others = [METHODS[other] for other in sorted(BOTH_LEVELS) if other in kind.levels]
    hint = f"use method={others[0]}" if others else "no level runs it"
    raise ValueError(f"discipline of link {link.name}: {msg}; {hint}")


def _kinds(kind: type[Discipline]) -> Iterator[type[Discipline]]:
    """Yield the subclasses of a class that are loaded, and theirs."""
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


def refuse_given(flow: Flow, reasons: Mapping[str, str]) -> None:
    """Raise ValueError for the first of some options of a flow that is not as it is by default, and why, by option."""
    usual = _usual_options()
    for option, reason in reasons.items():
        value = getattr(flow, option)
        if value != usual[option]:
            shown = f"{value:g}" if isinstance(value, (int, float)) else repr(value)
            raise ValueError(f"{option} of flow {flow.name!r} = {shown}: {reason}")


@cache
def _usual_options() -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(Flow)}
