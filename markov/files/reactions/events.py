"""Events of SBML: assignments at given times, and assignments that a reaction triggers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markov.files.program import Assignment, Branch, Command, Reset
from markov.files.reactions.formulas import CLOCK
from markov.files.syntax import Call, Chain, Expression, Literal, Name, Negation, map_parts, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from markov.files.reactions.elements import Element

__all__ = ["Trigger", "read_event", "shift", "split_by_trigger"]

HOLDS_AFTER = {(">=", 0): False, (">", 0): True, ("<=", 1): False, ("<", 1): True}
"""Comparisons with the time on the left (0) or right (1), and whether they first hold after it."""


@dataclass(frozen=True)
class Trigger:
    """An event that reactions trigger: its condition, and the assignments when the condition becomes true.

    ``at_start``: whether the event happens at time 0 if the condition holds initially.
    """

    condition: Expression
    changes: tuple[Assignment, ...]
    at_start: bool


def read_event(
    event: Element,
    math: Callable[[Element, str], Expression],
    variables: Collection[str],
    amount: Callable[[str, Expression], Expression],
    refuse: Callable[[str, str], Exception],
) -> Reset | Trigger:
    """Return an event.

    Parameters
    ----------
    event
        The element.
    math
        Reader of the formula in an element; takes its description for messages.
    variables
        Species that reactions change: they may be assigned, and conditions may depend on them.
    amount
        Returns the amount of a species that is set to a value, which may be a concentration.
    refuse
        Returns the error of a description and a reason.

    Raises
    ------
    FileError
        For delays and priorities, assignments to others, and conditions of the time that are not
        ``time >= number`` or ``time > number``.
    """
    where = f"event {event.get('id', '')!r}"
    triggers = event.findall("trigger")
    if len(triggers) != 1:
        raise refuse(where, "must have one trigger")
    trigger: Element = triggers[0]
    condition = math(trigger, where)
    changes: list[Assignment] = []
    for assignment in event.findall("listOfEventAssignments/eventAssignment"):
        name = assignment.get("variable", "")
        if name not in variables or name in {change.name for change in changes}:
            raise refuse(where, f"assigns {name!r}: must be a species that reactions change, once")
        value = amount(name, math(assignment, where))
        changes.append(Assignment(name, value, value.line))
    if CLOCK in (name for change in changes for name in names_in(change.value)):
        raise refuse(where, "assigns a value that depends on the time: not read")
    at_trigger = _truth(event, "useValuesFromTriggerTime", where, refuse)
    if CLOCK not in names_in(condition):
        initial = _truth(trigger, "initialValue", where, refuse)
        integers = (replace(c, value=Call("whole", (c.value,), c.line)) for c in changes)
        return Trigger(condition, tuple(integers), not initial)
    match condition:
        case Chain(first, ((sign, second),)):
            sides = first, second
            for side, other in ((0, second), (1, first)):
                after = HOLDS_AFTER.get((sign, side))
                clock = sides[side]
                if not isinstance(clock, Name) or clock.name != CLOCK or after is None:
                    continue
                if not {*variables, CLOCK} & set(names_in(other)):
                    return Reset(where, other, after, not at_trigger, tuple(changes))
    raise refuse(where, "a trigger by time must be time >= or > a number")


def _truth(element: Element, name: str, where: str, refuse: Callable[[str, str], Exception]) -> bool:
    """Return an attribute with the default true."""
    text = element.get(name, "true")
    if text not in ("true", "false", "1", "0"):
        raise refuse(where, f"{name} = {text[:40]!r}: must be true or false")
    return text in ("true", "1")


def split_by_trigger(command: Command, step: Mapping[str, int], event: Trigger) -> tuple[Command, Command]:
    """Return a reaction's command in states where it does not trigger the event, and where it does.

    Parameters
    ----------
    command
        Command of the reaction, with one branch.
    step
        Change of each species.
    event
        Event that happens when its condition becomes true; its values are computed after the reaction.
    """
    before, after = event.condition, shift(event.condition, step)
    fires = Chain(Negation("!", before, 1), (("&", after),), 1)
    stays = Chain(before, (("|", Negation("!", after, 1)),), 1)
    (branch,) = command.branches
    changes = {change.name: change for change in branch.changes}
    changes |= {c.name: replace(c, value=shift(c.value, step)) for c in event.changes}
    then = Branch(branch.rate, tuple(changes.values()))
    return (
        replace(command, guard=Chain(command.guard, (("&", stays),), 1)),
        replace(command, guard=Chain(command.guard, (("&", fires),), 1), branches=(then,)),
    )


def shift(tree: Expression, step: Mapping[str, int]) -> Expression:
    """Return an expression of the values after a step, in terms of the values before it."""
    if isinstance(tree, Name) and tree.name in step:
        return Chain(tree, (("+", Literal(step[tree.name], 1)),), 1)
    return map_parts(tree, lambda part: shift(part, step))
