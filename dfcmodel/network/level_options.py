"""Which level runs what: disciplines and options of flows, and refusals of all others.

Errors and the table of the documentation (`level_rows`) read the same declarations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from dfcmodel.network.endpoints.stacks import NO_STACK
from dfcmodel.network.flows import Flow
from dfcmodel.network.queueing.disciplines import BOTH_LEVELS, DFC, FIFO, Discipline, Pause

if TYPE_CHECKING:
    from dfcmodel.network.links import Link

__all__ = ["TWIN", "level_rows", "levels_of", "options_without", "refuse_discipline", "refuse_flow_options"]

METHODS = {"fluid": "Fluid()", "packets": "Packets()"}
"""Method of each level."""
TWIN = "twin"
"""The differentiable fluid, `dfcmodel.Twin`."""
TWIN_DISCIPLINES = (DFC, FIFO, Pause)
OPTIONS = {
    option.name: (option.metadata["features"], option.metadata["levels"])
    for option in dataclasses.fields(Flow)
    if option.metadata
}
"""Features of the options of flows that some level does not run, with the levels that run them."""


def refuse_discipline(link: Link, level: str) -> NoReturn:
    """Raise the ValueError for a link's discipline that a level does not run."""
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
    """Yield all subclasses of a class that are loaded, recursively."""
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _kinds(subclass)


def options_without(level: str) -> tuple[str, ...]:
    """Return the names of the options of flows that a level does not run.

    >>> "ttl" in options_without("fluid"), options_without("packets")
    (True, ())
    """
    return tuple(option for option, (_, levels) in OPTIONS.items() if level not in levels)


def refuse_flow_options(flow: Flow, level: str) -> None:
    """Raise ValueError for a flow's first option that a level does not run, unless it has the default."""
    usual = _usual_options()
    for option in options_without(level):
        value = getattr(flow, option)
        if value != usual[option]:
            shown = f"{value:g}" if isinstance(value, (int, float)) else repr(value)
            features = OPTIONS[option][0]
            reason = f"{features} are for packets; use method=Packets()"
            if level == TWIN:
                reason = f"must be {usual[option]!r}, the twin has no {features}"
            raise ValueError(f"{option} of flow {flow.name!r} = {shown}: {reason}")


@cache
def _usual_options() -> dict[str, Any]:
    """Return the default of each option of flows, without a stack, by name."""
    return {field.name: getattr(NO_STACK, field.name, field.default) for field in dataclasses.fields(Flow)}


def level_rows() -> list[tuple[str, str, str, tuple[bool, bool, bool]]]:
    """Return rows of features that some level does not run: kind, name, features, and flags (fluid, packets, twin).

    >>> [row[3] for row in level_rows() if row[1] in ("BFC", "DFC", "size")]
    [(False, True, False), (True, True, True), (True, True, False)]
    """
    levels = ("fluid", "packets", TWIN)
    disciplines = {kind for kind in _kinds(Discipline) if kind.levels and kind.__module__.startswith("dfcmodel.")}
    named = [kind for kind in disciplines if not kind.__name__.startswith("_")]
    rows = [
        ("discipline", kind.__name__, "", tuple(level in levels_of(kind) for level in levels))
        for kind in sorted(named, key=lambda kind: kind.__name__.lower())
    ]
    rows += [
        ("option", name, features, tuple(level in run_by for level in levels))
        for name, (features, run_by) in sorted(OPTIONS.items())
    ]
    return rows  # type: ignore[return-value]


def levels_of(kind: type[Discipline]) -> frozenset[str]:
    """Return the names of the levels that run a class of disciplines; the twin counts as a level."""
    return kind.levels | {TWIN} if kind in TWIN_DISCIPLINES else kind.levels
