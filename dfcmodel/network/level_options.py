"""Which disciplines and options of flows each level runs, and the refusal of others."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from dfcmodel.network.flows import Flow
from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.class_pauses import PFC
from dfcmodel.network.queueing.coupled import DualPI2
from dfcmodel.network.queueing.disciplines import (
    DFC,
    FIFO,
    Discipline,
    Fair,
    Pause,
    Priority,
    QueueManager,
)
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.queueing.programs import SwitchProgram

if TYPE_CHECKING:
    from dfcmodel.network.links import Link

__all__ = ["check_known", "refuse_given"]

FLUID = (DFC, FIFO, Fair, Pause, PFC, Priority)
PACKETS = (*FLUID, DualPI2, BFC)
LEVELS = {"Fluid()": FLUID, "Packets()": PACKETS}
"""Besides subclasses of `QueueManager`, which both levels run, and of `LinkLaw` and `SwitchProgram`, for packets.

A subclass of another discipline is another one.
"""


def runs(kind: type[Discipline], level: str) -> bool:
    """Return whether a level runs a class of disciplines."""
    own = issubclass(kind, (LinkLaw, SwitchProgram)) and level == "Packets()"
    return own or kind in LEVELS[level] or issubclass(kind, QueueManager)


def check_known(link: Link, level: str) -> None:
    """Raise ValueError for a discipline that a level would have to run as another; ``level`` as in `LEVELS`."""
    kind = type(link.discipline)
    if runs(kind, level):
        return
    own = "QueueManager" if level == "Fluid()" else "QueueManager, LinkLaw and SwitchProgram"
    names = ", ".join(each.__name__ for each in LEVELS[level])
    msg = f"method={level} runs {names} and subclasses of {own}, not {kind.__name__}"
    others = [other for other in LEVELS if runs(kind, other)]
    hint = f"use method={others[0]}" if others else "no level runs it"
    raise ValueError(f"discipline of link {link.name}: {msg}; {hint}")


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
